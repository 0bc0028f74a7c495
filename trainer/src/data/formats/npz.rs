//! Zip archives of NumPy arrays: one array of samples and, if it is there, one number that is the sample rate.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use flate2::read::DeflateDecoder;
use rawzip::{CompressionMethod, RECOMMENDED_BUFFER_SIZE, ZipArchive};

use super::npy::{ArrayHeader, ArrayReader};
use super::reader::SampleReader as _;
use crate::data::error::RecordingProblem;
use crate::data::format::Format;

/// Names of a number that is the sample rate.
const RATES: [&str; 5] = ["rate", "fs", "sr", "sample_rate", "sampling_rate"];

/// Array in the archive.
pub(super) struct Member {
    pub(super) name: String,
    /// Position of its compressed bytes.
    start: u64,
    compressed_bytes: u64,
    deflated: bool,
}

/// Opens the array of samples in a `.npz` file.
pub(super) fn open(path: &Path) -> Result<ArrayReader, RecordingProblem> {
    let mut samples = Vec::new();
    let mut rate = None;
    for member in members(path)? {
        let mut input = member.open(path)?;
        let header = ArrayHeader::read(&mut input, Format::Npz)?;
        let is_number = header.shape.iter().product::<u64>() == 1;
        if is_number && RATES.contains(&member.name.to_ascii_lowercase().as_str()) {
            let mut bytes = vec![0; header.numbers.bytes()];
            input.read_exact(&mut bytes)?;
            let mut value = Vec::new();
            header.numbers.decode(&bytes, &mut value);
            rate = value.first().copied().map(f64::from);
        } else if matches!(header.shape.len(), 1 | 2) {
            samples.push((member, header));
        }
    }
    let [(member, header)] = &samples[..] else {
        let names: Vec<&str> = samples.iter().map(|(member, _)| member.name.as_str()).collect();
        let found = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let reason = format!("one array of one or two dimensions is read as samples, and it has {found}");
        return Err(Format::Npz.problem(reason));
    };
    let reader = ArrayReader::new(header, rate, Format::Npz, |offset| {
        let mut input = member.open(path)?;
        io::copy(&mut input.by_ref().take(header.bytes + offset), &mut io::sink())?;
        Ok(input)
    })?;
    debug_assert!(reader.layout().channels > 0);
    Ok(reader)
}

pub(super) fn members(path: &Path) -> Result<Vec<Member>, RecordingProblem> {
    let failed = |error: rawzip::Error| Format::Npz.problem(error.to_string());
    let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
    let archive = ZipArchive::from_file(File::open(path)?, &mut buffer).map_err(failed)?;
    let mut members = Vec::new();
    let mut entries = archive.entries(&mut buffer);
    while let Some(entry) = entries.next_entry().map_err(failed)? {
        let name = String::from_utf8_lossy(entry.file_path().as_bytes()).into_owned();
        let Some(name) = name.strip_suffix(".npy") else { continue };
        let deflated = match entry.compression_method() {
            CompressionMethod::STORE => false,
            CompressionMethod::DEFLATE => true,
            method => return Err(Format::Npz.problem(format!("{name} is compressed by {method:?}"))),
        };
        let wayfinder = entry.wayfinder();
        let (start, end) = archive.get_entry(wayfinder).map_err(failed)?.compressed_data_range();
        members.push(Member { name: name.to_owned(), start, compressed_bytes: end - start, deflated });
    }
    Ok(members)
}

impl Member {
    pub(super) fn open(&self, path: &Path) -> Result<Box<dyn Read + Send>, RecordingProblem> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(self.start))?;
        let bytes = BufReader::with_capacity(1 << 16, file).take(self.compressed_bytes);
        Ok(if self.deflated { Box::new(DeflateDecoder::new(bytes)) } else { Box::new(bytes) })
    }
}
