//! Plans follow from limits alone, and every plan gives the results of the definition. The public functions are checked
//! in `tests/long_conv.rs`.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use cubecl::server::Handle;
use firefly_reference::long_conv::LongConvDefinition;

use super::launch::Convolution;
use super::plan::{LongConvPlan, blocks};
use super::{ConvolutionGradients, ConvolutionInputs, ConvolutionShape, long_conv};
use crate::gpu::complex::ComplexRows;
use crate::gpu::device::{GpuDevice, Limits, empty};
use crate::gpu::tests::devices::{accelerators, noise, read, small, upload};
use crate::gpu::transform::StridedRows;
use crate::gpu::transform::plan_cache::table;

#[test]
fn transforms_hold_a_row_and_its_kernel() {
    for limits in [Limits::H200, Limits::WEBGPU, Limits::SOFTWARE] {
        for n in (1usize..200).chain([1000, 1024, 4096, 10_007, 16_384, 65_536, 1 << 20]) {
            for taps in [1, n.div_ceil(3), n] {
                let plan = LongConvPlan::of(n, taps, &limits).unwrap();
                let (least, points) = ((n + taps - 1).div_ceil(2), plan.points as usize);
                assert!(points >= least && points <= least + least / 4 + 1, "{n}, {taps}: {plan:?}");
                if let Some(launch) = plan.in_cube {
                    let layout = launch.layout;
                    assert!(layout.shared_bytes() <= limits.shared && layout.cube_units() <= limits.units);
                    assert_eq!(launch.passes(), 2 * layout.radices.count());
                    assert_eq!(table(&launch).len(), 2 * launch.table_len() as usize);
                }
            }
        }
    }
}

#[test]
fn rows_of_16384_samples_fit_a_cube_of_an_h200() {
    let is_in_cube = |n, limits| LongConvPlan::of(n, n, limits).unwrap().in_cube.is_some();
    assert_eq!([1024, 4096, 16_384, 32_768].map(|n| is_in_cube(n, &Limits::H200)), [true, true, true, false]);
    assert_eq!([1024, 4096, 16_384].map(|n| is_in_cube(n, &Limits::WEBGPU)), [true, true, false]);
}

#[test]
fn blocks_are_as_many_as_keep_a_device_busy() {
    assert_eq!(blocks(64, 768, 64), 6);
    assert_eq!(blocks(4, 768, 1024), 1);
    assert_eq!(blocks(3, 1, 64), 3);
}

/// Output, and gradients of signal, kernel and gate; sums of products in cubes or by steps.
fn results(device: &GpuDevice, shape: &ConvolutionShape, values: &[Vec<f32>; 4], sums_in_cube: bool) -> [Vec<f32>; 4] {
    let [signal, kernel, gate, grad] = values.each_ref().map(|part| upload(device, part));
    let rows = |values: Handle| StridedRows::contiguous(ComplexRows::real(values), shape.n);
    let (signal, gate, grad) = (rows(signal), rows(gate), rows(grad));
    let [output, of_signal, of_gate] = [0; 3].map(|_| empty(&device.client, values[0].len()));
    let of_kernel = empty(&device.client, values[1].len());
    long_conv(device, shape, &signal, &kernel, Some(&gate), &output).unwrap();
    let into = ConvolutionGradients {
        signal: Some(of_signal.clone()),
        kernel: Some(of_kernel.clone()),
        gate: Some(of_gate.clone()),
    };
    let inputs = ConvolutionInputs { signal, kernel, gate: Some(gate), grad };
    let mut convolution = Convolution::new(device, shape).unwrap();
    convolution.plan.sums_in_cube &= sums_in_cube;
    convolution.gradients(&inputs, &into).unwrap();
    if let Some(launch) = convolution.plan.in_cube
        && !sums_in_cube
        && convolution.can_correlate_rows(&inputs)
    {
        convolution.correlate_rows(launch, &inputs, &of_kernel).unwrap();
    }
    [output, of_signal, of_kernel, of_gate].map(|handle| read(device, &handle))
}

#[test]
fn products_of_long_rows_are_not_summed_in_registers() {
    let sums_in_cube = |n| LongConvPlan::of(n, n, &Limits::H200).unwrap().sums_in_cube;
    assert_eq!([1024, 4096, 16_384, 32_768].map(sums_in_cube), [true, true, false, false]);
}

/// Rows that a cube of a [small] device does not hold, and kernels whose last taps meet no row.
const LONG_KERNELS: ConvolutionShape = ConvolutionShape { batch: 7, channels: 3, n: 300, taps: 320 };

/// Rows of which every element of the batch starts where devices bind memory: whole pairs of samples, and odd ones.
const PAIRS: ConvolutionShape = ConvolutionShape { batch: 5, channels: 4, n: 304, taps: 218 };
const ODD: ConvolutionShape = ConvolutionShape { batch: 2, channels: 64, n: 301, taps: 301 };
const SHAPES: [&ConvolutionShape; 3] = [&LONG_KERNELS, &PAIRS, &ODD];

/// Signal, kernel, gate, and gradient of the output.
fn inputs(shape: &ConvolutionShape) -> [Vec<f32>; 4] {
    let rows = shape.batch * shape.channels * shape.n;
    [(rows, 1), (shape.channels * shape.taps, 2), (rows, 3), (rows, 4)].map(|(len, seed)| noise(len, seed))
}

/// Devices on which convolutions are computed, and whether products are summed in cubes: in a launch per row, with
/// gradients of kernels as convolutions or by steps, and in a launch per step.
fn ways(device: &GpuDevice) -> [(GpuDevice, bool); 3] {
    [(device.clone(), true), (device.clone(), false), (small(device), false)]
}

/// Outputs of every kernel of convolutions.
pub fn outputs_of_kernels(device: &GpuDevice) -> Vec<Vec<f32>> {
    let outputs = |shape: &ConvolutionShape| {
        let values = inputs(shape);
        ways(device).into_iter().flat_map(move |(device, sums)| results(&device, shape, &values, sums)).collect()
    };
    SHAPES.into_iter().flat_map(|shape| -> Vec<Vec<f32>> { outputs(shape) }).collect()
}

#[test]
#[ignore = "needs a device; run with --include-ignored"]
fn every_way_gives_the_results_of_the_definition() {
    for shape in SHAPES {
        let values = inputs(shape);
        let definition = LongConvDefinition { channels: shape.channels, n: shape.n, taps: shape.taps };
        let [signal, kernel, gate, grad] =
            values.each_ref().map(|part| part.iter().map(|&x| f64::from(x)).collect::<Vec<_>>());
        let [of_signal, of_kernel, of_gate] = definition.gradients(&signal, &kernel, Some(&gate), &grad);
        let expected = [definition.output(&signal, &kernel, Some(&gate)), of_signal, of_kernel, of_gate];
        for device in accelerators() {
            for (way, (device, sums)) in ways(&device).into_iter().enumerate() {
                let plan = LongConvPlan::of(shape.n, shape.used_taps(), &device.limits).unwrap();
                assert_eq!((plan.in_cube.is_some(), plan.sums_in_cube), (way < 2, way < 2));
                let names = ["output", "signal", "kernel", "gate"];
                for ((name, found), expected) in names.iter().zip(results(&device, shape, &values, sums)).zip(&expected)
                {
                    let largest = expected.iter().fold(0f64, |most, value| most.max(value.abs()));
                    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
                        let error = (f64::from(*found) - expected).abs();
                        assert!(error <= 6e-6 * largest, "{shape:?}, {way}, {name}, {at}: {found}, not {expected}");
                    }
                }
            }
        }
    }
}
