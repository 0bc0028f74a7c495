//! Copies of a model on several devices, which take batches in turns.

use std::panic::resume_unwind;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use burn::tensor::Device;

/// A model on its device.
#[derive(Debug, Clone)]
pub struct Placed<M> {
    /// The model, without autodiff.
    pub model: M,
    /// The device.
    pub device: Device,
}

/// `work` of every item, in the order of the items. Each device takes the next item as soon as it is done with one.
///
/// # Errors
/// That of the first item that failed; items after it may not have been worked on.
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
}
