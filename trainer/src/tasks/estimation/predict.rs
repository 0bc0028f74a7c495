//! Estimates of the frames of recordings, as a table.

use std::path::PathBuf;

use firefly_models::zoo::ZooModel;

use super::EstimationConfig;
use super::config::frame;
use super::estimator::{Estimate, Output, estimator};
use crate::task::{Placed, PredictionTable, TaskError};
use crate::tasks::found_peaks::read_back;
use crate::tasks::frame_sets::{OfRecording, of_recordings};

/// Columns that say which frame a row is of.
const PLACE: [&str; 3] = ["file", "channel", "frame"];

/// Estimates of a batch of frames.
struct Cells {
    /// Names of the columns.
    columns: Vec<String>,
    /// Rows of each frame.
    frames: Vec<Vec<Vec<String>>>,
}

/// A row per frame with its features, or a row per peak with its rank, bin and power, and the segments of its frame
/// where their number differs.
///
/// # Errors
/// If a file can't be read or is shorter than a frame.
pub(super) fn table(
    config: &EstimationConfig,
    placed: &mut [Placed<ZooModel>],
    inputs: &[PathBuf],
) -> Result<PredictionTable, TaskError> {
    let of_batch = |model: &ZooModel, frames| Ok(cells(estimator(model)?.estimate(frames)?));
    let mut table = PredictionTable::default();
    for OfRecording { place, batches } in of_recordings(placed, inputs, frame(config)?, of_batch)? {
        let mut frame = 0;
        for Cells { columns, frames } in batches {
            table.columns = PLACE.map(String::from).into_iter().chain(columns).collect();
            for rows in frames {
                let place = [place[0].clone(), place[1].clone(), frame.to_string()];
                table.rows.extend(rows.into_iter().map(|cells| place.iter().cloned().chain(cells).collect()));
                frame += 1;
            }
        }
    }
    Ok(table)
}

fn cells(Estimate { output, segments }: Estimate) -> Cells {
    let (name, values) = match output {
        Output::Power(values) => ("bin", values),
        Output::LogPower(values) => ("band", values),
        Output::Peaks(peaks) => {
            let k = peaks.bins.dims()[1];
            let peaks = read_back(peaks);
            let segments: Option<Vec<f32>> = segments.map(|segments| segments.into_data().iter().collect());
            let cells = |frame: usize, rank: usize| {
                let place = frame * k + rank;
                let peak = [(rank + 1).to_string(), peaks.bins[place].to_string(), peaks.power[place].to_string()];
                let segments = segments.iter().map(|segments| segments[frame].to_string());
                peak.into_iter().chain(segments).collect()
            };
            let frames = (0..peaks.bins.len() / k).map(|frame| (0..k).map(|rank| cells(frame, rank)).collect());
            let names = ["rank", "bin", "power"].into_iter().chain(segments.iter().map(|_| "segments"));
            return Cells { columns: names.map(String::from).collect(), frames: frames.collect() };
        }
    };
    let width = values.dims()[1];
    let values: Vec<f32> = values.into_data().iter().collect();
    let frames = values.chunks(width).map(|row| vec![row.iter().map(ToString::to_string).collect()]);
    Cells { columns: (0..width).map(|index| format!("{name}_{index}")).collect(), frames: frames.collect() }
}
