//! Power over time and frequency in colours, with tracks of its peaks.

use super::axes::PlotAxes;
use super::canvas::{Canvas, Colour};
use super::picture::Picture;

/// Colours from the least to the greatest power, at equal distances; between them they are mixed.
const COLOURS: [Colour; 6] = [[13, 8, 60], [84, 2, 163], [156, 40, 140], [219, 92, 88], [250, 158, 59], [240, 249, 33]];
/// Steps of the colour scale.
const STEPS: usize = 24;
/// Range of the colour scale below the greatest power, in decibels.
const RANGE: f64 = 72.0;
/// Colour of tracks.
const TRACK: Colour = [255, 255, 255];
/// Columns of the shortest track that is drawn.
const SHORTEST: usize = 4;

/// Plot of a spectrogram.
pub struct SpectrogramPlot {
    /// Title of the drawing.
    pub title: String,
    /// Half the sample rate in hertz.
    pub nyquist: f64,
    /// Duration in seconds.
    pub seconds: f64,
    /// Peaks per column that tracks join; 0 for none.
    pub tracks: usize,
    /// The power.
    pub picture: Picture,
}

impl SpectrogramPlot {
    /// Draws the figure below `top`.
    pub(super) fn draw(&self, canvas: &mut dyn Canvas, top: f64) {
        let columns = self.picture.columns();
        let rows = self.picture.rows();
        let greatest = columns.iter().flat_map(|(_, power)| power).copied().fold(0.0, f64::max);
        let axes = PlotAxes::new(top, [0.0, self.seconds], [0.0, self.nyquist]);
        let [left, top, width, height] = axes.area;
        let row_height = height / rows as f64;
        let starts: Vec<f64> = columns
            .iter()
            .scan(0.0, |start, (share, _)| {
                *start += share;
                Some(left + width * (*start - share))
            })
            .collect();
        // Step by step of the scale, so that one path has all cells of a colour.
        canvas.rectangle([left, top, width, height], colour(0));
        let steps: Vec<Vec<usize>> =
            columns.iter().map(|(_, power)| power.iter().map(|power| step(*power, greatest)).collect()).collect();
        for wanted in 1..STEPS {
            for (column, steps) in steps.iter().enumerate() {
                let mut row = 0;
                for run in steps.chunk_by(|a, b| a == b) {
                    if run[0] == wanted {
                        let bottom = top + height - row as f64 * row_height;
                        let run_height = run.len() as f64 * row_height;
                        let area = [starts[column], bottom - run_height, width * columns[column].0, run_height];
                        canvas.rectangle(area, colour(wanted));
                    }
                    row += run.len();
                }
            }
        }
        let middle = |column: usize, row: usize| {
            let x = starts[column] + width * columns[column].0 / 2.0;
            [x, top + height - (row as f64 + 0.5) * row_height]
        };
        let power: Vec<&[f64]> = columns.iter().map(|(_, power)| &power[..]).collect();
        for track in tracks(&power, self.tracks) {
            let points: Vec<[f64; 2]> = track.iter().map(|(column, row)| middle(*column, *row)).collect();
            canvas.line(&points, TRACK);
        }
        let scale = format!("frequency, Hz; colours: {RANGE} dB up to {:.1} dB", 10.0 * greatest.log10());
        axes.draw(canvas, &self.title, ["time, s", &scale]);
    }
}

/// Step of the colour scale for a power.
fn step(power: f64, greatest: f64) -> usize {
    if power <= 0.0 {
        return 0;
    }
    let below = 10.0 * (greatest / power).log10();
    ((1.0 - below / RANGE).clamp(0.0, 1.0) * (STEPS - 1) as f64).round() as usize
}

fn colour(step: usize) -> Colour {
    let place = step as f64 / (STEPS - 1) as f64 * (COLOURS.len() - 1) as f64;
    let first = (place as usize).min(COLOURS.len() - 2);
    let share = place - first as f64;
    let mixed = |channel: usize| {
        let [from, to] = [COLOURS[first][channel], COLOURS[first + 1][channel]].map(f64::from);
        (from + share * (to - from)).round() as u8
    };
    [mixed(0), mixed(1), mixed(2)]
}

/// Tracks through the local maxima among the `count` strongest of each column: a maximum continues the track that ended
/// in the column before at most one row away, the nearest first. Points are (column, row).
fn tracks(columns: &[&[f64]], count: usize) -> Vec<Vec<(usize, usize)>> {
    let mut done: Vec<Vec<(usize, usize)>> = Vec::new();
    let mut open: Vec<Vec<(usize, usize)>> = Vec::new();
    for (column, power) in columns.iter().enumerate() {
        let mut continued = Vec::new();
        for row in maxima(power, count) {
            let distance =
                |track: &Vec<(usize, usize)>| track.last().map_or(usize::MAX, |(_, last)| last.abs_diff(row));
            let nearest = (0..open.len()).min_by_key(|index| distance(&open[*index]));
            let mut track = match nearest.filter(|index| distance(&open[*index]) <= 1) {
                Some(index) => open.swap_remove(index),
                None => Vec::new(),
            };
            track.push((column, row));
            continued.push(track);
        }
        done.append(&mut open);
        open = continued;
    }
    done.append(&mut open);
    done.retain(|track| track.len() >= SHORTEST);
    done
}

/// Rows of the strongest local maxima, strongest first.
fn maxima(power: &[f64], count: usize) -> Vec<usize> {
    let is_maximum = |row: &usize| {
        let neighbour = |row: Option<usize>| row.and_then(|row| power.get(row)).copied().unwrap_or(0.0);
        let (below, above) = (neighbour(row.checked_sub(1)), neighbour(Some(row + 1)));
        power[*row] > below && power[*row] >= above
    };
    let mut rows: Vec<usize> = (0..power.len()).filter(is_maximum).collect();
    rows.sort_by(|a, b| power[*b].total_cmp(&power[*a]).then(a.cmp(b)));
    rows.truncate(count);
    rows
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
        let columns: Vec<Vec<f64>> = [3, 3, 4, 5, 5, 9, 9].map(column).to_vec();
        let columns: Vec<&[f64]> = columns.iter().map(|column| &column[..]).collect();
        let found = tracks(&columns, 2);
        assert_eq!(found.len(), 2);
        assert!(found.contains(&vec![(0, 3), (1, 3), (2, 4), (3, 5), (4, 5)]));
        assert!(found.contains(&(0..7).map(|column| (column, 15)).collect()));
        assert!(tracks(&columns, 0).is_empty());
    }
}
