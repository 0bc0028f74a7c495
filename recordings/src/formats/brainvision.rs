//! BrainVision recordings of EEG: a header of text, and a file of samples (BrainVision Core Data Format 1.0).

use std::fs::File;
use std::io::{BufReader, Seek, SeekFrom};
use std::path::Path;

use super::gaps::{instant, with_gaps};
use super::parts::{Calibration, Part, PartsReader};
use super::raw::NumberFormat;
use super::{Format, RecordingLayout, SampleReader, open_data, read_header, utf8};
use crate::error::Result;

/// Microseconds of a second, in which the header gives the distance of samples.
const MICROSECONDS: f64 = 1e6;
/// Largest header that is read, in bytes.
const MOST_BYTES: u64 = 1 << 24;
const MOST_CHANNELS: usize = 1 << 16;

/// Opens the recording that a `.vhdr` file describes. Samples between its segments are NaN, by the dates of their markers.
pub(super) fn open(path: &Path) -> Result<Box<dyn SampleReader>> {
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
    let length = announced.map_or(length, |announced| announced.min(length));
    let gaps = value("Common Infos", "MarkerFile").map_or(Ok(Vec::new()), |name| gaps(path, name, length, layout.rate));
    let gaps = gaps.unwrap_or_else(|reason| {
        layout.remark(format!("{reason}: its segments are read as if they followed each other"));
        Vec::new()
    });
    if gaps.is_empty() && value("Common Infos", "SegmentDataPoints").is_some_and(|points| points != "0") {
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
                file.seek(SeekFrom::Start(channel as u64 * length * numbers.bytes() as u64))?;
                Ok(part(file, vec![*calibration]))
            };
            if announced.is_some_and(|announced| announced > length) {
                return Err(problem("it is truncated, and its channels stand one after the other".into()));
            }
            calibrations.iter().enumerate().map(vector).collect::<Result<_>>()?
        }
        other => return Err(problem(format!("its DataOrientation is {other}"))),
    };
    let reader = PartsReader::new(Format::BrainVision, parts, length, layout)?;
    with_gaps(reader, gaps, "segments", |_| None)
}

/// Places of segments but the first, and the samples that are missing before them by the dates of the markers `New
/// Segment`, at least one; or why they are not known.
fn gaps(path: &Path, name: &str, length: u64, rate: Option<f64>) -> Result<Vec<(u64, u64)>, String> {
    let name = name.replace("$b", &crate::folder::stem(path));
    let file = path.with_file_name(Path::new(&name).file_name().unwrap_or_default());
    let text = read_header(&file, MOST_BYTES, Format::BrainVision);
    let (text, _) = utf8(text.map_err(|error| format!("its markers, {name}, can't be read ({error})"))?);
    // Type, description, position from 1, points, channel, and date: Mk1=New Segment,,1,1,0,20240229123456000000
    let segment = |line: &str| {
        let fields: Vec<&str> = line.split_once("=New Segment,")?.1.split(',').map(str::trim).collect();
        let position = fields.get(1)?.parse::<u64>().ok()?.checked_sub(1)?;
        (position < length).then(|| (position, fields.get(4).and_then(|date| instant(date))))
    };
    let mut segments: Vec<_> = text.lines().filter_map(segment).collect();
    segments.sort_by_key(|(position, _)| *position);
    segments.dedup_by_key(|(position, _)| *position);
    let gap = |pair: &[(u64, Option<(i64, i64)>)]| {
        let (samples, (before, _), (after, _)) = ((pair[1].0 - pair[0].0) as f64, pair[0].1?, pair[1].1?);
        let missing = ((after - before) as f64 * 1e-9 * rate?).round() - samples;
        // Clocks of computers and amplifiers differ: the end of a segment may lie behind the date of the next.
        (after > before).then_some((pair[1].0, missing.max(1.0) as u64))
    };
    let found: Option<Vec<_>> = segments.windows(2).map(gap).collect();
    found.ok_or_else(|| "its segments have no dates that rise".to_owned())
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
    #[test]
    fn samples_between_segments_are_missing_by_their_dates() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.vhdr");
        fs::write(&path, header("INT_16", "MULTIPLEXED", "MarkerFile=$b.vmrk\r\n")).unwrap();
        let bytes: Vec<u8> = (0..200i16).flat_map(|number| (128 * number).to_le_bytes()).collect();
        fs::write(path.with_extension("eeg"), bytes).unwrap();
        let marked = |markers: &[(u64, &str)]| {
            let markers = markers.iter().enumerate().map(|(number, (position, date))| {
                format!("Mk{}=New Segment,,{position},1,0{date}\r\nMk{0}9=Stimulus,S1,5,1,0\r\n", number + 1)
            });
            let text = markers.collect::<String>();
            fs::write(path.with_extension("vmrk"), format!("Brain Vision\r\n[Marker Infos]\r\n{text}")).unwrap();
            let mut reader = open(&path).unwrap();
            let mut block: Vec<f32> = Vec::new();
            while reader.read(&mut block, 7).unwrap() > 0 {}
            (block, reader.layout().clone())
        };
        let note = |layout: &RecordingLayout| layout.notes.iter().map(ToString::to_string).collect::<String>();
        // 40 samples of 2 ms, then a second, 460 of which are missing; then 30 samples, behind which the clock is late.
        let dates = [(1, ",20240229235959900000"), (41, ",20240301000000900000"), (71, ",20240301000000959900")];
        let (samples, layout) = marked(&dates);
        assert_eq!((layout.length, samples.len()), (Some(561), 2 * 561));
        assert!(note(&layout).contains("gaps between its segments, 461 samples"), "{layout:?}");
        for (place, row) in samples.chunks(2).enumerate() {
            let number = match place {
                0..40 => place,
                500..=529 => place - 460,
                531.. => place - 461,
                40..=499 | 530 => {
                    assert!(row.iter().all(|sample| sample.is_nan()), "{place}: {row:?}");
                    continue;
                }
            };
            assert_eq!(row, [2.0 * number as f32, 128.0 * (2 * number + 1) as f32], "{place}");
        }
        for markers in [&[(1, ""), (41, "")][..], &[(1, dates[1].1), (41, dates[0].1)], &[dates[0], (41, ",0")]] {
            let (samples, layout) = marked(markers);
            assert_eq!((samples.len(), layout.length), (200, Some(100)));
            assert!(note(&layout).contains("no dates that rise: its segments are read as if"), "{layout:?}");
        }
        assert!(marked(&dates[..1]).1.notes.is_empty());
        fs::remove_file(path.with_extension("vmrk")).unwrap();
        let layout = open(&path).unwrap().layout().clone();
        assert!(note(&layout).contains("its markers, x.vmrk, can't be read"), "{layout:?}");
    }
}
