//! Report of a finished run, from its configuration, metrics, model and evaluation.

use burn::tensor::{Tensor, TensorData};
use firefly_models::LearnedWelchPeaks;

use super::{GateMap, PeaksReport};
use crate::config::Resolved;
use crate::tasks::peaks::{PeaksConfig, PeaksRow, PeaksTask};

impl PeaksReport {
    /// The report of a finished run.
    pub fn of_run(resolved: &Resolved<PeaksTask>, model: &LearnedWelchPeaks, rows: &[PeaksRow]) -> Self {
        let options = model.options();
        let (gates, hard) = (model.mean_gates(), model.hard_gates());
        Self {
            facts: facts(&resolved.config).into_iter().chain(halved(model)).collect(),
            gates: GateMap {
                stages: options.stages(),
                pairs: options.n_fft / 2,
                values: values(gates.butterflies().clone()),
                segments: values(hard.segments().clone()),
                blocks: hard.blocks().map_or_else(Vec::new, |blocks| values(blocks.clone())),
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
}

fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    TensorData::convert::<f32>(tensor.into_data()).iter().collect()
}

/// That the model halves its transform, if it does.
fn halved(model: &LearnedWelchPeaks) -> Option<(String, String)> {
    let options = model.options_with(&model.hard_gates());
    let text = || format!("{} sums of {} samples; its butterflies are exact", options.n_fft, 1 << options.halvings);
    (options.halvings > 0).then(|| ("transform".into(), text()))
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
