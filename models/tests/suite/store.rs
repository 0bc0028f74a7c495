//! Saved models: round trip, and the errors of damaged files.

use std::fs;
use std::path::Path;

use burn::module::Param;
use burn::tensor::{Device, Tensor};
use firefly_models::{LearnedWelchPeaks, LearnedWelchPeaksConfig, StoreError};

const WEIGHTS: &str = "model.safetensors";

fn model() -> LearnedWelchPeaks {
    let device = Device::flex();
    let mut model = LearnedWelchPeaksConfig::new().with_n_fft(16).with_k(4).init(&device);
    model.taper = Param::from_tensor(Tensor::ones([16], &device) * 0.3);
    model
}

fn saved() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    model().save(folder.path()).unwrap();
    folder
}

fn error(folder: &Path) -> StoreError {
    LearnedWelchPeaks::load(folder, &Device::flex()).expect_err("the files are damaged")
}

/// The header of a safetensors file and what follows it.
fn parts(bytes: &[u8]) -> (serde_json::Value, Vec<u8>) {
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    (serde_json::from_slice(&bytes[8..8 + length]).unwrap(), bytes[8 + length..].to_vec())
}

fn write(path: &Path, header: &serde_json::Value, data: &[u8]) {
    let header = serde_json::to_vec(header).unwrap();
    fs::write(path, [&(header.len() as u64).to_le_bytes(), &header[..], data].concat()).unwrap();
}

/// Rewrites the weights' header.
fn tampered(change: impl FnOnce(&mut serde_json::Value)) -> tempfile::TempDir {
    let folder = saved();
    let path = folder.path().join(WEIGHTS);
    let (mut header, data) = parts(&fs::read(&path).unwrap());
    change(&mut header);
    write(&path, &header, &data);
    folder
}

#[test]
fn a_saved_model_loads_and_saving_twice_replaces_it() {
    let folder = saved();
    model().save(folder.path()).unwrap();
    let loaded = LearnedWelchPeaks::load(folder.path(), &Device::flex()).unwrap();
    assert_eq!(loaded.config(), model().config());
    let taper: Vec<f32> = loaded.taper.val().into_data().try_to_vec().unwrap();
    assert_eq!(taper, vec![0.3; 16]);
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
}

#[test]
fn a_missing_folder_or_file_is_named() {
    let folder = saved();
    let nowhere = folder.path().join("nowhere");
    assert!(error(&nowhere).to_string().contains("nowhere"));
    fs::remove_file(folder.path().join(WEIGHTS)).unwrap();
    assert!(error(folder.path()).to_string().contains(WEIGHTS));
}

#[test]
fn truncated_weights_are_refused_at_every_length() {
    let folder = saved();
    let path = folder.path().join(WEIGHTS);
    let bytes = fs::read(&path).unwrap();
    for length in [0, 4, 8, 20, bytes.len() / 2, bytes.len() - 1] {
        fs::write(&path, &bytes[..length]).unwrap();
        let error = error(folder.path());
        assert!(matches!(error, StoreError::Weights { .. }), "{length} bytes: {error}");
        assert!(error.to_string().contains(WEIGHTS), "{error}");
    }
}

#[test]
fn overlapping_and_out_of_range_offsets_are_refused() {
    // Of the right length, and inside the file.
    let overlapping = tampered(|header| {
        let offsets = header["taper"]["data_offsets"].as_array_mut().unwrap();
        offsets.iter_mut().for_each(|offset| *offset = (offset.as_u64().unwrap() - 4).into());
    });
    assert!(matches!(error(overlapping.path()), StoreError::Weights { .. }));
    let outside = tampered(|header| {
        let offsets = header["taper"]["data_offsets"].as_array_mut().unwrap();
        offsets.iter_mut().for_each(|offset| *offset = (offset.as_u64().unwrap() + 1_000_000).into());
    });
    assert!(matches!(error(outside.path()), StoreError::Weights { .. }));
}

#[test]
fn wrong_shapes_names_and_configurations_are_refused() {
    let reshaped = tampered(|header| header["taper"]["shape"] = serde_json::json!([4, 4]));
    let message = error(reshaped.path()).to_string();
    assert!(message.ends_with("`taper` has the shape [4, 4], not [16]"), "{message}");

    let renamed = tampered(|header| {
        let taper = header.as_object_mut().unwrap().remove("taper").unwrap();
        header["paper"] = taper;
    });
    let message = error(renamed.path()).to_string();
    assert!(message.ends_with("describes: `taper` is missing"), "{message}");

    let folder = saved();
    let path = folder.path().join("config.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"n_fft\": 16", "\"n_fft\": 32")).unwrap();
    assert!(matches!(error(folder.path()), StoreError::OtherModel { .. }));
    fs::write(&path, text.replace("\"n_fft\": 16", "\"n_fft\": 15")).unwrap();
    assert!(error(folder.path()).to_string().contains("`n_fft` is 15"));
    fs::write(&path, text.replace("\"scaling\": \"power\"", "\"scaling\": \"density\"")).unwrap();
    let message = error(folder.path()).to_string();
    assert!(message.ends_with("as in {\"density\": {\"sample_rate\": 12000.0}}"), "{message}");
}

#[test]
fn other_versions_and_models_are_refused() {
    let folder = saved();
    let path = folder.path().join("config.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"format\": 1", "\"format\": 99")).unwrap();
    let message = error(folder.path()).to_string();
    assert!(message.contains("format 99") && message.contains("reads format 1"), "{message}");
    fs::write(&path, text.replace("learned_welch_peaks", "something_else")).unwrap();
    assert!(error(folder.path()).to_string().contains("something_else"));
    fs::write(&path, &text[..text.len() / 2]).unwrap();
    assert!(matches!(error(folder.path()), StoreError::Description { .. }));
}

#[test]
fn a_nan_in_the_weights_is_refused() {
    let folder = saved();
    let path = folder.path().join(WEIGHTS);
    let (header, mut data) = parts(&fs::read(&path).unwrap());
    let at = header["taper"]["data_offsets"][0].as_u64().unwrap() as usize;
    data[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    write(&path, &header, &data);
    let message = error(folder.path()).to_string();
    assert!(message.contains("taper") && message.contains("finite"), "{message}");
}
