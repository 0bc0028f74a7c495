//! `firefly info`: layout of recordings, and notes on them.

use std::process::ExitCode;

use anyhow::{Result, ensure};
use firefly_app::streams::print;
use firefly_recordings::{Format, Note, RecordingSource, Sources};
use serde::Serialize;

use super::outcome::{CommandOutcome, print_json};
use crate::labels::ChannelLabel;
use crate::options::InputOptions;

const NOTES: &str = "\
Per recording: format, channels with labels and units, sample rate, length, and notes on omitted, guessed or missing
parts.

Example:
  firefly info recording.wav";
const MAX_CHANNELS: usize = 64;

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = NOTES)]
pub struct InfoArgs {
    #[command(flatten)]
    input: InputOptions,
    /// Print the descriptions as one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct InfoReport<'a> {
    command: &'static str,
    recordings: Vec<Description>,
    #[serde(flatten)]
    outcome: &'a CommandOutcome,
}

#[derive(Serialize)]
struct Description {
    recording: String,
    format: &'static str,
    is_complex: bool,
    channels: Vec<ChannelLabel>,
    /// Samples per channel.
    samples: u64,
    rate_hz: Option<f64>,
    seconds: Option<f64>,
    centre_hz: f64,
    notes: Vec<String>,
    #[serde(skip)]
    losses: Vec<String>,
}

pub fn run(arguments: &InfoArgs) -> Result<ExitCode> {
    let sources = arguments.input.sources(None, [None, None])?;
    ensure!(sources.can_resume(), "samples on standard input have no description");
    let mut outcome = CommandOutcome::default();
    let (mut recordings, mut described) = (Vec::new(), 0);
    for source in &sources.list {
        match Description::of(&sources, source) {
            Ok(found) => {
                described += 1;
                if !arguments.json {
                    print(&found.text(arguments.input.quiet))?;
                }
                found.losses.iter().for_each(|loss| outcome.failed(&source.name, loss));
                recordings.extend(Some(found).filter(|_| arguments.json));
            }
            Err(error) => outcome.failed(&source.name, &format!("{error:#}")),
        }
    }
    outcome.ensure_not_empty(described, "description")?;
    if arguments.json {
        print_json(&InfoReport { command: "info", recordings, outcome: &outcome })?;
    }
    Ok(outcome.status())
}

impl Description {
    fn of(sources: &Sources, source: &RecordingSource) -> Result<Self> {
        let mut reader = sources.reader(source)?;
        let samples = match reader.layout().length {
            Some(length) => length,
            None => reader.skip(u64::MAX)?,
        };
        let layout = reader.layout();
        let (losses, notes): (Vec<_>, Vec<_>) = layout.notes.iter().partition(|note| matches!(note, Note::Loss(_)));
        let texts = |notes: Vec<&Note>| notes.into_iter().map(ToString::to_string).collect();
        Ok(Self {
            recording: source.name.clone(),
            format: source.path.as_deref().and_then(Format::of).map_or("samples", Format::name),
            is_complex: layout.is_complex,
            channels: ChannelLabel::all_of(layout).to_vec(),
            samples,
            rate_hz: layout.rate,
            seconds: layout.rate.map(|rate| samples as f64 / rate),
            centre_hz: layout.centre,
            notes: texts(notes),
            losses: texts(losses),
        })
    }

    /// The description as lines of text, unless it is quiet with the notes.
    fn text(&self, is_quiet: bool) -> String {
        let Self { recording, format, channels, samples, centre_hz, .. } = self;
        let kind = if self.is_complex { "complex channels" } else { "channels" };
        let mut text = format!("{recording}: {format}, {} {kind} of {samples} samples", channels.len());
        text += &match (self.rate_hz, self.seconds) {
            (Some(rate), Some(seconds)) => format!(", {rate} Hz, {seconds} s\n"),
            _ => ", rate unknown\n".to_owned(),
        };
        if self.is_complex && *centre_hz != 0.0 {
            text += &format!("  centre frequency: {centre_hz} Hz\n");
        }
        let described = |label: &ChannelLabel| {
            let texts = [&*label.title, &*label.unit].into_iter().filter(|text| !text.is_empty());
            texts.collect::<Vec<_>>().join(", ")
        };
        let labelled = channels.iter().map(described).enumerate().filter(|(_, text)| !text.is_empty());
        for (number, channel) in labelled.take(MAX_CHANNELS) {
            text += &format!("  channel {number}: {channel}\n");
        }
        self.notes.iter().filter(|_| !is_quiet).for_each(|note| text += &format!("  note: {note}\n"));
        text
    }
}
