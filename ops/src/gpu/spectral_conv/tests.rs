//! Plans of products without a device, and spectral convolutions on the devices that are present.

use firefly_reference::Complex;
use firefly_reference::spectral_conv::SpectralConvDefinition;

use super::plan::{MatrixStrides, ProductForm, ProductPlan, ProductSize};
use super::{SpectralConv, SpectralConvGradients};
use crate::gpu::complex::ComplexRows;
use crate::gpu::device::{GpuDevice, Limits, empty};
use crate::gpu::tests::outputs::accelerators;
use crate::gpu::transform::StridedRows;
use crate::spectral_shape::SpectralShape;

/// Matrices of one row and column, whose places do not matter to a plan.
const FORM: ProductForm = ProductForm { conjugates: false, left: STRIDES, right: STRIDES, product: STRIDES };
const STRIDES: MatrixStrides = MatrixStrides { row: 0, column: 0 };

#[test]
fn every_value_of_a_product_has_one_unit() {
    for limits in [Limits::H200, Limits::WEBGPU, Limits { units: 64, ..Limits::SOFTWARE }] {
        for (rows, columns, terms, modes) in
            [(1024, 64, 64, 64), (64, 64, 1024, 16), (1, 1, 1, 1), (3, 5, 7, 33), (16, 64, 64, 288), (5, 2, 100_000, 9)]
        {
            let size = ProductSize { rows, columns, terms, modes };
            let plan = ProductPlan::of(size, FORM, &limits);
            let [tile_rows, tile_columns] = [plan.tile.rows as usize, plan.tile.columns as usize];
            assert!(plan.units() <= limits.units as usize, "{plan:?}");
            for (count, tile, place) in [(rows, tile_rows, 0), (columns, tile_columns, 1)] {
                let covered = tile * plan.patch[place];
                assert!(
                    covered * plan.patches[place] >= count && covered * (plan.patches[place] - 1) < count,
                    "{plan:?}"
                );
            }
            assert!(plan.lanes * plan.blocks >= modes && plan.lanes * (plan.blocks - 1) < modes, "{plan:?}");
            let terms_of_last = terms - plan.part_terms * (plan.parts - 1);
            assert!((1..=plan.part_terms).contains(&terms_of_last), "{plan:?}");
        }
    }
}

#[test]
fn a_sum_over_a_batch_fills_the_device() {
    let size = ProductSize { rows: 64, columns: 64, terms: 1024, modes: 16 };
    let plan = ProductPlan::of(size, FORM, &Limits::H200);
    assert_eq!((plan.tile.rows, plan.tile.columns, plan.lanes), (4, 8, 16));
    assert_eq!((plan.patch, plan.patches, plan.parts), ([4, 4], [4, 2], 16));
}

/// Numbers from -1 to 1 that look random.
fn noise(len: usize, seed: u32) -> Vec<f32> {
    let value = |i: u32| (i ^ seed).wrapping_mul(2_654_435_761).rotate_left(13).wrapping_mul(0x85eb_ca6b) >> 8;
    (0..len as u32).map(|i| value(i) as f32 / (1 << 23) as f32 - 1.0).collect()
}

fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&value| f64::from(value)).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// A convolution's sizes, input, and both parts of its weights.
struct Case {
    shape: SpectralShape,
    input: Vec<f32>,
    weights: [Vec<f32>; 2],
}

impl Case {
    fn new(batch: usize, [inputs, outputs]: [usize; 2], points: &[usize], modes: &[usize], seed: u32) -> Self {
        let shape = SpectralShape { batch, inputs, outputs, points: points.to_vec(), modes: modes.to_vec() };
        let count = inputs * outputs * shape.channel_modes();
        let input = noise(batch * inputs * shape.samples(), seed);
        Self { input, weights: [noise(count, seed + 1), noise(count, seed + 2)], shape }
    }

    /// The definition's output, for another input and other weights.
    fn defined(&self, input: &[f32], [re, im]: &[Vec<f32>; 2]) -> Vec<f64> {
        let SpectralShape { batch, inputs, outputs, points, modes } = self.shape.clone();
        let weights: Vec<Complex> = wide(re).iter().zip(wide(im)).map(|(&re, im)| Complex::new(re, im)).collect();
        SpectralConvDefinition { batch, inputs, outputs, points, modes }.apply(&wide(input), &weights)
    }

    fn rows(&self, device: &GpuDevice, values: &[f32]) -> StridedRows {
        let re = device.client.create_from_slice(bytemuck::cast_slice(values));
        let len = self.shape.points[self.shape.last()];
        StridedRows { values: ComplexRows { re, im: None }, stride: len, len }
    }

    fn new_rows(&self, device: &GpuDevice, channels: usize) -> StridedRows {
        let len = self.shape.points[self.shape.last()];
        let re = empty(&device.client, self.shape.batch * channels * self.shape.samples());
        StridedRows { values: ComplexRows { re, im: None }, stride: len, len }
    }

    fn check(&self, device: &GpuDevice) {
        let label = format!("{:?}", self.shape);
        let [re, im] = self.weights.each_ref().map(|part| device.client.create_from_slice(bytemuck::cast_slice(part)));
        let layer = SpectralConv { device, shape: &self.shape, weights: ComplexRows::new(re, im) };
        let (input, output) = (self.rows(device, &self.input), self.new_rows(device, self.shape.outputs));
        layer.forward(&input, &output).unwrap();
        let found = wide(&read(device, &output.values.re));
        let expected = self.defined(&self.input, &self.weights);
        let largest = expected.iter().fold(0f64, |most, value| most.max(value.abs()));
        let error = found.iter().zip(&expected).fold(0f64, |most, (a, b)| most.max((a - b).abs()));
        assert!(error <= 2e-5 * largest, "{label}: error {error:e} of {largest}");

        // The output is linear in the input, and in the weights: the product with the gradient of either is known.
        let grad = noise(found.len(), 50);
        let count = self.weights[0].len();
        let of_weights = ComplexRows::empty(&device.client, count);
        let into = SpectralConvGradients {
            input: Some(self.new_rows(device, self.shape.inputs)),
            weights: Some(of_weights.clone()),
        };
        layer.backward(&input, &self.rows(device, &grad), &into).unwrap();
        let of_input = wide(&read(device, &into.input.unwrap().values.re));
        let of_weights = [&of_weights.re, of_weights.imaginary()].map(|part| wide(&read(device, part)));
        for seed in 60..63 {
            let other = noise(self.input.len(), seed);
            let expected = dot(&self.defined(&other, &self.weights), &wide(&grad));
            self.close(dot(&of_input, &wide(&other)), expected, &of_input, "input");
            let others = [noise(count, seed + 10), noise(count, seed + 20)];
            let expected = dot(&self.defined(&self.input, &others), &wide(&grad));
            let found = dot(&of_weights[0], &wide(&others[0])) + dot(&of_weights[1], &wide(&others[1]));
            self.close(found, expected, &of_weights.concat(), "weights");
        }
    }

    fn close(&self, found: f64, expected: f64, gradient: &[f64], name: &str) {
        let size: f64 = gradient.iter().map(|value| value.abs()).sum();
        assert!((found - expected).abs() <= 2e-5 * size, "{:?}: {name} {found}, expected {expected}", self.shape);
    }
}

fn read(device: &GpuDevice, handle: &cubecl::server::Handle) -> Vec<f32> {
    let bytes = device.client.read_one(handle.clone()).unwrap();
    bytes.as_chunks().0.iter().map(|&value| f32::from_ne_bytes(value)).collect()
}

#[test]
fn convolutions_and_their_gradients_are_right() {
    for device in accelerators() {
        let cases = [
            Case::new(5, [3, 2], &[16], &[5], 1),
            Case::new(3, [2, 5], &[15], &[8], 2),
            Case::new(2, [3, 2], &[6, 8], &[5, 3], 3),
            Case::new(1, [2, 1], &[4, 3, 6], &[3, 2, 4], 4),
        ];
        cases.iter().for_each(|case| case.check(&device));
        if device.limits.processors.is_some() {
            let more = [
                Case::new(300, [3, 4], &[64], &[33], 5),
                Case::new(70, [9, 5], &[100], &[20], 6),
                Case::new(3, [2, 3], &[97], &[40], 7),
                Case::new(4, [3, 3], &[32, 64], &[12, 12], 8),
                Case::new(2, [2, 2], &[30, 45], &[30, 23], 9),
                Case::new(2, [2, 2], &[1, 1], &[1, 1], 10),
            ];
            more.iter().for_each(|case| case.check(&device));
        }
    }
}

#[test]
fn columns_that_fit_no_cube_are_copied() {
    for mut device in accelerators() {
        (device.limits.shared, device.limits.units) = (2048, 64);
        Case::new(2, [2, 1], &[37, 6], &[7, 3], 11).check(&device);
        if device.limits.processors.is_some() {
            Case::new(1, [1, 2], &[600, 4], &[20, 2], 12).check(&device);
        }
    }
}
