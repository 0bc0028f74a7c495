//! Peaks of frames in host memory, and recall, power error and time of exact estimates and of learned models, against the
//! reference's peaks.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::time::Instant;

use burn::tensor::{Device, FloatDType, Tensor};
use firefly_app::table::{Align, TextTable};
use firefly_models::segments::segments_label;
use firefly_models::{ArgumentError, Band, LearnedWelchPeaks, Peaks};
use firefly_ops::from_host::HostPeaks;
use firefly_ops::options::SegmentPlacement;
use firefly_ops::welch_peaks;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::loss::{self, CalibratedDevices, microseconds_by_device};
use super::{ModelSection, REFERENCE_SEGMENTS};
use crate::data::{Frames, frames_to_tensor};
use crate::task::{EvaluationRow, TaskError};

/// Timed repetitions of a batch.
const REPETITIONS: usize = 41;
/// Repetitions before those that are timed.
const WARM_UP: usize = 3;

/// Kind of a compared model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelKind {
    /// An exact estimate of adjacent segments, by the name of their number: `ultra`, `fast`, `reference` or `3 segments`.
    #[default]
    Exact,
    /// An exact estimate of segments that are spread evenly over the reference's, such as `fast, spread`.
    Spread,
    /// A learned model.
    Learned,
}

/// One model measured on one data set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PeaksRow {
    /// Name of the model, such as `fast` or `learned at price 0.01`.
    pub name: String,
    /// Exact estimate or learned model.
    pub kind: ModelKind,
    /// Name of the data set.
    pub data_set: String,
    /// Share of the K reference peaks found in their bin, in `0..=1`.
    pub recall: f64,
    /// Share of the K reference peaks found in their bin or a neighbour, in `0..=1`.
    pub recall_within_one_bin: f64,
    /// Median error of the power of the peaks that were found, in dB.
    pub median_power_error_db: f64,
    /// Open butterflies as a share of the reference's, in `0..=1`.
    pub active_share: f64,
    /// Open butterflies per frame: open gates times open segments.
    pub butterflies_per_frame: f64,
    /// Median time per frame in microseconds.
    pub median_microseconds_per_frame: f64,
    /// Predicted time per frame in microseconds, by the name of each calibrated device that has measured such a model.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub predicted_microseconds_per_frame: BTreeMap<String, f64>,
}

/// Names of the devices that predict a time for any of the rows.
pub(super) fn predicting_devices<'a>(rows: impl IntoIterator<Item = &'a PeaksRow>) -> BTreeSet<&'a str> {
    rows.into_iter().flat_map(|row| row.predicted_microseconds_per_frame.keys().map(String::as_str)).collect()
}

/// Open butterflies per frame as a share of the reference's.
pub fn active_share(section: &ModelSection, butterflies: usize) -> f64 {
    butterflies as f64 / section.exact(REFERENCE_SEGMENTS).options().butterflies() as f64
}

impl EvaluationRow for PeaksRow {
    fn terminal(rows: &[Self]) -> String {
        tables(rows, rayon::current_num_threads(), TextTable::render)
    }
}

/// The rows as a table per data set under a legend.
fn tables(rows: &[PeaksRow], threads: usize, render: impl Fn(&TextTable) -> String) -> String {
    let mut text = format!(
        "active: open butterflies, counted per segment, as a share of the reference's\n\
         µs/frame: median, batches of {BATCH} on {threads} threads, read back\n"
    );
    if !predicting_devices(rows).is_empty() {
        text += "predicted: µs/frame by the calibrated profile of each device\n";
    }
    for rows in rows.chunk_by(|a, b| a.data_set == b.data_set) {
        text += &format!("\n{}\n{}", rows[0].data_set, render(&data_set_table(rows)));
    }
    text
}

fn data_set_table(rows: &[PeaksRow]) -> TextTable {
    let devices = predicting_devices(rows);
    let timed = TextTable::default().column("model", Align::Left).column("µs/frame", Align::Right);
    let mut table = devices
        .iter()
        .fold(timed, |table, device| table.column(format!("predicted {device}"), Align::Right))
        .columns(["recall", "±1 bin", "error dB", "active", "butterflies"], Align::Right);
    for row in rows {
        let predicted = |device: &&str| row.predicted_microseconds_per_frame.get(*device);
        let mut cells = vec![row.name.clone(), format!("{:.3}", row.median_microseconds_per_frame)];
        cells.extend(devices.iter().map(|device| predicted(device).map_or("–".into(), |time| format!("{time:.3}"))));
        cells.extend([
            format!("{:.3}", row.recall),
            format!("{:.3}", row.recall_within_one_bin),
            format!("{:.2}", row.median_power_error_db),
            format!("{:.1}%", 100.0 * row.active_share),
            format!("{:.0}", row.butterflies_per_frame),
        ]);
        table.row(cells);
    }
    table
}

struct ComparedModel<'a> {
    name: String,
    kind: ModelKind,
    butterflies: usize,
    peaks: Box<dyn Fn(Tensor<2>) -> Result<Peaks<2>, ArgumentError> + 'a>,
    /// Predicted microseconds per frame by the name of a device.
    predicted: BTreeMap<String, f64>,
}

/// Exact estimates of one segment up to the reference's eight, adjacent and spread evenly, and the learned models with
/// their names, evaluated on one data set. One and eight segments are the same ones in both placements. An error if
/// there are no frames, or they don't fit the models.
pub fn compare(
    data_set: &str,
    frames: &Frames,
    section: &ModelSection,
    learned: &[(String, LearnedWelchPeaks)],
    device: &Device,
) -> Result<Vec<PeaksRow>, TaskError> {
    if frames.is_empty() {
        return Err(TaskError::NoFrames(data_set.into()));
    }
    let calibrated = loss::calibrated();
    // All bins, and the model's band if it has one: a band takes less time in exact estimates too.
    let bands = [None].into_iter().chain(section.band.map(Some));
    let adjacent = (1..=REFERENCE_SEGMENTS).map(|segments| (ModelKind::Exact, segments));
    let spread = (2..REFERENCE_SEGMENTS).map(|segments| (ModelKind::Spread, segments));
    let placed: Vec<_> = adjacent.chain(spread).collect();
    let mut candidates = Vec::new();
    for band in bands {
        for &placed in &placed {
            candidates.push(exact_candidate(section, placed, band, &calibrated, device)?);
        }
    }
    for (name, model) in learned {
        // The estimate does not change from call to call, as in `firefly peaks`.
        let estimate = model.try_estimate(&model.hard_gates())?;
        candidates.push(ComparedModel {
            name: name.clone(),
            kind: ModelKind::Learned,
            butterflies: model.count_open_butterflies(),
            peaks: Box::new(move |signal| estimate.try_forward(signal)),
            predicted: microseconds_by_device(&calibrated, loss::of_model(model)),
        });
    }
    let reference = section.exact(REFERENCE_SEGMENTS).try_init(device)?;
    let reference = peaks_of(frames, device, |signal| reference.try_forward(signal))?;
    if !has_power(&reference) {
        return Err(TaskError::NoPower(data_set.into()));
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
                predicted_microseconds_per_frame: candidate.predicted.clone(),
            })
        })
        .collect()
}

/// The exact estimate of `segments` segments, adjacent or spread, by the name of that number if it has one, with peaks in
/// a band or all bins.
fn exact_candidate<'a>(
    section: &ModelSection,
    (kind, segments): (ModelKind, usize),
    band: Option<Band>,
    calibrated: &CalibratedDevices,
    device: &Device,
) -> Result<ComparedModel<'a>, ArgumentError> {
    let adjacent = section.exact(segments).options().with_band(band);
    let (options, name) = match kind {
        ModelKind::Spread => (
            adjacent.with_placement(Some(SegmentPlacement::Spread(REFERENCE_SEGMENTS)))?,
            format!("{}, spread", segments_label(segments)),
        ),
        _ => (adjacent, segments_label(segments)),
    };
    let (k, window) = (section.k, section.window.tensor(section.n_fft, section.symmetry, FloatDType::F32, device));
    Ok(ComparedModel {
        name: match band {
            Some(band) => format!("{name}, bins {band}"),
            None => name,
        },
        kind,
        butterflies: options.butterflies(),
        peaks: Box::new(move |signal| welch_peaks(signal, window.clone(), &options, k)),
        predicted: microseconds_by_device(calibrated, |profile| loss::exact(options, k, profile)),
    })
}

/// Median time per frame of each candidate in microseconds, for batches of [`BATCH`] frames that are already on the
/// device, until the peaks are in host memory. Candidates take turns in random order, so that other load on the machine
/// affects all of them, and each timed run follows one of the same candidate, as in a loop: none finds samples in the
/// caches that another has left there.
fn microseconds_per_frame(
    frames: &Frames,
    device: &Device,
    candidates: &[ComparedModel<'_>],
) -> Result<Vec<f64>, ArgumentError> {
    let samples = frames.iter().cycle().take(BATCH).flatten().copied().collect();
    let signal = frames_to_tensor(samples, frames.frame(), device);
    let run = |turn: usize| -> Result<(), ArgumentError> {
        std::hint::black_box(read_back((candidates[turn].peaks)(signal.clone())?));
        Ok(())
    };
    let mut times = vec![Vec::with_capacity(REPETITIONS); candidates.len()];
    let mut turns: Vec<usize> = (0..candidates.len()).collect();
    let mut random = ChaCha8Rng::seed_from_u64(0);
    for repetition in 0..WARM_UP + REPETITIONS {
        turns.shuffle(&mut random);
        for &turn in &turns {
            run(turn)?;
            let start = Instant::now();
            run(turn)?;
            if repetition >= WARM_UP {
                times[turn].push(start.elapsed().as_secs_f64() * 1e6);
            }
        }
    }
    Ok(times.iter_mut().map(|times| median(times) / BATCH as f64).collect())
}

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
    use insta::assert_snapshot;

    use super::*;

    fn row(data_set: &str, name: &str, recall: f64, butterflies: f64) -> PeaksRow {
        PeaksRow {
            name: name.into(),
            kind: if name.starts_with("learned") { ModelKind::Learned } else { ModelKind::Exact },
            data_set: data_set.into(),
            recall,
            recall_within_one_bin: (recall + 0.1).min(1.0),
            median_power_error_db: 1.234,
            active_share: butterflies / 8192.0,
            butterflies_per_frame: butterflies,
            median_microseconds_per_frame: butterflies / 4000.0,
            predicted_microseconds_per_frame: BTreeMap::new(),
        }
    }

    fn rows() -> Vec<PeaksRow> {
        vec![
            row("bearing/test", "ultra", 0.741, 1024.0),
            row("bearing/test", "fast", 0.829, 2048.0),
            row("bearing/test", "reference", 1.0, 8192.0),
            row("bearing/test", "learned at price 0.1 with a name that needs most of a terminal's width", 0.85, 951.0),
            PeaksRow { median_power_error_db: f64::NAN, ..row("noise", "ultra", 0.0, 1024.0) },
            row("noise", "learned", 0.5, 0.0),
        ]
    }

    #[test]
    fn evaluation_at_80_columns() {
        assert_snapshot!(tables(&rows(), 4, |table| table.render_to(Some(80))));
    }

    #[test]
    fn evaluation_with_predicted_times() {
        let mut rows = rows();
        for row in rows.iter_mut().filter(|row| row.kind == ModelKind::Exact && row.data_set == "bearing/test") {
            row.predicted_microseconds_per_frame =
                [("cpu", 0.25), ("cuda", 0.001)].map(|(device, time)| (device.into(), time)).into();
        }
        assert_snapshot!(tables(&rows, 4, |table| table.render_to(Some(160))));
    }

    #[test]
    fn evaluation_at_160_columns() {
        assert_snapshot!(tables(&rows(), 4, |table| table.render_to(Some(160))));
    }

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
