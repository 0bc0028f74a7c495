//! Tracks of spectral peaks: lines followed from frame to frame, after R. J. McAulay and T. F. Quatieri, "Speech
//! analysis/synthesis based on a sinusoidal representation" (1986).

use burn::tensor::Tensor;

use super::check;
use crate::error::{Result, ensure};

const NAME: &str = "PeakTracker";

/// Conditions of peaks to be of one track: by default those of successive frames with the same frequency.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TrackOptions {
    /// Greatest change of frequency per frame, those without a peak among them, in the unit of the frequencies, from 0.
    pub max_step: f64,
    /// Frames without a peak after which a track still continues.
    pub max_missing: usize,
    /// Least peaks of a track; shorter ones are left out.
    pub min_frames: usize,
}

/// Peaks of one line in the order of frames, at least one.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq)]
pub struct Track {
    /// Frame of each peak, from 0.
    pub frames: Vec<usize>,
    /// Frequency of each peak, in the unit of what was added.
    pub frequencies: Vec<f64>,
    /// Power of each peak, in the unit of what was added.
    pub powers: Vec<f64>,
}

impl Track {
    /// Mean of the frequencies.
    pub fn mean_frequency(&self) -> f64 {
        self.frequencies.iter().sum::<f64>() / self.frequencies.len() as f64
    }

    /// Change of frequency per frame, by the straight line of least squares; 0 of a single peak.
    pub fn slope(&self) -> f64 {
        let (mean, first) = (self.mean_frequency(), self.frames[0]);
        let times = || self.frames.iter().map(|frame| (frame - first) as f64);
        let middle = times().sum::<f64>() / self.frames.len() as f64;
        let variance: f64 = times().map(|time| (time - middle).powi(2)).sum();
        let products = times().zip(&self.frequencies).map(|(time, frequency)| (time - middle) * (frequency - mean));
        products.sum::<f64>() / if variance > 0.0 { variance } else { 1.0 }
    }

    /// The greatest power.
    pub fn max_power(&self) -> f64 {
        self.powers.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }

    /// Frames from the last peak to `frame`.
    fn gap(&self, frame: usize) -> usize {
        frame - self.frames[self.frames.len() - 1]
    }
}

/// Linking of the peaks of one recording's frames to tracks, on the host and in memory for the tracks alone.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::tracks::{PeakTracker, TrackOptions};
/// use firefly_ops::{LocalMaximaOptions, local_maxima};
///
/// // A line that rises by one bin of 10 Hz per frame.
/// let rows = [[0.0, 2.0, 0.0, 0.0, 0.0], [0.0, 0.0, 3.0, 0.0, 0.0], [0.0, 0.0, 0.0, 2.0, 0.0]];
/// let maxima = local_maxima(Tensor::<2>::from_floats(rows, &Device::flex()), &LocalMaximaOptions::new(), 2)?;
/// let mut tracker = PeakTracker::new(TrackOptions { max_step: 15.0, min_frames: 2, ..TrackOptions::default() })?;
/// tracker.add((maxima.bins.float() + maxima.offset) * 10.0, maxima.power)?;
/// let (tracks, short) = tracker.finish();
/// assert_eq!((&tracks[0].frames[..], tracks[0].slope(), short), (&[0, 1, 2][..], 10.0, 0));
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
#[derive(Debug, Clone)]
pub struct PeakTracker {
    options: TrackOptions,
    frame: usize,
    /// Tracks that may continue, in the order of their first frames, then frequencies.
    open: Vec<Track>,
    ended: Vec<Track>,
    short: usize,
}

impl PeakTracker {
    /// A tracker before the first frame.
    ///
    /// # Errors
    /// If `max_step` is out of range.
    pub fn new(options: TrackOptions) -> Result<Self> {
        let step = options.max_step;
        ensure(step >= 0.0 && step.is_finite(), NAME, "max_step", step, "a finite number from 0")?;
        Ok(Self { options, frame: 0, open: Vec::new(), ended: Vec::new(), short: 0 })
    }

    /// Adds the peaks of the next frames, such as those of [`local_maxima`](crate::local_maxima) or
    /// [`welch_peaks`](crate::welch_peaks): `frequency` and `power`, `[frames, k]`; none where one is not finite.
    ///
    /// Of all pairs of a track and a peak within its limit, those at the least distance are linked first, of equal ones
    /// that of the earlier (then lower) track, then that of the lower peak. Peaks that are left begin tracks. So lines
    /// that cross may be taken for ones that turn back.
    ///
    /// # Errors
    /// If the shapes differ, or values can't be read, as in a graph that is being captured.
    pub fn add(&mut self, frequency: Tensor<2>, power: Tensor<2>) -> Result<()> {
        let [frames, k] = frequency.dims();
        let got = format_args!("{:?}", power.dims());
        ensure(power.dims() == [frames, k], NAME, "power", got, format_args!("[{frames}, {k}]"))?;
        let (frequency, power) = (check::read(NAME, "frequency", frequency)?, check::read(NAME, "power", power)?);
        for row in 0..frames {
            let peaks = (row * k..(row + 1) * k).map(|at| (frequency[at], power[at]));
            self.link(peaks.filter(|(frequency, power)| frequency.is_finite() && power.is_finite()).collect());
        }
        Ok(())
    }

    /// Links the peaks of the next frame, (frequency, power).
    fn link(&mut self, mut peaks: Vec<(f64, f64)>) {
        let (frame, mut pairs) = (self.frame, Vec::new());
        peaks.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (index, track) in self.open.iter().enumerate() {
            let last = track.frequencies[track.frequencies.len() - 1];
            let limit = self.options.max_step * track.gap(frame) as f64;
            let distances = peaks.iter().map(|(frequency, _)| (frequency - last).abs()).enumerate();
            let near = distances.filter(|(_, distance)| *distance <= limit);
            pairs.extend(near.map(|(place, distance)| (distance, index, place)));
        }
        // Stable, so that equal pairs stay in order.
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut is_linked = vec![false; peaks.len()];
        for (_, index, place) in pairs {
            let track = &mut self.open[index];
            if track.gap(frame) > 0 && !is_linked[place] {
                is_linked[place] = true;
                track.frames.push(frame);
                track.frequencies.push(peaks[place].0);
                track.powers.push(peaks[place].1);
            }
        }
        self.end(self.options.max_missing);
        for (peak, _) in peaks.into_iter().zip(is_linked).filter(|(_, is_linked)| !is_linked) {
            self.open.push(Track { frames: vec![frame], frequencies: vec![peak.0], powers: vec![peak.1] });
        }
        self.frame += 1;
    }

    /// Ends the tracks without a peak in more than the last `missing` frames.
    fn end(&mut self, missing: usize) {
        for track in self.open.extract_if(.., |track| track.gap(self.frame) > missing) {
            match track.frames.len() >= self.options.min_frames {
                true => self.ended.push(track),
                false => self.short += 1,
            }
        }
    }

    /// The tracks, that of the greatest power first, of equal ones that which ended first; and the number of those that
    /// were left out.
    pub fn finish(mut self) -> (Vec<Track>, usize) {
        self.end(0);
        self.ended.sort_by(|a, b| b.max_power().total_cmp(&a.max_power()));
        (self.ended, self.short)
    }
}
