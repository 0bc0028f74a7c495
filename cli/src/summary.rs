//! Summary of spectra on a terminal.

use firefly_app::table::{Align, TextTable};

use crate::journal::PeakBlock;
use crate::pipeline::Recording;

/// Rows of the summary; more recordings are counted.
const MOST_ROWS: usize = 24;
/// Characters of an inline spectrum.
const WIDTH: usize = 32;
/// Range of an inline spectrum below its strongest column, in decibels.
const RANGE_DB: f64 = 48.0;
/// Heights of an inline spectrum.
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Summary of the spectra, or of the peaks, of all recordings: a row per channel.
pub struct Summary {
    n_fft: usize,
    k: usize,
    /// Sums of power per channel and bin of the current recording, `[channels, bins]`, and its frames.
    sums: Vec<f64>,
    frames: u64,
    table: TextTable,
    /// Channels in all.
    pub channels: u64,
    /// Frames of all channels.
    pub rows: u64,
}

impl Summary {
    /// An empty summary of `k` peaks per frame of spectra of `n_fft` points; `frames` is the title of their number.
    pub fn new(n_fft: usize, k: usize, frames: &str) -> Self {
        let table = TextTable::default()
            .columns(["recording"], Align::Left)
            .columns(["channel", "rate", frames, "strongest", "power"], Align::Right)
            .column("spectrum, 0 to half the rate", Align::Left);
        Self { n_fft, k, sums: Vec::new(), frames: 0, table, channels: 0, rows: 0 }
    }

    /// Adds the peaks of a block.
    pub fn add(&mut self, recording: Recording, block: &PeakBlock) {
        let bins = self.bins();
        self.sums.resize(recording.channels * bins, 0.0);
        let rows = block.bins.chunks(self.k).zip(block.power.chunks(self.k));
        for (row, (positions, power)) in rows.enumerate() {
            let start = row % recording.channels * bins;
            for (bin, power) in positions.iter().zip(power).filter(|(bin, _)| **bin >= 0) {
                self.sums[start + *bin as usize] += f64::from(*power);
            }
        }
        let rows = block.bins.len() / self.k;
        self.rows += rows as u64;
        self.frames += (rows / recording.channels.max(1)) as u64;
    }

    /// Adds sums of power over frames, `[channels, bins]`.
    pub fn add_sums(&mut self, recording: Recording, sums: &[f64], frames: u64) {
        self.sums.resize(sums.len(), 0.0);
        self.sums.iter_mut().zip(sums).for_each(|(sum, more)| *sum += more);
        self.frames += frames;
        self.rows += frames * recording.channels as u64;
    }

    /// Ends a recording. Returns its frames per channel.
    pub fn end(&mut self, recording: Recording, name: &str) -> u64 {
        let frames = std::mem::take(&mut self.frames);
        let sums = std::mem::take(&mut self.sums);
        for (channel, sums) in sums.chunks(self.bins()).enumerate() {
            self.channels += 1;
            if self.channels as usize > MOST_ROWS {
                continue;
            }
            let strongest = (0..sums.len()).max_by(|a, b| sums[*a].total_cmp(&sums[*b]).then(b.cmp(a))).unwrap_or(0);
            let frequency = strongest as f64 * recording.rate / self.n_fft as f64;
            let decibels = 10.0 * (sums[strongest] / frames as f64).log10();
            self.table.row([
                name.to_owned(),
                channel.to_string(),
                format!("{} Hz", recording.rate),
                frames.to_string(),
                format!("{} Hz", rounded(frequency)),
                if decibels.is_finite() { format!("{decibels:.1} dB") } else { "none".to_owned() },
                inline_spectrum(sums),
            ]);
        }
        frames
    }

    /// The table as text.
    pub fn text(&self) -> String {
        let more = self.channels.saturating_sub(MOST_ROWS as u64);
        let more = if more > 0 { format!("… and {more} more channels\n") } else { String::new() };
        self.table.render() + &more
    }

    fn bins(&self) -> usize {
        self.n_fft / 2 + 1
    }
}

/// A frequency with five significant digits.
fn rounded(frequency: f64) -> f64 {
    format!("{frequency:.4e}").parse().unwrap_or(frequency)
}

/// Power over frequency as block characters; a column without power is blank.
fn inline_spectrum(power: &[f64]) -> String {
    let width = WIDTH.min(power.len());
    let column = |index: usize| {
        let bins = index * power.len() / width..(index + 1) * power.len() / width;
        power[bins].iter().copied().fold(0.0, f64::max)
    };
    let columns: Vec<f64> = (0..width).map(column).collect();
    let strongest = columns.iter().copied().fold(0.0, f64::max);
    let character = |power: &f64| {
        if *power <= 0.0 {
            return ' ';
        }
        let below = 10.0 * (strongest / power).log10();
        let height = (1.0 - below / RANGE_DB).clamp(0.0, 1.0) * (BLOCKS.len() - 1) as f64;
        BLOCKS[height.round() as usize]
    };
    columns.iter().map(character).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inline_spectrum_is_logarithmic_and_blank_without_power() {
        let mut power = vec![0.0; 64];
        (power[0], power[2], power[40], power[63]) = (1.0, 1e-2, 1e-9, 1e-3);
        let text: Vec<char> = inline_spectrum(&power).chars().collect();
        assert_eq!(text.len(), WIDTH);
        assert_eq!((text[0], text[1], text[2], text[20], text[31]), ('█', '▅', ' ', '▁', '▄'));
        assert_eq!(inline_spectrum(&[0.0; 5]), "     ");
    }
}
