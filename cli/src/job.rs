//! Jobs: reading, computing and writing of all recordings, continued from a journal if there is one.

use std::io;

use anyhow::{Context, Result, ensure};
use firefly_app::progress::StepProgress;
use firefly_app::streams::note;
use firefly_recordings::{Framing, MOST_ROUNDING, Sources};
use serde_json::{Value, json};

use crate::journal::{Journal, JournalEntry, Payload};
use crate::labels::LabelBook;
use crate::model::ModelRequest;
use crate::output_lock::OutputLock;
use crate::pipeline::{self, Compute, OpenRecording, Start};

/// Recordings, and how they are cut into frames.
pub struct Job<'a> {
    pub sources: &'a Sources,
    /// What is computed of them.
    pub request: &'a ModelRequest,
    pub framing: Framing,
    /// Everything else that the values depend on: the command, its options, the device.
    pub options: Value,
    /// Whether neither progress nor notes are shown.
    pub quiet: bool,
    /// Labels of the recordings that were opened.
    pub labels: LabelBook,
}

/// Completes an output by `commit` if something was computed, and removes its lock with the journal either way.
pub fn complete(lock: Option<OutputLock>, computed: Result<()>, commit: impl FnOnce() -> io::Result<()>) -> Result<()> {
    if computed.is_ok() {
        commit().context("writing the output")?;
    }
    if let Some(lock) = lock {
        lock.remove().context("removing the journal")?;
    }
    computed
}

impl<'a> Job<'a> {
    /// A job of the frames of a request, one every `step` samples; `options` are those that its values depend on.
    pub fn new(sources: &'a Sources, request: &'a ModelRequest, step: usize, options: Value, quiet: bool) -> Self {
        let most_rounding = if request.exact_segments().is_ok() { MOST_ROUNDING } else { f64::INFINITY };
        let framing = Framing { is_centred: request.is_centred, most_rounding, ..Framing::new(request.frame, step) };
        Self { sources, request, framing, options, quiet, labels: LabelBook::default() }
    }

    /// Computes all blocks and hands them to `take`: first those of the journal of a locked output, until `take` returns
    /// false for one that it can't continue from, then those that are computed: each by the next of `computations`, one
    /// per device, which take the blocks in turn. Recordings that can only be read once have no journal. The error is the
    /// first one of a computation, `take` or the journal.
    pub fn run<T: Payload + Send>(
        &self,
        journaled: Option<&OutputLock>,
        computations: Vec<impl Compute<T>>,
        mut take: impl FnMut(JournalEntry<T>) -> Result<bool>,
    ) -> Result<()> {
        let (mut start, mut frames) = ((0, None), 0);
        let replay = |entry| {
            let Some((position, count)) = self.behind(&entry) else { return Ok(false) };
            let taken = take(entry)?;
            if taken {
                (start, frames) = (position, frames + count);
            }
            Ok(taken)
        };
        let journaled = journaled.filter(|_| self.sources.can_resume());
        let mut journal = journaled.map(|lock| Journal::replay(lock, &self.statement(), replay)).transpose()?;
        if start != (0, None) && !self.quiet {
            note(format_args!("continuing after {} recordings, {frames} frames", start.0));
        }
        // A stream has no end that progress could be shown towards.
        let progress = StepProgress::with_time_left(self.quiet || !self.sources.can_resume(), self.sources.bytes());
        let outcome = pipeline::run(self, start, &progress, computations, |entry| {
            if let Some(journal) = &mut journal {
                journal.append(&entry).context("writing the journal")?;
            }
            let taken = take(entry)?;
            ensure!(taken, "a block that was just computed was refused");
            Ok(())
        });
        progress.finish();
        outcome
    }

    /// The statement of the job, on one line: what the bytes of its output follow from.
    fn statement(&self) -> String {
        let statement = json!({
            "firefly": env!("CARGO_PKG_VERSION"),
            "options": self.options,
            "frame": self.framing.length,
            "step": self.framing.step,
            "centred": self.framing.is_centred,
            "digits": self.framing.most_rounding,
            "reading": self.sources.options,
            "raw": self.sources.raw().map(|(numbers, channels)| format!("{numbers}, {channels} channels")),
            "part": self.sources.part.map(|part| part.to_string()),
            "recordings": self.sources.list,
        });
        statement.to_string()
    }

    /// Position behind an entry, and its frames; `None` for one that is none of the job's.
    fn behind<T>(&self, entry: &JournalEntry<T>) -> Option<(Start, usize)> {
        let known = |recording: &OpenRecording| recording.source < self.sources.list.len();
        match entry {
            JournalEntry::Block(recording, block) => {
                let next = block.first.checked_add(block.count as u64)?;
                (known(recording) && recording.channels > 0).then_some(((recording.source, Some(next)), block.count))
            }
            JournalEntry::End(recording, _) => known(recording).then_some(((recording.source + 1, None), 0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::EstimateOptions;

    #[test]
    fn samples_of_another_format_are_another_job() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.bin");
        std::fs::write(&path, [0; 64]).unwrap();
        let statement = |numbers: &str, channels| {
            let sources = Sources::raw_file(&path, numbers.parse().unwrap(), channels, 100.0).unwrap();
            let request = ModelRequest::power(&EstimateOptions::default(), 1).unwrap();
            Job::new(&sources, &request, 8, Value::Null, true).statement()
        };
        let statements = [("s16", 1), ("s16be", 1), ("s16", 2), ("f32", 1)].map(|(name, count)| statement(name, count));
        for (place, one) in statements.iter().enumerate() {
            assert!(!statements[..place].contains(one), "{one}");
        }
    }
}
