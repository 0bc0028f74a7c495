//! WAV files: any bytes are recordings or an error.

use std::fs;

use firefly_fuzz::{Edit, edited};
use firefly_trainer::data::read_recording;
use hound::{SampleFormat, WavSpec, WavWriter};

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
    bolero::check!().with_type::<(u8, Vec<Edit>)>().for_each(|(which, edits)| {
        fs::write(&path, edited(&files[*which as usize % files.len()], edits)).unwrap();
        let _ = read_recording(&path);
    });
}
