//! Parts of a run's page that are the task's own.
//!
//! [`PeaksReport`] is plain data, which [`PeaksReport::parts`] turns into tables and figures.

mod build;
mod evaluation;
mod gates;
mod parameters;
mod recall;
#[cfg(test)]
mod tests;

pub use recall::against_time;

use super::evaluate::PeaksRow;
use crate::task::ReportParts;

/// A gate at or above this value is open.
pub const OPEN: f32 = 0.5;

/// Contents of the page of a run. Empty parts are said to be missing rather than drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PeaksReport {
    /// Name and value of what fixes the model: `n_fft`, hop, segments, K, window, scaling, detrend, price.
    pub facts: Vec<(String, String)>,
    /// Gates of the learned model.
    pub gates: GateMap,
    /// Learned taper, `[n_fft]`.
    pub taper: Vec<f32>,
    /// Exact window the taper is compared with, `[n_fft]`; empty for no comparison.
    pub window: Vec<f32>,
    /// Learned gain in dB that each bin's power gets from the bin below, itself and the bin above, `[n_fft / 2 + 1]`
    /// each.
    pub gain_db: [Vec<f32>; 3],
    /// Evaluation of every model on every data set. Data sets appear in the order of their first row.
    pub rows: Vec<PeaksRow>,
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
    /// Gate of every block of bins, `[blocks]`; empty when the model has none.
    pub blocks: Vec<f32>,
}

impl PeaksReport {
    /// The tables and figures.
    pub fn parts(&self) -> ReportParts {
        ReportParts {
            data_set: self
                .rows
                .chunk_by(|a, b| a.data_set == b.data_set)
                .map(|rows| &*rows[0].data_set)
                .collect::<Vec<_>>()
                .join(", "),
            facts: self.facts.clone(),
            tables: evaluation::tables(&self.rows),
            figures: evaluation::figures(&self.rows),
            model: gates::figures(&self.gates).into_iter().chain(parameters::figures(self)).collect(),
        }
    }
}
