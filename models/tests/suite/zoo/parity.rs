//! Outputs of implementations elsewhere, for the same weights and inputs: the fixtures of `fixtures/make_zoo`.

use std::fs;
use std::path::{Path, PathBuf};

use burn::tensor::{Device, TensorData};
use firefly_framework::graph::AnyTensor;
use firefly_models::zoo;
use safetensors::{Dtype, SafeTensors};

use crate::common::assert_close;

/// File of the inputs and outputs.
const OUTPUTS: &str = "outputs.safetensors";
/// Families that the fixtures are of: those whose results are not compared with published figures, and the sequence
/// models.
const FAMILIES: [&str; 9] =
    ["fnet", "fno3d", "gfnet", "hyena", "log_mel", "long_conv", "mfcc", "s4d", "spectral_denoiser"];
/// Largest difference, relative to the greatest output. Expected outputs are computed in float64.
const TOLERANCE: f64 = 1e-5;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// A tensor of the file of inputs and outputs.
fn data(file: &SafeTensors<'_>, name: &str) -> Option<TensorData> {
    let view = file.tensor(name).ok()?;
    let shape = view.shape().to_vec();
    Some(match view.dtype() {
        Dtype::F32 => {
            let value = |bytes: &[u8]| f32::from_le_bytes(bytes.try_into().unwrap());
            TensorData::new(view.data().chunks(4).map(value).collect(), shape)
        }
        Dtype::I64 => {
            let value = |bytes: &[u8]| i64::from_le_bytes(bytes.try_into().unwrap());
            TensorData::new(view.data().chunks(8).map(value).collect(), shape)
        }
        dtype => panic!("{name} is of {dtype:?}"),
    })
}

#[test]
fn outputs_are_those_of_implementations_elsewhere() {
    let bytes = fs::read(folder().join(OUTPUTS)).unwrap();
    let expected = SafeTensors::deserialize(&bytes).unwrap();
    let device = Device::flex();
    let mut families = Vec::new();
    let mut compared = 0;
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "safetensors") || path.ends_with(OUTPUTS) {
            continue;
        }
        let name = path.file_stem().unwrap().to_str().unwrap();
        let model = zoo::load(&path, &device).unwrap_or_else(|error| panic!("{error}"));
        families.push(model.family().name);
        let input = data(&expected, &format!("{name}.input")).unwrap();
        let outputs = model.try_forward(vec![AnyTensor::from_data(input, &device)]).unwrap();
        for (index, output) in outputs.into_iter().enumerate() {
            let key = format!("{name}.output.{index}");
            let expected = data(&expected, &key).unwrap_or_else(|| panic!("there is no {key}"));
            assert_eq!(output.dims(), expected.shape().to_vec(), "{key}");
            let found =
                output.try_flatten("test", "output").unwrap().into_data().convert::<f64>().try_to_vec().unwrap();
            assert_close(&key, &found, &expected.convert::<f64>().try_to_vec::<f64>().unwrap(), TOLERANCE);
            compared += 1;
        }
        compared += 1;
    }
    assert_eq!(compared, expected.len(), "every input and output was used");
    families.sort_unstable();
    families.dedup();
    assert_eq!(families, FAMILIES);
}
