//! SigMF recordings of radio signals: a file of samples, and one of JSON that describes it (Signal Metadata Format 1.2).

use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::gaps::{instant, with_gaps};
use super::parts::Ranges;
use super::raw::{NumberFormat, RawReader};
use super::{Format, ReadOptions, SampleReader, open_data, open_file};
use crate::error::{RecordingProblem, Result};

/// Largest description that is read.
const MOST_META_BYTES: u64 = 1 << 28;

/// Opens the recording that a `.sigmf-meta` file describes, or the capture of it that the caller names. Samples between
/// captures are NaN, by their indices in the original stream, or else by their times.
pub(super) fn open(path: &Path, options: &ReadOptions) -> Result<Box<dyn SampleReader>> {
    let problem = |reason: String| Format::SigMf.problem(reason);
    let mut text = String::new();
    open_file(path)?.take(MOST_META_BYTES).read_to_string(&mut text)?;
    let meta: Value = serde_json::from_str(&text).map_err(|error| problem(error.to_string()))?;
    let global = &meta["global"];
    let name = global["core:datatype"].as_str().ok_or_else(|| problem("it has no core:datatype".into()))?;
    let numbers =
        number_format(name).ok_or_else(|| problem(format!("its samples are {name}, which is no type of SigMF")))?;
    let channels = global["core:num_channels"].as_u64().unwrap_or(1).clamp(1, 1 << 16) as usize;
    let rate = global["core:sample_rate"].as_f64();
    let data = global["core:dataset"].as_str().map_or_else(|| path.with_extension("sigmf-data"), PathBuf::from);
    let file = open_data(path, data, Format::SigMf)?;
    let trailing = global["core:trailing_bytes"].as_u64().unwrap_or(0);
    let bytes = file.metadata()?.len().saturating_sub(trailing);
    let width = (numbers.bytes() * numbers.parts() * channels) as u64;
    let whole = [Value::Null];
    let captures = meta["captures"].as_array().filter(|captures| !captures.is_empty());
    let mut captures = captures.map_or(&whole[..], Vec::as_slice);
    // Indices count from the first sample of the file, which is a later one of a recording in several files.
    let offset = global["core:offset"].as_u64().unwrap_or(0);
    let start = |capture: &Value| capture["core:sample_start"].as_u64().unwrap_or(offset).saturating_sub(offset);
    // Every capture may have a header of its own before its samples.
    let (mut ranges, mut headers) = (Vec::new(), 0u64);
    for (place, capture) in captures.iter().enumerate() {
        let at = |capture: &Value| start(capture).saturating_mul(width);
        headers = headers.saturating_add(capture["core:header_bytes"].as_u64().unwrap_or(0));
        let end = captures.get(place + 1).map_or(u64::MAX, |next| at(next).saturating_add(headers));
        ranges.push((at(capture).saturating_add(headers), end.min(bytes)));
    }
    let left_out = start(&captures[0]);
    if let Some(number) = options.capture {
        let last = captures.len() - 1;
        captures = captures
            .get(number..=number)
            .ok_or_else(|| problem(format!("it has no capture {number} of --capture; its captures are 0 to {last}")))?;
        ranges = vec![ranges[number]];
    }
    let samples = |range: &(u64, u64)| range.1.saturating_sub(range.0) / width;
    let length: u64 = ranges.iter().map(samples).sum();
    if length == 0 {
        return Err(RecordingProblem::NoSamples);
    }
    let mut centres: Vec<f64> = captures.iter().filter_map(|capture| capture["core:frequency"].as_f64()).collect();
    centres.dedup();
    if let ([first, .., last], None) = (&centres[..], options.centre) {
        return Err(problem(format!(
            "its captures have centre frequencies from {first} to {last} Hz: --capture N reads one of them, from 0 to {}, \
             and --centre HZ all",
            captures.len() - 1
        )));
    }
    let (mut gaps, mut position, mut unknown) = (Vec::new(), 0, 0);
    for (pair, range) in captures.windows(2).zip(&ranges) {
        let missing = missing_between(&pair[0], &pair[1], samples(range), rate);
        unknown += usize::from(missing.is_none());
        position += samples(range);
        gaps.extend(missing.filter(|missing| *missing > 0.0).map(|missing| (position, missing as u64)));
    }
    let reader = RawReader::new(Ranges::new(file.into(), ranges), numbers, channels, 1.0);
    let reader = reader.with_layout(|layout| {
        (layout.rate, layout.length) = (rate, Some(length));
        layout.centre = centres.first().copied().unwrap_or(0.0);
        if left_out > 0 && options.capture.is_none() {
            layout.remark(format!("{left_out} samples per channel before its first capture are left out"));
        }
        if unknown > 0 {
            let text = "captures do not say their distance from the one before, and are read as if they followed it";
            layout.remark(format!("{unknown} of its {} {text}", captures.len()));
        }
    });
    with_gaps(reader, gaps, "captures", |_| None)
}

/// Samples that are missing between captures, of which the first has so many: by their indices or else by their times.
/// None if they do not say, or overlap. What is within the digits of the times is none that are missing.
fn missing_between(before: &Value, after: &Value, samples: u64, rate: Option<f64>) -> Option<f64> {
    let index = |capture: &Value| capture["core:global_index"].as_u64().map(i128::from);
    let time = |capture: &Value| instant(capture["core:datetime"].as_str()?);
    let (distance, error) = match (index(before), index(after)) {
        (Some(before), Some(after)) => ((after - before) as f64, 0.0),
        _ => {
            let ((before, _), (after, digit)) = (time(before)?, time(after)?);
            let per_nanosecond = rate? * 1e-9;
            (((after - before) as f64 * per_nanosecond).round(), digit as f64 * per_nanosecond + 1.0)
        }
    };
    let missing = distance - samples as f64;
    (missing >= -error).then_some(if missing > error { missing } else { 0.0 })
}

/// Format of numbers by SigMF's name of their type, such as `ci16_le`.
fn number_format(name: &str) -> Option<NumberFormat> {
    let (real, order) = name.split_once('_').unwrap_or((name, "le"));
    let numbers = match (real.get(1..2)?, real.get(2..)?) {
        ("f", bits @ ("32" | "64")) => NumberFormat::float(bits.parse::<u8>().ok()? / 8),
        ("i", bits @ ("8" | "16" | "32")) => NumberFormat::signed(bits.parse::<u8>().ok()? / 8),
        ("u", bits @ ("8" | "16" | "32")) => NumberFormat::unsigned(bits.parse::<u8>().ok()? / 8),
        _ => return None,
    };
    let numbers = matches!(order, "le" | "be").then(|| numbers.in_order(order == "be"))?;
    match real.as_bytes()[0] {
        b'c' => Some(numbers.complex()),
        b'r' => Some(numbers),
        _ => None,
    }
}
