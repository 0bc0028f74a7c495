//! Saved models of peaks: the errors of damaged files.

use std::path::Path;

use burn::tensor::Device;
use firefly_models::LearnedWelchPeaksConfig;
use firefly_models::zoo::{self, ZooModel};
use serde_json::{Value, json};

const FILE: &str = "model.safetensors";

/// A file without its checksum, by which all damage would be found at once.
fn saved() -> Vec<u8> {
    let model = LearnedWelchPeaksConfig::new().with_n_fft(16).with_k(4).init(&Device::flex());
    let (mut header, data) = parts(&ZooModel::from(model).to_bytes().unwrap());
    header["__metadata__"].as_object_mut().unwrap().remove("sha256").unwrap();
    joined(&header, &data)
}

/// The header of a safetensors file and what follows it.
fn parts(bytes: &[u8]) -> (Value, Vec<u8>) {
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    (serde_json::from_slice(&bytes[8..8 + length]).unwrap(), bytes[8 + length..].to_vec())
}

fn joined(header: &Value, data: &[u8]) -> Vec<u8> {
    let header = serde_json::to_vec(header).unwrap();
    [&(header.len() as u64).to_le_bytes(), &header[..], data].concat()
}

/// The error of a file, which names it.
fn error(bytes: Vec<u8>) -> String {
    let error = zoo::from_bytes(Path::new(FILE), bytes, &Device::flex()).expect_err("the file is damaged").to_string();
    assert!(error.contains(FILE), "{error}");
    error
}

/// The error of a file with another header.
fn tampered(change: impl FnOnce(&mut Value)) -> String {
    let (mut header, data) = parts(&saved());
    change(&mut header);
    error(joined(&header, &data))
}

/// The error of a file with another setting.
fn with_setting(key: &str, value: Value) -> String {
    tampered(|header| {
        let description = &mut header["__metadata__"]["firefly"];
        let mut changed: Value = serde_json::from_str(description.as_str().unwrap()).unwrap();
        changed["settings"][key] = value;
        *description = changed.to_string().into();
    })
}

#[test]
fn truncated_files_are_refused_at_every_length() {
    let bytes = saved();
    for length in [0, 4, 8, 20, bytes.len() / 2, bytes.len() - 1] {
        error(bytes[..length].to_vec());
    }
}

#[test]
fn overlapping_and_out_of_range_offsets_are_refused() {
    for shift in [-4, 1_000_000] {
        tampered(|header| {
            let offsets = header["taper"]["data_offsets"].as_array_mut().unwrap();
            offsets.iter_mut().for_each(|offset| *offset = (offset.as_i64().unwrap() + shift).into());
        });
    }
}

#[test]
fn wrong_shapes_names_and_settings_are_refused() {
    let reshaped = tampered(|header| header["taper"]["shape"] = json!([4, 4]));
    assert!(reshaped.ends_with("`taper` has the shape [4, 4], not [16]"), "{reshaped}");
    let renamed = tampered(|header| {
        let taper = header.as_object_mut().unwrap().remove("taper").unwrap();
        header["paper"] = taper;
    });
    assert!(renamed.ends_with("not the weights of this model: `taper` is missing"), "{renamed}");
    assert!(with_setting("n_fft", json!(32)).contains("not the weights of this model"));
    assert!(with_setting("n_fft", json!(15)).contains("`n_fft` is 15"));
    assert!(with_setting("product_weight", json!(-0.5)).contains("`product_weights` is missing"));
    assert!(with_setting("learned_transform", json!(true)).contains("is missing"));
}

#[test]
fn a_nan_in_the_weights_is_refused() {
    let (header, mut data) = parts(&saved());
    let at = header["taper"]["data_offsets"][0].as_u64().unwrap() as usize;
    data[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    let message = error(joined(&header, &data));
    assert!(message.contains("taper") && message.contains("finite"), "{message}");
}
