//! An estimate beside the exact one: errors of features or peaks, and segments.

use burn::tensor::{Device, Tensor};
use firefly_models::{ArgumentError, Peaks};
use firefly_ops::HostPeaks;

use super::estimator::{Estimate, EstimateFn, Output};
use super::learned_fft::squared_log_difference;
use crate::data::{Frames, frames_to_tensor};
use crate::metrics::Metric;
use crate::tasks::found_peaks::{Agreement, append, has_power, read_back};
use crate::tasks::frame_sets::batches;

/// Score of the peaks that are found.
pub(super) const RECALL: &str = "recall";
/// Score of the work: segments per frame.
pub(super) const SEGMENTS: &str = "segments";

/// An estimate of frames beside the reference's.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    /// Floor of the logarithm of power, relative to the mean power of the reference's frame.
    floor: f64,
    frames: usize,
    /// Peaks per frame; 0 of other features.
    k: usize,
    found: HostPeaks,
    reference: HostPeaks,
    /// Sum over frames of the mean squared difference of log power, in nepers squared.
    squared: f64,
    /// Sum over frames of their segments, where estimates have any.
    segments: Option<f64>,
    /// Whether any frame has power.
    pub(super) has_power: bool,
}

impl Comparison {
    /// Compares an estimate of every frame with the reference; `floor` is that of the loss.
    ///
    /// # Errors
    /// [`ArgumentError`] if the frames don't fit.
    pub(super) fn of(
        frames: &Frames,
        device: &Device,
        estimate: impl Fn(Tensor<2>) -> Result<Estimate, ArgumentError>,
        reference: &EstimateFn<'_>,
        floor: f64,
    ) -> Result<Self, ArgumentError> {
        let mut comparison = Self { floor, ..Self::default() };
        for rows in batches(frames) {
            comparison.frames += rows.len();
            let signal = frames_to_tensor(frames.rows(rows), frames.frame(), device);
            let Estimate { output, segments } = estimate(signal.clone())?;
            if let Some(segments) = segments {
                *comparison.segments.get_or_insert_default() += segments.sum().into_scalar::<f64>();
            }
            match (output, reference(signal.clone())?.output) {
                (Output::Peaks(found), Output::Peaks(reference)) => comparison.add_peaks(found, reference),
                (found, reference) => comparison.add_power(signal, power(found), power(reference)),
            }
        }
        Ok(comparison)
    }

    fn add_peaks(&mut self, found: Peaks<2>, reference: Peaks<2>) {
        self.k = reference.bins.dims()[1];
        let [found, reference] = [found, reference].map(read_back);
        self.has_power |= has_power(&reference);
        append(&mut self.found, found);
        append(&mut self.reference, reference);
    }

    fn add_power(&mut self, signal: Tensor<2>, found: Tensor<2>, reference: Tensor<2>) {
        let rows = signal.dims()[0] as f64;
        // Logarithms of mel bands have a floor of their own, so that silence has power there.
        self.has_power |= signal.square().max().into_scalar::<f32>() > 0.0;
        self.squared += rows * squared_log_difference(found, reference, self.floor).into_scalar::<f64>();
    }

    /// Errors, and segments per frame where estimates have any.
    pub(super) fn metrics(&self) -> Vec<Metric> {
        let per_frame = |sum: f64| sum / self.frames as f64;
        let mut metrics = if self.k > 0 {
            let agreement = Agreement::of(&self.found, &self.reference, self.k);
            vec![
                Metric::real(RECALL, agreement.recall),
                Metric::real("recall_within_one_bin", agreement.recall_within_one_bin),
                Metric::real("median_power_error_db", agreement.median_power_error_db),
            ]
        } else {
            let db_per_neper = 10.0 / 10f64.ln();
            vec![Metric::real("rms_error_db", per_frame(self.squared).sqrt() * db_per_neper)]
        };
        metrics.extend(self.segments.map(|segments| Metric::real(SEGMENTS, per_frame(segments))));
        metrics
    }
}

/// Power of an output.
fn power(output: Output) -> Tensor<2> {
    match output {
        Output::Power(power) => power,
        Output::LogPower(log) => log.exp(),
        Output::Peaks(peaks) => peaks.power,
    }
}
