//! Welch estimates: power, peaks, and columns of spectrograms.

use std::mem::take;

use burn::tensor::{Device, Int, Tensor, TensorData};
use firefly_ops::fft::frames;
use firefly_ops::options::Interpolation;
use firefly_ops::{ArgumentError, LocalMaximaOptions, Peaks, WelchOptions, local_maxima, welch_peaks, welch_psd};
use wasm_bindgen::prelude::*;

use crate::arguments::{WelchArguments, read};
use crate::{rows, run, values};

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = performance)]
    fn now() -> f64;
}

/// Segments that are averaged in f32. The sums of blocks of as many are added in f64.
const BLOCK: usize = 32;

/// Peaks of frames, `k` of each, strongest first. Each part is taken once.
#[wasm_bindgen]
pub struct PeakValues {
    bins: Vec<i32>,
    power: Vec<f32>,
}

#[wasm_bindgen]
impl PeakValues {
    /// Takes the bins; −1 where a frame has too few finite ones.
    pub fn bins(&mut self) -> Vec<i32> {
        take(&mut self.bins)
    }

    /// Takes the power at the bins; NaN where a bin is −1.
    pub fn power(&mut self) -> Vec<f32> {
        take(&mut self.power)
    }
}

impl From<Peaks<2>> for PeakValues {
    fn from(peaks: Peaks<2>) -> Self {
        Self { bins: bin_values(peaks.bins), power: values(peaks.power) }
    }
}

/// Bin numbers, all below 2³¹.
fn bin_values<const D: usize>(bins: Tensor<D, Int>) -> Vec<i32> {
    let bins = bins.into_data();
    match bins.as_slice::<i64>() {
        Ok(bins) => bins.iter().map(|&bin| bin as i32).collect(),
        Err(_) => bins.iter::<i32>().collect(),
    }
}

/// Local maxima of a row, strongest first. Each part is taken once.
#[wasm_bindgen]
pub struct LineValues {
    bins: Vec<i32>,
    power: Vec<f32>,
    prominence: Vec<f32>,
    offset: Vec<f32>,
}

#[wasm_bindgen]
impl LineValues {
    /// Takes the bins; −1 where there are fewer maxima.
    pub fn bins(&mut self) -> Vec<i32> {
        take(&mut self.bins)
    }

    /// Takes the values at the bins.
    pub fn power(&mut self) -> Vec<f32> {
        take(&mut self.power)
    }

    /// Takes the prominences.
    pub fn prominence(&mut self) -> Vec<f32> {
        take(&mut self.prominence)
    }

    /// Takes the distances of the lines from their bins, in bins.
    pub fn offset(&mut self) -> Vec<f32> {
        take(&mut self.offset)
    }
}

/// The `k` strongest local maxima of a spectrum.
#[wasm_bindgen]
pub fn local_maxima_of(
    power: Vec<f32>,
    k: usize,
    distance: usize,
    height: Option<f64>,
    prominence: Option<f64>,
    interpolation: &str,
) -> Result<LineValues, JsError> {
    run(|| {
        let mut options = LocalMaximaOptions::new().with_distance(distance);
        options = height.map_or(options, |height| options.with_height(height));
        options = prominence.map_or(options, |prominence| options.with_prominence(prominence));
        options = options.with_interpolation(match interpolation {
            "log_parabola" => Interpolation::LogParabola,
            "hann" => Interpolation::Hann,
            other => return Err(ArgumentError::new("local_maxima", "interpolation", other, "log_parabola or hann")),
        });
        let length = power.len();
        let power = Tensor::<1>::from_data(TensorData::new(power, [length]), &Device::flex());
        let lines = local_maxima(power, &options, k)?;
        Ok(LineValues {
            bins: bin_values(lines.bins),
            power: values(lines.power),
            prominence: values(lines.prominence),
            offset: values(lines.offset),
        })
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
    pub fn peaks(&self, signal: Vec<f32>, frame: usize, k: usize) -> Result<PeakValues, JsError> {
        run(|| {
            let signal = rows("welch_peaks", "signal", signal, frame)?;
            Ok(welch_peaks(signal, self.window.clone(), &self.options, k)?.into())
        })
    }

    /// Power of each bin of a signal, averaged over as many segments as it has.
    pub fn psd(&self, signal: &[f32]) -> Result<Vec<f64>, JsError> {
        run(|| {
            let WelchOptions { n_fft, hop, .. } = self.options;
            if signal.len() < n_fft {
                let got = format_args!("of {} samples", signal.len());
                return Err(ArgumentError::new("psd", "signal", got, format_args!("of at least n_fft, {n_fft}")));
            }
            let segments = (signal.len() - n_fft) / hop + 1;
            let mut sums = vec![0.0; self.options.bins()];
            for first in (0..segments).step_by(BLOCK) {
                let options = self.options.with_segments(BLOCK.min(segments - first));
                let block = signal[first * hop..][..options.frame()].to_vec();
                let block = Tensor::<1>::from_data(TensorData::new(block, [options.frame()]), &Device::flex());
                let power = values(welch_psd(block, self.window.clone(), &options)?);
                for (sum, power) in sums.iter_mut().zip(power) {
                    *sum += f64::from(power) * options.segments as f64;
                }
            }
            Ok(sums.iter().map(|sum| sum / segments as f64).collect())
        })
    }

    /// Power of every segment of a signal, `[segments, bins]`.
    pub fn columns(&self, signal: Vec<f32>) -> Result<Vec<f32>, JsError> {
        run(|| {
            let WelchOptions { n_fft, hop, .. } = self.options;
            let samples = signal.len();
            let signal = Tensor::<1>::from_data(TensorData::new(signal, [samples]), &Device::flex());
            let segments: Tensor<2> = frames(signal, n_fft, hop)?;
            Ok(values(welch_psd(segments, self.window.clone(), &self.options.with_segments(1))?))
        })
    }

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
