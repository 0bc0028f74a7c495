//! Power over time and frequency in colours, with a colour bar and tracks of its peaks.

use firefly_ops::tracks::{PeakTracker, Track, TrackOptions};
use plotters::prelude::*;

use super::figure::{Axis, DrawError, Figure};
use super::picture::Picture;
use crate::tracks::add_peaks;

/// Colours from the least to the greatest power, at equal distances; between them they are mixed.
const COLOURS: [[u8; 3]; 6] =
    [[13, 8, 60], [84, 2, 163], [156, 40, 140], [219, 92, 88], [250, 158, 59], [240, 249, 33]];
/// Range of the colour scale below the greatest power, in decibels.
const RANGE: f64 = 72.0;
/// Steps of the colour scale: images of so few compress well, and the eye tells no more apart.
const LEVELS: u8 = 73;
const COLUMNS: u32 = 1024;
const BAR_WIDTH: f64 = 112.0;
/// Columns of the shortest track that is drawn.
const MIN_TRACK: usize = 4;

pub struct SpectrogramPlot {
    pub title: String,
    pub power: String,
    pub first_hertz: f64,
    pub hertz_per_bin: f64,
    pub seconds: f64,
    /// Peaks per column that tracks join; 0 for none.
    pub tracks: u8,
    pub picture: Picture,
}

impl SpectrogramPlot {
    pub(super) fn draw<DB: DrawingBackend<ErrorType: 'static>>(
        &self,
        mut figure: Figure<DB>,
    ) -> Result<(), DrawError<DB>> {
        let columns = self.picture.columns();
        let rows = self.picture.rows;
        let greatest = columns.iter().flat_map(|(_, power)| power).copied().fold(0.0, f64::max);
        let ends: Vec<f64> = columns
            .iter()
            .scan(0.0, |end, (share, _)| {
                *end += share;
                Some(*end)
            })
            .collect();
        let (map, bar) = figure.area.split_horizontally(figure.area.dim_in_pixel().0 as i32 - figure.pixels(BAR_WIDTH));
        // A row is as high as its bins are wide, half of the first of them below 0.
        let half = self.hertz_per_bin / 2.0;
        let end = self.first_hertz + self.picture.bins as f64 * self.hertz_per_bin;
        let (time, mut frequency) = (Axis::time(self.seconds), Axis::frequency(self.first_hertz..end));
        let half = half / frequency.unit;
        frequency.range = frequency.range.start - half..frequency.range.end - half;
        let mut chart = figure.chart(&map, &self.title, [&time, &frequency], false)?;
        figure.fill(&chart, (COLUMNS, rows as u32), |width, height| {
            let mut levels = Vec::with_capacity((width * height) as usize);
            for y in 0..height {
                let row = (f64::from(height - 1 - y) + 0.5) / f64::from(height) * rows as f64;
                for x in 0..width {
                    let share = (f64::from(x) + 0.5) / f64::from(width);
                    let column = ends.partition_point(|end| *end <= share).min(columns.len().saturating_sub(1));
                    let power = columns.get(column).map_or(0.0, |(_, power)| power[row as usize]);
                    levels.push(level(power, greatest));
                }
            }
            levels
        })?;
        let middle = |(column, row): (&usize, &f64)| {
            let (low, high) = (time.range.start, time.range.end);
            let start = if *column == 0 { 0.0 } else { ends[column - 1] };
            let share = (row + 0.5) / rows as f64;
            let height = frequency.range.end - frequency.range.start;
            (low + (start + ends[*column]) / 2.0 * (high - low), frequency.range.start + share * height)
        };
        let power = columns.iter().flat_map(|(_, power)| power).copied().collect();
        for track in tracks(power, rows, self.tracks) {
            let points: Vec<(f64, f64)> = track.frames.iter().zip(&track.frequencies).map(middle).collect();
            chart.draw_series([PathElement::new(points, figure.line(WHITE, 1.0))])?;
        }
        figure.axes(&mut chart, [&time, &frequency], false)?;
        let top = if greatest > 0.0 { 10.0 * greatest.log10() } else { 0.0 };
        self.draw_bar(&mut figure, &bar, top)
    }

    /// Draws the colour bar, whose upper end is `top` decibels.
    fn draw_bar<DB: DrawingBackend<ErrorType: 'static>>(
        &self,
        figure: &mut Figure<DB>,
        area: &DrawingArea<DB, plotters::coord::Shift>,
        top: f64,
    ) -> Result<(), DrawError<DB>> {
        let axes = [Axis::decibels("", 0.0..1.0), Axis::decibels(&self.power, top - RANGE..top)];
        let mut bar = figure.chart(area, "", [&axes[0], &axes[1]], false)?;
        figure.fill(&bar, (1, 256), |width, height| {
            let share = |y: u32| 1.0 - f64::from(y) / f64::from((height - 1).max(1));
            let row = |y: u32| vec![(share(y) * f64::from(LEVELS - 1)).round() as u8; width as usize];
            (0..height).flat_map(row).collect()
        })?;
        figure.axes(&mut bar, [&axes[0], &axes[1]], false)
    }
}

/// Step of a power on the colour scale.
fn level(power: f64, greatest: f64) -> u8 {
    let share = if power > 0.0 { 1.0 + 10.0 * (power / greatest).log10() / RANGE } else { 0.0 };
    (share.clamp(0.0, 1.0) * f64::from(LEVELS - 1)).round() as u8
}

/// The colours of the steps, from the least to the greatest power.
pub(super) fn palette() -> Vec<[u8; 3]> {
    (0..LEVELS).map(|level| colour(f64::from(level) / f64::from(LEVELS - 1))).collect()
}

/// The colour of a place on the scale, from 0 to 1.
fn colour(level: f64) -> [u8; 3] {
    let place = level * (COLOURS.len() - 1) as f64;
    let first = (place as usize).min(COLOURS.len() - 2);
    let share = place - first as f64;
    let mixed = |channel: usize| {
        let [from, to] = [COLOURS[first][channel], COLOURS[first + 1][channel]].map(f64::from);
        (from + share * (to - from)).round() as u8
    };
    [mixed(0), mixed(1), mixed(2)]
}

/// Tracks through the local maxima among the `count` strongest of each column, `[columns, rows]`.
fn tracks(columns: Vec<f64>, rows: usize, count: u8) -> Vec<Track> {
    if count == 0 || columns.is_empty() {
        return Vec::new();
    }
    // To a neighbouring row, with room for places between rows.
    let options = TrackOptions { max_step: 1.5, min_frames: MIN_TRACK, ..TrackOptions::default() };
    let mut tracker = PeakTracker::new(options).expect("the step is a number");
    add_peaks(&mut tracker, columns, rows, count).expect("a picture has few rows");
    tracker.finish().0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tracks_follow_lines_that_move_by_one_row() {
        let column = |line: usize| {
            let mut power = vec![0.1; 20];
            (power[line], power[15]) = (4.0, 2.0);
            power
        };
        let columns = [3, 3, 4, 5, 5, 9, 9].map(column).concat();
        let found = tracks(columns.clone(), 20, 2);
        assert_eq!(found.len(), 2);
        let has = |frames: &[usize], rows: &[f64]| {
            found.iter().any(|track| track.frames == frames && track.frequencies == rows)
        };
        assert!(has(&[0, 1, 2, 3, 4], &[3.0, 3.0, 4.0, 5.0, 5.0]));
        assert!(has(&[0, 1, 2, 3, 4, 5, 6], &[15.0; 7]));
        assert!(tracks(columns, 20, 0).is_empty());
    }
}
