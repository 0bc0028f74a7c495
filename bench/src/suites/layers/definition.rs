//! Results of layers by the definitions of their operations, in float64.

use firefly_ops::WelchOptions;
use firefly_reference::fftn::joined;
use firefly_reference::long_conv::LongConvDefinition;
use firefly_reference::mel::{Log, MelDefinition, Padding, Scale};
use firefly_reference::peaks::top_k;
use firefly_reference::spectral_conv::SpectralConvDefinition;
use rayon::prelude::*;

use super::formulations::OFFSET;
use super::problem::{LayerKind, LayerProblem, SAMPLE_RATE};
use crate::harness::{Inputs, RoutineError, widened};
use crate::suites::peaks::{definition, welch_power};

/// Largest number of products of a definition's sums that are waited for.
const MAX_PRODUCTS: usize = 1 << 29;
/// Products of a term of a spectral convolution, whose factors are computed one by one.
const TERM_PRODUCTS: usize = 32;
/// Difference allowed between a definition and separate operations in float64, relative to the largest value.
const TOLERANCE: f64 = 1e-9;

impl LayerProblem {
    /// The result of an input set by the definition; none where its sums take too long.
    pub fn defined(&self, inputs: &Inputs, set: usize) -> Option<Vec<f64>> {
        let values = self.batch.saturating_mul(self.channels).saturating_mul(self.n());
        let products = match self.kind {
            LayerKind::SpectralConv => values.saturating_mul(TERM_PRODUCTS * self.kept().iter().product::<usize>()),
            LayerKind::LongConv => values.saturating_mul(self.n() / 2),
            LayerKind::LogMel | LayerKind::PowerSpectrum | LayerKind::WelchPsd | LayerKind::TopK => 0,
        };
        // Signals shorter than a frame are the operation's to refuse.
        let is_short = !self.kind.sizes().contains(&"n") && self.n_fft > self.samples;
        let items = || (0..self.batch).into_par_iter().flat_map_iter(|item| self.defined_item(inputs, set, item));
        (!is_short && products <= MAX_PRODUCTS).then(|| items().collect())
    }

    /// Checks separate operations in float64 against the definition, where that is not too slow.
    pub fn check_separate(&self, separate: &[f64], inputs: &Inputs) -> Result<(), RoutineError> {
        let Some(defined) = self.defined(inputs, 0) else { return Ok(()) };
        let largest = defined.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
        let agrees = |(a, b): (&f64, &f64)| (a - b).abs() <= TOLERANCE * largest;
        if defined.len() == separate.len() && defined.iter().zip(separate).all(agrees) {
            return Ok(());
        }
        Err(RoutineError::failed("the separate operations differ from the definition"))
    }

    fn defined_item(&self, inputs: &Inputs, set: usize, item: usize) -> Vec<f64> {
        let signal = &inputs.row(set, item)[0];
        let (n, channels) = (self.n(), self.channels);
        let shared = |at: usize, first: usize, count: usize| widened(&inputs.shared[at][first..][..count]);
        match self.kind {
            LayerKind::SpectralConv => {
                let (points, modes) = (self.shape.dims().to_vec(), self.kept());
                let count = channels * channels * modes.iter().product::<usize>();
                let weights = joined(&[shared(0, 0, count), shared(1, 0, count)]);
                let definition =
                    SpectralConvDefinition { batch: 1, inputs: channels, outputs: channels, points, modes };
                definition.apply(signal, &weights)
            }
            LayerKind::LongConv => {
                let gate = self.gated.then(|| shared(1, item * signal.len(), signal.len()));
                let definition = LongConvDefinition { channels, n, taps: n };
                definition.output(signal, &shared(0, 0, channels * n), gate.as_deref())
            }
            LayerKind::LogMel => self.mel_definition().bands(signal, &shared(0, 0, self.n_fft)),
            LayerKind::PowerSpectrum => {
                let (window, definition) = (shared(0, 0, n), definition(&WelchOptions::new(n, 1)));
                signal.chunks_exact(n).flat_map(|row| welch_power(row, &window, &definition)).collect()
            }
            LayerKind::WelchPsd => welch_power(signal, &shared(0, 0, self.n_fft), &definition(&self.welch_options())),
            LayerKind::TopK => top_k(signal, n, self.k).1,
        }
    }

    fn mel_definition(&self) -> MelDefinition {
        MelDefinition {
            n_fft: self.n_fft,
            hop: self.hop,
            padding: Some(Padding::Reflect),
            normalized: false,
            squared: true,
            sample_rate: SAMPLE_RATE,
            bands: self.mels,
            edges: [0.0, SAMPLE_RATE / 2.0],
            scale: Scale::Slaney,
            equal_area: true,
            log: Some(Log { factor: 1.0, offset: OFFSET, floor: 0.0 }),
        }
    }
}
