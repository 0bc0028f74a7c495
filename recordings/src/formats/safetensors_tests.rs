use std::fs;

use ::safetensors::tensor::TensorView;
use tempfile::TempDir;

use super::super::tests::{assert_holds, problem, values};
use super::*;

#[test]
fn a_safetensors_file_has_one_tensor_of_samples_and_a_rate() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.safetensors");
    let samples: Vec<u8> = values(200).into_iter().flat_map(f32::to_le_bytes).collect();
    let rate = 500f64.to_le_bytes();
    let tensor = |dtype, shape: &[usize], bytes| TensorView::new(dtype, shape.to_vec(), bytes).unwrap();
    let write = |tensors: &[(&str, TensorView<'_>)], rate: Option<&str>| {
        let metadata = rate.map(|rate| [("sample_rate".to_string(), rate.to_string())].into());
        fs::write(&path, ::safetensors::serialize(tensors.iter().cloned(), metadata).unwrap()).unwrap();
    };
    let x = || tensor(Dtype::F32, &[100, 2], &samples);
    write(&[("fs", tensor(Dtype::F64, &[], &rate)), ("x", x())], None);
    assert_holds(&path, 2, Some(500.0), &values(200));
    write(&[("x", x())], Some("250"));
    assert_holds(&path, 2, Some(250.0), &values(200));
    write(&[("x", x())], Some("fast"));
    assert!(problem(&path).contains("its metadata's `sample_rate` is `fast`, not a number"), "{}", problem(&path));
    write(&[("x", x()), ("y", x())], None);
    assert!(problem(&path).contains("it has x, y"), "{}", problem(&path));
    write(&[("x", x()), ("sample_rate", tensor(Dtype::F64, &[1], &rate))], Some("250"));
    assert_holds(&path, 2, Some(500.0), &values(200));
    write(&[("x", x()), ("fs", tensor(Dtype::F64, &[], &rate)), ("sr", tensor(Dtype::U8, &[], &[7]))], None);
    assert!(problem(&path).contains("its sample rate `"), "{}", problem(&path));
    write(&[("x", x())], Some("-5"));
    assert!(problem(&path).contains("its sample rate `sample_rate` is -5"), "{}", problem(&path));
    // What is not needed may be of any type.
    write(&[("x", x()), ("quarter", tensor(Dtype::F8_E4M3, &[800], &samples))], None);
    assert_holds(&path, 2, None, &values(200));
    let notes = crate::open(&path).unwrap().layout().notes.clone();
    assert!(notes[0].to_string().contains("left out: quarter"), "{notes:?}");
    write(&[("x", tensor(Dtype::F8_E4M3, &[800], &samples))], None);
    assert!(problem(&path).contains("its array `x`: its numbers are of type F8_E4M3 (accepted"), "{}", problem(&path));

    write(&[("x", x())], None);
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    assert!(problem(&path).contains("its tensors take 800 bytes, it has 799"), "{}", problem(&path));
    fs::write(&path, &whole[..9]).unwrap();
    assert!(problem(&path).contains("it has 9 bytes, and its header would have"), "{}", problem(&path));
    fs::write(&path, b"NPY").unwrap();
    assert!(problem(&path).contains("it has no header"), "{}", problem(&path));
}
