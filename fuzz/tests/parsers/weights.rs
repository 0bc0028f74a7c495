//! Saved models: any files are a model or an error.

use std::fs;
use std::path::Path;

use burn::tensor::Device;
use firefly_fuzz::{Edit, edited};
use firefly_models::{LearnedWelchPeaks, LearnedWelchPeaksConfig, zoo};

use crate::EditedFile;

#[test]
fn saved_models_are_read_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let model = LearnedWelchPeaksConfig::new().with_n_fft(8).with_k(2).init(&Device::flex());
    model.save(folder.path()).unwrap();
    let [description, weights] = ["config.json", "model.safetensors"].map(|name| folder.path().join(name));
    let [valid_description, valid_weights] = [&description, &weights].map(|path| fs::read(path).unwrap());
    bolero::check!().with_type::<(Vec<Edit>, Vec<Edit>)>().for_each(|(of_description, of_weights)| {
        // A large configuration is valid, but takes long to build.
        let edited_description = edited(&valid_description, of_description);
        if edited_description.len() < 2 * valid_description.len() {
            fs::write(&description, edited_description).unwrap();
            fs::write(&weights, edited(&valid_weights, of_weights)).unwrap();
            let _ = LearnedWelchPeaks::load(folder.path(), &Device::flex());
        }
    });
}

#[test]
fn weights_of_the_zoo_are_read_or_refused() {
    let (path, device) = (Path::new("model.safetensors"), Device::flex());
    let valid = ["butterfly_dft_8", "butterfly_dft_16"]
        .map(|name| zoo::pretrained(name, &device).unwrap().to_bytes().unwrap());
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
    let valid = zoo::pretrained("butterfly_dft_8", &device).unwrap().to_bytes().unwrap();
    let (length, rest) = valid.split_first_chunk::<8>().unwrap();
    let (header, tensors) = rest.split_at(u64::from_le_bytes(*length) as usize);
    bolero::check!().with_type::<Vec<Edit>>().for_each(|edits| {
        // The length before the header is that of the edited one, so that the reader gets to its content.
        let header = edited(header, edits);
        let length = (header.len() as u64).to_le_bytes();
        let _ = zoo::from_bytes(path, [&length[..], &header, tensors].concat(), &device);
    });
}
