//! WFDB records of PhysioNet: a header of text, and files of signals (WFDB Applications Guide, header(5) and signal(5)).

use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use super::parts::{Calibration, Chunks, Part, PartsReader};
use super::raw::{NumberFormat, read_full};
use super::{Format, RecordingLayout, open_data, read_header};
use crate::error::Result;

/// Sample rate of a record that states none, and units per millivolt of a signal that is not calibrated.
const DEFAULT_RATE: f64 = 250.0;
const DEFAULT_GAIN: f64 = 200.0;
/// Largest header that is read, in bytes, and largest number of signals.
const MOST_BYTES: u64 = 1 << 22;
const MOST_SIGNALS: usize = 4096;
/// Bytes of packed samples that are read at a time.
const PACKED_BYTES: usize = 3 << 12;

/// Signal of a record, as its line of the header says.
struct Signal<'a> {
    file: &'a str,
    format: u16,
    byte_offset: u64,
    calibration: Calibration,
    unit: &'a str,
    label: String,
}

/// Opens the record that a `.hea` file describes.
pub(super) fn open(path: &Path) -> Result<PartsReader> {
    let problem = |reason: String| Format::Wfdb.problem(reason);
    let text = String::from_utf8_lossy(&read_header(path, MOST_BYTES, Format::Wfdb)?).into_owned();
    let mut lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let record: Vec<&str> = lines.next().unwrap_or_default().split_whitespace().collect();
    let field = |place: usize| record.get(place).copied();
    if field(0).is_some_and(|name| name.contains('/')) {
        return Err(problem("it has several segments, which are records of their own: read those".into()));
    }
    let count = field(1).and_then(|count| count.parse().ok()).filter(|count| *count <= MOST_SIGNALS);
    let count = count.ok_or_else(|| problem("its first line has no number of signals".into()))?;
    // The rate of a counter follows behind a slash.
    let rate = field(2).map_or(Some(DEFAULT_RATE), |rate| rate.split('/').next()?.parse().ok());
    let announced: u64 = field(3).and_then(|length| length.parse().ok()).unwrap_or(0);
    let signals: Vec<Signal<'_>> = lines.take(count).map(signal).collect::<Result<_, _>>().map_err(problem)?;
    if signals.len() < count {
        return Err(problem(format!("it has {count} signals, and describes {}", signals.len())));
    }
    let mut layout = RecordingLayout { rate: rate.filter(|rate| *rate > 0.0), ..RecordingLayout::default() };
    let (mut parts, mut length) = (Vec::new(), u64::MAX);
    // Signals of one file stand behind each other in the header, and interleaved in the file.
    for group in signals.chunk_by(|a, b| a.file == b.file) {
        let (numbers, bits) = match group[0].format {
            16 => (NumberFormat::signed(2), 16),
            61 => (NumberFormat::signed(2).in_order(true), 16),
            24 => (NumberFormat::signed(3), 24),
            32 => (NumberFormat::signed(4), 32),
            80 => (NumberFormat::unsigned(1), 8),
            160 => (NumberFormat::unsigned(2), 16),
            212 => (NumberFormat::signed(2), 12),
            other => {
                return Err(problem(format!(
                    "its samples have format {other} (accepted: 16, 24, 32, 61, 80, 160 and 212)"
                )));
            }
        };
        if group.iter().any(|signal| signal.format != group[0].format) {
            return Err(problem(format!("signals of {} have several formats", group[0].file)));
        }
        let mut file = open_data(path, group[0].file, Format::Wfdb)?;
        let bytes = file.metadata()?.len().saturating_sub(group[0].byte_offset);
        file.seek(SeekFrom::Start(group[0].byte_offset))?;
        // Two samples of 12 bits take three bytes; of an odd one at the end, two.
        let samples = bytes.saturating_mul(8) / bits;
        length = length.min(samples / group.len() as u64);
        let file = BufReader::with_capacity(1 << 16, file);
        // Unsigned formats have their zero in the middle, and the least number stands for a missing sample.
        let zero = if matches!(group[0].format, 80 | 160) { (1u64 << (bits - 1)) as f64 } else { 0.0 };
        let least = zero - (1u64 << (bits - 1)) as f64;
        let channel = |signal: &Signal<'_>| {
            let Calibration { gain, offset, .. } = signal.calibration;
            Calibration { gain, offset: offset - zero * gain, missing: Some(least) }
        };
        parts.push(Part {
            stream: if group[0].format == 212 { Box::new(unpacked(file)) } else { Box::new(file) },
            numbers,
            channels: group.iter().map(channel).collect(),
        });
    }
    layout.titles = signals.iter().map(|signal| signal.label.clone()).collect();
    layout.units = signals.iter().map(|signal| signal.unit.to_owned()).collect();
    if announced > length {
        layout
            .lost(format!("truncated: the header announces {announced} samples per channel, the files hold {length}"));
    } else if announced > 0 {
        length = announced;
    }
    PartsReader::new(Format::Wfdb, parts, if signals.is_empty() { 0 } else { length }, layout)
}

/// The signal of a line: `file format gain(baseline)/units resolution zero initial checksum block description`.
fn signal(line: &str) -> Result<Signal<'_>, String> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let (Some(file), Some(format)) = (fields.first(), fields.get(1)) else {
        return Err(format!("a signal is described by `{line}`"));
    };
    let (format, byte_offset) = format.split_once('+').unwrap_or((format, "0"));
    if let Some(sign) = format.chars().find(|sign| matches!(sign, 'x' | ':')) {
        let what = if sign == 'x' { "samples of another rate" } else { "a skew" };
        return Err(format!("a signal of {file} has {what} (format {format}), which is not read"));
    }
    let number = |place: usize| fields.get(place).and_then(|number| number.parse::<f64>().ok());
    let (gain, unit) = fields.get(2).map_or(("", "mV"), |gain| gain.split_once('/').unwrap_or((gain, "mV")));
    let (gain, baseline) = gain.split_once('(').unwrap_or((gain, ""));
    let gain =
        if gain.is_empty() { 0.0 } else { gain.parse().map_err(|_| format!("a signal has the gain `{gain}`"))? };
    let gain = if gain == 0.0 { DEFAULT_GAIN } else { gain };
    let baseline = baseline.trim_end_matches(')').parse().ok().or_else(|| number(4)).unwrap_or(0.0);
    Ok(Signal {
        file,
        format: format.parse().map_err(|_| format!("a signal has the format `{format}`"))?,
        byte_offset: byte_offset.parse().map_err(|_| format!("a signal begins at byte `{byte_offset}`"))?,
        calibration: Calibration { gain: 1.0 / gain, offset: -baseline / gain, missing: None },
        unit,
        label: fields.get(8..).unwrap_or_default().join(" "),
    })
}

/// Samples of 12 bits, of which two are packed into three bytes, as ones of 16 bits.
fn unpacked(mut input: impl Read) -> impl Read {
    Chunks::new(move || {
        let mut packed = vec![0; PACKED_BYTES];
        let read = read_full(&mut input, &mut packed)?;
        let sample = |low: u8, high: u8| ((i16::from_le_bytes([low, high]) << 4) >> 4).to_le_bytes();
        let mut samples = Vec::with_capacity(2 * packed.len());
        for bytes in packed[..read].chunks(3) {
            if let [low, middle, ..] = *bytes {
                samples.extend(sample(low, middle & 15));
            }
            if let [_, middle, second] = *bytes {
                samples.extend(sample(second, middle >> 4));
            }
        }
        Ok(samples)
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::SampleReader;
    use super::super::tests::{assert_holds, problem};
    use super::*;

    /// Numbers within 8 bits, of two signals.
    fn numbers() -> Vec<i32> {
        (0..202).map(|index| index * 37 % 255 - 127).collect()
    }

    fn packed(numbers: &[i32]) -> Vec<u8> {
        let pair = |pair: &[i32]| {
            let second = pair.get(1).copied().unwrap_or(0);
            [pair[0] as u8, (pair[0] >> 8 & 15) as u8 | ((second >> 8 & 15) << 4) as u8, second as u8]
        };
        numbers.chunks(2).flat_map(pair).collect()
    }

    #[test]
    fn records_of_every_format_are_in_physical_units() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.hea");
        let all = numbers();
        let bytes = |number: fn(&i32) -> Vec<u8>| all.iter().flat_map(number).collect::<Vec<u8>>();
        let expected: Vec<f32> = all
            .iter()
            .enumerate()
            .map(|(at, number)| match at % 2 {
                0 => *number as f32 / 8.0,
                _ => (*number as f32 - 3.0) / 2.0,
            })
            .collect();
        for (format, bytes) in [
            ("16", bytes(|number| (*number as i16).to_le_bytes().to_vec())),
            ("61", bytes(|number| (*number as i16).to_be_bytes().to_vec())),
            ("24", bytes(|number| number.to_le_bytes()[..3].to_vec())),
            ("32", bytes(|number| number.to_le_bytes().to_vec())),
            ("80", bytes(|number| vec![(number + 128) as u8])),
            ("160", bytes(|number| ((number + (1 << 15)) as u16).to_le_bytes().to_vec())),
            ("212", packed(&all)),
            ("16+5", [vec![9; 5], bytes(|number| (*number as i16).to_le_bytes().to_vec())].concat()),
        ] {
            let text = format!(
                "# written by a test\nx 2 360/360 101\nx.dat {format} 8 12 0 0 0 0 MLII\nx.dat {format} 2(3)/V\n"
            );
            fs::write(&path, text).unwrap();
            fs::write(path.with_extension("dat"), bytes).unwrap();
            assert_holds(&path, 2, Some(360.0), &expected);
        }
        let layout = open(&path).unwrap().layout().clone();
        assert_eq!(
            (&layout.titles[..], &layout.units[..]),
            (&["MLII".into(), String::new()][..], &["mV".into(), "V".into()][..])
        );
    }

    #[test]
    fn signals_of_several_files_missing_samples_and_defaults() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.hea");
        fs::write(&path, "x 2\na.dat 212 0(100)\nb.dat 16 100 16 50\n").unwrap();
        fs::write(folder.path().join("a.dat"), packed(&[300, -2048, 100])).unwrap();
        fs::write(folder.path().join("b.dat"), [250i16, 50, -150].map(i16::to_le_bytes).concat()).unwrap();
        let mut reader = open(&path).unwrap();
        let mut block: Vec<f32> = Vec::new();
        assert_eq!((reader.layout().rate, reader.read(&mut block, 9).unwrap()), (Some(250.0), 3));
        assert!(block[2].is_nan());
        assert_eq!((&block[..2], &block[3..]), (&[1.0, 2.0][..], &[0.0, 0.0, -2.0][..]));
    }

    #[test]
    fn damaged_headers_are_refused_and_missing_samples_are_a_loss() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.hea");
        fs::write(path.with_extension("dat"), [0; 40]).unwrap();
        for (text, message) in [
            ("", "no number of signals"),
            ("x/2 2 360\n", "several segments"),
            ("x 2 360 10\nx.dat 16\n", "describes 1"),
            ("x 1 360 10\nx.dat 8\n", "format 8 (accepted"),
            ("x 1 360 10\nx.dat 16x4\n", "samples of another rate"),
            ("x 1 360 10\nx.dat 16 y\n", "the gain `y`"),
            ("x 1 360 10\nnone.dat 16\n", "none.dat: "),
            ("x 0 360 10\n", "no samples"),
        ] {
            fs::write(&path, text).unwrap();
            assert!(problem(&path).contains(message), "{}", problem(&path));
        }
        fs::write(&path, "x 1 360 21\nx.dat 16\n").unwrap();
        let layout = open(&path).unwrap().layout().clone();
        assert_eq!(layout.length, Some(20));
        assert!(layout.notes[0].to_string().contains("announces 21 samples per channel, the files hold 20"));
    }
}
