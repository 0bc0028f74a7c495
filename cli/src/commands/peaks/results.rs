//! Results of the peaks: table, drawing, and summary as text or JSON.

use std::iter::repeat_n;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use firefly_recordings::Block;
use serde_json::json;

use super::drawing::Drawing;
use super::live::LiveLines;
use crate::commands::outcome::{CommandOutcome, Report};
use crate::job::Job;
use crate::journal::JournalEntry;
use crate::labels::ChannelLabel;
use crate::lines::PeakSums;
use crate::model::ModelRequest;
use crate::peak_values::{OFFSET, POWER, PROMINENCE, PeakValues, TESTED};
use crate::pipeline::OpenRecording;
use crate::summary::Summary;
use crate::table::{ColumnValues, OutputTable, TableColumn};

pub struct Results<'a> {
    request: &'a ModelRequest,
    job: &'a Job<'a>,
    names: Vec<Arc<str>>,
    /// Labels of the channels of the current recording, and its peaks so far.
    labels: Option<Arc<[ChannelLabel]>>,
    sums: PeakSums,
    /// Frames of all channels that have no peaks.
    without_peaks: u64,
    /// Table of the peaks, and its rows.
    pub table: Option<OutputTable>,
    rows: u64,
    pub summary: Summary,
    pub drawing: Option<Drawing<'a>>,
    /// Lines of a stream, printed as they come.
    pub live: Option<LiveLines<'a>>,
    pub outcome: CommandOutcome,
}

impl<'a> Results<'a> {
    /// No results. A whole summary keeps the lines of every channel.
    pub fn new(request: &'a ModelRequest, job: &'a Job<'a>, is_whole: bool) -> Self {
        Self {
            request,
            job,
            names: job.sources.list.iter().map(|source| source.name.as_str().into()).collect(),
            labels: None,
            sums: PeakSums::default(),
            without_peaks: 0,
            table: None,
            rows: 0,
            summary: Summary::new(request.n_fft, request.scaling(), "frames", is_whole),
            drawing: None,
            live: None,
            outcome: CommandOutcome::default(),
        }
    }

    /// Adds the peaks of a block, or ends a recording. An error if the table can't be written, and for peaks of a
    /// recording that the options do not fit.
    pub fn take(&mut self, entry: JournalEntry<PeakValues>) -> Result<()> {
        match entry {
            JournalEntry::Block(recording, block) => self.add(recording, block),
            JournalEntry::End(recording, failure) => {
                self.end(recording, failure);
                Ok(())
            }
        }
    }

    fn add(&mut self, recording: OpenRecording, block: Block<PeakValues>) -> Result<()> {
        let (n_fft, k) = (self.request.n_fft, self.request.peaks_per_frame(recording)?);
        self.sums.add(recording, recording.bins(n_fft), k, &block.values);
        let labels = self.labels.get_or_insert_with(|| self.job.labels.take(self.job.sources, recording));
        if let Some(live) = &mut self.live {
            live.add(recording, labels, k, &block)?;
        }
        if let Some(drawing) = &mut self.drawing {
            drawing.add(recording, k, &block);
        }
        if let Some(table) = &mut self.table {
            let name = self.names[recording.source].clone();
            let rows = peak_rows((n_fft, k), self.job.framing.step, name, recording, labels, block);
            self.rows += rows.first().map_or(0, |column| column.values.len()) as u64;
            table.write(&rows).context("writing the output")?;
        }
        Ok(())
    }

    fn end(&mut self, recording: OpenRecording, failure: Option<String>) {
        let name = &self.names[recording.source];
        let ModelRequest { n_fft, k, .. } = *self.request;
        let (sums, labels) = (std::mem::take(&mut self.sums), self.labels.take());
        let frames = sums.frames;
        self.without_peaks += sums.without_peaks;
        for (channel, label) in labels.iter().flat_map(|labels| labels.iter()).enumerate() {
            let (lines, means) = (sums.lines(recording, channel, n_fft, k), sums.means(channel));
            if let Some(drawing) = &mut self.drawing {
                drawing.end_channel(recording, name, label, (self.job.framing, frames), (&means, &lines));
            }
            self.summary.add(recording, name, label, frames, &means, lines);
        }
        match failure {
            Some(failure) => self.outcome.failed(name, &failure),
            None if frames == 0 && self.job.sources.part.is_none() => self.outcome.shorter(recording),
            None => {}
        }
    }

    /// The summary as text, with the number of rows that were written.
    pub fn text(&self, device: &str, out: Option<&Path>) -> String {
        let request = self.request;
        let peaks = match &request.search {
            None if request.may_be_fewer => format!("at most {} peaks per frame", request.k),
            None => format!("{} peaks per frame", request.k),
            Some(search) => format!("at most {} local maxima per frame ({search})", request.k),
        };
        let framing = self.job.framing;
        let mut text = format!(
            "{}: {peaks} of {} samples, one every {}\nestimate: {}\ndevice: {device}\n\n{}",
            request.name,
            framing.length,
            framing.step,
            request.estimate,
            self.summary.text(),
        );
        if self.without_peaks > 0 {
            text += &format!("\nframes without peaks: {} of {}\n", self.without_peaks, self.summary.rows);
        }
        text += &self.outcome.text();
        if let Some(path) = out {
            text += &format!("\n{}: {} rows\n", path.display(), self.rows);
        }
        text
    }

    pub fn report(&self, device: String) -> Report<'_> {
        let (request, framing) = (self.request, self.job.framing);
        Report {
            command: "peaks",
            estimate: &request.estimate,
            n_fft: request.n_fft,
            device,
            more: json!({
                "model": request.name, "scaling": request.scaling().to_string(), "frame_samples": framing.length,
                "step_samples": framing.step, "k": request.k, "frames_without_peaks": self.without_peaks,
            }),
            channels: Some(&self.summary.reports),
            outcome: &self.outcome,
        }
    }
}

/// Rows of the table of a block of frames, one every `step` samples: one per peak, `k` per frame. A frame with too few
/// finite bins has rows of bin −1; one with too few local maxima or significant peaks has fewer rows.
fn peak_rows(
    (n_fft, k): (usize, usize),
    step: usize,
    name: Arc<str>,
    recording: OpenRecording,
    labels: &[ChannelLabel],
    block: Block<PeakValues>,
) -> Vec<TableColumn> {
    let Block { first, values, .. } = block;
    let are_maxima = values.are_maxima();
    let count = |bins: &[i32]| match are_maxima {
        true => bins.iter().take_while(|bin| **bin >= 0).count(),
        false => k,
    };
    let counts: Vec<usize> = values.bins.chunks(k).map(count).collect();
    let total = counts.iter().sum();
    let (mut channels, mut ranks) = (Vec::with_capacity(total), Vec::with_capacity(total));
    let (mut titles, mut units) = (Vec::new(), Vec::new());
    let (mut frames, mut times) = (Vec::with_capacity(total), Vec::with_capacity(total));
    let (mut frame, mut channel) = (first, 0);
    for &count in &counts {
        channels.extend(repeat_n(labels[channel].number as i32, count));
        ranks.extend(1..=count as i32);
        frames.extend(repeat_n(frame as i64, count));
        times.extend(repeat_n((frame * step as u64) as f64 / recording.rate, count));
        add_run(&mut titles, &labels[channel].title, count);
        add_run(&mut units, &labels[channel].unit, count);
        channel += 1;
        if channel == recording.channels {
            (channel, frame) = (0, frame + 1);
        }
    }
    let bins = filled(k, &counts, values.bins);
    let mut values: Vec<_> = values.columns.into_iter().map(|column| filled(k, &counts, column)).collect();
    let tested = values.split_off(TESTED.min(values.len()));
    let decibels = values[POWER].iter().map(|power| 10.0 * power.log10()).collect();
    let offset = |row: usize| values.get(OFFSET).map_or(0.0, |offset| offset[row]);
    let frequency = |(row, bin): (usize, &i32)| match *bin {
        ..0 => f64::NAN,
        bin => recording.hertz(bin as usize, offset(row), n_fft),
    };
    let frequencies = bins.iter().enumerate().map(frequency).collect();
    let prominence = values.get_mut(PROMINENCE).map(std::mem::take);
    let power = std::mem::take(&mut values[POWER]);
    let columns = [
        ("file", ColumnValues::text(&name, total)),
        ("channel", ColumnValues::Int32(channels)),
        ("frame", ColumnValues::Int64(frames)),
        ("time_s", ColumnValues::Double(times)),
        ("rank", ColumnValues::Int32(ranks)),
        ("bin", ColumnValues::Int32(bins)),
        ("frequency_hz", ColumnValues::Double(frequencies)),
        ("power", ColumnValues::Power(power)),
        ("power_db", ColumnValues::Double(decibels)),
    ];
    let prominence = prominence.map(|prominence| ("prominence", ColumnValues::Power(prominence)));
    let names = ["false_alarm", "frequency_error_hz", "amplitude", "amplitude_error"].into_iter();
    let lines = names.zip(tested).map(|(name, column)| (name, ColumnValues::Double(column)));
    let labels = [("label", ColumnValues::Text(titles)), ("unit", ColumnValues::Text(units))];
    let columns = columns.into_iter().chain(prominence).chain(lines).chain(labels);
    columns.map(|(name, values)| TableColumn { name, values }).collect()
}

/// The first values of each frame of `k`, as many as it has rows.
fn filled<T: Copy>(k: usize, counts: &[usize], values: Vec<T>) -> Vec<T> {
    if counts.iter().all(|count| *count == k) {
        return values;
    }
    counts.iter().zip(values.chunks(k)).flat_map(|(count, values)| values[..*count].iter().copied()).collect()
}

fn add_run(runs: &mut Vec<(Arc<str>, usize)>, text: &Arc<str>, rows: usize) {
    match runs.last_mut().filter(|(last, _)| last == text) {
        Some((_, count)) => *count += rows,
        None => runs.push((text.clone(), rows)),
    }
}
