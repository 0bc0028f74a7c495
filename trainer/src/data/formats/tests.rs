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
    assert!(problem(&path).contains("announces 100 samples per channel, the file holds 98"));
    fs::write(&path, &bytes[..30]).unwrap();
    assert!(problem(&path).contains("ends inside its header"));
    fs::write(&path, b"hello").unwrap();
    assert!(problem(&path).contains("not a WAV file"));
    fs::write(&path, b"hello, this is a text").unwrap();
    assert!(problem(&path).contains("not a WAV file"));
    let mut adpcm = bytes.clone();
    adpcm[20..22].copy_from_slice(&[2, 0]);
    fs::write(&path, &adpcm).unwrap();
    assert!(problem(&path).contains("ADPCM (accepted: PCM of 8, 16"), "{}", problem(&path));
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
        (array("<c8", "False", "(4,)", &[0; 32]), "type <c8 (accepted"),
        (array("<f4", "False", "(2, 2, 2)", &[0; 32]), "3 dimensions"),
        (array("<f4", "False", "(99, 2)", &[0; 32]), "takes 792 bytes, it has 32"),
        (array("<f4", "False", "(99999999999, 99999999999)", &[0; 32]), "more than a file can hold"),
        (b"PK".to_vec(), "does not begin with a NumPy header"),
    ] {
        fs::write(&path, array).unwrap();
        assert!(problem(&path).contains(message), "{}", problem(&path));
    }
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
    assert!(open(&path).unwrap().layout().titles.is_empty(), "a column of values has no title");
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
        assert!(problem(&path).contains("announces 160 samples per channel, the file holds 120"));
        fs::write(&path, &edf(3, is_bdf)[..700]).unwrap();
        assert!(problem(&path).contains("ends inside its header"));
    }
}

/// A file beside this one, written by libsndfile.
fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/data/formats/fixtures").join(name)
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
    let message = problem(Path::new("x.mp3"));
    assert!(message.contains("wav, flac, ogg, edf"), "{message}");
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
