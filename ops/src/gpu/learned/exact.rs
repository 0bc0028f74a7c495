//! What the values of a learned estimate's parameters decide: whether its transform is the discrete Fourier transform, so
//! that its peaks take the launch of exact ones, and which bins are searched.
//!
//! Twiddles, gates, weights and gain are read back once for each set of tensors, and the answers for the last sets are
//! cached. The cache holds the tensors, so that their memory is neither changed nor reused.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use cubecl::server::Handle;

use crate::gpu::device::GpuDevice;
use crate::gpu::segments::DeviceFrames;
use crate::gpu::top_k::PeakBuffers;
use crate::gpu::welch::{GainedEstimate, gained_peaks};
use crate::open_blocks::OpenBlocks;
use crate::options::{Direction, WelchOptions};
use crate::twiddles::exact_twiddle_values;

/// The shortest transform that is checked; shorter ones always run as butterflies.
const SHORTEST: usize = 64;
/// Sets of tensors in the cache.
const CACHED_SETS: usize = 16;

/// Parameters of a learned estimate whose peaks are searched.
pub struct SearchedEstimate<'a> {
    pub options: &'a WelchOptions,
    /// Number of peaks.
    pub k: usize,
    /// Factors of the gain per bin.
    pub taps: usize,
    /// Handle and strides of twiddles, gates, weights of segments and gain, which identify their values in the cache. The
    /// gain has to be known only where closed blocks of bins are left out.
    pub parameters: [(Handle, Vec<usize>); 4],
    /// Their contiguous values, called only if they are not in the cache, or the gain's alone.
    pub values: &'a dyn Fn() -> [Handle; 4],
}

/// What the values of a learned estimate's parameters decide.
#[derive(Debug, Clone)]
pub struct EstimateChoice {
    /// The open segments, if twiddles are exact, no gate is closed, and the open segments have equal weights and are
    /// equally spaced.
    segments: Option<OpenSegments>,
    /// The blocks of bins that are searched.
    blocks: OpenBlocks,
    /// The gain `[bins, taps]`, NaN in closed blocks: power that is not finite is not found.
    pub gain: Handle,
}

/// The strongest bins of learned power in one launch, if there is one for the choice. Returns whether they were computed.
pub fn exact_learned_peaks(
    device: &GpuDevice,
    frames: &DeviceFrames,
    estimate: &SearchedEstimate<'_>,
    choice: &EstimateChoice,
    window: &Handle,
    into: &PeakBuffers,
) -> bool {
    let Some(segments) = choice.segments else { return false };
    let options = estimate.options;
    let estimate = GainedEstimate {
        window,
        gain: &choice.gain,
        taps: estimate.taps,
        open: choice.blocks,
        first: segments.first * options.hop,
        options: options.with_hop(segments.step * options.hop).with_segments(segments.count),
    };
    gained_peaks(device, frames, &estimate, into)
}

/// Equally spaced segments, by their indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct OpenSegments {
    first: usize,
    step: usize,
    count: usize,
}

impl OpenSegments {
    /// The segments with weights other than 0, if the weights are equal and the segments equally spaced.
    fn of(weights: &[f32]) -> Option<Self> {
        let open: Vec<usize> = (0..weights.len()).filter(|&index| weights[index] != 0.0).collect();
        let (&first, count) = (open.first()?, open.len());
        let step = if count > 1 { open[1] - first } else { 1 };
        let mean = (1.0 / count as f64) as f32;
        let is_even = open.iter().enumerate().all(|(at, &index)| index == first + at * step);
        let is_mean = open.iter().all(|&index| weights[index] == mean);
        (is_even && is_mean).then_some(Self { first, step, count })
    }
}

/// Entry of the cache.
struct CachedChoice {
    /// The gain is the last of them where closed blocks are left out.
    parameters: Vec<(Handle, Vec<usize>)>,
    /// The bins that are searched and the number of peaks, where closed blocks are left out.
    search: Option<(Range<usize>, usize)>,
    choice: EstimateChoice,
}

/// What the values of an estimate's parameters decide, from the cache if they are there. `gain` is the contiguous gain.
pub fn estimate_choice(device: &GpuDevice, estimate: &SearchedEstimate<'_>, gain: &Handle) -> EstimateChoice {
    static ENTRIES: Mutex<VecDeque<CachedChoice>> = Mutex::new(VecDeque::new());
    let lock = || ENTRIES.lock().unwrap_or_else(PoisonError::into_inner);
    // `LearnedWelchPeaks` computes its gain anew in every call, so that it is looked at only where it matters.
    let skips = estimate.options.skip_closed_blocks;
    let search = skips.then(|| (estimate.options.searched(), estimate.k));
    let parameters = if skips { &estimate.parameters[..] } else { &estimate.parameters[..3] };
    let is_known = |entry: &&CachedChoice| {
        entry.search == search
            && entry.parameters.len() == parameters.len()
            && entry.parameters.iter().zip(parameters).all(|(a, b)| is_same(a, b))
    };
    if let Some(entry) = lock().iter().find(is_known) {
        let choice = entry.choice.clone();
        return if skips { choice } else { EstimateChoice { gain: gain.clone(), ..choice } };
    }
    let choice = read_choice(device, estimate);
    let mut entries = lock();
    entries.truncate(CACHED_SETS - 1);
    entries.push_front(CachedChoice { parameters: parameters.to_vec(), search, choice: choice.clone() });
    choice
}

/// Whether two tensors are the same part of one allocation.
fn is_same((a, a_strides): &(Handle, Vec<usize>), (b, b_strides): &(Handle, Vec<usize>)) -> bool {
    a.memory.descriptor() == b.memory.descriptor()
        && a.service == b.service
        && (a.offset_start, a.offset_end, a_strides) == (b.offset_start, b.offset_end, b_strides)
}

/// The choice by the values of the parameters; if the device cannot be read, the one that fits any.
fn read_choice(device: &GpuDevice, estimate: &SearchedEstimate<'_>) -> EstimateChoice {
    let handles = (estimate.values)();
    let gain = handles[3].clone();
    let any = EstimateChoice { segments: None, blocks: OpenBlocks::ALL, gain };
    let Ok(read) = device.client.read(handles.into()) else { return any };
    let [twiddles, gates, weights, gain] = read.as_slice() else { return any };
    let &SearchedEstimate { options, k, taps, .. } = estimate;
    let n = options.n_fft;
    let pairs = options.stages() * n / 2;
    let floats = |bytes: &[u8], len: usize| bytemuck::pod_collect_to_vec::<u8, f32>(&bytes[..4 * len]);
    let is_exact = n >= SHORTEST && is_fourier_transform(n, &floats(twiddles, 2 * pairs), &floats(gates, pairs));
    let segments = if is_exact { OpenSegments::of(&floats(weights, options.segments)) } else { None };
    let mut gain = floats(gain, taps * options.bins());
    let searched = options.searched();
    let blocks = OpenBlocks::of_gain(&gain, taps, searched.clone(), k);
    if !options.skip_closed_blocks || blocks.is_all() {
        return EstimateChoice { segments, ..any };
    }
    for closed in blocks.closed(searched.len()) {
        gain[(searched.start + closed.start) * taps..(searched.start + closed.end) * taps].fill(f32::NAN);
    }
    EstimateChoice { segments, blocks, gain: device.client.create_from_slice(bytemuck::cast_slice(&gain)) }
}

/// Whether the butterflies of a transform of length `n` are those of the forward Fourier transform: every gate is 1,
/// and twiddles are exact but for the rounding of f32 at 1.
fn is_fourier_transform(n: usize, twiddles: &[f32], gates: &[f32]) -> bool {
    let near = |(&found, exact): (&f32, &f64)| (found - *exact as f32).abs() <= f32::EPSILON / 2.0;
    gates.iter().all(|&gate| gate == 1.0) && twiddles.iter().zip(&exact_twiddle_values(n, Direction::Forward)).all(near)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn learned_twiddles_closed_gates_and_inverse_transforms_are_not_exact() {
        let n = 64;
        let twiddles =
            |direction| -> Vec<f32> { exact_twiddle_values(n, direction).iter().map(|&value| value as f32).collect() };
        let (exact, open) = (twiddles(Direction::Forward), vec![1.0; 6 * n / 2]);
        assert!(is_fourier_transform(n, &exact, &open));
        assert!(!is_fourier_transform(n, &twiddles(Direction::Inverse), &open));
        for at in [0, n + 2, exact.len() - 1] {
            for other in [exact[at] + 1e-3, f32::NAN] {
                let mut learned = exact.clone();
                learned[at] = other;
                assert!(!is_fourier_transform(n, &learned, &open), "value {at} is {other}");
            }
        }
        let mut gates = open;
        *gates.last_mut().unwrap() = 0.0;
        assert!(!is_fourier_transform(n, &exact, &gates));
    }

    #[test]
    fn open_segments_are_averaged_at_even_distances() {
        let found = |weights: &[f32]| OpenSegments::of(weights).map(|open| (open.first, open.step, open.count));
        assert_eq!(found(&[0.5, 0.5]), Some((0, 1, 2)));
        assert_eq!(found(&[0.0, 0.5, 0.0, 0.0, 0.5, 0.0]), Some((1, 3, 2)));
        assert_eq!(found(&[0.0, 0.0, 1.0]), Some((2, 1, 1)));
        let third = 1.0 / 3.0;
        assert_eq!(found(&[third, 0.0, third, 0.0, third]), Some((0, 2, 3)));
        for other in [&[third, third, 0.0, third][..], &[0.4, 0.6], &[1.0, 1.0], &[0.0, 0.0], &[f32::NAN]] {
            assert_eq!(found(other), None, "{other:?}");
        }
    }
}
