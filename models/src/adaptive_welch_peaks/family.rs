//! The adaptive model in the zoo.

use burn::tensor::{Device, Tensor};
use firefly_framework::graph::{AnyTensor, Input};
use firefly_ops::ArgumentError;

use super::config::AdaptiveWelchPeaksConfig;
use super::module::{AdaptivePeaks, AdaptiveWelchPeaks};
use crate::welch_peaks::FRAMES;
use crate::zoo::{Family, FamilyCard, MACHINE, Measurement, Paper, Signature, Variant, exactly};

/// Command of the measurements.
const COMMAND: &str = "firefly train configs/estimation-bearing-adaptive.toml --data DATA";

impl Family for AdaptiveWelchPeaks {
    type Config = AdaptiveWelchPeaksConfig;

    const CARD: FamilyCard = FamilyCard {
        name: "adaptive_welch_peaks",
        summary: "Welch peaks that add segments to a frame until the order around rank K is settled.",
        paper: Some(Paper {
            authors: "Welch 1967",
            title: "The use of fast Fourier transform for the estimation of power spectra",
            url: "https://doi.org/10.1109/TAU.1967.1161901",
        }),
        inputs: FRAMES,
        outputs: &[
            Signature { name: "bins", shape: "[batch, k], integers", meaning: "bins of the peaks, strongest first" },
            Signature { name: "power", shape: "[batch, k]", meaning: "their power, in the signal's unit squared" },
            Signature { name: "segments", shape: "[batch]", meaning: "segments that each frame was given" },
        ],
        results: &[
            Measurement {
                model: "adaptive_welch_peaks_bearing",
                what: "share of the 16 strongest bins of eight segments, bearings under load 3, price chosen on \
                       validation files of loads 0 to 2 (five segments: 0.921)",
                value: "0.9421",
                command: COMMAND,
                machine: MACHINE,
            },
            Measurement {
                model: "adaptive_welch_peaks_bearing",
                what: "segments on average, of the same frames",
                value: "5.11",
                command: COMMAND,
                machine: MACHINE,
            },
            Measurement {
                model: "adaptive_welch_peaks_bearing",
                what: "µs per frame in batches of 1,024, in turn with exact estimates (six segments, of the same recall: \
                       0.16 to 0.31; eight: 0.21 to 0.38)",
                value: "1.3 to 1.5",
                command: COMMAND,
                machine: MACHINE,
            },
        ],
    };

    fn variants() -> Vec<Variant<AdaptiveWelchPeaksConfig>> {
        let config = AdaptiveWelchPeaksConfig::new();
        let tiny = config.clone().with_n_fft(32).with_k(3).with_margin(2).with_rounds(vec![1, 2, 4]);
        vec![
            Variant::new("adaptive_welch_peaks", "3 to 8 segments of 256 samples", config.clone()),
            Variant::new("adaptive_welch_peaks_bearing", "trained on bearing vibrations under loads 0 to 2", config)
                .with_weights(include_bytes!("../../weights/adaptive_welch_peaks_bearing.safetensors")),
            Variant::new("adaptive_welch_peaks_tiny", "1, 2 or 4 segments of 32 samples", tiny),
        ]
    }

    fn from_config(config: &AdaptiveWelchPeaksConfig, device: &Device) -> Result<Self, ArgumentError> {
        config.try_init(device)
    }

    fn config(&self) -> AdaptiveWelchPeaksConfig {
        AdaptiveWelchPeaks::config(self).clone()
    }

    fn inputs(&self, batch: usize) -> Vec<Input> {
        vec![Input::new("signal", [batch, self.options().frame()])]
    }

    /// Peaks from all segments, so that the model can be captured.
    fn apply(&self, inputs: Vec<AnyTensor>) -> Result<Vec<AnyTensor>, ArgumentError> {
        const NAME: &str = "AdaptiveWelchPeaks";
        let [signal] = exactly(NAME, inputs)?;
        let AdaptivePeaks { peaks, segments } = self.try_forward_dense(signal.try_float::<2>(NAME, "signal")?)?;
        let segments: Tensor<1> = segments.squeeze_dim(1);
        Ok(vec![peaks.bins.into(), peaks.power.into(), segments.into()])
    }
}
