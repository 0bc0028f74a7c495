//! Time that estimates take per frame.

use std::time::Instant;

use burn::tensor::{Device, Tensor};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::frame_sets::BATCH;
use crate::data::{Frames, frames_to_tensor};

/// Timed repetitions of a batch.
const REPETITIONS: usize = 41;
/// Repetitions before those that are timed.
const WARM_UP: usize = 3;

/// Estimate of a batch of frames `[rows, frame]` that ends once its result is in host memory.
pub(super) type TimedEstimate<'a, E> = Box<dyn Fn(Tensor<2>) -> Result<(), E> + 'a>;

/// Median time per frame of each estimate in microseconds, for batches of [`BATCH`] frames that are already on the
/// device. Estimates take turns in random order, so that other load on the machine affects all of them, and each timed
/// run follows one of the same estimate, as in a loop: none finds samples in the caches that another has left there.
///
/// # Errors
/// Those of the estimates.
pub(super) fn microseconds_per_frame<E>(
    frames: &Frames,
    device: &Device,
    estimates: &[TimedEstimate<'_, E>],
) -> Result<Vec<f64>, E> {
    let samples = frames.iter().cycle().take(BATCH).flatten().copied().collect();
    let signal = frames_to_tensor(samples, frames.frame(), device);
    let mut times = vec![Vec::with_capacity(REPETITIONS); estimates.len()];
    let mut turns: Vec<usize> = (0..estimates.len()).collect();
    let mut random = ChaCha8Rng::seed_from_u64(0);
    for repetition in 0..WARM_UP + REPETITIONS {
        turns.shuffle(&mut random);
        for &turn in &turns {
            estimates[turn](signal.clone())?;
            let start = Instant::now();
            estimates[turn](signal.clone())?;
            if repetition >= WARM_UP {
                times[turn].push(start.elapsed().as_secs_f64() * 1e6);
            }
        }
    }
    Ok(times.iter_mut().map(|times| median(times) / BATCH as f64).collect())
}

/// The middle of values, or the mean of both middles; NaN of none.
pub(super) fn median(values: &mut [f64]) -> f64 {
    if values.is_empty() {
        return f64::NAN;
    }
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    if values.len() % 2 == 1 { values[half] } else { (values[half - 1] + values[half]) / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_the_middle_or_the_mean_of_both_middles() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&mut []).is_nan());
    }
}
