//! Work of several devices: shares of a batch in training, batches in turns elsewhere.

use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use burn::tensor::Device;

/// Rank of a device among those that train together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceRank {
    /// Index of the device.
    pub index: usize,
    /// Number of devices.
    pub devices: usize,
}

/// Share of a batch: the rows that one device takes.
///
/// Every draw is a function of the batch's number and of the row in it, so a batch does not depend on its division.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchShare {
    /// Number of the batch.
    pub number: usize,
    /// The rows, at least one.
    pub rows: Range<usize>,
}

impl DeviceRank {
    /// The share of batch `number`, which has `rows` rows, and the share's weight in the mean over the batch. A device
    /// for which no row is left takes the first with a weight of 0.
    ///
    /// ```
    /// use firefly_trainer::task::DeviceRank;
    ///
    /// let (share, weight) = DeviceRank { index: 1, devices: 2 }.share(7, 3);
    /// assert_eq!((share.number, share.rows, weight), (7, 1..3, 2.0 / 3.0));
    /// ```
    pub fn share(self, number: usize, rows: usize) -> (BatchShare, f64) {
        let bound = |index: usize| rows * index / self.devices;
        let own = bound(self.index)..bound(self.index + 1);
        let weight = own.len() as f64 / rows.max(1) as f64;
        (BatchShare { number, rows: if own.is_empty() { 0..1 } else { own } }, weight)
    }
}

impl BatchShare {
    /// Number of the first row, counted from the first row of batch 0, where every batch before has `batch` rows.
    pub fn first(&self, batch: usize) -> u64 {
        (self.number * batch + self.rows.start) as u64
    }
}

/// A model on its device.
#[derive(Debug, Clone)]
pub struct Placed<M> {
    /// The model, without autodiff.
    pub model: M,
    /// The device.
    pub device: Device,
}

/// `work` of every item, in the order of the items. Each device takes the next item as soon as it is done with one. The
/// error is that of the first item that failed; items after it may not have been worked on.
pub fn over_devices<M: Send, I: Sync, R: Send, E: Send>(
    placed: &mut [Placed<M>],
    items: &[I],
    work: impl Fn(&Placed<M>, &I) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    if let [only] = placed {
        return items.iter().map(|item| work(only, item)).collect();
    }
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<Result<R, E>>>> = Mutex::new(items.iter().map(|_| None).collect());
    let serve = |placed: &mut Placed<M>| {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else { return };
            let result = work(placed, item);
            if result.is_err() {
                next.store(items.len(), Ordering::Relaxed);
            }
            results.lock().unwrap_or_else(PoisonError::into_inner)[index] = Some(result);
        }
    };
    thread::scope(|scope| {
        let threads: Vec<_> = placed.iter_mut().map(|placed| scope.spawn(|| serve(placed))).collect();
        for thread in threads {
            if let Err(panic) = thread.join() {
                resume_unwind(panic);
            }
        }
    });
    // An item is left out only after another has failed.
    results.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(count: usize) -> Vec<Placed<usize>> {
        (0..count).map(|model| Placed { model, device: Device::flex() }).collect()
    }

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let items: Vec<usize> = (0..100).collect();
        for count in [1, 2, 3] {
            let squares = over_devices(&mut placed(count), &items, |_, item| Ok::<_, ()>(item * item)).unwrap();
            assert_eq!(squares, items.iter().map(|item| item * item).collect::<Vec<_>>());
        }
    }

    #[test]
    fn every_device_takes_items_and_a_failure_ends_the_work() {
        // Each of two devices waits for the other: one alone would never get past its first item.
        let barrier = std::sync::Barrier::new(2);
        let who = over_devices(&mut placed(2), &[(), ()], |placed, ()| {
            barrier.wait();
            Ok::<_, ()>(placed.model)
        });
        let mut who = who.unwrap();
        who.sort_unstable();
        assert_eq!(who, [0, 1]);
        let failed =
            over_devices(&mut placed(2), &[1, 2, 3, 4], |_, item| if *item == 2 { Err("two") } else { Ok(()) });
        assert_eq!(failed, Err("two"));
    }

    #[test]
    fn shares_are_every_row_once_and_their_weights_sum_to_1() {
        for (rows, devices) in [(8, 2), (7, 3), (2, 3), (1, 1), (1, 4)] {
            let shares: Vec<_> = (0..devices).map(|index| DeviceRank { index, devices }.share(5, rows)).collect();
            let counted: Vec<usize> =
                shares.iter().filter(|(_, weight)| *weight > 0.0).flat_map(|(share, _)| share.rows.clone()).collect();
            assert_eq!(counted, (0..rows).collect::<Vec<_>>(), "{rows} rows on {devices} devices");
            assert!((shares.iter().map(|(_, weight)| weight).sum::<f64>() - 1.0).abs() < 1e-12);
            assert!(shares.iter().all(|(share, _)| !share.rows.is_empty() && share.rows.end <= rows));
        }
        let only = DeviceRank { index: 0, devices: 1 };
        assert_eq!(only.share(3, 8), (BatchShare { number: 3, rows: 0..8 }, 1.0));
        assert_eq!(BatchShare { number: 3, rows: 2..4 }.first(10), 32);
    }
}
