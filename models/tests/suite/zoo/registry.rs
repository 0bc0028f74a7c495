//! Every variant of the zoo: forward, gradients, saving, capture, rewriting and replay; and the errors of the registry.
use std::collections::BTreeSet;
use std::fs;

use burn::backend::Flex;
use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::{Device, Gradients, Tensor, TensorData};
use firefly_framework::graph::{AnyTensor, CustomOperations, Graph, Input, Replay};
use firefly_framework::profile::Preset;
use firefly_framework::rewrite::Rewriter;
use firefly_models::zoo::{self, Settings, ZooError, ZooModel};

/// Elements of a batch.
const BATCH: usize = 2;

/// Variants of test size: those that end in `_tiny`.
fn tiny() -> Vec<&'static str> {
    zoo::list("").into_iter().filter(|name| name.ends_with("_tiny")).collect()
}

fn create(name: &str, device: &Device) -> ZooModel {
    zoo::create(name, &Settings::new(), device).unwrap_or_else(|error| panic!("{error}"))
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
        TensorData::new((0..elements).map(sample).map(|value| value as f32).collect(), input.shape.clone())
    } else {
        let values: Vec<i64> = (0..elements).map(|index| (index % 3) as i64).collect();
        TensorData::new(values, input.shape.clone()).convert_dtype(input.dtype)
    }
}

fn inputs(model: &ZooModel) -> Vec<TensorData> {
    model.inputs(BATCH).iter().zip(7..).map(|(input, seed)| data(input, seed)).collect()
}

fn tensors(model: &ZooModel, device: &Device) -> Vec<AnyTensor> {
    inputs(model).into_iter().map(|data| AnyTensor::from_data(data, device)).collect()
}

/// Every value of every float output.
fn floats(outputs: Vec<AnyTensor>) -> Vec<Vec<f32>> {
    let floats = outputs.into_iter().filter(AnyTensor::is_float);
    floats.map(|output| output.try_flatten("test", "output").unwrap().into_data().try_to_vec().unwrap()).collect()
}

fn run(model: &ZooModel) -> Vec<Vec<f32>> {
    floats(model.try_forward(tensors(model, &Device::flex())).unwrap())
}

#[test]
fn every_family_has_a_variant_of_its_name_and_a_tiny_one() {
    let names = zoo::list("");
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
    for name in &names {
        let card = zoo::card(name).unwrap();
        assert_eq!(card.name, *name);
        assert!(name.starts_with(card.family), "{name} of {}", card.family);
        assert!(names.contains(&card.family), "no variant is called {}", card.family);
        assert!(names.contains(&format!("{}_tiny", card.family).as_str()), "no tiny {}", card.family);
        assert!(!card.inputs.is_empty() && !card.outputs.is_empty() && !card.summary.is_empty());
        for result in card.results {
            assert!(!result.command.is_empty() && !result.machine.is_empty(), "{name}: {result:?}");
        }
    }
}

#[test]
fn every_measured_result_is_of_a_variant_of_its_family() {
    let families: BTreeSet<_> = zoo::list("").into_iter().map(|name| zoo::family(name).unwrap()).collect();
    let of_family = |family: &str| {
        let results = &create(&format!("{family}_tiny"), &Device::flex()).family().text().results;
        assert!(results.iter().all(|result| zoo::family(result.model).is_ok_and(|of| of == family)), "{family}");
        results.len()
    };
    let in_file = include_str!("../../../src/zoo/cards.json").matches("\"model\":").count();
    assert_eq!(families.into_iter().map(of_family).sum::<usize>(), in_file);
    assert!(in_file >= 36, "{in_file}");
}

#[test]
fn outputs_are_finite_and_as_many_as_the_card_says() {
    let device = Device::flex();
    for name in tiny() {
        let model = create(name, &device);
        let card = zoo::card(name).unwrap();
        assert_eq!(model.inputs(BATCH).len(), card.inputs.len(), "{name}");
        let outputs = model.try_forward(tensors(&model, &device)).unwrap();
        assert_eq!(outputs.len(), card.outputs.len(), "{name}");
        assert!(floats(outputs).concat().iter().all(|value| value.is_finite()), "{name}");
        assert!(model.try_forward(vec![]).is_err(), "{name} runs without inputs");
    }
}

/// Float parameters without a finite gradient.
struct WithoutGradient<'a> {
    gradients: &'a Gradients,
    path: Vec<String>,
    found: Vec<String>,
    parameters: usize,
}

impl ModuleVisitor for WithoutGradient<'_> {
    fn enter_module(&mut self, name: &str, _container: &str) {
        self.path.push(name.into());
    }

    fn exit_module(&mut self, _name: &str, _container: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, parameter: &Param<Tensor<D>>) {
        self.parameters += parameter.val().shape().num_elements();
        let gradient = parameter.val().grad(self.gradients).map(|gradient| gradient.into_data());
        let finite = gradient.is_some_and(|values| values.iter::<f32>().all(f32::is_finite));
        if !finite && parameter.val().is_require_grad() {
            self.found.push(self.path.join("."));
        }
    }
}

#[test]
fn every_parameter_gets_a_finite_gradient() {
    let device = Device::flex().autodiff();
    for name in tiny() {
        let model = create(name, &device);
        let outputs = model.try_forward(tensors(&model, &device)).unwrap();
        let squares = outputs.into_iter().filter(AnyTensor::is_float);
        let squares = squares.map(|output| output.try_flatten("test", "output").unwrap().square().mean());
        let loss = squares.reduce(|sum, square| sum + square).unwrap();
        if model.num_params() == 0 {
            continue;
        }
        let gradients = loss.backward();
        let mut visitor = WithoutGradient { gradients: &gradients, path: vec![], found: vec![], parameters: 0 };
        model.visit(&mut visitor);
        assert!(visitor.found.is_empty(), "{name}: no finite gradient of {:?}", visitor.found);
        assert_eq!(visitor.parameters, zoo::card(name).unwrap().parameters, "{name}");
    }
}

#[test]
fn a_saved_model_loads_with_the_same_bits() {
    let (folder, device) = (tempfile::tempdir().unwrap(), Device::flex());
    for name in tiny() {
        let path = folder.path().join(format!("{name}.safetensors"));
        let model = create(name, &device);
        model.save(&path).unwrap();
        let loaded = zoo::load(&path, &device).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(loaded.settings(), model.settings());
        assert_eq!(loaded.to_bytes().unwrap(), fs::read(&path).unwrap(), "{name}");
        assert_eq!(run(&loaded), run(&model), "{name}");
    }
}

fn replay(graph: &Graph, model: &ZooModel) -> Vec<Vec<f32>> {
    let custom = CustomOperations::<Flex>::spectral_and_fourier();
    let outputs = Replay::new(graph, &Default::default(), &custom).unwrap().run(inputs(model)).unwrap();
    let floats = outputs.into_iter().filter(|output| output.dtype().is_float());
    floats.map(|output| output.try_to_vec().unwrap()).collect()
}

#[test]
fn a_captured_model_replays_with_the_same_bits() {
    for name in tiny() {
        let model = create(name, &Device::flex());
        let graph = model.capture(BATCH).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(replay(&graph, &model), run(&model), "{name}");
    }
}

#[test]
fn a_rewritten_model_has_the_same_values() {
    // A device on which every rewrite pays.
    let mut device = Preset::Cpu.profile();
    device.min_gain = 0.0;
    for name in tiny() {
        let model = create(name, &Device::flex());
        let rewritten = Rewriter::spectral().run(&model.capture(BATCH).unwrap(), &device);
        for (before, after) in run(&model).iter().zip(replay(&rewritten.graph, &model)) {
            let scale = before.iter().fold(0.0f32, |most, value| most.max(value.abs()));
            assert_eq!(before.len(), after.len());
            for (before, after) in before.iter().zip(after) {
                let explanation = rewritten.explain();
                assert!((before - after).abs() <= 1e-5 * scale, "{name}: {before} became {after}\n{explanation}");
            }
        }
    }
}

#[test]
fn shipped_weights_are_those_of_their_variant() {
    let device = Device::flex();
    let trained = zoo::list_pretrained();
    assert!(!trained.is_empty());
    for name in trained {
        let model = zoo::pretrained(name, &device).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(model.settings(), create(name, &device).settings(), "{name}");
        assert!(model.to_bytes().unwrap().len() < 1 << 20, "{name} is larger than 1 MB");
        assert!(zoo::card(name).unwrap().has_weights);
    }
}

/// The file with spaces in place of its checksum.
fn without_checksum(bytes: &[u8]) -> Vec<u8> {
    let entry = b"\"sha256\":\"";
    let place = bytes.windows(entry.len()).position(|window| window == entry).unwrap();
    let mut bytes = bytes.to_vec();
    // The entry, 64 digits, a quotation mark and a comma.
    bytes[place..place + entry.len() + 66].fill(b' ');
    bytes
}

#[test]
fn damaged_files_are_refused() {
    let (folder, device) = (tempfile::tempdir().unwrap(), Device::flex());
    let path = folder.path().join("model.safetensors");
    let bytes = create("learned_welch_peaks_tiny", &device).to_bytes().unwrap();
    let load = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        zoo::load(&path, &device).expect_err("the file is damaged").to_string()
    };
    for length in [0, 7, 40, bytes.len() - 1] {
        let error = load(&bytes[..length]);
        assert!(error.contains("damaged or cut short: "), "{length}: {error}");
    }
    for place in [bytes.len() - 1, bytes.len() - 9] {
        let mut other = bytes.clone();
        other[place] ^= 1;
        let error = load(&other);
        assert!(error.contains("damaged: its SHA-256"), "byte {place}: {error}");
    }
    // Files that were written without a checksum are read, and their faults are found as far as they can be.
    let bytes = without_checksum(&bytes);
    fs::write(&path, &bytes).unwrap();
    assert!(zoo::load(&path, &device).is_ok());
    let changed = |from: &str, to: &str| {
        let place = bytes.windows(from.len()).position(|window| window == from.as_bytes()).unwrap();
        [&bytes[..place], to.as_bytes(), &bytes[place + from.len()..]].concat()
    };
    assert!(load(&changed("learned_welch_peaks", "learned_welch_pikes")).contains("no family `learned_welch_pikes`"));
    assert!(load(&changed("\\\"format\\\":1", "\\\"format\\\":2")).contains("it has format 2"));
    assert!(load(&changed("\\\"n_fft\\\":16", "\\\"n_fft\\\":32")).contains("not the weights of this model"));
    assert!(zoo::load(&folder.path().join("none"), &device).is_err());
}

#[test]
fn unknown_names_are_errors_with_the_nearest_one() {
    let device = Device::flex();
    let create = |name: &str, settings: &str| {
        let settings = settings.parse().unwrap();
        zoo::create(name, &settings, &device).expect_err("the name is wrong").to_string()
    };
    assert!(create("welch_peeks", "").contains("did you mean `welch_peaks`?"));
    let key = create("welch_peaks", "n_ftt = 64");
    assert!(key.contains("no setting `n_ftt` (did you mean `n_fft`?); it has"), "{key}");
    assert!(create("welch_peaks", "n_fft = many").contains("`n_fft = \"many\"`"));
    assert!(create("welch_peaks", "n_fft = 64, k = 0").contains("`k` is 0"));
    assert!("n_fft 64".parse::<Settings>().is_err());
    assert!(matches!(zoo::card("nothing"), Err(ZooError::UnknownModel { .. })));
    assert!(matches!(zoo::pretrained("welch_peaks", &device), Err(ZooError::NoWeights { .. })));
}
