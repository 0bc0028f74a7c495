//! Layers that the tests run: shapes, numbers, results and gradients.

use burn::tensor::{DType, Device, Tensor};
use firefly_ops::fft::ComplexTensor;
use firefly_ops::spectral_conv;
use firefly_reference::Complex;
use firefly_reference::spectral_conv::SpectralConvDefinition;

use crate::common::devices::is_software;
use crate::common::{noise, tensor, transform_tolerance, values};

/// An input of one to three dimensions, and weights.
#[derive(Debug, Clone)]
pub struct Case {
    pub batch: usize,
    pub channels: [usize; 2],
    pub points: &'static [usize],
    pub modes: &'static [usize],
}

pub const fn case(batch: usize, channels: [usize; 2], points: &'static [usize], modes: &'static [usize]) -> Case {
    Case { batch, channels, points, modes }
}

pub const CASES: &[Case] = &[
    case(3, [2, 3], &[16], &[5]),
    case(9, [4, 5], &[16], &[9]),
    case(2, [1, 1], &[1], &[1]),
    case(2, [3, 2], &[2], &[2]),
    case(5, [3, 2], &[15], &[8]),
    case(4, [2, 2], &[97], &[20]),
    case(33, [8, 7], &[64], &[16]),
    case(6, [2, 5], &[211], &[3]),
    case(2, [2, 3], &[6, 8], &[4, 3]),
    case(3, [2, 2], &[7, 5], &[7, 3]),
    case(2, [3, 1], &[1, 4], &[1, 3]),
    case(2, [2, 3], &[12, 30], &[5, 12]),
    case(1, [2, 2], &[23, 18], &[6, 9]),
    case(1, [2, 2], &[12, 16], &[12, 9]),
    case(2, [2, 1], &[4, 3, 6], &[3, 2, 3]),
    case(1, [1, 2], &[5, 8, 9], &[4, 8, 5]),
    case(1, [2, 2], &[2, 1, 3], &[1, 1, 1]),
];

impl Case {
    pub fn definition(&self) -> SpectralConvDefinition {
        let [inputs, outputs] = self.channels;
        let (points, modes) = (self.points.to_vec(), self.modes.to_vec());
        SpectralConvDefinition { batch: self.batch, inputs, outputs, points, modes }
    }

    pub fn samples(&self) -> usize {
        self.points.iter().product()
    }

    pub fn weights(&self) -> usize {
        self.channels[0] * self.channels[1] * self.modes.iter().product::<usize>()
    }

    /// Numbers of the input and of both parts of the weights.
    pub fn numbers(&self, seed: u64) -> [Vec<f64>; 3] {
        let input = noise(self.batch * self.channels[0] * self.samples(), seed);
        [input, noise(self.weights(), seed + 1), noise(self.weights(), seed + 2)]
    }

    pub fn expected(&self, [input, re, im]: &[Vec<f64>; 3]) -> Vec<f64> {
        let weights: Vec<Complex> = re.iter().zip(im).map(|(&re, &im)| Complex::new(re, im)).collect();
        self.definition().apply(input, &weights)
    }

    /// The shapes of the input and of the weights in one rank.
    pub fn shapes<const D: usize>(&self) -> [[usize; D]; 2] {
        let shape = |first: [usize; 2], rest: &[usize]| [&first[..], rest].concat().try_into().unwrap();
        [shape([self.batch, self.channels[0]], self.points), shape(self.channels, self.modes)]
    }

    /// Result of `run` for flat leaves, as flat numbers.
    pub fn flat(&self, leaves: &[Tensor<1>; 3]) -> Tensor<1> {
        match self.points.len() {
            1 => self.flat_of::<3>(leaves),
            2 => self.flat_of::<4>(leaves),
            _ => self.flat_of::<5>(leaves),
        }
    }

    pub fn flat_of<const D: usize>(&self, [input, re, im]: &[Tensor<1>; 3]) -> Tensor<1> {
        let [shape, kept] = self.shapes::<D>();
        let weights = ComplexTensor::new(re.clone().reshape(kept), im.clone().reshape(kept));
        let output = spectral_conv(input.clone().reshape(shape), weights).unwrap();
        let mut expected = shape;
        expected[1] = self.channels[1];
        assert_eq!(output.dims(), expected);
        let count = output.shape().num_elements();
        output.reshape([count])
    }

    pub fn leaves(&self, numbers: &[Vec<f64>; 3], device: &Device, dtype: DType) -> [Tensor<1>; 3] {
        numbers.each_ref().map(|part| tensor(part, [part.len()], device, dtype))
    }

    pub fn run(&self, numbers: &[Vec<f64>; 3], device: &Device, dtype: DType) -> Vec<f64> {
        let output = self.flat(&self.leaves(numbers, device, dtype));
        assert_eq!(output.dtype(), dtype);
        values(output)
    }

    /// Gradients of Σ weight · output for the inputs that are tracked.
    pub fn gradients(
        &self,
        numbers: &[Vec<f64>; 3],
        tracked: [bool; 3],
        device: &Device,
        dtype: DType,
    ) -> [Option<Vec<f64>>; 3] {
        let mut leaves = self.leaves(numbers, device, dtype);
        for (leaf, tracked) in leaves.iter_mut().zip(tracked) {
            if tracked {
                *leaf = leaf.clone().require_grad();
            }
        }
        let output = self.flat(&leaves);
        let coefficients = noise(output.shape().num_elements(), 77);
        let gradients = (output.clone() * tensor(&coefficients, output.dims(), device, dtype)).sum().backward();
        leaves.map(|leaf| leaf.grad(&gradients).map(values))
    }

    pub fn tolerance(&self, dtype: DType) -> f64 {
        match dtype {
            DType::F64 => 1e-13,
            // Two transforms along every dimension, and a sum over channels.
            _ => 4.0 * self.points.iter().map(|&n| transform_tolerance(n)).sum::<f64>(),
        }
    }
}

/// The cases that a device takes: on software, where it takes seconds to compile a kernel, a few.
pub fn cases(device: &Device) -> impl Iterator<Item = &'static Case> {
    let few = [0, 3, 4, 5, 9, 12, 14];
    let all = !is_software(device);
    CASES.iter().enumerate().filter(move |(index, _)| all || few.contains(index)).map(|(_, case)| case)
}
