//! Welch estimates: power, peaks, and columns of spectrograms.

use burn::tensor::Tensor;
use firefly_ops::fft::frames;
use firefly_ops::options::Interpolation;
use firefly_ops::{ArgumentError, LocalMaximaOptions, WelchOptions, local_maxima, welch_peaks, welch_psd};
use wasm_bindgen::prelude::*;

use crate::arguments::{WelchArguments, read};
use crate::results::Results;
use crate::{row, rows, run};

#[cfg(feature = "cpu")]
#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = performance)]
    fn now() -> f64;
}

/// Samples of blocks of segments that are computed at once, unless a block has more.
const SAMPLES: usize = 1 << 22;

/// The `k` strongest local maxima of a spectrum: power, prominences, and distances of the lines from their bins, in bins.
/// Bins are −1 where there are fewer maxima.
#[wasm_bindgen]
pub fn local_maxima_of(
    power: Vec<f32>,
    k: usize,
    distance: usize,
    height: Option<f64>,
    prominence: Option<f64>,
    interpolation: &str,
) -> Result<Results, JsError> {
    run(|| {
        let mut options = LocalMaximaOptions::new().with_distance(distance);
        options = height.map_or(options, |height| options.with_height(height));
        options = prominence.map_or(options, |prominence| options.with_prominence(prominence));
        options = options.with_interpolation(match interpolation {
            "log_parabola" => Interpolation::LogParabola,
            "hann" => Interpolation::Hann,
            other => return Err(ArgumentError::new("local_maxima", "interpolation", other, "log_parabola or hann")),
        });
        let lines = local_maxima(row(power), &options, k)?;
        Ok(Results::new([lines.power, lines.prominence, lines.offset]).with_bins(lines.bins))
    })
}

/// Welch estimate with its window.
#[wasm_bindgen]
pub struct Welch {
    options: WelchOptions,
    window: Tensor<1>,
}

#[wasm_bindgen]
impl Welch {
    /// The estimate with options as JSON.
    #[wasm_bindgen(constructor)]
    pub fn new(options: &str) -> Result<Welch, JsError> {
        let arguments: WelchArguments = read(options)?;
        let (options, window) = run(|| arguments.options())?;
        Ok(Self { options, window })
    }

    /// Peaks of each row of `frame` samples.
    pub fn peaks(&self, signal: Vec<f32>, frame: usize, k: usize) -> Result<Results, JsError> {
        run(|| {
            let signal = rows("welch_peaks", "signal", signal, frame)?;
            Ok(welch_peaks(signal, self.window.clone(), &self.options, k)?.into())
        })
    }

    /// Mean power per bin over each block of `block` segments, of which the last may have fewer: `[blocks, bins]`.
    pub fn psd(&self, signal: &[f32], block: usize) -> Result<Results, JsError> {
        run(|| {
            let WelchOptions { n_fft, hop, .. } = self.options;
            if signal.len() < n_fft {
                let got = format_args!("of {} samples", signal.len());
                return Err(ArgumentError::new("psd", "signal", got, format_args!("of at least n_fft, {n_fft}")));
            }
            let segments = (signal.len() - n_fft) / hop + 1;
            let (blocks, rest) = (segments / block, segments % block);
            let at_once = (SAMPLES / (block * hop)).max(1);
            let mut power = Vec::new();
            for first in (0..blocks).step_by(at_once) {
                let options = self.options.with_segments(block);
                let samples = (at_once.min(blocks - first) - 1) * block * hop + options.frame();
                let samples = row(signal[first * block * hop..][..samples].to_vec());
                let samples: Tensor<2> = frames(samples, options.frame(), block * hop)?;
                power.push(welch_psd(samples, self.window.clone(), &options)?);
            }
            if rest > 0 {
                let options = self.options.with_segments(rest);
                let samples = signal[blocks * block * hop..][..options.frame()].to_vec();
                let samples = rows("psd", "signal", samples, options.frame())?;
                power.push(welch_psd(samples, self.window.clone(), &options)?);
            }
            Ok(Results::new([Tensor::cat(power, 0)]))
        })
    }

    /// Power of every segment of a signal, `[segments, bins]`.
    pub fn columns(&self, signal: Vec<f32>) -> Result<Results, JsError> {
        run(|| {
            let segments: Tensor<2> = frames(row(signal), self.options.n_fft, self.options.hop)?;
            Ok(Results::new([welch_psd(segments, self.window.clone(), &self.options.with_segments(1))?]))
        })
    }
}

#[cfg(feature = "cpu")]
#[wasm_bindgen]
impl Welch {
    /// Milliseconds of each of `runs` calls of `peaks` on rows that are in the module's memory.
    pub fn time_peaks(&self, signal: Vec<f32>, frame: usize, k: usize, runs: usize) -> Result<Vec<f64>, JsError> {
        run(|| {
            let signal = rows("welch_peaks", "signal", signal, frame)?;
            let timed = |_| {
                let start = now();
                welch_peaks(signal.clone(), self.window.clone(), &self.options, k)?;
                Ok::<f64, ArgumentError>(now() - start)
            };
            (0..runs).map(timed).collect()
        })
    }
}
