//! Points of charts, as they are written to a page.

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
    /// Text beside the point.
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
}
