//! Tracks of the peaks of spectra: linking them, and their table.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use burn::tensor::{DType, Device, Tensor, TensorData};
use firefly_ops::tracks::{PeakTracker, Track, TrackOptions};
use firefly_ops::{LocalMaximaOptions, local_maxima};

use crate::output_lock::OutputLock;
use crate::table::{ColumnValues, TableColumn, TableFormat};

#[derive(Debug, Clone, clap::Args)]
pub struct TrackArgs {
    /// Peaks per column of the drawing, and per spectrum of --tracks-out, that tracks join, 0 (no tracks) to 64
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u8).range(..=64))]
    pub tracks: u8,
    /// Write the tracks as a table to this file: .parquet, .csv, .jsonl or .npy
    #[arg(long, value_name = "FILE")]
    pub tracks_out: Option<PathBuf>,
    /// Greatest change of a written track's frequency per spectrum, in bins
    #[arg(long, value_name = "BINS", default_value_t = 1.0, requires = "tracks_out")]
    track_step: f64,
    /// Least peaks of a written track
    #[arg(long, value_name = "N", default_value_t = 4, requires = "tracks_out")]
    track_spectra: usize,
}

impl TrackArgs {
    /// A tracker of the tracks that are written, if any are.
    pub fn tracker(&self) -> Result<Option<PeakTracker>> {
        let Some(path) = &self.tracks_out else { return Ok(None) };
        TableFormat::of(path).context("--tracks-out")?;
        ensure!(self.tracks > 0, "--tracks-out: --tracks 0 leaves no peaks to join");
        let (max_step, min_frames) = (self.track_step, self.track_spectra);
        let tracker = PeakTracker::new(TrackOptions { max_step, min_frames, max_missing: 1 });
        tracker.context("--track-step").map(Some)
    }

    /// Writes the tracks, strongest first, and says how many there are and how many are left out. `seconds` are start
    /// and end of a spectrum, `hertz` is the frequency of a place among the bins.
    pub fn write(
        &self,
        lock: &OutputLock,
        tracker: PeakTracker,
        seconds: impl Fn(usize) -> [f64; 2],
        hertz: impl Fn(f64) -> f64,
    ) -> Result<String> {
        let (tracks, short) = tracker.finish();
        let column = |name, of: &dyn Fn(&Track) -> f64| TableColumn {
            name,
            values: ColumnValues::Double(tracks.iter().map(of).collect()),
        };
        let bins = |track: &Track, of: fn(f64, f64) -> f64| track.frequencies.iter().copied().fold(f64::NAN, of);
        let power = tracks.iter().map(Track::max_power).collect();
        let peaks = tracks.iter().map(|track| track.frames.len() as i64).collect();
        let columns = [
            column("start_s", &|track| seconds(track.frames[0])[0]),
            column("end_s", &|track| seconds(track.frames[track.frames.len() - 1])[1]),
            column("frequency_hz", &|track| hertz(track.mean_frequency())),
            column("lowest_hz", &|track| hertz(bins(track, f64::min))),
            column("highest_hz", &|track| hertz(bins(track, f64::max))),
            TableColumn { name: "power", values: ColumnValues::Power(power) },
            column("power_db", &|track| 10.0 * track.max_power().log10()),
            TableColumn { name: "peaks", values: ColumnValues::Int64(peaks) },
        ];
        let path = lock.output();
        let mut table = TableFormat::of(path)?.create(lock, 0)?;
        table.write(&columns)?;
        table.finish()?;
        let (count, least) = (tracks.len(), self.track_spectra);
        Ok(format!("tracks: {count} in {}, {short} of fewer than {least} peaks left out\n", path.display()))
    }
}

/// Adds the `count` strongest local maxima of the next spectra, `[spectra, bins]`, their frequencies in bins.
pub fn add_peaks(tracker: &mut PeakTracker, power: Vec<f64>, bins: usize, count: u8) -> Result<()> {
    let shape = [power.len() / bins, bins];
    let power = Tensor::<2>::from_data(TensorData::new(power, shape), (&Device::flex(), DType::F64));
    let maxima = local_maxima(power, &LocalMaximaOptions::new(), bins.min(count.into()))?;
    Ok(tracker.add(maxima.bins.float().cast(DType::F64) + maxima.offset, maxima.power)?)
}
