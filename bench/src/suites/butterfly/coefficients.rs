//! Coefficients of the butterflies: twiddles and gates.

use burn::tensor::{Device, Tensor, TensorData};
use firefly_reference::butterfly::exact_twiddles;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Amplitude of the difference between learned and exact twiddles.
const MOVED: f32 = 0.1;

/// Kind of twiddles and gates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coefficients {
    /// Exact twiddles, no gates: the Fourier transform.
    Exact,
    /// Learned twiddles, every gate open.
    Open,
    /// Learned twiddles, gates anywhere between closed and open.
    Soft,
    /// Learned twiddles, a share of the gates open and the others closed.
    Hard,
}

/// Twiddles and gates of every kind, made from a seed.
#[derive(Debug, Clone)]
pub struct CoefficientSets {
    n: usize,
    exact: Vec<f32>,
    learned: Vec<f32>,
    soft: Vec<f32>,
    hard: Vec<f32>,
}

impl CoefficientSets {
    /// Coefficients for rows of `n` values, a share `open` of the hard gates open, at random places.
    pub fn new(n: usize, open: f64, seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let exact: Vec<f32> = exact_twiddles(n).into_iter().map(|value| value as f32).collect();
        let learned = exact.iter().map(|value| value + MOVED * (2.0 * random.random::<f32>() - 1.0)).collect();
        let gates = exact.len() / 2;
        let soft = (0..gates).map(|_| random.random()).collect();
        let count = (open * gates as f64).round() as usize;
        let mut hard: Vec<f32> = (0..gates).map(|gate| if gate < count { 1.0 } else { 0.0 }).collect();
        hard.shuffle(&mut random);
        Self { n, exact, learned, soft, hard }
    }

    /// Twiddles `[log2 n, n/2, 2]`, and gates `[log2 n, n/2]` if there are any.
    pub fn values(&self, coefficients: Coefficients) -> (Vec<f32>, Option<Vec<f32>>) {
        match coefficients {
            Coefficients::Exact => (self.exact.clone(), None),
            Coefficients::Open => (self.learned.clone(), Some(vec![1.0; self.hard.len()])),
            Coefficients::Soft => (self.learned.clone(), Some(self.soft.clone())),
            Coefficients::Hard => (self.learned.clone(), Some(self.hard.clone())),
        }
    }

    /// Twiddles `[log2 n, n/2, 2]` and gates `[log2 n, n/2]` as tensors on `device`.
    pub fn tensors(&self, coefficients: Coefficients, device: &Device) -> (Tensor<3>, Option<Tensor<2>>) {
        let (stages, pairs) = (self.n.trailing_zeros() as usize, self.n / 2);
        let (twiddles, gates) = self.values(coefficients);
        let twiddles = Tensor::from_data(TensorData::new(twiddles, [stages, pairs, 2]), device);
        (twiddles, gates.map(|gates| Tensor::from_data(TensorData::new(gates, [stages, pairs]), device)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_given_share_of_hard_gates_is_open() {
        for (open, count) in [(0.0, 0), (0.25, 3), (0.5, 6), (1.0, 12)] {
            let (_, gates) = CoefficientSets::new(8, open, 1).values(Coefficients::Hard);
            let gates = gates.unwrap();
            assert_eq!(gates.len(), 12);
            assert_eq!(gates.iter().filter(|gate| **gate == 1.0).count(), count);
            assert!(gates.iter().all(|gate| *gate == 0.0 || *gate == 1.0));
        }
    }

    #[test]
    fn a_seed_gives_the_same_coefficients() {
        let of = |seed| CoefficientSets::new(16, 0.5, seed).values(Coefficients::Soft);
        assert_eq!(of(3), of(3));
        assert_ne!(of(3), of(4));
        assert_ne!(of(3).0, CoefficientSets::new(16, 0.5, 3).values(Coefficients::Exact).0);
    }
}
