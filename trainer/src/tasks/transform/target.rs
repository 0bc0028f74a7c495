//! Matrices of the transforms, from their definitions in float64, and how far a model is from one.

use std::f64::consts::{PI, TAU};
use std::ops::Range;
use std::sync::Arc;

use super::TransformConfig;
use super::config::{DataSection, LearningData, OutputPart};
use crate::data::{EpochOrder, normal};
use crate::tasks::prelude::*;

/// The matrix to learn, on a device.
pub struct TransformData {
    pub(super) matrix: Arc<ComplexMatrix>,
    /// Passes over the rows of the matrix; none where random rows are learned from.
    order: Option<Arc<EpochOrder>>,
    pub(super) output: OutputPart,
    pub(super) device: Device,
    /// Real and imaginary part: row j is the transform of the unit vector j.
    transposed: [Tensor<2>; 2],
}

impl TransformData {
    /// The matrix of a configuration, on a device without autodiff.
    pub(super) fn of(config: &TransformConfig, device: &Device) -> Self {
        let DataSection { transform, size: n, output, from } = config.data;
        let matrix = transform.matrix(n, config.seed);
        let part = |values: &[f64]| -> Tensor<2> {
            let values: Vec<f32> = values.iter().map(|value| *value as f32).collect();
            Tensor::from_data(TensorData::new(values, [n, n]), device).transpose()
        };
        let order = (from == LearningData::Matrix).then(|| EpochOrder::new(config.seed, n, n).into());
        let transposed = [part(&matrix.re), part(&matrix.im)];
        Self { transposed, output, order, device: device.clone(), matrix: matrix.into() }
    }

    /// These unit vectors, as rows, with real and imaginary part of their transforms.
    pub(super) fn units_of(&self, units: &Range<usize>) -> (Tensor<2>, [Tensor<2>; 2]) {
        (self.units().slice([units.clone()]), self.transposed.clone().map(|part| part.slice([units.clone()])))
    }

    /// Real and imaginary part of the transforms of real rows.
    pub(super) fn of_rows(&self, rows: &Tensor<2>) -> [Tensor<2>; 2] {
        self.transposed.clone().map(|part| rows.clone().matmul(part))
    }

    pub(super) fn units(&self) -> Tensor<2> {
        Tensor::eye(self.matrix.n, &self.device)
    }

    /// Mean squared error per element of a model's transforms of real rows.
    pub(super) fn mean_squared_error(
        &self,
        model: &ZooModel,
        rows: Tensor<2>,
        [target_re, target_im]: [Tensor<2>; 2],
    ) -> Result<Tensor<1>> {
        let [re, im] = apply(model, rows)?;
        let of_re = (re - target_re).square().mean();
        Ok(match self.output {
            OutputPart::Complex => of_re + (im - target_im).square().mean(),
            OutputPart::Real => of_re,
        })
    }
}

impl TaskData for TransformData {
    fn fingerprint(&self) -> u64 {
        0
    }

    fn on_device(&self, device: &Device) -> Self {
        let (matrix, order, output) = (self.matrix.clone(), self.order.clone(), self.output);
        let transposed = self.transposed.clone().map(|part| part.to_device(device));
        Self { matrix, order, output, device: device.clone(), transposed }
    }

    fn order(&self) -> Option<&EpochOrder> {
        self.order.as_deref()
    }
}

/// Transforms of real rows `[rows, n]` by a model: real and imaginary parts.
pub(super) fn apply(model: &ZooModel, rows: Tensor<2>) -> Result<[Tensor<2>; 2]> {
    let zeros = rows.zeros_like();
    let mut outputs = model.try_forward(vec![rows.into(), zeros.into()])?.into_iter();
    let mut part = |name| match outputs.next() {
        Some(part) => Ok(part.try_float::<2>("transform", name)?),
        None => {
            let reason = "it has no outputs re and im for inputs re and im".to_string();
            Err(TaskError::Unsuitable(model.family().name.into(), reason))
        }
    };
    Ok([part("re")?, part("im")?])
}

/// Errors of a model's matrix: root mean square, relative, largest.
pub(super) struct MatrixErrors {
    pub rmse: f64,
    pub relative: f64,
    pub largest: f64,
}

impl MatrixErrors {
    pub fn of(model: &ZooModel, data: &TransformData) -> Result<Self> {
        let [re, im] = apply(model, data.units())?;
        // In float64, so that the errors of small matrices are those of the model alone.
        let values = |part: Tensor<2>| -> Vec<f64> { part.transpose().into_data().convert::<f64>().iter().collect() };
        let (re, im) = (values(re), values(im));
        let square = |place: usize| {
            let of_re = (re[place] - data.matrix.re[place]).powi(2);
            match data.output {
                OutputPart::Complex => of_re + (im[place] - data.matrix.im[place]).powi(2),
                OutputPart::Real => of_re,
            }
        };
        let squares: Vec<f64> = (0..re.len()).map(square).collect();
        let sum: f64 = squares.iter().sum();
        Ok(Self {
            rmse: (sum / squares.len() as f64).sqrt(),
            relative: sum.sqrt() / data.matrix.norm(),
            largest: squares.iter().copied().fold(0.0, f64::max).sqrt(),
        })
    }
}

choice! {
    /// A linear transform of rows of n values.
    pub enum Transform {
        /// Discrete Fourier transform: exp(−2πi·jk/n).
        Dft = "dft",
        /// Cosine transform of type II: cos(π(j + ½)k/n), orthonormal.
        Dct = "dct",
        /// Sine transform of type II: sin(π(j + ½)(k + 1)/n), orthonormal.
        Dst = "dst",
        /// Walsh–Hadamard transform in natural order: (−1) to the number of bits that j and k share.
        Hadamard = "hadamard",
        /// Discrete Hartley transform: cos(2πjk/n) + sin(2πjk/n).
        Hartley = "hartley",
        /// Circular convolution with a random filter of norm 1.
        Convolution = "convolution",
        /// Legendre transform: polynomials of degree k at the midpoints of n intervals of [−1, 1], times √(2k + 1).
        Legendre = "legendre",
    }
}

/// A complex matrix `[n, n]`, row-major: row k holds the weights of output k.
#[derive(Debug, Clone, PartialEq)]
pub struct ComplexMatrix {
    /// Rows and columns.
    pub n: usize,
    /// Real parts.
    pub re: Vec<f64>,
    /// Imaginary parts.
    pub im: Vec<f64>,
}

impl ComplexMatrix {
    /// The matrix of an element function of row and column.
    fn new(n: usize, element: impl Fn(usize, usize) -> [f64; 2]) -> Self {
        let (re, im) = (0..n * n).map(|place| element(place / n, place % n).into()).unzip();
        Self { n, re, im }
    }

    /// The Euclidean norm of all elements.
    pub fn norm(&self) -> f64 {
        self.re.iter().chain(&self.im).map(|value| value * value).sum::<f64>().sqrt()
    }
}

impl Transform {
    /// The matrix for rows of `n` values, a power of two. Its rows have norm 1, but for those of the Legendre
    /// transform, whose norms are near 1. `seed` is that of the convolution's filter.
    pub fn matrix(self, n: usize, seed: u64) -> ComplexMatrix {
        let length = n as f64;
        let unit = length.sqrt().recip();
        // Products modulo the period, so that angles are exact to rounding.
        let angle = |j: usize, k: usize| TAU * ((j * k) % n) as f64 / length;
        let real = |element: &dyn Fn(usize, usize) -> f64| ComplexMatrix::new(n, |k, j| [element(k, j), 0.0]);
        // Row 0 of a cosine transform, and the last one of a sine transform, are constant in magnitude.
        let norm = |is_flat: bool| if is_flat { unit } else { unit * 2f64.sqrt() };
        match self {
            Self::Dft => ComplexMatrix::new(n, |k, j| [angle(j, k).cos() * unit, -angle(j, k).sin() * unit]),
            Self::Dct => real(&|k, j| {
                let turns = ((2 * j + 1) * k) % (4 * n);
                (PI * turns as f64 / (2.0 * length)).cos() * norm(k == 0)
            }),
            Self::Dst => real(&|k, j| {
                let turns = ((2 * j + 1) * (k + 1)) % (4 * n);
                (PI * turns as f64 / (2.0 * length)).sin() * norm(k + 1 == n)
            }),
            Self::Hadamard => real(&|k, j| if (j & k).count_ones() % 2 == 0 { unit } else { -unit }),
            Self::Hartley => real(&|k, j| (angle(j, k).cos() + angle(j, k).sin()) * unit),
            Self::Convolution => {
                let filter = normal(seed, n);
                let norm = filter.iter().map(|tap| tap * tap).sum::<f64>().sqrt();
                real(&|k, j| filter[(k + n - j) % n] / norm)
            }
            Self::Legendre => {
                real(&|k, j| legendre(k, (2.0 * j as f64 + 1.0) / length - 1.0) * ((2 * k + 1) as f64).sqrt() * unit)
            }
        }
    }
}

/// The Legendre polynomial of a degree at `x`, by Bonnet's recursion.
fn legendre(degree: usize, x: f64) -> f64 {
    let (mut before, mut current) = (1.0, x);
    if degree == 0 {
        return before;
    }
    for k in 1..degree {
        let k = k as f64;
        (before, current) = (current, ((2.0 * k + 1.0) * x * current - k * before) / (k + 1.0));
    }
    current
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Largest difference of A·Aᴴ from the identity.
    fn deviation_from_unitary(matrix: &ComplexMatrix) -> f64 {
        let n = matrix.n;
        let mut largest = 0f64;
        for (a, b) in (0..n).flat_map(|a| (0..n).map(move |b| (a, b))) {
            let (mut re, mut im) = (0.0, 0.0);
            for j in 0..n {
                let (p, q) = (a * n + j, b * n + j);
                re += matrix.re[p] * matrix.re[q] + matrix.im[p] * matrix.im[q];
                im += matrix.im[p] * matrix.re[q] - matrix.re[p] * matrix.im[q];
            }
            let expected = if a == b { 1.0 } else { 0.0 };
            largest = largest.max((re - expected).abs()).max(im.abs());
        }
        largest
    }

    #[test]
    fn orthogonal_transforms_are_unitary() {
        for transform in [Transform::Dft, Transform::Dct, Transform::Dst, Transform::Hadamard, Transform::Hartley] {
            for n in [4, 8, 32] {
                let deviation = deviation_from_unitary(&transform.matrix(n, 0));
                assert!(deviation < 1e-13, "{transform:?} of {n}: {deviation}");
            }
        }
    }

    #[test]
    fn known_elements_are_those_of_the_definitions() {
        let element = |transform: Transform, k: usize, j: usize| {
            let matrix = transform.matrix(4, 0);
            [matrix.re[k * 4 + j], matrix.im[k * 4 + j]].map(|value| (value * 2e6).round() / 1e6)
        };
        assert_eq!(element(Transform::Dft, 1, 1), [0.0, -1.0]);
        assert_eq!(element(Transform::Hartley, 1, 1), [1.0, 0.0]);
        assert_eq!(element(Transform::Hadamard, 3, 1), [-1.0, 0.0]);
        assert_eq!(element(Transform::Dct, 0, 2), [1.0, 0.0]);
        // P₂(¾) = (3·(¾)² − 1)/2 = 0.34375, times √5.
        assert_eq!(element(Transform::Legendre, 2, 3), [(0.34375 * 5f64.sqrt() * 1e6).round() / 1e6, 0.0]);
    }

    #[test]
    fn a_convolution_is_circulant_and_of_norm_one() {
        let matrix = Transform::Convolution.matrix(8, 5);
        for (k, j) in (0..8).flat_map(|k| (0..8).map(move |j| (k, j))) {
            assert_eq!(matrix.re[k * 8 + j], matrix.re[(k + 1) % 8 * 8 + (j + 1) % 8]);
        }
        assert!((matrix.norm() - 8f64.sqrt()).abs() < 1e-12);
        assert_ne!(matrix, Transform::Convolution.matrix(8, 6));
    }
}
