//! WAV, FLAC, Ogg, MP3, AAC, MPEG-4, AIFF, CAF and Matroska files: any bytes are recordings or an error.

use std::fs;

use hound::{SampleFormat, WavSpec, WavWriter};

use crate::{fixture, recordings_are_read_or_refused};

#[test]
fn wav_files_are_read_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("recording.wav");
    let mut files = Vec::new();
    for (bits, format) in [(16, SampleFormat::Int), (24, SampleFormat::Int), (32, SampleFormat::Float)] {
        let spec = WavSpec { channels: 2, sample_rate: 12_000, bits_per_sample: bits, sample_format: format };
        let mut writer = WavWriter::create(&path, spec).unwrap();
        for sample in 0..64 {
            match format {
                SampleFormat::Int => writer.write_sample(sample * 100).unwrap(),
                SampleFormat::Float => writer.write_sample(sample as f32 / 64.0).unwrap(),
            }
        }
        writer.finalize().unwrap();
        files.push(fs::read(&path).unwrap());
    }
    recordings_are_read_or_refused("wav", &files);
}

/// A file beside the tests of the readers.
fn fixture_of_readers(name: &str) -> Vec<u8> {
    fs::read(format!("../recordings/src/formats/fixtures/{name}")).unwrap()
}

#[test]
fn flac_files_are_read_or_refused() {
    recordings_are_read_or_refused("flac", &[fixture_of_readers("stereo.flac")]);
}

#[test]
fn ogg_files_are_read_or_refused() {
    recordings_are_read_or_refused("ogg", &[fixture_of_readers("tones.ogg")]);
}

#[test]
fn mp3_files_are_read_or_refused() {
    recordings_are_read_or_refused("mp3", &[fixture("tone.mp3")]);
}

#[test]
fn aac_files_are_read_or_refused() {
    recordings_are_read_or_refused("aac", &[fixture("tone.aac")]);
}

#[test]
fn mpeg_4_files_are_read_or_refused() {
    recordings_are_read_or_refused("m4a", &["aac.m4a", "alac.m4a", "fragments.mp4"].map(fixture));
}

#[test]
fn aiff_files_are_read_or_refused() {
    recordings_are_read_or_refused("aiff", &[fixture("pcm.aiff")]);
}

#[test]
fn caf_files_are_read_or_refused() {
    recordings_are_read_or_refused("caf", &["pcm.caf", "alac.caf", "mulaw.caf"].map(fixture));
}

#[test]
fn matroska_files_are_read_or_refused() {
    recordings_are_read_or_refused("mka", &["pcm.mka", "flac.mka"].map(fixture));
}
