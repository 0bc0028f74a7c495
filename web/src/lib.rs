//! Firefly as WebAssembly modules: what the JavaScript in `js/` calls, which checks the types of arguments and has the
//! documentation of users.
//!
//! Signals are rows of f32, one after the other. Each module is a feature: `cpu` has the operations, computed by the
//! caller's thread, `webgpu` the same by the browser's GPU, for which nothing waits but a promise, and `models` has
//! models and their training, on the CPU.

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

#[cfg(feature = "webgpu")]
use std::cell::OnceCell;

use burn::tensor::{Device, Tensor, TensorData};
use firefly_ops::ArgumentError;
use wasm_bindgen::prelude::*;

#[cfg(not(any(feature = "cpu", feature = "models", feature = "webgpu")))]
compile_error!("the features `cpu`, `models` and `webgpu` are modules: build one of them without default features");

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
#[cfg(not(feature = "webgpu"))]
fn device() -> Device {
    Device::flex()
}

/// Name of the instruction set of the kernels: `simd128`, or `portable` of a module that is built without SIMD.
#[cfg(feature = "cpu")]
#[wasm_bindgen]
pub fn instruction_set() -> String {
    firefly_ops::instruction_sets::instruction_set().into()
}

#[cfg(feature = "webgpu")]
thread_local! {
    static DEVICE: OnceCell<Device> = const { OnceCell::new() };
}

/// Prepares the browser's GPU. Nothing else may be called before.
#[cfg(feature = "webgpu")]
#[wasm_bindgen]
pub async fn start_device() -> Result<(), JsError> {
    if DEVICE.with(|device| device.get().is_none()) {
        let ready = Device::wgpu_options().init_async().await?;
        DEVICE.with(|device| {
            device.get_or_init(|| ready);
        });
    }
    Ok(())
}

/// The device that computes: the browser's GPU. `js/webgpu.js` calls nothing that needs it before [`start_device`].
#[cfg(feature = "webgpu")]
fn device() -> Device {
    DEVICE.with(|device| device.get().expect("start_device comes first").clone())
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
