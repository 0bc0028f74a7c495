//! Parts of a run's page that are the task's own.
//!
//! [`PeaksReport`] is plain data, which [`PeaksReport::parts`] turns into tables and figures.

mod evaluation;
mod learned;
#[cfg(test)]
mod tests;

use burn::tensor::{Tensor, TensorData};
use firefly_models::LearnedWelchPeaks;

pub use evaluation::against_time;

use super::{PeaksConfig, PeaksRow};
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
}

impl PeaksReport {
    /// The report of a finished run.
    pub fn of_run(config: &PeaksConfig, model: &LearnedWelchPeaks, rows: &[PeaksRow]) -> Self {
        let options = model.options();
        let gates = model.mean_gates();
        Self {
            facts: facts(config),
            gates: GateMap {
                stages: options.stages(),
                pairs: options.n_fft / 2,
                values: gates.butterflies().map_or_else(Vec::new, |gates| values(gates.clone())),
                segments: values(model.hard_gates().segments().clone()),
            },
            taper: values(model.taper.val()),
            window: model
                .config()
                .window
                .coefficients(options.n_fft, model.config().symmetry)
                .iter()
                .map(|c| *c as f32)
                .collect(),
            gain_db: [0, 1, 2].map(|tap| {
                let gain = model.gain().slice([0..options.bins(), tap..tap + 1]);
                values(gain).iter().map(|gain| 10.0 * gain.log10()).collect()
            }),
            rows: rows.to_vec(),
        }
    }

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
            model: learned::figures(self),
        }
    }
}

fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    TensorData::convert::<f32>(tensor.into_data()).iter().collect()
}

fn facts(config: &PeaksConfig) -> Vec<(String, String)> {
    let model = &config.model;
    let candidates = match &model.open_segments {
        Some(open) => format!("{} candidates, {open:?} open at the start", model.segments),
        None => format!("{} candidates", model.segments),
    };
    [
        ("n_fft", model.n_fft.to_string()),
        ("hop", model.hop.to_string()),
        ("segments", candidates),
        ("K", model.k.to_string()),
        ("window", format!("{} ({:?})", model.window, model.symmetry).to_lowercase()),
        ("scaling", model.scaling.to_string()),
        ("detrend", model.detrend.to_string()),
        ("price", config.loss.price.to_string()),
    ]
    .map(|(name, value)| (name.to_string(), value))
    .into()
}
