//! Figures of the report: fields of a few test samples, and the error against the resolution.

use burn::tensor::Device;
use firefly_app::number::significant;
use firefly_app::page::chart::{AxisScale, Chart, ChartAxis, ChartSeries};
use firefly_app::page::figure::Figure;
use firefly_app::page::heat_map::HeatMap;

use super::evaluate::{errors, outputs};
use super::fields::Fields;
use super::model::FieldOperator;
use super::samples::{SampleSets, TestSet};
use crate::task::TaskError;
use crate::tasks::scores::ScoreRow;

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
) -> Result<Vec<Figure>, TaskError> {
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
    let chart = Chart {
        x: ChartAxis::new("points along the first dimension", AxisScale::Log2),
        y: ChartAxis::new("relative L2 error", AxisScale::Linear),
        series: series.collect(),
        threshold: None,
    };
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
        let chart = Chart {
            x: ChartAxis::new("place (share of the interval)", AxisScale::Linear),
            y: ChartAxis::new("value", AxisScale::Linear),
            series: vec![
                line("input", 0, self.input.sample(self.index)),
                line("target", 1, self.target.sample(self.index)),
                line("prediction", 2, self.found.sample(self.index)),
                line("error", 3, &self.error()),
            ],
            threshold: None,
        };
        Figure::chart(title, chart, "The fields have no finite value.").without_values()
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
