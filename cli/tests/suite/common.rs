//! Helpers of the program's tests.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use hound::{SampleFormat, WavSpec, WavWriter};

/// The program with these arguments.
pub fn firefly(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firefly"));
    command.args(arguments);
    command
}

/// Runs the program to its end.
pub fn run(arguments: &[&str]) -> Output {
    firefly(arguments).output().unwrap()
}

/// Runs the program, and returns its output if it succeeds.
pub fn success(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", errors(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// Standard error of a run.
pub fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A path as text.
pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Samples of noise with two tones, a function of their number alone.
pub fn samples(count: usize) -> Vec<f32> {
    let mut state = 1u32;
    (0..count)
        .map(|index| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let noise = f64::from(state >> 8) / f64::from(1 << 24) - 0.5;
            let time = index as f64;
            (0.3 * (time * 0.31).sin() + 0.1 * (time * 1.7).cos() + 0.2 * noise) as f32
        })
        .collect()
}

/// Writes interleaved samples as a WAV file of floats at 8 kHz.
pub fn wav(path: &Path, channels: u16, samples: &[f32]) -> PathBuf {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).unwrap();
    }
    let spec = WavSpec { channels, sample_rate: 8000, bits_per_sample: 32, sample_format: SampleFormat::Float };
    let mut writer = WavWriter::create(path, spec).unwrap();
    samples.iter().for_each(|sample| writer.write_sample(*sample).unwrap());
    writer.finalize().unwrap();
    path.to_owned()
}

/// Rows of a CSV file under its titles.
pub fn rows(path: &Path) -> Vec<HashMap<String, String>> {
    let text = fs::read_to_string(path).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned));
    let titles: Vec<String> = lines.next().unwrap().collect();
    lines.map(|cells| titles.iter().cloned().zip(cells).collect()).collect()
}

/// A number in a row.
pub fn number(row: &HashMap<String, String>, column: &str) -> f64 {
    row[column].parse().unwrap()
}
