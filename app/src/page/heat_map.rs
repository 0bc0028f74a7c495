//! Heat maps of values in `0..=1`: rows down, columns across.

use serde::Serialize;

/// Columns drawn at most; more are pooled.
const MAX_COLUMNS: usize = 512;

/// Heat map specification: plain data that a page embeds as JSON and `charts.js` draws.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeatMap {
    pub(super) x: Label,
    pub(super) y: Label,
    /// Columns of the values that the map was made of.
    columns: usize,
    /// Columns of the values in one column drawn.
    pooled: usize,
    pub(super) rows: Vec<HeatMapRow>,
    /// Meanings of the ends of the colour scale, 0 and 1.
    #[serde(skip)]
    pub(super) ends: [String; 2],
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Label {
    pub(super) label: String,
}

/// A row: name on the left, note on the right, and the mean of every column drawn; `None` when no value of it is
/// finite.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct HeatMapRow {
    pub(super) name: String,
    pub(super) note: String,
    pub(super) values: Vec<Option<f32>>,
}

impl HeatMap {
    /// An empty map of rows of `columns` values, its axes' names, and what 0 and 1 mean.
    pub fn new(columns: usize, [x, y]: [&str; 2], ends: [&str; 2]) -> Self {
        let label = |text: &str| Label { label: text.to_owned() };
        let pooled = columns.div_ceil(MAX_COLUMNS).max(1);
        Self { x: label(x), y: label(y), columns, pooled, rows: Vec::new(), ends: ends.map(str::to_owned) }
    }

    /// Adds a row with a note, such as a total, at its end.
    pub fn row(&mut self, name: String, note: String, values: &[f32]) {
        self.rows.push(HeatMapRow { name, note, values: values.chunks(self.pooled).map(mean).collect() });
    }

    /// Values in one column drawn.
    pub fn pooled(&self) -> usize {
        self.pooled
    }
}

/// Mean of the finite ones of `values`, cut to `0..=1`, with three decimals. The ends are kept for means that are
/// exactly there.
fn mean(values: &[f32]) -> Option<f32> {
    let finite: Vec<f64> =
        values.iter().filter(|value| value.is_finite()).map(|value| f64::from(value.clamp(0.0, 1.0))).collect();
    let mean = finite.iter().sum::<f64>() / finite.len() as f64;
    let thousandths = (mean * 1000.0).round();
    let inside = if mean > 0.0 && mean < 1.0 { thousandths.clamp(1.0, 999.0) } else { thousandths };
    (!finite.is_empty()).then_some(inside as f32 / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_uniform_cells_take_the_ends_of_the_scale() {
        assert_eq!(mean(&[0.0, 0.0]), Some(0.0));
        assert_eq!(mean(&[0.0, 0.0001]), Some(0.001));
        assert_eq!(mean(&[1.0, 0.9999]), Some(0.999));
        assert_eq!(mean(&[1.0, f32::NAN]), Some(1.0));
        assert_eq!(mean(&[7.0]), Some(1.0));
        assert_eq!(mean(&[f32::NAN]), None);
    }

    #[test]
    fn columns_are_pooled_beyond_the_limit() {
        let pooled = |columns| HeatMap::new(columns, ["x", "y"], ["low", "high"]).pooled();
        assert_eq!([pooled(1), pooled(512), pooled(32_768)], [1, 1, 64]);
    }
}
