//! Firefly as WebAssembly modules: what the JavaScript in `js/` calls, which checks the types of arguments and has the
//! documentation of users.
//!
//! Signals are rows of f32, one after the other, and are computed by the caller's thread. Each module is a feature: `cpu`
//! has the operations, `models` has models and their training.

#[cfg(not(feature = "models"))]
mod arguments;
#[cfg(feature = "models")]
mod learned;
#[cfg(not(feature = "models"))]
mod mel;
mod results;
#[cfg(feature = "models")]
mod training;
#[cfg(not(feature = "models"))]
mod transforms;
#[cfg(not(feature = "models"))]
mod welch;

use burn::tensor::{Device, Tensor, TensorData};
use firefly_ops::ArgumentError;
use wasm_bindgen::prelude::*;

#[cfg(not(any(feature = "cpu", feature = "models")))]
compile_error!("the features `cpu` and `models` are modules: build one of them");

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = console, js_name = error)]
    fn console_error(message: &str);
}

/// Prepares the module: messages of panics go to the console.
#[wasm_bindgen(start)]
pub fn start() {
    std::panic::set_hook(Box::new(|panic| console_error(&panic.to_string())));
}

/// The device that computes: the CPU, on the caller's thread.
fn device() -> Device {
    Device::flex()
}

/// Name of the instruction set of the kernels: `simd128`, or `portable` of a module that is built without SIMD.
#[cfg(feature = "cpu")]
#[wasm_bindgen]
pub fn instruction_set() -> String {
    firefly_ops::instruction_sets::instruction_set().into()
}

/// Runs `body`, with the error of an argument as one of JavaScript.
fn run<R>(body: impl FnOnce() -> Result<R, ArgumentError>) -> Result<R, JsError> {
    body().map_err(argument_error)
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
    Ok(Tensor::from_data(TensorData::new(signal, [rows, length]), &device()))
}

/// `signal` as a tensor of one row.
#[cfg(not(feature = "models"))]
fn row(signal: Vec<f32>) -> Tensor<1> {
    let samples = signal.len();
    Tensor::from_data(TensorData::new(signal, [samples]), &device())
}
