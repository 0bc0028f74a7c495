//! Random draws as a pure function of seed, part, purpose and index, and the order of finite training data that they make.

use std::f32::consts::TAU;
use std::sync::{Mutex, PoisonError};

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Part of an experiment. Parts never share a random stream, so that validation and test frames are not trained on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Frames to train on.
    Train = 0,
    /// Frames to validate on, by which a model is chosen.
    Validation = 1,
    /// Frames to test on.
    Test = 2,
}

/// Purpose of random draws. Purposes never share a random stream, so that draws for different purposes are independent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Frames of the task `peaks`, by their number; in other tasks the order of examples, by the epoch.
    Frames = 0,
    /// Random changes of examples: place, level, speed, symmetry.
    Augmentation = 1,
    /// Noise that is added to examples.
    Noise = 2,
    /// Generated examples: signals, fields and rows.
    Examples = 3,
    /// Source of a mixture that a frame is drawn from.
    Source = 4,
    /// Numbers that are drawn once per run.
    Once = 7,
}

impl Purpose {
    /// Bits of a stream's number that are the index.
    const INDEX_BITS: u32 = 61;

    /// Number of the stream of an index.
    fn stream(self, index: u64) -> u64 {
        debug_assert!(index >> Self::INDEX_BITS == 0, "an index of at most 61 bits");
        (self as u64) << Self::INDEX_BITS | index
    }
}

/// Random draws of one index: ChaCha8 keyed by seed and part, with purpose and index as its stream number. Streams of
/// one key never overlap, so that an index can be drawn without those before it.
pub(super) struct Draw(ChaCha8Rng);

impl Draw {
    pub(super) fn at(seed: u64, part: Part, purpose: Purpose, index: u64) -> Self {
        let mut key = [0u8; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8] = part as u8;
        let mut rng = ChaCha8Rng::from_seed(key);
        rng.set_stream(purpose.stream(index));
        Self(rng)
    }

    /// Uniform in `low..high`; `low` if both are equal.
    pub(super) fn uniform(&mut self, [low, high]: [f64; 2]) -> f64 {
        low + (high - low) * self.0.random::<f64>()
    }

    /// Uniform in the logarithm, both ends positive.
    pub(super) fn log_uniform(&mut self, [low, high]: [f64; 2]) -> f64 {
        low * (high / low).powf(self.0.random::<f64>())
    }

    /// Uniform among `low..=high`.
    pub(super) fn count(&mut self, [low, high]: [usize; 2]) -> usize {
        self.0.random_range(low as u64..=high as u64) as usize
    }

    /// Uniform among `0..end`, `end` positive.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.0.random_range(0..end)
    }

    /// True with probability ½.
    pub(super) fn coin(&mut self) -> bool {
        self.0.random()
    }

    /// Independent normal samples of mean 0 and variance 1 by the Box–Muller transform (1958). Written out, because the
    /// data of a run depend on every bit of it, and a crate's method may change.
    pub(super) fn fill_normal(&mut self, out: &mut [f32]) {
        const STEP: f32 = 1.0 / (1u32 << 24) as f32;
        for pair in out.chunks_mut(2) {
            let bits = self.0.next_u64();
            // 24 bits each: `u` in (0, 1], where the logarithm is finite, and `v` in [0, 1).
            let u = ((bits >> 40) as f32 + 1.0) * STEP;
            let v = ((bits & 0xff_ffff) as f32) * STEP;
            let radius = (-2.0 * u.ln()).sqrt();
            let (sin, cos) = (TAU * v).sin_cos();
            pair[0] = radius * cos;
            if let Some(second) = pair.get_mut(1) {
                *second = radius * sin;
            }
        }
    }
}

/// Normal random numbers of mean 0 and variance 1 that follow from a seed.
pub fn normal(seed: u64, count: usize) -> Vec<f64> {
    let mut values = vec![0.0; count];
    let last = (1 << Purpose::INDEX_BITS) - 1;
    Draw::at(seed, Part::Train, Purpose::Once, last).fill_normal(&mut values);
    values.into_iter().map(f64::from).collect()
}

/// Two uniform random numbers from 0 to below 1 for a change of an example: a function of seed, part and index.
pub fn uniform(seed: u64, part: Part, index: u64) -> [f64; 2] {
    let mut draw = Draw::at(seed, part, Purpose::Augmentation, index);
    [draw.uniform([0.0, 1.0]), draw.uniform([0.0, 1.0])]
}

/// Rows of normal random numbers `first`, `first + 1`, … of mean 0 and variance 1 for generated examples, row-major
/// `[rows, length]`.
pub fn normal_rows(seed: u64, part: Part, first: u64, rows: usize, length: usize) -> Vec<f32> {
    let mut values = vec![0.0; rows * length];
    for (index, row) in (first..).zip(values.chunks_exact_mut(length)) {
        Draw::at(seed, part, Purpose::Examples, index).fill_normal(row);
    }
    values
}

/// Batches of the indices of finite data by their number.
#[derive(Debug)]
pub struct EpochOrder {
    seed: u64,
    examples: usize,
    batch: usize,
    /// The last order that was drawn, with its epoch.
    last: Mutex<Option<(usize, Vec<usize>)>>,
}

impl EpochOrder {
    /// Order of `examples` examples in batches of `batch`, both at least 1; the last batch of an epoch may be smaller.
    pub fn new(seed: u64, examples: usize, batch: usize) -> Self {
        Self { seed, examples: examples.max(1), batch: batch.max(1), last: Mutex::new(None) }
    }

    /// Batches of an epoch.
    pub fn batches_per_epoch(&self) -> usize {
        self.examples.div_ceil(self.batch)
    }

    /// Examples in the batch of this number.
    pub fn rows(&self, number: usize) -> usize {
        self.batch.min(self.examples - number % self.batches_per_epoch() * self.batch)
    }

    /// Indices of the batch of this number.
    pub fn batch(&self, number: usize) -> Vec<usize> {
        let (epoch, batch) = (number / self.batches_per_epoch(), number % self.batches_per_epoch());
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let order = match last.take() {
            Some((of, order)) if of == epoch => order,
            _ => self.order(epoch),
        };
        let start = batch * self.batch;
        let indices = order[start..(start + self.batch).min(self.examples)].to_vec();
        *last = Some((epoch, order));
        indices
    }

    /// A permutation of all indices by the algorithm of Fisher and Yates.
    fn order(&self, epoch: usize) -> Vec<usize> {
        let mut draw = Draw::at(self.seed, Part::Train, Purpose::Frames, epoch as u64);
        let mut order: Vec<usize> = (0..self.examples).collect();
        for end in (1..order.len()).rev() {
            order.swap(end, draw.below(end as u64 + 1) as usize);
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_depend_on_seed_part_and_index_alone() {
        let draw = |seed, part, index| Draw::at(seed, part, Purpose::Frames, index).below(u64::MAX);
        assert_eq!(draw(1, Part::Train, 5), draw(1, Part::Train, 5));
        assert_ne!(draw(1, Part::Train, 5), draw(1, Part::Train, 6));
        assert_ne!(draw(1, Part::Train, 5), draw(2, Part::Train, 5));
        assert_ne!(draw(1, Part::Train, 5), draw(1, Part::Validation, 5));
        assert_ne!(draw(1, Part::Validation, 5), draw(1, Part::Test, 5));
    }

    #[test]
    fn purposes_have_different_random_streams() {
        use Purpose::{Augmentation, Examples, Frames, Noise, Once, Source};
        let all = [Frames, Augmentation, Noise, Examples, Source, Once];
        let mut first: Vec<u64> =
            all.map(|purpose| Draw::at(1, Part::Train, purpose, 5).below(u64::MAX)).into_iter().collect();
        first.sort_unstable();
        first.dedup();
        assert_eq!(first.len(), all.len());
        assert_eq!(Purpose::Frames.stream(5), 5, "frames of peaks are numbered from stream 0 on");
    }

    /// The data of a run must not depend on the version of a dependency.
    #[test]
    fn draws_have_fixed_values() {
        let mut draw = Draw::at(1, Part::Train, Purpose::Frames, 2);
        let drawn = (draw.below(1000), draw.count([0, 99]), draw.coin());
        assert_eq!(drawn, (376, 10, false));
        assert_eq!(draw.uniform([0.0, 1.0]).to_bits(), 4605833003615977897);
    }

    #[test]
    fn normal_samples_have_the_normal_moments() {
        let mut x = vec![0.0f32; 200_001];
        Draw::at(7, Part::Train, Purpose::Frames, 0).fill_normal(&mut x);
        let moment = |power: i32| x.iter().map(|v| f64::from(*v).powi(power)).sum::<f64>() / x.len() as f64;
        assert!(moment(1).abs() < 0.01, "{}", moment(1));
        assert!((moment(2) - 1.0).abs() < 0.02, "{}", moment(2));
        assert!(moment(3).abs() < 0.05, "{}", moment(3));
        assert!((moment(4) - 3.0).abs() < 0.1, "{}", moment(4));
    }

    #[test]
    fn every_epoch_has_every_example_once_in_another_order() {
        let order = EpochOrder::new(3, 10, 4);
        assert_eq!(order.batches_per_epoch(), 3);
        let epoch =
            |first: usize| -> Vec<usize> { (first..first + 3).flat_map(|number| order.batch(number)).collect() };
        let (first, second) = (epoch(0), epoch(3));
        for epoch in [&first, &second] {
            let mut sorted = epoch.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..10).collect::<Vec<_>>());
        }
        assert_ne!(first, second);
        assert_eq!(order.batch(5).len(), 2, "the last batch has the remaining examples");
        assert_eq!([3, 4, 5].map(|number| order.rows(number)), [4, 4, 2]);
        // A resumed run draws the batch of its step without those before it.
        assert_eq!(EpochOrder::new(3, 10, 4).batch(4), order.batch(4));
    }
}
