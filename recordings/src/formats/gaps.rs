//! Samples that a recording lacks, which are NaN, so that later ones keep their times.

use std::collections::VecDeque;

use super::raw::{SampleValue, decoded_reads};
use super::times::Times;
use super::{RecordingLayout, SampleReader};
use crate::error::{RecordingProblem, Result};

/// Most samples of a gap that is filled.
pub(super) const MOST_GAP: f64 = 1e8;

/// Error of a longer gap, of so many samples, with its place.
pub(super) fn too_long(missing: u64, place: &str) -> RecordingProblem {
    let remedy = if place.contains("captures") { "--capture N reads one" } else { "divide the recording there" };
    RecordingProblem::Incomplete(format!("{missing} samples are missing {place}, more than {MOST_GAP}: {remedy}"))
}

/// Appends samples of each channel that are missing, up to `count` of them, and returns their number.
pub(super) fn fill_gap<T: SampleValue>(block: &mut Vec<T>, missing: &mut u64, count: usize, channels: usize) -> usize {
    let filled = usize::try_from(*missing).unwrap_or(usize::MAX).min(count);
    block.resize(block.len() + filled * channels, T::of_f64(f64::NAN));
    *missing -= filled as u64;
    filled
}

/// Nanoseconds since 1970 of a date and a time in digits, `YYYYMMDDhhmmss` and a fraction of a second, with or without
/// the marks of ISO 8601 and a Z; and nanoseconds of the last digit.
pub(super) fn instant(text: &str) -> Option<(i64, i64)> {
    let digits: String = text.trim_end_matches('Z').chars().filter(|letter| !"-:T.".contains(*letter)).collect();
    let number = |from: usize, count: usize| digits.get(from..from + count)?.parse::<u32>().ok().map(i64::from);
    let (year, month, day) = (number(0, 4)?, number(4, 2)?, number(6, 2)?);
    let are_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
    if !are_digits || !(1970..2262).contains(&year) || !(1..=12).contains(&month) {
        return None;
    }
    // Years begin in March, so that a leap day is their last.
    let (year, month) = if month < 3 { (year - 1, month + 9) } else { (year, month - 3) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 719_469;
    let seconds = ((days * 24 + number(8, 2)?) * 60 + number(10, 2)?) * 60 + number(12, 2)?;
    let places = (digits.len() - 14).min(9);
    let digit = 10i64.pow(9 - places as u32);
    let fraction = if places == 0 { 0 } else { number(14, places)? };
    Some((seconds * 1_000_000_000 + fraction * digit, digit))
}

/// Recording with samples that are missing.
struct GapReader<R> {
    inner: R,
    /// Times of its rows, in which gaps are found while it is read.
    times: fn(&mut R) -> Option<&mut Times>,
    layout: RecordingLayout,
    /// Samples of the recording that a gap is before, and those that are missing in it.
    gaps: VecDeque<(u64, u64)>,
    /// Samples that were read but not taken, and the number of those that were taken.
    held: Vec<f64>,
    position: u64,
}

/// A recording with NaN in gaps between parts of it, samples that a gap is before and those that are missing in it, and
/// in those that its times have while it is read; an error for a gap that is too long.
pub(super) fn with_gaps<R: SampleReader + 'static>(
    mut inner: R,
    gaps: Vec<(u64, u64)>,
    parts: &str,
    times: fn(&mut R) -> Option<&mut Times>,
) -> Result<Box<dyn SampleReader>> {
    if let Some((at, missing)) = gaps.iter().find(|(_, missing)| *missing > MOST_GAP as u64) {
        return Err(too_long(*missing, &format!("between its {parts}, before sample {at}")));
    }
    let missing = gaps.iter().fold(0, |sum: u64, (_, missing)| sum.saturating_add(*missing));
    if missing == 0 && times(&mut inner).is_none() {
        return Ok(Box::new(inner));
    }
    let mut layout = inner.layout().clone();
    if missing > 0 {
        layout.length = layout.length.map(|length| length.saturating_add(missing));
        layout.remark(format!("there are gaps between its {parts}, {missing} samples, which are NaN"));
    }
    Ok(Box::new(GapReader { inner, times, layout, gaps: gaps.into(), held: Vec::new(), position: 0 }))
}

impl<R: SampleReader> GapReader<R> {
    fn read_as<T: SampleValue>(&mut self, block: &mut Vec<T>, count: usize) -> Result<usize> {
        if self.held.is_empty() && self.gaps.front().is_none_or(|(at, _)| *at > self.position) {
            let known = self.inner.layout().notes.len();
            self.inner.read_wide(&mut self.held, count)?;
            self.gaps.extend((self.times)(&mut self.inner).into_iter().flat_map(|times| times.gaps.drain(..)));
            self.layout.notes.extend_from_slice(&self.inner.layout().notes[known..]);
        }
        let before = self.gaps.front().map_or(u64::MAX, |(at, _)| at - self.position);
        if let Some((_, missing)) = self.gaps.front_mut().filter(|_| before == 0) {
            let filled = fill_gap(block, missing, count, self.layout.channels);
            self.gaps.pop_front_if(|(_, missing)| *missing == 0);
            return Ok(filled);
        }
        let held = self.held.len() / self.layout.channels;
        let taken = held.min(count).min(usize::try_from(before).unwrap_or(usize::MAX));
        block.extend(self.held.drain(..taken * self.layout.channels).map(T::of_f64));
        self.position += taken as u64;
        Ok(taken)
    }
}

impl<R: SampleReader> SampleReader for GapReader<R> {
    decoded_reads!();
}

#[cfg(test)]
mod tests {
    use super::super::{NumberFormat, RawReader};
    use super::*;

    #[test]
    fn dates_are_nanoseconds_since_1970() {
        assert_eq!(instant("1970-01-01T00:00:00Z"), Some((0, 1_000_000_000)));
        assert_eq!(instant("2024-02-29T12:34:56.789012Z"), Some((1_709_210_096_789_012_000, 1000)));
        assert_eq!(instant("20240301000000000001"), Some((1_709_251_200_000_001_000, 1000)));
        for text in ["", "0", "2024-02-29", "2024-02-29T12:34:56+01:00", "20241329123456", "00000000000000000000"] {
            assert_eq!(instant(text), None, "{text}");
        }
    }

    #[test]
    fn gaps_are_filled_however_long_the_blocks_are() {
        let samples: Vec<u8> = (0..10).collect();
        let expected = [-1.0, -0.9921875, f32::NAN, f32::NAN, f32::NAN, -0.984375, f32::NAN, -0.9765625, -0.96875];
        for count in [1, 2, 3, 100] {
            let inner = RawReader::new(std::io::Cursor::new(samples.clone()), NumberFormat::unsigned(1), 1, 1.0);
            let mut reader = with_gaps(inner.of_length(10), vec![(2, 3), (3, 1)], "parts", |_| None).unwrap();
            assert_eq!(reader.layout().length, Some(14));
            let mut block: Vec<f32> = Vec::new();
            while reader.read(&mut block, count).unwrap() > 0 {}
            assert_eq!(block.len(), 14);
            let is_same = |(found, right): (&f32, &f32)| found == right || found.is_nan() && right.is_nan();
            assert!(block.iter().zip(&expected).all(is_same), "{count}: {block:?}");
        }
    }
}
