//! Butterfly models against products of dense matrices, and learned transforms.

use burn::module::Param;
use burn::tensor::Device;
use firefly_models::zoo::{self, ZooModel};
use firefly_models::{Butterfly, ButterflyConfig, PermutationKind};
use firefly_ops::fft::ComplexTensor;
use firefly_reference::Complex;
use firefly_reference::dft::{dft, twiddle};

use crate::common::{assert_close, samples, tensor, values};

#[path = "../../examples/recover_dft.rs"]
mod recover_dft;

type Matrix = Vec<Vec<Complex>>;

fn matrix(n: usize, entry: impl Fn(usize, usize) -> Complex) -> Matrix {
    (0..n).map(|row| (0..n).map(|column| entry(row, column)).collect()).collect()
}

fn product(left: &Matrix, right: &Matrix) -> Matrix {
    let n = left.len();
    matrix(n, |row, column| (0..n).fold(Complex::ZERO, |sum, k| sum + left[row][k] * right[k][column]))
}

fn real(value: f64) -> Complex {
    Complex::new(value, 0.0)
}

/// Matrix of a relaxed permutation, from its logits.
fn permutation(n: usize, logits: &[f64]) -> Matrix {
    let identity = || matrix(n, |row, column| real(f64::from(u8::from(row == column))));
    let mut all = identity();
    for level in 0..n.trailing_zeros() as usize - 1 {
        let length = n >> level;
        // Where each of the three steps takes the value at `place` of a block from.
        let half = length / 2;
        let sources: [&dyn Fn(usize) -> usize; 3] = [
            &|place| if place < half { 2 * place } else { 2 * (place - half) + 1 },
            &|place| if place < half { half - 1 - place } else { place },
            &|place| if place < half { place } else { length - 1 - (place - half) },
        ];
        for (step, source) in sources.into_iter().enumerate() {
            let taken = 1.0 / (1.0 + (-logits[3 * level + step]).exp());
            let mixed = matrix(n, |row, column| {
                let from = row / length * length + source(row % length);
                let of = |condition: bool, share: f64| if condition { share } else { 0.0 };
                real(of(column == from, taken) + of(column == row, 1.0 - taken))
            });
            all = product(&mixed, &all);
        }
    }
    all
}

/// Matrix of a model, from its parameters.
fn dense(model: &Butterfly) -> Matrix {
    let n = model.config().n;
    let mut all = matrix(n, |row, column| real(f64::from(u8::from(row == column))));
    for place in 0..model.config().products {
        let logits = model.permutation(place).logits.as_ref().map(|logits| values(logits.val()));
        all = product(&permutation(n, &logits.unwrap()), &all);
        for factor in model.factors(place) {
            let [blocks, _, _, half] = factor.re.dims();
            let re = values(factor.re.val());
            let im = factor.im.as_ref().map_or(vec![0.0; re.len()], |im| values(im.val()));
            let stage = matrix(n, |row, column| {
                let (block, output, at) = (row / (2 * half), row / half % 2, row % half);
                let same = column / (2 * half) == block && column % half == at;
                let entry = ((block % blocks * 2 + output) * 2 + column / half % 2) * half + at;
                if same { Complex::new(re[entry], im[entry]) } else { Complex::ZERO }
            });
            all = product(&stage, &all);
        }
    }
    all
}

fn assert_is(what: &str, model: &Butterfly, expected: &Matrix) {
    let found = model.matrix();
    let flat = |part: fn(&Complex) -> f64| expected.iter().flatten().map(part).collect::<Vec<_>>();
    assert_close(what, &values(found.re), &flat(|entry| entry.re), 2e-6);
    if model.config().complex {
        assert_close(what, &values(found.im), &flat(|entry| entry.im), 2e-6);
    }
}

#[test]
fn a_model_is_the_product_of_its_factors_and_permutations() {
    let device = Device::flex();
    for (n, products) in [(4, 1), (8, 1), (16, 2), (8, 3)] {
        for (complex, tied) in [(true, true), (false, true), (true, false), (false, false)] {
            let config = ButterflyConfig::new().with_n(n).with_products(products);
            let model = config.with_complex(complex).with_tied(tied).init(&device);
            assert_is(&format!("n {n}, {products} products, complex {complex}"), &model, &dense(&model));
            let rounded = model.rounded();
            assert_is(&format!("n {n}, rounded"), &rounded, &dense(&rounded));
        }
    }
}

#[test]
fn twiddle_factors_after_a_bit_reversal_are_the_fourier_transform() {
    let device = Device::flex();
    for n in [4, 8, 64] {
        let config = ButterflyConfig::new().with_n(n).with_permutation(PermutationKind::BitReversal);
        let mut model = config.init(&device);
        for factor in model.factors_mut(0) {
            let half = factor.re.dims()[3];
            // Rows (1, w) and (1, −w), place by place.
            let entry = |part: fn(&Complex) -> f64| {
                let of = |sign: f64| (0..half).map(move |place| sign * part(&twiddle(place, 2 * half)));
                let ones = || std::iter::repeat_n(part(&real(1.0)), half);
                let values: Vec<f64> = ones().chain(of(1.0)).chain(ones()).chain(of(-1.0)).collect();
                Param::from_tensor(tensor(&values, [1, 2, 2, half], &device))
            };
            (factor.re, factor.im) = (entry(|value| value.re), Some(entry(|value| value.im)));
        }
        let (re, im) = (samples(n, 3), samples(n, 5));
        let expected = dft(&re.iter().zip(&im).map(|(re, im)| Complex::new(*re, *im)).collect::<Vec<_>>());
        let rows = ComplexTensor::new(tensor(&re, [1, n], &device), tensor(&im, [1, n], &device));
        let found = model.forward(rows);
        let part = |part: fn(&Complex) -> f64| expected.iter().map(part).collect::<Vec<_>>();
        assert_close("real part", &values(found.re), &part(|value| value.re), 2e-6);
        assert_close("imaginary part", &values(found.im), &part(|value| value.im), 2e-6);
    }
}

#[test]
fn shipped_weights_are_the_unitary_fourier_transform() {
    let device = Device::flex();
    for n in [8, 16] {
        let ZooModel::Butterfly(model) = zoo::pretrained(&format!("butterfly_dft_{n}"), &device).unwrap() else {
            panic!("another family")
        };
        let scale = (n as f64).sqrt().recip();
        let entry = |row: usize, column: usize| {
            let value = twiddle(row * column % n, n);
            Complex::new(scale * value.re, scale * value.im)
        };
        assert_is(&format!("n {n}"), &model, &matrix(n, entry));
    }
}

#[test]
fn rows_of_another_length_are_refused() {
    let device = Device::flex();
    let model = ButterflyConfig::new().with_n(8).init(&device);
    let error = model.try_forward(tensor(&[0.0; 4], [1, 4], &device).into()).unwrap_err();
    assert!(error.to_string().contains("4 values per row, but must be 8"), "{error}");
}

#[test]
fn random_factors_learn_the_fourier_transform_of_8_points() {
    let found = recover_dft::recover(8, 8, 1e-4);
    assert!(found.rmse <= 1e-4, "RMSE {} after {} starts", found.rmse, found.starts);
}
