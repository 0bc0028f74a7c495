//! Outcome of a command over recordings.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Result, bail};
use firefly_app::streams::{StandardOutput, note};

use crate::pipeline::OpenRecording;

/// Recordings that failed, and those that are shorter than a frame.
#[derive(Debug, Default)]
pub struct CommandOutcome {
    failures: u64,
    shorter: u64,
}

impl CommandOutcome {
    /// Counts a recording that could not be read, and says why.
    pub fn failed(&mut self, name: &str, reason: &str) {
        note(format_args!("error: {name}: {reason}"));
        self.failures += 1;
    }

    /// Counts a recording without a whole frame; one that could not be opened has no channels and counts as failed
    /// only.
    pub fn shorter(&mut self, recording: OpenRecording) {
        self.shorter += u64::from(recording.channels > 0);
    }

    /// Checks that frames were computed; a frame is described as in "256 samples of a segment".
    ///
    /// # Errors
    /// If there are none.
    pub fn ensure_something(&self, frames: u64, frame: &str) -> Result<()> {
        match (frames, self.failures) {
            (0, 0) => bail!("no recording has the {frame}"),
            (0, _) => bail!("no recording could be read"),
            _ => Ok(()),
        }
    }

    /// Counts of recordings that were left out or failed, as lines of text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (count, what) in [
            (self.shorter, "recordings that are too short, left out"),
            (self.failures, "recordings that could not be read"),
        ] {
            if count > 0 {
                text += &format!("\n{what}: {count}\n");
            }
        }
        text
    }

    /// Exit status: 1 if a recording failed.
    pub fn status(&self) -> ExitCode {
        if self.failures > 0 { ExitCode::from(1) } else { ExitCode::SUCCESS }
    }
}

/// Writes text to standard output. A reader that is gone is no error.
///
/// # Errors
/// If it can't be written for another reason.
pub fn print(text: &str) -> Result<()> {
    let mut out = StandardOutput::default();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}
