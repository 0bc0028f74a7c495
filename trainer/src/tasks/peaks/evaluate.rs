//! Recall, power error and time of exact estimates and of learned models, beside the reference's peaks.

use std::ops::Range;
use std::time::Instant;

use burn::tensor::{Device, FloatDType, Tensor};
use firefly_models::{ArgumentError, LearnedWelchPeaks, Peaks, Tier};
use firefly_ops::{HostPeaks, welch_peaks};

use super::ModelSection;
use super::batch::frames_to_tensor;
pub use super::row::{BATCH, ModelKind, PeaksRow};
use super::table;
use crate::data::Frames;
use crate::task::{EvaluationRow, TaskError};

/// Timed repetitions of a batch.
const REPETITIONS: usize = 21;
/// Repetitions before those that are timed.
const WARM_UP: usize = 3;

/// Peaks of every frame, computed [`BATCH`] frames at a time and read back.
///
/// # Errors
/// [`ArgumentError`] if the frames don't fit the model.
pub fn peaks_of(
    frames: &Frames,
    device: &Device,
    model: impl Fn(Tensor<2>) -> Result<Peaks<2>, ArgumentError>,
) -> Result<HostPeaks, ArgumentError> {
    let of_batch = |rows| peaks_of_batch(frames, rows, device, &model);
    Ok(joined(batches(frames).into_iter().map(of_batch).collect::<Result<Vec<_>, _>>()?))
}

/// Rows of each batch of [`BATCH`] frames; the last may be smaller.
pub fn batches(frames: &Frames) -> Vec<Range<usize>> {
    (0..frames.len()).step_by(BATCH).map(|start| start..frames.len().min(start + BATCH)).collect()
}

/// Peaks of a batch of frames, read back.
///
/// # Errors
/// [`ArgumentError`] if the frames don't fit the model.
pub fn peaks_of_batch(
    frames: &Frames,
    rows: Range<usize>,
    device: &Device,
    model: impl Fn(Tensor<2>) -> Result<Peaks<2>, ArgumentError>,
) -> Result<HostPeaks, ArgumentError> {
    let peaks = model(frames_to_tensor(frames.rows(rows), frames.frame(), device))?;
    let (bins, power) = (peaks.bins.into_data(), peaks.power.into_data());
    Ok(HostPeaks { bins: bins.iter::<i64>().collect(), power: power.iter::<f32>().collect() })
}

/// Peaks of batches, one after the other.
pub fn joined(batches: Vec<HostPeaks>) -> HostPeaks {
    let mut all = HostPeaks::default();
    for batch in batches {
        all.bins.extend(batch.bins);
        all.power.extend(batch.power);
    }
    all
}

/// Whether any of the peaks has power.
pub fn has_power(peaks: &HostPeaks) -> bool {
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

fn median(values: &mut [f64]) -> f64 {
    if values.is_empty() {
        return f64::NAN;
    }
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    if values.len() % 2 == 1 { values[half] } else { (values[half - 1] + values[half]) / 2.0 }
}

/// Open butterflies per frame as a share of the reference tier's.
pub fn active_share(section: &ModelSection, butterflies: usize) -> f64 {
    butterflies as f64 / section.exact(Tier::Reference).options().butterflies() as f64
}

impl EvaluationRow for PeaksRow {
    fn terminal(rows: &[Self]) -> String {
        table::evaluation(rows)
    }
}

/// A model that is compared.
struct ComparedModel<'a> {
    name: String,
    kind: ModelKind,
    butterflies: usize,
    peaks: Box<dyn Fn(Tensor<2>) -> Result<Peaks<2>, ArgumentError> + 'a>,
}

/// Exact estimates of one segment up to the reference's eight, and the learned models with their names, evaluated on
/// one data set.
///
/// # Errors
/// If there are no frames, or they don't fit the models.
pub fn compare(
    data_set: &str,
    frames: &Frames,
    section: &ModelSection,
    learned: &[(String, LearnedWelchPeaks)],
    device: &Device,
) -> Result<Vec<PeaksRow>, TaskError> {
    if frames.is_empty() {
        return Err(TaskError::NoFrames { data_set: data_set.into() });
    }
    let mut candidates: Vec<_> =
        (1..=Tier::Reference.segments()).map(|segments| exact_candidate(section, segments, device)).collect();
    for (name, model) in learned {
        let gates = model.hard_gates();
        candidates.push(ComparedModel {
            name: name.clone(),
            kind: ModelKind::Learned,
            butterflies: model.count_open_butterflies(),
            peaks: Box::new(move |signal| model.try_forward(signal, &gates)),
        });
    }
    let reference = section.exact(Tier::Reference).try_init(device)?;
    let reference = peaks_of(frames, device, |signal| reference.try_forward(signal))?;
    if !has_power(&reference) {
        return Err(TaskError::NoPower { data_set: data_set.into() });
    }
    let times = microseconds_per_frame(frames, device, &candidates)?;
    candidates
        .iter()
        .zip(times)
        .map(|(candidate, microseconds)| {
            let found = peaks_of(frames, device, &candidate.peaks)?;
            let agreement = Agreement::of(&found, &reference, section.k);
            Ok(PeaksRow {
                name: candidate.name.clone(),
                kind: candidate.kind,
                data_set: data_set.to_string(),
                recall: agreement.recall,
                recall_within_one_bin: agreement.recall_within_one_bin,
                median_power_error_db: agreement.median_power_error_db,
                active_share: active_share(section, candidate.butterflies),
                butterflies_per_frame: candidate.butterflies as f64,
                median_microseconds_per_frame: microseconds,
            })
        })
        .collect()
}

/// The exact estimate of `segments` segments, by the name of its tier if it is one.
fn exact_candidate<'a>(section: &ModelSection, segments: usize, device: &Device) -> ComparedModel<'a> {
    let tier = Tier::ALL.into_iter().find(|tier| tier.segments() == segments);
    let options = section.exact(Tier::Reference).options().with_segments(segments);
    let (k, window) = (section.k, section.window.tensor(section.n_fft, section.symmetry, FloatDType::F32, device));
    ComparedModel {
        name: tier.map_or_else(|| format!("{segments} segments"), |tier| tier.to_string()),
        kind: ModelKind::Exact,
        butterflies: options.butterflies(),
        peaks: Box::new(move |signal| welch_peaks(signal, window.clone(), &options, k)),
    }
}

/// Median time per frame of each candidate in microseconds, for batches of [`BATCH`] frames that are already on the
/// device, reading the peaks back included. Candidates alternate, so that other load on the machine affects all of
/// them.
fn microseconds_per_frame(
    frames: &Frames,
    device: &Device,
    candidates: &[ComparedModel<'_>],
) -> Result<Vec<f64>, ArgumentError> {
    let samples = frames.iter().cycle().take(BATCH).flatten().copied().collect();
    let signal = frames_to_tensor(samples, frames.frame(), device);
    let mut times = vec![Vec::with_capacity(REPETITIONS); candidates.len()];
    for repetition in 0..WARM_UP + REPETITIONS {
        for (candidate, times) in candidates.iter().zip(&mut times) {
            let start = Instant::now();
            let peaks = (candidate.peaks)(signal.clone())?;
            std::hint::black_box((peaks.bins.into_data(), peaks.power.into_data()));
            if repetition >= WARM_UP {
                times.push(start.elapsed().as_secs_f64() * 1e6);
            }
        }
    }
    Ok(times.iter_mut().map(|times| median(times) / BATCH as f64).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn a_median_is_the_middle_or_the_mean_of_both_middles() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&mut []).is_nan());
    }
}
