//! Files read into one recording per channel.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::{RecordingError, RecordingProblem, Result};
use crate::formats::{self, Note, ReadOptions, SampleReader};
use crate::memory::SampleMemory;
use crate::samples::{GrowingSamples, SampleFile, Samples};

/// One channel of one file. Cloning shares the samples.
#[derive(Debug, Clone)]
pub struct Recording {
    /// The file it came from.
    pub path: Arc<Path>,
    /// Channel within the file, counted from 0.
    pub channel: usize,
    /// Samples per second; none where the file does not say.
    pub sample_rate: Option<f64>,
    /// The samples. Those of audio files are within [-1, 1): integers divided by full scale; floats are unchanged.
    pub samples: Samples,
}

/// Samples of all channels that are read at a time, if that is at least one per channel.
const BLOCK: usize = 1 << 16;

/// Reads a recording in the format that its extension names. Returns one recording per channel in the order of the
/// channels, all of one length. Samples that would take more than half of the available memory are kept in a temporary
/// file.
///
/// # Errors
/// [`RecordingError::Recording`] with the file and a [`RecordingProblem`].
pub fn read_recording(path: &Path) -> Result<Vec<Recording>, RecordingError> {
    read_recording_within(path, &mut SampleMemory::default())
}

/// Reads a table, a recording per column, into memory, of which it may take a fourth: tasks make copies of it.
///
/// # Errors
/// As [`read_recording`], and [`RecordingProblem::Memory`] if it does not fit.
pub fn read_table(path: &Path) -> Result<Vec<Recording>, RecordingError> {
    recordings(path, read_into_memory(path, &rows_only(), &mut SampleMemory::of_table()))
}

/// Reads the rows of a table, one after the other: the number of its columns, and its values, row-major, each as two
/// numbers that it is the sum of: it in f32, and the rest, so that small changes of great values are kept. Values that
/// would take more than a fourth of the available memory are kept in a temporary file. A warning says so where the rows
/// do not follow each other by their times.
///
/// # Errors
/// As [`read_recording`].
pub fn read_rows(path: &Path) -> Result<(usize, Samples), RecordingError> {
    let (columns, values) = rows_within(path, SampleMemory::of_table())?;
    if let Some(reason) = uneven_times(path, columns) {
        tracing::warn!("{}: its rows are taken for evenly spaced, in their order: {reason}", path.display());
    }
    Ok((columns, values))
}

/// Reason why the rows of a table do not follow each other by its column of times, if it has one, with the first place.
fn uneven_times(path: &Path, columns: usize) -> Option<String> {
    let open = |units| formats::open_with(path, &ReadOptions { units, ..ReadOptions::default() });
    let find = || -> Result<Option<String>> {
        let mut reader = match open(Some(1.0)) {
            // Its times are no numbers.
            Err(RecordingProblem::Option { .. }) => open(None)?,
            opened => opened?,
        };
        // A first column without a title that rises is taken for times here alone.
        let is_timed = reader.layout().rate.is_some() && reader.layout().channels == columns;
        let (mut block, mut rows) = (Vec::new(), 1);
        while is_timed && reader.read(&mut block, (BLOCK / columns).max(1))? > 0 {
            if let Some(at) = block.iter().position(|value| value.is_nan()) {
                return Ok(Some(format!("by their times some are missing before row {}", rows + at / columns)));
            }
            rows += block.len() / columns;
            block.clear();
        }
        Ok(None)
    };
    // Without the options of other programs.
    find().unwrap_or_else(|problem| problem.to_string().split("; --").next().map(str::to_owned))
}

fn rows_within(path: &Path, memory: SampleMemory) -> Result<(usize, Samples), RecordingError> {
    let read = || {
        let mut reader = formats::open_with(path, &rows_only())?;
        let channels = reader.layout().channels;
        let mut values = GrowingSamples::new(memory);
        let (mut block, mut finite) = (Vec::new(), 0);
        while reader.read_wide(&mut block, (BLOCK / channels).max(1))? > 0 {
            if let Some(at) = block.iter().position(|value| !(*value as f32).is_finite()) {
                let place = finite + at;
                let (channel, index) = (place % channels, place / channels);
                return Err(RecordingProblem::NonFinite { channel, index, value: block[at] as f32 });
            }
            finite += block.len();
            let parts = |value: f64| [value as f32, (value - f64::from(value as f32)) as f32];
            let parts: Vec<f32> = block.drain(..).flat_map(parts).collect();
            values.push(&parts).map_err(RecordingProblem::TemporaryFile)?;
        }
        check_notes(path, &reader.layout().notes)?;
        let values = values.finish().map_err(RecordingProblem::TemporaryFile)?;
        if values.is_empty() { Err(RecordingProblem::NoSamples) } else { Ok((channels, values)) }
    };
    read().map_err(|problem| RecordingError::Recording { path: path.to_owned(), problem })
}

/// Options for a table whose rows are taken one after the other, whatever their times.
fn rows_only() -> ReadOptions {
    ReadOptions { ignores_times: true, ..ReadOptions::default() }
}

/// Titles of the channels of a recording, from its header; empty if it has none.
///
/// # Errors
/// [`RecordingError::Recording`] with the file and a [`RecordingProblem`].
pub fn channel_titles(path: &Path) -> Result<Vec<String>, RecordingError> {
    let failed = |problem| RecordingError::Recording { path: path.to_owned(), problem };
    Ok(formats::open_with(path, &rows_only()).map_err(failed)?.layout().titles.clone())
}

/// Reads a recording as [`read_recording`] does, after those that `memory` has counted.
pub fn read_recording_within(path: &Path, memory: &mut SampleMemory) -> Result<Vec<Recording>, RecordingError> {
    let before = *memory;
    let read = read_into_memory(path, &ReadOptions::default(), memory).or_else(|problem| match problem {
        RecordingProblem::Memory { .. } => {
            *memory = before;
            read_into_file(path)
        }
        problem => Err(problem),
    });
    recordings(path, read)
}

/// Sample rate and samples of each channel.
type Channels = (Option<f64>, Vec<Samples>);

fn recordings(path: &Path, read: Result<Channels>) -> Result<Vec<Recording>, RecordingError> {
    let failed = |problem| RecordingError::Recording { path: path.to_owned(), problem };
    let (sample_rate, channels) = read.and_then(checked).map_err(failed)?;
    let path: Arc<Path> = path.into();
    let recording = |(channel, samples)| Recording { path: path.clone(), channel, sample_rate, samples };
    Ok(channels.into_iter().enumerate().map(recording).collect())
}

fn read_into_memory(path: &Path, options: &ReadOptions, memory: &mut SampleMemory) -> Result<Channels> {
    let mut reader = formats::open_with(path, options)?;
    let layout = reader.layout().clone();
    // Where the file says its length, before any of it is read; else block by block.
    let (announced, available) = (layout.length.unwrap_or(0), memory.left);
    let mut take = |samples: u64| match memory.take(samples) {
        true => Ok(()),
        false => Err(RecordingProblem::Memory { available }),
    };
    take(announced.saturating_mul(layout.channels as u64))?;
    let length = usize::try_from(announced).unwrap_or(0);
    let mut channels = vec![Vec::new(); layout.channels];
    for samples in &mut channels {
        // A header may announce more than there is: then the vector grows with what is read.
        let _ = Vec::<f32>::try_reserve_exact(samples, length);
    }
    read_blocks(path, &mut *reader, |block| {
        if layout.length.is_none() {
            take(block.len() as u64)?;
        }
        for (channel, samples) in channels.iter_mut().enumerate() {
            samples.extend(block.iter().skip(channel).step_by(layout.channels));
        }
        Ok(())
    })?;
    Ok((layout.rate, channels.into_iter().map(Samples::from).collect()))
}

fn read_into_file(path: &Path) -> Result<Channels> {
    let mut reader = formats::open(path)?;
    let layout = reader.layout().clone();
    let length = match layout.length {
        Some(length) => length,
        None => formats::open(path)?.skip(u64::MAX)?,
    };
    let mut file = SampleFile::new(layout.channels, length).map_err(RecordingProblem::TemporaryFile)?;
    read_blocks(path, &mut *reader, |block| {
        if !file.has_capacity(block) {
            return Err(RecordingProblem::LongerThanAnnounced { announced: length });
        }
        file.push(block).map_err(RecordingProblem::TemporaryFile)
    })?;
    Ok((layout.rate, file.finish().map_err(RecordingProblem::TemporaryFile)?))
}

/// Calls `take` with every block of interleaved samples.
///
/// # Errors
/// Those of `take`, and if samples are missing.
fn read_blocks(path: &Path, reader: &mut dyn SampleReader, mut take: impl FnMut(&[f32]) -> Result<()>) -> Result<()> {
    let count = (BLOCK / reader.layout().channels).max(1);
    let mut block = Vec::new();
    while reader.read(&mut block, count)? > 0 {
        take(&block)?;
        block.clear();
    }
    check_notes(path, &reader.layout().notes)
}

/// Warns about remarks on a recording that has been read.
///
/// # Errors
/// If samples are missing.
fn check_notes(path: &Path, notes: &[Note]) -> Result<()> {
    for note in notes {
        match note {
            Note::Loss(text) => return Err(RecordingProblem::Incomplete(text.clone())),
            Note::Remark(text) => warn_once(path, text),
        }
    }
    Ok(())
}

/// Warns about the first recording that the text holds for, and not about others.
fn warn_once(path: &Path, text: &str) {
    static SHOWN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if shown.insert(text.to_owned()) {
        tracing::warn!("{}: {text} (noted of the first such recording alone)", path.display());
    }
}

/// Checks that there are samples, and that all are finite.
fn checked((rate, channels): Channels) -> Result<Channels> {
    if channels.iter().all(|samples| samples.is_empty()) {
        return Err(RecordingProblem::NoSamples);
    }
    for (channel, samples) in channels.iter().enumerate() {
        if let Some(index) = samples.iter().position(|sample| !sample.is_finite()) {
            return Err(RecordingProblem::NonFinite { channel, index, value: samples[index] });
        }
    }
    Ok((rate, channels))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use hound::{SampleFormat, WavSpec, WavWriter};
    use proptest::prelude::*;
    use tempfile::TempDir;

    use super::*;

    fn spec(channels: u16, bits: u16, format: SampleFormat) -> WavSpec {
        WavSpec { channels, sample_rate: 12_345, bits_per_sample: bits, sample_format: format }
    }

    fn write<S: hound::Sample + Copy>(folder: &TempDir, spec: WavSpec, samples: &[S]) -> PathBuf {
        let path = folder.path().join("x.wav");
        let mut writer = WavWriter::create(&path, spec).unwrap();
        for &sample in samples {
            writer.write_sample(sample).unwrap();
        }
        writer.finalize().unwrap();
        path
    }

    fn problem(path: &Path) -> RecordingProblem {
        match read_recording(path).expect_err("the file should be refused") {
            RecordingError::Recording { path: named, problem } => {
                assert_eq!(named, path);
                problem
            }
            other => panic!("{other}"),
        }
    }

    #[test]
    fn integers_are_divided_by_full_scale() {
        let folder = TempDir::new().unwrap();
        for bits in [16u16, 24, 32] {
            let full = 1i64 << (bits - 1);
            let integers: Vec<i32> = [0, 1, -1, full / 2, -full / 4, full - 1, -full].map(|v| v as i32).to_vec();
            let path = write(&folder, spec(1, bits, SampleFormat::Int), &integers);
            let recordings = read_recording(&path).unwrap();
            assert_eq!(recordings.len(), 1);
            let recording = &recordings[0];
            assert_eq!((recording.channel, recording.sample_rate), (0, Some(12_345.0)));
            assert_eq!(&*recording.path, path);
            for (sample, integer) in recording.samples.iter().zip(&integers) {
                let exact = f64::from(*integer) / full as f64;
                assert!((f64::from(*sample) - exact).abs() <= exact.abs() * 1e-7, "{bits} bits");
                assert!((-1.0..1.0).contains(sample), "{bits} bits: {sample}");
            }
            assert_eq!(recording.samples.len(), integers.len());
            assert_eq!(recording.samples[3..5], [0.5, -0.25]);
            assert_eq!(recording.samples[6], -1.0);
        }
    }

    #[test]
    fn floats_are_kept_to_the_bit() {
        let folder = TempDir::new().unwrap();
        let floats = [0.0f32, -0.0, 1.5, -317.25, 1e-40, f32::MAX];
        let path = write(&folder, spec(1, 32, SampleFormat::Float), &floats);
        let read = read_recording(&path).unwrap();
        let bits = |x: &[f32]| x.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&read[0].samples), bits(&floats));
    }

    #[test]
    fn every_channel_is_a_recording() {
        let folder = TempDir::new().unwrap();
        let interleaved: Vec<i32> = (0..3000).map(|v| (v % 3) * 1000 + v / 3).collect();
        let path = write(&folder, spec(3, 24, SampleFormat::Int), &interleaved);
        let recordings = read_recording(&path).unwrap();
        assert_eq!(recordings.len(), 3);
        for (channel, recording) in recordings.iter().enumerate() {
            assert_eq!(recording.channel, channel);
            let back: Vec<i32> = recording.samples.iter().map(|v| (v * 8_388_608.0) as i32).collect();
            let wrote: Vec<i32> = (0..1000).map(|v| channel as i32 * 1000 + v).collect();
            assert_eq!(back, wrote);
        }
    }

    #[test]
    fn a_file_cut_short_says_how_much_is_there() {
        let folder = TempDir::new().unwrap();
        let path = write(&folder, spec(2, 16, SampleFormat::Int), &[7i16; 200]);
        let whole = fs::read(&path).unwrap();
        // 4 bytes per pair of samples: 50 pairs are gone, and the last one left is torn.
        fs::write(&path, &whole[..whole.len() - 201]).unwrap();
        let found = problem(&path);
        assert!(found.to_string().contains("announces 100 samples per channel, the file holds 49"), "{found}");
        for cut in 4..44 {
            fs::write(&path, &whole[..cut]).unwrap();
            let found = problem(&path);
            assert!(matches!(found, RecordingProblem::TruncatedHeader), "{cut} bytes: {found}");
        }
    }

    #[test]
    fn other_kinds_of_files_are_named_as_such() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("x.wav");
        for bytes in [&b""[..], b"RI", b"hello, this is text", b"RIFF\x04\0\0\0AVI LIST"] {
            fs::write(&path, bytes).unwrap();
            let found = problem(&path);
            assert!(matches!(found, RecordingProblem::NotWav), "{bytes:?}: {found}");
        }
        fs::remove_file(&path).unwrap();
        assert!(matches!(problem(&path), RecordingProblem::Io(_)));
        let text = read_recording(&path).unwrap_err().to_string();
        assert!(text.contains("x.wav"), "{text}");
    }

    #[test]
    fn a_header_that_announces_gigabytes_allocates_none() {
        let folder = TempDir::new().unwrap();
        let path = write(&folder, spec(1, 16, SampleFormat::Int), &[7i16; 100]);
        let mut bytes = fs::read(&path).unwrap();
        let length = bytes.len() - 200 - 4;
        bytes[length..length + 4].copy_from_slice(&0xf000_0000_u32.to_le_bytes());
        fs::write(&path, &bytes).unwrap();
        assert!(problem(&path).to_string().contains("the file holds 100"));
    }

    #[test]
    fn unread_formats_are_refused() {
        let folder = TempDir::new().unwrap();
        // Format tag 49 is GSM 6.10.
        let path = write(&folder, spec(1, 16, SampleFormat::Int), &[7i16; 100]);
        let mut bytes = fs::read(&path).unwrap();
        bytes[20] = 49;
        fs::write(&path, &bytes).unwrap();
        let text = problem(&path).to_string();
        assert!(text.contains("encoding 0x0031 (accepted: PCM of 1 to 32 bits"), "{text}");
    }

    #[test]
    fn samples_at_the_low_end_of_wider_containers_are_scaled() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("x.wav");
        let wide = hound::WavSpecEx { spec: spec(1, 24, SampleFormat::Int), bytes_per_sample: 4 };
        let mut writer = WavWriter::new_with_spec_ex(fs::File::create(&path).unwrap(), wide).unwrap();
        for sample in -25..25i32 {
            writer.write_sample(sample).unwrap();
        }
        writer.finalize().unwrap();
        let expected: Vec<f32> = (-25..25).map(|sample| sample as f32 / 8_388_608.0).collect();
        assert_eq!(read_recording(&path).unwrap()[0].samples[..], expected);
    }

    #[test]
    fn no_samples_is_an_error() {
        let folder = TempDir::new().unwrap();
        let path = write::<i16>(&folder, spec(1, 16, SampleFormat::Int), &[]);
        assert!(matches!(problem(&path), RecordingProblem::NoSamples));
    }

    #[test]
    fn a_sample_that_is_no_number_is_named() {
        let folder = TempDir::new().unwrap();
        let mut samples = [0.5f32; 40];
        samples[2 * 13 + 1] = f32::NAN;
        let path = write(&folder, spec(2, 32, SampleFormat::Float), &samples);
        let found = problem(&path);
        assert!(matches!(found, RecordingProblem::NonFinite { channel: 1, index: 13, .. }), "{found}");
    }

    /// Bytes of a small WAV file: two channels of 60 samples.
    fn small_wav(float: bool) -> Vec<u8> {
        let folder = TempDir::new().unwrap();
        let path = if float {
            write(&folder, spec(2, 32, SampleFormat::Float), &[0.5f32; 120])
        } else {
            write(&folder, spec(2, 24, SampleFormat::Int), &[5i32; 120])
        };
        fs::read(path).unwrap()
    }

    /// Reads bytes as a file; what is accepted has channels of one length of at least one finite sample.
    fn assert_refused_or_whole(bytes: &[u8]) -> Result<(), TestCaseError> {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("x.wav");
        fs::write(&path, bytes).unwrap();
        if let Ok(channels) = read_recording(&path) {
            let length = channels[0].samples.len();
            prop_assert!(length > 0 && channels[0].sample_rate.is_none_or(|rate| rate > 0.0));
            prop_assert!(channels.iter().all(|channel| channel.samples.len() == length));
            prop_assert!(channels.iter().flat_map(|channel| channel.samples.iter()).all(|sample| sample.is_finite()));
        }
        Ok(())
    }

    /// Header fields that break a division or an allocation.
    const EXTREMES: [u32; 5] = [0, 1, 2, 0x7fff_ffff, u32::MAX];
    /// Names of a WAV file's chunks.
    const CHUNKS: [[u8; 4]; 4] = [*b"fmt ", *b"data", *b"LIST", *b"fact"];

    fn content() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(any::<u8>(), 0..50)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        #[test]
        fn damaged_headers_never_panic(
            damage in prop::collection::vec((0usize..68, any::<u8>()), 1..6),
            keep in 1usize..500,
            float in any::<bool>(),
        ) {
            let mut bytes = small_wav(float);
            for (at, value) in damage {
                bytes[at] = value;
            }
            bytes.truncate(keep);
            assert_refused_or_whole(&bytes)?;
        }

        #[test]
        fn extreme_header_fields_never_panic(
            fields in prop::collection::vec((0usize..17, prop::sample::select(EXTREMES.to_vec())), 1..4),
            halves in any::<bool>(),
            float in any::<bool>(),
        ) {
            let mut bytes = small_wav(float);
            for (word, value) in fields {
                let at = 4 * word;
                let width = if halves { 2 } else { 4 };
                bytes[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
            }
            assert_refused_or_whole(&bytes)?;
        }

        #[test]
        fn arbitrary_chunks_never_panic(
            chunks in prop::collection::vec((prop::sample::select(CHUNKS.to_vec()), 0u32..50, content()), 0..6),
        ) {
            let mut bytes = b"RIFF\xff\xff\0\0WAVE".to_vec();
            for (id, length, content) in chunks {
                bytes.extend(id);
                bytes.extend(length.to_le_bytes());
                bytes.extend(content);
            }
            assert_refused_or_whole(&bytes)?;
        }
    }

    #[test]
    fn a_recording_that_is_kept_in_a_file_is_the_same() {
        let folder = TempDir::new().unwrap();
        let samples: Vec<i32> = (0..6 * BLOCK as i32 + 3).collect();
        let wav = write(&folder, spec(3, 24, SampleFormat::Int), &samples);
        let table = folder.path().join("x.csv");
        let rows: String = (0..2 * BLOCK + 5).map(|row| format!("{},{}\n", row % 7, -(row as f64) / 4.0)).collect();
        fs::write(&table, rows).unwrap();
        for path in [wav, table] {
            let expected = read_recording(&path).unwrap();
            let found = recordings(&path, read_into_file(&path)).unwrap();
            assert_eq!(found.len(), expected.len());
            for (found, expected) in found.iter().zip(&expected) {
                assert_eq!((found.channel, found.sample_rate), (expected.channel, expected.sample_rate));
                assert!(found.samples[..] == expected.samples[..], "{}", path.display());
            }
        }
    }

    #[test]
    fn small_changes_of_great_values_are_kept() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("meter.csv");
        fs::write(&path, "1000000000.25,1\n1000000000.5,0.1\n").unwrap();
        let (columns, parts) = read_rows(&path).unwrap();
        let sum = |parts: &[f32]| f64::from(parts[0]) + f64::from(parts[1]);
        let values: Vec<f64> = parts.chunks(2).map(sum).collect();
        assert_eq!((columns, &values[..3]), (2, &[1_000_000_000.25, 1.0, 1_000_000_000.5][..]));
        assert!((values[3] - 0.1).abs() < 1e-15, "{}", values[3]);
    }

    #[test]
    fn times_that_rows_do_not_follow_are_named_with_their_first_place() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("x.csv");
        let reason = |title: &str, times: &[i64]| {
            let rows = times.iter().map(|time| format!("{time},{}\n", time % 7)).collect::<String>();
            fs::write(&path, format!("{title}{rows}")).unwrap();
            uneven_times(&path, rows_within(&path, SampleMemory { left: u64::MAX }).unwrap().0)
        };
        let even: Vec<i64> = (0..3000).collect();
        let gap: Vec<i64> = even.iter().copied().filter(|time| !(2000..2003).contains(time)).collect();
        let falling: Vec<i64> = even.iter().rev().copied().collect();
        let [mut swapped, mut late] = [even.clone(), even.clone()];
        swapped.swap(1500, 1501);
        late[2500..].iter_mut().for_each(|time| *time = 10 * *time + 1);
        for title in ["time,x\n", "timestamp,x\n"] {
            assert_eq!(reason(title, &even), None);
            assert_eq!(reason(title, &gap).unwrap(), "by their times some are missing before row 2001");
            let message = reason(title, &falling).unwrap();
            assert!(message.contains("not evenly spaced") && !message.contains("--"), "{message}");
            let message = reason(title, &swapped).unwrap();
            assert!(message.contains("row 1501") && !message.contains("--"), "{message}");
            assert!(reason(title, &late).is_some());
        }
        // Two channels, of which the first one rises at first.
        assert_eq!((reason("", &even), reason("", &gap), reason("a,b\n", &late)), (None, None, None));
    }

    #[test]
    fn rows_of_a_table_are_the_same_in_memory_and_in_a_file() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("table.csv");
        let lines =
            |last: &str| (0..500).map(|row| format!("{},{}\n", 499 - row, row * row)).collect::<String>() + last;
        fs::write(&path, lines("")).unwrap();
        let [whole, in_file] = [u64::MAX, 1000].map(|left| rows_within(&path, SampleMemory { left }).unwrap());
        assert_eq!((whole.0, whole.1.len(), &whole.1[1996..]), (2, 2000, &[0.0, 0.0, 249_001.0, 0.0][..]));
        assert!(in_file.1.is_in_file() && !whole.1.is_in_file() && in_file == whole);
        fs::write(&path, lines("7,nan\n")).unwrap();
        let error = rows_within(&path, SampleMemory { left: 1000 }).unwrap_err();
        let RecordingError::Recording { path: named, problem } = error else { panic!("{error}") };
        assert_eq!(named, path);
        assert!(matches!(problem, RecordingProblem::NonFinite { channel: 1, index: 500, .. }), "{problem}");
    }
}
