//! Results of the peaks: table, drawing and summary.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};

use super::drawing::Drawing;
use super::rows::PeakRowLayout;
use crate::commands::outcome::CommandOutcome;
use crate::frames::{Block, Framing};
use crate::journal::JournalEntry;
use crate::model::ModelRequest;
use crate::peak_values::PeakValues;
use crate::pipeline::OpenRecording;
use crate::source::Sources;
use crate::summary::Summary;
use crate::table::TableWriter;

/// Results of the recordings so far.
pub struct Results<'a> {
    request: &'a ModelRequest,
    sources: &'a Sources,
    framing: Framing,
    names: Vec<Arc<str>>,
    /// Table of the peaks, and its rows.
    pub table: Option<Box<dyn TableWriter>>,
    rows: u64,
    /// Summary on the terminal.
    pub summary: Summary,
    /// Drawing of the peaks.
    pub drawing: Option<Drawing>,
    /// Recordings that failed.
    pub outcome: CommandOutcome,
}

impl<'a> Results<'a> {
    /// No results.
    pub fn new(request: &'a ModelRequest, sources: &'a Sources, framing: Framing) -> Self {
        Self {
            request,
            sources,
            framing,
            names: sources.list.iter().map(|source| source.name.as_str().into()).collect(),
            table: None,
            rows: 0,
            summary: Summary::new(request.n_fft, request.k, "frames"),
            drawing: None,
            outcome: CommandOutcome::default(),
        }
    }

    /// Adds the peaks of a block, or ends a recording.
    ///
    /// # Errors
    /// If the table can't be written.
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
        self.summary.add(recording, &block);
        if let Some(drawing) = &mut self.drawing {
            drawing.add(recording, &block);
        }
        if let Some(table) = &mut self.table {
            let layout = PeakRowLayout { k: self.request.k, n_fft: self.request.n_fft, step: self.framing.step };
            let rows = layout.rows(self.names[recording.source].clone(), recording, block);
            self.rows += rows.first().map_or(0, |column| column.values.len()) as u64;
            table.write(&rows).context("writing the output")?;
        }
        Ok(())
    }

    fn end(&mut self, recording: OpenRecording, failure: Option<String>) {
        let name = &self.names[recording.source];
        let frames = self.summary.end(recording, name);
        if let Some(drawing) = &mut self.drawing {
            drawing.end(recording, name, self.framing, frames);
        }
        match failure {
            Some(failure) => self.outcome.failed(name, &failure),
            None if frames == 0 && self.sources.part.is_none() => self.outcome.shorter(recording),
            None => {}
        }
    }

    /// The summary as text, with the number of rows that were written.
    pub fn text(&self, device: &str, out: Option<&Path>) -> String {
        let request = self.request;
        let peaks = match &request.search {
            None => format!("{} peaks per frame", request.k),
            Some(search) => format!("at most {} local maxima per frame ({search})", request.k),
        };
        let mut text = format!(
            "{}: {peaks} of {} samples, one every {}\nestimate: {}\ndevice: {device}\n\n{}{}",
            request.name,
            self.framing.length,
            self.framing.step,
            request.estimate,
            self.summary.text(),
            self.outcome.text()
        );
        if let Some(path) = out {
            text += &format!("\n{}: {} rows\n", path.display(), self.rows);
        }
        text
    }
}
