//! The learned transform in the zoo.

use burn::tensor::Device;
use firefly_framework::graph::{AnyTensor, Input};
use firefly_ops::ArgumentError;

use super::config::{LearnedFftConfig, SpectralFeatures};
use super::module::LearnedFft;
use crate::zoo::{Family, FamilyCard, MACHINE, Measurement, Paper, Signature, Variant, exactly};

/// Command of the measurements.
const COMMAND: &str = "firefly train configs/estimation-speech-log-mel.toml --data DATA";

impl Family for LearnedFft {
    type Config = LearnedFftConfig;

    const CARD: FamilyCard = FamilyCard {
        name: "learned_fft",
        summary: "Gated butterfly transform with learned twiddles before power, mel bands or peaks.",
        paper: Some(Paper {
            authors: "Louizos et al. 2018",
            title: "Learning sparse neural networks through L0 regularization",
            url: "https://arxiv.org/abs/1712.01312",
        }),
        inputs: &[Signature { name: "frames", shape: "[rows, n_fft]", meaning: "samples of each frame" }],
        outputs: &[
            Signature { name: "features", shape: "[rows, values]", meaning: "by the learned transform" },
            Signature { name: "exact", shape: "[rows, values]", meaning: "the same by an exact transform" },
        ],
        results: &[
            Measurement {
                model: "learned_fft_log_mel",
                what: "root mean square difference from the exact twin in dB, log-mel bands of spoken digits at 8 kHz, \
                       test part (exact transform: 0)",
                value: "1.94",
                command: COMMAND,
                machine: MACHINE,
            },
            Measurement {
                model: "learned_fft_log_mel",
                what: "open butterflies as a share of all, of the same model",
                value: "0.68",
                command: COMMAND,
                machine: MACHINE,
            },
            Measurement {
                model: "learned_fft_log_mel",
                what: "µs per frame of the same model, in turn with its exact twin (0.29 to 0.31)",
                value: "0.35 to 0.37",
                command: COMMAND,
                machine: MACHINE,
            },
        ],
    };

    fn variants() -> Vec<Variant<LearnedFftConfig>> {
        let config = LearnedFftConfig::new();
        let of = |features| config.clone().with_features(features);
        let tiny = config.clone().with_n_fft(16).with_k(3);
        vec![
            Variant::new("learned_fft", "power of 256 samples", config.clone()),
            Variant::new("learned_fft_log_mel", "40 log-mel bands of 256 samples", of(SpectralFeatures::LogMel)),
            Variant::new("learned_fft_peaks", "16 peaks of 256 samples", of(SpectralFeatures::Peaks)),
            Variant::new("learned_fft_tiny", "power of 16 samples", tiny.clone()),
            Variant::new(
                "learned_fft_peaks_tiny",
                "3 peaks of 16 samples",
                tiny.with_features(SpectralFeatures::Peaks),
            ),
        ]
    }

    fn from_config(config: &LearnedFftConfig, device: &Device) -> Result<Self, ArgumentError> {
        config.try_init(device)
    }

    fn config(&self) -> LearnedFftConfig {
        LearnedFft::config(self).clone()
    }

    fn inputs(&self, batch: usize) -> Vec<Input> {
        vec![Input::new("frames", [batch, LearnedFft::config(self).n_fft])]
    }

    /// Features with gates drawn at random where gates train, and hard gates elsewhere, and their exact twin.
    fn apply(&self, inputs: Vec<AnyTensor>) -> Result<Vec<AnyTensor>, ArgumentError> {
        const NAME: &str = "LearnedFft";
        let [frames] = exactly(NAME, inputs)?;
        let frames = frames.try_float::<2>(NAME, "frames")?;
        let trains_gates = self.gate_logits.val().is_require_grad();
        let gates = if trains_gates { self.sample_gates() } else { self.hard_gates() };
        Ok(vec![self.try_forward(frames.clone(), gates)?.into(), self.try_exact(frames)?.into()])
    }
}
