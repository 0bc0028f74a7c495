//! Plans follow from limits alone, and every plan gives the results of the definition. The public functions are checked in
//! `tests/long_conv.rs`.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use cubecl::server::Handle;
use firefly_reference::long_conv::LongConvDefinition;

use super::plan::{Plan, blocks};
use super::{
    ConvolutionGradients, ConvolutionInputs, ConvolutionRows, ConvolutionShape, long_conv, long_conv_backward,
};
use crate::gpu::device::{GpuDevice, Limits, empty};
use crate::gpu::tests::outputs::accelerators;
use crate::gpu::transform::tables::table;

#[test]
fn transforms_hold_a_row_and_its_kernel() {
    for limits in [Limits::H200, Limits::WEBGPU, Limits::SOFTWARE] {
        for n in (1usize..200).chain([1000, 1024, 4096, 10_007, 16_384, 65_536, 1 << 20]) {
            for taps in [1, n.div_ceil(3), n] {
                let plan = Plan::of(n, taps, &limits).unwrap();
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
    let is_in_cube = |n, limits| Plan::of(n, n, limits).unwrap().in_cube.is_some();
    assert_eq!([1024, 4096, 16_384, 32_768].map(|n| is_in_cube(n, &Limits::H200)), [true, true, true, false]);
    assert_eq!([1024, 4096, 16_384].map(|n| is_in_cube(n, &Limits::WEBGPU)), [true, true, false]);
}

#[test]
fn blocks_are_as_many_as_keep_a_device_busy() {
    assert_eq!(blocks(64, 768, 64), 6);
    assert_eq!(blocks(4, 768, 1024), 1);
    assert_eq!(blocks(3, 1, 64), 3);
}

/// Numbers from -1 to 1 that look random.
fn noise(len: usize, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..len).map(|_| next()).collect()
}

/// Output, and gradients of signal, kernel and gate.
fn results(device: &GpuDevice, shape: &ConvolutionShape, values: &[Vec<f32>; 4]) -> [Vec<f64>; 4] {
    let uploaded = values.each_ref().map(|part| device.client.create_from_slice(bytemuck::cast_slice(part)));
    let [signal, kernel, gate, grad] = uploaded;
    let rows = |values: Handle| ConvolutionRows { values, stride: shape.n };
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
    long_conv_backward(device, shape, &inputs, &into).unwrap();
    [output, of_signal, of_kernel, of_gate].map(|handle| {
        let bytes = device.client.read_one(handle).unwrap();
        bytes.as_chunks().0.iter().map(|&value| f64::from(f32::from_ne_bytes(value))).collect()
    })
}

#[test]
fn a_launch_per_row_and_one_per_step_give_the_same() {
    let shape = ConvolutionShape { batch: 7, channels: 3, n: 150, taps: 170 };
    let rows = shape.batch * shape.channels * shape.n;
    let values =
        [(rows, 1), (shape.channels * shape.taps, 2), (rows, 3), (rows, 4)].map(|(len, seed)| noise(len, seed));
    let definition = LongConvDefinition { channels: shape.channels, n: shape.n, taps: shape.taps };
    let [signal, kernel, gate, grad] =
        values.each_ref().map(|part| part.iter().map(|&x| f64::from(x)).collect::<Vec<_>>());
    let [of_signal, of_kernel, of_gate] = definition.gradients(&signal, &kernel, Some(&gate), &grad);
    let expected = [definition.output(&signal, &kernel, Some(&gate)), of_signal, of_kernel, of_gate];
    for device in accelerators() {
        let mut small = device.clone();
        (small.limits.shared, small.limits.units) = (1024, 64);
        let checked = GpuDevice { bounds_checks: true, ..device.clone() };
        for (device, in_cube) in [(&device, true), (&checked, true), (&small, false)] {
            let plan = Plan::of(shape.n, shape.used_taps(), &device.limits).unwrap();
            assert_eq!(plan.in_cube.is_some(), in_cube);
            let names = ["output", "signal", "kernel", "gate"];
            for ((name, found), expected) in names.iter().zip(results(device, &shape, &values)).zip(&expected) {
                let largest = expected.iter().fold(0f64, |most, value| most.max(value.abs()));
                for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
                    let error = (found - expected).abs();
                    assert!(error <= 6e-6 * largest, "{in_cube}, {name}, {at}: {found}, not {expected}");
                }
            }
        }
    }
}
