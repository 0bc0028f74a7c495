//! How far a command is, on the error stream: a bar on a terminal, a line per step elsewhere.

use std::io::{IsTerminal, stderr};

use indicatif::{ProgressBar, ProgressStyle};

/// Where progress goes.
pub enum Progress {
    /// Nowhere.
    Quiet,
    /// To a terminal.
    Bar(ProgressBar),
    /// To a file or a pipe, one line a step.
    Lines,
}

impl Progress {
    /// Progress over `steps` steps, as the error stream allows.
    pub fn new(quiet: bool, steps: usize) -> Self {
        if quiet {
            return Self::Quiet;
        }
        if !stderr().is_terminal() {
            return Self::Lines;
        }
        let bar = ProgressBar::new(steps as u64);
        if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len} {wide_msg}") {
            bar.set_style(style);
        }
        Self::Bar(bar)
    }

    /// Says what is being done.
    pub fn say(&self, message: impl Into<String>) {
        match self {
            Self::Quiet => (),
            Self::Bar(bar) => bar.set_message(message.into()),
            Self::Lines => eprintln!("{}", message.into()),
        }
    }

    /// Takes note that `steps` steps are done.
    pub fn advance(&self, steps: usize) {
        if let Self::Bar(bar) = self {
            bar.inc(steps as u64);
        }
    }

    /// Clears the bar away.
    pub fn finish(&self) {
        if let Self::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}
