//! Saved models: any file is a model or an error.

use std::path::Path;

use burn::tensor::Device;
use firefly_fuzz::{Edit, edited};
use firefly_models::zoo;

use crate::EditedFile;

/// A file with spaces in place of its checksum, by which all damage would be found at once.
fn without_checksum(mut file: Vec<u8>) -> Vec<u8> {
    let entry = b"\"sha256\":\"";
    let place = file.windows(entry.len()).position(|window| window == entry).unwrap();
    // The entry, 64 digits, a quotation mark and a comma.
    file[place..place + entry.len() + 66].fill(b' ');
    file
}

#[test]
fn weights_of_the_zoo_are_read_or_refused() {
    let (path, device) = (Path::new("model.safetensors"), Device::flex());
    let valid = ["butterfly_dft_8", "butterfly_dft_16", "learned_welch_peaks_bearing"]
        .map(|name| without_checksum(zoo::pretrained(name, &device).unwrap().to_bytes().unwrap()));
    for file in &valid {
        zoo::from_bytes(path, file.clone(), &device).unwrap();
    }
    bolero::check!().with_type::<EditedFile>().for_each(|file| {
        let _ = zoo::from_bytes(path, file.bytes(&valid), &device);
    });
}

#[test]
fn headers_of_weights_of_the_zoo_are_read_or_refused() {
    let (path, device) = (Path::new("model.safetensors"), Device::flex());
    let valid = without_checksum(zoo::pretrained("butterfly_dft_8", &device).unwrap().to_bytes().unwrap());
    let (length, rest) = valid.split_first_chunk::<8>().unwrap();
    let (header, tensors) = rest.split_at(u64::from_le_bytes(*length) as usize);
    bolero::check!().with_type::<Vec<Edit>>().for_each(|edits| {
        // The length before the header is that of the edited one, so that the reader gets to its content.
        let header = edited(header, edits);
        let length = (header.len() as u64).to_le_bytes();
        let _ = zoo::from_bytes(path, [&length[..], &header, tensors].concat(), &device);
    });
}
