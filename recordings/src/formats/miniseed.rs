//! miniSEED, version 2, of seismic stations (FDSN, "SEED Reference Manual" 2.4).

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use super::gaps::{MOST_GAP, too_long};
use super::parts::{Calibration, Part, PartsReader};
use super::raw::{NumberFormat, little_endian, read_full};
use super::{Format, ReadOptions, RecordingLayout, open_file};
use crate::error::{RecordingProblem, Result};

/// Bytes of a record in which its header and blockettes are looked for.
const HEAD_BYTES: usize = 512;
/// Bytes of the fixed header of a record.
const FIXED_BYTES: usize = 48;
/// Longest record, in bytes.
const MOST_BYTES: usize = 1 << 24;
/// Encoding of text, also given to records that are damaged.
const TEXT: u8 = 0;

/// Channel with its records in the order of time.
struct SeedChannel {
    name: String,
    rate: f64,
    records: Vec<SeedRecord>,
}

/// Place of a record in the file.
#[derive(Debug, Clone, Copy)]
struct SeedRecord {
    at: u64,
    bytes: usize,
    /// Position of its data, their encoding and byte order, and the number of samples.
    data: usize,
    encoding: u8,
    big_endian: bool,
    count: usize,
    /// Time of the first sample in nanoseconds since 1970, and samples that are missing before it; there already if
    /// negative.
    start: i64,
    gap: i64,
}

/// Opens a file, and of its channels those of the highest rate, or those that the caller names. They begin with the
/// earliest of them, and samples in gaps are NaN, as are those of damaged records if the caller wants them repaired.
pub(super) fn open(path: &Path, options: &ReadOptions) -> Result<PartsReader> {
    let problem = |reason: String| Format::MiniSeed.problem(reason);
    let mut layout = RecordingLayout::default();
    let mut channels = scan(open_file(path)?, &mut layout)?;
    let by_name = channels.iter().any(|channel| options.channels.contains(&channel.name));
    channels.retain(|channel| !by_name || options.channels.contains(&channel.name));
    let highest = channels.iter().map(|channel| channel.rate).fold(0.0, f64::max);
    let (kept, slower): (Vec<_>, Vec<_>) = channels.into_iter().partition(|channel| channel.rate == highest);
    let slower: Vec<String> = slower.iter().map(|channel| format!("{} ({} Hz)", channel.name, channel.rate)).collect();
    match (slower.is_empty(), by_name) {
        (true, _) => {}
        (_, true) => return Err(problem(format!("the channels have different rates: {}", slower.join(", ")))),
        _ => layout
            .remark(format!("channels of lower rates are left out: {}; --channel NAME reads them", slower.join(", "))),
    }
    let mut channels = kept;
    let file = Arc::new(File::open(path)?);
    let mut damaged = 0;
    for record in channels.iter_mut().flat_map(|channel| &mut channel.records) {
        if options.repair && record.samples(&file)?.is_none() {
            record.encoding = TEXT;
            damaged += 1;
        }
    }
    if damaged > 0 {
        layout.lost(format!("damaged: {damaged} records can't be decoded, and their samples are NaN"));
    }
    let first = channels.iter().filter_map(|channel| channel.records.iter().map(|record| record.start).min()).min();
    let (mut length, mut gaps, mut overlaps) = (0, 0, 0);
    for channel in &mut channels {
        channel.records.sort_by_key(|record| record.start);
        let (mut end, mut samples) = (first.unwrap_or(0) as f64, 0i64);
        for record in &mut channel.records {
            let gap = ((record.start as f64 - end) * 1e-9 * channel.rate).round();
            if gap > MOST_GAP {
                return Err(too_long(gap as u64, &format!("in channel {}, before byte {}", channel.name, record.at)));
            }
            record.gap = (gap as i64).max(-(record.count as i64));
            (gaps, overlaps) = (gaps + u64::from(gap > 0.0), overlaps + u64::from(gap < 0.0));
            samples += record.count as i64 + record.gap;
            end = end.max(record.start as f64 + record.count as f64 * 1e9 / channel.rate);
        }
        length = length.max(samples.max(0) as u64);
    }
    if gaps > 0 {
        layout.remark(format!("it has {gaps} gaps, whose samples are NaN"));
    }
    if overlaps > 0 {
        layout.remark(format!("samples of {overlaps} records whose times are there before are left out"));
    }
    layout.rate = (highest > 0.0).then_some(highest);
    layout.titles = channels.iter().map(|channel| channel.name.clone()).collect();
    let part = |channel: SeedChannel| {
        let records = channel.records.into_iter();
        let stream = Box::new(SeedStream { file: file.clone(), records, held: Box::new(io::empty()) });
        Part { stream, numbers: NumberFormat::float(8), channels: vec![Calibration::NONE] }
    };
    PartsReader::new(Format::MiniSeed, channels.into_iter().map(part).collect(), length, layout)
}

/// Samples of a channel as doubles. Bytes of ones are not a number, as those of gaps and those behind the last record.
struct SeedStream {
    file: Arc<File>,
    records: std::vec::IntoIter<SeedRecord>,
    /// Missing samples before the current record, and its samples.
    held: Box<dyn Read + Send>,
}

impl Read for SeedStream {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.held.read(bytes)?;
            if read > 0 || bytes.is_empty() {
                return Ok(read);
            }
            let Some(record) = self.records.next() else { return io::repeat(0xff).read(bytes) };
            let Some(samples) = record.samples(&self.file)? else {
                let reason = "its samples are damaged; --repair makes them NaN";
                return Err(io::Error::other(record.problem(reason.into())));
            };
            let there_already = usize::try_from(-record.gap).unwrap_or(0).min(samples.len());
            let samples = samples[there_already..].iter().flat_map(|sample| sample.to_le_bytes());
            let missing = io::repeat(0xff).take(8 * u64::try_from(record.gap).unwrap_or(0));
            self.held = Box::new(missing.chain(Cursor::new(samples.collect::<Vec<u8>>())));
        }
    }
}

impl SeedRecord {
    /// Its samples; none if they are damaged.
    fn samples(&self, mut file: &File) -> io::Result<Option<Vec<f64>>> {
        let mut packed = vec![0; self.bytes];
        file.seek(SeekFrom::Start(self.at))?;
        file.read_exact(&mut packed)?;
        let data = &packed[self.data..];
        let numbers = match self.encoding {
            1 => NumberFormat::signed(2),
            2 => NumberFormat::signed(3),
            3 => NumberFormat::signed(4),
            4 => NumberFormat::float(4),
            5 => NumberFormat::float(8),
            TEXT => return Ok(Some(vec![f64::NAN; self.count])),
            10 | 11 => return Ok(steim(data, self.count, self.encoding == 11, self.big_endian)),
            other => {
                let reason = format!("its samples have encoding {other} (accepted: 1 to 5, 10 and 11)");
                return Err(io::Error::other(self.problem(reason)));
            }
        };
        let numbers = numbers.in_order(self.big_endian);
        let mut samples = Vec::with_capacity(self.count);
        Ok(data.get(..self.count * numbers.bytes()).map(|data| {
            numbers.decode(data, &mut samples);
            samples
        }))
    }

    /// Whether it can be one of a channel of this rate.
    fn is_valid(&self, rate: f64) -> bool {
        let has_samples = self.count > 0 && self.encoding != TEXT;
        let is_valid = rate > 0.0 && rate.is_finite() && self.data <= self.bytes;
        (FIXED_BYTES..=MOST_BYTES).contains(&self.bytes) && (is_valid || !has_samples)
    }

    fn problem(&self, reason: String) -> RecordingProblem {
        Format::MiniSeed.problem(format!("the record at byte {}: {reason}", self.at))
    }
}

/// Samples of data compressed by Steim's first or second scheme: differences in words of frames of 64 bytes, of which the
/// first has the first sample and the last one. None if they are not `count` that lead from the one to the other.
fn steim(data: &[u8], count: usize, is_second: bool, big_endian: bool) -> Option<Vec<f64>> {
    let mut samples: Vec<i32> = Vec::with_capacity(count);
    let (mut first, mut last) = (0, 0);
    for (frame, words) in data.as_chunks::<64>().0.iter().enumerate() {
        let word = |place: usize| u32::from_le_bytes(little_endian(words.as_chunks().0[place], big_endian));
        for place in 1..16 {
            let value = word(place);
            match (frame, place) {
                (0, 1) => first = value.cast_signed(),
                (0, 2) => last = value.cast_signed(),
                _ => {
                    // The first word has two bits per word: how it is divided. In the second scheme two bits of the word
                    // itself say more.
                    let code = word(0) >> (30 - 2 * place) & 3;
                    let (bits, differences) = match (code, is_second, value >> 30) {
                        (0, ..) => (0, 0),
                        (1, ..) => (8, 4),
                        (2, false, _) => (16, 2),
                        (3, false, _) => (32, 1),
                        (2, true, 1) => (30, 1),
                        (2, true, 2) => (15, 2),
                        (2, true, 3) => (10, 3),
                        (3, true, 0) => (6, 5),
                        (3, true, 1) => (5, 6),
                        (3, true, 2) => (4, 7),
                        _ => return None,
                    };
                    // Bytes and halves of a word follow each other in memory, whatever its byte order.
                    let value = match (big_endian, bits) {
                        (false, 8) => value.swap_bytes(),
                        (false, 16) => value.rotate_left(16),
                        _ => value,
                    };
                    for index in (0..differences).rev() {
                        let difference = (value >> (bits * index) << (32 - bits)).cast_signed() >> (32 - bits);
                        let next = samples.last().map_or(first, |sample| sample.wrapping_add(difference));
                        if samples.len() < count {
                            samples.push(next);
                        }
                    }
                }
            }
        }
    }
    (samples.len() == count && samples.last() == Some(&last)).then(|| samples.into_iter().map(f64::from).collect())
}

/// Channels of a file, in the order in which they begin.
fn scan(file: File, layout: &mut RecordingLayout) -> Result<Vec<SeedChannel>> {
    let problem = |reason: String| Format::MiniSeed.problem(reason);
    let file_bytes = file.metadata()?.len();
    let mut input = BufReader::with_capacity(1 << 16, file);
    let (mut channels, mut at) = (Vec::<SeedChannel>::new(), 0);
    // Bytes of control headers and noise, those of nothing known, and the first of them.
    let (mut control, mut unknown, mut first) = (0, 0, None);
    let (mut is_control, mut is_guessed) = (false, false);
    while at < file_bytes {
        let head = Head::at(&mut input, at)?;
        let mut found = head.record(at);
        if let Some((_, _, record)) = found.as_mut().filter(|(_, _, record)| record.bytes == 0) {
            let mut is_end = |next: u64| {
                let is_head = |head: Head| head.is_control() || head.record(next).is_some();
                next == file_bytes || next < file_bytes && Head::at(&mut input, next).is_ok_and(is_head)
            };
            // Lengths are powers of two.
            record.bytes = (7..17).map(|power| 1 << power).find(|bytes| is_end(at + *bytes as u64)).unwrap_or(0);
            is_guessed |= record.count > 0;
        }
        let Some((name, rate, record)) = found.filter(|(_, rate, record)| record.is_valid(*rate)) else {
            if at == 0 && head.bytes.starts_with(b"MS\x03") {
                return Err(problem("it is of version 3, and version 2 is read".into()));
            }
            is_control |= head.is_control();
            first = first.or((!is_control).then_some(at));
            let next = (1..head.bytes.len()).find(|from| is_start(&head.bytes[*from..], b"DRQMVAST"));
            let skipped = next.unwrap_or(head.bytes.len().saturating_sub(6).max(1)) as u64;
            *(if is_control { &mut control } else { &mut unknown }) += skipped;
            at += skipped;
            continue;
        };
        is_control = false;
        if at + record.bytes as u64 > file_bytes {
            layout.lost("truncated: it ends inside its last record");
            break;
        }
        at += record.bytes as u64;
        // Records without samples hold text.
        if record.count == 0 || record.encoding == TEXT {
            continue;
        }
        match channels.iter_mut().find(|channel| channel.name == name) {
            Some(channel) if channel.rate != rate => {
                return Err(problem(format!("the rate of channel {name} changes from {} to {rate} Hz", channel.rate)));
            }
            Some(channel) => channel.records.push(record),
            None => channels.push(SeedChannel { name, rate, records: vec![record] }),
        }
    }
    if let Some(first) = first {
        let reason = format!("at byte {first} there is no record of version 2");
        if channels.is_empty() {
            return Err(problem(reason));
        }
        layout.lost(format!("damaged: {reason}, and {unknown} bytes are left out"));
    }
    if control > 0 {
        layout.remark(format!("{control} bytes of control headers of SEED and of noise records are left out"));
    }
    if is_guessed {
        layout.remark("records without blockette 1000 are taken for Steim's first scheme, up to the next record");
    }
    Ok(channels)
}

/// Whether bytes begin with a number, which may be blank, and one of these kinds of records.
fn is_start(bytes: &[u8], kinds: &[u8]) -> bool {
    let is_number = |number: &[u8]| number.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b' ' | 0));
    bytes
        .split_at_checked(6)
        .is_some_and(|(number, rest)| is_number(number) && rest.first().is_some_and(|kind| kinds.contains(kind)))
}

/// First bytes of a record.
struct Head {
    bytes: Vec<u8>,
}

impl Head {
    fn at(input: &mut BufReader<File>, at: u64) -> io::Result<Self> {
        let position = input.stream_position()?;
        input.seek_relative(at as i64 - position as i64)?;
        let mut bytes = vec![0; HEAD_BYTES];
        let read = read_full(input, &mut bytes)?;
        bytes.truncate(read);
        Ok(Self { bytes })
    }

    fn array<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.bytes.get(at..at + N)?.try_into().ok()
    }

    fn text(&self, at: usize, count: usize) -> Option<String> {
        Some(String::from_utf8_lossy(self.bytes.get(at..at + count)?).trim().to_owned())
    }

    /// Whether the bytes are those of a control header of SEED, or of a record of noise, which is blank.
    fn is_control(&self) -> bool {
        let is_blank = |from: usize, to: usize| {
            self.bytes.get(from..to).is_some_and(|bytes| bytes.iter().all(|byte| *byte == b' '))
        };
        is_start(&self.bytes, b"VAST") && (is_blank(7, 8) || self.bytes.get(7) == Some(&b'*'))
            || is_start(&self.bytes, b" ") && is_blank(6, FIXED_BYTES)
    }

    /// Channel, rate and record, of 0 bytes if it does not state its length; none if the bytes are not those of one.
    fn record(&self, at: u64) -> Option<(String, f64, SeedRecord)> {
        if self.bytes.len() < FIXED_BYTES || !is_start(&self.bytes, b"DRQM") {
            return None;
        }
        // The byte order is that in which the year is one.
        let big_endian = (1900..2200).contains(&u16::from_be_bytes(self.array(20)?));
        let u16_at = |at: usize| Some(u16::from_le_bytes(little_endian(self.array(at)?, big_endian)));
        let u32_at = |at: usize| Some(u32::from_le_bytes(little_endian(self.array(at)?, big_endian)));
        let i16_at = |at: usize| Some(f64::from(u16_at(at)?.cast_signed()));
        let (factor, multiplier) = (i16_at(32)?, i16_at(34)?);
        let part = |number: f64| if number < 0.0 { -1.0 / number } else { number };
        let mut rate = part(factor) * part(multiplier);
        let mut nanoseconds = i64::from(u16_at(28)?) * 100_000;
        // A correction of the time that is not yet applied.
        if self.bytes[36] & 2 == 0 {
            nanoseconds += i64::from(u32_at(40)?.cast_signed()) * 100_000;
        }
        let (mut blockette, mut format) = (usize::from(u16_at(46)?), None);
        while blockette >= FIXED_BYTES {
            let next = usize::from(u16_at(blockette + 2)?);
            match u16_at(blockette)? {
                100 => rate = f32::from_bits(u32_at(blockette + 4)?).into(),
                1000 => format = Some(self.array::<3>(blockette + 4)?),
                1001 => nanoseconds += i64::from(self.bytes.get(blockette + 5)?.cast_signed()) * 1000,
                _ => {}
            }
            // Each stands behind the one before.
            blockette = if next > blockette { next } else { 0 };
        }
        let (encoding, is_big, bytes) = match format {
            Some([encoding, order, power]) => (encoding, order == 1, 1usize.checked_shl(power.into())?),
            None => (10, big_endian, 0),
        };
        let parts: Vec<String> =
            [(18, 2), (8, 5), (13, 2), (15, 3)].iter().filter_map(|(at, count)| self.text(*at, *count)).collect();
        let record = SeedRecord {
            at,
            bytes,
            data: u16_at(44)?.into(),
            encoding,
            big_endian: is_big,
            count: u16_at(30)?.into(),
            start: self.time(u16_at(20)?, u16_at(22)?, 24)? + nanoseconds,
            gap: 0,
        };
        Some((parts.join("."), rate, record))
    }

    /// Nanoseconds since 1970 of a year, a day of it from 1, and hour, minute and second in three bytes.
    fn time(&self, year: u16, day: u16, at: usize) -> Option<i64> {
        let [hour, minute, second] = self.array::<3>(at)?.map(i64::from);
        let years = i64::from(year) - 1;
        let days = 365 * years + years / 4 - years / 100 + years / 400 + i64::from(day) - 1 - 719_162;
        let is_time =
            (1900..2200).contains(&year) && (1..=366).contains(&day) && hour < 24 && minute < 60 && second <= 60;
        is_time.then_some((((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000_000_000)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::SampleReader;
    use super::super::tests::{assert_holds, problem, values};
    use super::*;

    /// A record of version 2 with samples in an encoding, `seconds` into a day.
    fn record(channel: &str, seconds: u16, count: usize, encoding: u8, data: &[u8]) -> Vec<u8> {
        let mut bytes = b"000001D STAT ".to_vec();
        bytes.extend(format!("00{channel}XX").bytes());
        bytes.extend([2020u16, 60].map(u16::to_be_bytes).concat());
        bytes.extend([12, (seconds / 60) as u8, (seconds % 60) as u8, 0]);
        bytes.extend([0u16, count as u16, 10, 1].map(u16::to_be_bytes).concat());
        bytes.extend([0, 0, 0, 1, 0, 0, 0, 0]);
        bytes.extend([64u16, 48, 1000, 0].map(u16::to_be_bytes).concat());
        bytes.extend([encoding, 1, 9, 0]);
        bytes.resize(64, 0);
        bytes.extend(data);
        bytes.resize(512, 0);
        bytes
    }

    /// Samples by Steim's second scheme: one difference of 30 bits per word.
    fn compressed(samples: &[i32]) -> Vec<u8> {
        let mut words = vec![0, samples[0].cast_unsigned(), samples[samples.len() - 1].cast_unsigned()];
        let mut before = 0;
        for sample in samples {
            if words.len().is_multiple_of(16) {
                words.push(0);
            }
            let (frame, place) = (words.len() / 16 * 16, words.len() % 16);
            words[frame] |= 2 << (30 - 2 * place);
            words.push(1 << 30 | ((sample - before).cast_unsigned() & 0x3fff_ffff));
            before = *sample;
        }
        words.iter().flat_map(|word: &u32| word.to_be_bytes()).collect()
    }

    #[test]
    fn samples_of_every_encoding_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.mseed");
        let all: Vec<f32> = values(40).iter().map(|value| value * 128.0).collect();
        let bytes = |number: fn(f32) -> Vec<u8>| all.iter().copied().flat_map(number).collect::<Vec<u8>>();
        let integers: Vec<i32> = all.iter().map(|value| *value as i32).collect();
        for (encoding, data) in [
            (1, bytes(|value| (value as i16).to_be_bytes().to_vec())),
            (3, bytes(|value| (value as i32).to_be_bytes().to_vec())),
            (4, bytes(|value| value.to_be_bytes().to_vec())),
            (5, bytes(|value| f64::from(value).to_be_bytes().to_vec())),
            (11, compressed(&integers)),
        ] {
            fs::write(&path, record("BHZ", 0, 40, encoding, &data)).unwrap();
            assert_holds(&path, 1, Some(10.0), &all);
        }
        fs::write(&path, record("BHZ", 0, 40, 19, &[])).unwrap();
        assert!(problem(&path).contains("encoding 19"), "{}", problem(&path));
    }

    #[test]
    fn differences_of_every_width_are_sums() {
        // Steim's first scheme: four differences of 8 bits, two of 16, one of 32; the first is not one.
        let words = [0b01_10_11u32 << 20, 5, 5 - 1 + 2 - 3 + 300 - 300 + 70_000, u32::from_be_bytes([9, 255, 2, 253])];
        let more = [300 << 16 | (-300i16).cast_unsigned() as u32, 70_000];
        let mut data: Vec<u8> = words.iter().chain(&more).flat_map(|word| word.to_be_bytes()).collect();
        data.resize(64, 0);
        let expected = [5.0, 4.0, 6.0, 3.0, 303.0, 3.0, 70_003.0];
        assert_eq!(steim(&data, 7, false, true).unwrap(), expected);
        // Words of the other byte order, in which bytes and halves keep their places.
        let mut swapped = data.clone();
        for word in [0, 1, 2, 5] {
            swapped[4 * word..4 * word + 4].reverse();
        }
        swapped[16..18].reverse();
        swapped[18..20].reverse();
        assert_eq!(steim(&swapped, 7, false, false).unwrap(), expected);
        assert!(steim(&data, 6, false, true).is_none(), "the last sample differs");
        assert!(steim(&data, 8, false, true).is_none(), "a sample is missing");
        // The second: seven differences of 4 bits, six of 5, five of 6, three of 10, two of 15.
        let differences: Vec<(u32, u32, u32, Vec<i32>)> = vec![
            (3, 2, 4, vec![0, 1, -1, 7, -8, 2, -2]),
            (3, 1, 5, vec![15, -16, 0, 1, -1, 3]),
            (3, 0, 6, vec![31, -32, 0, 1, -1]),
            (2, 3, 10, vec![511, -512, 4]),
            (2, 2, 15, vec![16_383, -16_384]),
        ];
        let (mut words, mut samples) = (vec![0u32, 100, 0], vec![100]);
        for (code, more, bits, values) in &differences {
            words[0] |= code << (30 - 2 * words.len() as u32);
            let packed =
                values.iter().fold(0, |word, value| word << bits | (value.cast_unsigned() & ((1u32 << bits) - 1)));
            words.push(more << 30 | packed);
            samples.extend(values);
        }
        samples.remove(1);
        for at in 1..samples.len() {
            samples[at] += samples[at - 1];
        }
        words[2] = samples[samples.len() - 1] as u32;
        let mut data: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        data.resize(64, 0);
        let expected: Vec<f64> = samples.iter().copied().map(f64::from).collect();
        assert_eq!(steim(&data, samples.len(), true, false).unwrap(), expected);
    }

    #[test]
    fn gaps_are_not_numbers_and_channels_begin_together() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.mseed");
        let record = |channel: &str, seconds, from: i16, count: i16| {
            let data: Vec<u8> = (from..from + count).flat_map(i16::to_be_bytes).collect();
            record(channel, seconds, count as usize, 1, &data)
        };
        // The second channel begins a second later; the first has a gap of a second, and a record that is there twice.
        let file = [
            record("BHZ", 0, 0, 20),
            record("BHN", 1, 100, 30),
            record("BHZ", 3, 30, 10),
            record("BHZ", 3, 30, 10),
            record("LHZ", 0, 0, 0),
        ];
        fs::write(&path, file.concat()).unwrap();
        let mut reader = open(&path, &ReadOptions::default()).unwrap();
        assert_eq!(reader.layout().titles, ["XX.STAT.00.BHZ", "XX.STAT.00.BHN"]);
        let notes: String = reader.layout().notes.iter().map(ToString::to_string).collect();
        assert!(notes.contains("2 gaps") && notes.contains("1 records whose times"), "{notes}");
        let mut block: Vec<f32> = Vec::new();
        while reader.read(&mut block, 7).unwrap() > 0 {}
        assert_eq!(block.len(), 2 * 40);
        for (index, row) in block.chunks(2).enumerate() {
            let first = if (20..30).contains(&index) { f32::NAN } else { index as f32 };
            let second = if index < 10 { f32::NAN } else { 90.0 + index as f32 };
            let is_same = |found: f32, right: f32| found == right || found.is_nan() && right.is_nan();
            assert!(is_same(row[0], first) && is_same(row[1], second), "{index}: {row:?}");
        }
        let one = ReadOptions { channels: vec!["XX.STAT.00.BHN".into()], ..ReadOptions::default() };
        assert_eq!(open(&path, &one).unwrap().layout().length, Some(30));
        fs::write(&path, &file.concat()[..900]).unwrap();
        let notes = open(&path, &ReadOptions::default()).unwrap().layout().notes.clone();
        assert!(notes[0].to_string().contains("truncated"), "{notes:?}");
        fs::write(&path, [b"MS\x03", &[0; 100][..]].concat()).unwrap();
        assert!(problem(&path).contains("it is of version 3"));
        fs::write(&path, "no seed").unwrap();
        assert!(problem(&path).contains("at byte 0 there is no record"));
    }

    #[test]
    fn a_clock_that_was_not_set_is_refused_with_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.mseed");
        let data: Vec<u8> = (0..20).flat_map(i16::to_be_bytes).collect();
        let mut early = record("BHZ", 0, 20, 1, &data);
        early[20..22].copy_from_slice(&1980u16.to_be_bytes());
        fs::write(&path, [record("BHZ", 0, 20, 1, &data), early].concat()).unwrap();
        let message = problem(&path);
        assert!(message.contains("samples are missing in channel") && message.contains("before byte 0,"), "{message}");
    }

    #[test]
    fn control_headers_and_noise_are_skipped_and_records_without_a_length_end_at_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.mseed");
        let all: Vec<f32> = values(40).iter().map(|value| value * 128.0).collect();
        let integers: Vec<i32> = all.iter().map(|value| *value as i32).collect();
        let half = |seconds, from: usize| record("BHZ", seconds, 20, 11, &compressed(&integers[from..from + 20]));
        let control = |kind: &str, length: usize| {
            let mut bytes = format!("000001{kind} 0100095 2.408").into_bytes();
            bytes.resize(length, b' ');
            bytes
        };
        let noise = control(" ", 512).iter().map(|_| b' ').collect::<Vec<u8>>();
        let file = [control("V", 4096), control("A", 256), half(0, 0), noise, half(2, 20), control("T", 64)].concat();
        fs::write(&path, &file).unwrap();
        assert_holds(&path, 1, Some(10.0), &all);
        let notes = |options: &ReadOptions| open(&path, options).unwrap().layout().notes.clone();
        let found = notes(&ReadOptions::default());
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].to_string().contains("4928 bytes of control headers of SEED and of noise"), "{found:?}");
        // Bytes that nothing is known of are lost.
        fs::write(&path, [&file[..4352], &[1; 128], &file[4352..]].concat()).unwrap();
        assert_holds(&path, 1, Some(10.0), &all);
        fs::write(&path, [&half(0, 0)[..], &[1; 100], &half(2, 20)].concat()).unwrap();
        let found = notes(&ReadOptions::default());
        let text = "damaged: at byte 512 there is no record of version 2, and 100 bytes are left out";
        assert!(found == [crate::Note::Loss(text.into())], "{found:?}");
        // Without a blockette 1000, in Steim's first scheme.
        let words: Vec<u8> =
            [1 << 24, 5u32, 8, 1 << 16 | 1 << 8 | 1].iter().flat_map(|word| word.to_be_bytes()).collect();
        let mut short = record("BHZ", 0, 4, 10, &words);
        (short[39], short[46], short[47]) = (0, 0, 0);
        let next = record("BHZ", 1, 4, 10, &words);
        for length in [128, 256, 512] {
            fs::write(&path, [&short[..length], &next[..40], &next[40..], &short[..length]].concat()).unwrap();
            let found = notes(&ReadOptions::default());
            assert!(found[0].to_string().contains("without blockette 1000 are taken for Steim's first"), "{found:?}");
            let mut block: Vec<f32> = Vec::new();
            assert_eq!(open(&path, &ReadOptions::default()).unwrap().read(&mut block, 4).unwrap(), 4);
            assert_eq!(block, [5.0, 6.0, 7.0, 8.0], "{length}");
        }
    }

    #[test]
    fn damaged_records_that_are_repaired_are_nan() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.mseed");
        let good = |seconds| record("BHZ", seconds, 10, 11, &compressed(&[3, 1, 4, 1, 5, 9, 2, 6, 5, 3]));
        let mut bad = good(1);
        bad[90] ^= 4;
        fs::write(&path, [good(0), bad, good(2)].concat()).unwrap();
        assert!(problem(&path).contains("at byte 512: its samples are damaged; --repair makes them NaN"));
        let mut reader = open(&path, &ReadOptions { repair: true, ..ReadOptions::default() }).unwrap();
        let text = "damaged: 1 records can't be decoded, and their samples are NaN";
        assert_eq!(reader.layout().notes, [crate::Note::Loss(text.into())]);
        let mut block: Vec<f32> = Vec::new();
        while reader.read(&mut block, 7).unwrap() > 0 {}
        assert!(block.len() == 30 && block[10..20].iter().all(|sample| sample.is_nan()), "{block:?}");
        assert_eq!((&block[..3], &block[20..23]), (&[3.0, 1.0, 4.0][..], &[3.0, 1.0, 4.0][..]));
    }

    #[test]
    fn damaged_files_are_read_or_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.mseed");
        let valid = record("BHZ", 0, 9, 11, &compressed(&[1, 5, -9, 70, 3, 3, 2, 1, 0]));
        for at in 0..140 {
            for byte in [0, 0xff, valid[at] ^ 2] {
                let mut damaged = valid.clone();
                damaged[at] = byte;
                fs::write(&path, damaged).unwrap();
                // Samples or an error, never a panic.
                let _ = crate::read_recording(&path);
            }
        }
    }
}
