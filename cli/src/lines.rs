//! Lines of a channel: the frequencies that most of its frames have among their peaks.

use serde::Serialize;

use crate::peak_values::{OFFSET, POWER, PeakValues};
use crate::pipeline::OpenRecording;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SpectralLine {
    pub frequency_hz: f64,
    /// Power: the mean over the frames that have the line among their peaks, or over all segments of a spectrum.
    pub power: f64,
    pub power_db: f64,
    /// Share of the frames that have the line among their peaks; none for a spectrum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
}

/// Peaks of the frames of a recording so far, summed per channel and bin.
#[derive(Debug, Clone, Default)]
pub struct PeakSums {
    channels: Vec<BinSums>,
    /// Frames of each channel.
    pub frames: u64,
    /// Frames of all channels that have no peak.
    pub without_peaks: u64,
}

/// Sums over frames, per bin.
#[derive(Debug, Clone)]
struct BinSums {
    power: Vec<f64>,
    /// Frames that have the bin among their peaks.
    frames: Vec<u64>,
    /// Distances of local maxima from the bin, in bins; empty for the strongest bins.
    offset: Vec<f64>,
}

impl PeakSums {
    /// Adds the peaks of frames, `[frames, channels, k]`.
    pub fn add(&mut self, recording: OpenRecording, bins: usize, k: usize, values: &PeakValues) {
        let offsets = if values.are_maxima() { bins } else { 0 };
        let none = || BinSums { power: vec![0.0; bins], frames: vec![0; bins], offset: vec![0.0; offsets] };
        self.channels.resize_with(recording.channels, none);
        for (row, positions) in values.bins.chunks(k).enumerate() {
            self.without_peaks += u64::from(positions.iter().all(|bin| *bin < 0));
            let sums = &mut self.channels[row % recording.channels];
            for (place, bin) in positions.iter().enumerate().filter(|(_, bin)| **bin >= 0) {
                let (place, bin) = (row * k + place, *bin as usize);
                sums.power[bin] += values.columns[POWER][place];
                sums.frames[bin] += 1;
                if let Some(offset) = values.columns.get(OFFSET) {
                    sums.offset[bin] += offset[place];
                }
            }
        }
        self.frames += (values.bins.len() / k / recording.channels) as u64;
    }

    /// Mean power of a channel's peaks over all frames, by bin; zero in bins that are never a peak.
    pub fn means(&self, channel: usize) -> Vec<f64> {
        let sums = self.channels.get(channel).map_or(&[][..], |sums| &sums.power);
        sums.iter().map(|sum| sum / self.frames as f64).collect()
    }

    /// The `k` lines that most frames of a channel have, the strongest first of those that as many have.
    ///
    /// A line is a bin of more power than its neighbours, which are its shoulders. Of local maxima, a frame has one at a
    /// bin or at a neighbour of it, so that the more frequent neighbour counts with it.
    pub fn lines(&self, recording: OpenRecording, channel: usize, n_fft: usize, k: usize) -> Vec<SpectralLine> {
        let Some(BinSums { power, frames, offset }) = self.channels.get(channel) else { return Vec::new() };
        let order = recording.by_frequency(&(0..power.len()).collect::<Vec<_>>());
        let line = |place: usize| {
            let neighbours = [place.checked_sub(1), Some(place + 1)].into_iter().flatten();
            let neighbours = neighbours.filter_map(|place| order.get(place).copied()).filter(|_| !offset.is_empty());
            let with = [Some(order[place]), neighbours.max_by_key(|bin| frames[*bin])].into_iter().flatten();
            let (mut count, mut sum, mut hertz) = (0, 0.0, 0.0);
            for bin in with.filter(|bin| frames[*bin] > 0) {
                let mean_offset = offset.get(bin).map_or(0.0, |offset| offset / frames[bin] as f64);
                count += frames[bin];
                sum += power[bin];
                hertz += frames[bin] as f64 * recording.hertz(bin, mean_offset, n_fft);
            }
            let share = count as f64 / self.frames as f64;
            SpectralLine { share: Some(share), ..SpectralLine::new(hertz / count as f64, sum / count as f64) }
        };
        let mut lines: Vec<SpectralLine> = maxima(&order, power).map(line).collect();
        let share = |line: &SpectralLine| line.share.unwrap_or(0.0);
        lines.sort_by(|a, b| share(b).total_cmp(&share(a)).then(b.by_power(a)));
        lines.truncate(k);
        lines
    }
}

impl SpectralLine {
    fn new(frequency_hz: f64, power: f64) -> Self {
        Self { frequency_hz, power, power_db: 10.0 * power.log10(), share: None }
    }

    /// Order of two lines by power, the weaker first, and of equal ones that of higher frequency.
    fn by_power(&self, other: &Self) -> std::cmp::Ordering {
        self.power.total_cmp(&other.power).then(other.frequency_hz.total_cmp(&self.frequency_hz))
    }

    /// The `k` strongest local maxima of a spectrum, strongest first.
    pub fn of_spectrum(recording: OpenRecording, power: &[f64], n_fft: usize, k: usize) -> Vec<Self> {
        let order = recording.by_frequency(&(0..power.len()).collect::<Vec<_>>());
        let line = |place: usize| Self::new(recording.hertz(order[place], 0.0, n_fft), power[order[place]]);
        let mut lines: Vec<Self> = maxima(&order, power).map(line).collect();
        lines.sort_by(|a, b| b.by_power(a));
        lines.truncate(k);
        lines
    }
}

/// Places in an order of bins whose power is above that of both neighbours; of equal neighbours the first.
pub fn maxima<'a>(order: &'a [usize], power: &'a [f64]) -> impl Iterator<Item = usize> + 'a {
    let at = |place: Option<usize>| place.and_then(|place| order.get(place)).map_or(0.0, |bin| power[*bin]);
    (0..order.len()).filter(move |&place| {
        let here = at(Some(place));
        here > at(place.checked_sub(1)) && here >= at(Some(place + 1))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORDING: OpenRecording = OpenRecording { source: 0, channels: 1, rate: 800.0, centre: None };

    fn lines(values: &[PeakValues], recording: OpenRecording, k: usize) -> Vec<(f64, f64, f64)> {
        let mut sums = PeakSums::default();
        values.iter().for_each(|values| sums.add(recording, recording.bins(8), k, values));
        let lines = sums.lines(recording, 0, 8, k);
        lines.iter().map(|line| (line.frequency_hz, line.power, line.share.unwrap())).collect()
    }

    #[test]
    fn lines_are_ordered_by_the_frames_that_have_them_and_shoulders_are_none() {
        // A tone at bin 1 with shoulders in every frame, and a stronger one at bin 4 in every second.
        let frame =
            |last: (i32, f64)| PeakValues { bins: vec![last.0, 1, 0, 2], columns: vec![vec![last.1, 4.0, 1.0, 1.0]] };
        let found = lines(&[frame((4, 9.0)), frame((-1, f64::NAN))], RECORDING, 4);
        assert_eq!(found, [(100.0, 4.0, 1.0), (400.0, 9.0, 0.5)]);
        let mut sums = PeakSums::default();
        sums.add(RECORDING, 5, 4, &frame((4, 9.0)));
        sums.add(RECORDING, 5, 4, &PeakValues::none(4, 1));
        assert_eq!((sums.frames, sums.without_peaks, sums.means(0)[1]), (2, 1, 2.0));
        assert!(PeakSums::default().lines(RECORDING, 0, 8, 4).is_empty());
    }

    #[test]
    fn a_local_maximum_between_two_bins_is_one_line() {
        let frame =
            |bin: i32, offset: f64| PeakValues { bins: vec![bin], columns: [2.0, 1.0, offset].map(|x| vec![x]).into() };
        let found = lines(&[frame(2, 0.5), frame(3, -0.5), frame(2, 0.5)], RECORDING, 1);
        assert_eq!(found, [(250.0, 2.0, 1.0)]);
    }

    #[test]
    fn lines_of_complex_samples_are_signed() {
        let complex = OpenRecording { centre: Some(1e4), ..RECORDING };
        // Bin 7 is one below the centre: its shoulders are bins 6 and 0.
        let values = PeakValues { bins: vec![7, 0, 6], columns: vec![vec![4.0, 1.0, 1.0]] };
        assert_eq!(lines(&[values], complex, 3), [(9900.0, 4.0, 1.0)]);
        let power = [1.0, 0.5, 0.1, 0.1, 0.2, 0.1, 1.0, 4.0];
        let found = SpectralLine::of_spectrum(complex, &power, 8, 2);
        assert_eq!(found.iter().map(|line| line.frequency_hz).collect::<Vec<_>>(), [9900.0, 9600.0]);
    }
}
