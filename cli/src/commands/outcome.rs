//! Output files and outcome of a command over recordings.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use firefly_app::files::{ensure_writable, is_same_output};
use firefly_app::streams::{StandardOutput, note};
use firefly_recordings::Sources;
use serde::Serialize;

use crate::pipeline::OpenRecording;
use crate::plot::PlotFormat;
use crate::table::{TableFormat, TableWriter};

/// The formats of the files of `--out` and `--plot`, after the check that both can be written. An error for an
/// extension that names no format, a file that can't be written, and one file for both.
pub fn formats(out: Option<&PathBuf>, plot: Option<&PathBuf>) -> Result<(Option<TableFormat>, Option<PlotFormat>)> {
    let table = out.map(|path| TableFormat::of(path)).transpose().context("--out")?;
    let drawing = plot.map(|path| PlotFormat::of(path)).transpose().context("--plot")?;
    for path in [out, plot].into_iter().flatten() {
        ensure_writable(path).with_context(|| path.display().to_string())?;
    }
    if let (Some(out), Some(plot)) = (out, plot)
        && is_same_output(out, plot)?
    {
        bail!("--plot {} is the file of --out {}", plot.display(), out.display());
    }
    Ok((table, drawing))
}

/// Table of the file of `--out`; `locked` as of [`TableFormat::create`].
pub fn table_of(
    out: Option<&PathBuf>,
    format: Option<TableFormat>,
    sources: &Sources,
    locked: bool,
) -> Result<Option<Box<dyn TableWriter>>> {
    let (Some(path), Some(format)) = (out, format) else { return Ok(None) };
    let table = format.create(path, sources.longest_name(), locked);
    table.with_context(|| format!("--out {}", path.display())).map(Some)
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
    print(&(serde_json::to_string_pretty(document)? + "\n"))
}

/// Writes text to standard output. A reader that is gone is no error.
pub fn print(text: &str) -> Result<()> {
    let mut out = StandardOutput::default();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}
