//! Points of charts: as they are written to a page, and reduced to as many as a chart can show.

use serde::{Serialize, Serializer};

/// Values beyond this magnitude are left out of drawings, so that ranges stay finite.
const LARGEST: f64 = 1e150;

/// `value` if a chart can draw it.
pub(super) fn drawable(value: f64) -> Option<f64> {
    (value.abs() < LARGEST).then_some(value)
}

/// A point of a [`ChartSeries`](super::chart::ChartSeries). A value that is not finite is a gap.
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
pub(super) fn finite<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
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
pub(super) fn thin(points: &[Point], runs: usize) -> Vec<Point> {
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
