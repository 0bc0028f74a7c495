//! NPY, NPZ and safetensors files: any bytes are recordings, an array of any rank, or an error.

use std::fs;
use std::io::Write;

use firefly_recordings::Array;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use rawzip::{CompressionMethod, ZipArchiveWriter};

use crate::{EditedFile, recordings_are_read_or_refused};

/// A NumPy array of 16 numbers.
fn npy(descr: &str, fortran: &str, shape: &str, width: usize) -> Vec<u8> {
    let text = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
    let mut array = b"\x93NUMPY\x01\x00".to_vec();
    array.extend((text.len() as u16).to_le_bytes());
    array.extend(text.as_bytes());
    array.extend((0..16 * width).map(|byte| byte as u8 % 64));
    array
}

fn arrays() -> Vec<Vec<u8>> {
    vec![
        npy("<f4", "False", "(8, 2)", 4),
        npy(">f8", "True", "(2, 8)", 8),
        npy("<i2", "False", "(16,)", 2),
        npy("|u1", "False", "(4, 4)", 1),
    ]
}

/// An archive of samples and their rate.
fn npz(method: CompressionMethod) -> Vec<u8> {
    let mut rate = npy("<i8", "False", "()", 0);
    rate.extend(500i64.to_le_bytes());
    let mut archive = ZipArchiveWriter::new(Vec::new());
    for (name, bytes) in [("x.npy", npy("<f4", "False", "(2, 8)", 4)), ("fs.npy", rate)] {
        let (mut entry, config) = archive.new_file(name).compression_method(method).start().unwrap();
        let output = if method == CompressionMethod::STORE {
            let mut writer = config.wrap(&mut entry);
            writer.write_all(&bytes).unwrap();
            writer.finish().unwrap().1
        } else {
            let mut writer = config.wrap(DeflateEncoder::new(&mut entry, Compression::default()));
            writer.write_all(&bytes).unwrap();
            let (encoder, output) = writer.finish().unwrap();
            encoder.finish().unwrap();
            output
        };
        entry.finish(output).unwrap();
    }
    archive.finish().unwrap()
}

fn archives() -> Vec<Vec<u8>> {
    [CompressionMethod::STORE, CompressionMethod::DEFLATE].map(npz).to_vec()
}

/// A safetensors file with the tensor `x` of 16 numbers.
fn safetensors(shape: &str) -> Vec<u8> {
    let header = format!(r#"{{"x":{{"dtype":"F32","shape":{shape},"data_offsets":[0,64]}}}}"#);
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &[7; 64]].concat()
}

/// Target of arrays of any rank: each of the `valid` files is read, and edited ones are read or refused.
fn arrays_are_read_or_refused(extension: &str, valid: &[Vec<u8>]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("array").with_extension(extension);
    for file in valid {
        fs::write(&path, file).unwrap();
        Array::read(&path, "x").unwrap();
    }
    bolero::check!().with_type::<EditedFile>().for_each(|file| {
        fs::write(&path, file.bytes(valid)).unwrap();
        let _ = Array::read(&path, "x");
    });
}

#[test]
fn npy_recordings_are_read_or_refused() {
    recordings_are_read_or_refused("npy", &arrays());
}

#[test]
fn npz_recordings_are_read_or_refused() {
    recordings_are_read_or_refused("npz", &archives());
}

#[test]
fn safetensors_recordings_are_read_or_refused() {
    recordings_are_read_or_refused("safetensors", &["[16]", "[2,8]"].map(safetensors));
}

#[test]
fn npy_arrays_are_read_or_refused() {
    arrays_are_read_or_refused("npy", &arrays());
}

#[test]
fn npz_arrays_are_read_or_refused() {
    arrays_are_read_or_refused("npz", &archives());
}

#[test]
fn safetensors_arrays_are_read_or_refused() {
    arrays_are_read_or_refused("safetensors", &[safetensors("[2,2,4]")]);
}
