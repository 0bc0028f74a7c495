//! Chart specifications: plain data that a page embeds as JSON and `charts.js` draws.

use serde::{Serialize, Serializer};

/// Points of a line at most; a longer one is drawn as the mean and the range of [`RUNS`] runs of neighbouring points.
const MAX_POINTS: usize = 400;
const RUNS: usize = 200;
/// Values beyond this magnitude are left out of drawings, so that ranges stay finite.
const LARGEST: f64 = 1e150;

/// Series over a common horizontal axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Chart {
    /// The horizontal axis.
    pub x: ChartAxis,
    /// The vertical axis.
    pub y: ChartAxis,
    /// The series, in the legend's order.
    pub series: Vec<ChartSeries>,
    /// A value of the vertical axis that is marked by a dashed line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Threshold>,
}

/// Quantity and scale of an axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChartAxis {
    /// The quantity with its unit.
    pub label: String,
    /// Scale of the axis.
    pub scale: AxisScale,
}

/// Scale of an axis: the mapping of values to distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AxisScale {
    /// Equal steps for equal differences.
    Linear,
    /// Linear, for values in `0..=1`: the range never goes beyond unless a value does.
    Share,
    /// Equal steps for equal factors.
    Log,
    /// Logarithmic with ticks at powers of two, for batch sizes and the like.
    Log2,
    /// One place per point, in order; horizontal axes of bars only.
    Category,
}

/// Points of one name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChartSeries {
    /// Name in the legend and in tooltips.
    pub name: String,
    /// Index of its colour and shape; both repeat after eight, with dashed lines.
    pub colour: usize,
    /// Shape that its points are drawn as.
    pub mark: Mark,
    /// The points, by increasing `x` for a line.
    pub points: Vec<Point>,
    /// Whether a point stands for a run of neighbours.
    #[serde(skip)]
    thinned: bool,
}

/// Shape that the points of a series are drawn as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mark {
    /// A line through the points; the range of a point is a band around it.
    Line,
    /// Points alone; the range of a point is a whisker.
    Points,
    /// Bars from zero; the range of a point is a whisker.
    Bars,
}

/// A marked value of the vertical axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Threshold {
    /// The value.
    pub value: f64,
    /// Meaning of the line.
    pub label: String,
}

impl ChartAxis {
    /// An axis of a quantity, unit in brackets.
    pub fn new(label: &str, scale: AxisScale) -> Self {
        Self { label: label.to_owned(), scale }
    }
}

impl AxisScale {
    /// Logarithmic if no value is negative and the positive ones span two decades or more, else linear.
    pub fn spanning(values: impl IntoIterator<Item = f64>) -> Self {
        let finite: Vec<f64> = values.into_iter().filter(|value| drawable(*value).is_some()).collect();
        let lowest = finite.iter().copied().filter(|value| *value > 0.0).fold(f64::INFINITY, f64::min);
        let highest = finite.iter().copied().fold(0.0, f64::max);
        match finite.iter().all(|value| *value >= 0.0) && highest >= 100.0 * lowest {
            true => Self::Log,
            false => Self::Linear,
        }
    }
}

impl ChartSeries {
    /// A series of points as they are.
    pub fn new(name: &str, colour: usize, mark: Mark, points: Vec<Point>) -> Self {
        Self { name: name.to_owned(), colour, mark, points, thinned: false }
    }

    /// A line through `(x, y)`, thinned to what a chart can show: a long one becomes the mean of neighbouring points
    /// with their extremes as a band.
    pub fn line(name: &str, colour: usize, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let points: Vec<Point> = points.into_iter().map(|(x, y)| Point::at(x, y)).collect();
        let thinned = points.len() > MAX_POINTS;
        let points = if thinned { thin(&points, RUNS) } else { points };
        Self { thinned, ..Self::new(name, colour, Mark::Line, points) }
    }

    /// Whether a point stands for a run of neighbours.
    pub(super) fn is_thinned(&self) -> bool {
        self.thinned
    }

    /// Whether any point can be drawn.
    pub(super) fn is_drawable(&self) -> bool {
        self.points.iter().any(|point| drawable(point.x).is_some() && drawable(point.y).is_some())
    }
}

/// `value` if a chart can draw it.
fn drawable(value: f64) -> Option<f64> {
    (value.abs() < LARGEST).then_some(value)
}

/// A point of a [`ChartSeries`]. A value that is not finite is a gap.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Point {
    /// Horizontal value.
    #[serde(serialize_with = "finite")]
    pub x: f64,
    /// Vertical value.
    #[serde(serialize_with = "finite")]
    pub y: f64,
    /// Lower and upper end of what `y` stands for: extremes, percentiles or an error bar.
    #[serde(flatten)]
    pub range: Option<Range>,
    /// Label of the point.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Lines of the tooltip; series name and `y` unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// Range of values that a [`Point`] stands for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Range {
    /// Lower end.
    #[serde(serialize_with = "finite")]
    pub low: f64,
    /// Upper end.
    #[serde(serialize_with = "finite")]
    pub high: f64,
}

impl Point {
    /// A point without a range or text.
    pub fn at(x: f64, y: f64) -> Self {
        Self { x, y, ..Self::default() }
    }
}

/// Writes what can be drawn with seven significant digits, whole numbers without a fraction, anything else as null.
fn finite<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    match drawable(*value) {
        None => serializer.serialize_none(),
        Some(value) => {
            let rounded = format!("{value:.6e}").parse().unwrap_or(value);
            match rounded as i64 {
                whole if whole as f64 == rounded => serializer.serialize_i64(whole),
                _ => serializer.serialize_f64(rounded),
            }
        }
    }
}

/// One point per run of neighbours, `runs` of them, at most as many as there are points: the run's mean, with its
/// extremes as the range. A run with a value that is not finite is a gap.
fn thin(points: &[Point], runs: usize) -> Vec<Point> {
    let run = |index: usize| mean(&points[index * points.len() / runs..(index + 1) * points.len() / runs]);
    (0..runs).map(run).collect()
}

/// The mean of `points`, at least one, with their extremes as its range.
fn mean(points: &[Point]) -> Point {
    let mean = |value: fn(&Point) -> f64| points.iter().map(|point| value(point) / points.len() as f64).sum();
    let extreme = |pick: fn(f64, f64) -> f64| points.iter().map(|point| point.y).reduce(pick).unwrap_or(f64::NAN);
    let range = Range { low: extreme(f64::min), high: extreme(f64::max) };
    Point { range: Some(range), ..Point::at(mean(|point| point.x), mean(|point| point.y)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_are_logarithmic_from_two_decades_of_positive_values() {
        assert_eq!(AxisScale::spanning([1.0, 99.0]), AxisScale::Linear);
        assert_eq!(AxisScale::spanning([1.0, 100.0, f64::NAN, 0.0]), AxisScale::Log);
        assert_eq!(AxisScale::spanning([-1.0, 1.0, 1e6]), AxisScale::Linear);
        assert_eq!(AxisScale::spanning([0.0, f64::INFINITY]), AxisScale::Linear);
    }

    #[test]
    fn short_lines_stay_as_they_are() {
        let line = |points: u32| ChartSeries::line("a", 0, (0..points).map(|i| (f64::from(i), 1.0)));
        assert!(line(400).points.len() == 400 && !line(400).is_thinned());
        assert!(line(401).points.len() == RUNS && line(401).is_thinned());
    }

    #[test]
    fn points_are_written_as_short_and_valid_json() {
        let mut point = Point::at(2048.0, 1.0 / 3.0);
        assert_eq!(serde_json::to_string(&point).unwrap(), r#"{"x":2048,"y":0.3333333}"#);
        point.y = f64::NAN;
        point.range = Some(Range { low: 1e-9, high: f64::MAX });
        assert_eq!(serde_json::to_string(&point).unwrap(), r#"{"x":2048,"y":null,"low":1e-9,"high":null}"#);
    }

    #[test]
    fn extremes_are_kept_in_order() {
        let mut points: Vec<_> = (0..100_000).map(|i| Point::at(f64::from(i), (f64::from(i) * 0.37).sin())).collect();
        points[43_210].y = 50.0;
        points[43_211].y = -50.0;
        let thinned = thin(&points, 512);
        assert_eq!(thinned.len(), 512);
        assert!(thinned.iter().any(|point| point.range.unwrap().high == 50.0));
        assert!(thinned.iter().any(|point| point.range.unwrap().low == -50.0));
        assert!(thinned.windows(2).all(|pair| pair[0].x < pair[1].x));
    }

    #[test]
    fn gaps_are_kept() {
        let gap = |i| if i == 5_000 { f64::NAN } else { 1.0 };
        let points: Vec<_> = (0..10_000).map(|i| Point::at(f64::from(i), gap(i))).collect();
        let thinned = thin(&points, 512);
        assert_eq!(thinned.iter().filter(|point| point.y.is_nan()).count(), 1);
        let thinned = thin(&vec![Point::at(0.0, f64::NAN); 5_000], 512);
        assert!(thinned.len() == 512 && thinned.iter().all(|point| point.y.is_nan()));
    }

    #[test]
    fn means_are_those_of_neighbours() {
        let points: Vec<_> = (0..4_000).map(|i| Point::at(f64::from(i), f64::from(i % 2))).collect();
        let thinned = thin(&points, 200);
        assert!(thinned.iter().all(|point| (point.y - 0.5).abs() < 1e-9));
        assert!((thinned[1].x - 29.5).abs() < 1e-9);
    }
}
