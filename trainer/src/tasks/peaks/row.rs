//! Rows of an evaluation.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// Kind of a compared model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelKind {
    /// An exact estimate: a tier, `ultra`, `fast` or `reference`, or one of as many segments as its name says.
    #[default]
    Exact,
    /// A learned model.
    Learned,
}

/// One model measured on one data set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PeaksRow {
    /// Name of the model, such as `fast` or `learned at price 0.01`.
    pub name: String,
    /// Exact estimate or learned model.
    pub kind: ModelKind,
    /// Name of the data set.
    pub data_set: String,
    /// Share of the K reference peaks found in their bin, in `0..=1`.
    pub recall: f64,
    /// Share of the K reference peaks found in their bin or a neighbour, in `0..=1`.
    pub recall_within_one_bin: f64,
    /// Median error of the power of the peaks that were found, in dB.
    pub median_power_error_db: f64,
    /// Open butterflies as a share of the reference tier's, in `0..=1`.
    pub active_share: f64,
    /// Open butterflies per frame: open gates times open segments.
    pub butterflies_per_frame: f64,
    /// Median time per frame in microseconds.
    pub median_microseconds_per_frame: f64,
    /// Predicted time per frame in microseconds, by the name of each calibrated device that has measured such a model.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub predicted_microseconds_per_frame: BTreeMap<String, f64>,
}

/// Names of the devices that predict a time for any of the rows.
pub(super) fn predicting_devices<'a>(rows: impl IntoIterator<Item = &'a PeaksRow>) -> BTreeSet<&'a str> {
    rows.into_iter().flat_map(|row| row.predicted_microseconds_per_frame.keys().map(String::as_str)).collect()
}
