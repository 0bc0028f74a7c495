//! A learned estimate, and the gradients of one, as arguments.

use super::gain::{self, is_gain_of};
use crate::cpu::butterfly::arguments::ButterflyTransform;
use crate::cpu::real::Real;
use crate::open_blocks::OpenBlocks;
use crate::options::WelchOptions;

/// Learned Welch estimate.
///
/// Every segment, detrended and windowed, goes through the transform as the real part of its input. With Y_s the
/// transform's output for segment s: P\[k\] = scale · Σ_s weights\[s\] c_k |Y_s\[k\]|² for k = 0..=n/2, scale and c_k
/// as for [`welch_psd`](crate::cpu::welch_psd), and C\[k\] the same sum of 2 Re Y_s\[k\] Y_s*\[k+1\]; then the gain is
/// applied. Exact twiddles, open gates, weights 1 / segments and no gain (or a gain of (0, 1, 0)) give the Welch power.
///
/// With exact twiddles and open gates, segments that have one weight share transforms in pairs, as in the Welch power,
/// and gradients of signal, window and gain go back through those.
#[derive(Debug, Clone, Copy)]
pub struct LearnedWelch<'a, T> {
    /// The window, `[n_fft]`.
    pub window: &'a [T],
    /// The transform, of length `n_fft`.
    pub transform: ButterflyTransform<'a, T>,
    /// Weights of the segments, `[segments]`, not negative. A segment of weight 0 is skipped.
    pub weights: &'a [T],
    /// Gain of the bins, `[bins, 3]` or `[bins, 5]`: see [`gain`](super::gain). Without it, power stays as it is.
    pub gain: Option<&'a [T]>,
    /// The segments, scaling and detrending.
    pub options: &'a WelchOptions,
}

impl<'a, T: Real> LearnedWelch<'a, T> {
    /// The model if it is of f32.
    pub(super) fn as_f32(&self) -> Option<LearnedWelch<'a, f32>> {
        let gain = match self.gain {
            Some(gain) => Some(T::as_f32(gain)?),
            None => None,
        };
        Some(LearnedWelch {
            window: T::as_f32(self.window)?,
            transform: self.transform.as_f32()?,
            weights: T::as_f32(self.weights)?,
            gain,
            options: self.options,
        })
    }

    /// The blocks of bins that are searched for `k` peaks.
    pub fn open_blocks(&self, k: usize) -> OpenBlocks {
        self.gain.map_or(OpenBlocks::ALL, |gain| gain::open_blocks(gain, self.options, k))
    }

    /// Panics in debug builds if a length does not fit the options.
    pub(super) fn debug_check(&self) {
        debug_assert_eq!(self.window.len(), self.options.n_fft);
        debug_assert_eq!(self.transform.n, self.options.n_fft);
        debug_assert_eq!(self.weights.len(), self.options.segments);
        debug_assert!(self.gain.is_none_or(|gain| is_gain_of(gain, self.options.bins())));
    }
}

/// Gradients that [`learned_welch_psd_backward`](super::learned_welch_psd_backward) overwrites; each may be
/// absent.
#[derive(Debug, Default)]
pub struct LearnedGradients<'a, T> {
    /// Gradient of the signal, `[rows, frame_len]`; 0 past the last segment.
    pub signal: Option<&'a mut [T]>,
    /// Gradient of the window, `[n_fft]`, including its part through the scaling.
    pub window: Option<&'a mut [T]>,
    /// Gradient of the twiddles, `[log2 n, n / 2, 2]`.
    pub twiddles: Option<&'a mut [T]>,
    /// Gradient of the gates, `[log2 n, n / 2]`; only for a transform that has gates.
    pub gates: Option<&'a mut [T]>,
    /// Gradient of the segments' weights, `[segments]`, including those of skipped segments.
    pub weights: Option<&'a mut [T]>,
    /// Gradient of the gain, of its shape; only for a model that has a gain.
    pub gain: Option<&'a mut [T]>,
}

impl<'a, T: Real> LearnedGradients<'a, T> {
    /// The same gradients if they are of f32, else none of them.
    pub(super) fn into_f32(self) -> LearnedGradients<'a, f32> {
        let f32 = |gradient: Option<&'a mut [T]>| gradient.and_then(T::as_f32_mut);
        LearnedGradients {
            signal: f32(self.signal),
            window: f32(self.window),
            twiddles: f32(self.twiddles),
            gates: f32(self.gates),
            weights: f32(self.weights),
            gain: f32(self.gain),
        }
    }
}
