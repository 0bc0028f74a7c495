//! BrainVision, WFDB, miniSEED, TDMS, HDF5 and MATLAB files: any bytes are recordings or an error.

use crate::{fixture, recordings_are_read_or_refused, recordings_beside};

/// Numbers of 16 bits.
fn numbers(count: i16) -> Vec<u8> {
    (0..count).flat_map(|number| (number * 37).to_le_bytes()).collect()
}

#[test]
fn brainvision_headers_are_read_or_refused() {
    let header = |orientation: &str| {
        format!(
            "Brain Vision Data Exchange Header File Version 1.0\n[Common Infos]\nDataFile=$b.eeg\nDataFormat=BINARY\n\
             DataOrientation={orientation}\nNumberOfChannels=2\nSamplingInterval=2000\nDataPoints=20\n[Binary Infos]\n\
             BinaryFormat=INT_16\n[Channel Infos]\nCh1=Fp1,,0.5,uV\nCh2=Cz,,0.1,uV\n"
        )
    };
    let headers = ["MULTIPLEXED", "VECTORIZED"].map(|orientation| header(orientation).into_bytes());
    recordings_beside("vhdr", &headers, &[("eeg", &numbers(40))]);
}

#[test]
fn wfdb_headers_are_read_or_refused() {
    let headers = [
        "recording 2 360/360(1) 20\nrecording.dat 16 200(3)/mV 12 0 0 0 0 II\nrecording.dat 16 100/V 12 0\n",
        "recording 1 250\nrecording.dat 212+2 0 12 5\n",
        "# comment\nrecording 1\nrecording.dat 61\n",
    ];
    recordings_beside("hea", &headers.map(|header| header.as_bytes().to_vec()), &[("dat", &numbers(40))]);
}

/// A record of miniSEED of version 2 with five samples.
fn seed(encoding: u8, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"000001D STAT 00BHZXX".to_vec();
    bytes.extend([2020u16, 60].map(u16::to_be_bytes).concat());
    bytes.extend([12, 0, 0, 0]);
    bytes.extend([0u16, 5, 10, 1].map(u16::to_be_bytes).concat());
    bytes.extend([0, 0, 0, 1, 0, 0, 0, 0]);
    bytes.extend([64u16, 48, 1000, 0].map(u16::to_be_bytes).concat());
    bytes.extend([encoding, 1, 9, 0]);
    bytes.resize(64, 0);
    bytes.extend(data);
    bytes.resize(512, 0);
    bytes
}

#[test]
fn miniseed_files_are_read_or_refused() {
    // Five differences of 6 bits, of which the first is not one: 7, 8, 9, 10, 11.
    let frame: [u32; 4] = [3 << 24, 7, 11, 1 << 18 | 1 << 12 | 1 << 6 | 1];
    let compressed = seed(11, &frame.map(u32::to_be_bytes).concat());
    let later = [&compressed[..26], &[5], &compressed[27..]].concat();
    recordings_are_read_or_refused("mseed", &[seed(1, &numbers(5)), compressed]);
    let both = [seed(1, &numbers(5)), later].concat();
    // A gap is samples that are not numbers, which a whole recording may not have.
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("x.mseed"), both).unwrap();
    assert!(firefly_recordings::read_recording(&folder.path().join("x.mseed")).is_err());
}

#[test]
fn tdms_files_are_read_or_refused() {
    let text = |text: &str| [&(text.len() as u32).to_le_bytes(), text.as_bytes()].concat();
    let index = [&20u32.to_le_bytes()[..], &2u32.to_le_bytes(), &1u32.to_le_bytes(), &20u64.to_le_bytes()].concat();
    let step = [text("wf_increment"), 10u32.to_le_bytes().to_vec(), 0.5f64.to_le_bytes().to_vec()].concat();
    let object = [text("/'g'/'a'"), index, 1u32.to_le_bytes().to_vec(), step].concat();
    let metadata = [&1u32.to_le_bytes()[..], &object].concat();
    let file = |contents: u32| {
        let data = numbers(40);
        let mut bytes = b"TDSm".to_vec();
        bytes.extend([contents, 4713].map(u32::to_le_bytes).concat());
        bytes.extend([metadata.len() + data.len(), metadata.len()].map(|bytes| (bytes as u64).to_le_bytes()).concat());
        [bytes, metadata.clone(), data].concat()
    };
    recordings_are_read_or_refused("tdms", &[file(0b00_1110), file(0b10_1110)]);
}

#[test]
fn hdf5_files_are_read_or_refused() {
    let latest = include_bytes!("../../../recordings/tests/fixtures/latest.h5");
    let chunked = include_bytes!("../../../recordings/tests/fixtures/chunked.h5");
    recordings_are_read_or_refused("h5", &[latest.to_vec(), chunked.to_vec()]);
}

#[test]
fn matlab_files_of_versions_4_and_7_3_are_read_or_refused() {
    let old = [[30u32, 20, 2, 0, 2].map(u32::to_le_bytes).concat(), b"x\0".to_vec(), numbers(40)].concat();
    let new = include_bytes!("../../../recordings/tests/fixtures/matlab.mat");
    recordings_are_read_or_refused("mat", &[old, new.to_vec()]);
}

#[test]
fn matlab_files_of_version_5_are_read_or_refused() {
    recordings_are_read_or_refused("mat", &["plain.mat", "compressed.mat"].map(fixture));
}
