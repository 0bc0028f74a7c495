//! What the butterflies are multiplied by: twiddles, and gates.

use burn::tensor::{Device, Tensor, TensorData};
use firefly_reference::butterfly::exact_twiddles;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Share of a twiddle that training is taken to have moved it by.
const MOVED: f32 = 0.1;

/// Which twiddles and gates a transform has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// Exact twiddles, no gates: the Fourier transform.
    Exact,
    /// Learned twiddles, every gate open.
    Open,
    /// Learned twiddles, gates anywhere between closed and open.
    Soft,
    /// Learned twiddles, a share of the gates open and the others closed.
    Hard,
}

/// The twiddles and gates of every [`Network`], made from a seed.
#[derive(Debug, Clone)]
pub struct Networks {
    n: usize,
    exact: Vec<f32>,
    learned: Vec<f32>,
    soft: Vec<f32>,
    hard: Vec<f32>,
}

impl Networks {
    /// Networks for rows of `n` values, a share `open` of the hard gates open, at random places.
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
    pub fn values(&self, network: Network) -> (Vec<f32>, Option<Vec<f32>>) {
        match network {
            Network::Exact => (self.exact.clone(), None),
            Network::Open => (self.learned.clone(), Some(vec![1.0; self.hard.len()])),
            Network::Soft => (self.learned.clone(), Some(self.soft.clone())),
            Network::Hard => (self.learned.clone(), Some(self.hard.clone())),
        }
    }

    /// The same as tensors on `device`.
    pub fn tensors(&self, network: Network, device: &Device) -> (Tensor<3>, Option<Tensor<2>>) {
        let (stages, pairs) = (self.n.trailing_zeros() as usize, self.n / 2);
        let (twiddles, gates) = self.values(network);
        let twiddles = Tensor::from_data(TensorData::new(twiddles, [stages, pairs, 2]), device);
        (twiddles, gates.map(|gates| Tensor::from_data(TensorData::new(gates, [stages, pairs]), device)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hard_gates_are_open_in_the_share_asked_for() {
        for (open, count) in [(0.0, 0), (0.25, 3), (0.5, 6), (1.0, 12)] {
            let (_, gates) = Networks::new(8, open, 1).values(Network::Hard);
            let gates = gates.unwrap();
            assert_eq!(gates.len(), 12);
            assert_eq!(gates.iter().filter(|gate| **gate == 1.0).count(), count);
            assert!(gates.iter().all(|gate| *gate == 0.0 || *gate == 1.0));
        }
    }

    #[test]
    fn a_seed_gives_the_same_network() {
        let of = |seed| Networks::new(16, 0.5, seed).values(Network::Soft);
        assert_eq!(of(3), of(3));
        assert_ne!(of(3), of(4));
        assert_ne!(of(3).0, Networks::new(16, 0.5, 3).values(Network::Exact).0);
    }
}
