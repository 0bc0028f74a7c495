//! Evaluation: outputs of a model for samples of any resolution, and their relative L2 errors; and the figures of the
//! report: fields of a few test samples, and the error against the resolution.

use firefly_app::number::significant;
use firefly_app::page::chart::{AxisScale, ChartSeries};
use firefly_app::page::figure::Figure;
use firefly_app::page::heat_map::HeatMap;

use super::domain::{Domain, DomainSymmetry, coordinates, strides};
use super::fields::{FieldPairs, Fields, SampleSets, TestSet};
use super::model::FieldOperator;
use crate::report::chart;
use crate::tasks::prelude::*;
use crate::tasks::ridge::{self, MAX_VALUES, RidgeRegression};

/// Largest number of input values in a batch of an evaluation.
const BATCH_VALUES: usize = 1 << 16;
/// Added to a squared error in the loss, relative to the square of the output: its root has a gradient everywhere.
const SQUARE_OFFSET: f64 = 1e-14;

/// Relative L2 error of each row of a batch, `[batch]`; outputs are squared in a unit that is a power of two, which
/// changes no bit where squares without it are numbers of f32.
pub fn relative_l2(found: Tensor<2>, wanted: Tensor<2>, unit: f64) -> Tensor<1> {
    let (found, wanted) = (found * unit.recip(), wanted * unit.recip());
    let squares = (found - wanted.clone()).square().sum_dim(1) / wanted.square().sum_dim(1);
    (squares + SQUARE_OFFSET).sqrt().squeeze_dim(1)
}

/// Outputs of a model for `input` on one device.
pub fn outputs(model: &FieldOperator, input: &Fields, domain: &Domain, device: &Device) -> Result<Fields> {
    outputs_on(&mut [Placed { model: model.clone(), device: device.clone() }], input, domain)
}

/// Outputs of a model for `input`, whose batches are shared among devices: its own, or the mean over the symmetries of
/// a domain of the outputs for the changed inputs, changed back.
pub fn outputs_on(placed: &mut [Placed<FieldOperator>], input: &Fields, domain: &Domain) -> Result<Fields> {
    let channels = placed.first().map_or(0, |placed| placed.model.fields.output.channels());
    let points = domain.points(&input.points);
    let of_sample = channels * points.iter().product::<usize>();
    let indices: Vec<usize> = (0..input.len()).collect();
    let batches: Vec<&[usize]> = indices.chunks((BATCH_VALUES / of_sample.max(1)).max(1)).collect();
    let of_batch = |Placed { model, device }: &Placed<FieldOperator>, indices: &&[usize]| {
        let of = |changes: &[DomainSymmetry]| -> Result<Vec<f32>> {
            let batch = input.batch(indices, changes, domain.input, device);
            Ok(model.try_forward(batch, &points)?.into_data().iter().collect())
        };
        let closed = if domain.symmetries.is_empty() {
            of(&[])?
        } else {
            let mut sums = vec![0.0; indices.len() * of_sample];
            for symmetry in &domain.symmetries {
                symmetry.add_reverted(&of(&vec![symmetry.clone(); indices.len()])?, &points, &mut sums);
            }
            sums.into_iter().map(|sum| (sum / domain.symmetries.len() as f64) as f32).collect()
        };
        Ok::<_, TaskError>(domain.output.opened(&closed, &input.points))
    };
    let values = over_devices(placed, &batches, of_batch)?.concat();
    Ok(Fields::new(channels, input.points.clone(), values))
}

/// Relative L2 error of each sample: root of the squared error over the squared output, over all channels and points.
pub fn errors(found: &Fields, wanted: &Fields) -> Vec<f64> {
    let of = |index: usize| {
        let (found, wanted) = (found.sample(index), wanted.sample(index));
        let square = |value: f64| value * value;
        let error: f64 = found.iter().zip(wanted).map(|(a, b)| square(f64::from(*a) - f64::from(*b))).sum();
        (error / wanted.iter().map(|value| square(f64::from(*value))).sum::<f64>()).sqrt()
    };
    (0..wanted.len()).map(of).collect()
}

/// Mean of numbers.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Relative L2 error of a model on each sample.
pub fn errors_of(model: &FieldOperator, pairs: &FieldPairs, domain: &Domain, device: &Device) -> Result<Vec<f64>> {
    Ok(errors(&outputs(model, &pairs.input, domain, device)?, &pairs.output))
}

/// Rows of models on test samples, and of what they are compared with: the mean of the training outputs and, on the
/// training samples' points, ridge regression.
pub fn compare(
    sets: &SampleSets,
    tests: &[TestSet],
    models: &[(String, FieldOperator)],
    device: &Device,
) -> Result<Vec<ScoreRow>> {
    let (domain, mean_output) = (&sets.domain, sets.mean_output());
    let ridge = ridge_of(sets);
    if ridge.is_none() {
        ridge::warn_too_large();
    }
    let mut rows = Vec::new();
    for TestSet { name: data_set, pairs } in tests {
        let row = |name: String, is_learned: bool, parameters: usize, errors: &[f64]| ScoreRow {
            name,
            is_learned,
            data_set: data_set.clone(),
            scores: vec![
                Metric::real("relative_l2", mean(errors)),
                Metric::real("largest", errors.iter().copied().fold(0.0, f64::max)),
                Metric::whole("samples", errors.len()),
                Metric::whole("parameters", parameters),
            ],
        };
        let constant = repeated(&mean_output, &pairs.output);
        rows.push(row("mean of the training outputs".into(), false, 0, &errors(&constant, &pairs.output)));
        if let Some(ridge) = ridge.as_ref().filter(|_| pairs.input.points == sets.train.input.points) {
            let found = wide_rows(&pairs.input).into_iter().flat_map(|row| ridge.predict(&row));
            let found: Vec<f32> = found.map(|value| value as f32).collect();
            let found = Fields::new(pairs.output.channels, pairs.output.points.clone(), found);
            rows.push(row(ridge::NAME.into(), false, ridge.parameters(), &errors(&found, &pairs.output)));
        }
        for (name, model) in models {
            let parameters = model.num_params();
            let errors = errors_of(model, pairs, &domain.without_symmetries(), device)?;
            rows.push(row(name.clone(), true, parameters, &errors));
            if !domain.symmetries.is_empty() {
                let errors = errors_of(model, pairs, domain, device)?;
                rows.push(row(format!("{name}, mean over symmetries"), true, parameters, &errors));
            }
        }
    }
    Ok(rows)
}

/// The map from all values of an input to all of its output that fits the training samples; `None` if they are too many.
fn ridge_of(sets: &SampleSets) -> Option<RidgeRegression> {
    let pairs = |FieldPairs { input, output }: &FieldPairs| (wide_rows(input), wide_rows(output));
    let is_small = |fields: &Fields| fields.sample(0).len() <= MAX_VALUES;
    let all_small = is_small(&sets.train.input) && is_small(&sets.train.output);
    all_small.then(|| RidgeRegression::fit(&pairs(&sets.train), &pairs(&sets.validation)))?
}

/// Values of each sample in f64.
fn wide_rows(fields: &Fields) -> Vec<Vec<f64>> {
    (0..fields.len()).map(|index| fields.sample(index).iter().copied().map(f64::from).collect()).collect()
}

/// One sample at the points of others, as many times: the value of the nearest point that is not behind.
fn repeated(one: &Fields, like: &Fields) -> Fields {
    let count: usize = like.points.iter().product();
    let of_one: usize = one.points.iter().product();
    let strides = strides(&one.points);
    let nearest = |(dim, point): (usize, usize)| point * one.points[dim] / like.points[dim] * strides[dim];
    let places: Vec<usize> = (0..count).map(|index| coordinates(index, &like.points).map(nearest).sum()).collect();
    let sample: Vec<f32> =
        one.sample(0).chunks_exact(of_one).flat_map(|channel| places.iter().map(|place| channel[*place])).collect();
    Fields::new(one.channels, like.points.clone(), sample).selected(&vec![0; like.len()])
}

/// Samples of each test set that are drawn.
const DRAWN: usize = 2;
/// Rows of a field drawn at most: every so many-th of more is.
const MAX_ROWS: usize = 32;
/// Columns between two fields that are drawn beside each other.
const GAP: usize = 1;

/// Fields of the first samples of each test set, and the error over the points if test sets differ in them.
pub(super) fn figures(
    sets: &SampleSets,
    model: &FieldOperator,
    rows: &[ScoreRow],
    device: &Device,
) -> Result<Vec<Figure>> {
    let mut figures: Vec<Figure> = error_against_resolution(sets, rows).into_iter().collect();
    let domain = sets.domain.without_symmetries();
    for test in &sets.tests {
        let first: Vec<usize> = (0..test.pairs.len().min(DRAWN)).collect();
        let pairs = test.pairs.selected(&first);
        let found = outputs(model, &pairs.input, &domain, device)?;
        for (index, error) in errors(&found, &pairs.output).into_iter().enumerate() {
            let title = format!("{}: sample {index}, relative L2 {}", test.name, significant(error, 3));
            let fields = Drawn { input: &pairs.input, target: &pairs.output, found: &found, index };
            figures.push(if pairs.input.points.len() == 1 { fields.lines(&title) } else { fields.map(&title) });
        }
    }
    Ok(figures)
}

/// Mean error of each learned row over the points along the first dimension; none for a single resolution.
fn error_against_resolution(sets: &SampleSets, rows: &[ScoreRow]) -> Option<Figure> {
    let points = |test: &TestSet| test.pairs.input.points[0];
    let first = points(sets.tests.first()?);
    if sets.tests.iter().all(|test| points(test) == first) {
        return None;
    }
    let mut names: Vec<&str> = rows.iter().filter(|row| row.is_learned).map(|row| row.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let series = names.iter().enumerate().map(|(colour, name)| {
        let error = |test: &TestSet| {
            let row = rows.iter().find(|row| row.name == *name && row.data_set == test.name)?;
            Some((points(test) as f64, row.score("relative_l2")?))
        };
        let mut places: Vec<(f64, f64)> = sets.tests.iter().filter_map(error).collect();
        places.sort_by(|a, b| a.0.total_cmp(&b.0));
        ChartSeries::line(name, colour, places)
    });
    let axes = [("points along the first dimension", AxisScale::Log2), ("relative L2 error", AxisScale::Linear)];
    let chart = chart(axes, series.collect());
    let trained: Vec<String> = sets.train.input.points.iter().map(ToString::to_string).collect();
    let mut figure = Figure::chart("Error against resolution", chart, "No model was evaluated.");
    figure.caption = format!("Trained at {} points.", trained.join(" × "));
    Some(figure)
}

/// A sample that is drawn: its input, its output and the model's.
struct Drawn<'a> {
    input: &'a Fields,
    target: &'a Fields,
    found: &'a Fields,
    index: usize,
}

impl Drawn<'_> {
    /// The first channels over the points of one dimension.
    fn lines(&self, title: &str) -> Figure {
        let n = self.input.points[0];
        let line = |name: &str, colour: usize, values: &[f32]| {
            let points = values[..n].iter().enumerate();
            ChartSeries::line(name, colour, points.map(|(point, value)| (point as f64 / n as f64, f64::from(*value))))
        };
        let series = vec![
            line("input", 0, self.input.sample(self.index)),
            line("target", 1, self.target.sample(self.index)),
            line("prediction", 2, self.found.sample(self.index)),
            line("error", 3, &self.error()),
        ];
        let axes = ["place (share of the interval)", "value"].map(|label| (label, AxisScale::Linear));
        Figure::chart(title, chart(axes, series), "The fields have no finite value.").without_values()
    }

    /// The first channels beside each other; of a cube the slice in its middle.
    fn map(&self, title: &str) -> Figure {
        let [.., rows, columns] = self.input.points[..] else { return Figure::note(title, "It has one dimension.") };
        let error = self.error();
        let sample = |fields: &'_ Fields| self.slice(fields.sample(self.index)).to_vec();
        let drawn = [sample(self.input), sample(self.target), sample(self.found), self.slice(&error).to_vec()];
        // Target and prediction have one scale.
        let range = |values: &[f32]| {
            values
                .iter()
                .fold([f32::INFINITY, f32::NEG_INFINITY], |[low, high], value| [low.min(*value), high.max(*value)])
        };
        let shared = range(&drawn[1]);
        let ranges = [range(&drawn[0]), shared, shared, [0.0, range(&drawn[3])[1]]];
        let axes = ["column, of input, target, prediction and magnitude of the error", "row"];
        let mut map = HeatMap::new(4 * columns + 3 * GAP, axes, ["least", "greatest"]);
        for row in (0..rows).step_by(rows.div_ceil(MAX_ROWS)) {
            let parts = drawn.iter().zip(ranges).map(|(values, [low, high])| {
                let scaled = |value: &f32| if high > low { (value - low) / (high - low) } else { 0.5 };
                values[row * columns..][..columns].iter().map(scaled).collect::<Vec<f32>>()
            });
            let parts: Vec<Vec<f32>> = parts.collect();
            map.row(row.to_string(), String::new(), &parts.join(&[f32::NAN; GAP][..]));
        }
        let mut figure = Figure::heat_map(title, &map, "").without_values();
        figure.caption = format!(
            "Target and prediction from {} to {}, error up to {}.",
            significant(f64::from(shared[0]), 3),
            significant(f64::from(shared[1]), 3),
            significant(f64::from(ranges[3][1]), 3)
        );
        figure
    }

    /// Magnitude of the error of the first channel.
    fn error(&self) -> Vec<f32> {
        let (target, found) = (self.target.sample(self.index), self.found.sample(self.index));
        target.iter().zip(found).map(|(a, b)| (a - b).abs()).collect()
    }

    /// The first channel, or the slice in the middle of its first dimension where there are three.
    fn slice<'a>(&self, sample: &'a [f32]) -> &'a [f32] {
        let points = &self.input.points;
        let plane: usize = points.iter().rev().take(2).product();
        let slice = if points.len() == 3 { points[0] / 2 } else { 0 };
        &sample[slice * plane..][..plane]
    }
}

#[cfg(test)]
mod tests {
    use firefly_models::zoo::{self, Settings};

    use super::*;
    use crate::tasks::operator::config::{Boundary, DataSection, Symmetries};
    use crate::tasks::operator::model::{ChannelScales, FieldDescription};

    #[test]
    fn the_error_is_relative_to_each_output() {
        let fields = |values: &[f32]| Fields::new(1, vec![2], values.to_vec());
        let (found, wanted) = (fields(&[3.0, 0.0, 0.0, 30.0]), fields(&[3.0, 4.0, 0.0, 20.0]));
        let expected = [0.8, 0.5];
        assert!(errors(&found, &wanted).iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12));
        let tensor = |fields: &Fields| {
            let values: Vec<f32> = fields.values().collect();
            Tensor::<1>::from_floats(&values[..], &Device::flex()).reshape([2, 2])
        };
        let on_device = |exponent: i32| -> Vec<f32> {
            let scaled = |fields: &Fields| tensor(fields) * 2f64.powi(exponent);
            relative_l2(scaled(&found), scaled(&wanted), 2f64.powi(exponent)).into_data().iter().collect()
        };
        assert!(on_device(0).iter().zip([0.8, 0.5]).all(|(a, b)| (a - b).abs() < 1e-6), "{:?}", on_device(0));
        assert_eq!((on_device(66), on_device(-84)), (on_device(0), on_device(0)), "squares are beyond f32");
    }

    #[test]
    fn outputs_averaged_over_symmetries_are_symmetric_up_to_the_boundary() {
        let device = Device::flex();
        device.seed(1);
        let section = DataSection { boundary: Boundary::Zero, symmetry: Symmetries::Square, ..DataSection::default() };
        let domain = Domain::of(&section, 2);
        let settings = Settings::new().with("in_channels", 1).with("out_channels", 1).with("points", 9);
        let identity = ChannelScales::identity(1);
        let model = FieldOperator {
            model: zoo::create("fno2d_tiny", &settings, &device).unwrap(),
            fields: FieldDescription { points: vec![9, 9], input: identity.clone(), output: identity },
        };
        // A constant input has every symmetry, also where it is closed by points at 1; an untrained model has none.
        let input = Fields::new(1, vec![8, 8], vec![1.0; 64]);
        let asymmetry = |domain: &Domain| {
            let found: Vec<f32> = outputs(&model, &input, domain, &device).unwrap().values().collect();
            let at = |row: usize, column: usize| found[row * 8 + column];
            let places = (1..8).flat_map(|row| (1..8).map(move |column| (row, column)));
            let difference = |(row, column)| {
                let images = [at(column, row), at(8 - row, column), at(row, 8 - column)];
                images.map(|image| (image - at(row, column)).abs()).into_iter().fold(0.0, f32::max)
            };
            places.map(difference).fold(0.0, f32::max)
                / found.iter().fold(0.0, |most: f32, value| most.max(value.abs()))
        };
        assert!(asymmetry(&domain) < 1e-5, "{}", asymmetry(&domain));
        assert!(asymmetry(&domain.without_symmetries()) > 1e-3, "{}", asymmetry(&domain.without_symmetries()));
    }

    #[test]
    fn a_field_is_repeated_at_other_resolutions() {
        let one = Fields::new(1, vec![2, 2], vec![1.0, 2.0, 3.0, 4.0]);
        let like = Fields::new(1, vec![4, 2], vec![0.0; 16]);
        assert!(repeated(&one, &like).values().eq([1.0, 2.0, 1.0, 2.0, 3.0, 4.0, 3.0, 4.0].repeat(2)));
    }
}
