//! Standard output and error of a program, robust against closed readers and full disks.
//!
//! Writing to standard error never fails and never panics: text that can't be written is dropped. Once the reader of
//! standard output has closed it (`| head`), further output is dropped, and the exit status is unaffected. Any other
//! failure, such as a full disk, is an error.

use std::borrow::Cow;
use std::env;
use std::error::Error;
use std::ffi::OsString;
use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal, Write, stderr, stdout};
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind as ArgumentErrorKind};
use clap::{Command, Parser};
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

/// Writes text to standard output. A reader that has closed it is no error.
pub fn print(text: &str) -> io::Result<()> {
    let mut output = StandardOutput::default();
    output.write_all(text.as_bytes())?;
    output.flush()
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

/// Messages of parsers of numbers that do not say what is accepted.
const EXPLANATIONS: [(&str, &str); 4] = [
    ("invalid digit found in string", "it is not a whole number from 0"),
    ("cannot parse integer from empty string", "it is not a whole number from 0"),
    ("number too large to fit in target type", "it is too large"),
    ("invalid float literal", "it is not a number"),
];

/// The arguments of the program, or its exit status if they are wrong or ask for help.
pub fn parse_arguments<P: Parser>() -> Result<P, ExitCode> {
    parse::<P>(env::args_os()).map_err(|error| {
        let text = error.render().to_string();
        let told = EXPLANATIONS.iter().fold(with_short_numbers(&text).into_owned(), |told, (message, meaning)| {
            told.replace(&format!(": {message}\n"), &format!(": {meaning}\n"))
        });
        let printed = if told != text && error.use_stderr() {
            note(told.trim_end());
            Ok(())
        } else {
            error.print().and_then(|()| stdout().flush())
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

/// The program's arguments. Every option that takes a value may be given a negative number, which its parser refuses by
/// the option's name.
fn parse<P: Parser>(arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> Result<P, clap::Error> {
    let mut command = with_negative_numbers(P::command());
    let found = command.try_get_matches_from_mut(arguments);
    let parsed =
        found.and_then(|mut found| P::from_arg_matches_mut(&mut found).map_err(|error| error.format(&mut command)));
    parsed.map_err(|error| pointing_to_commands(error, &command))
}

fn with_negative_numbers(command: Command) -> Command {
    let of_option = |argument: clap::Arg| {
        let takes_number = argument.get_action().takes_values() && !argument.is_positional();
        if takes_number { argument.allow_negative_numbers(true) } else { argument }
    };
    command.mut_args(of_option).mut_subcommands(with_negative_numbers)
}

/// An error of an unknown option with the other commands that have it, rather than the tip to pass it as a value.
fn pointing_to_commands(mut error: clap::Error, program: &Command) -> clap::Error {
    let option = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(option)) if error.kind() == ArgumentErrorKind::UnknownArgument => option.clone(),
        _ => return error,
    };
    let Some(name) = option.strip_prefix("--") else { return error };
    let has_it = |command: &&Command| command.get_arguments().any(|argument| argument.get_long() == Some(name));
    let others: Vec<&str> = program.get_subcommands().filter(has_it).map(Command::get_name).collect();
    error.remove(ContextKind::Suggested);
    if !others.is_empty() {
        let tip = format!("commands with '{option}': {}", others.join(", "));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
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
    fn errors_of_options_name_the_option_or_the_commands_that_have_it() {
        #[derive(Debug, clap::Parser)]
        enum Program {
            One {
                #[arg(long)]
                count: Option<usize>,
            },
            Two {
                input: String,
                #[arg(long)]
                rate: Option<f64>,
            },
        }
        let error = |arguments: &[&str]| parse::<Program>([&["program"], arguments].concat()).unwrap_err().to_string();
        assert!(error(&["one", "--count", "-3"]).contains("invalid value '-3' for '--count <COUNT>'"));
        let unknown = error(&["two", "x", "--count", "3"]);
        assert!(unknown.contains("tip: commands with '--count': one") && !unknown.contains("as a value"), "{unknown}");
        assert!(error(&["two", "x", "--rat", "3"]).contains("a similar argument exists: '--rate'"));
        let one = parse(["program", "one", "--count", "3"]).unwrap();
        assert!(matches!(one, Program::One { count: Some(3) }));
        let two = parse(["program", "two", "x", "--rate", "-3"]).unwrap();
        assert!(matches!(two, Program::Two { input, rate: Some(-3.0) } if input == "x"));
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
