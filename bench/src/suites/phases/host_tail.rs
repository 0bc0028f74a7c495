//! Peaks of spectra that were read back, computed on the host.

use burn::tensor::TensorData;
use rayon::prelude::*;

use crate::baselines::strongest::strongest;
use crate::suites::peaks::PeaksProblem;

/// Number of values of spectra from which a second thread saves time.
const PARALLEL_VALUES: usize = 1 << 16;

/// The bins and powers, `[batch, k]`, of the strongest lines of spectra; `value` gives the squared magnitude at a place
/// of `[batch · segments, n_fft]`.
pub fn host_tail(problem: &PeaksProblem, value: impl Fn(usize) -> f32 + Sync) -> (TensorData, TensorData) {
    let (n, bins, segments) = (problem.options.n_fft, problem.options.bins(), problem.options.segments);
    let shape = [problem.batch, problem.k];
    let (mut found, mut powers) = (vec![0; problem.batch * problem.k], vec![0.0; problem.batch * problem.k]);
    let rows_at_once = PARALLEL_VALUES.div_ceil(segments * n);
    let chunk = rows_at_once * problem.k;
    let chunks = found.par_chunks_mut(chunk).zip(powers.par_chunks_mut(chunk)).enumerate();
    chunks.for_each(|(place, (found, powers))| {
        let (mut power, mut keys) = (vec![0.0; bins], vec![0; bins]);
        let rows = found.chunks_exact_mut(problem.k).zip(powers.chunks_exact_mut(problem.k));
        for (row, (found, powers)) in rows.enumerate() {
            let first = (place * rows_at_once + row) * segments;
            for (bin, power) in power.iter_mut().enumerate() {
                let sum: f32 = (first..first + segments).map(|segment| value(segment * n + bin)).sum();
                let sides = if bin % (n / 2) == 0 { 1.0 } else { 2.0 };
                *power = sum * sides / segments as f32;
            }
            strongest(&power, &mut keys, found, powers);
        }
    });
    (TensorData::new(found, shape), TensorData::new(powers, shape))
}
