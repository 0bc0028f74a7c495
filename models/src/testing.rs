//! Welch peaks composed of several operations: fixtures of the rewrite rule, and baselines of measurements.
//!
//! Available with the Cargo feature `testing`; not covered by semantic versioning.

use burn::signal::rfft;
use firefly_ops::twiddles::exact_twiddles;
use firefly_ops::{Direction, butterfly};

use crate::prelude::*;
use crate::welch_peaks::WelchPeaksConfig;

/// Factors of one-sided power, `[n_fft/2 + 1]`: 2 at interior bins, 1 at DC and Nyquist.
pub fn one_sided(n_fft: usize, device: &Device) -> Tensor<1> {
    let half = n_fft / 2;
    let factors: Vec<f32> = (0..=half).map(|bin| if bin % half == 0 { 1.0 } else { 2.0 }).collect();
    Tensor::from_data(factors.as_slice(), device)
}

/// Exact Welch peaks in two steps, the complex spectrum of every segment and the peaks of the spectra: the form in
/// which a spectrum is available between them.
///
/// Power is not scaled and segments are not detrended, whatever the configuration says. The order of peaks of equal
/// power is unspecified.
#[derive(Debug, Clone)]
pub struct ButterflyWelchPeaks {
    options: WelchOptions,
    k: usize,
    /// `[1, 1, n_fft]`.
    window: Tensor<3>,
    /// Twiddle factors of the exact forward transform, `[log2 n_fft, n_fft/2, 2]`.
    twiddles: Tensor<3>,
    /// `[1, bins]`.
    one_sided: Tensor<2>,
}

impl ButterflyWelchPeaks {
    /// The model of a configuration on `device`.
    ///
    /// # Errors
    /// [`ArgumentError`] naming the first field of the configuration that is out of range.
    pub fn new(config: &WelchPeaksConfig, device: &Device) -> Result<Self> {
        config.validate()?;
        let options = config.options();
        let n_fft = options.n_fft;
        Ok(Self {
            options,
            k: config.k,
            window: config.window.tensor(n_fft, config.symmetry, FloatDType::F32, device).reshape([1, 1, n_fft]),
            twiddles: exact_twiddles(n_fft, Direction::Forward, FloatDType::F32, device)?,
            one_sided: one_sided(n_fft, device).unsqueeze(),
        })
    }

    /// Complex spectrum of every segment: frames `[batch, frame]`, exactly as long as the segments need, to
    /// `[batch · segments, n_fft]`.
    ///
    /// # Errors
    /// As [`butterfly`].
    pub fn spectra(&self, signal: Tensor<2>) -> Result<ComplexTensor<2>> {
        let WelchOptions { n_fft, hop, segments, .. } = self.options;
        let [batch, _] = signal.dims();
        let cut: Tensor<3> = signal.unfold(1, n_fft, hop);
        let samples = (cut * self.window.clone()).reshape([batch * segments, n_fft]);
        butterfly(samples, self.twiddles.clone(), None)
    }

    /// Peaks of [`spectra`](Self::spectra): bins and power `[batch, k]`.
    pub fn peaks(&self, spectra: ComplexTensor<2>) -> Peaks<2> {
        let (bins, segments) = (self.options.bins(), self.options.segments);
        let [rows, _] = spectra.dims();
        let ComplexTensor { re, im } = spectra.map(|part| part.narrow(1, 0, bins));
        let power = (re.powi_scalar(2) + im.powi_scalar(2)).reshape([rows / segments, segments, bins]);
        let power: Tensor<2> = power.mean_dim(1).squeeze_dim(1);
        let (power, bins): (_, Tensor<2, Int>) = (power * self.one_sided.clone()).topk_with_indices(self.k, 1);
        Peaks { bins, power }
    }
}

/// Sequence of Burn operations by which Welch peaks are computed. All compute the same values up to rounding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Formulation {
    /// A loop over segments: each is sliced, transformed, and its power added to the sum.
    Loop,
    /// All segments at once, as a sliding window over the signal.
    Unfold,
    /// Segments at even and at odd multiples of half a segment, each set by reshaping the signal.
    Reshape,
    /// The signal as blocks of half a segment, each concatenated with the next.
    Blocks,
}

impl Formulation {
    /// Every formulation.
    pub const ALL: [Self; 4] = [Self::Loop, Self::Unfold, Self::Reshape, Self::Blocks];
}

/// Exact Welch peaks by Burn's own operations: window, `rfft`, power, mean over segments, top K.
///
/// The model that [`WelchPeaks`](crate::WelchPeaks) replaces. The order of peaks of equal power is unspecified, as are
/// rows with samples that are not finite.
#[derive(Debug, Clone)]
pub struct StockWelchPeaks {
    formulation: Formulation,
    options: WelchOptions,
    k: usize,
    window: Tensor<1>,
    one_sided: Tensor<1>,
}

impl StockWelchPeaks {
    /// The model of a configuration, in a formulation.
    ///
    /// # Errors
    /// [`ArgumentError`] for a configuration that is out of range, scales other than by `power` or detrends, whose
    /// segments don't overlap by half where the formulation requires it, or are placed where it takes adjacent ones.
    pub fn new(config: &WelchPeaksConfig, formulation: Formulation, device: &Device) -> Result<Self> {
        const NAME: &str = "StockWelchPeaks";
        config.validate()?;
        let options = config.options();
        ensure(options.scaling == Scaling::Power, NAME, "scaling", options.scaling, "power")?;
        ensure(options.detrend == Detrend::None, NAME, "detrend", options.detrend, "none")?;
        ensure(options.average == Default::default(), NAME, "average", "median", "mean")?;
        if let Some(placement) = config.placement {
            let takes_any = formulation == Formulation::Unfold;
            ensure(takes_any, NAME, "placement", placement, "none in this formulation")?;
        }
        let has_overlap =
            matches!(formulation, Formulation::Loop | Formulation::Unfold) || options.hop * 2 == options.n_fft;
        ensure(has_overlap, NAME, "hop", options.hop, "half of `n_fft` in this formulation")?;
        Ok(Self {
            formulation,
            options,
            k: config.k,
            window: config.window.tensor(options.n_fft, config.symmetry, FloatDType::F32, device),
            one_sided: one_sided(options.n_fft, device),
        })
    }

    /// Power of each row of `signal` `[batch, frame]`: `[batch, bins]`.
    ///
    /// # Panics
    /// As Burn's operations do, if the frames are too short or on another device.
    pub fn psd(&self, signal: Tensor<2>) -> Tensor<2> {
        match self.formulation {
            Formulation::Loop => self.power_by_loop(signal),
            Formulation::Unfold => self.power_by_unfolding(signal),
            Formulation::Reshape => self.power_by_reshaping(signal),
            Formulation::Blocks => self.power_by_blocks(signal),
        }
    }

    /// Peaks of each row of `signal` `[batch, frame]`: bins and power `[batch, k]`.
    ///
    /// # Panics
    /// As [`psd`](Self::psd).
    pub fn forward(&self, signal: Tensor<2>) -> Peaks<2> {
        let power = self.psd(signal);
        let (power, bins) = if self.formulation == Formulation::Reshape {
            let (power, bins) = power.sort_descending_with_indices(1);
            (power.narrow(1, 0, self.k), bins.narrow(1, 0, self.k))
        } else {
            power.topk_with_indices(self.k, 1)
        };
        Peaks { bins, power }
    }

    fn power_by_loop(&self, signal: Tensor<2>) -> Tensor<2> {
        let WelchOptions { n_fft, hop, segments, .. } = self.options;
        let power = |segment: usize| {
            let samples = signal.clone().narrow(1, segment * hop, n_fft);
            let (re, im) = rfft(samples * self.window.clone().unsqueeze(), 1, None);
            re.powi_scalar(2) + im.powi_scalar(2)
        };
        let total = (1..segments).fold(power(0), |total, segment| total + power(segment));
        total / segments as f64 * self.one_sided.clone().unsqueeze()
    }

    fn power_by_unfolding(&self, signal: Tensor<2>) -> Tensor<2> {
        let WelchOptions { n_fft, hop, .. } = self.options;
        let frame = self.options.frame();
        // A slice of the whole frame would be a copy on some devices.
        let signal = if signal.dims()[1] == frame { signal } else { signal.narrow(1, 0, frame) };
        let mut segments: Tensor<3> = signal.unfold(1, n_fft, hop);
        if self.options.chosen.is_some() {
            let indices: Vec<i64> = self.options.indices().into_iter().map(|index| index as i64).collect();
            segments = segments.clone().select(1, Tensor::<1, Int>::from_data(&indices[..], &segments.device()));
        }
        let (re, im) = rfft(segments * self.window.clone().unsqueeze(), 2, None);
        let power = (re.square() + im.square()).mean_dim(1);
        power.squeeze_dim::<2>(1) * self.one_sided.clone().unsqueeze()
    }

    fn power_by_reshaping(&self, signal: Tensor<2>) -> Tensor<2> {
        let WelchOptions { n_fft, hop, segments, .. } = self.options;
        let [rows, _] = signal.dims();
        let consecutive =
            |start: usize, count: usize| signal.clone().narrow(1, start, count * n_fft).reshape([rows, count, n_fft]);
        let mut parts = vec![consecutive(0, segments.div_ceil(2))];
        if segments > 1 {
            parts.push(consecutive(hop, segments / 2));
        }
        let segments: Tensor<3> = Tensor::cat(parts, 1);
        let (re, im) = rfft(segments * self.window.clone().unsqueeze(), 2, Some(n_fft));
        let power = (re.clone() * re + im.clone() * im).mean_dim(1).squeeze_dim::<2>(1);
        // Interior bins are doubled in place.
        let interior = [0..rows, 1..n_fft / 2];
        let doubled = power.clone().slice(interior.clone()) * 2.0;
        power.slice_assign(interior, doubled)
    }

    fn power_by_blocks(&self, signal: Tensor<2>) -> Tensor<2> {
        let WelchOptions { n_fft, hop, segments, .. } = self.options;
        let [rows, _] = signal.dims();
        let half = n_fft / 2;
        let blocks = signal.narrow(1, 0, (segments + 1) * hop).reshape([rows, segments + 1, hop]);
        let halves: Tensor<3> =
            Tensor::cat(vec![blocks.clone().narrow(1, 0, segments), blocks.narrow(1, 1, segments)], 2);
        // One row per segment.
        let samples = halves.reshape([rows * segments, n_fft]) * self.window.clone().unsqueeze();
        let (re, im) = rfft(samples, 1, None);
        let power = (re.powf_scalar(2.0) + im.powf_scalar(2.0)).reshape([rows, segments, half + 1]);
        let power: Tensor<2> = power.sum_dim(1).squeeze_dim(1) / segments as f64;
        // Interior bins are doubled and put back between DC and Nyquist.
        let dc = power.clone().narrow(1, 0, 1);
        let nyquist = power.clone().narrow(1, half, 1);
        Tensor::cat(vec![dc, power.narrow(1, 1, half - 1) * 2.0, nyquist], 1)
    }
}
