//! Output files and outcome of a command over recordings.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use firefly_app::files::{ensure_writable, is_same_output};
use firefly_app::page::html_table::HtmlTable;
use firefly_app::streams::{note, print};
use firefly_recordings::{Shard, Sources};
use serde::Serialize;
use serde_json::Value;

use crate::options::InputOptions;
use crate::output_lock::OutputLock;
use crate::pipeline::OpenRecording;
use crate::plot::{PlotFigure, PlotFormat};
use crate::summary::ChannelReport;
use crate::table::{OutputTable, TableFormat};

/// Where the results of a command go.
#[derive(Debug, Clone, clap::Args)]
pub struct OutputOptions {
    /// Write the results as a table to this file: .parquet, .csv, .jsonl or .npy.
    ///
    /// Until it is complete, FILE.journal has what was computed: the same command, started again, continues from it and
    /// writes the bytes of an uninterrupted one.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Draw the results into this file: .svg, .png or .html
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// Print the results as one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Checks that outputs, by their options, can be written, each to a file of its own.
pub fn ensure_outputs(outputs: &[(&str, Option<&Path>)]) -> Result<()> {
    let given: Vec<_> = outputs.iter().filter_map(|(option, path)| Some((option, (*path)?))).collect();
    for (place, (option, path)) in given.iter().enumerate() {
        ensure_writable(path).with_context(|| path.display().to_string())?;
        for (other, other_path) in &given[..place] {
            let is_same = is_same_output(path, other_path)?;
            ensure!(!is_same, "{option} {} is the file of {other} {}", path.display(), other_path.display());
        }
    }
    Ok(())
}

impl OutputOptions {
    /// The recordings, or a shard of them. An error if an output has an extension that names no format, can't be written
    /// or would replace a recording.
    pub fn sources(&self, input: &InputOptions, shard: Option<Shard>) -> Result<Sources> {
        let [out, plot] = [&self.out, &self.plot].map(Option::as_deref);
        out.map(TableFormat::of).transpose().context("--out")?;
        plot.map(PlotFormat::of).transpose().context("--plot")?;
        ensure_outputs(&[("--out", out), ("--plot", plot)])?;
        input.sources(shard, [out, plot])
    }

    /// The lock on the output and its table, if there is one.
    pub fn open(&self, sources: &Sources) -> Result<(Option<OutputLock>, Option<OutputTable>)> {
        let Some(path) = &self.out else { return Ok((None, None)) };
        let lock = OutputLock::of(path)?;
        let table = TableFormat::of(path)?.create(&lock, sources.longest_name());
        let table = table.with_context(|| format!("--out {}", path.display()))?;
        Ok((Some(lock), Some(table)))
    }

    /// Draws the figures below the title, facts and lines of a page, if there is a drawing.
    pub fn draw(
        &self,
        title: &str,
        facts: &[(&str, String)],
        lines: HtmlTable,
        figures: &[PlotFigure<'_>],
    ) -> Result<()> {
        let Some(path) = &self.plot else { return Ok(()) };
        PlotFormat::of(path)?.write(path, title, facts, Some(lines), figures).context("--plot")
    }

    /// Prints the results, as text unless JSON is wanted.
    pub fn print(&self, report: &Report<'_>, text: &str) -> Result<ExitCode> {
        if self.json {
            print_json(report)?
        } else {
            print(text)?
        }
        Ok(report.outcome.status())
    }
}

/// Results of a command as a JSON document.
#[derive(Serialize)]
pub struct Report<'a> {
    pub command: &'static str,
    pub estimate: &'a str,
    pub n_fft: usize,
    pub device: String,
    /// What other commands do not have.
    #[serde(flatten)]
    pub more: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channels: Option<&'a [ChannelReport]>,
    #[serde(flatten)]
    pub outcome: &'a CommandOutcome,
}

/// Recordings that failed, and those that are shorter than a frame.
#[derive(Debug, Default, Serialize)]
pub struct CommandOutcome {
    failed: Vec<Failure>,
    too_short: u64,
}

#[derive(Debug, Serialize)]
struct Failure {
    recording: String,
    reason: String,
}

impl CommandOutcome {
    /// Counts a recording that could not be read, and says why.
    pub fn failed(&mut self, name: &str, reason: &str) {
        note(format_args!("error: {name}: {reason}"));
        self.failed.push(Failure { recording: name.to_owned(), reason: reason.to_owned() });
    }

    /// Counts a recording without a whole frame; one that could not be opened has no channels and counts as failed
    /// only.
    pub fn shorter(&mut self, recording: OpenRecording) {
        self.too_short += u64::from(recording.channels > 0);
    }

    /// Checks that frames were computed; a frame is described as in "256 samples of a segment".
    pub fn ensure_not_empty(&self, frames: u64, frame: &str) -> Result<()> {
        match (frames, self.failed.len()) {
            (0, 0) => bail!("no recording has the {frame}"),
            (0, _) => bail!("nothing was computed: the errors above say why"),
            _ => Ok(()),
        }
    }

    /// Counts of recordings that were left out or failed, as lines of text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (count, what) in [
            (self.too_short, "recordings that are too short, left out"),
            (self.failed.len() as u64, "recordings that failed, whole or in part"),
        ] {
            if count > 0 {
                text += &format!("\n{what}: {count}\n");
            }
        }
        text
    }

    pub fn status(&self) -> ExitCode {
        if !self.failed.is_empty() { ExitCode::from(1) } else { ExitCode::SUCCESS }
    }
}

/// Writes a JSON document to standard output, as [`print`](fn@print).
pub fn print_json(document: &impl Serialize) -> Result<()> {
    Ok(print(&(serde_json::to_string_pretty(document)? + "\n"))?)
}
