//! Chart specifications: plain data that a page embeds as JSON and `charts.js` draws.

use serde::Serialize;

pub use super::point::{Point, Range};
use super::point::{drawable, thin};

/// Points of a line at most; a longer one is drawn as the mean and the range of [`RUNS`] runs of neighbouring points.
const MAX_POINTS: usize = 400;
const RUNS: usize = 200;

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
}
