//! Order of finite training data: every example once per epoch, in an order that follows from the seed and the epoch.

use std::sync::{Mutex, PoisonError};

use super::draw::{Draw, Part, Purpose};

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
