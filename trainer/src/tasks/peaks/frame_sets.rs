//! Frames that tasks on frames of signals evaluate and predict.

use std::ops::Range;
use std::path::{Path, PathBuf};

use burn::tensor::Tensor;
use firefly_recordings::read_recording;

use crate::data::{
    Corpus, DataConfig, Frames, Part, Synthetic, SyntheticConfig, frames_to_tensor, frames_without_overlap,
};
use crate::task::{Placed, TaskError, over_devices};

/// Frames per batch of an evaluation.
pub const BATCH: usize = 1024;

/// Rows of each batch of [`BATCH`] frames; the last may be smaller.
pub fn batches(frames: &Frames) -> Vec<Range<usize>> {
    (0..frames.len()).step_by(BATCH).map(|start| start..frames.len().min(start + BATCH)).collect()
}

/// Frames of a folder of recordings, of all synthetic signals, or of one family of them, and the number of recordings
/// that are too short. Synthetic signals are drawn from `seed`.
///
/// # Errors
/// If there are no data of this name, or they can't be read.
pub fn named_frames(config: &DataConfig, frame: usize, seed: u64, name: &str) -> Result<(Frames, usize), TaskError> {
    let synthetic = |signals: SyntheticConfig| -> Result<Frames, TaskError> {
        let source = Synthetic::new(signals, frame, seed)?;
        Ok(source.for_part(Part::Test).frames(config.synthetic_frames))
    };
    if name == "synthetic" {
        Ok((synthetic(config.synthetic.clone())?, 0))
    } else if let Ok(family) = name.parse() {
        Ok((synthetic(SyntheticConfig { families: vec![family], ..config.synthetic.clone() })?, 0))
    } else if Path::new(name).exists() {
        let corpus = Corpus::load(Path::new(name), frame)?;
        Ok((frames_without_overlap(&corpus, frame)?, corpus.skipped()))
    } else {
        Err(TaskError::UnknownData(
            name.into(),
            "is neither a folder, nor `synthetic`, nor one of tones, harmonics, am, fm, chirps and noise",
        ))
    }
}

/// Outputs of a model for a recording.
pub(super) struct OfRecording<R> {
    /// File and channel.
    pub(super) place: [String; 2],
    /// Outputs of each batch of frames, in order.
    pub(super) batches: Vec<R>,
}

/// Outputs of a model for the frames of recordings, without overlap: `of_batch` of each batch of frames
/// `[rows, frame]`, on the device that takes it.
///
/// # Errors
/// If a file can't be read or is shorter than a frame, and those of `of_batch`.
pub(super) fn of_recordings<M: Send, R: Send>(
    placed: &mut [Placed<M>],
    inputs: &[PathBuf],
    frame: usize,
    of_batch: impl Fn(&M, Tensor<2>) -> Result<R, TaskError> + Sync,
) -> Result<Vec<OfRecording<R>>, TaskError> {
    let mut outputs = Vec::new();
    for path in inputs {
        for recording in read_recording(path)? {
            let place = [recording.path.display().to_string(), recording.channel.to_string()];
            let frames = frames_without_overlap(&Corpus::from_recordings(vec![recording], frame)?, frame)?;
            let batches = over_devices(placed, &batches(&frames), |Placed { model, device }, rows| {
                of_batch(model, frames_to_tensor(frames.rows(rows.clone()), frame, device))
            })?;
            outputs.push(OfRecording { place, batches });
        }
    }
    Ok(outputs)
}
