//! Firefly as a WebAssembly module: what `js/firefly.js` calls, which checks the types of arguments and has the
//! documentation of users.
//!
//! Signals are rows of f32, one after the other. Everything is computed by the caller's thread.

mod arguments;
mod learned;
mod mel;
mod transforms;
mod welch;

use std::cell::Cell;

use burn::tensor::{Device, Tensor, TensorData};
use firefly_ops::ArgumentError;
use firefly_ops::instruction_sets::InstructionSet;
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = console, js_name = error)]
    fn console_error(message: &str);
}

thread_local! {
    static SET: Cell<Option<InstructionSet>> = const { Cell::new(None) };
}

/// Prepares the module: messages of panics go to the console.
#[wasm_bindgen(start)]
pub fn start() {
    std::panic::set_hook(Box::new(|panic| console_error(&panic.to_string())));
}

/// Name of the instruction set of the kernels: `simd128` or `portable`.
#[wasm_bindgen]
pub fn instruction_set() -> String {
    SET.get().unwrap_or_else(InstructionSet::detected).to_string()
}

/// Makes kernels use an instruction set, for tests and benchmarks. Returns whether the module has it.
#[wasm_bindgen]
pub fn use_instruction_set(name: &str) -> bool {
    let set = InstructionSet::available().find(|set| set.name() == name);
    if set.is_some() {
        SET.set(set);
    }
    set.is_some()
}

/// Runs `body` on the instruction set in use.
fn run<R>(body: impl FnOnce() -> Result<R, ArgumentError>) -> Result<R, JsError> {
    match SET.get() {
        Some(set) => set.force(body),
        None => body(),
    }
    .map_err(argument_error)
}

/// The error of an argument, with the names that JavaScript has.
fn argument_error(error: ArgumentError) -> JsError {
    let ArgumentError { operation, argument, got, expected, .. } = error;
    JsError::new(&format!("{}: `{}` is {got}, but must be {expected}", camel_case(operation), camel_case(argument)))
}

/// `n_fft` as `nFft`.
fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let mut camel: String = words.next().unwrap_or_default().into();
    for word in words {
        let mut letters = word.chars();
        camel.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        camel.push_str(letters.as_str());
    }
    camel
}

/// `signal` as rows of `length` values; the error names `argument`.
fn rows(
    operation: &'static str,
    argument: &'static str,
    signal: Vec<f32>,
    length: usize,
) -> Result<Tensor<2>, ArgumentError> {
    if length == 0 || signal.is_empty() || !signal.len().is_multiple_of(length) {
        let expected = format_args!("of one or more rows of {length} values");
        return Err(ArgumentError::new(operation, argument, format_args!("of {} values", signal.len()), expected));
    }
    let rows = signal.len() / length;
    Ok(Tensor::from_data(TensorData::new(signal, [rows, length]), &Device::flex()))
}

/// The values of a tensor of f32.
fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    let data = tensor.into_data();
    data.as_slice::<f32>().map_or_else(|_| data.iter::<f32>().collect(), <[f32]>::to_vec)
}
