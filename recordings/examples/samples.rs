//! Samples of a recording, or of the channels that are named, as other programs read them: f64 in little-endian order,
//! channel by channel, on standard output. The layout and the notes of the recording are a line of JSON on standard error.
//!
//! ```sh
//! cargo run --release -p firefly-recordings --example samples -- machine.flac > machine.f64
//! ```

use std::error::Error;
use std::io::{BufWriter, Write, stdout};
use std::process::ExitCode;

use firefly_recordings::{Note, ReadOptions, open_with};
use serde_json::json;

/// Samples per channel that are read at a time.
const BLOCK: usize = 1 << 16;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: samples FILE [CHANNEL]...")?;
    let options = ReadOptions { channels: arguments.collect(), ..ReadOptions::default() };
    let mut recording = open_with(path.as_ref(), &options)?;
    let mut samples = Vec::new();
    while recording.read_wide(&mut samples, BLOCK)? > 0 {}

    let layout = recording.layout();
    let mut output = BufWriter::new(stdout().lock());
    for channel in 0..layout.channels {
        for sample in samples.iter().skip(channel).step_by(layout.channels) {
            output.write_all(&sample.to_le_bytes())?;
        }
    }
    output.flush()?;
    let (losses, notes): (Vec<_>, Vec<_>) = layout.notes.iter().partition(|note| matches!(note, Note::Loss(_)));
    let texts = |notes: Vec<&Note>| notes.into_iter().map(Note::to_string).collect::<Vec<_>>();
    let description = json!({
        "channels": layout.channels,
        "samples": samples.len() / layout.channels,
        "rate_hz": layout.rate,
        "titles": layout.titles,
        "units": layout.units,
        "is_complex": layout.is_complex,
        "centre_hz": layout.centre,
        "notes": texts(notes),
        "losses": texts(losses),
    });
    eprintln!("{description}");
    Ok(())
}
