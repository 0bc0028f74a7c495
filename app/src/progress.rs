//! Progress of a command on the error stream: a bar on a terminal, lines elsewhere.

use std::io::{IsTerminal, stderr};

use indicatif::{ProgressBar, ProgressStyle};

use crate::streams::{note, printable};

/// Progress over a known number of steps.
pub enum StepProgress {
    /// Not shown.
    Quiet,
    /// A bar on a terminal.
    Bar(ProgressBar),
    /// Lines in a file, a pipe or a terminal that can't move its cursor, one per message.
    Lines,
}

impl StepProgress {
    /// Progress over `steps` steps, in the form that suits the error stream.
    pub fn new(quiet: bool, steps: usize) -> Self {
        Self::with_template(quiet, steps as u64, "{bar:24} {pos}/{len} {wide_msg}")
    }

    /// Progress over `total` units of work, such as bytes, with the share done and the time left.
    pub fn with_time_left(quiet: bool, total: u64) -> Self {
        Self::with_template(quiet, total, "{bar:24} {percent:>3} %, {eta} left  {wide_msg}")
    }

    fn with_template(quiet: bool, total: u64, template: &str) -> Self {
        if quiet {
            return Self::Quiet;
        }
        if !stderr().is_terminal() {
            return Self::Lines;
        }
        let bar = ProgressBar::new(total);
        // On a terminal without cursor movement (TERM=dumb) a bar would show nothing.
        if bar.is_hidden() {
            return Self::Lines;
        }
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Self::Bar(bar)
    }

    /// Shows a message next to a bar; not shown where there is no bar.
    pub fn show(&self, message: &str) {
        if let Self::Bar(bar) = self {
            bar.set_message(printable(message).into_owned());
        }
    }

    /// Sets the units of work that are done.
    pub fn set_position(&self, done: u64) {
        if let Self::Bar(bar) = self {
            bar.set_position(done);
        }
    }

    /// Shows a message about the current work.
    pub fn set_message(&self, message: impl Into<String>) {
        match self {
            Self::Quiet => (),
            Self::Bar(bar) => bar.set_message(printable(&message.into()).into_owned()),
            Self::Lines => note(message.into()),
        }
    }

    /// Writes a line that stays: above a bar, or as any other line.
    pub fn note(&self, line: &str) {
        match self {
            Self::Quiet => (),
            Self::Bar(bar) => bar.println(printable(line)),
            Self::Lines => note(line),
        }
    }

    /// Advances by `steps` steps.
    pub fn advance(&self, steps: usize) {
        if let Self::Bar(bar) = self {
            bar.inc(steps as u64);
        }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        if let Self::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}
