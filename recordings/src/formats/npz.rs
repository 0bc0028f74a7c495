//! Zip archives of NumPy arrays: one array of samples and, if it is there, one number that is the sample rate.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use flate2::Crc;
use flate2::read::DeflateDecoder;
use rawzip::{CompressionMethod, RECOMMENDED_BUFFER_SIZE, ZipArchive};

use super::named_arrays::{NamedArray, SampleArray, samples_and_rate};
use super::npy::ArrayHeader;
use super::parts::PartsReader;
use super::{Format, open_file};
use crate::error::Result;

/// Channels one after the other that are read, at most: each is decompressed by itself, with all before it.
const MOST_STREAMS: u64 = 256;

/// Array in the archive.
pub(super) struct Member {
    pub(super) name: String,
    /// Position of its compressed bytes.
    start: u64,
    compressed_bytes: u64,
    deflated: bool,
    /// Bytes of the array and its header, and their checksum.
    bytes: u64,
    checksum: u32,
}

/// Opens the array of samples in a `.npz` file.
pub(super) fn open(path: &Path) -> Result<PartsReader> {
    let arrays = members(path)?.into_iter().map(|member| {
        let header = member.open(path).and_then(|mut input| ArrayHeader::read(&mut input, Format::Npz));
        NamedArray { name: member.name.clone(), source: member, header }
    });
    let opened = |member: &Member, position: u64| -> Result<Box<dyn Read + Send>> {
        let mut input = member.open(path)?;
        io::copy(&mut input.by_ref().take(position), &mut io::sink())?;
        Ok(input)
    };
    let number = |member: &Member, header: &ArrayHeader| header.number(&mut opened(member, header.bytes)?);
    let (samples, rate) = samples_and_rate(arrays.collect(), number, &[], Format::Npz)?;
    let SampleArray { source: member, header, left_out } = samples;
    if header.separate_channels() > MOST_STREAMS {
        let reason = format!("it has more than {MOST_STREAMS} channels one after the other: save the array transposed");
        return Err(Format::Npz.problem(reason));
    }
    header.reader(rate, Format::Npz, &left_out, |position| opened(&member, header.bytes + position))
}

pub(super) fn members(path: &Path) -> Result<Vec<Member>> {
    let failed = |error: rawzip::Error| Format::Npz.problem(error.to_string());
    let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
    let archive = ZipArchive::from_file(open_file(path)?, &mut buffer).map_err(failed)?;
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
        let (bytes, checksum) = (entry.uncompressed_size_hint(), entry.crc32());
        let wayfinder = entry.wayfinder();
        let (start, end) = archive.get_entry(wayfinder).map_err(failed)?.compressed_data_range();
        members.push(Member { name: name.to_owned(), start, compressed_bytes: end - start, deflated, bytes, checksum });
    }
    Ok(members)
}

impl Member {
    pub(super) fn open(&self, path: &Path) -> Result<Box<dyn Read + Send>> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(self.start))?;
        let bytes = BufReader::with_capacity(1 << 16, file).take(self.compressed_bytes);
        let input: Box<dyn Read + Send> =
            if self.deflated { Box::new(DeflateDecoder::new(bytes)) } else { Box::new(bytes) };
        let (name, left, expected) = (self.name.clone(), self.bytes, self.checksum);
        Ok(Box::new(Checked { input, name, left, crc: Crc::new(), expected }))
    }
}

/// Bytes of a member, whose last are an error if the checksum of all of them differs.
struct Checked {
    input: Box<dyn Read + Send>,
    name: String,
    /// Bytes that are still to be read.
    left: u64,
    crc: Crc,
    expected: u32,
}

impl Read for Checked {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(bytes)?;
        self.crc.update(&bytes[..read]);
        self.left = self.left.saturating_sub(read as u64);
        if self.left == 0 && self.crc.sum() != self.expected {
            let reason = format!("its array `{}` is damaged: its checksum differs", self.name);
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use tempfile::TempDir;

    use super::super::tests::{array, assert_holds, problem, values};
    use super::super::{Array, SampleReader};
    use super::*;

    #[test]
    fn an_archive_has_one_array_and_a_rate() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("x.npz");
        let planar: Vec<u8> = (0..2)
            .flat_map(|channel| values(200).into_iter().skip(channel).step_by(2))
            .flat_map(f32::to_le_bytes)
            .collect();
        let samples = array("<f4", "False", "(2, 100)", &planar);
        let rate = array("<i8", "False", "()", &500i64.to_le_bytes());
        let write = |members: &[(&str, &[u8])], method| {
            let mut archive = rawzip::ZipArchiveWriter::new(fs::File::create(&path).unwrap());
            for (name, bytes) in members {
                let (mut entry, config) = archive.new_file(name).compression_method(method).start().unwrap();
                let output = if method == rawzip::CompressionMethod::STORE {
                    let mut writer = config.wrap(&mut entry);
                    std::io::Write::write_all(&mut writer, bytes).unwrap();
                    writer.finish().unwrap().1
                } else {
                    let mut writer = config.wrap(flate2::write::DeflateEncoder::new(&mut entry, Default::default()));
                    std::io::Write::write_all(&mut writer, bytes).unwrap();
                    let (encoder, output) = writer.finish().unwrap();
                    encoder.finish().unwrap();
                    output
                };
                entry.finish(output).unwrap();
            }
            archive.finish().unwrap();
        };
        for method in [rawzip::CompressionMethod::STORE, rawzip::CompressionMethod::DEFLATE] {
            write(&[("x.npy", &samples), ("fs.npy", &rate)], method);
            assert_holds(&path, 2, Some(500.0), &values(200));
        }
        write(&[("x.npy", &samples), ("y.npy", &samples)], rawzip::CompressionMethod::STORE);
        assert!(problem(&path).contains("it has x, y"), "{}", problem(&path));
    }

    #[test]
    fn a_damaged_array_is_named() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("x.npz");
        let samples = array("<f4", "False", "(200,)", &[0; 800]);
        for level in [None, Some(flate2::Compression::none())] {
            let mut archive = rawzip::ZipArchiveWriter::new(fs::File::create(&path).unwrap());
            let method = level.map_or(rawzip::CompressionMethod::STORE, |_| rawzip::CompressionMethod::DEFLATE);
            let (mut entry, config) = archive.new_file("x.npy").compression_method(method).start().unwrap();
            let output = if let Some(level) = level {
                let mut writer = config.wrap(flate2::write::DeflateEncoder::new(&mut entry, level));
                writer.write_all(&samples).unwrap();
                let (encoder, output) = writer.finish().unwrap();
                encoder.finish().unwrap();
                output
            } else {
                let mut writer = config.wrap(&mut entry);
                writer.write_all(&samples).unwrap();
                writer.finish().unwrap().1
            };
            entry.finish(output).unwrap();
            archive.finish().unwrap();
            assert_holds(&path, 1, None, &[0.0; 200]);
            let mut bytes = fs::read(&path).unwrap();
            // A byte of the last samples.
            let end = bytes.windows(100).rposition(|part| part == [0; 100]).unwrap();
            bytes[end + 50] = 1;
            fs::write(&path, bytes).unwrap();
            let mut reader = open(&path).unwrap();
            let mut block = Vec::new();
            assert_eq!(reader.read(&mut block, 100).unwrap(), 100);
            let message = reader.read(&mut block, 100).unwrap_err().to_string();
            assert_eq!(message, "its array `x` is damaged: its checksum differs");
            let message = Array::read(&path, "x").unwrap_err().to_string();
            assert!(message.ends_with("its array `x` is damaged: its checksum differs"), "{message}");
        }
    }
}
