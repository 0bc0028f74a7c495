//! One self-contained HTML page about a training run.
//!
//! [`Report`] is plain data; [`Report::render`] turns it into a page, of the parts in [`firefly_app::page`].

mod bars;
mod build;
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

use crate::evaluate::EvaluationRow;
use crate::metrics::TrainingPoint;

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

impl Report {
    /// The page as HTML text in UTF-8.
    pub fn render(&self) -> String {
        page::render(self)
    }
}
