//! Rows of the table of peaks.

use std::iter::repeat_n;
use std::sync::Arc;

use crate::frames::Block;
use crate::peak_values::{MaximumValues, PeakValues};
use crate::pipeline::OpenRecording;
use crate::table::{ColumnValues, TableColumn};

/// Sizes that determine the rows of the table, beside the peaks.
#[derive(Debug, Clone, Copy)]
pub struct PeakRowLayout {
    /// Peaks per frame; of local maxima at most.
    pub k: usize,
    /// Samples per segment.
    pub n_fft: usize,
    /// Samples from one frame's start to the next.
    pub step: usize,
}

impl PeakRowLayout {
    /// Rows of a block: one per peak. A frame with too few finite bins has rows of bin −1; one with too few local
    /// maxima has fewer rows.
    pub fn rows(&self, name: Arc<str>, recording: OpenRecording, block: Block<PeakValues>) -> Vec<TableColumn> {
        let Block { first, values, .. } = block;
        let is_shorter = values.maxima.is_some();
        let count = |bins: &[i32]| match is_shorter {
            true => bins.iter().take_while(|bin| **bin >= 0).count(),
            false => self.k,
        };
        let counts: Vec<usize> = values.bins.chunks(self.k).map(count).collect();
        let total = counts.iter().sum();
        let (mut channels, mut ranks) = (Vec::with_capacity(total), Vec::with_capacity(total));
        let (mut frames, mut times) = (Vec::with_capacity(total), Vec::with_capacity(total));
        let (mut frame, mut channel) = (first, 0);
        for &count in &counts {
            channels.extend(repeat_n(channel, count));
            ranks.extend(1..=count as i32);
            frames.extend(repeat_n(frame as i64, count));
            times.extend(repeat_n((frame * self.step as u64) as f64 / recording.rate, count));
            channel += 1;
            if channel as usize == recording.channels {
                (channel, frame) = (0, frame + 1);
            }
        }
        let hertz_per_bin = recording.rate / self.n_fft as f64;
        let bins = self.filled(&counts, values.bins);
        let power = self.filled(&counts, values.power);
        let decibels = power.iter().map(|power| 10.0 * f64::from(*power).log10()).collect();
        let frequency = |bin: i32, offset: f32| match bin {
            ..0 => f64::NAN,
            bin => (f64::from(bin) + f64::from(offset)) * hertz_per_bin,
        };
        let (prominence, frequencies) = match values.maxima {
            None => (None, bins.iter().map(|bin| frequency(*bin, 0.0)).collect()),
            Some(MaximumValues { prominence, offset }) => {
                let places = bins.iter().zip(self.filled(&counts, offset));
                let frequencies = places.map(|(bin, offset)| frequency(*bin, offset)).collect();
                (Some(self.filled(&counts, prominence)), frequencies)
            }
        };
        let columns = [
            ("file", ColumnValues::Text(name, total)),
            ("channel", ColumnValues::Int32(channels)),
            ("frame", ColumnValues::Int64(frames)),
            ("time_s", ColumnValues::Double(times)),
            ("rank", ColumnValues::Int32(ranks)),
            ("bin", ColumnValues::Int32(bins)),
            ("frequency_hz", ColumnValues::Double(frequencies)),
            ("power", ColumnValues::Float(power)),
            ("power_db", ColumnValues::Double(decibels)),
        ];
        let prominence = prominence.map(|prominence| ("prominence", ColumnValues::Float(prominence)));
        columns.into_iter().chain(prominence).map(|(name, values)| TableColumn { name, values }).collect()
    }

    /// The first values of each frame, as many as it has rows.
    fn filled<T: Copy>(&self, counts: &[usize], values: Vec<T>) -> Vec<T> {
        if counts.iter().all(|count| *count == self.k) {
            return values;
        }
        counts.iter().zip(values.chunks(self.k)).flat_map(|(count, values)| values[..*count].iter().copied()).collect()
    }
}
