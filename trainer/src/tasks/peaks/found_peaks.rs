//! Peaks of frames in host memory, and their agreement with a reference's.

use std::ops::Range;

use burn::tensor::{Device, Tensor};
use firefly_models::{ArgumentError, Peaks};
use firefly_ops::from_host::HostPeaks;

use crate::data::{Frames, frames_to_tensor};

/// Frames per batch of an evaluation.
pub const BATCH: usize = 1024;

/// Rows of each batch of [`BATCH`] frames; the last may be smaller.
pub fn batches(frames: &Frames) -> Vec<Range<usize>> {
    (0..frames.len()).step_by(BATCH).map(|start| start..frames.len().min(start + BATCH)).collect()
}

/// Peaks of every frame, computed [`BATCH`] frames at a time and read back.
pub fn peaks_of(
    frames: &Frames,
    device: &Device,
    model: impl Fn(Tensor<2>) -> Result<Peaks<2>, ArgumentError>,
) -> Result<HostPeaks, ArgumentError> {
    let mut all = HostPeaks::default();
    for rows in batches(frames) {
        let found = read_back(model(frames_to_tensor(frames.rows(rows), frames.frame(), device))?);
        all.bins.extend(found.bins);
        all.power.extend(found.power);
    }
    Ok(all)
}

/// Peaks in host memory.
///
/// # Panics
/// If the device fails, as Burn's own reading does: runs catch that and name the device.
pub(super) fn read_back(peaks: Peaks<2>) -> HostPeaks {
    HostPeaks::read(peaks).unwrap_or_else(|error| panic!("{error}"))
}

/// Whether any of the peaks has power.
pub(super) fn has_power(peaks: &HostPeaks) -> bool {
    peaks.bins.iter().zip(&peaks.power).any(|(bin, power)| *bin >= 0 && *power > 0.0)
}

/// Agreement of peaks with the reference's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Agreement {
    /// Share of the reference peaks found in their bin.
    pub recall: f64,
    /// Share of the reference peaks found in their bin or a neighbour.
    pub recall_within_one_bin: f64,
    /// Median |power error| of those found in their bin, in dB; NaN if none is.
    pub median_power_error_db: f64,
}

impl Agreement {
    /// Compares `found` with `reference`, both of `k` peaks per frame. Reference peaks that are missing or have no
    /// power, as in silence, do not count.
    pub fn of(found: &HostPeaks, reference: &HostPeaks, k: usize) -> Self {
        let (mut peaks, mut exact, mut near) = (0u64, 0u64, 0u64);
        let mut errors = Vec::new();
        for (row, wanted) in reference.bins.chunks_exact(k).enumerate() {
            let row = row * k..(row + 1) * k;
            let bins = &found.bins[row.clone()];
            let has_power = |rank: usize| reference.power[row.start + rank] > 0.0;
            for (rank, &bin) in wanted.iter().enumerate().filter(|(rank, bin)| **bin >= 0 && has_power(*rank)) {
                peaks += 1;
                near += u64::from(bins.iter().any(|&other| other >= 0 && other.abs_diff(bin) <= 1));
                if let Some(hit) = bins.iter().position(|&other| other == bin) {
                    exact += 1;
                    let ratio = f64::from(found.power[row.start + hit]) / f64::from(reference.power[row.start + rank]);
                    errors.push((10.0 * ratio.log10()).abs());
                }
            }
        }
        let share = |count: u64| count as f64 / peaks.max(1) as f64;
        Self { recall: share(exact), recall_within_one_bin: share(near), median_power_error_db: median(&mut errors) }
    }
}

/// The middle of values, or the mean of both middles; NaN of none.
pub(super) fn median(values: &mut [f64]) -> f64 {
    if values.is_empty() {
        return f64::NAN;
    }
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    if values.len() % 2 == 1 { values[half] } else { (values[half - 1] + values[half]) / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_the_middle_or_the_mean_of_both_middles() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&mut []).is_nan());
    }

    #[test]
    fn agreement_counts_exact_and_near_hits_and_their_errors() {
        let reference = HostPeaks { bins: vec![10, 20, 5, -1], power: vec![8.0, 4.0, 2.0, f32::NAN] };
        let found = HostPeaks { bins: vec![20, 11, 7, 40], power: vec![40.0, 8.0, 2.0, 1.0] };
        let agreement = Agreement::of(&found, &reference, 2);
        assert!((agreement.recall - 1.0 / 3.0).abs() < 1e-12);
        assert!((agreement.recall_within_one_bin - 2.0 / 3.0).abs() < 1e-12);
        assert!((agreement.median_power_error_db - 10.0).abs() < 1e-6);
    }

    #[test]
    fn the_reference_agrees_with_itself() {
        let peaks = HostPeaks { bins: vec![3, 1, 2, 0], power: vec![4.0, 3.0, 2.0, 1.0] };
        let agreement = Agreement::of(&peaks, &peaks, 2);
        assert_eq!(
            (agreement.recall, agreement.recall_within_one_bin, agreement.median_power_error_db),
            (1.0, 1.0, 0.0)
        );
    }
}
