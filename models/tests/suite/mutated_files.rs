//! Saved models with random damage: loading them is an error or gives a model that runs, and never a panic.

use std::path::Path;
use std::sync::LazyLock;

use burn::tensor::{Device, Tensor};
use firefly_models::LearnedWelchPeaksConfig;
use firefly_models::zoo::{self, ZooModel};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;

/// Damage to the bytes of a file.
#[derive(Debug, Clone)]
enum Damage {
    Set(Index, u8),
    Insert(Index, Vec<u8>),
    Remove(Index, Index),
    Truncate(Index),
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Damage::Set(at, byte)),
        (any::<Index>(), prop::collection::vec(any::<u8>(), 1..20)).prop_map(|(at, bytes)| Damage::Insert(at, bytes)),
        (any::<Index>(), any::<Index>()).prop_map(|(from, to)| Damage::Remove(from, to)),
        any::<Index>().prop_map(Damage::Truncate),
    ]
}

impl Damage {
    fn apply(&self, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        let length = bytes.len();
        match self {
            Self::Set(at, byte) => bytes[at.index(length)] = *byte,
            Self::Insert(at, new) => {
                let at = at.index(length);
                bytes.splice(at..at, new.iter().copied());
            }
            Self::Remove(from, to) => {
                let (from, to) = (from.index(length), to.index(length));
                bytes.drain(from.min(to)..from.max(to));
            }
            Self::Truncate(at) => bytes.truncate(at.index(length)),
        }
    }
}

/// A value of JSON in place of another: numbers at the ends of their ranges, other types, other names.
fn replacement() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (0u64..300).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(vec![
            "F64", "F16", "BF16", "I64", "I32", "I16", "I8", "U64", "U32", "U16", "U8", "BOOL", "F8_E4M3", "C64",
            "hann"
        ])
        .prop_map(Value::from),
        prop::collection::vec(any::<char>(), 0..8).prop_map(|text| text.into_iter().collect::<String>().into()),
        prop::collection::vec(any::<u64>(), 0..4).prop_map(Value::from),
        prop::collection::vec(0u64..40, 0..4).prop_map(Value::from),
    ]
}

/// Every place in a value that can be replaced.
fn places(value: &Value, at: String, all: &mut Vec<String>) {
    match value {
        Value::Object(entries) => entries.iter().for_each(|(key, value)| places(value, format!("{at}/{key}"), all)),
        Value::Array(items) => items.iter().enumerate().for_each(|(i, value)| places(value, format!("{at}/{i}"), all)),
        _ => {}
    }
    all.push(at);
}

fn replace(value: &mut Value, at: &Index, new: Value) {
    let mut all = Vec::new();
    places(value, String::new(), &mut all);
    if let Some(value) = value.pointer_mut(&all[at.index(all.len())]) {
        *value = new;
    }
}

/// The file of an undamaged model, without its checksum, by which all damage would be found at once.
static FILE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let config = LearnedWelchPeaksConfig::new().with_n_fft(16).with_k(4).with_open_segments(Some(vec![0, 1]));
    let file = ZooModel::from(config.init(&Device::flex())).to_bytes().unwrap();
    with_header(&file, |header| _ = header["__metadata__"].as_object_mut().unwrap().remove("sha256").unwrap())
});

/// Loads a model, and runs it if there is one and its frames fit into memory.
fn load(bytes: Vec<u8>) {
    let device = Device::flex();
    if let Ok(ZooModel::LearnedWelchPeaks(model)) = zoo::from_bytes(Path::new("model.safetensors"), bytes, &device) {
        let options = model.options();
        if options.frame() > 1 << 20 {
            return;
        }
        let frames = Tensor::<2>::ones([1, options.frame()], &device);
        assert_eq!(model.psd(frames.clone(), &model.hard_gates()).dims(), [1, options.bins()]);
        assert_eq!(model.forward(frames, &model.hard_gates()).bins.dims(), [1, model.config().k]);
    }
}

/// A file with another header.
fn with_header(file: &[u8], change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let length = u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
    let mut header: Value = serde_json::from_slice(&file[8..8 + length]).unwrap();
    change(&mut header);
    let header = serde_json::to_vec(&header).unwrap();
    [&(header.len() as u64).to_le_bytes(), &header[..], &file[8 + length..]].concat()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    #[test]
    fn damaged_bytes_never_panic(damages in prop::collection::vec(damage(), 1..6)) {
        let mut bytes = FILE.clone();
        damages.iter().for_each(|damage| damage.apply(&mut bytes));
        load(bytes);
    }

    #[test]
    fn other_values_in_the_settings_never_panic(at: Index, new in replacement()) {
        load(with_header(&FILE, |header| {
            let description = &mut header["__metadata__"]["firefly"];
            let mut changed: Value = serde_json::from_str(description.as_str().unwrap()).unwrap();
            replace(&mut changed["settings"], &at, new);
            *description = changed.to_string().into();
        }));
    }

    #[test]
    fn other_values_in_the_header_never_panic(
        changes in prop::collection::vec((any::<Index>(), replacement()), 1..3),
    ) {
        load(with_header(&FILE, |header| changes.into_iter().for_each(|(at, new)| replace(header, &at, new))));
    }
}
