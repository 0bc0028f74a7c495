//! Standard output and error of a program, robust against closed readers and full disks.
//!
//! Writing to standard error never fails and never panics: text that can't be written is dropped. Once the reader of
//! standard output has closed it (`| head`), further output is dropped, and the exit status is unaffected. Any other
//! failure, such as a full disk, is an error.

use std::borrow::Cow;
use std::error::Error;
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
    /// Whether the reader has closed the stream, so that what is written is dropped.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

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
    let _ = writeln!(ErrorStream, "{}", with_short_numbers(&printable(&line.to_string())));
}

/// Writes an error to standard error, with its causes; one that the error before it tells already is left out.
pub fn note_error(error: &(dyn Error + 'static)) {
    note(format_args!("error: {}", with_causes(error)));
}

/// The message of an error, with those of its causes that are not told yet.
pub fn with_causes(error: &(dyn Error + 'static)) -> String {
    let (mut told, mut cause) = (error.to_string(), error.source());
    while let Some(error) = cause {
        let text = error.to_string();
        if !told.ends_with(&text) {
            told = format!("{told}: {text}");
        }
        cause = error.source();
    }
    told
}

/// Digits from which on a number is written with an exponent.
const MANY_DIGITS: usize = 100;

/// Text whose numbers of very many digits, such as those of 1e300, are written with an exponent.
fn with_short_numbers(text: &str) -> Cow<'_, str> {
    let is_other = |c: char| !c.is_ascii_digit() && c != '.';
    let runs: Vec<&str> = text.split(is_other).filter(|run| run.len() >= MANY_DIGITS).collect();
    if runs.is_empty() {
        return Cow::Borrowed(text);
    }
    let short = |number: &str| match number.parse::<f64>() {
        Ok(value) if number.len() >= MANY_DIGITS => format!("{value:e}"),
        _ => number.to_owned(),
    };
    // The ends of a range are numbers of their own.
    let shortened = |run: &str| run.split("..").map(short).collect::<Vec<_>>().join("..");
    Cow::Owned(runs.into_iter().fold(text.to_owned(), |text, run| text.replace(run, &shortened(run))))
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
        let text = error.render().to_string();
        let printed = match with_short_numbers(&text) {
            Cow::Owned(short) if error.use_stderr() => {
                note(short.trim_end());
                Ok(())
            }
            _ => error.print().and_then(|()| stdout().flush()),
        };
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
    fn numbers_of_hundreds_of_digits_have_an_exponent() {
        let [large, small] = [1e300f64, 1e-300].map(|number| number.to_string());
        let text = format!("--band is 0..{small}, `nw` is {large}; 1.5, 18446744073709551615 and a.b stay.");
        let expected = "--band is 0..1e-300, `nw` is 1e300; 1.5, 18446744073709551615 and a.b stay.";
        assert_eq!(with_short_numbers(&text), expected);
        assert!(matches!(with_short_numbers("from 0..1 to 2.5."), Cow::Borrowed(_)));
    }

    #[test]
    fn a_cause_that_is_told_is_not_repeated() {
        #[derive(Debug, thiserror::Error)]
        #[error("reading x: {0}")]
        struct Told(#[source] io::Error);
        let told = || Told(io::Error::other("it is a folder"));
        assert_eq!(with_causes(&told()), "reading x: it is a folder");
        #[derive(Debug, thiserror::Error)]
        #[error("--profile")]
        struct Untold(#[source] Told);
        assert_eq!(with_causes(&Untold(told())), "--profile: reading x: it is a folder");
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
