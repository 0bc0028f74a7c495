//! BrainVision recordings of EEG: a header of text, and a file of samples (BrainVision Core Data Format 1.0).

use std::fs::File;
use std::io::{BufReader, Seek, SeekFrom};
use std::path::Path;

use super::parts::{Calibration, Part, PartsReader};
use super::raw::NumberFormat;
use super::{Format, RecordingLayout, open_data, read_header, utf8};
use crate::error::RecordingProblem;

/// Microseconds of a second, in which the header gives the distance of samples.
const MICROSECONDS: f64 = 1e6;
/// Largest header that is read, in bytes.
const MOST_BYTES: u64 = 1 << 24;
/// Largest number of channels.
const MOST_CHANNELS: usize = 1 << 16;

/// Opens the recording that a `.vhdr` file describes.
pub(super) fn open(path: &Path) -> Result<PartsReader, RecordingProblem> {
    let problem = |reason: String| Format::BrainVision.problem(reason);
    let bytes = read_header(path, MOST_BYTES, Format::BrainVision)?;
    // Older programs write the code page of Western Europe.
    let (text, _) = utf8(bytes);
    if !text.trim_start_matches('\u{feff}').starts_with("Brain") {
        return Err(problem("it does not begin with the format's name".into()));
    }
    let value = |section: &str, key: &str| value(&text, section, key);
    let required = |section, key| value(section, key).ok_or_else(|| problem(format!("its header has no {key}")));
    if required("Common Infos", "DataFormat")? != "BINARY" {
        return Err(problem("its samples are text (DataFormat): BINARY is read".into()));
    }
    let channels = required("Common Infos", "NumberOfChannels")?.parse().ok();
    let channels = channels.filter(|count| (1..=MOST_CHANNELS).contains(count));
    let channels: usize = channels.ok_or_else(|| problem("its NumberOfChannels is not one".into()))?;
    let interval: Option<f64> = required("Common Infos", "SamplingInterval")?.parse().ok();
    let numbers = match required("Binary Infos", "BinaryFormat")? {
        "INT_16" => NumberFormat::signed(2),
        "INT_32" => NumberFormat::signed(4),
        "IEEE_FLOAT_32" => NumberFormat::float(4),
        "IEEE_FLOAT_64" => NumberFormat::float(8),
        other => {
            return Err(problem(format!("its samples are {other} (accepted: INT_16, INT_32, IEEE_FLOAT_32 and _64)")));
        }
    };
    let numbers = numbers.in_order(value("Binary Infos", "UseBigEndianOrder") == Some("YES"));
    let mut layout = RecordingLayout {
        rate: interval.filter(|interval| *interval > 0.0).map(|us| MICROSECONDS / us),
        ..RecordingLayout::default()
    };
    let mut calibrations = Vec::with_capacity(channels);
    for channel in 1..=channels {
        // Name, reference, resolution and unit; \1 stands for a comma.
        let text = value("Channel Infos", &format!("Ch{channel}")).unwrap_or_default();
        let fields: Vec<String> = text.split(',').map(|field| field.trim().replace("\\1", ",")).collect();
        let field = |place: usize| fields.get(place).map_or("", String::as_str);
        let gain = match field(2) {
            "" => 1.0,
            text => text.parse().map_err(|_| problem(format!("the resolution of channel {channel} is `{text}`")))?,
        };
        calibrations.push(Calibration { gain, ..Calibration::NONE });
        layout.titles.push(field(0).to_owned());
        layout.units.push(if field(3).is_empty() { "µV".to_owned() } else { field(3).to_owned() });
    }
    let name = required("Common Infos", "DataFile")?.replace("$b", &crate::folder::stem(path));
    let opened = || open_data(path, &name, Format::BrainVision);
    let bytes = opened()?.metadata()?.len();
    let length = bytes / (channels * numbers.bytes()) as u64;
    let announced = value("Common Infos", "DataPoints").and_then(|points| points.parse::<u64>().ok());
    match announced {
        Some(announced) if announced > length => layout.truncated(announced, length),
        _ if !bytes.is_multiple_of((channels * numbers.bytes()) as u64) => {
            layout.remark("bytes at its end are not a sample of every channel and are left out");
        }
        _ => {}
    }
    if value("Common Infos", "SegmentDataPoints").is_some_and(|points| points != "0") {
        layout.remark("its segments are read as if they followed each other");
    }
    let part =
        |file: File, channels| Part { stream: Box::new(BufReader::with_capacity(1 << 16, file)), numbers, channels };
    let parts = match required("Common Infos", "DataOrientation")? {
        "MULTIPLEXED" => vec![part(opened()?, calibrations)],
        "VECTORIZED" => {
            // Each channel by itself, as long as the file says: another length would read one channel as the next.
            let vector = |(channel, calibration): (usize, &Calibration)| {
                let mut file = opened()?;
                file.seek(SeekFrom::Start(channel as u64 * announced.unwrap_or(length) * numbers.bytes() as u64))?;
                Ok(part(file, vec![*calibration]))
            };
            if announced.is_some_and(|announced| announced > length) {
                return Err(problem("it is truncated, and its channels stand one after the other".into()));
            }
            calibrations.iter().enumerate().map(vector).collect::<Result<_, RecordingProblem>>()?
        }
        other => return Err(problem(format!("its DataOrientation is {other}"))),
    };
    PartsReader::new(Format::BrainVision, parts, announced.map_or(length, |announced| announced.min(length)), layout)
}

/// The value of a key in a section of a text with lines `key=value`, if it is there and not empty.
fn value<'a>(text: &'a str, section: &str, key: &str) -> Option<&'a str> {
    let mut is_inside = false;
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            is_inside = name.eq_ignore_ascii_case(section);
        } else if let Some((found, value)) = line.split_once('=').filter(|_| is_inside && !line.starts_with(';'))
            && found.trim().eq_ignore_ascii_case(key)
        {
            return Some(value.trim()).filter(|value| !value.is_empty());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::SampleReader;
    use super::super::tests::{assert_holds, problem, values};
    use super::*;

    fn header(binary: &str, orientation: &str, more: &str) -> String {
        format!(
            "Brain Vision Data Exchange Header File Version 1.0\r\n; a comment\r\n[Common Infos]\r\nDataFile=$b.eeg\r\n\
             DataFormat=BINARY\r\nDataOrientation={orientation}\r\nNumberOfChannels=2\r\nSamplingInterval=2000\r\n{more}\
             [Binary Infos]\r\nBinaryFormat={binary}\r\n[Channel Infos]\r\nCh1=Fp1,,0.0078125,µV\r\nCh2=a\\1b,,,\r\n"
        )
    }

    #[test]
    fn samples_of_either_orientation_are_in_physical_units() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.vhdr");
        let all = values(200);
        let number = |place: usize| (all[place] * if place.is_multiple_of(2) { 128.0 } else { 1.0 }) as i16;
        // Multiples of 1/128 in the first channel, whole numbers in the second.
        let expected: Vec<f32> = (0..200)
            .map(|place| f32::from(number(place)) / if place.is_multiple_of(2) { 128.0 } else { 1.0 })
            .collect();
        let bytes = |places: &mut dyn Iterator<Item = usize>| {
            places.flat_map(|at| number(at).to_le_bytes()).collect::<Vec<_>>()
        };
        for (orientation, bytes) in [
            ("MULTIPLEXED", bytes(&mut (0..200))),
            ("VECTORIZED", bytes(&mut (0..200).step_by(2).chain((1..200).step_by(2)))),
        ] {
            fs::write(&path, header("INT_16", orientation, "DataPoints=100\r\n")).unwrap();
            fs::write(path.with_extension("eeg"), bytes).unwrap();
            assert_holds(&path, 2, Some(500.0), &expected);
        }
        let layout = open(&path).unwrap().layout().clone();
        assert_eq!(
            (&layout.titles[..], &layout.units[..]),
            (&["Fp1".into(), "a,b".into()][..], &["µV".into(), "µV".into()][..])
        );
    }

    #[test]
    fn damaged_headers_are_refused_and_missing_samples_are_a_loss() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.vhdr");
        let valid = header("IEEE_FLOAT_32", "MULTIPLEXED", "");
        fs::write(&path, &valid).unwrap();
        assert!(problem(&path).contains("x.eeg: "), "{}", problem(&path));
        fs::write(path.with_extension("eeg"), [0; 80]).unwrap();
        for (changed, message) in [
            (valid.replace("BINARY", "ASCII"), "its samples are text"),
            (valid.replace("IEEE_FLOAT_32", "UINT_8"), "its samples are UINT_8"),
            (valid.replace("Channels=2", "Channels=none"), "NumberOfChannels"),
            (valid.replace("DataFile=$b.eeg", ""), "no DataFile"),
            (valid.replace("0.0078125", "x"), "resolution of channel 1 is `x`"),
            ("EEG".to_owned(), "does not begin"),
        ] {
            fs::write(&path, changed).unwrap();
            assert!(problem(&path).contains(message), "{}", problem(&path));
        }
        fs::write(&path, header("IEEE_FLOAT_32", "MULTIPLEXED", "DataPoints=11\r\n")).unwrap();
        let layout = open(&path).unwrap().layout().clone();
        assert_eq!(layout.length, Some(10));
        assert!(layout.notes[0].to_string().contains("announces 11 samples per channel, the file holds 10"));
    }
}
