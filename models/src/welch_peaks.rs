//! Exact Welch peaks as a module.

use burn::config::Config;
use burn::module::Module;
use burn::tensor::{DType, Device, FloatDType, Tensor, TensorData};
use firefly_ops::{
    ArgumentError, Detrend, HostError, HostPeaks, Peaks, Scaling, WelchOptions, Window, WindowSymmetry, welch_peaks,
    welch_peaks_from_host, welch_psd,
};

use crate::tier::Tier;

/// Configuration of [`WelchPeaks`].
#[derive(Config, Debug, PartialEq)]
pub struct WelchPeaksConfig {
    /// Samples in a segment: a power of two from 8 to 65,536.
    #[config(default = 256)]
    pub n_fft: usize,
    /// Samples from one segment's start to the next; half a segment unless given.
    pub hop: Option<usize>,
    /// How many segments of a frame are averaged.
    #[config(default = "Tier::Fast")]
    pub tier: Tier,
    /// Peaks a row: from 1 to the number of bins.
    #[config(default = 16)]
    pub k: usize,
    /// The window's shape.
    #[config(default = "Window::Hann")]
    pub window: Window,
    /// Whether the window is periodic (for spectra) or symmetric.
    #[config(default = "WindowSymmetry::Periodic")]
    pub symmetry: WindowSymmetry,
    /// How power is scaled.
    #[config(default = "Scaling::Power")]
    pub scaling: Scaling,
    /// What is taken off each segment.
    #[config(default = "Detrend::None")]
    pub detrend: Detrend,
}

impl WelchPeaksConfig {
    /// The estimate this configuration stands for.
    pub fn options(&self) -> WelchOptions {
        WelchOptions {
            n_fft: self.n_fft,
            hop: self.hop.unwrap_or(self.n_fft / 2),
            segments: self.tier.segments(),
            scaling: self.scaling,
            detrend: self.detrend,
        }
    }

    /// Checks every field.
    ///
    /// # Errors
    /// [`ArgumentError`] naming the first field that is out of range.
    pub fn validate(&self) -> Result<(), ArgumentError> {
        validate("WelchPeaksConfig", &self.options(), self.k)
    }

    /// The module on `device`.
    ///
    /// # Errors
    /// [`ArgumentError`] naming the first field that is out of range.
    pub fn init(&self, device: &Device) -> Result<WelchPeaks, ArgumentError> {
        self.validate()?;
        let options = self.options();
        let window = self.window.tensor(self.n_fft, self.symmetry, FloatDType::F32, device);
        Ok(WelchPeaks { window, shape: (self.window, self.symmetry), options, k: self.k })
    }
}

/// The checks that exact and learned configurations share.
pub(crate) fn validate(config: &'static str, options: &WelchOptions, k: usize) -> Result<(), ArgumentError> {
    options.validate(config)?;
    if !(1..=options.bins()).contains(&k) {
        let expected = format!("from 1 to the number of bins, {}", options.bins());
        return Err(ArgumentError::new(config, "k", k, expected));
    }
    Ok(())
}

/// The strongest lines of each frame's Welch spectrum.
///
/// Frames `[batch, frame]` → [`Peaks`] `[batch, k]`. Has no parameters to train, but gradients flow through it to the
/// signal.
#[derive(Module, Debug)]
pub struct WelchPeaks {
    window: Tensor<1>,
    #[module(skip)]
    shape: (Window, WindowSymmetry),
    #[module(skip)]
    options: WelchOptions,
    #[module(skip)]
    k: usize,
}

impl WelchPeaks {
    /// Peaks of each row of `signal` `[batch, frame]`: bins and power `[batch, k]`.
    ///
    /// # Errors
    /// [`ArgumentError`] if the frames are shorter than [`options().frame()`](WelchOptions::frame) or on another device.
    pub fn forward(&self, signal: Tensor<2>) -> Result<Peaks, ArgumentError> {
        let window = self.window_for(&signal);
        welch_peaks(signal, window, &self.options, self.k)
    }

    /// The same from frames in host memory to peaks in host memory: each chunk is uploaded, computed and read back while the next is
    /// being made. `chunks` are f32 `[rows, frame]`, as [`host_chunks`](firefly_ops::host_chunks) makes them.
    ///
    /// # Errors
    /// As [`forward`](Self::forward), and if the device fails.
    pub fn forward_from_host(&self, chunks: impl IntoIterator<Item = TensorData>) -> Result<HostPeaks, HostError> {
        welch_peaks_from_host(chunks, self.window.clone(), &self.options, self.k)
    }

    /// Power of every bin of each row: `[batch, bins]`.
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    pub fn psd(&self, signal: Tensor<2>) -> Result<Tensor<2>, ArgumentError> {
        let window = self.window_for(&signal);
        welch_psd(signal, window, &self.options)
    }

    /// The window, in double precision for a signal that is.
    fn window_for(&self, signal: &Tensor<2>) -> Tensor<1> {
        let (window, symmetry) = self.shape;
        match signal.dtype() {
            DType::F64 => window.tensor(self.options.n_fft, symmetry, FloatDType::F64, &signal.device().inner()),
            _ => self.window.clone(),
        }
    }

    /// The estimate that is computed.
    pub fn options(&self) -> &WelchOptions {
        &self.options
    }

    /// Peaks a row.
    pub fn k(&self) -> usize {
        self.k
    }

    /// A frame's butterflies, `log2(n_fft) · n_fft / 2` for each segment: the count that learned models are compared by. (The
    /// kernels share one complex transform between two segments.)
    pub fn butterflies(&self) -> usize {
        self.options.butterflies()
    }
}
