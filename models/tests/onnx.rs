//! ONNX files of the zoo and of single operations: their structure, and files for a comparison of their values by
//! onnxruntime (`just onnx`).
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::PathBuf;

use burn::tensor::activation::{gelu, log_softmax, relu, sigmoid, softmax};
use burn::tensor::{DType, Device, FloatDType, Int, Tensor, TensorData};
use firefly_framework::graph::{AnyTensor, Graph, Input, Operation, capture};
use firefly_framework::onnx::{Description, Model, OnnxError, export};
use firefly_models::zoo::{self, Settings, ZooModel};
use firefly_ops::fft::{
    ComplexTensor, ConvolveMode, fft, fft_convolve, fft2, ifft, irfft, istft, rfft, rfft_with, stft,
};
use firefly_ops::options::{
    LogGuard, LogUnit, Logarithm, MelBands, MelNorm, MelScale, SegmentSet, SignalPadding, SpectrumKind,
};
use firefly_ops::{
    Band, Detrend, LocalMaximaOptions, MelOptions, Norm, Scaling, StftOptions, WelchOptions, WelchWeights, Window,
    WindowSymmetry, butterfly, local_maxima, log_mel, long_conv, mel, spectral_conv, top_k, welch_peaks, welch_psd,
};
use safetensors::tensor::{Dtype, TensorView, serialize_to_file};

/// Batches that values are compared at: none that the graphs were captured with.
const BATCHES: [usize; 2] = [1, 4];

/// Operators of ONNX that files may have.
const OPERATORS: &[&str] = &[
    "Abs",
    "Acos",
    "Acosh",
    "Add",
    "And",
    "ArgMax",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "AveragePool",
    "BatchNormalization",
    "Cast",
    "Ceil",
    "Clip",
    "Concat",
    "Conv",
    "ConvTranspose",
    "Cos",
    "Cosh",
    "DFT",
    "Div",
    "Einsum",
    "Equal",
    "Erf",
    "Exp",
    "Expand",
    "Floor",
    "Gather",
    "GatherElements",
    "Gelu",
    "Greater",
    "GreaterOrEqual",
    "Identity",
    "IsInf",
    "IsNaN",
    "LayerNormalization",
    "Less",
    "LessOrEqual",
    "Log",
    "LogSoftmax",
    "MatMul",
    "Max",
    "MaxPool",
    "Min",
    "Mul",
    "Neg",
    "Not",
    "Or",
    "Pad",
    "Pow",
    "Reciprocal",
    "ReduceMax",
    "ReduceMean",
    "ReduceMin",
    "ReduceProd",
    "ReduceSum",
    "Relu",
    "Reshape",
    "Round",
    "Shape",
    "Sigmoid",
    "Sign",
    "Sin",
    "Sinh",
    "Slice",
    "Softmax",
    "Sqrt",
    "Sub",
    "Sum",
    "Tan",
    "Tanh",
    "Tile",
    "TopK",
    "Transpose",
    "Unsqueeze",
    "Where",
    "Xor",
];

/// Folder of the files that `just onnx` compares.
fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("onnx")
}

/// Tones in noise, or small integers.
fn data(input: &Input, seed: u32) -> TensorData {
    let elements: usize = input.shape.iter().product();
    let mut state = seed;
    let mut noise = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(state) / f64::from(u32::MAX) - 0.5
    };
    if input.dtype.is_float() {
        let sample = |index: usize| (0.9 * index as f64).sin() + 0.4 * (2.1 * index as f64).cos() + noise();
        let values: Vec<f64> = (0..elements).map(sample).collect();
        TensorData::new(values, input.shape.clone()).convert_dtype(input.dtype)
    } else {
        let values: Vec<i64> = (0..elements).map(|index| (index * 7 % 3) as i64).collect();
        TensorData::new(values, input.shape.clone()).convert_dtype(input.dtype)
    }
}

/// Checks the structure of a file, and writes it with inputs and outputs of some batches.
fn checked(
    name: &str,
    model: &Model,
    batches: &[usize],
    inputs: impl Fn(usize) -> Vec<Input>,
    forward: impl Fn(Vec<AnyTensor>) -> Vec<AnyTensor>,
) {
    for operator in &model.operators {
        assert!(OPERATORS.contains(operator), "{name}: {operator} is no operator of ONNX");
    }
    let folder = folder().join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("model.onnx"), &model.bytes).unwrap();
    for &batch in batches {
        let data: Vec<TensorData> = inputs(batch).iter().zip(7..).map(|(input, seed)| data(input, seed)).collect();
        let tensors = data.iter().map(|data| AnyTensor::from_data(data.clone(), &Device::flex())).collect();
        let outputs: Vec<TensorData> = forward(tensors).into_iter().map(AnyTensor::into_data).collect();
        let lengths = |shape: &[String]| -> Vec<usize> {
            let length = |text: &String| match text.strip_suffix("batch") {
                None => text.parse().unwrap(),
                Some("") => batch,
                Some(multiple) => multiple.trim_end_matches('*').parse::<usize>().unwrap() * batch,
            };
            shape.iter().map(length).collect()
        };
        assert_eq!((model.inputs.len(), model.outputs.len()), (data.len(), outputs.len()), "{name}");
        let ports = model.inputs.iter().chain(&model.outputs);
        let mut entries = Vec::new();
        for (port, data) in ports.zip(data.iter().chain(&outputs)) {
            assert_eq!(lengths(&port.shape), data.shape().to_vec(), "{name}: {}", port.name);
            // The capture device has integers of its own width.
            assert_eq!(port.dtype.is_float(), data.dtype().is_float(), "{name}: {}", port.name);
            let data = data.clone().convert_dtype(port.dtype);
            let dtype = match data.dtype() {
                DType::F32 => Dtype::F32,
                DType::F64 => Dtype::F64,
                DType::I64 => Dtype::I64,
                DType::I32 => Dtype::I32,
                other => panic!("{name}: {} is {other:?}", port.name),
            };
            entries.push((port.name.clone(), dtype, data));
        }
        let views = entries.iter().map(|(name, dtype, data)| {
            (name.clone(), TensorView::new(*dtype, data.shape().to_vec(), data.as_bytes()).unwrap())
        });
        serialize_to_file(views, None, &folder.join(format!("batch_{batch}.safetensors"))).unwrap();
    }
}

fn check_of_zoo(name: &str, model: &ZooModel) {
    let card = zoo::card(name).unwrap();
    let exported = model.to_onnx().unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(exported.fixed_batch, None, "{name}");
    let names: Vec<&str> = exported.inputs.iter().map(|port| port.name.as_str()).collect();
    assert_eq!(names, card.inputs.iter().map(|input| input.name).collect::<Vec<_>>(), "{name}");
    for (port, output) in exported.outputs.iter().zip(card.outputs) {
        assert!(port.name.ends_with(output.name) && port.text.contains(output.meaning), "{name}: {port:?}");
    }
    let forward = |inputs| model.try_forward(inputs).unwrap();
    checked(name, &exported, &BATCHES, |batch| model.inputs(batch), forward);
}

#[test]
fn every_family_is_exported() {
    let device = Device::flex();
    let tiny: Vec<&str> = zoo::list("").into_iter().filter(|name| name.ends_with("_tiny")).collect();
    assert!(tiny.len() >= 19);
    for name in tiny {
        check_of_zoo(name, &zoo::create(name, &Settings::new(), &device).unwrap());
    }
}

#[test]
fn models_with_trained_weights_are_exported() {
    for name in zoo::list_pretrained() {
        check_of_zoo(name, &zoo::pretrained(name, &Device::flex()).unwrap());
    }
}

/// Checks a model of one input of `shape` behind the batch, of any rank, which returns a list.
fn check_operation(name: &str, shape: &[usize], model: impl Fn(AnyTensor, &Device) -> Vec<AnyTensor>) {
    let inputs = |batch: usize| vec![Input::new("x", [&[batch], shape].concat())];
    let of_batch =
        |batch| capture(&inputs(batch), |mut inputs: Vec<AnyTensor>, device: &Device| model(inputs.remove(0), device));
    let outputs = of_batch(1).unwrap().outputs().len();
    let description = Description {
        outputs: (0..outputs).map(|output| (format!("y{output}"), String::new())).collect(),
        ..Description::default()
    };
    let exported = export(of_batch, 1, &description).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(exported.fixed_batch, None, "{name}");
    checked(name, &exported, &BATCHES, inputs, |mut inputs| model(inputs.remove(0), &Device::flex()));
}

/// Values as a tensor, the same on every device.
fn weights<const D: usize>(shape: [usize; D], seed: u32, device: &Device) -> Tensor<D> {
    let values = data(&Input::new("weights", shape), seed);
    Tensor::from_data(values, (device, DType::F32))
}

fn rank<const D: usize>(tensor: AnyTensor) -> Tensor<D> {
    tensor.try_float("test", "x").unwrap()
}

/// Parts of complex values as a list.
fn parts<const D: usize>(values: ComplexTensor<D>) -> Vec<AnyTensor> {
    vec![values.re.into(), values.im.into()]
}

#[test]
fn transforms_of_any_length_are_exported() {
    for n in [1, 2, 3, 5, 12, 16, 97, 400, 1000] {
        let complex = |x: AnyTensor| {
            let x = rank::<2>(x);
            ComplexTensor::new(x.clone() + 0.5, x.flip([1]))
        };
        check_operation(&format!("fft_{n}"), &[n], |x, _| parts(fft(complex(x)).unwrap()));
        check_operation(&format!("ifft_{n}"), &[n], |x, _| parts(ifft(complex(x)).unwrap()));
        check_operation(&format!("rfft_{n}"), &[n], |x, _| parts(rfft(rank::<2>(x)).unwrap()));
        check_operation(&format!("rfft_cut_and_padded_{n}"), &[n], |x, _| {
            let x = rank::<2>(x);
            let cut = rfft_with(x.clone(), Some(n.div_ceil(2)), 1, Norm::Ortho).unwrap();
            let padded = rfft_with(x, Some(n + 3), 1, Norm::Forward).unwrap();
            [parts(cut), parts(padded)].concat()
        });
        check_operation(&format!("irfft_{n}"), &[n / 2 + 1], |x, _| vec![irfft(complex(x), n).unwrap().into()]);
    }
    // Burn's own transforms are of powers of two.
    for n in [2, 16] {
        check_operation(&format!("burn_{n}"), &[n + 1, 4], |x, _| {
            let (re, im) = burn::signal::rfft(rank::<3>(x), 1, Some(n));
            let back = burn::signal::irfft(re.clone(), im.clone(), 1, Some(n));
            vec![re.into(), im.into(), back.into()]
        });
    }
    check_operation("fft2", &[3, 10, 12], |x, _| {
        let x = rank::<4>(x);
        parts(fft2(ComplexTensor::new(x.clone(), x.flip([3]))).unwrap())
    });
}

#[test]
fn compositions_of_transforms_are_exported() {
    let options = StftOptions::new(20).with_hop(7);
    check_operation("stft_and_istft", &[3, 90], move |x, device| {
        let window = Window::Hann.tensor(20, WindowSymmetry::Periodic, FloatDType::F32, device);
        let spectrum: ComplexTensor<4> = stft(rank::<3>(x), Some(window.clone()), &options).unwrap();
        let signal: Tensor<3> = istft(spectrum.clone(), Some(window), &options, Some(90)).unwrap();
        [parts(spectrum), vec![signal.into()]].concat()
    });
    check_operation("fft_convolve", &[21], |x, _| {
        let x = rank::<2>(x);
        vec![fft_convolve(x.clone(), x.narrow(1, 0, 6), ConvolveMode::Full).unwrap().into()]
    });
}

#[test]
fn welch_estimates_are_exported() {
    let plain = WelchOptions::new(32, 3);
    let listed = WelchOptions::new(20, 6).with_hop(9).with_chosen(Some(SegmentSet::new([0, 2, 5]).unwrap()));
    let cases = [
        ("plain", plain, 0),
        ("detrended", plain.with_detrend(Detrend::Constant).with_scaling(Scaling::Density { sample_rate: 50.0 }), 0),
        ("listed", listed.with_scaling(Scaling::Spectrum), 0),
        ("odd", WelchOptions::new(15, 2), 0),
        ("gain", plain, 3),
        ("products", listed, 5),
        ("band", plain.with_band(Some(Band::new(3..11))), 5),
    ];
    for (name, options, taps) in cases {
        let estimate = move |x: AnyTensor, device: &Device| {
            let window = Window::Hann.tensor(options.n_fft, WindowSymmetry::Periodic, FloatDType::F32, device);
            let gain = (taps > 0).then(|| weights([options.bins(), taps], 3, device).abs());
            (rank::<2>(x), WelchWeights::new(window).with_gain(gain))
        };
        check_operation(&format!("welch_psd_{name}"), &[90], move |x, device| {
            let (x, weights) = estimate(x, device);
            vec![welch_psd(x, weights, &options).unwrap().into()]
        });
        check_operation(&format!("welch_peaks_{name}"), &[90], move |x, device| {
            let (x, weights) = estimate(x, device);
            let peaks = welch_peaks(x, weights, &options, 4).unwrap();
            vec![peaks.bins.into(), peaks.power.into()]
        });
    }
    check_operation("welch_psd_of_integers", &[64], |x, device| {
        let window = Window::Hann.tensor(32, WindowSymmetry::Periodic, FloatDType::F32, device);
        let x = (rank::<2>(x) * 100.0).int();
        vec![welch_psd(x, window, &WelchOptions::new(32, 2)).unwrap().into()]
    });
}

#[test]
fn values_that_are_not_finite_come_last() {
    // Of nine values two are finite in each row, and two are equal.
    check_operation("top_k", &[9], |x, _| {
        let x = rank::<2>(x);
        let finite = top_k(x.clone().abs().floor(), 5).unwrap();
        let zeros = x.clone() * 0.0;
        let sparse = Tensor::cat(vec![zeros.clone().narrow(1, 0, 2), x.narrow(1, 2, 2), zeros.narrow(1, 0, 5)], 1);
        let logarithms = top_k(sparse.log(), 4).unwrap();
        vec![finite.bins.into(), finite.power.into(), logarithms.bins.into(), logarithms.power.into()]
    });
}

#[test]
fn mel_spectra_are_exported() {
    let bands = MelBands::new(800.0, 9);
    let pads = [
        ("reflect", SignalPadding::Reflect),
        ("edge", SignalPadding::Edge),
        ("circular", SignalPadding::Circular),
        ("constant", SignalPadding::Constant(0.25)),
    ];
    for (name, pad) in pads {
        let options = MelOptions::new(StftOptions::new(40).with_hop(16).with_pad(pad), bands);
        check_operation(&format!("mel_{name}"), &[100], move |x, device| {
            let window = Window::Hann.tensor(40, WindowSymmetry::Periodic, FloatDType::F32, device);
            let bands: Tensor<3> = mel(rank::<2>(x), window, &options).unwrap();
            vec![bands.into()]
        });
    }
    let bands = bands.with_scale(MelScale::Htk).with_norm(MelNorm::None).with_f_min(20.0);
    let stft = StftOptions::new(64).with_center(false).with_normalized(true);
    for (name, kind, unit, guard) in [
        ("natural", SpectrumKind::Power, LogUnit::Natural, LogGuard::Offset(1e-3)),
        ("decibel", SpectrumKind::Power, LogUnit::Decibel, LogGuard::Floor(1e-6)),
        ("decibel_of_amplitude", SpectrumKind::Amplitude, LogUnit::Decibel, LogGuard::Floor(1e-6)),
        ("ten", SpectrumKind::Amplitude, LogUnit::Ten, LogGuard::Offset(1e-6)),
    ] {
        let options = MelOptions::new(stft, bands).with_kind(kind);
        let logarithm = Logarithm::new(unit).with_guard(guard);
        check_operation(&format!("log_mel_{name}"), &[150], move |x, device| {
            let window = Window::Hann.tensor(64, WindowSymmetry::Periodic, FloatDType::F32, device);
            let bands: Tensor<3> = log_mel(rank::<2>(x), window, &options, &logarithm).unwrap();
            vec![bands.into()]
        });
    }
}

#[test]
fn convolutions_and_butterflies_are_exported() {
    for (name, taps, is_gated) in [("short", 5, false), ("gated", 23, true), ("longer_than_the_signal", 40, false)] {
        check_operation(&format!("long_conv_{name}"), &[3, 23], move |x, device| {
            let x = rank::<3>(x);
            let gate = is_gated.then(|| x.clone() * 2.0);
            vec![long_conv(x, weights([3, taps], 5, device), gate).unwrap().into()]
        });
    }
    check_operation("spectral_conv_1d", &[2, 15], |x, device| {
        let weights = ComplexTensor::new(weights([2, 3, 8], 1, device), weights([2, 3, 8], 2, device));
        vec![spectral_conv(rank::<3>(x), weights).unwrap().into()]
    });
    check_operation("spectral_conv_2d", &[2, 12, 16], |x, device| {
        let weights = ComplexTensor::new(weights([2, 3, 5, 9], 1, device), weights([2, 3, 5, 9], 2, device));
        vec![spectral_conv(rank::<4>(x), weights).unwrap().into()]
    });
    check_operation("spectral_conv_3d", &[2, 6, 7, 8], |x, device| {
        let shape = [2, 2, 1, 7, 3];
        let weights = ComplexTensor::new(weights(shape, 1, device), weights(shape, 2, device));
        vec![spectral_conv(rank::<5>(x), weights).unwrap().into()]
    });
    for is_gated in [false, true] {
        check_operation(&format!("butterfly_{is_gated}"), &[16], move |x, device| {
            let x = rank::<2>(x);
            let gates = is_gated.then(|| weights([4, 8], 4, device).abs());
            let input = ComplexTensor::new(x.clone(), x.flip([1]));
            parts(butterfly(input, weights([4, 8, 2], 3, device), gates).unwrap())
        });
    }
}

#[test]
fn operations_of_burn_are_exported() {
    check_operation("elementwise", &[4, 6], |x, _| {
        let x = rank::<3>(x);
        let positive = x.clone().abs() + 0.1;
        let angles = x.clone().tanh() * 0.9;
        let ordered = x.clone().lower(positive.clone() - 0.5).float() + x.clone().greater_equal_elem(0.3).int().float();
        let signs = x.clone().sign() * positive.clone().log1p() / positive.clone().sqrt().recip();
        let trigonometry = angles.clone().acos() + angles.clone().atanh() - angles.asin().cos();
        let clamped = x.clone().clamp(-0.5, 0.5) + x.clone().clamp_min(0.1) * x.clone().clamp_max(0.2);
        let powers = positive.clone().powf_scalar(1.5) + x.clone().powi_scalar(3) - positive.powf(x.clone());
        let activations = softmax(x.clone(), 2) + log_softmax(x.clone(), 1) + gelu(x.clone()) - sigmoid(relu(x));
        let all = [ordered, signs, trigonometry, clamped, powers, activations];
        all.into_iter().map(AnyTensor::from).collect()
    });
    check_operation("shapes", &[4, 6], |x, device| {
        let x = rank::<3>(x);
        let [batch, ..] = x.dims();
        let kernel: Tensor<3> = weights([1, 4, 3], 8, device);
        let assigned = x.clone().slice_assign([0..batch, 1..3, 2..5], kernel.narrow(1, 1, 2).expand([batch, 2, 3]));
        let unfolded: Tensor<4> = x.clone().unfold(2, 3, 2);
        let reversed = x.clone().flip([1]).slice([0..batch, 1..4, 0..5]).swap_dims(1, 2);
        let filled = Tensor::<3>::full([batch, 2, 2], 0.75, device);
        let masked = x.clone().mask_fill(x.clone().greater_elem(0.5), f32::NEG_INFINITY).max_dim(2);
        let indices = Tensor::<1, Int>::from_data([3, 0, 0], device);
        let selected = x.select(1, indices);
        vec![assigned.into(), unfolded.into(), reversed.into(), filled.into(), masked.into(), selected.into()]
    });
    check_operation("reductions", &[4, 6], |x, _| {
        let x = rank::<3>(x);
        let (values, positions) = x.clone().sort_with_indices(2);
        let (greatest, places) = x.clone().topk_with_indices(3, 1);
        let sums = x.clone().sum_dim(0) + x.clone().mean_dim(1).prod_dim(2) + x.clone().min_dim(2).sum_dim(1);
        let product = x.clone().matmul(x.clone().swap_dims(1, 2));
        let all: Vec<AnyTensor> = vec![values.into(), positions.into(), greatest.into(), places.into(), sums.into()];
        [all, vec![product.into(), x.clone().argmax(2).into(), x.mean().into()]].concat()
    });
}

fn refusal(model: impl Fn(Tensor<2>) -> Tensor<2>) -> String {
    let graph = capture(&[Input::new("x", [2, 8])], |x: Tensor<2>, _: &Device| model(x)).unwrap();
    let description = Description { outputs: vec![("y".into(), String::new())], ..Description::default() };
    export(|_| Ok(graph.clone()), 1, &description).unwrap_err().to_string()
}

#[test]
fn an_operation_without_a_translation_is_refused_by_name() {
    let maxima = refusal(|x| local_maxima(x, &LocalMaximaOptions::new(), 2).unwrap().bins.float());
    assert_eq!(maxima, "onnx: the operation `firefly::local_maxima` can't be exported");
    assert_eq!(refusal(|x| x.cumprod(1)), "onnx: the operation `CumProd` can't be exported");
}

#[test]
fn names_and_types_that_a_file_cannot_have_are_refused() {
    let graph = capture(&[Input::new("x", [2])], |x: Tensor<1>, _: &Device| x * 2.0).unwrap();
    let named = |names: &[&str]| {
        let outputs = names.iter().map(|name| (name.to_string(), String::new())).collect();
        export(|_| Ok(graph.clone()), 1, &Description { outputs, ..Description::default() })
    };
    assert!(named(&["y"]).is_ok());
    for names in [&[][..], &["y", "z"], &[""], &["/y"], &["x"]] {
        assert!(matches!(named(names), Err(OnnxError::Names(_))), "{names:?}");
    }
    // A graph that was built by hand, whose node reads what nothing computes.
    let mut graph = Graph::default();
    let missing = graph.computed(&[2], DType::F32);
    let output = graph.apply(Operation::Reshape, &[missing], &[1, 2], DType::F32);
    graph.set_outputs(&[output]);
    let description = Description { outputs: vec![("y".into(), String::new())], ..Description::default() };
    assert!(matches!(export(|_| Ok(graph.clone()), 1, &description), Err(OnnxError::Graph(_))));
}

#[test]
fn a_model_whose_operations_depend_on_the_batch_has_a_fixed_one() {
    let description = Description { outputs: vec![("y".into(), String::new())], ..Description::default() };
    let of_batch =
        |batch: usize| capture(&[Input::new("x", [batch, 3])], |x: Tensor<2>, _: &Device| x * (1.0 / batch as f64));
    let model = export(of_batch, 4, &description).unwrap();
    assert_eq!(
        (&model.inputs[0].shape, &model.outputs[0].shape),
        (&vec!["4".into(), "3".into()], &model.inputs[0].shape)
    );
    assert!(model.fixed_batch.is_some_and(|reason| reason.contains("operations or constants")));
    let constant = |batch: usize| {
        capture(&[Input::new("x", [batch, 3])], |x: Tensor<2>, device: &Device| {
            x * Tensor::<2>::from_data(TensorData::new(vec![1f32; batch], [batch, 1]), device)
        })
    };
    assert!(export(constant, 2, &description).unwrap().fixed_batch.is_some_and(|why| why.contains("constant")));
}
