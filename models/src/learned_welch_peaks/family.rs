//! The learned model in the zoo.

use firefly_framework::graph::{AnyTensor, Input};
use firefly_ops::ArgumentError;

use super::config::LearnedWelchPeaksConfig;
use super::module::LearnedWelchPeaks;
use crate::welch_peaks::{FRAMES, PEAKS};
use crate::zoo::{Family, FamilyCard, MACHINE, Measurement, Paper, Variant, exactly};

/// Commands of the measurements, which train the shipped weights.
const BEARING: &str = "firefly train configs/bearing-256.toml --data DATA";
const SPEECH: &str = "firefly train configs/speech-256.toml --data DATA";

/// A measurement of recall.
const fn recall(model: &'static str, what: &'static str, value: &'static str, command: &'static str) -> Measurement {
    Measurement { model, what, value, command, machine: MACHINE }
}

impl Family for LearnedWelchPeaks {
    configured_by! { LearnedWelchPeaksConfig }

    const CARD: FamilyCard = FamilyCard {
        name: "learned_welch_peaks",
        summary: "Welch peaks with learned taper, gates of segments and gain per bin, and perhaps a learned transform.",
        paper: Some(Paper {
            authors: "Louizos et al. 2018",
            title: "Learning sparse neural networks through L0 regularization",
            url: "https://arxiv.org/abs/1712.01312",
        }),
        inputs: FRAMES,
        outputs: PEAKS,
        results: &[
            recall(
                "learned_welch_peaks_bearing",
                "recall of the 16 strongest bins of eight segments, bearings under load 3 (two exact segments: 0.829)",
                "0.868",
                BEARING,
            ),
            recall(
                "learned_welch_peaks_speech",
                "recall of the 16 strongest bins of eight segments, spoken digits, official test part (two exact segments: 0.707)",
                "0.858",
                SPEECH,
            ),
        ],
    };

    fn variants() -> Vec<Variant<LearnedWelchPeaksConfig>> {
        let config = LearnedWelchPeaksConfig::new();
        let tiny = config.clone().with_n_fft(16).with_k(3);
        let apart = config.clone().with_hop(Some(128)).with_segments(8).with_open_segments(Some(vec![1, 6]));
        vec![
            Variant::new("learned_welch_peaks", "two segments of 256 samples", config),
            Variant::new(
                "learned_welch_peaks_bearing",
                "two of eight segments of 256 samples, trained on bearing vibrations under loads 0 to 2",
                apart.clone(),
            )
            .with_weights(include_bytes!("../../weights/learned_welch_peaks_bearing.safetensors")),
            Variant::new(
                "learned_welch_peaks_speech",
                "two of eight segments of 256 samples, trained on spoken digits at 8 kHz",
                apart,
            )
            .with_weights(include_bytes!("../../weights/learned_welch_peaks_speech.safetensors")),
            Variant::new(
                "learned_welch_peaks_universal",
                "two of eight segments of 256 samples and products of neighbouring bins, for signals of any kind, untrained",
                LearnedWelchPeaksConfig::universal(256),
            ),
            Variant::new("learned_welch_peaks_tiny", "two segments of 16 samples", tiny),
        ]
    }

    fn inputs(&self, batch: usize) -> Vec<Input> {
        vec![Input::new("signal", [batch, self.options().frame()])]
    }

    /// Peaks with gates drawn at random where gates train, and hard gates elsewhere.
    fn apply(&self, inputs: Vec<AnyTensor>) -> Result<Vec<AnyTensor>, ArgumentError> {
        const NAME: &str = "LearnedWelchPeaks";
        let [signal] = exactly(NAME, inputs)?;
        let signal = signal.try_float::<2>(NAME, "signal")?;
        let gates = if self.trains_gates() { self.sample_gates() } else { self.hard_gates() };
        let peaks = self.try_forward(signal, &gates)?;
        Ok(vec![peaks.bins.into(), peaks.power.into()])
    }
}
