//! FLAC and Ogg Vorbis files, decoded by Symphonia.

use std::fs::File;
use std::path::Path;

use symphonia::core::codecs::audio::{AudioDecoder, AudioDecoderOptions};
use symphonia::core::errors::Error;
use symphonia::core::formats::probe::Hint;
use symphonia::core::formats::{FormatReader, TrackType};
use symphonia::core::io::MediaSourceStream;

use super::reader::{RecordingLayout, SampleReader};
use crate::data::error::RecordingProblem;
use crate::data::format::Format;

/// First audio track of a file. Samples are within [-1, 1].
pub(super) struct CompressedReader {
    format: Format,
    container: Box<dyn FormatReader>,
    decoder: Box<dyn AudioDecoder>,
    track: u32,
    layout: RecordingLayout,
    /// Decoded samples, interleaved, of which the first `used` have been read.
    decoded: Vec<f32>,
    used: usize,
}

impl CompressedReader {
    pub(super) fn open(path: &Path, format: Format) -> Result<Self, RecordingProblem> {
        let stream = MediaSourceStream::new(Box::new(File::open(path)?), Default::default());
        let failed = |error| problem(format, error);
        let container = symphonia::default::get_probe()
            .probe(&Hint::new(), stream, Default::default(), Default::default())
            .map_err(failed)?;
        let track = container.default_track(TrackType::Audio).ok_or_else(|| format.problem("it has no audio track"))?;
        let parameters = track.codec_params.as_ref().and_then(|parameters| parameters.audio());
        let parameters = parameters.ok_or_else(|| format.problem("its encoding is not stated"))?;
        let decoder = symphonia::default::get_codecs()
            .make_audio_decoder(parameters, &AudioDecoderOptions::default())
            .map_err(failed)?;
        let channels = parameters.channels.as_ref().map_or(0, |channels| channels.count());
        let rate = parameters.sample_rate.map(f64::from);
        let layout = RecordingLayout { channels, rate, length: track.num_frames, titles: Vec::new() };
        let track = track.id;
        let mut reader = Self { format, container, decoder, track, layout, decoded: Vec::new(), used: 0 };
        // Where the header has no channels, the first samples tell.
        if channels == 0 && !reader.decode()? {
            return Err(RecordingProblem::NoSamples);
        }
        Ok(reader)
    }

    /// Decodes the next packet with samples; `false` at the end.
    fn decode(&mut self) -> Result<bool, RecordingProblem> {
        self.decoded.clear();
        self.used = 0;
        while let Some(packet) = self.container.next_packet().map_err(|error| problem(self.format, error))? {
            if packet.track_id != self.track {
                continue;
            }
            let samples = self.decoder.decode(&packet).map_err(|error| problem(self.format, error))?;
            let channels = samples.spec().channels().count();
            if self.layout.channels == 0 {
                self.layout.channels = channels;
            }
            if channels != self.layout.channels {
                let reason = format!("it changes from {} channels to {channels}", self.layout.channels);
                return Err(self.format.problem(reason));
            }
            self.decoded.resize(samples.samples_interleaved(), 0.0);
            samples.copy_to_slice_interleaved(&mut self.decoded);
            if !self.decoded.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl SampleReader for CompressedReader {
    fn layout(&self) -> &RecordingLayout {
        &self.layout
    }

    fn read(&mut self, block: &mut Vec<f32>, count: usize) -> Result<usize, RecordingProblem> {
        let channels = self.layout.channels;
        let mut read = 0;
        while read < count {
            if self.used == self.decoded.len() && !self.decode()? {
                break;
            }
            let taken = ((self.decoded.len() - self.used) / channels).min(count - read);
            block.extend_from_slice(&self.decoded[self.used..self.used + taken * channels]);
            self.used += taken * channels;
            read += taken;
        }
        Ok(read)
    }
}

fn problem(format: Format, error: Error) -> RecordingProblem {
    match error {
        Error::IoError(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
            format.problem("it ends before its samples do")
        }
        Error::IoError(error) => RecordingProblem::Io(error),
        error => format.problem(error.to_string()),
    }
}
