//! Butterfly models against products of dense matrices, and learned transforms.

use burn::module::Param;
use burn::tensor::Device;
use firefly_models::butterfly::PermutationKind;
use firefly_models::zoo::{self, ZooModel};
use firefly_models::{Butterfly, ButterflyConfig};
use firefly_ops::fft::ComplexTensor;
use firefly_reference::Complex;
use firefly_reference::dft::{dft, twiddle};

use crate::common::{assert_close, samples, tensor, values};

#[path = "../../../examples/recover_dft.rs"]
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

fn identity(n: usize) -> Matrix {
    matrix(n, |row, column| real(f64::from(u8::from(row == column))))
}

/// Matrix of the steps of a relaxed permutation at the first `levels` levels, from their logits or from the same three.
fn permutation(n: usize, levels: usize, logits: &[f64]) -> Matrix {
    let mut all = identity(n);
    for level in 0..levels {
        let length = n >> level;
        // Where each of the three steps takes the value at `place` of a block from.
        let half = length / 2;
        let sources: [&dyn Fn(usize) -> usize; 3] = [
            &|place| if place < half { 2 * place } else { 2 * (place - half) + 1 },
            &|place| if place < half { half - 1 - place } else { place },
            &|place| if place < half { place } else { length - 1 - (place - half) },
        ];
        for (step, source) in sources.into_iter().enumerate() {
            let taken = 1.0 / (1.0 + (-logits[(3 * level + step) % logits.len()]).exp());
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
    let mut all = identity(n);
    for place in 0..model.config().products {
        let permutations = model.permutation(place);
        let levels = n.trailing_zeros() as usize - 1;
        for (levels, logits) in [(1, &permutations.extra), (levels, &permutations.logits)] {
            if let Some(logits) = logits {
                all = product(&permutation(n, levels, &values(logits.val())), &all);
            }
        }
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
fn a_permutation_may_share_its_steps_and_begin_with_extra_ones() {
    let device = Device::flex();
    for (n, products) in [(4, 1), (16, 1), (8, 2)] {
        for (shared, extra) in [(true, false), (false, true), (true, true)] {
            let config = ButterflyConfig::new().with_n(n).with_products(products);
            let model = config.with_shared_steps(shared).with_extra_steps(extra).init(&device);
            assert_is(&format!("n {n}, shared {shared}, extra {extra}"), &model, &dense(&model));
            let rounded = model.rounded();
            assert_is(&format!("n {n}, rounded"), &rounded, &dense(&rounded));
        }
    }
    let fixed = ButterflyConfig::new().with_permutation(PermutationKind::BitReversal).with_extra_steps(true);
    assert!(fixed.validate().unwrap_err().to_string().contains("`extra_steps` is true"));
}

/// Values at even places, then those at odd ones in reverse, are w; output k of the cosine transform is the real part
/// of exp(−iπk/2n) times bin k of the Fourier transform of w.
#[test]
fn the_cosine_transform_is_the_real_part_of_bpp() {
    let device = Device::flex();
    let n = 16;
    let config = ButterflyConfig::new().with_n(n).with_shared_steps(true).with_extra_steps(true);
    let mut model = config.init(&device);
    let certain = |steps: [f64; 3]| Some(Param::from_tensor(tensor(&steps.map(|step| 50.0 * step), [1, 3], &device)));
    let permutation = model.permutation_mut(0);
    (permutation.extra, permutation.logits) = (certain([1.0, -1.0, 1.0]), certain([1.0, -1.0, -1.0]));
    let stages = n.trailing_zeros() as usize;
    for (stage, factor) in model.factors_mut(0).iter_mut().enumerate() {
        let half = 1 << stage;
        let entry = |output: usize, input: usize, place: usize| {
            let sign = if output == 1 && input == 1 { -1.0 } else { 1.0 };
            let twiddled = if input == 1 { twiddle(place, 2 * half) } else { real(1.0) };
            let shift = if stage + 1 == stages { twiddle(place + output * half, 4 * n) } else { real(1.0) };
            real(sign) * twiddled * shift
        };
        let entries: Vec<Complex> =
            (0..4 * half).map(|index| entry(index / (2 * half), index / half % 2, index % half)).collect();
        let part = |part: fn(&Complex) -> f64| {
            let values: Vec<f64> = entries.iter().map(part).collect();
            Param::from_tensor(tensor(&values, [1, 2, 2, half], &device))
        };
        (factor.re, factor.im) = (part(|value| value.re), Some(part(|value| value.im)));
    }
    let angle = |k: usize, j: usize| std::f64::consts::PI * ((2 * j + 1) * k) as f64 / (2 * n) as f64;
    let expected: Vec<f64> = (0..n * n).map(|at| angle(at / n, at % n).cos()).collect();
    assert_close("cosine transform", &values(model.matrix().re), &expected, 2e-6);
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
        let expected = matrix(n, entry);
        assert_is(&format!("n {n}"), &model, &expected);
        // The card's figure to its digits; instruction sets round differently.
        let found = model.matrix();
        let (re, im) = (values(found.re), values(found.im));
        let square =
            |(place, entry): (usize, &Complex)| (re[place] - entry.re).powi(2) + (im[place] - entry.im).powi(2);
        let sum: f64 = expected.iter().flatten().enumerate().map(square).sum();
        let rmse = sum.sqrt() / n as f64;
        let card = zoo::card(&format!("butterfly_dft_{n}")).unwrap();
        let figure: f64 = card.results[0].value.parse().unwrap();
        assert!((rmse - figure).abs() < 0.3 * figure, "{rmse}, but {figure} on the card");
    }
}

#[test]
fn rows_of_another_length_and_parts_that_differ_are_refused() {
    let device = Device::flex();
    let model = ButterflyConfig::new().with_n(8).init(&device);
    let error = model.try_forward(tensor(&[0.0; 4], [1, 4], &device).into()).unwrap_err();
    assert!(error.to_string().contains("4 values per row, but must be 8"), "{error}");
    let parts = ComplexTensor::new(tensor(&[0.0; 8], [1, 8], &device), tensor(&[0.0; 16], [2, 8], &device));
    let error = model.try_forward(parts).unwrap_err();
    assert!(error.to_string().contains("`rows.im` is [2, 8], but must be [1, 8]"), "{error}");
}

#[test]
fn random_factors_learn_the_fourier_transform_of_8_points() {
    let found = recover_dft::recover(8, 8, 1e-4);
    assert!(found.rmse <= 1e-4, "RMSE {} after {} starts", found.rmse, found.starts);
}
