//! Summary of spectra on a terminal.

use firefly_app::table::{Align, TableLayout, TextTable};

use crate::frames::Block;
use crate::peak_values::PeakValues;
use crate::pipeline::OpenRecording;

/// Rows of the summary; more recordings are counted.
const MOST_ROWS: usize = 24;
/// Characters of a recording's name; of a longer one the end is shown.
const MOST_NAME: usize = 36;
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
    /// Those of them that have no peak.
    without_peaks: u64,
}

impl Summary {
    /// An empty summary of `k` peaks per frame of spectra of `n_fft` points; `frames` is the title of their number.
    pub fn new(n_fft: usize, k: usize, frames: &str) -> Self {
        let table = TextTable::default()
            .column("recording", Align::Left)
            .column("channel", Align::Right)
            .optional("rate", Align::Right, 1)
            .columns([frames, "strongest", "power"], Align::Right)
            .optional("spectrum, 0 to half the rate", Align::Left, 2);
        Self { n_fft, k, sums: Vec::new(), frames: 0, table, channels: 0, rows: 0, without_peaks: 0 }
    }

    /// Adds the peaks of a block.
    pub fn add(&mut self, recording: OpenRecording, block: &Block<PeakValues>) {
        let bins = self.bins();
        self.sums.resize(recording.channels * bins, 0.0);
        let rows = block.values.bins.chunks(self.k).zip(block.values.power.chunks(self.k));
        for (row, (positions, power)) in rows.enumerate() {
            self.without_peaks += u64::from(positions.iter().all(|bin| *bin < 0));
            let start = row % recording.channels * bins;
            for (bin, power) in positions.iter().zip(power).filter(|(bin, _)| **bin >= 0) {
                self.sums[start + *bin as usize] += f64::from(*power);
            }
        }
        self.rows += (block.count * recording.channels) as u64;
        self.frames += block.count as u64;
    }

    /// Adds sums of power over frames, `[channels, bins]`.
    pub fn add_sums(&mut self, recording: OpenRecording, sums: &[f64], frames: u64) {
        self.sums.resize(sums.len(), 0.0);
        self.sums.iter_mut().zip(sums).for_each(|(sum, more)| *sum += more);
        self.frames += frames;
        self.rows += frames * recording.channels as u64;
    }

    /// Ends a recording. Returns its frames per channel.
    pub fn end(&mut self, recording: OpenRecording, name: &str) -> u64 {
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
            let or_none = |text: String| if decibels.is_finite() { text } else { "none".to_owned() };
            self.table.row([
                shortened(name),
                channel.to_string(),
                format!("{} Hz", recording.rate),
                frames.to_string(),
                or_none(format!("{} Hz", rounded(frequency))),
                or_none(format!("{decibels:.1} dB")),
                inline_spectrum(sums),
            ]);
        }
        frames
    }

    /// The table as text, for standard output.
    pub fn text(&self) -> String {
        self.text_in(TableLayout::of_stdout(false))
    }

    fn text_in(&self, layout: TableLayout) -> String {
        let more = self.channels.saturating_sub(MOST_ROWS as u64);
        let more = if more > 0 { format!("… and {more} more channels\n") } else { String::new() };
        let without = self.without_peaks;
        let without =
            if without > 0 { format!("\nframes without peaks: {without} of {}\n", self.rows) } else { String::new() };
        self.table.render_in(layout) + &more + &without
    }

    fn bins(&self) -> usize {
        self.n_fft / 2 + 1
    }
}

/// A name, or its end behind an ellipsis.
fn shortened(name: &str) -> String {
    match name.char_indices().rev().nth(MOST_NAME - 1) {
        Some((at, _)) if at > 0 => format!("…{}", name[at..].chars().skip(1).collect::<String>()),
        _ => name.to_owned(),
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

    #[test]
    fn summaries_at_80_100_and_160_columns() {
        let mut summary = Summary::new(64, 2, "frames");
        let recordings =
            [("bearing/a.wav", 1, 12_000.0), ("a/folder/with a/very long/name, and/größe.flac", 2, 44_100.0)];
        for (source, (name, channels, rate)) in recordings.into_iter().enumerate() {
            let recording = OpenRecording { source, channels, rate };
            let bins = [3, 7, -1, -1].repeat(channels);
            let power = [0.5, 1e-4, f32::NAN, f32::NAN].repeat(channels);
            let values = PeakValues { bins, power, maxima: None };
            summary.add(recording, &Block { first: 0, count: 2, values });
            assert_eq!(summary.end(recording, name), 2);
        }
        let mut spectra = Summary::new(64, 1, "segments");
        let silent = OpenRecording { source: 0, channels: 1, rate: 48_000.0 };
        spectra.add_sums(silent, &[0.0; 33], 1_234_567);
        spectra.end(silent, "silence.wav");
        let texts = [80, 100, 160].map(|width| {
            let text = [&summary, &spectra].map(|of| of.text_in(TableLayout { width, every_column: false })).join("\n");
            assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
            format!("{width} columns\n{text}")
        });
        insta::assert_snapshot!(texts.join("\n"));
    }
}
