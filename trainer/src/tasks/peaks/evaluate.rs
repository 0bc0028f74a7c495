//! Recall, power error and time of exact estimates and of learned models, beside the reference's peaks.

use std::collections::BTreeMap;

use burn::tensor::{Device, FloatDType, Tensor};
use firefly_models::{ArgumentError, Band, LearnedWelchPeaks, Peaks, Tier};
use firefly_ops::{learned_welch_peaks, welch_peaks};

use super::ModelSection;
use super::predicted_times::{self, CalibratedDevices, microseconds_by_device};
pub use super::row::{ModelKind, PeaksRow};
use super::table;
use crate::data::Frames;
use crate::task::{EvaluationRow, TaskError};
use crate::tasks::found_peaks::{Agreement, has_power, peaks_of, read_back};
use crate::tasks::timing::{TimedEstimate, microseconds_per_frame};

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
    /// Predicted microseconds per frame by the name of a device.
    predicted: BTreeMap<String, f64>,
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
    let calibrated = predicted_times::calibrated();
    // All bins, and the model's band if it has one: a band takes less time in exact estimates too.
    let bands = [None].into_iter().chain(section.band.map(Some));
    let mut candidates: Vec<_> = bands
        .flat_map(|band| (1..=Tier::Reference.segments()).map(move |segments| (band, segments)))
        .map(|(band, segments)| exact_candidate(section, segments, band, &calibrated, device))
        .collect();
    for (name, model) in learned {
        // The arguments of the operation do not change from call to call, as in `firefly peaks`.
        let gates = model.hard_gates();
        let parameters = model.try_parameters(&gates)?;
        let (options, k) = (model.options_with(&gates), model.config().k);
        candidates.push(ComparedModel {
            name: name.clone(),
            kind: ModelKind::Learned,
            butterflies: model.count_open_butterflies(),
            peaks: Box::new(move |signal| learned_welch_peaks(signal, parameters.clone(), &options, k)),
            predicted: microseconds_by_device(&calibrated, predicted_times::of_model(model)),
        });
    }
    let reference = section.exact(Tier::Reference).try_init(device)?;
    let reference = peaks_of(frames, device, |signal| reference.try_forward(signal))?;
    if !has_power(&reference) {
        return Err(TaskError::NoPower { data_set: data_set.into() });
    }
    let times = microseconds_per_frame(frames, device, &candidates.iter().map(timed).collect::<Vec<_>>())?;
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

/// The exact estimate of `segments` segments, by the name of its tier if it is one, with peaks in a band or all bins.
fn exact_candidate<'a>(
    section: &ModelSection,
    segments: usize,
    band: Option<Band>,
    calibrated: &CalibratedDevices,
    device: &Device,
) -> ComparedModel<'a> {
    let tier = Tier::ALL.into_iter().find(|tier| tier.segments() == segments);
    let options = section.exact(Tier::Reference).options().with_segments(segments).with_band(band);
    let name = tier.map_or_else(|| format!("{segments} segments"), |tier| tier.to_string());
    let (k, window) = (section.k, section.window.tensor(section.n_fft, section.symmetry, FloatDType::F32, device));
    ComparedModel {
        name: match band {
            Some(band) => format!("{name}, bins {band}"),
            None => name,
        },
        kind: ModelKind::Exact,
        butterflies: options.butterflies(),
        peaks: Box::new(move |signal| welch_peaks(signal, window.clone(), &options, k)),
        predicted: microseconds_by_device(calibrated, |profile| match band {
            Some(_) => None,
            None => predicted_times::exact(options, k, profile),
        }),
    }
}

/// The peaks of a candidate, read back.
fn timed<'a>(candidate: &'a ComparedModel<'_>) -> TimedEstimate<'a, ArgumentError> {
    Box::new(|signal| {
        std::hint::black_box(read_back((candidate.peaks)(signal)?));
        Ok(())
    })
}
