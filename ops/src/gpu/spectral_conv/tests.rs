//! Plans of products and batches without a device, and spectral convolutions on the devices that are present.

use firefly_reference::Complex;
use firefly_reference::spectral_conv::SpectralConvDefinition;

use super::plan::{MatrixStrides, ProductForm, ProductPlan, ProductSize};
use super::{BatchPlan, SpectralConv, SpectralConvGradients};
use crate::gpu::complex::ComplexRows;
use crate::gpu::device::{DeviceLimit, GpuDevice, Limits, MAX_ELEMENTS, empty};
use crate::gpu::tests::devices::{accelerators, noise, read, small, upload};
use crate::gpu::transform::StridedRows;
use crate::spectral_shape::SpectralShape;

/// Matrices of one row and column, whose places do not matter to a plan.
const FORM: ProductForm =
    ProductForm { conjugates: false, is_hermitian: false, left: STRIDES, right: STRIDES, product: STRIDES };
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

/// A convolution of `channels` channels with `[3, 3]` modes, or fewer where there are fewer points.
fn shape(batch: usize, channels: [usize; 2], points: [usize; 2]) -> SpectralShape {
    let modes = points.map(|points| points.min(3)).to_vec();
    SpectralShape { batch, inputs: channels[0], outputs: channels[1], points: points.to_vec(), modes }
}

#[test]
fn a_batch_that_cannot_be_cut_into_counted_parts_is_refused() {
    let plan = |shape: &SpectralShape| BatchPlan::of(shape, &[shape.points[1]]);
    // Elements of an odd number of values start at aligned addresses only 64 elements apart.
    let odd = shape(64, [1, 1], [8193, 4097]);
    let error = plan(&odd).unwrap_err();
    assert_eq!((error.limit, error.needed), (DeviceLimit::LaunchElements, 64 * 8193 * 4097));
    assert!(plan(&SpectralShape { batch: 63, ..odd.clone() }).is_ok(), "smaller batches are not cut");
    assert_eq!(plan(&shape(128, [1, 1], [8192, 4096])).unwrap().step, 64, "elements are aligned by their size");
    assert!(plan(&SpectralShape { outputs: 2, batch: 63, ..odd }).is_err(), "output channels count, too");
    let many_weights = SpectralShape { modes: vec![1000, 100], ..shape(1, [200, 200], [1000, 200]) };
    assert_eq!(plan(&many_weights).unwrap_err().needed, 200 * 200 * 1000 * 100);
}

#[test]
fn parts_of_a_batch_cover_it_once() {
    for shape in [shape(1, [1, 1], [5, 7]), shape(1000, [3, 2], [700, 301]), shape(77, [2, 5], [1024, 1024])] {
        let plan = BatchPlan::of(&shape, &[shape.points[1]]).unwrap();
        let elements: Vec<usize> = plan.parts().flatten().collect();
        assert_eq!(elements, (0..shape.batch).collect::<Vec<_>>());
        let values = shape.inputs.max(shape.outputs) * shape.samples();
        assert!(plan.parts().all(|part| part.len() * values <= MAX_ELEMENTS), "{plan:?}");
    }
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
        let re = upload(device, values);
        StridedRows::contiguous(ComplexRows::real(re), self.shape.points[self.shape.last()])
    }

    fn new_rows(&self, device: &GpuDevice, channels: usize) -> StridedRows {
        let re = empty(&device.client, self.shape.batch * channels * self.shape.samples());
        StridedRows::contiguous(ComplexRows::real(re), self.shape.points[self.shape.last()])
    }

    /// Gradient of the output.
    fn grad(&self) -> Vec<f32> {
        noise(self.shape.batch * self.shape.outputs * self.shape.samples(), 50)
    }

    /// Output, and gradients of the input and of both parts of the weights.
    fn results(&self, device: &GpuDevice) -> [Vec<f32>; 4] {
        let [re, im] = self.weights.each_ref().map(|part| upload(device, part));
        let layer = SpectralConv { device, shape: &self.shape, weights: ComplexRows::new(re, im) };
        let (input, output) = (self.rows(device, &self.input), self.new_rows(device, self.shape.outputs));
        layer.forward(&input, &output).unwrap();
        let of_input = self.new_rows(device, self.shape.inputs);
        let of_weights = ComplexRows::empty(&device.client, self.weights[0].len());
        let into = SpectralConvGradients { input: Some(of_input.clone()), weights: Some(of_weights.clone()) };
        layer.backward(&input, &self.rows(device, &self.grad()), &into).unwrap();
        [&output.values.re, &of_input.values.re, &of_weights.re, of_weights.imaginary()].map(|part| read(device, part))
    }

    fn check(&self, device: &GpuDevice) {
        let label = format!("{:?}", self.shape);
        let [output, of_input, of_re, of_im] = self.results(device).map(|values| wide(&values));
        let expected = self.defined(&self.input, &self.weights);
        let largest = expected.iter().fold(0f64, |most, value| most.max(value.abs()));
        let error = output.iter().zip(&expected).fold(0f64, |most, (a, b)| most.max((a - b).abs()));
        assert!(error <= 2e-5 * largest, "{label}: error {error:e} of {largest}");

        // The output is linear in the input, and in the weights: the product with the gradient of either is known.
        let (grad, count) = (wide(&self.grad()), self.weights[0].len());
        for seed in 60..63 {
            let other = noise(self.input.len(), seed);
            let expected = dot(&self.defined(&other, &self.weights), &grad);
            self.close(dot(&of_input, &wide(&other)), expected, &of_input, "input");
            let others = [noise(count, seed + 10), noise(count, seed + 20)];
            let expected = dot(&self.defined(&self.input, &others), &grad);
            let found = dot(&of_re, &wide(&others[0])) + dot(&of_im, &wide(&others[1]));
            self.close(found, expected, &[&of_re[..], &of_im].concat(), "weights");
        }
    }

    fn close(&self, found: f64, expected: f64, gradient: &[f64], name: &str) {
        let size: f64 = gradient.iter().map(|value| value.abs()).sum();
        assert!((found - expected).abs() <= 2e-5 * size, "{:?}: {name} {found}, expected {expected}", self.shape);
    }
}

/// A case whose columns fit no cube of a [small] device.
fn copied_columns() -> Case {
    Case::new(2, [2, 1], &[37, 6], &[7, 3], 11)
}

/// Outputs of every kernel of spectral convolutions.
pub fn outputs_of_kernels(device: &GpuDevice) -> Vec<Vec<f32>> {
    let rows = Case::new(5, [3, 2], &[16], &[5], 1).results(device);
    rows.into_iter().chain(copied_columns().results(&small(device))).collect()
}

#[test]
#[ignore = "needs a device; run with --include-ignored"]
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
#[ignore = "needs a device; run with --include-ignored"]
fn columns_that_fit_no_cube_are_copied() {
    for device in accelerators().iter().map(small) {
        copied_columns().check(&device);
        if device.limits.processors.is_some() {
            Case::new(1, [1, 2], &[600, 4], &[20, 2], 12).check(&device);
        }
    }
}
