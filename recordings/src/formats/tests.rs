use std::fs;
use std::path::{Path, PathBuf};

use hound::{SampleFormat, WavReader, WavSpec, WavWriter};
use tempfile::TempDir;

use super::*;

/// All samples of a file, interleaved, read in blocks of `count`.
fn read_all(path: &Path, count: usize) -> (RecordingLayout, Vec<f32>) {
    let mut reader = open(path).unwrap();
    let mut block = Vec::new();
    while reader.read(&mut block, count).unwrap() > 0 {}
    (reader.layout().clone(), block)
}

/// Asserts that a file holds `samples`, however long the blocks are and wherever reading begins.
pub(super) fn assert_holds(path: &Path, channels: usize, rate: Option<f64>, samples: &[f32]) {
    for count in [1, 7, 1 << 14] {
        let (layout, found) = read_all(path, count);
        assert_eq!((layout.channels, layout.rate), (channels, rate), "{}", path.display());
        assert!(layout.length.is_none_or(|length| length as usize * channels == samples.len()));
        assert_eq!(found, samples, "{} in blocks of {count}", path.display());
    }
    for start in [1, 13, samples.len() / channels, samples.len()] {
        let mut reader = open(path).unwrap();
        let mut block = Vec::new();
        let skipped = reader.skip(start as u64).unwrap() as usize;
        assert_eq!(skipped, start.min(samples.len() / channels));
        while reader.read(&mut block, 5).unwrap() > 0 {}
        assert_eq!(block, samples[skipped * channels..], "{} from {start}", path.display());
    }
}

/// Samples of a file, and the notes about it.
fn noted(path: &Path, options: &ReadOptions) -> (Vec<f32>, RecordingLayout, String) {
    let mut reader = open_with(path, options).unwrap();
    let mut block = Vec::new();
    while reader.read(&mut block, 64).unwrap() > 0 {}
    let notes: Vec<String> = reader.layout().notes.iter().map(Note::to_string).collect();
    (block, reader.layout().clone(), notes.join("\n"))
}

/// Asserts that a note of the kind, about a file without options, contains a text. Returns the samples.
fn assert_noted(path: &Path, is_loss: bool, text: &str) -> Vec<f32> {
    let (samples, layout, notes) = noted(path, &ReadOptions::default());
    let is_kind = |note: &&Note| matches!(note, Note::Loss(_)) == is_loss && note.to_string().contains(text);
    assert!(layout.notes.iter().any(|note| is_kind(&note)), "`{text}` is not in: {notes}");
    samples
}

pub(super) fn problem(path: &Path) -> String {
    let read = || {
        let mut reader = open(path)?;
        let mut block = Vec::new();
        while reader.read(&mut block, 64)? > 0 {}
        Ok::<_, RecordingProblem>(())
    };
    read().expect_err("the file should be refused").to_string()
}

/// Values that every format can hold exactly: multiples of 1/128 in [-1, 1).
pub(super) fn values(count: usize) -> Vec<f32> {
    (0..count).map(|index| ((index * 37 % 256) as f32 - 128.0) / 128.0).collect()
}

fn wav(folder: &TempDir, bits: u16, format: SampleFormat) -> PathBuf {
    let path = folder.path().join(format!("{bits}.wav"));
    let spec = WavSpec { channels: 3, sample_rate: 12_345, bits_per_sample: bits, sample_format: format };
    let mut writer = WavWriter::create(&path, spec).unwrap();
    for value in values(300) {
        match format {
            SampleFormat::Float => writer.write_sample(value).unwrap(),
            SampleFormat::Int => writer.write_sample((value * 2f32.powi(i32::from(bits) - 1)) as i32).unwrap(),
        }
    }
    writer.finalize().unwrap();
    path
}

#[test]
fn wav_files_of_every_width_are_read() {
    let folder = TempDir::new().unwrap();
    for (bits, format) in [
        (8, SampleFormat::Int),
        (16, SampleFormat::Int),
        (24, SampleFormat::Int),
        (32, SampleFormat::Int),
        (32, SampleFormat::Float),
    ] {
        assert_holds(&wav(&folder, bits, format), 3, Some(12_345.0), &values(300));
    }
}

#[test]
fn wav_samples_are_those_that_hound_reads_divided_by_full_scale() {
    let folder = TempDir::new().unwrap();
    for bits in [16, 24, 32] {
        let path = folder.path().join("x.wav");
        let spec = WavSpec { channels: 2, sample_rate: 8, bits_per_sample: bits, sample_format: SampleFormat::Int };
        let mut writer = WavWriter::create(&path, spec).unwrap();
        let highest = (1i64 << (bits - 1)) - 1;
        for value in (0..64).map(|index| highest - index * index * 13).chain([-highest - 1, 0]) {
            writer.write_sample(value as i32).unwrap();
        }
        writer.finalize().unwrap();
        let below_one = 1.0 - f32::EPSILON / 2.0;
        let expected = WavReader::open(&path).unwrap().into_samples::<i32>().map(|sample| {
            let sample = sample.unwrap() as f32 / (1u64 << (bits - 1)) as f32;
            sample.min(below_one)
        });
        assert!(expected.eq(read_all(&path, 10).1), "{bits} bits");
    }
}

#[test]
fn sixty_four_bit_and_piped_wav_files_are_read() {
    let folder = TempDir::new().unwrap();
    let bytes = fs::read(wav(&folder, 16, SampleFormat::Int)).unwrap();
    let data = bytes.windows(4).position(|name| name == b"data").unwrap();
    // As ffmpeg writes to a pipe: lengths that are not known.
    let mut piped = bytes.clone();
    piped[4..8].fill(0xff);
    piped[data + 4..data + 8].fill(0xff);
    let path = folder.path().join("piped.wav");
    fs::write(&path, &piped).unwrap();
    assert_holds(&path, 3, Some(12_345.0), &values(300));
    for magic in [b"RF64", b"BW64"] {
        let mut long = magic.to_vec();
        long.extend([0xff; 4]);
        long.extend(b"WAVEds64");
        long.extend(28u32.to_le_bytes());
        for field in [bytes.len() as u64 + 28, 600, 100] {
            long.extend(field.to_le_bytes());
        }
        long.extend([0; 4]);
        long.extend(&piped[12..]);
        fs::write(&path, &long).unwrap();
        assert_holds(&path, 3, Some(12_345.0), &values(300));
    }
}

#[test]
fn damaged_wav_files_are_refused_with_the_reason() {
    let folder = TempDir::new().unwrap();
    let bytes = fs::read(wav(&folder, 16, SampleFormat::Int)).unwrap();
    let path = folder.path().join("x.wav");
    fs::write(&path, &bytes[..bytes.len() - 12]).unwrap();
    let read = assert_noted(&path, true, "announces 100 samples per channel, the file holds 98");
    assert_eq!(read, values(300)[..294]);
    fs::write(&path, &bytes[..30]).unwrap();
    assert!(problem(&path).contains("ends inside its header"));
    fs::write(&path, b"hello").unwrap();
    assert!(problem(&path).contains("not a WAV file"));
    fs::write(&path, b"hello, this is a text").unwrap();
    assert!(problem(&path).contains("not a WAV file"));
    let mut adpcm = bytes.clone();
    adpcm[20..22].copy_from_slice(&[2, 0]);
    let mut without_rate = bytes.clone();
    without_rate[24..28].fill(0);
    fs::write(&path, &without_rate).unwrap();
    assert_holds(&path, 3, None, &values(300));
    fs::write(&path, &adpcm).unwrap();
    assert!(problem(&path).contains("malformed stream: "), "{}", problem(&path));
    adpcm[20..22].copy_from_slice(&[0x31, 0]);
    fs::write(&path, &adpcm).unwrap();
    assert!(problem(&path).contains("encoding 0x0031 (accepted: PCM of 1 to 32"), "{}", problem(&path));
}

/// A NumPy array with this header and these bytes.
pub(super) fn array(descr: &str, fortran: &str, shape: &str, bytes: &[u8]) -> Vec<u8> {
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}");
    while (text.len() + 11) % 64 != 0 {
        text.push(' ');
    }
    text.push('\n');
    let mut array = b"\x93NUMPY\x01\x00".to_vec();
    array.extend((text.len() as u16).to_le_bytes());
    array.extend(text.as_bytes());
    array.extend(bytes);
    array
}

#[test]
fn arrays_of_every_order_are_read() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.npy");
    let interleaved = values(200);
    let planar: Vec<f32> = (0..2).flat_map(|channel| interleaved.iter().skip(channel).step_by(2).copied()).collect();
    let little = |values: &[f32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let big = |values: &[f32]| values.iter().flat_map(|value| f64::from(*value).to_be_bytes()).collect::<Vec<u8>>();
    for (descr, fortran, shape, bytes) in [
        ("<f4", "False", "(100, 2)", little(&interleaved)),
        ("<f4", "True", "(2, 100)", little(&interleaved)),
        ("<f4", "False", "(2, 100)", little(&planar)),
        (">f8", "True", "(100, 2)", big(&planar)),
    ] {
        fs::write(&path, array(descr, fortran, shape, &bytes)).unwrap();
        assert_holds(&path, 2, None, &interleaved);
    }
    let integers: Vec<u8> = (0..50i16).flat_map(|value| (value * 100 - 9).to_le_bytes()).collect();
    fs::write(&path, array("<i2", "False", "(50,)", &integers)).unwrap();
    let numbers: Vec<f32> = (0..50i16).map(|value| f32::from(value * 100 - 9)).collect();
    assert_holds(&path, 1, None, &numbers);
}

#[test]
fn arrays_that_are_not_read_say_what_they_are() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.npy");
    for (array, message) in [
        (array("<M8[ns]", "False", "(4,)", &[0; 32]), "type <M8[ns] (accepted"),
        (array("<f4", "False", "(2, 2, 2)", &[0; 32]), "3 dimensions"),
        (array("<f4", "True", "(99, 2)", &[0; 32]), "stand one after the other: its shape takes 792 bytes, it has 32"),
        (array("<f4", "False", "(99, 2)", &[0; 7]), "it holds no samples"),
        (array("<f4", "False", "(99999999999, 99999999999)", &[0; 32]), "more than a file can hold"),
        (b"PK".to_vec(), "does not begin with a NumPy header"),
    ] {
        fs::write(&path, array).unwrap();
        assert!(problem(&path).contains(message), "{}", problem(&path));
    }
}

#[test]
fn truncated_arrays_are_read_as_far_as_they_go() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.npy");
    let all = values(200);
    let bytes: Vec<u8> = all.iter().flat_map(|value| value.to_le_bytes()).collect();
    for (descr, fortran, shape, held) in [
        ("<f4", "False", "(100, 2)", 98),
        ("<f4", "True", "(2, 100)", 98),
        ("<f4", "False", "(200,)", 196),
        ("<c8", "False", "(100,)", 98),
    ] {
        fs::write(&path, array(descr, fortran, shape, &bytes[..bytes.len() - 15])).unwrap();
        assert_eq!(assert_noted(&path, true, &format!("the file holds {held}")), all[..196], "{descr} {shape}");
    }
    // One row of two channels is no channel of two samples.
    fs::write(&path, array("<f4", "False", "(100, 2)", &bytes[..8])).unwrap();
    let (layout, samples) = read_all(&path, 5);
    assert_eq!((layout.channels, layout.length, &samples[..]), (2, Some(1), &all[..2]));
    // No memory is taken for channels of which the file holds none.
    fs::write(&path, array("<f4", "False", "(700000000, 700000000)", &[])).unwrap();
    assert!(matches!(open(&path).map(|_| ()), Err(RecordingProblem::NoSamples)));
}

#[test]
fn tables_of_text_have_a_column_per_channel() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.csv");
    let rows = |separator: &str| {
        let row = |(index, pair): (usize, &[f32])| {
            [format!("2020-01-{index}"), (index as f64 * 0.002).to_string(), pair[0].to_string(), pair[1].to_string()]
                .join(separator)
        };
        values(200).chunks(2).enumerate().map(row).collect::<Vec<_>>().join("\r\n")
    };
    fs::write(&path, format!("date,\"time\",x,y\n{}\n", rows(","))).unwrap();
    assert_holds(&path, 2, Some(500.0), &values(200));
    fs::write(&path, format!("date;t;x;y\n{}\n\n", rows(";"))).unwrap();
    assert_holds(&path, 2, Some(500.0), &values(200));
    fs::write(&path, "1\n2\n-3.5e-1\n").unwrap();
    assert_holds(&path, 1, None, &[1.0, 2.0, -0.35]);
    // Channel numbers as titles, and the index that pandas writes.
    fs::write(&path, "time,1,2\n0,5,6\n0.5,7,8\n").unwrap();
    assert_holds(&path, 2, Some(2.0), &[5.0, 6.0, 7.0, 8.0]);
    fs::write(&path, ",a,b\n0,5,6\n1,7,8\n").unwrap();
    assert_holds(&path, 2, None, &[5.0, 6.0, 7.0, 8.0]);
    assert_eq!(open(&path).unwrap().layout().titles, ["a", "b"]);
    fs::write(&path, "date,time,a\n2020,0,5,6\n2021,0.5,7,8\n").unwrap();
    assert!(problem(&path).contains("line 2 has 4 cells, and its line of titles 3"), "{}", problem(&path));
    fs::write(&path, "2020-01-01,5\n2020-01-02,7\n2020-01-03,8\n").unwrap();
    assert_holds(&path, 1, None, &[5.0, 7.0, 8.0]);
    fs::write(&path, "5,6\n7,8,\n").unwrap();
    assert_holds(&path, 2, None, &[5.0, 6.0, 7.0, 8.0]);
    fs::write(&path, "a,b\n1,2\n3,4,5\n").unwrap();
    assert!(problem(&path).contains("line 3 has more than 2 columns"), "{}", problem(&path));
    fs::write(&path, "1,2\n3,4\n5\n").unwrap();
    assert!(problem(&path).contains("line 3 has no column 2"), "{}", problem(&path));
    fs::write(&path, "a,b\n1,2\n3\n").unwrap();
    assert!(problem(&path).contains("line 3 has no column 2"), "{}", problem(&path));
    fs::write(&path, "a,b\n1,2\n3,x\n").unwrap();
    assert!(problem(&path).contains("line 3: `x` in column 2 is not a number"));
    fs::write(&path, "a,b\nx,y\n").unwrap();
    assert!(problem(&path).contains("no number"));
}

#[test]
fn separators_between_quotation_marks_belong_to_their_cells() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.csv");
    let text = "\"axis, \"\"x\"\"\",y,note\n\"1\", \"2\",\"a;b,c\"\n3,4,\"say \"\"d,e\"\"\"\n5,6,7\" pipe\n";
    fs::write(&path, text).unwrap();
    assert_holds(&path, 2, None, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    // Not read as two columns of integers.
    for text in ["\"0,5\",\"1,5\"\n\"0,5\",\"1,5\"\n", "a;b\n0,5;1,5\n"] {
        fs::write(&path, text).unwrap();
        assert!(problem(&path).contains("`0,5` has a decimal comma"), "{}", problem(&path));
    }
    fs::write(&path, "a,b\n1,2\n\"3,4\n").unwrap();
    assert!(problem(&path).contains("line 3"), "{}", problem(&path));
}

#[test]
fn titles_of_tables_keep_their_quotation_marks_and_letters() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.csv");
    fs::write(&path, b"\"axis, \"\"x\"\"\",\"\",H\xf6he,\xb5\n1,,3,4\n5,,6,7\n").unwrap();
    assert_eq!(assert_noted(&path, false, "taken for Latin-1"), [1.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    assert_eq!(open(&path).unwrap().layout().titles, ["axis, \"x\"", "Höhe", "µ"]);
}

#[test]
fn rows_before_a_bad_line_are_read() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.csv");
    let rows: String = (0..3000).map(|row| if row == 2500 { "x\n".to_owned() } else { format!("{row}.5\n") }).collect();
    fs::write(&path, rows).unwrap();
    let (mut reader, mut block) = (open(&path).unwrap(), Vec::new());
    assert_eq!(reader.read(&mut block, 1 << 14).unwrap(), 2500);
    assert_eq!(block.last(), Some(&2499.5));
    let message = reader.read(&mut block, 1 << 14).unwrap_err().to_string();
    assert!(message.contains("line 2501: `x` in column 1") && block.len() == 2500, "{message}");
}

/// An EDF file with two signals of 40 samples per record of 0.5 s, one of 10, and an annotation.
fn edf(records: i64, bdf: bool) -> Vec<u8> {
    let mut bytes = if bdf { b"\xffBIOSEMI".to_vec() } else { b"0       ".to_vec() };
    let field = |bytes: &mut Vec<u8>, text: &str, width: usize| bytes.extend(format!("{text:<width$}").bytes());
    field(&mut bytes, "", 228);
    field(&mut bytes, &records.to_string(), 8);
    field(&mut bytes, "0.5", 8);
    field(&mut bytes, "4", 4);
    for (width, texts) in [
        (16, ["A", "EDF Annotations", "B", "slow"]),
        (80, [""; 4]),
        (8, ["uV"; 4]),
        (8, ["-2", "-1", "-1", "-1"]),
        (8, ["2", "1", "1", "1"]),
        (8, ["-128", "-32768", "-128", "-128"]),
        (8, ["128", "32767", "128", "128"]),
        (80, [""; 4]),
        (8, ["40", "3", "40", "10"]),
        (32, [""; 4]),
    ] {
        texts.iter().for_each(|text| field(&mut bytes, text, width));
    }
    let width = if bdf { 3 } else { 2 };
    let mut number = |value: f32| bytes.extend(&((value * 128.0) as i32).to_le_bytes()[..width]);
    for record in values(240).chunks(80) {
        record.iter().step_by(2).for_each(|value| number(*value));
        (0..3).for_each(|_| number(0.0));
        record.iter().skip(1).step_by(2).for_each(|value| number(*value));
        (0..10).for_each(|_| number(0.5));
    }
    bytes
}

#[test]
fn the_fastest_signals_of_an_edf_file_are_its_channels() {
    let folder = TempDir::new().unwrap();
    // The first signal's physical range is twice the second's.
    let expected: Vec<f32> = values(240).chunks(2).flat_map(|pair| [2.0 * pair[0], pair[1]]).collect();
    for (name, is_bdf) in [("x.edf", false), ("x.bdf", true)] {
        let path = folder.path().join(name);
        for records in [3, -1] {
            fs::write(&path, edf(records, is_bdf)).unwrap();
            assert_holds(&path, 2, Some(80.0), &expected);
        }
        fs::write(&path, edf(4, is_bdf)).unwrap();
        let read = assert_noted(&path, true, "announces 160 samples per channel, the file holds 120");
        assert_eq!(read, expected);
        assert_noted(&path, false, "lower rates are left out: slow (20 Hz)");
        // Of a recording that was interrupted.
        let mut file = edf(-1, is_bdf);
        let place = file.windows(2).position(|pair| pair == b"uV").unwrap();
        file[place] = 0xb5;
        fs::write(&path, &file).unwrap();
        assert_eq!(assert_noted(&path, false, "no number of records"), expected);
        assert_noted(&path, false, "taken for Latin-1");
        assert_eq!(open(&path).unwrap().layout().units, ["µV", "uV"]);
        fs::write(&path, &file[..file.len() - 1]).unwrap();
        assert_eq!(assert_noted(&path, true, "ends inside its last record"), expected[..160]);
        fs::write(&path, &edf(3, is_bdf)[..700]).unwrap();
        assert!(problem(&path).contains("ends inside its header"));
    }
}

/// A file beside this one, written by libsndfile.
fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/formats/fixtures").join(name)
}

#[test]
fn flac_files_are_read_without_loss() {
    // Two channels of 1,000 samples.
    assert_holds(&fixture("stereo.flac"), 2, Some(8000.0), &values(2000));
}

#[test]
fn ogg_files_are_read() {
    // Half a second of tones of 440 Hz, amplitude 0.5, and 1000 Hz, amplitude 0.25.
    let (layout, samples) = read_all(&fixture("tones.ogg"), 333);
    assert_eq!((layout.channels, layout.rate), (2, Some(8000.0)));
    assert_eq!(samples.len(), 2 * 4000);
    for (channel, (hertz, amplitude)) in [(440.0, 0.5), (1000.0, 0.25)].into_iter().enumerate() {
        let tone = |index: usize| amplitude * (std::f32::consts::TAU * hertz * index as f32 / 8000.0).sin();
        let middle = (1000..3000).map(|index| samples[2 * index + channel] - tone(index));
        let error = (middle.map(|error| error * error).sum::<f32>() / 2000.0).sqrt();
        assert!(error < 0.05 * amplitude, "channel {channel}: {error}");
    }
}

#[test]
fn damaged_compressed_files_are_refused() {
    let folder = TempDir::new().unwrap();
    for name in ["stereo.flac", "tones.ogg"] {
        let bytes = fs::read(fixture(name)).unwrap();
        let path = folder.path().join(name);
        fs::write(&path, b"nothing of the kind").unwrap();
        assert!(!problem(&path).is_empty());
        // Any bytes in the place of others: samples or an error, never a panic.
        for at in (0..bytes.len()).step_by(29) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x5a;
            fs::write(&path, damaged).unwrap();
            if let Ok(mut reader) = open(&path) {
                let mut block = Vec::new();
                while matches!(reader.read(&mut block, 512), Ok(read) if read > 0) {}
            }
        }
    }
}

#[test]
fn an_unknown_extension_is_refused_with_those_that_are_read() {
    let message = problem(Path::new("x.xyz"));
    assert!(message.contains("wav, flac, ogg, mp3"), "{message}");
}

/// A WAV file of 16-bit samples of one channel, whose header announces so many bytes of them.
fn wav_announcing(bytes: u32, samples: &[u8]) -> Vec<u8> {
    let mut file = b"RIFF\0\0\0\0WAVEfmt ".to_vec();
    file.extend(16u32.to_le_bytes());
    file.extend([1, 0, 1, 0]);
    file.extend([8000u32, 16_000].iter().flat_map(|value| value.to_le_bytes()));
    file.extend([2, 0, 16, 0]);
    file.extend(b"data");
    file.extend(bytes.to_le_bytes());
    file.extend(samples);
    file
}

#[test]
fn lengths_that_a_header_can_not_say_are_those_of_the_file() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.wav");
    let samples = vec![1; 600];
    for announced in [0x7fff_f000, 0x8000_0000, 0x7fff_ffff, 0x8000_0024, 0] {
        fs::write(&path, wav_announcing(announced, &samples)).unwrap();
        assert_eq!(assert_noted(&path, false, "has no length").len(), 300, "{announced:#x}");
    }
    fs::write(&path, wav_announcing(644, &samples)).unwrap();
    assert_eq!(assert_noted(&path, true, "announces 322 samples per channel, the file holds 300").len(), 300);
    fs::write(&path, wav_announcing(400, &samples)).unwrap();
    assert_eq!(assert_noted(&path, true, "200 bytes behind the 400").len(), 200);
    // A chunk behind the samples is no sample.
    let tagged = [&samples[..400], b"LIST\x04\0\0\0INFO"].concat();
    fs::write(&path, wav_announcing(400, &tagged)).unwrap();
    assert_eq!(noted(&path, &ReadOptions::default()).2, "");
    // Other samples are.
    for name in [b"data", b"RIFF"] {
        let behind = [&samples[..400], name, &[4, 0, 0, 0, 9, 9, 9, 9]].concat();
        fs::write(&path, wav_announcing(400, &behind)).unwrap();
        assert_eq!(assert_noted(&path, true, "12 bytes behind the 400").len(), 200);
    }
    // 4 GiB that wrapped around, in a file without blocks on disk.
    fs::write(&path, wav_announcing(600, &samples)).unwrap();
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    if file.set_len(44 + (1 << 32) + 600).is_ok() {
        let reader = open(&path).unwrap();
        assert_eq!(reader.layout().length, Some((1 << 31) + 300));
        assert!(reader.layout().notes[0].to_string().contains("longer than the 600 bytes"));
    }
}

#[test]
fn wav_files_of_other_containers_and_byte_orders_are_read() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.wav");
    let format = |tag: u16, block: u16, bits: u16, data: &[u8]| {
        let mut file = wav_announcing(data.len() as u32, data);
        file[20..22].copy_from_slice(&tag.to_le_bytes());
        file[32..34].copy_from_slice(&block.to_le_bytes());
        file[34..36].copy_from_slice(&bits.to_le_bytes());
        fs::write(&path, file).unwrap();
        read_all(&path, 10).1
    };
    assert_eq!(format(1, 2, 12, &[0, 0x40, 0x10, 0x80]), [0.5, -0.999_511_7]);
    assert_eq!(format(1, 0, 16, &[0, 0x40, 0, 0xc0]), [0.5, -0.5]);
    assert_eq!(format(1, 4, 24, &[0, 0, 0, 0x40, 0, 0, 0, 0xc0]), [0.5, -0.5]);
    // Codes of ITU-T G.711 for the largest and smallest magnitudes.
    assert_eq!(format(6, 1, 8, &[0xaa, 0x2a, 0xd5, 0x55]), [32_256.0, -32_256.0, 8.0, -8.0].map(|x: f32| x / 32_768.0));
    assert_eq!(format(7, 1, 8, &[0x80, 0x00, 0xff, 0x7f]), [32_124.0, -32_124.0, 0.0, 0.0].map(|x: f32| x / 32_768.0));
    let mut big = b"RIFX\0\0\0\x28WAVEfmt \0\0\0\x10\0\x01\0\x01\0\0\x1f\x40\0\0\x3e\x80\0\x02\0\x10".to_vec();
    // An odd chunk without its byte of padding.
    big.extend(b"LIST\0\0\0\x05abcdedata\0\0\0\x04\x40\0\xc0\0");
    fs::write(&path, &big).unwrap();
    assert_eq!(read_all(&path, 10).1, [0.5, -0.5]);
    // Its extended form: the tag is the first 4 bytes of an identifier of 16.
    big[16..22].copy_from_slice(b"\0\0\0\x28\xff\xfe");
    let identifier = b"\0\0\0\x01\0\0\0\x10\x80\0\0\xaa\0\x38\x9b\x71";
    big.splice(36..36, [&b"\0\x16\0\x10\0\0\0\x04"[..], identifier].concat());
    fs::write(&path, &big).unwrap();
    assert_eq!(read_all(&path, 10).1, [0.5, -0.5]);
    // SoX writes the tag in 2 bytes.
    big[44..48].copy_from_slice(b"\0\x01\0\0");
    fs::write(&path, big).unwrap();
    assert_eq!(read_all(&path, 10).1, [0.5, -0.5]);
}

/// Changes fields of the header of an EDF file: position and text.
fn edit(file: &mut [u8], fields: &[(usize, &str)]) {
    for (at, text) in fields {
        file[*at..at + text.len()].copy_from_slice(text.as_bytes());
    }
}

#[test]
fn contradictions_in_edf_headers_are_noted() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.edf");
    let whole: Vec<f32> = values(240).chunks(2).flat_map(|pair| [2.0 * pair[0], pair[1]]).collect();
    let write = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut file = edf(3, false);
        change(&mut file);
        fs::write(&path, file).unwrap();
    };
    // Positions of fields of the first signal: 4 signals have 104 bytes each of other fields before the ranges.
    let (minimum, maximum) = (256 + 4 * 104, 256 + 4 * 112);
    write(&|file| edit(file, &[(236, "1       ")]));
    assert_eq!(assert_noted(&path, false, "announces 1 records, all 3"), whole);
    write(&|file| edit(file, &[(minimum, "0       "), (maximum, "0       ")]));
    let digital = assert_noted(&path, false, "signal A has no physical range");
    assert_eq!(digital[0], values(1)[0] * 128.0);
    write(&|file| edit(file, &[(256 + 4 * 120, "0       "), (256 + 4 * 128, "0       ")]));
    let rest = assert_noted(&path, false, "signal A has no range and is left out");
    assert_eq!(rest, whole.iter().skip(1).step_by(2).copied().collect::<Vec<_>>());
    write(&|file| {
        edit(file, &[(184, "1536    ")]);
        file.splice(1280..1280, [b' '; 256]);
    });
    assert_eq!(assert_noted(&path, false, "begin at byte 1536"), whole);
    write(&|file| file[..256].iter_mut().filter(|byte| **byte == b' ').for_each(|byte| *byte = 0));
    assert_eq!(read_all(&path, 7).1, whole);
    let second = ReadOptions { channels: vec!["1".into()], ..ReadOptions::default() };
    assert_eq!(noted(&path, &second).0, rest);
    let options = ReadOptions { channels: vec!["slow".into()], ..ReadOptions::default() };
    let (slow, layout, _) = noted(&path, &options);
    assert_eq!((slow.len(), layout.rate, &layout.titles[..]), (30, Some(20.0), &["slow".to_owned()][..]));
    assert_eq!(layout.units, ["uV"]);
    // Channels have the numbers that they have without a choice, and those that are left out then have greater ones.
    for (channels, numbers) in
        [(&["1"][..], &[1][..]), (&["B"], &[1]), (&["slow"], &[2]), (&["B", "A"], &[1, 0]), (&[], &[])]
    {
        let channels = channels.iter().map(|name| (*name).to_owned()).collect();
        let found = open_with(&path, &ReadOptions { channels, ..ReadOptions::default() }).unwrap();
        assert_eq!(found.layout().numbers, numbers);
    }
}

#[test]
fn gaps_of_discontinuous_recordings_are_no_samples() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.edf");
    let mut file = edf(3, false);
    edit(&mut file, &[(192, "EDF+D")]);
    // Records of 0.5 s begin at 7, 7.5 and 9 s: one of them comes a second late. Annotations have 6 bytes.
    let record = (40 + 3 + 40 + 10) * 2;
    for (number, time) in ["+7\x14\x14\0\0", "+7.5\x14\x14", "+9.0\x14\x14"].into_iter().enumerate() {
        edit(&mut file, &[(1280 + number * record + 80, time)]);
    }
    fs::write(&path, &file).unwrap();
    let whole: Vec<f32> = values(240).chunks(2).flat_map(|pair| [2.0 * pair[0], pair[1]]).collect();
    let found = assert_noted(&path, false, "gaps between them (EDF+D), whose samples are NaN");
    assert_eq!((found.len(), &found[..160]), (2 * 200, &whole[..160]));
    assert!(found[160..320].iter().all(|sample| sample.is_nan()) && found[320..] == whole[160..]);
    for start in [0, 50, 100, 159, 170, 199, 200] {
        let (mut reader, mut block) = (open(&path).unwrap(), Vec::new());
        assert_eq!(reader.skip(start as u64).unwrap(), start as u64);
        while reader.read(&mut block, 7).unwrap() > 0 {}
        let are_same = block.iter().zip(&found[2 * start..]).all(|(a, b)| a == b || (a.is_nan() && b.is_nan()));
        assert!(are_same && block.len() == 2 * (200 - start), "from {start}");
    }
    // A clock that is wrong.
    edit(&mut file, &[(1280 + 2 * record + 80, "+1e9\x14\x14")]);
    fs::write(&path, &file).unwrap();
    let message = problem(&path);
    assert!(message.contains("79999999360 samples are missing before its last 1 records"), "{message}");
}

/// Rows of two signals, in a table that begins with the text.
fn table(start: &str, row: impl Fn(usize, f32, f32) -> String) -> String {
    let rows = values(80).chunks(2).enumerate().map(|(index, pair)| row(index, pair[0], pair[1])).collect::<Vec<_>>();
    format!("{start}{}", rows.join("\n"))
}

#[test]
fn indices_numbered_titles_and_empty_columns_of_tables_are_no_channels() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.csv");
    let all = values(80);
    for text in [
        table("0,1\n", |_, x, y| format!("{x:.7},{y:.7}")),
        table(",0,1\n", |index, x, y| format!("{index},{x:.7},{y:.7}")),
        table("Unnamed: 0,x,y\n", |index, x, y| format!("{index},{x},{y}")),
        table("\"V1\",\"V2\"\n", |index, x, y| format!("\"{}\",{x},{y}", index + 1)),
        table("x,y,\n", |_, x, y| format!("{x},{y},")),
        table("x,,y\n", |_, x, y| format!("{x},,{y}")),
        table("n,x,y\n", |index, x, y| format!("{index},{x},{y}")),
        table("# made by\n# x y\n", |_, x, y| format!("{x} {y}")),
        table("sep=;\nx;y\n", |_, x, y| format!("{x};{y}")),
        table("x|y\n(V)|(A)\n", |_, x, y| format!("{x}|{y}")),
    ] {
        fs::write(&path, &text).unwrap();
        let (samples, layout, notes) = noted(&path, &ReadOptions::default());
        assert_eq!((layout.channels, samples), (2, all.clone()), "{text}\n{notes}");
    }
    assert_eq!(open(&path).unwrap().layout().units, ["V", "A"]);
    fs::write(&path, table("x,y\nNA,0.5\n", |_, x, y| format!("{x},{y}"))).unwrap();
    let samples = assert_noted(&path, false, "1 cells have no value");
    assert!(samples[0].is_nan() && samples[2..] == all);
    fs::write(&path, table("x\n", |_, x, _| format!("{x:.3}").replace('.', ","))).unwrap();
    assert!(problem(&path).contains("if a comma stands in numbers"), "{}", problem(&path));
    fs::write(&path, table("x,y\n", |_, x, y| format!("{x},{y}")).replace('\n', "\r")).unwrap();
    assert!(problem(&path).contains("end in CR alone"), "{}", problem(&path));
    fs::write(&path, b"\xff\xfex\0").unwrap();
    assert!(problem(&path).contains("UTF-16"), "{}", problem(&path));
}

#[test]
fn lines_of_text_above_rows_of_numbers_are_noted() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.csv");
    fs::write(&path, "Fs,100\nN,4\n5,2\n1,4\n2,9\n").unwrap();
    let (samples, _, notes) = noted(&path, &ReadOptions::default());
    assert_eq!(samples, [100.0, 4.0, 2.0, 4.0, 9.0]);
    assert!(notes.contains("lines 1 to 2 begin with text"), "{notes}");
    let (samples, _, notes) = noted(&path, &ReadOptions { skip_rows: 2, ..ReadOptions::default() });
    assert_eq!(samples, [5.0, 2.0, 1.0, 4.0, 2.0, 9.0]);
    assert!(!notes.contains("begin with text"), "{notes}");
}

#[test]
fn columns_of_times_are_no_channels_and_have_to_be_even() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.csv");
    let read = |text: &str, options: &ReadOptions| {
        fs::write(&path, text).unwrap();
        noted(&path, options)
    };
    let timed = |title: &str, step: f64| {
        table(&format!("{title},x,y\n"), |index, x, y| format!("{},{x},{y}", index as f64 * step))
    };
    let plain = ReadOptions::default();
    for (title, step, rate) in [
        ("Time(s)", 0.01, 100.0),
        ("t [s]", 0.01, 100.0),
        ("time_ms", 10.0, 100.0),
        ("Elapsed (s)", 0.5, 2.0),
        ("t", 1.0, 1.0),
    ] {
        let (samples, layout, _) = read(&timed(title, step), &plain);
        assert_eq!((samples.len(), layout.channels), (80, 2), "{title}");
        assert!((layout.rate.unwrap() / rate - 1.0).abs() < 1e-9, "{title}: {:?}", layout.rate);
    }
    let given = ReadOptions { rate: Some(100.0), ..ReadOptions::default() };
    for title in ["timestamp", "# time", "t"] {
        let (samples, layout, notes) = read(&timed(title, 0.01), &given);
        assert_eq!((samples.len(), layout.rate), (80, Some(100.0)), "{title}");
        assert!(notes.contains("holds times and is left out"), "{notes}");
    }
    // A column that has another meaning.
    let (samples, layout, notes) = read(&table("x,t\n", |_, x, y| format!("{x},{y}")), &given);
    assert_eq!((samples, layout.channels), (values(80), 2));
    assert!(notes.contains("column `t` does not rise"), "{notes}");
    let column = ReadOptions { time_column: Some("when".into()), ..ReadOptions::default() };
    assert_eq!(read(&timed("when", 0.125), &column).1.rate, Some(8.0));
    let skipped = ReadOptions { skip_rows: 2, ..ReadOptions::default() };
    assert_eq!(read(&format!("Device,1\nSerial,2\n{}", timed("time", 0.25)), &skipped).1.rate, Some(4.0));
    for change in [|index: usize| 10 * index + 6 * usize::from(index > 20), |index| index % 30, |index| index / 10] {
        fs::write(&path, table("time,x,y\n", |index, x, y| format!("{},{x},{y}", change(index)))).unwrap();
        assert!(problem(&path).contains("are not evenly spaced"), "{}", problem(&path));
        assert_eq!(noted(&path, &given).0, values(80));
    }
    // Behind the rows that are read first.
    let late = (0..3000).map(|row| format!("{},1\n", row - i32::from(row > 2000) * 50)).collect::<String>();
    fs::write(&path, format!("time,x\n{late}")).unwrap();
    assert!(problem(&path).contains("from row 2001 to 2002"), "{}", problem(&path));
}

#[test]
fn units_of_times_stand_anywhere_in_titles_and_below_them() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.csv");
    let read = |titles: &str, units: Option<f64>| {
        let rows = table(&format!("{titles}\n"), |index, x, y| format!("{},{x},{y}", 5 * index));
        fs::write(&path, rows).unwrap();
        let (samples, layout, notes) = noted(&path, &ReadOptions { units, ..ReadOptions::default() });
        assert_eq!(samples, values(80), "{titles}");
        (layout.rate, notes)
    };
    for (titles, rate) in [
        ("Time (ms) since start,x,y", 200.0),
        ("\"Elapsed time, ms (relative)\",x,y", 200.0),
        ("Time (hours),x,y", 1.0 / 18_000.0),
        ("Time,Force,Force\nhours,kN,kN", 1.0 / 18_000.0),
        ("Time,x,y\n(ms),V,V", 200.0),
    ] {
        let (found, notes) = read(titles, None);
        assert!((found.unwrap() / rate - 1.0).abs() < 1e-9 && notes.is_empty(), "{titles}: {found:?} {notes}");
    }
    // Not taken for seconds.
    for titles in ["Time (weeks),x,y", "Time,x,y\nweeks,V,V"] {
        let (found, notes) = read(titles, None);
        assert_eq!(found, None, "{titles}");
        assert!(notes.contains("column `Time") && notes.contains("times of an unknown unit: give --units"), "{notes}");
        assert_eq!(read(titles, Some(1e-3)).0, Some(200.0), "{titles}");
    }
}

#[test]
fn signals_whose_titles_begin_as_those_of_times_do_are_channels() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.csv");
    let given = ReadOptions { rate: Some(100.0), ..ReadOptions::default() };
    for titles in ["First sensor (g),Second sensor (g)", "Time-averaged velocity (m/s),Sec. voltage (V)"] {
        fs::write(&path, table(&format!("{titles}\n"), |_, x, y| format!("{x},{y}"))).unwrap();
        let (samples, layout, notes) = noted(&path, &given);
        assert_eq!((samples, layout.titles.join(",").as_str(), notes.as_str()), (values(80), titles, ""));
    }
    fs::write(&path, table("Second,First\ng,g\n", |_, x, y| format!("{x},{y}"))).unwrap();
    let (samples, _, notes) = noted(&path, &given);
    assert!(samples == values(80) && notes.contains("`Second` does not rise as times do"), "{notes}");
    // Its values do rise.
    fs::write(&path, table("t,x\n", |index, x, _| format!("{index},{x} V"))).unwrap();
    let notes = noted(&path, &given).2;
    assert!(notes.contains("column `t` is the only one of numbers: it is a channel"), "{notes}");
    fs::write(&path, "x,x,y\n1,2,3\n4,5,6\n").unwrap();
    let named = |name: &str| open_with(&path, &ReadOptions { channels: vec![name.into()], ..ReadOptions::default() });
    let message = named("x").err().unwrap().to_string();
    assert_eq!(message, "it has several channels `x`: give a number");
    assert!(named("1").is_ok() && named("y").is_ok());
    // The column that is named is one of two.
    let named = ReadOptions { time_column: Some("seconds_elapsed".into()), ..ReadOptions::default() };
    fs::write(&path, table("time,seconds_elapsed,x\n", |index, x, _| format!("{index}000,{index},{x}"))).unwrap();
    let (_, layout, notes) = noted(&path, &named);
    assert_eq!((layout.rate, layout.titles), (Some(1.0), vec!["x".to_owned()]));
    assert_eq!(notes, "column `time` holds times, too, and is left out");
}

/// Whether samples are those expected, NaN where those are.
fn are_same(found: &[f32], expected: &[f32]) -> bool {
    found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| a == b || a.is_nan() && b.is_nan())
}

#[test]
fn rows_that_are_missing_by_their_times_are_nan() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.csv");
    // Gaps of 30 rows among those that are read first, and of 2000 behind them.
    let row = |row: i32| row + 30 * i32::from(row > 20) + 2000 * i32::from(row > 2500);
    let text: String = (0..3000).map(|index| format!("{:.2},{index}\n", f64::from(row(index)) / 100.0)).collect();
    fs::write(&path, format!("Time (s),x\n{text}")).unwrap();
    let mut expected = vec![f32::NAN; 5030];
    (0..3000).for_each(|index| expected[row(index) as usize] = index as f32);
    for count in [1, 7, 1 << 14] {
        let (layout, found) = read_all(&path, count);
        assert_eq!((layout.rate, layout.length), (Some(100.0), None));
        assert!(are_same(&found, &expected), "in blocks of {count}");
    }
    assert!(are_same(&assert_noted(&path, false, "have gaps of 2030 rows, which are NaN"), &expected));
    let mut reader = open(&path).unwrap();
    let mut rest = Vec::new();
    assert_eq!(reader.skip(40).unwrap(), 40);
    while reader.read(&mut rest, 64).unwrap() > 0 {}
    assert!(are_same(&rest, &expected[40..]));
    let closed = ReadOptions { rate: Some(100.0), ..ReadOptions::default() };
    assert_eq!(noted(&path, &closed).0, (0..3000).map(|index| index as f32).collect::<Vec<_>>());
    // The rows before a line that is none come first, then its error, once.
    fs::write(&path, format!("Time (s),x\n{text}-1,5\n60,7\n")).unwrap();
    let (mut reader, mut block) = (open(&path).unwrap(), Vec::new());
    let problem = loop {
        match reader.read(&mut block, 64) {
            Ok(read) => assert!(read > 0),
            Err(problem) => break problem.to_string(),
        }
    };
    assert!(are_same(&block, &expected) && problem.contains("line 3002"), "{problem}");
}

#[test]
fn units_of_times_are_those_of_the_caller_or_seconds_with_a_note() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.csv");
    let rate = |title: &str, units: Option<f64>| {
        let rows = table(&format!("{title},x,y\n"), |index, x, y| format!("{},{x},{y}", 5 * index));
        fs::write(&path, rows).unwrap();
        let (_, layout, notes) = noted(&path, &ReadOptions { units, ..ReadOptions::default() });
        (layout.rate, layout.channels, notes)
    };
    let (found, channels, notes) = rate("time", None);
    assert_eq!((found, channels), (Some(0.2), 2));
    assert!(notes.contains("times of column `time` are taken for seconds; --units says otherwise"), "{notes}");
    for (title, units) in [("time", 1e-3), ("time_us", 1e-3), ("timestamp", 1e-3), ("n", 1e-3)] {
        let (found, channels, notes) = rate(title, Some(units));
        assert_eq!((found, channels), (Some(200.0), 2), "{title}");
        assert!(!notes.contains("taken for seconds"), "{notes}");
    }
    assert_eq!(rate("time_ms", None), (Some(200.0), 2, String::new()));
    fs::write(&path, table("x,y\n", |_, x, y| format!("{x},{y}"))).unwrap();
    let given = ReadOptions { units: Some(1.0), ..ReadOptions::default() };
    let message = open_with(&path, &given).err().unwrap().to_string();
    assert_eq!(message, "--units is for columns of times that are numbers");
    let wav = wav(&folder, 16, SampleFormat::Int);
    for (options, message) in [
        (given, "--units is for tables"),
        (ReadOptions { repair: true, ..Default::default() }, "--repair is for tables of text, miniSEED, FLAC and Ogg"),
        (ReadOptions { capture: Some(0), ..Default::default() }, "--capture is for SigMF recordings"),
    ] {
        assert_eq!(open_with(&wav, &options).err().unwrap().to_string(), message);
    }
}

#[test]
fn damaged_lines_that_are_repaired_are_nan() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.csv");
    let repair = ReadOptions { repair: true, ..ReadOptions::default() };
    let line = |index: usize, text: &str, is_timed: bool| {
        let line = |index: usize| {
            if is_timed { format!("{index},{index}.5,{index}") } else { format!("{}.5,{index}", index % 7) }
        };
        let lines = (0..2000).map(|row| if row == index || row == 1900 { text.to_owned() } else { line(row) });
        fs::write(
            &path,
            format!("{}x,y\n{}", if is_timed { "time," } else { "" }, lines.collect::<Vec<_>>().join("\n")),
        )
        .unwrap();
        noted(&path, &repair)
    };
    // A torn line, one with a cell more, one that ran into the next, zeros of a file system, among the first rows or not.
    for index in [7, 1500] {
        for (text, is_timed) in [
            ("5", false),
            ("1,2,3", false),
            ("1.5,3x", false),
            ("\0\0\0", false),
            ("5", true),
            ("\0\0\0", true),
            ("bad,1,2", true),
            ("3,1,2", true),
        ] {
            let (samples, layout, notes) = line(index, text, is_timed);
            let x = |row: usize| if is_timed { row } else { row % 7 } as f32 + 0.5;
            let at = |row: usize| if [index, 1900].contains(&row) { [f32::NAN; 2] } else { [x(row), row as f32] };
            assert!(are_same(&samples, (0..2000).map(at).collect::<Vec<_>>().as_flattened()), "{text}: {notes}");
            let losses: Vec<_> = layout.notes.iter().filter(|note| matches!(note, Note::Loss(_))).collect();
            let first =
                format!("damaged: 2 lines are no rows, and their samples are NaN; the first: line {}", index + 2);
            assert!(losses.len() == 1 && losses[0].to_string().starts_with(&first), "{notes}");
            assert!(problem(&path).contains(&format!("line {}", index + 2)), "{text}: {}", problem(&path));
        }
    }
}

#[test]
fn a_damaged_flac_file_keeps_its_times_and_says_what_is_missing() {
    let folder = TempDir::new().unwrap();
    let bytes = fs::read(fixture("stereo.flac")).unwrap();
    let path = folder.path().join("x.flac");
    let whole = read_all(&fixture("stereo.flac"), 64).1;
    let mut damaged = 0;
    for at in (bytes.len() / 2..bytes.len() - 8).step_by(7) {
        let mut file = bytes.clone();
        file[at] ^= 0x5a;
        fs::write(&path, file).unwrap();
        let (samples, layout, _) = noted(&path, &ReadOptions::default());
        let differs = samples.len() != whole.len() || samples != whole;
        damaged += usize::from(differs);
        assert!(!differs || layout.notes.iter().any(|note| matches!(note, Note::Loss(_))), "byte {at}");
        let is_in_place = samples.iter().zip(&whole).all(|(found, right)| found.is_nan() || found == right);
        assert!(is_in_place, "byte {at}");
    }
    assert!(damaged > 0);
    // A tag of another format behind the last frame.
    fs::write(&path, [&bytes[..], b"TAG", &[0; 125]].concat()).unwrap();
    assert_eq!(read_all(&path, 64).1, whole);
}

#[test]
fn complex_samples_are_pairs_of_channels() {
    let folder = TempDir::new().unwrap();
    let pairs = values(200);
    let little: Vec<u8> = pairs.iter().flat_map(|value| value.to_le_bytes()).collect();
    let path = folder.path().join("x.npy");
    fs::write(&path, array("<c8", "False", "(100,)", &little)).unwrap();
    assert_holds(&path, 2, None, &pairs);
    assert!(open(&path).unwrap().layout().is_complex);
    fs::write(&path, array("<c8", "False", "(50, 2)", &little)).unwrap();
    assert_holds(&path, 4, None, &pairs);
    // Channels one after the other.
    fs::write(&path, array("<c8", "False", "(2, 50)", &little)).unwrap();
    let (first, second) = pairs.split_at(100);
    let rows = first.chunks(2).zip(second.chunks(2)).flat_map(|(a, b)| [a[0], a[1], b[0], b[1]]).collect::<Vec<_>>();
    assert_holds(&path, 4, None, &rows);
    fs::write(&path, array("<f4", "False", "(50, 4)", &little)).unwrap();
    let iq = ReadOptions { is_complex: true, channels: vec!["1".into()], ..ReadOptions::default() };
    let (samples, layout, _) = noted(&path, &iq);
    assert!(layout.is_complex && layout.channels == 2 && layout.numbers == [1]);
    assert_eq!(samples, pairs.chunks(4).flat_map(|row| [row[2], row[3]]).collect::<Vec<_>>());
    assert_eq!(layout.centre, 0.0);
    let centred = ReadOptions { centre: Some(1e8), ..iq };
    assert_eq!(open_with(&path, &centred).unwrap().layout().centre, 1e8);
    let real = ReadOptions { is_complex: false, ..centred };
    assert_eq!(open_with(&path, &real).err().unwrap().to_string(), "--centre is for complex samples");
    let wav = wav(&folder, 16, SampleFormat::Int);
    let odd = ReadOptions { is_complex: true, ..ReadOptions::default() };
    assert!(open_with(&wav, &odd).err().unwrap().to_string().contains("3 channels, not pairs"));
}

#[test]
fn sigmf_recordings_of_every_type_are_read() {
    let folder = TempDir::new().unwrap();
    let (meta, data) = (folder.path().join("x.sigmf-meta"), folder.path().join("x.sigmf-data"));
    let describe = |global: &str, captures: &str| {
        fs::write(
            &meta,
            format!("{{\"global\": {{{global}, \"core:sample_rate\": 2.5e6}}, \"captures\": [{captures}]}}"),
        )
        .unwrap();
    };
    let pairs = values(200);
    let integers = |bits: u32, bytes: usize, offset: i64| -> Vec<u8> {
        let number = |value: &f32| {
            ((f64::from(*value) * 2f64.powi(bits as i32 - 1)) as i64 + offset).to_le_bytes()[..bytes].to_vec()
        };
        pairs.iter().flat_map(number).collect()
    };
    let floats: Vec<u8> = pairs.iter().flat_map(|value| value.to_le_bytes()).collect();
    let doubles: Vec<u8> = pairs.iter().flat_map(|value| f64::from(*value).to_be_bytes()).collect();
    for (name, bytes) in [
        ("cf32_le", floats.clone()),
        ("cf64_be", doubles),
        ("ci32_le", integers(32, 4, 0)),
        ("ci16_le", integers(16, 2, 0)),
        ("ci8", integers(8, 1, 0)),
        ("cu8", integers(8, 1, 128)),
        ("cu16_le", integers(16, 2, 1 << 15)),
    ] {
        describe(&format!("\"core:datatype\": \"{name}\""), "{\"core:sample_start\": 0, \"core:frequency\": 1e9}");
        fs::write(&data, bytes).unwrap();
        assert_holds(&meta, 2, Some(2.5e6), &pairs);
        let reader = open(&meta).unwrap();
        assert_eq!((reader.layout().is_complex, reader.layout().centre), (true, 1e9), "{name}");
    }
    // Two captures with headers of their own: 8 and 16 bytes, the second at sample 40.
    let captures =
        "{\"core:sample_start\": 0, \"core:header_bytes\": 8}, {\"core:sample_start\": 40, \"core:header_bytes\": 16}";
    describe("\"core:datatype\": \"cf32_le\"", captures);
    let (first, second) = floats.split_at(40 * 8);
    fs::write(&data, [&[7; 8], first, &[9; 16], second].concat()).unwrap();
    assert_holds(&meta, 2, Some(2.5e6), &pairs);
    describe("\"core:datatype\": \"rf32_le\", \"core:num_channels\": 2", "");
    fs::write(&data, &floats).unwrap();
    assert_holds(&meta, 2, Some(2.5e6), &pairs);
    assert!(!open(&meta).unwrap().layout().is_complex);
    describe("\"core:datatype\": \"cf32_le\"", "{\"core:sample_start\": 40}");
    assert_eq!(assert_noted(&meta, false, "40 samples per channel before its first capture"), pairs[80..]);
    // Gaps by indices in the original stream, or else by times, whose digits are within a step here.
    let gap = |captures: &str, missing: usize, note: &str| {
        describe("\"core:datatype\": \"cf32_le\"", captures);
        let expected = [&pairs[..80], &vec![f32::NAN; 2 * missing], &pairs[80..]].concat();
        let (found, layout, notes) = noted(&meta, &ReadOptions::default());
        assert!(are_same(&found, &expected) && layout.length == Some(100 + missing as u64), "{captures}: {notes}");
        assert!(notes.contains(note), "{captures}: {notes}");
    };
    let note = "gaps between its captures, 7 samples";
    gap(
        "{\"core:sample_start\": 0, \"core:global_index\": 500}, {\"core:sample_start\": 40, \"core:global_index\": 547}",
        7,
        note,
    );
    let timed = |second: &str| {
        format!(
            "{{\"core:sample_start\": 0, \"core:datetime\": \"2024-02-29T23:59:59.999990Z\"}}, \
             {{\"core:sample_start\": 40, \"core:datetime\": \"{second}\"}}"
        )
    };
    // 18.8 µs later, 47 samples at 2.5 MHz.
    gap(&timed("2024-03-01T00:00:00.0000088Z"), 7, note);
    gap(&timed("2024-03-01T00:00:00.000007Z"), 0, "");
    gap(&timed("2024-02-29T23:59:58Z"), 0, "1 of its 2 captures do not say their distance");
    gap("{\"core:sample_start\": 0}, {\"core:sample_start\": 40}", 0, "1 of its 2 captures do not say their distance");
    let index = "{\"core:sample_start\": 0, \"core:global_index\": 0}, \
                 {\"core:sample_start\": 40, \"core:global_index\": 200000000}";
    describe("\"core:datatype\": \"cf32_le\"", index);
    let message = problem(&meta);
    assert!(message.contains("199999960 samples are missing between its captures, before sample 40"), "{message}");
    // Captures at two frequencies are read one by one, or at one that is given.
    let captures = "{\"core:sample_start\": 1000, \"core:frequency\": 1e8}, {\"core:sample_start\": 1040, \"core:frequency\": 2e8}";
    describe("\"core:datatype\": \"cf32_le\", \"core:offset\": 1000", captures);
    let message = problem(&meta);
    assert!(
        message.contains("from 100000000 to 200000000 Hz: --capture N reads one of them, from 0 to 1"),
        "{message}"
    );
    for (capture, centre, samples) in [(0, 1e8, &pairs[..80]), (1, 2e8, &pairs[80..])] {
        let (found, layout, notes) = noted(&meta, &ReadOptions { capture: Some(capture), ..ReadOptions::default() });
        assert_eq!(
            (&found[..], layout.centre, layout.length),
            (samples, centre, Some(samples.len() as u64 / 2)),
            "{notes}"
        );
    }
    let message =
        open_with(&meta, &ReadOptions { capture: Some(2), ..ReadOptions::default() }).err().unwrap().to_string();
    assert!(message.contains("no capture 2 of --capture; its captures are 0 to 1"), "{message}");
    let (found, layout, _) = noted(&meta, &ReadOptions { centre: Some(5.0), ..ReadOptions::default() });
    assert_eq!((found, layout.centre), (pairs.clone(), 5.0));
    describe("\"core:datatype\": \"cx9\"", "");
    assert!(problem(&meta).contains("its samples are cx9"), "{}", problem(&meta));
}

#[test]
fn wide_samples_keep_their_digits_and_rates_are_exact() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.npy");
    let numbers: Vec<f64> = (0..100).map(|index| 1e6 + f64::from(index) * 1e-6).collect();
    let bytes: Vec<u8> = numbers.iter().flat_map(|value| value.to_le_bytes()).collect();
    fs::write(&path, array("<f8", "False", "(100L,)", &bytes)).unwrap();
    let csv = folder.path().join("x.csv");
    fs::write(&csv, numbers.iter().map(|value| format!("{value}\n")).collect::<String>()).unwrap();
    for path in [path, csv] {
        let options = ReadOptions { rate: Some(1.0 / 0.0041), ..ReadOptions::default() };
        let mut reader = open_with(&path, &options).unwrap();
        assert!(reader.layout().is_wide && reader.layout().rate == Some(1.0 / 0.0041));
        let mut block = Vec::new();
        while reader.read_wide(&mut block, 7).unwrap() > 0 {}
        assert_eq!(block, numbers);
    }
}

/// An AIFF-C file of one channel at 8 kHz, or an AIFF file where no compression is named.
fn aiff(bits: u16, count: u32, compression: &[u8], samples: &[u8]) -> Vec<u8> {
    let chunk = |name: &[u8; 4], parts: &[&[u8]]| {
        let bytes = parts.concat();
        [&name[..], &(bytes.len() as u32).to_be_bytes(), &bytes].concat()
    };
    // 8000 as an 80-bit float.
    let rate = [0x40, 0x0b, 0xfa, 0, 0, 0, 0, 0, 0, 0];
    let name = if compression.is_empty() { &[][..] } else { &[0, 0] };
    let common = chunk(b"COMM", &[&[0, 1], &count.to_be_bytes(), &bits.to_be_bytes(), &rate, compression, name]);
    let form = if compression.is_empty() { b"AIFF" } else { b"AIFC" };
    chunk(b"FORM", &[form, &common, &chunk(b"SSND", &[&[0; 8], samples])])
}

#[test]
fn aiff_samples_of_32_and_64_bits_keep_their_digits() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.aiff");
    let integers: Vec<i32> = (0..100).map(|index| 1_000_000_000 + index).collect();
    let floats: Vec<f64> = (0..100).map(|index| 0.5 + f64::from(index) * 1e-12).collect();
    let bytes: Vec<u8> = integers.iter().flat_map(|value| value.to_be_bytes()).collect();
    let scaled = integers.iter().map(|value| f64::from(*value) / 2_147_483_648.0).collect();
    let float_bytes: Vec<u8> = floats.iter().flat_map(|value| value.to_be_bytes()).collect();
    let files = [(aiff(32, 100, b"", &bytes), scaled), (aiff(64, 100, b"fl64", &float_bytes), floats)];
    for (file, expected) in files {
        fs::write(&path, file).unwrap();
        let mut reader = open(&path).unwrap();
        assert!(reader.layout().is_wide);
        let mut block = Vec::new();
        while reader.read_wide(&mut block, 7).unwrap() > 0 {}
        assert_eq!(block, expected);
    }
}

/// A CAF file of two channels of 16-bit samples at 8 kHz, whose header announces so many bytes of samples.
fn caf(announced: i64, samples: &[u8]) -> Vec<u8> {
    caf_of(b"lpcm", [4, 1, 2, 16], announced, samples)
}

/// A CAF file of a format, with its bytes and samples per packet, channels and bits.
fn caf_of(format: &[u8; 4], numbers: [u32; 4], announced: i64, samples: &[u8]) -> Vec<u8> {
    let chunk = |name: &[u8], length: i64, parts: &[&[u8]]| [name, &length.to_be_bytes(), &parts.concat()].concat();
    let little_endian = [0, 0, 0, 2];
    let numbers: Vec<u8> = numbers.iter().flat_map(|number| number.to_be_bytes()).collect();
    let description = chunk(b"desc", 32, &[&8000f64.to_be_bytes(), format, &little_endian, &numbers]);
    [&b"caff\0\x01\0\0"[..], &description, &chunk(b"data", announced, &[&[0; 4], samples])].concat()
}

#[test]
fn truncated_aiff_and_caf_files_are_read_as_far_as_they_go() {
    let folder = TempDir::new().unwrap();
    let (path, all) = (folder.path().join("x.aiff"), values(200));
    let big: Vec<u8> = all.iter().flat_map(|value| ((value * 32_768.0) as i16).to_be_bytes()).collect();
    let little: Vec<u8> = all.iter().flat_map(|value| ((value * 32_768.0) as i16).to_le_bytes()).collect();
    let whole = aiff(16, 200, b"", &big);
    fs::write(&path, &whole).unwrap();
    assert_holds(&path, 1, Some(8000.0), &all);
    fs::write(&path, &whole[..whole.len() - 5]).unwrap();
    assert_eq!(assert_noted(&path, true, "announces 408 bytes of samples, the file holds 403"), all[..197]);
    // SoX writes into a pipe as many as there may be.
    let mut piped = whole.clone();
    let at = piped.windows(4).position(|name| name == b"SSND").unwrap();
    piped[at + 4..at + 8].copy_from_slice(&[0x7f, 0, 0, 8]);
    fs::write(&path, &piped).unwrap();
    assert_eq!(noted(&path, &ReadOptions::default()).2, "");
    assert_holds(&path, 1, Some(8000.0), &all);
    // Zeros have no chunks.
    fs::write(&path, vec![0; 1 << 20]).unwrap();
    assert!(!problem(&path).is_empty());
    let path = folder.path().join("x.caf");
    // Samples up to the end of the file are not truncated.
    for announced in [404, -1] {
        fs::write(&path, caf(announced, &little)).unwrap();
        assert_holds(&path, 2, Some(8000.0), &all);
        assert_eq!(noted(&path, &ReadOptions::default()).2, "", "{announced}");
    }
    fs::write(&path, caf(404, &little[..395])).unwrap();
    assert_eq!(assert_noted(&path, true, "announces 404 bytes of samples, the file holds 399"), all[..196]);
}

#[test]
fn companded_samples_of_caf_are_those_of_raw_files() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.caf");
    let bytes: Vec<u8> = (0..=255).collect();
    for (name, numbers) in [(b"alaw", NumberFormat::A_LAW), (b"ulaw", NumberFormat::MU_LAW)] {
        let mut expected = Vec::new();
        numbers.decode_samples(&bytes, &mut expected);
        // libsndfile writes 8 bits, ffmpeg none.
        for bits in [8, 0] {
            fs::write(&path, caf_of(name, [1, 1, 1, bits], 260, &bytes)).unwrap();
            assert_holds(&path, 1, Some(8000.0), &expected);
        }
    }
}

#[test]
fn a_flac_file_without_a_length_that_ends_inside_a_frame_is_truncated() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.flac");
    let mut bytes = fs::read(fixture("stereo.flac")).unwrap();
    // The number of samples has 36 bits.
    bytes[21] &= 0xf0;
    bytes[22..26].fill(0);
    fs::write(&path, &bytes).unwrap();
    assert_holds(&path, 2, Some(8000.0), &values(2000));
    assert_eq!(noted(&path, &ReadOptions::default()).2, "");
    fs::write(&path, &bytes[..bytes.len() - 10]).unwrap();
    assert!(assert_noted(&path, true, "ends inside its last frame").is_empty());
    // The only frame begins at byte 86.
    fs::write(&path, [&bytes[..], &bytes[86..600]].concat()).unwrap();
    assert_eq!(assert_noted(&path, true, "ends inside its last frame"), values(2000));
}

#[test]
fn a_file_behind_another_is_not_read_without_a_word() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.flac");
    let bytes = fs::read(fixture("frames.flac")).unwrap();
    let whole = read_all(&fixture("frames.flac"), 64).1;
    assert_eq!(whole.len(), 1000);
    fs::write(&path, bytes.repeat(2)).unwrap();
    let read = assert_noted(&path, true, "another file begins behind 960 samples, and is not read");
    assert_eq!(read, whole[..960]);
}

#[test]
fn mp4_and_caf_files_with_their_table_first_are_read_as_far_as_they_go() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.m4a");
    let bytes = fs::read(fixture("constant.m4a")).unwrap();
    let whole = read_all(&fixture("constant.m4a"), 64).1;
    assert_eq!((whole.len(), noted(&fixture("constant.m4a"), &ReadOptions::default()).2.as_str()), (20_000, ""));
    fs::write(&path, &bytes[..bytes.len() - 100]).unwrap();
    let read = assert_noted(&path, true, "announces 20000 samples per channel, 12288 were decoded");
    assert_eq!(read, whole[..12_288]);
    // Without the table: the samples begin at byte 710.
    fs::write(&path, [&bytes[..28], &bytes[710..1000]].concat()).unwrap();
    assert!(problem(&path).contains("truncated, and nothing is read without its end"), "{}", problem(&path));
    // Its table counts whole packets.
    let (samples, _, notes) = noted(&fixture("constant.caf"), &ReadOptions::default());
    assert_eq!((samples.len(), notes.as_str()), (10_400, ""));
}

/// An element of Matroska with its length.
fn sized(name: &[u8], data: &[u8]) -> Vec<u8> {
    [name, &(data.len() as u64 | (1 << 56)).to_be_bytes(), data].concat()
}

/// An element of Matroska without its length.
fn without_length(name: &[u8], data: &[u8]) -> Vec<u8> {
    [name, &[0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], data].concat()
}

/// A Matroska file of two channels of 16 bits at 8 kHz, whose segment has no length.
fn matroska(codec: &[u8], clusters: &[u8]) -> Vec<u8> {
    matroska_of(codec, clusters, without_length, &[])
}

/// A Matroska file with a segment with or without its length, and more elements in its information.
fn matroska_of(codec: &[u8], clusters: &[u8], segment: fn(&[u8], &[u8]) -> Vec<u8>, more: &[u8]) -> Vec<u8> {
    let audio = [sized(b"\xb5", &8000f64.to_be_bytes()), sized(b"\x9f", &[2]), sized(b"\x62\x64", &[16])].concat();
    let track = [
        sized(b"\xd7", &[1]),
        sized(b"\x73\xc5", &[1]),
        sized(b"\x83", &[2]),
        sized(b"\x86", codec),
        sized(b"\xe1", &audio),
    ]
    .concat();
    // The length of a tick in nanoseconds, and the programs that wrote the file.
    let info =
        [sized(b"\x2a\xd7\xb1", &1_000_000u32.to_be_bytes()), sized(b"\x4d\x80", b"test"), sized(b"\x57\x41", b"test")];
    let start = [
        sized(b"\x15\x49\xa9\x66", &[&info.concat()[..], more].concat()),
        sized(b"\x16\x54\xae\x6b", &sized(b"\xae", &track)),
    ]
    .concat();
    let head = sized(b"\x1a\x45\xdf\xa3", &sized(b"\x42\x82", b"matroska"));
    [&head[..], &segment(b"\x18\x53\x80\x67", &[&start[..], clusters].concat())].concat()
}

#[test]
fn matroska_files_without_lengths_are_whole_or_end_inside_an_element() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.mka");
    let all = values(400);
    let block = |samples: &[f32]| {
        let samples = samples.iter().flat_map(|value| ((value * 32_768.0) as i16).to_le_bytes()).collect::<Vec<_>>();
        sized(b"\xa3", &[&[0x81, 0, 0, 0x80][..], &samples].concat())
    };
    let cluster = |samples: &[f32]| [sized(b"\xe7", &[0]), block(&samples[..100]), block(&samples[100..])].concat();
    let name = b"\x1f\x43\xb6\x75";
    for clusters in [
        [without_length(name, &cluster(&all[..200])), without_length(name, &cluster(&all[200..]))].concat(),
        [sized(name, &cluster(&all[..200])), sized(name, &cluster(&all[200..]))].concat(),
    ] {
        let file = matroska(b"A_PCM/INT/LIT", &clusters);
        fs::write(&path, &file).unwrap();
        assert_holds(&path, 2, Some(8000.0), &all);
        assert_eq!(noted(&path, &ReadOptions::default()).2, "");
        fs::write(&path, &file[..file.len() - 3]).unwrap();
        assert_eq!(assert_noted(&path, true, "it ends before its samples do"), all[..300]);
    }
}

#[test]
fn matroska_files_with_lengths_are_read_as_far_as_they_go_and_keep_their_times() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.mka");
    let all = values(1600);
    // Blocks of 80 samples, 10 ms.
    let block = |number: usize| {
        let samples = all[160 * number..160 * (number + 1)].iter().map(|value| (value * 32_768.0) as i16);
        let samples: Vec<u8> = samples.flat_map(i16::to_le_bytes).collect();
        sized(b"\xa3", &[&[0x81, 0, 10 * number as u8, 0x80][..], &samples].concat())
    };
    let cluster = |numbers: &[usize]| {
        let blocks: Vec<u8> = numbers.iter().flat_map(|number| block(*number)).collect();
        sized(b"\x1f\x43\xb6\x75", &[sized(b"\xe7", &[0]), blocks].concat())
    };
    let duration = sized(b"\x44\x89", &100f64.to_be_bytes());
    let file = |numbers: &[usize]| {
        // An index in front of the samples leads to one behind them.
        let place = [sized(b"\x53\xab", b"\x1c\x53\xbb\x6b"), sized(b"\x53\xac", &[0x0f, 0xff])].concat();
        let index = sized(b"\x11\x4d\x9b\x74", &sized(b"\x4d\xbb", &place));
        let clusters = [index, cluster(numbers)].concat();
        matroska_of(b"A_PCM/INT/LIT", &clusters, sized, &duration)
    };
    let whole = file(&(0..10).collect::<Vec<_>>());
    fs::write(&path, &whole[..whole.len() - 3]).unwrap();
    assert_eq!(assert_noted(&path, true, "it ends before its samples do"), all[..1440]);
    // Blocks that are lost inside, and up to the end.
    let indexed = |numbers: &[usize]| matroska_of(b"A_PCM/INT/LIT", &cluster(numbers), sized, &duration);
    fs::write(&path, indexed(&[0, 1, 4, 5, 6, 7, 8, 9])).unwrap();
    let expected = [&all[..320], &[f32::NAN; 320], &all[640..]].concat();
    assert!(are_same(&assert_noted(&path, true, "160 samples per channel are missing, and are NaN"), &expected));
    let long = sized(b"\x44\x89", &5000f64.to_be_bytes());
    fs::write(&path, matroska_of(b"A_PCM/INT/LIT", &cluster(&[0, 1, 2]), sized, &long)).unwrap();
    assert_eq!(assert_noted(&path, true, "announces 40000 samples per channel, 240 were decoded"), all[..480]);
}

#[test]
fn the_delay_of_an_encoder_in_a_container_is_noted() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.mka");
    let block = sized(b"\xa3", &[0x81, 0, 0, 0x80, 0, 0, 0, 0]);
    let cluster = sized(b"\x1f\x43\xb6\x75", &[sized(b"\xe7", &[0]), block].concat());
    for (codec, notes) in [("A_MPEG/L3", 1), ("A_PCM/INT/LIT", 0)] {
        fs::write(&path, matroska(codec.as_bytes(), &cluster)).unwrap();
        let found = open(&path).unwrap().layout().notes.clone();
        assert_eq!(found.len(), notes, "{found:?}");
        assert!(found.iter().all(|note| note.to_string().contains("times are late by")), "{found:?}");
    }
}

#[test]
fn an_mp3_file_with_fewer_frames_than_its_header_announces_is_truncated() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.mp3");
    // Silence: frames of 128 kbit/s at 44.1 kHz, of which the first is the header.
    let mut frame = [0; 417];
    frame[..4].copy_from_slice(&[0xff, 0xfb, 0x90, 0]);
    let mut header = frame;
    edit(&mut header, &[(36, "Info"), (48, "Lavc")]);
    header[43] = 1;
    header[47] = 40;
    let mp3 = |frames: usize| [&header[..], &frame.repeat(frames)].concat();
    fs::write(&path, mp3(40)).unwrap();
    let (_, layout, notes) = noted(&path, &ReadOptions::default());
    assert!(layout.notes.is_empty(), "{notes}");
    fs::write(&path, mp3(20)).unwrap();
    // The delay of the decoder, 529 samples, is left out.
    assert_noted(&path, true, &format!("announces {} samples", 40 * 1152 - 529));
    // Two files, and one without a header.
    fs::write(&path, mp3(40).repeat(2)).unwrap();
    let read = assert_noted(&path, true, "another file begins behind");
    // Two channels.
    assert_eq!(read.len(), 2 * (40 * 1152 - 529));
    // The first frames, of 192 kbit/s, are longer than others.
    let mut long = vec![0; 626];
    long[..4].copy_from_slice(&[0xff, 0xfb, 0xb0, 0]);
    fs::write(&path, [long.repeat(20), frame.repeat(40)].concat()).unwrap();
    assert_eq!(noted(&path, &ReadOptions::default()).0.len(), 2 * 60 * 1152);
}

#[test]
fn adpcm_in_wav_is_decoded() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.wav");
    // A block of the IMA's ADPCM of a channel: the first sample, 1000, step 16 of the table, and codes 4, 12, 0 and 8 of
    // differences, by which the step rises by two places, or falls by one: 34, 41, 50, 45.
    let block = [&1000i16.to_le_bytes()[..], &[16, 0], &[0xc4, 0x80, 0, 0]].concat();
    let chunk = |name: &[u8; 4], bytes: &[u8]| [&name[..], &(bytes.len() as u32).to_le_bytes(), bytes].concat();
    let shorts = |numbers: &[u16]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<_>>();
    let format = [shorts(&[0x11, 1]), [8000u32, 8000].map(u32::to_le_bytes).concat(), shorts(&[8, 4, 2, 9])].concat();
    let chunks = [chunk(b"fmt ", &format), chunk(b"fact", &9u32.to_le_bytes()), chunk(b"data", &block)].concat();
    fs::write(&path, chunk(b"RIFF", &[b"WAVE", &chunks[..]].concat())).unwrap();
    let (samples, layout, notes) = noted(&path, &ReadOptions::default());
    assert_eq!((samples.len(), layout.rate, notes.as_str()), (9, Some(8000.0), ""));
    let mut expected = vec![1000i32];
    for (code, step) in [(4, 34), (12, 41), (0, 50), (8, 45)] {
        let difference = step / 8 + if code & 4 > 0 { step } else { 0 };
        expected.push(expected[expected.len() - 1] + if code & 8 > 0 { -difference } else { difference });
    }
    let found: Vec<i32> = samples[..5].iter().map(|sample| (sample * 32_768.0) as i32).collect();
    assert_eq!(found, expected);
    // Two blocks, of which the file ends within the second one.
    let twice =
        [chunk(b"fmt ", &format), chunk(b"fact", &18u32.to_le_bytes()), chunk(b"data", &block.repeat(2))].concat();
    let whole = chunk(b"RIFF", &[b"WAVE", &twice[..]].concat());
    fs::write(&path, &whole[..whole.len() - 5]).unwrap();
    assert_noted(&path, true, "announces 16 bytes of samples, the file holds 11");
    assert_eq!(noted(&path, &ReadOptions::default()).0[..9], samples);
}

#[cfg(unix)]
#[test]
fn folders_and_devices_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let device = folder.path().join("zeros.csv");
    std::os::unix::fs::symlink("/dev/zero", &device).unwrap();
    let named = folder.path().join("folder.wav");
    std::fs::create_dir(&named).unwrap();
    for path in [device, named] {
        assert!(matches!(open(&path), Err(RecordingProblem::NotAFile)), "{}", path.display());
    }
}

#[test]
fn raw_samples_have_a_named_format() {
    for (name, bytes, samples) in [
        ("s16", vec![0, 0x40, 0, 0xc0], [0.5, -0.5]),
        ("s16be", vec![0x40, 0, 0xc0, 0], [0.5, -0.5]),
        ("u8", vec![192, 64], [0.5, -0.5]),
        ("s24le", vec![0, 0, 0x40, 0, 0, 0xc0], [0.5, -0.5]),
        ("f32be", [3.5f32.to_be_bytes(), (-1f32).to_be_bytes()].concat(), [3.5, -1.0]),
    ] {
        let format: NumberFormat = name.parse().unwrap();
        // A byte that is not a whole sample is left out.
        let mut reader = RawReader::new(&bytes[..], format, 2, 10.0);
        let mut block = Vec::new();
        assert_eq!(reader.read(&mut block, 100).unwrap(), 1, "{name}");
        assert_eq!(block, samples, "{name}");
        assert_eq!(format.to_string().trim_end_matches("le"), name.trim_end_matches("le"));
    }
    assert!("i16".parse::<NumberFormat>().unwrap_err().to_string().contains("s16"));
}
