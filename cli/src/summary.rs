//! Summary of recordings on a terminal: the lines of each channel, and a small spectrum with marks at them.

use std::io::{IsTerminal, stdout};

use firefly_app::number::percent;
use firefly_app::page::html_table::{HtmlRow, HtmlTable};
use firefly_app::streams::printable;
use firefly_app::table::{Align, TableLayout, TextTable, wrapped};
use serde::Serialize;

use crate::labels::ChannelLabel;
use crate::lines::SpectralLine;
use crate::options::ScalingName;
use crate::pipeline::OpenRecording;

/// Channels of the summary; more are counted.
const MAX_CHANNELS: usize = 24;
/// Channels that have a table and a drawing of their own; more share a table.
const MAX_DRAWN: usize = 4;
/// Lines of all channels of the table that they share, unless there are more channels.
const SHARED_ROWS: usize = 32;
/// Characters of a recording's name; of a longer one the end is shown.
const MAX_NAME: usize = 36;
/// Columns that are kept of a spectrum.
const MAX_COLUMNS: usize = 400;
/// Range of a drawing below its strongest column, in decibels.
const RANGE_DB: f64 = 48.0;
/// Heights of a drawing.
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Marks of lines, strongest first; further lines have none.
const MARKS: &str = "123456789abcdefghijklmnopqrstuvwxyz";

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChannelReport {
    pub recording: String,
    /// Number of the channel in the recording, from 0.
    pub channel: usize,
    #[serde(flatten)]
    pub label: ChannelLabel,
    pub rate_hz: f64,
    /// Frames, or segments of a spectrum.
    pub frames: u64,
    /// Lines of the channel, strongest first.
    pub lines: Vec<SpectralLine>,
    /// Mean power of all bins by rising frequency, of a spectrum.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub spectrum: Option<SpectrumReport>,
    /// Lines of a bearing, and verdicts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bearing: Option<serde_json::Value>,
    /// Names of the recording and the channel.
    #[serde(skip)]
    title: String,
    /// Greatest power of neighbouring bins by rising frequency, and the frequencies of the first and the last bin.
    #[serde(skip)]
    columns: Vec<f64>,
    #[serde(skip)]
    ends: [f64; 2],
    /// Frequency that digits are counted from.
    #[serde(skip)]
    centre: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SpectrumReport {
    pub first_hz: f64,
    pub bin_hz: f64,
    /// Power by rising frequency.
    pub power: Vec<f64>,
}

pub struct Summary {
    n_fft: usize,
    scaling: ScalingName,
    /// Name of frames or segments in a heading.
    frames: &'static str,
    /// Whether every channel is kept, with its spectrum, and not only those that are shown.
    is_whole: bool,
    /// Channels that are kept.
    pub reports: Vec<ChannelReport>,
    /// Channels in all.
    pub channels: u64,
    /// Frames of all channels.
    pub rows: u64,
}

impl Summary {
    /// An empty summary of spectra of `n_fft` points; `frames` is the name of what they are averaged over. A whole one
    /// keeps every channel.
    pub fn new(n_fft: usize, scaling: ScalingName, frames: &'static str, is_whole: bool) -> Self {
        Self { n_fft, scaling, frames, is_whole, reports: Vec::new(), channels: 0, rows: 0 }
    }

    /// Adds a channel: its label, its frames, its mean power per bin, and its lines.
    pub fn add(
        &mut self,
        recording: OpenRecording,
        name: &str,
        label: &ChannelLabel,
        frames: u64,
        means: &[f64],
        lines: Vec<SpectralLine>,
    ) {
        self.channels += 1;
        self.rows += frames;
        if !self.is_whole && self.reports.len() == MAX_CHANNELS {
            return;
        }
        let by_frequency = recording.by_frequency(means);
        let first_hz = recording.first_hertz(self.n_fft);
        let bin_hz = recording.rate / self.n_fft as f64;
        self.reports.push(ChannelReport {
            recording: name.to_owned(),
            channel: label.number,
            label: label.clone(),
            rate_hz: recording.rate,
            frames,
            lines,
            bearing: None,
            columns: pooled(&by_frequency, MAX_COLUMNS),
            ends: [first_hz, first_hz + by_frequency.len().saturating_sub(1) as f64 * bin_hz],
            centre: recording.centre.unwrap_or(0.0),
            title: label.full_name(name),
            spectrum: self.is_whole.then_some(SpectrumReport { first_hz, bin_hz, power: by_frequency }),
        });
    }

    /// The summary as text, for standard output: with drawings on a terminal.
    pub fn text(&self) -> String {
        self.text_in(TableLayout::of_stdout(false), stdout().is_terminal())
    }

    fn text_in(&self, layout: TableLayout, is_drawn: bool) -> String {
        let mut text = String::new();
        let shown = &self.reports[..self.reports.len().min(MAX_CHANNELS)];
        if shown.len() > MAX_DRAWN {
            text += &self.table(shown, (SHARED_ROWS / shown.len()).max(1), true).render_in(layout);
        } else {
            for (place, report) in shown.iter().enumerate() {
                text += if place > 0 { "\n" } else { "" };
                text += &self.heading(report, layout.width);
                if is_drawn && !report.lines.is_empty() {
                    text += &drawing(report, layout.width);
                }
                text += &self.table(std::slice::from_ref(report), usize::MAX, false).render_in(layout);
            }
        }
        match self.channels - shown.len() as u64 {
            0 => text,
            more => text + &format!("… and {more} more channels\n"),
        }
    }

    fn heading(&self, report: &ChannelReport, width: usize) -> String {
        let ChannelReport { title, rate_hz, frames, .. } = report;
        let bin = significant(rate_hz / self.n_fft as f64, 0.0);
        let text = format!("{title}: {rate_hz} Hz, {frames} {}, {bin} Hz per bin", self.frames);
        wrapped(&printable(&text), width).join("\n") + "\n"
    }

    /// Table of the first lines of channels, with their names if it is of several.
    fn table(&self, reports: &[ChannelReport], lines: usize, has_names: bool) -> TextTable {
        let mut table = TextTable::default();
        if has_names {
            table = table
                .column("recording", Align::Left)
                .column("channel", Align::Left)
                .optional("rate", Align::Right, 2)
                .optional(self.frames, Align::Right, 3);
        } else {
            table = table.column("line", Align::Left);
        }
        table = table.columns(["frequency", "power"], Align::Right);
        let has_shares = reports.iter().flat_map(|report| &report.lines).any(|line| line.share.is_some());
        if has_shares {
            table = table.optional(format!("in {}", self.frames), Align::Right, 1);
        }
        for report in reports {
            for place in 0..report.lines.len().min(lines).max(1) {
                let mut cells = match has_names {
                    true => vec![
                        shortened(&report.recording),
                        match &*report.label.title {
                            "" => report.channel.to_string(),
                            title => title.to_owned(),
                        },
                        format!("{} Hz", report.rate_hz),
                        report.frames.to_string(),
                    ],
                    false => vec![mark(place).map_or_else(String::new, String::from)],
                };
                cells.extend(match report.lines.get(place) {
                    Some(line) => self.cells(report, line),
                    None => vec!["none".to_owned(); 2],
                });
                table.row(cells);
            }
        }
        table
    }

    /// Frequency, power and share of a line as text.
    fn cells(&self, report: &ChannelReport, line: &SpectralLine) -> Vec<String> {
        let unit = self.scaling.decibels(&report.label.unit);
        let frequency = format!("{} Hz", significant(line.frequency_hz, report.centre));
        let share = line.share.map(percent);
        [frequency, format!("{:.1} {unit}", line.power_db)].into_iter().chain(share).collect()
    }

    /// Table of all lines that are kept, for a page.
    pub fn html_table(&self) -> HtmlTable {
        let has_shares = self.reports.iter().flat_map(|report| &report.lines).any(|line| line.share.is_some());
        let share = has_shares.then(|| format!("in {}", self.frames));
        let columns = ["channel", "frequency", "power"].into_iter().map(str::to_owned).chain(share).collect();
        let rows = self.reports.iter().flat_map(|report| {
            report.lines.iter().map(move |line| HtmlRow::new(&report.title, self.cells(report, line)))
        });
        HtmlTable { caption: "Lines".to_owned(), columns, rows: rows.collect() }
    }
}

/// A name, or its end behind an ellipsis.
fn shortened(name: &str) -> String {
    match name.char_indices().rev().nth(MAX_NAME - 1) {
        Some((at, _)) if at > 0 => format!("…{}", name[at..].chars().skip(1).collect::<String>()),
        _ => name.to_owned(),
    }
}

/// A frequency with five significant digits of its distance from the centre.
pub fn significant(frequency: f64, centre: f64) -> f64 {
    let distance = frequency - centre;
    format!("{distance:.4e}").parse().unwrap_or(distance) + centre
}

fn mark(place: usize) -> Option<char> {
    MARKS.chars().nth(place)
}

/// The greatest of neighbouring values, in so many columns at most.
fn pooled(values: &[f64], columns: usize) -> Vec<f64> {
    let width = columns.min(values.len());
    let column = |index: usize| {
        let bins = index * values.len() / width..(index + 1) * values.len() / width;
        values[bins].iter().copied().filter(|value| value.is_finite()).fold(0.0, f64::max)
    };
    (0..width).map(column).collect()
}

/// Power over frequency as block characters, marks at the lines, and the frequencies at both ends.
fn drawing(report: &ChannelReport, width: usize) -> String {
    let columns = pooled(&report.columns, width);
    let [first, last] = report.ends;
    let mut marks = vec![' '; columns.len()];
    for (place, line) in report.lines.iter().enumerate().rev() {
        let share = if last > first { (line.frequency_hz - first) / (last - first) } else { 0.0 };
        let column = (share * columns.len() as f64) as usize;
        if let (Some(mark), Some(cell)) = (mark(place), marks.get_mut(column.min(columns.len().saturating_sub(1)))) {
            *cell = mark;
        }
    }
    let marks: String = marks.into_iter().collect();
    let [low, high] = report.ends.map(|hertz| format!("{} Hz", significant(hertz, report.centre)));
    let gap = columns.len().saturating_sub(high.len());
    format!("{}\n{}\n{low:<gap$}{high}\n", blocks(&columns), marks.trim_end())
}

/// Power as block characters; a column without power is blank.
fn blocks(columns: &[f64]) -> String {
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

    fn line(frequency_hz: f64, power: f64, share: Option<f64>) -> SpectralLine {
        SpectralLine { frequency_hz, power, power_db: 10.0 * power.log10(), share }
    }

    #[test]
    fn a_drawing_is_logarithmic_and_has_a_mark_at_each_line() {
        let mut power = vec![0.0; 64];
        (power[0], power[2], power[40], power[63]) = (1.0, 1e-2, 1e-9, 1e-3);
        let text: Vec<char> = blocks(&pooled(&power, 32)).chars().collect();
        assert_eq!(text.len(), 32);
        assert_eq!((text[0], text[1], text[2], text[20], text[31]), ('█', '▅', ' ', '▁', '▄'));
        assert_eq!(blocks(&pooled(&[0.0; 5], 32)), "     ");
        let mut summary = Summary::new(126, ScalingName::Power, "segments", false);
        let recording = OpenRecording { source: 0, channels: 1, rate: 126.0, centre: None };
        let lines = vec![line(0.0, 1.0, None), line(63.0, 1e-3, None), line(2.0, 1e-2, None)];
        summary.add(recording, "x", &ChannelLabel::default(), 3, &power, lines);
        let drawn = drawing(&summary.reports[0], 32);
        let rows: Vec<&str> = drawn.lines().collect();
        assert_eq!(rows[1], format!("13{}2", " ".repeat(29)));
        assert_eq!(rows[2], format!("0 Hz{}63 Hz", " ".repeat(23)));
        for width in [40, 80, 100] {
            assert!(drawing(&summary.reports[0], width).lines().all(|row| row.chars().count() <= width));
        }
    }

    #[test]
    fn summaries_of_few_and_many_channels_at_three_widths() {
        let label = ChannelLabel { title: "drive end".into(), unit: "V".into(), ..ChannelLabel::default() };
        let other = ChannelLabel { number: 1, ..ChannelLabel::default() };
        let recording = |channels, rate| OpenRecording { source: 0, channels, rate, centre: None };
        let mut means = vec![1e-6; 33];
        (means[3], means[7]) = (0.5, 1e-4);
        let mut few = Summary::new(64, ScalingName::Spectrum, "frames", false);
        let lines = vec![line(562.5, 0.5, Some(1.0)), line(1312.5, 1e-4, Some(0.125))];
        few.add(recording(2, 12_000.0), "bearing/a.wav", &label, 8, &means, lines.clone());
        few.add(recording(2, 12_000.0), "bearing/a.wav", &other, 8, &[0.0; 33], Vec::new());
        let mut many = Summary::new(64, ScalingName::Power, "frames", false);
        for index in 0..26 {
            let name = format!("a/folder/with a/very long/name, and {index}/größe.flac");
            many.add(recording(1, 44_100.0), &name, &ChannelLabel::default(), 1, &means, lines.clone());
        }
        assert_eq!((few.rows, many.rows, many.channels), (16, 26, 26));
        let text = |summary: &Summary, width, is_drawn| {
            let text = summary.text_in(TableLayout { width, every_column: false }, is_drawn);
            assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
            text
        };
        for width in [48, 80, 100] {
            let (drawn, plain) = (text(&few, width, true), text(&few, width, false));
            for wanted in
                ["bearing/a.wav, drive end: 12000 Hz, 8", "562.5 Hz   -3.0 dB re 1 V²", "12.5\u{202F}%", "none"]
            {
                assert!(plain.contains(wanted) && drawn.contains(wanted), "{wanted}: {drawn}");
            }
            assert!(plain.contains("bearing/a.wav, channel 1: ") && !plain.contains('█'), "{plain}");
            assert!(drawn.contains("▁▁▁█▁▁▁▃▁") && drawn.contains("\n   1   2\n"), "{drawn}");
        }
        for width in [80, 100] {
            let text = text(&many, width, true);
            assert!(text.contains("… a/very long/name, and 0/größe.flac  0"), "{text}");
            assert!(text.contains("562.5 Hz  -3.0 dB") && !text.contains("1312.5 Hz"), "{text}");
            assert!(text.ends_with("… and 2 more channels\n") && !text.contains('█'), "{text}");
        }
    }
}
