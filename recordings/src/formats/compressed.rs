//! Compressed audio, and uncompressed audio in containers other than WAV, decoded by Symphonia.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use symphonia::core::codecs::audio::well_known::{
    CODEC_ID_AAC, CODEC_ID_ALAC, CODEC_ID_FLAC, CODEC_ID_MP3, CODEC_ID_OPUS, CODEC_ID_PCM_ALAW, CODEC_ID_PCM_F64BE,
    CODEC_ID_PCM_F64LE, CODEC_ID_PCM_MULAW, CODEC_ID_PCM_S32BE, CODEC_ID_PCM_S32LE, CODEC_ID_PCM_U32BE,
    CODEC_ID_PCM_U32LE,
};
use symphonia::core::codecs::audio::{AudioCodecParameters, AudioDecoder, AudioDecoderOptions};
use symphonia::core::errors::Error;
use symphonia::core::formats::probe::Hint;
use symphonia::core::formats::{FormatReader, TrackType};
use symphonia::core::io::{MediaSource, MediaSourceStream};

use super::gaps::{MOST_GAP, fill_gap};
use super::raw::{SampleValue, decoded_reads, read_full};
use super::wav::is_unknown_length;
use super::{Format, RecordingLayout, SampleReader};
use crate::error::{RecordingProblem, Result};

/// Bytes of an ID3v1 tag.
const TAG_BYTES: u64 = 128;

/// Samples per channel, two frames of MPEG-1, by which an MP3 may fall short of its header.
const MP3_TOLERANCE: u64 = 2 * 1152;
/// Most samples per channel that encoders add at the end of an MP3, and that a packet of ALAC has.
const MOST_PADDING: u64 = 4096;

/// Bytes of samples that SoX announces in an AIFF file that it cannot return to, up to a sample of every channel.
const UNKNOWN_AIFF: u64 = 0x7f00_0008;

/// File as Symphonia (0.6) reads it: without the ID3v1 tag at its end, before which it loses the last frame of FLAC, and
/// with lengths that the file holds, without which it refuses AIFF and CAF.
struct MediaFile {
    file: File,
    position: u64,
    bytes: u64,
    /// Positions, and what is read from there on instead of the file's bytes.
    changed: Vec<(u64, Vec<u8>)>,
}

impl MediaFile {
    fn open(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let mut bytes = file.metadata()?.len();
        let mut tag = [0; 3];
        if bytes >= TAG_BYTES {
            file.seek(SeekFrom::Start(bytes - TAG_BYTES))?;
            file.read_exact(&mut tag)?;
            file.rewind()?;
        }
        if &tag == b"TAG" {
            bytes -= TAG_BYTES;
        }
        Ok(Self { file, position: 0, bytes, changed: Vec::new() })
    }

    /// Leaves out the last page of an Ogg file if it is not whole.
    fn fit_pages(&mut self) -> io::Result<()> {
        // A page has less than 64 KiB.
        let mut end = vec![0; self.bytes.min(1 << 16) as usize];
        self.seek(SeekFrom::Start(self.bytes - end.len() as u64))?;
        read_full(self, &mut end)?;
        let Some(at) = end.windows(5).rposition(|name| name == b"OggS\0") else { return self.rewind() };
        let page = &end[at..];
        let lengths = page.get(26).and_then(|count| page.get(27..27 + usize::from(*count)));
        let whole = lengths.map(|all| 27 + all.len() + all.iter().map(|length| usize::from(*length)).sum::<usize>());
        if whole.is_none_or(|whole| whole > page.len()) {
            self.bytes -= page.len() as u64;
        }
        self.rewind()
    }

    /// Whether an MP4 file ends inside a fragment: a box `moof`, and the box `mdat` of its samples behind it, which gets the
    /// length that it has in the file.
    fn fit_fragment(&mut self) -> io::Result<bool> {
        let (mut position, mut is_inside) = (0, false);
        while position < self.bytes {
            // Length and name of a box, and its length in 64 bits if the first is 1.
            let mut header = [0; 16];
            self.seek(SeekFrom::Start(position))?;
            read_full(self, &mut header)?;
            let [short, name, ..] = header.as_chunks::<4>().0 else { break };
            let held = self.bytes - position;
            let length = match u32::from_be_bytes(*short) {
                0 => held,
                1 => u64::from_be_bytes(header.as_chunks().0[1]),
                length => length.into(),
            };
            if length < 8 {
                break;
            }
            if matches!(name, b"moof" | b"mdat") {
                is_inside = name == b"moof" || length > held;
            }
            if name == b"mdat" && is_inside {
                // A length of 0 is up to the end.
                self.changed.push((position, u32::try_from(held).unwrap_or(0).to_be_bytes().to_vec()));
            }
            position = position.saturating_add(length);
        }
        self.rewind().map(|()| is_inside)
    }

    /// Whether a Matroska file ends inside an element with samples. A segment that ends behind the file gets an unknown
    /// length, as those and clusters may have that end with their last element; `is_start` looks at nothing else.
    fn fit_segment(&mut self, is_start: bool) -> io::Result<bool> {
        let (mut position, mut is_index) = (0, false);
        while position < self.bytes {
            // A name of up to 4 bytes and a length of up to 8, whose first bits say how many; all ones are no length.
            let mut header = [0; 12];
            self.seek(SeekFrom::Start(position))?;
            let read = read_full(self, &mut header)?;
            let name = header[0].leading_zeros() as usize + 1;
            let width = header[name].leading_zeros() as usize + 1;
            if name > 4 || width > 8 || read < name + width {
                return self.rewind().map(|()| true);
            }
            let first = u64::from(header[name]) & (0xff >> width);
            let rest = &header[name + 1..name + width];
            let length = rest.iter().fold(first, |length, byte| (length << 8) | u64::from(*byte));
            let mut is_known = length != (1 << (7 * width)) - 1;
            let next = position + (name + width) as u64;
            match &header[..name] {
                b"\x18\x53\x80\x67" if is_known && next + length > self.bytes => {
                    let ones = [vec![0xff >> (width - 1)], vec![0xff; width - 1]].concat();
                    self.changed.push((position + name as u64, ones));
                    is_known = false;
                }
                // An index of places behind the end: no element has the other name.
                b"\x11\x4d\x9b\x74" if !self.changed.is_empty() => self.changed.push((position + 3, vec![0x75])),
                b"\x1f\x43\xb6\x75" if is_start => break,
                b"\x18\x53\x80\x67" | b"\x1f\x43\xb6\x75" => {}
                _ if !is_known => return self.rewind().map(|()| true),
                _ => {}
            }
            // Cues and tags.
            is_index = matches!(&header[..name], b"\x1c\x53\xbb\x6b" | b"\x12\x54\xc3\x67");
            position = next + if is_known { length } else { 0 };
        }
        self.rewind().map(|()| position > self.bytes && !is_index)
    }

    /// Replaces the length of the samples of AIFF, CAF and WAV by that of the file where it is longer, and returns both;
    /// none for one that was not known, as −1 of CAF: those samples are up to the end of the file.
    fn fit_length(&mut self, format: Format) -> io::Result<Option<[u64; 2]>> {
        // Position of the first chunk, bytes of a length, which follows a name of 4, and what lengths are padded to.
        let (mut at, width, padding) = match format {
            Format::Aiff | Format::Wav => (12, 4, 2),
            Format::Caf => (8, 8, 1),
            Format::Ogg => return self.fit_pages().map(|()| None),
            Format::Mp4 => return self.fit_fragment().map(|_| None),
            Format::Matroska => return self.fit_segment(true).map(|_| None),
            _ => return Ok(None),
        };
        let mut lengths = None;
        while at < self.bytes && lengths.is_none() {
            let mut header = [0; 12];
            self.seek(SeekFrom::Start(at))?;
            read_full(self, &mut header)?;
            // No chunk has such a name.
            if header.starts_with(&[0; 4]) {
                break;
            }
            let digits = &mut header[4..4 + width];
            if format == Format::Wav {
                digits.reverse();
            }
            let length = digits.iter().fold(0, |length, byte| (length << 8) | u64::from(*byte));
            at += 4 + width as u64;
            let held = self.bytes.saturating_sub(at);
            if length > held && matches!(&header[..4], b"SSND" | b"data") {
                // The length of the whole file, too, which CAF has not.
                let whole = (4, self.bytes - 8);
                for (at, length) in [(at - width as u64, held), whole].into_iter().take(if width == 4 { 2 } else { 1 })
                {
                    let mut digits = length.to_be_bytes()[8 - width..].to_vec();
                    if format == Format::Wav {
                        digits.reverse();
                    }
                    self.changed.push((at, digits));
                }
                lengths = Some([length, held]);
            }
            at = at.saturating_add(length).next_multiple_of(padding);
        }
        self.rewind()?;
        let is_unknown = |length: u64| match format {
            Format::Aiff => length.abs_diff(UNKNOWN_AIFF) <= 256,
            Format::Wav => is_unknown_length(length),
            _ => length == u64::MAX,
        };
        Ok(lengths.filter(|[announced, _]| !is_unknown(*announced)))
    }
}

impl Read for MediaFile {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let left = self.bytes.saturating_sub(self.position);
        let read = (&self.file).take(left).read(bytes)?;
        for (place, changed) in self.changed.iter().flat_map(|(at, changed)| (*at..).zip(changed)) {
            let place = place.checked_sub(self.position).map_or(usize::MAX, |place| place as usize);
            if let Some(byte) = bytes[..read].get_mut(place) {
                *byte = *changed;
            }
        }
        self.position += read as u64;
        Ok(read)
    }
}

impl Seek for MediaFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let to = match to {
            SeekFrom::End(offset) => SeekFrom::Start(self.bytes.saturating_add_signed(offset)),
            to => to,
        };
        self.position = self.file.seek(to)?;
        Ok(self.position)
    }
}

impl MediaSource for MediaFile {
    fn is_seekable(&self) -> bool {
        true
    }

    fn byte_len(&self) -> Option<u64> {
        Some(self.bytes)
    }
}

/// First audio track of a file. Samples are within [-1, 1]; those that a damaged file lacks are NaN.
pub(super) struct CompressedReader {
    path: PathBuf,
    format: Format,
    container: Box<dyn FormatReader>,
    decoder: Box<dyn AudioDecoder>,
    track: u32,
    layout: RecordingLayout,
    /// Decoded samples, interleaved, of which the first `used` have been read.
    decoded: Vec<f64>,
    used: usize,
    /// Samples per channel that are missing before the decoded ones.
    missing: u64,
    /// Samples per channel that were decoded or are missing so far.
    position: u64,
    /// Samples per channel that are missing so far, and packets that could not be decoded.
    lost: u64,
    damaged: u64,
    /// Samples per unit of the times of packets; none where packets have no such times.
    tick: Option<f64>,
    /// Times of the first packet and of the end of the last one, in samples.
    start: Option<i64>,
    next: i64,
    /// Samples per channel that the header of an MP3 or a Matroska file announces.
    announced: Option<u64>,
    /// The last packet of FLAC.
    last: Box<[u8]>,
    is_at_end: bool,
}

impl CompressedReader {
    pub(super) fn open(path: &Path, format: Format) -> Result<Self> {
        let mut file = MediaFile::open(path)?;
        let cut = file.fit_length(format)?;
        let is_cut = !file.changed.is_empty();
        let stream = MediaSourceStream::new(Box::new(file), Default::default());
        let failed = |error| problem(format, error, is_cut);
        let container = symphonia::default::get_probe()
            .probe(&Hint::new(), stream, Default::default(), Default::default())
            .map_err(failed)?;
        let track = container.default_track(TrackType::Audio).ok_or_else(|| format.problem("it has no audio track"))?;
        let parameters = track.codec_params.as_ref().and_then(|parameters| parameters.audio());
        let parameters = parameters.ok_or_else(|| format.problem("its encoding is not stated"))?;
        if parameters.codec == CODEC_ID_OPUS {
            let channels = parameters.channels.as_ref().map_or(1, |channels| channels.count());
            return Err(format.problem(format!(
                "its samples are Opus, which is not read: ffmpeg -i {} -f f32le - | firefly peaks - --format f32 --rate \
                 48000 --channels {channels}",
                path.display()
            )));
        }
        let mut known = parameters.clone();
        // CAF states the bits before the companding.
        if matches!(parameters.codec, CODEC_ID_PCM_ALAW | CODEC_ID_PCM_MULAW) {
            (known.bits_per_sample, known.bits_per_coded_sample) = (None, None);
        }
        let decoder = symphonia::default::get_codecs()
            .make_audio_decoder(&known, &AudioDecoderOptions::default())
            .map_err(failed)?;
        let channels = parameters.channels.as_ref().map_or(0, |channels| channels.count());
        let rate = parameters.sample_rate;
        let base = track.time_base.map(|base| [base.numer, base.denom].map(|number| f64::from(number.get())));
        let tick = base.zip(rate).map(|([numer, denom], rate)| f64::from(rate) * numer / denom);
        let is_sample = |tick: f64| tick == 1.0 && matches!(format, Format::Flac | Format::Ogg);
        let tick = tick.filter(|tick| format == Format::Matroska || is_sample(*tick));
        // The number of MP3 and AAC frames is an estimate.
        let length = track.num_frames.filter(|_| !matches!(format, Format::Mp3 | Format::Aac));
        // Exact in a header of LAME or FFmpeg, which states the delay of the encoder, too.
        let announced = track.num_frames.filter(|_| format == Format::Mp3 && track.delay.is_some());
        // The length of a Matroska file is that of its longest track.
        let is_only = format == Format::Matroska && container.tracks().len() == 1;
        let duration = container.media_info().duration.zip(tick).filter(|_| is_only);
        let announced = announced.or(duration.map(|(duration, tick)| (duration.get() as f64 * tick) as u64));
        // The header of a fragmented MP4 comes before its samples are known, and announces none.
        let length = length.filter(|length| format != Format::Mp4 || *length > 0);
        if format == Format::Caf && length.is_none() {
            return Err(format.problem("it ends before the table of its packets, without which none is read"));
        }
        let is_wide = is_wide(parameters);
        let mut layout =
            RecordingLayout { rate: rate.map(f64::from), length, is_wide, ..RecordingLayout::of(channels) };
        if let Some([announced, held]) = cut {
            layout.lost(format!("truncated: the header announces {announced} bytes of samples, the file holds {held}"));
        }
        // Symphonia (0.6) cuts samples neither by the edit list of MP4 nor by the delay of Matroska and CAF.
        let is_delayed = matches!(parameters.codec, CODEC_ID_AAC | CODEC_ID_MP3);
        if is_delayed && matches!(format, Format::Mp4 | Format::Matroska | Format::Caf) {
            let late = "times are late by some 1000 to 2200 samples";
            layout.remark(format!("the delay and padding of its encoder are read as samples: {late}"));
        }
        let track = track.id;
        let mut reader = Self {
            path: path.to_owned(),
            format,
            container,
            decoder,
            track,
            layout,
            decoded: Vec::new(),
            used: 0,
            missing: 0,
            position: 0,
            lost: 0,
            damaged: 0,
            tick,
            start: (format == Format::Flac).then_some(0),
            next: i64::MIN,
            announced,
            last: Box::default(),
            is_at_end: false,
        };
        // Where the header has no channels, the first samples tell.
        if channels == 0 && !reader.decode()? {
            return Err(RecordingProblem::NoSamples);
        }
        Ok(reader)
    }

    /// Decodes the next packet with samples; `false` at the end.
    fn decode(&mut self) -> Result<bool> {
        self.decoded.clear();
        self.used = 0;
        while !self.is_at_end {
            let mut packet = match self.container.next_packet() {
                Ok(Some(packet)) => packet,
                Ok(None) => {
                    if self.is_cut()? {
                        let part = if self.format == Format::Mp4 { "fragment" } else { "frame" };
                        self.layout.lost(format!("truncated: it ends inside its last {part}, which is not read"));
                    }
                    break;
                }
                Err(Error::IoError(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    // Where Matroska has no lengths, Symphonia reads on behind the last element.
                    if self.layout.length.is_none()
                        && (self.format != Format::Matroska || MediaFile::open(&self.path)?.fit_segment(false)?)
                    {
                        self.layout.lost("it ends before its samples do");
                    }
                    break;
                }
                Err(Error::ResetRequired) => {
                    let text =
                        format!("it is a chain of streams, of which the first, {} samples, is read", self.position);
                    self.layout.lost(text);
                    break;
                }
                Err(error) => return Err(problem(self.format, error, false)),
            };
            if packet.track_id != self.track {
                continue;
            }
            let at = packet.pts.get();
            let is_whole = self.layout.length.is_some_and(|length| self.position >= length);
            let is_of_other = match (self.format, self.announced) {
                // Times of another file begin anew.
                (Format::Flac, _) => (at as u64) < self.position || is_whole && at as u64 > self.position,
                (Format::Mp3, Some(_)) => packet.trim_end.get() > MOST_PADDING,
                _ => false,
            };
            if is_of_other {
                self.layout.lost(format!("another file begins behind {} samples, and is not read", self.position));
                break;
            }
            // Without a header the length of an MP3 is a guess.
            if self.format == Format::Mp3 && self.announced.is_none() {
                packet.trim_end = Default::default();
            }
            let samples = match self.decoder.decode(&packet) {
                Ok(samples) => samples,
                Err(Error::DecodeError(_)) => {
                    self.damaged += 1;
                    continue;
                }
                Err(error) => return Err(problem(self.format, error, false)),
            };
            let (channels, rate) = (samples.spec().channels().count(), f64::from(samples.spec().rate()));
            if self.layout.channels == 0 {
                self.layout.channels = channels;
            }
            if channels != self.layout.channels {
                let reason = format!("it changes from {} channels to {channels}", self.layout.channels);
                return Err(self.format.problem(reason));
            }
            if let Some(before) = self.layout.rate.replace(rate).filter(|before| *before != rate) {
                return Err(self.format.problem(format!("it changes from {before} Hz to {rate}")));
            }
            self.decoded.resize(samples.samples_interleaved(), 0.0);
            samples.copy_to_slice_interleaved(&mut self.decoded);
            if self.decoded.is_empty() {
                continue;
            }
            let count = (self.decoded.len() / channels) as u64;
            self.missing = self.missing_before(at, count);
            self.lost += self.missing;
            self.position += self.missing + count;
            if self.format == Format::Flac {
                self.last = packet.data;
            }
            return Ok(true);
        }
        self.end();
        Ok(false)
    }

    /// Whether a file without a length ends inside its last fragment (MP4) or frame (FLAC).
    fn is_cut(&self) -> io::Result<bool> {
        match (self.format, self.layout.length) {
            (Format::Mp4, None) => MediaFile::open(&self.path)?.fit_fragment(),
            (Format::Flac, None) => {
                let mut file = MediaFile::open(&self.path)?;
                let mut end = vec![0; self.last.len()];
                file.seek(SeekFrom::End(-(end.len() as i64)))?;
                read_full(&mut file, &mut end)?;
                Ok(end.is_empty() || end[..] != self.last[..])
            }
            _ => Ok(false),
        }
    }

    /// Samples per channel that are missing before a packet of this time and so many samples.
    fn missing_before(&mut self, at: i64, count: u64) -> u64 {
        let Some(tick) = self.tick else { return 0 };
        let at = (at as f64 * tick).round() as i64;
        let expected = self.start.get_or_insert(at).saturating_add_unsigned(self.position);
        let jump = at.saturating_sub(std::mem::replace(&mut self.next, at.saturating_add_unsigned(count)));
        let missing = u64::try_from(at.saturating_sub(expected)).unwrap_or(0);
        // Times in other units are rounded, and drift: a gap is where they jump.
        let is_gap = tick == 1.0 || jump.min(missing.cast_signed()) as f64 > 2.0 * tick;
        // A time beyond the end is damaged, too.
        let length = self.layout.length.or(self.announced).unwrap_or(self.position + MOST_GAP as u64);
        if is_gap && self.position + missing <= length { missing } else { 0 }
    }

    fn read_as<T: SampleValue>(&mut self, block: &mut Vec<T>, count: usize) -> Result<usize> {
        let mut read = 0;
        while read < count {
            if self.used == self.decoded.len() && !self.decode()? {
                break;
            }
            let channels = self.layout.channels;
            read += fill_gap(block, &mut self.missing, count - read, channels);
            let taken = ((self.decoded.len() - self.used) / channels).min(count - read);
            let samples = &self.decoded[self.used..self.used + taken * channels];
            block.extend(samples.iter().map(|sample| T::of_f64(*sample)));
            self.used += taken * channels;
            read += taken;
        }
        Ok(read)
    }

    /// Compares what was decoded with what the header announces.
    fn end(&mut self) {
        if std::mem::replace(&mut self.is_at_end, true) {
            return;
        }
        if self.lost > 0 {
            self.layout.lost(format!("damaged: {} samples per channel are missing, and are NaN", self.lost));
        } else if self.damaged > 0 {
            self.layout.lost(format!("damaged: {} packets could not be decoded and are left out", self.damaged));
        }
        // The last packet of ALAC may be shorter than the table of packets of CAF says.
        let slack = if self.format == Format::Caf { MOST_PADDING } else { 0 };
        let end = self.position + self.start.map_or(0, |start| start.max(0) as u64);
        match self.layout.length.or(self.announced.filter(|count| end + MP3_TOLERANCE < *count)) {
            Some(length) if self.position + slack < length => self.layout.lost(format!(
                "truncated or damaged: the header announces {length} samples per channel, {} were decoded",
                self.position
            )),
            Some(length) if self.position > length && length > 0 => {
                let text = format!("its header announces {length} samples per channel, all {} are read", self.position);
                self.layout.remark(text);
            }
            _ => {}
        }
    }
}

impl SampleReader for CompressedReader {
    decoded_reads!();
}

/// Whether f32 does not hold every sample of an encoding.
fn is_wide(parameters: &AudioCodecParameters) -> bool {
    match parameters.codec {
        CODEC_ID_PCM_F64BE | CODEC_ID_PCM_F64LE => true,
        CODEC_ID_PCM_S32BE | CODEC_ID_PCM_S32LE | CODEC_ID_PCM_U32BE | CODEC_ID_PCM_U32LE => true,
        CODEC_ID_FLAC | CODEC_ID_ALAC => parameters.bits_per_sample.is_some_and(|bits| bits > 24),
        _ => false,
    }
}

fn problem(format: Format, error: Error, is_cut: bool) -> RecordingProblem {
    match error {
        Error::IoError(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            format.problem("it ends before its samples do")
        }
        // A place that its header names can't be sought.
        Error::IoError(error) if error.kind() == io::ErrorKind::InvalidInput => {
            format.problem("it refers to a place that no file has")
        }
        Error::IoError(error) => RecordingProblem::Io(error),
        error if is_cut => format.problem(format!("truncated, and nothing is read without its end: {error}")),
        error => format.problem(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_mp4_file_is_cut_inside_a_fragment_or_not() {
        let part =
            |name: &[u8; 4], bytes: u32| [&(8 + bytes).to_be_bytes()[..], name, &vec![0; bytes as usize]].concat();
        let start = [part(b"ftyp", 8), part(b"moov", 100)].concat();
        let fragment = [part(b"moof", 30), part(b"mdat", 50)].concat();
        let whole = [&start[..], &fragment, &fragment].concat();
        let file = tempfile::NamedTempFile::new().unwrap();
        let is_cut = |bytes: &[u8]| {
            std::fs::write(file.path(), bytes).unwrap();
            MediaFile::open(file.path()).unwrap().fit_fragment().unwrap()
        };
        assert!(!is_cut(&whole) && !is_cut(&whole[..start.len() + fragment.len()]) && !is_cut(&start));
        assert!(!is_cut(&[&whole[..], &part(b"mfra", 20)[..9]].concat()));
        // Inside the samples, behind and inside the header of the last fragment.
        for left_out in [1, 57, 58, 60, 80] {
            assert!(is_cut(&whole[..whole.len() - left_out]), "{left_out} bytes");
        }
    }

    #[test]
    fn an_ogg_file_ends_with_its_last_whole_page() {
        // Pages of 510 bytes of samples: a header, the number of segments, and their lengths.
        let page = [b"OggS\0".to_vec(), vec![0; 21], vec![3, 255, 255, 0], vec![7; 510]].concat();
        let whole = [&page[..], &page].concat();
        let file = tempfile::NamedTempFile::new().unwrap();
        for (left_out, bytes) in
            [(0, whole.len()), (1, page.len()), (510, page.len()), (513, page.len()), (535, page.len())]
        {
            std::fs::write(file.path(), &whole[..whole.len() - left_out]).unwrap();
            let mut media = MediaFile::open(file.path()).unwrap();
            media.fit_pages().unwrap();
            assert_eq!(media.bytes, bytes as u64, "{left_out} bytes");
        }
    }
}
