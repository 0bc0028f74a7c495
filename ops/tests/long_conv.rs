//! Causal convolutions: against the sum, gradients in float64, batches, types, instruction sets, threads, and refused
//! arguments.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::process::ExitCode;

use burn::tensor::{DType, Device, Tensor};
use common::devices::{CpuTest, DeviceTest, Trials, computed, is_software, tests};
use common::{noise, relative_error, same, tensor, transform_tolerance, values, worst_row_error};
use firefly_ops::instruction_sets::InstructionSet;
use firefly_ops::{ArgumentError, long_conv};
use firefly_reference::long_conv::LongConvDefinition;

fn main() -> ExitCode {
    let on_devices = tests![DeviceTest:
        results_are_the_causal_sum,
        gradients_are_those_of_the_sum,
        long_rows_are_right,
        gradients_repeat_to_the_bit,
        gradients_do_not_depend_on_which_inputs_are_tracked,
        a_row_does_not_depend_on_its_neighbours,
        views_and_small_floats_make_no_difference,
        no_rows_give_no_rows,
    ];
    let on_cpu = tests![CpuTest:
        gradients_match_finite_differences,
        every_instruction_set_is_right,
        threads_change_no_bit,
        a_skip_weight_is_part_of_the_first_tap,
        wrong_arguments_are_refused_by_name,
    ];
    Trials::default().on_devices(on_devices).on_cpu(on_cpu).run()
}

/// Inputs of a convolution, and a gradient of its output.
struct Case {
    batch: usize,
    definition: LongConvDefinition,
    signal: Vec<f64>,
    kernel: Vec<f64>,
    gate: Option<Vec<f64>>,
    grad: Vec<f64>,
}

impl Case {
    fn new(batch: usize, channels: usize, n: usize, taps: usize, gated: bool) -> Self {
        let rows = |seed| noise(batch * channels * n, seed);
        Self {
            batch,
            definition: LongConvDefinition { channels, n, taps },
            signal: rows(1),
            kernel: noise(channels * taps, 2),
            gate: gated.then(|| rows(3)),
            grad: rows(4),
        }
    }

    fn label(&self, device: &Device, dtype: DType) -> String {
        format!("{device:?}, {dtype:?}, batch {}, gated {}, {:?}", self.batch, self.gate.is_some(), self.definition)
    }

    fn shape(&self) -> [usize; 3] {
        [self.batch, self.definition.channels, self.definition.n]
    }

    /// Signal, kernel and gate.
    fn tensors(&self, device: &Device, dtype: DType) -> (Tensor<3>, Tensor<2>, Option<Tensor<3>>) {
        let rows = |values: &[f64]| tensor(values, self.shape(), device, dtype);
        let LongConvDefinition { channels, taps, .. } = self.definition;
        (rows(&self.signal), tensor(&self.kernel, [channels, taps], device, dtype), self.gate.as_deref().map(rows))
    }

    fn output(&self, device: &Device, dtype: DType) -> Vec<f64> {
        let (signal, kernel, gate) = self.tensors(device, dtype);
        let output = long_conv(signal, kernel, gate).unwrap();
        assert_eq!((output.dims(), output.dtype()), (self.shape(), dtype));
        values(output)
    }

    /// Gradients of those inputs that are tracked.
    fn gradients(&self, device: &Device, dtype: DType, tracked: [bool; 3]) -> [Option<Vec<f64>>; 3] {
        let (mut signal, mut kernel, mut gate) = self.tensors(device, dtype);
        if tracked[0] {
            signal = signal.require_grad();
        }
        if tracked[1] {
            kernel = kernel.require_grad();
        }
        if tracked[2] {
            gate = gate.map(Tensor::require_grad);
        }
        let output = long_conv(signal.clone(), kernel.clone(), gate.clone()).unwrap();
        let gradients = (output * tensor(&self.grad, self.shape(), device, dtype)).sum().backward();
        let of_gate = gate.and_then(|gate| gate.grad(&gradients));
        [signal.grad(&gradients).map(values), kernel.grad(&gradients).map(values), of_gate.map(values)]
    }

    /// Points of the transforms, at least.
    fn points(&self) -> usize {
        self.definition.n + self.definition.taps.min(self.definition.n)
    }

    /// Relative to the largest value of a row, or of all rows' gradients: a gate that is nearly 0 makes a row small.
    fn tolerance(&self, dtype: DType) -> f64 {
        match dtype {
            DType::F64 => 1e-14 + 1e-15 * (self.points() as f64).log10(),
            _ => transform_tolerance(self.points()),
        }
    }

    fn check_output(&self, device: &Device, dtype: DType) {
        let expected = self.definition.output(&self.signal, &self.kernel, self.gate.as_deref());
        let error = worst_row_error(&self.output(device, dtype), &expected, self.definition.n);
        let tolerance = self.tolerance(dtype) * if self.gate.is_some() { 4.0 } else { 2.0 };
        assert!(error <= tolerance, "{}: relative error {error:.1e}", self.label(device, dtype));
    }

    fn check_gradients(&self, device: &Device, dtype: DType) {
        let expected = self.definition.gradients(&self.signal, &self.kernel, self.gate.as_deref(), &self.grad);
        let found = self.gradients(&device.clone().autodiff(), dtype, [true; 3]);
        let names = ["signal", "kernel", "gate"];
        for ((name, found), expected) in names.iter().zip(&found).zip(&expected) {
            let Some(found) = found else {
                assert!(*name == "gate" && self.gate.is_none());
                continue;
            };
            let error = relative_error(found, expected);
            let label = self.label(device, dtype);
            assert!(error <= 2.0 * self.tolerance(dtype), "{label}, {name}: relative error {error:.1e}");
        }
    }
}

/// Batch, channels, n and taps: lengths of 1, odd, prime and of powers of two, kernels shorter and longer than rows,
/// and channels fewer and more than lanes.
const SIZES: [[usize; 4]; 20] = [
    [1, 1, 1, 1],
    [2, 3, 1, 4],
    [1, 1, 2, 2],
    [3, 2, 3, 1],
    [5, 1, 7, 7],
    [16, 1, 30, 30],
    [1, 16, 64, 64],
    [3, 17, 31, 31],
    [2, 40, 60, 90],
    [1, 20, 128, 5],
    [33, 3, 100, 100],
    [2, 9, 97, 96],
    [1, 7, 255, 255],
    [4, 18, 256, 256],
    [9, 5, 211, 64],
    [1, 2, 500, 500],
    [2, 16, 1000, 1000],
    [1, 33, 1024, 1024],
    [70, 1, 33, 33],
    [1, 130, 16, 16],
];

/// The sizes that a device is tested with: a software device takes seconds to compile a kernel.
fn sizes(device: &Device) -> Vec<[usize; 4]> {
    let few = [[2, 3, 1, 4], [3, 17, 31, 31], [9, 5, 64, 64], [2, 3, 500, 500]];
    if is_software(device) { few.to_vec() } else { SIZES.to_vec() }
}

fn results_are_the_causal_sum(device: &Device) {
    for [batch, channels, n, taps] in sizes(device) {
        for &dtype in computed(device) {
            for gated in [false, true] {
                Case::new(batch, channels, n, taps, gated).check_output(device, dtype);
            }
        }
    }
}

fn gradients_are_those_of_the_sum(device: &Device) {
    for [batch, channels, n, taps] in sizes(device) {
        for &dtype in computed(device) {
            for gated in [false, true] {
                Case::new(batch, channels, n, taps, gated).check_gradients(device, dtype);
            }
        }
    }
}

/// Rows that no cube or tile holds.
fn long_rows_are_right(device: &Device) {
    let lengths: &[[usize; 4]] = if is_software(device) {
        &[[2, 2, 9000, 9000]]
    } else {
        &[[1, 8, 3000, 3000], [2, 4, 5000, 5000], [1, 2, 20_011, 20_011], [2, 3, 40_000, 100], [1, 8, 4096, 4096]]
    };
    for &[batch, channels, n, taps] in lengths {
        let case = Case::new(batch, channels, n, taps, true);
        case.check_output(device, DType::F32);
        case.check_gradients(device, DType::F32);
    }
}

fn gradients_repeat_to_the_bit(device: &Device) {
    let case = Case::new(37, 3, 60, 60, true);
    let device = device.clone().autodiff();
    let run = || case.gradients(&device, DType::F32, [true; 3]).map(Option::unwrap);
    assert!(run().iter().zip(&run()).all(|(first, second)| same(first, second)));
}

fn gradients_do_not_depend_on_which_inputs_are_tracked(device: &Device) {
    let case = Case::new(3, 5, 31, 31, true);
    for device in [device.clone().autodiff(), device.clone().autodiff().gradient_checkpointing()] {
        let all = case.gradients(&device, DType::F32, [true; 3]);
        for subset in 1..8 {
            let tracked = [0, 1, 2].map(|input| subset >> input & 1 == 1);
            let some = case.gradients(&device, DType::F32, tracked);
            for input in 0..3 {
                assert_eq!(some[input].is_some(), tracked[input], "{tracked:?}");
                let is_same = some[input].as_ref().is_none_or(|some| same(some, all[input].as_ref().unwrap()));
                assert!(is_same, "{tracked:?}, input {input}");
            }
        }
    }
}

/// A row has the same bits among others as alone in its element of the batch, and a spoilt one spoils no other.
fn a_row_does_not_depend_on_its_neighbours(device: &Device) {
    for [batch, channels, n] in [[5, 3, 60], [3, 20, 60]] {
        let clean = Case::new(batch, channels, n, n, false);
        let mut spoilt = Case::new(batch, channels, n, n, false);
        spoilt.signal[n + 3] = f64::NAN;
        spoilt.signal[2 * n + 4] = f64::INFINITY;
        let outputs = clean.output(device, DType::F32).into_iter().zip(spoilt.output(device, DType::F32));
        for (at, (clean, spoilt)) in outputs.enumerate() {
            assert!([1, 2].contains(&(at / n)) || same(&[clean], &[spoilt]), "value {at} of rows of {n}");
        }
        let rest = Case { batch: batch - 1, signal: clean.signal[channels * n..].to_vec(), ..clean };
        let all = Case::new(batch, channels, n, n, false).output(device, DType::F32);
        assert!(same(&rest.output(device, DType::F32), &all[channels * n..]), "{channels} channels");
    }
}

fn views_and_small_floats_make_no_difference(device: &Device) {
    let case = Case::new(4, 6, 30, 30, true);
    let expected = case.output(device, DType::F32);
    let (signal, kernel, gate) = case.tensors(device, DType::F32);
    let turned = |rows: Tensor<3>| {
        let copied = rows.swap_dims(0, 2).mul_scalar(1.0);
        copied.swap_dims(0, 2)
    };
    let kernel_view = kernel.clone().swap_dims(0, 1).mul_scalar(1.0).swap_dims(0, 1);
    let output = long_conv(turned(signal.clone()), kernel_view, gate.clone().map(turned)).unwrap();
    assert!(same(&values(output), &expected));
    // Rows with something before and after them.
    let framed =
        |rows: Tensor<3>| Tensor::cat(vec![rows.zeros_like(), rows, rows_of_ones(device)], 2).narrow(2, 30, 30);
    let output = long_conv(framed(signal.clone()), kernel.clone(), gate.clone().map(framed)).unwrap();
    assert!(same(&values(output), &expected));
    for dtype in [DType::F16, DType::BF16].into_iter().filter(|&dtype| device.supports_dtype(dtype)) {
        let small = |rows: Tensor<3>| rows.cast(dtype);
        let output = long_conv(small(signal.clone()), kernel.clone().cast(dtype), gate.clone().map(small)).unwrap();
        assert_eq!(output.dtype(), DType::F32);
        let wide = |rows: Tensor<3>| small(rows).cast(DType::F32);
        let kernel = kernel.clone().cast(dtype).cast(DType::F32);
        let expected = long_conv(wide(signal.clone()), kernel, gate.clone().map(wide)).unwrap();
        assert!(same(&values(output), &values(expected)), "{dtype:?}");
    }
}

fn rows_of_ones(device: &Device) -> Tensor<3> {
    Tensor::ones([4, 6, 7], (device, DType::F32))
}

fn no_rows_give_no_rows(device: &Device) {
    for shape in [[0, 3, 5], [2, 0, 5]] {
        let device = device.clone().autodiff();
        let signal = Tensor::<3>::zeros(shape, (&device, DType::F32)).require_grad();
        let kernel = Tensor::<2>::ones([shape[1], 4], (&device, DType::F32)).require_grad();
        let output = long_conv(signal.clone(), kernel.clone(), None).unwrap();
        assert_eq!(output.dims(), shape);
        let gradients = output.sum().backward();
        assert_eq!(signal.grad(&gradients).unwrap().dims(), shape);
        assert_eq!(values(kernel.grad(&gradients).unwrap()), vec![0.0; 4 * shape[1]]);
    }
}

fn gradients_match_finite_differences() {
    let case = Case::new(2, 3, 7, 5, true);
    let device = Device::flex();
    let gradients = case.gradients(&device.clone().autodiff(), DType::F64, [true; 3]).map(Option::unwrap);
    let loss = |case: &Case| -> f64 {
        case.output(&device, DType::F64).iter().zip(&case.grad).map(|(y, grad)| y * grad).sum()
    };
    const STEP: f64 = 1e-3;
    for (input, gradient) in gradients.iter().enumerate() {
        for (at, gradient) in gradient.iter().enumerate() {
            let moved = |step: f64| {
                let mut case = Case::new(2, 3, 7, 5, true);
                let values = match input {
                    0 => &mut case.signal,
                    1 => &mut case.kernel,
                    _ => case.gate.as_mut().unwrap(),
                };
                values[at] += step;
                loss(&case)
            };
            // The loss is linear in each value.
            let difference = (moved(STEP) - moved(-STEP)) / (2.0 * STEP);
            assert!((difference - gradient).abs() < 1e-10, "input {input}, value {at}: {gradient}, not {difference}");
        }
    }
}

fn every_instruction_set_is_right() {
    for set in InstructionSet::ALL {
        set.force(|| {
            for [batch, channels, n, taps] in SIZES {
                let case = Case::new(batch, channels, n, taps, true);
                case.check_output(&Device::flex(), DType::F32);
                case.check_gradients(&Device::flex(), DType::F32);
            }
        });
    }
}

fn threads_change_no_bit() {
    let case = Case::new(40, 20, 128, 128, true);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let gradients = case.gradients(&Device::flex().autodiff(), DType::F32, [true; 3]).map(Option::unwrap);
            [vec![case.output(&Device::flex(), DType::F32)], gradients.to_vec()].concat()
        })
    };
    assert!(on(1).iter().zip(&on(3)).all(|(one, three)| same(one, three)));
}

fn a_skip_weight_is_part_of_the_first_tap() {
    let case = Case::new(2, 3, 20, 20, false);
    let (signal, kernel, _) = case.tensors(&Device::flex(), DType::F64);
    let skip = Tensor::<1>::from_data([0.5, -1.0, 2.0], (&Device::flex(), DType::F64));
    let rest = Tensor::<2>::zeros([3, 19], (&Device::flex(), DType::F64));
    let first = Tensor::cat(vec![skip.clone().reshape([3, 1]), rest], 1);
    let expected = long_conv(signal.clone(), kernel.clone(), None).unwrap() + signal.clone() * skip.reshape([1, 3, 1]);
    let output = long_conv(signal, kernel + first, None).unwrap();
    assert!(relative_error(&values(output), &values(expected)) < 1e-14);
}

fn refused(result: Result<Tensor<3>, ArgumentError>, message: &str) {
    assert_eq!(result.err().unwrap().to_string(), message);
}

fn wrong_arguments_are_refused_by_name() {
    let device = Device::flex();
    let rows = |shape: [usize; 3]| Tensor::<3>::zeros(shape, &device);
    let kernel = |shape: [usize; 2]| Tensor::<2>::zeros(shape, &device);
    refused(
        long_conv(rows([2, 3, 0]), kernel([3, 4]), None),
        "long_conv: `signal` is 0 samples per row, but must be at least 1",
    );
    refused(
        long_conv(rows([2, 3, 5]), kernel([3, 0]), None),
        "long_conv: `kernel` is 0 samples per row, but must be at least 1",
    );
    refused(long_conv(rows([2, 3, 5]), kernel([2, 4]), None), "long_conv: `kernel` is [2, 4], but must be [3, 4]");
    refused(
        long_conv(rows([2, 3, 5]), kernel([3, 4]), Some(rows([2, 3, 4]))),
        "long_conv: `gate` is [2, 3, 4], but must be [2, 3, 5]",
    );
}
