//! Evaluation: outputs of a model for samples of any resolution, and their relative L2 errors.

use burn::module::Module;
use burn::tensor::{Device, Tensor};

use super::domain::{Domain, DomainSymmetry};
use super::fields::{FieldPairs, Fields};
use super::model::FieldOperator;
use super::samples::{SampleSets, TestSet};
use crate::grid;
use crate::metrics::Metric;
use crate::task::{Placed, TaskError, over_devices};
use crate::tasks::ridge::{self, MAX_VALUES, RidgeRegression};
use crate::tasks::scores::ScoreRow;

/// Largest number of input values in a batch of an evaluation.
const BATCH_VALUES: usize = 1 << 16;
/// Added to a squared error in the loss, relative to the square of the output: its root has a gradient everywhere.
const SQUARE_OFFSET: f64 = 1e-14;
/// Suffix of the name of a model whose outputs are averaged over symmetries.
const AVERAGED: &str = "mean over symmetries";

/// Relative L2 error of each row of a batch, `[batch]`; outputs are squared in a unit that is a power of two, which
/// changes no bit where squares without it are numbers of f32.
pub fn relative_l2(found: Tensor<2>, wanted: Tensor<2>, unit: f64) -> Tensor<1> {
    let (found, wanted) = (found * unit.recip(), wanted * unit.recip());
    let squares = (found - wanted.clone()).square().sum_dim(1) / wanted.square().sum_dim(1);
    (squares + SQUARE_OFFSET).sqrt().squeeze_dim(1)
}

/// Outputs of a model for `input` on one device.
pub fn outputs(model: &FieldOperator, input: &Fields, domain: &Domain, device: &Device) -> Result<Fields, TaskError> {
    outputs_on(&mut [Placed { model: model.clone(), device: device.clone() }], input, domain)
}

/// Outputs of a model for `input`, whose batches are shared among devices: its own, or the mean over the symmetries of
/// a domain of the outputs for the changed inputs, changed back.
pub fn outputs_on(placed: &mut [Placed<FieldOperator>], input: &Fields, domain: &Domain) -> Result<Fields, TaskError> {
    let channels = placed.first().map_or(0, |placed| placed.model.fields.output.channels());
    let points = domain.points(&input.points);
    let of_sample = channels * points.iter().product::<usize>();
    let indices: Vec<usize> = (0..input.len()).collect();
    let batches: Vec<&[usize]> = indices.chunks((BATCH_VALUES / of_sample.max(1)).max(1)).collect();
    let of_batch = |Placed { model, device }: &Placed<FieldOperator>, indices: &&[usize]| {
        let of = |changes: &[DomainSymmetry]| -> Result<Vec<f32>, TaskError> {
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
pub fn errors_of(
    model: &FieldOperator,
    pairs: &FieldPairs,
    domain: &Domain,
    device: &Device,
) -> Result<Vec<f64>, TaskError> {
    Ok(errors(&outputs(model, &pairs.input, domain, device)?, &pairs.output))
}

/// Rows of models on test samples, and of what they are compared with: the mean of the training outputs and, on the
/// training samples' points, ridge regression.
pub fn compare(
    sets: &SampleSets,
    tests: &[TestSet],
    models: &[(String, FieldOperator)],
    device: &Device,
) -> Result<Vec<ScoreRow>, TaskError> {
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
                rows.push(row(format!("{name}, {AVERAGED}"), true, parameters, &errors));
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
    let strides = grid::strides(&one.points);
    let nearest = |(dim, point): (usize, usize)| point * one.points[dim] / like.points[dim] * strides[dim];
    let places: Vec<usize> =
        (0..count).map(|index| grid::coordinates(index, &like.points).map(nearest).sum()).collect();
    let sample: Vec<f32> =
        one.sample(0).chunks_exact(of_one).flat_map(|channel| places.iter().map(|place| channel[*place])).collect();
    Fields::new(one.channels, like.points.clone(), sample).selected(&vec![0; like.len()])
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
