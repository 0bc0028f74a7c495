//! Standard output and error of a program, robust against closed readers and full disks.
//!
//! Writing to standard error never fails and never panics: text that can't be written is dropped. Once the reader of
//! standard output has closed it (`| head`), further output is dropped, and the exit status is unaffected. Any other
//! failure, such as a full disk, is an error.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal, Write, stderr, stdout};
use std::process::ExitCode;

use clap::Parser;
use tracing::Level;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::prelude::*;
use tracing_subscriber::{fmt, registry};

/// Exit status of a command that could not be carried out.
pub const COULD_NOT_RUN: u8 = 2;

/// Standard output.
#[derive(Debug, Default)]
pub struct StandardOutput {
    closed: bool,
}

impl StandardOutput {
    /// The outcome of an attempt to write, or `dropped` once the reader has closed the stream.
    fn unless_closed<T>(&mut self, dropped: T, attempt: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        if self.closed {
            return Ok(dropped);
        }
        match attempt() {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(dropped)
            }
            Err(error) if error.kind() != ErrorKind::Interrupted => {
                Err(io::Error::new(error.kind(), format!("writing to standard output: {error}")))
            }
            attempt => attempt,
        }
    }
}

impl Write for StandardOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.unless_closed(bytes.len(), || stdout().write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.unless_closed((), || stdout().flush())
    }
}

/// Standard error. Writing to it always succeeds.
#[derive(Debug, Clone, Copy, Default)]
pub struct ErrorStream;

impl Write for ErrorStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = stderr().write_all(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let _ = stderr().flush();
        Ok(())
    }
}

/// Writes a line to standard error, if it can be written.
pub fn note(line: impl Display) {
    let _ = writeln!(ErrorStream, "{}", printable(&line.to_string()));
}

/// Text whose control characters, which steer a terminal, are written as escapes. Line breaks and tabs are kept.
pub fn printable(text: &str) -> Cow<'_, str> {
    let steers = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if !text.contains(steers) {
        return Cow::Borrowed(text);
    }
    let escaped = |c: char| if steers(c) { c.escape_default().to_string() } else { c.to_string() };
    Cow::Owned(text.chars().map(escaped).collect())
}

/// The arguments of the program, or its exit status if they are wrong or ask for help.
pub fn parse_arguments<P: Parser>() -> Result<P, ExitCode> {
    P::try_parse().map_err(|error| {
        let printed = error.print().and_then(|()| stdout().flush());
        match printed {
            // Help goes to standard output, where only a reader that is gone may miss it.
            Err(failed) if !error.use_stderr() && failed.kind() != ErrorKind::BrokenPipe => {
                note(format_args!("error: writing to standard output: {failed}"));
                ExitCode::from(COULD_NOT_RUN)
            }
            _ => ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(COULD_NOT_RUN)),
        }
    })
}

/// Sends events of at least this level to standard error; not those of the audio decoders, whose failures are errors of
/// the recording.
pub fn log_to_stderr(level: Level) {
    let lines = fmt::layer().with_writer(|| ErrorStream).with_ansi(stderr().is_terminal());
    let shown = Targets::new().with_default(level).with_target("symphonia", LevelFilter::OFF);
    registry().with(lines).with(shown).init();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(printable("a\u{1b}[31m\r\tb\nc\u{85}"), "a\\u{1b}[31m\\r\tb\nc\\u{85}");
        assert!(matches!(printable("größer\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_closed_output_drops_what_follows_and_a_full_one_is_an_error() {
        let mut output = StandardOutput::default();
        let full = output.unless_closed(3, || Err(io::Error::from(ErrorKind::StorageFull))).unwrap_err();
        assert!(full.to_string().starts_with("writing to standard output: "), "{full}");
        assert_eq!(output.unless_closed(3, || Err(io::Error::from(ErrorKind::BrokenPipe))).unwrap(), 3);
        assert_eq!(output.unless_closed(5, || panic!("nothing is written to a closed stream")).unwrap(), 5);
    }
}
