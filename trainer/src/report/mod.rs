//! One self-contained HTML page about a training run.
//!
//! [`Report`] is plain data; [`Report::render`] turns it into a page, of the parts in [`firefly_framework::page`].

mod bars;
mod evaluation;
mod gates;
mod heat_map;
mod labels;
mod page;
mod parameters;
mod scatter;
#[cfg(test)]
mod tests;
mod training;

use serde::{Deserialize, Serialize};

/// A gate at or above this value is open.
pub const OPEN: f32 = 0.5;

/// What a run did, as shown on its page. Empty parts are said to be missing rather than drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Heading of the page.
    pub title: String,
    /// Name and value of what fixes the run: device, versions, seed, `n_fft`, hop, segments, K, window, scaling, detrend, data.
    pub facts: Vec<(String, String)>,
    /// Training history in order of steps. Of any length: curves are thinned with their extremes kept.
    pub training: Vec<TrainingPoint>,
    /// Gates of the learned model.
    pub gates: GateMap,
    /// Learned taper, `[n_fft]`.
    pub taper: Vec<f32>,
    /// Exact window the taper is compared with, `[n_fft]`; empty for no comparison.
    pub window: Vec<f32>,
    /// Learned gain in dB that each bin's power gets from the bin below, itself and the bin above, `[n_fft / 2 + 1]` each.
    pub gain_db: [Vec<f32>; 3],
    /// Evaluation of every model on every data set. Data sets appear in the order of their first row.
    pub rows: Vec<EvaluationRow>,
    /// The resolved configuration as TOML.
    pub config: String,
}

/// The state of training at one step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TrainingPoint {
    /// Optimiser steps done.
    pub step: u64,
    /// Total loss.
    pub loss: f64,
    /// Ranking term, as it enters the total.
    pub ranking: f64,
    /// Log-power term, as it enters the total.
    pub log_power: f64,
    /// Price on active gates, as it enters the total.
    pub price: f64,
    /// Share of butterflies that hard gates execute, in `0..=1`.
    pub active_share: f64,
    /// Learning rate of the step.
    pub learning_rate: f64,
    /// Recall of the reference peaks (exact bin) on the validation data, in `0..=1`, at the steps that measured it.
    pub validation_recall: Option<f64>,
}

/// The gates of a learned model, each in `0..=1`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GateMap {
    /// Stages of the transform, `log2 n_fft`.
    pub stages: usize,
    /// Butterflies of a stage, `n_fft / 2`.
    pub pairs: usize,
    /// Gate of every butterfly, `[stages, pairs]` row-major. Any other length is reported as such and not drawn.
    pub values: Vec<f32>,
    /// Gate of every segment, `[segments]`; empty when the model has none.
    pub segments: Vec<f32>,
}

/// Which side of the comparison a model is on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelKind {
    /// An exact tier: `ultra`, `fast` or `reference`.
    #[default]
    Exact,
    /// A learned model.
    Learned,
}

/// One model measured on one data set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EvaluationRow {
    /// Name of the model, such as `fast` or `learned at price 0.01`.
    pub name: String,
    /// Exact tier or learned model; decides the mark in the figures.
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
    /// Open butterflies of a frame: open gates, summed over open segments.
    pub butterflies_per_frame: f64,
    /// Median time per frame in microseconds.
    pub median_microseconds_per_frame: f64,
}

impl Report {
    /// The page as HTML text in UTF-8.
    pub fn render(&self) -> String {
        page::render(self)
    }
}
