//! SigMF recordings of radio signals: a file of samples, and one of JSON that describes it (Signal Metadata Format 1.2).

use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::parts::Ranges;
use super::raw::{NumberFormat, RawReader};
use super::{Format, SampleReader, open_data, open_file};
use crate::error::RecordingProblem;

/// Largest description that is read.
const MOST_META_BYTES: u64 = 1 << 28;

/// Opens the recording that a `.sigmf-meta` file describes.
pub(super) fn open(path: &Path) -> Result<Box<dyn SampleReader>, RecordingProblem> {
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
    let captures = meta["captures"].as_array().map_or(&[][..], Vec::as_slice);
    // Every capture may have a header of its own before its samples.
    let (mut ranges, mut headers) = (Vec::new(), 0u64);
    for (place, capture) in captures.iter().enumerate() {
        let start = |capture: &Value| capture["core:sample_start"].as_u64().unwrap_or(0).saturating_mul(width);
        headers = headers.saturating_add(capture["core:header_bytes"].as_u64().unwrap_or(0));
        let end = captures.get(place + 1).map_or(u64::MAX, |next| start(next).saturating_add(headers));
        ranges.push((start(capture).saturating_add(headers), end.min(bytes)));
    }
    if ranges.is_empty() {
        ranges.push((0, bytes));
    }
    let length = ranges.iter().map(|(start, end)| end.saturating_sub(*start)).sum::<u64>() / width;
    if length == 0 {
        return Err(RecordingProblem::NoSamples);
    }
    let mut centres: Vec<f64> = captures.iter().filter_map(|capture| capture["core:frequency"].as_f64()).collect();
    centres.dedup();
    let reader = RawReader::new(Ranges::new(file.into(), ranges), numbers, channels, 1.0);
    Ok(Box::new(reader.with_layout(|layout| {
        (layout.rate, layout.length) = (rate, Some(length));
        match centres[..] {
            [centre] => layout.centre = centre,
            [] => {}
            _ => layout.remark(format!(
                "its captures have centre frequencies from {} to {} Hz: frequencies are relative to them",
                centres[0],
                centres[centres.len() - 1]
            )),
        }
        if let Some(first @ 1..) = captures.first().and_then(|capture| capture["core:sample_start"].as_u64()) {
            layout.remark(format!("{first} samples per channel before its first capture are left out"));
        }
        if captures.len() > 1 {
            layout.remark(format!("its {} captures are read as if they followed each other", captures.len()));
        }
    })))
}

/// Format of numbers by SigMF's name of their type, such as `ci16_le`.
fn number_format(name: &str) -> Option<NumberFormat> {
    let (real, order) = name.split_once('_').unwrap_or((name, "le"));
    let numbers = match real.get(1..)? {
        "f32" => NumberFormat::float(4),
        "f64" => NumberFormat::float(8),
        "i32" => NumberFormat::signed(4),
        "i16" => NumberFormat::signed(2),
        "i8" => NumberFormat::signed(1),
        "u32" => NumberFormat::unsigned(4),
        "u16" => NumberFormat::unsigned(2),
        "u8" => NumberFormat::unsigned(1),
        _ => return None,
    };
    let numbers = matches!(order, "le" | "be").then(|| numbers.in_order(order == "be"))?;
    match real.as_bytes()[0] {
        b'c' => Some(numbers.complex()),
        b'r' => Some(numbers),
        _ => None,
    }
}
