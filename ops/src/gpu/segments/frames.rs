//! Frames that are transformed within a cube: they are loaded where they are in the signal, and the power or amplitude of
//! their bins is left in shared memory.

use cubecl::prelude::*;

use super::{RowPadding, SegmentShape, sample_place};
use crate::gpu::complex::{Complex, ComplexArray, ComplexValues, complex, registers, times};
use crate::gpu::signal::{Signal, sample, sample_pair};
use crate::gpu::transform::TransformLaunchPlan;
use crate::gpu::transform::cube_layout::CubeLayout;
use crate::gpu::transform::kernel::{
    Sequence, mirrored, own_sequence, padded, root, run_passes, short_transform, write_exchange,
};
use crate::sample_type::SampleType;

/// Power or amplitude of frames, as kernels are compiled for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FramePlan {
    /// Samples of a frame.
    pub n: u32,
    /// Samples beyond the ends of a row.
    pub padding: RowPadding,
    /// Whether power is computed, or else amplitude.
    pub is_power: bool,
}

impl FramePlan {
    pub const fn bins(&self) -> u32 {
        self.n / 2 + 1
    }
}

/// Frames in one launch: each is transformed and squared within a cube.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FusedFramePlan {
    pub launch: TransformLaunchPlan,
    pub frame: FramePlan,
    pub samples: SampleType,
}

impl FusedFramePlan {
    /// The plan whose transform is `launches`, if that is one launch without a convolution, of as many frames per cube
    /// as fit `shared` bytes of shared memory.
    pub fn of(launches: &[TransformLaunchPlan], frame: FramePlan, samples: SampleType, shared: usize) -> Option<Self> {
        let &[launch] = launches else { return None };
        let with = |sequences| {
            let layout = CubeLayout { sequences, ..launch.layout };
            Self { launch: TransformLaunchPlan { layout, ..launch }, frame, samples }
        };
        let most = if launch.is_filtered() { 0 } else { launch.layout.sequences };
        (1..=most).rev().map(with).find(|plan| plan.shared_bytes() <= shared)
    }

    /// Whether pairs of samples are transformed as complex values.
    pub const fn is_by_halves(&self) -> bool {
        self.frame.n.is_multiple_of(2)
    }

    /// Complex values of shared memory per cube.
    pub const fn exchange_len(&self) -> u32 {
        self.launch.layout.sequences * self.launch.layout.sequence_stride
    }

    /// Values from the magnitudes of a bin to those of the next: odd, so that they are on different banks.
    pub const fn bin_stride(&self) -> u32 {
        self.launch.layout.sequences | 1
    }

    /// Magnitudes in shared memory per cube.
    pub const fn magnitudes_len(&self) -> u32 {
        self.frame.bins() * self.bin_stride()
    }

    const fn shared_bytes(&self) -> usize {
        4 * (2 * self.exchange_len() + self.magnitudes_len()) as usize
    }
}

/// The buffers of a launch that transforms frames.
#[derive(CubeType, CubeLaunch)]
pub struct FrameInput {
    /// Rows of samples; f32 in pairs where frames start with a pair and are transformed by halves.
    pub signal: Signal,
    /// Factors of the samples of a frame, f32, in pairs where samples are.
    pub window: Signal,
    /// The table of the transform.
    pub table: Box<[Complex]>,
}

/// One-sided power `[rows, bins]` of windowed rows, times `factor` (one f32) where it is scaled: the sequences of the
/// transform are the rows, each of them one frame.
#[cube(launch, launch_unchecked)]
pub fn row_power(
    input: &FrameInput,
    factor: &[f32],
    output: &mut [f32],
    frames: SegmentShape,
    #[comptime] is_scaled: bool,
    #[comptime] plan: FusedFramePlan,
) {
    let mut exchange = Shared::<[Complex]>::new_slice(comptime!(plan.exchange_len() as usize));
    let mut magnitudes = Shared::<[f32]>::new_slice(comptime!(plan.magnitudes_len() as usize));
    // Transform a row per sequence, and leave the power of its bins in shared memory.
    let own = own_sequence(frames.count, plan.launch.input, plan.launch);
    frame_magnitudes(&mut exchange, &mut magnitudes, input, &own, &frames, plan);
    // Scale and store them: adjacent units of a sequence store adjacent bins.
    if own.is_present {
        let bins = comptime!(plan.frame.bins());
        for bin in range_stepped(own.t, bins, comptime!(plan.launch.layout.units)) {
            let mut power = magnitudes[magnitude_at(bin, own_slot(plan), plan)];
            // Interior bins stand for two.
            if bin > 0 && bin < comptime!(plan.frame.n.div_ceil(2)) {
                power *= 2.0f32;
            }
            if comptime!(is_scaled) {
                power *= factor[0];
            }
            output[(own.row * bins + bin) as usize] = power;
        }
    }
}

/// Transforms a frame, and leaves power or amplitude of its bins at [`magnitude_at`].
#[cube]
pub fn frame_magnitudes(
    exchange: &mut Shared<[Complex]>,
    magnitudes: &mut Shared<[f32]>,
    input: &FrameInput,
    own: &Sequence,
    frames: &SegmentShape,
    #[comptime] plan: FusedFramePlan,
) {
    // Variables, since they are loaded in a branch.
    let values = comptime!(plan.launch.layout.values());
    let mut samples = registers(values);
    load_frame(&mut samples, input, own, frames, plan);
    let mut z = ComplexValues::none();
    z.append(&samples, values);
    run_passes(&mut z, exchange, &input.table, own, own, plan.launch);
    // The spectrum goes to shared memory, once all units have read what they need of the last exchange.
    sync_cube();
    write_exchange(&z, exchange, own, comptime!(plan.launch.passes() - 1), plan.launch);
    sync_cube();
    // A bin and its mirror image were computed by different units, and so are the bins of a band: hence both barriers.
    square_spectrum(&*exchange, magnitudes, input, own, plan);
    sync_cube();
}

/// Loads the windowed samples that a unit's first pass takes.
#[cube]
fn load_frame(
    z: &mut ComplexArray,
    input: &FrameInput,
    own: &Sequence,
    frames: &SegmentShape,
    #[comptime] plan: FusedFramePlan,
) {
    // The frames inside their row, which are most, take no part in the arithmetic of padding.
    let frame = frames.first + own.row;
    if is_inner(frame, frames, plan.frame) {
        load_windowed(z, input, own, frames, true, plan);
    } else {
        load_windowed(z, input, own, frames, false, plan);
    }
}

/// The same, where it is known at compile time whether the frame is inside its row.
#[cube]
fn load_windowed(
    z: &mut ComplexArray,
    input: &FrameInput,
    own: &Sequence,
    frames: &SegmentShape,
    #[comptime] is_inner: bool,
    #[comptime] plan: FusedFramePlan,
) {
    let launch = comptime!(plan.launch);
    // The first pass takes values `span` apart: a unit loads those of its short transforms, so that the pass needs no
    // exchange before it. Adjacent units load adjacent values.
    let radix = comptime!(launch.radix(0));
    let span = comptime!(launch.span(0));
    let padding = comptime!(if is_inner { RowPadding::None } else { plan.frame.padding });
    let frame = frames.first + own.row;
    #[unroll]
    for q in 0..comptime!(launch.layout.per_unit(radix)) {
        let j = short_transform(own.t, q, span, launch);
        #[unroll]
        for m in 0..radix {
            let at = j + comptime!(m * span);
            let held = comptime!((q * radix + m) as usize);
            let value = frame_value(input, frame, at, frames, padding, plan);
            z.re[held] = value.extract(0usize);
            z.im[held] = value.extract(1usize);
        }
    }
}

/// Value `at` of the row that is transformed for a frame: a pair of its windowed samples, or one of them.
#[cube]
fn frame_value(
    input: &FrameInput,
    frame: u32,
    at: u32,
    frames: &SegmentShape,
    #[comptime] padding: RowPadding,
    #[comptime] plan: FusedFramePlan,
) -> Complex {
    if comptime!(plan.is_by_halves()) {
        // A frame of even length is transformed as half as many complex values, samples of even number their real parts
        // and those of odd number their imaginary parts. A frame that meets no padding has the pairs of its row; of
        // others each sample is where it is mirrored, held or constant.
        let j = 2u32 * at;
        let pair = if comptime!(padding == RowPadding::None) {
            sample_pair(&input.signal, sample_place(frame, j, frames, padding).at, plan.samples)
        } else {
            complex(
                frame_sample(input, frame, j, frames, padding, plan),
                frame_sample(input, frame, j + 1, frames, padding, plan),
            )
        };
        sample_pair(&input.window, j as usize, SampleType::F32) * pair
    } else {
        let weight = sample(&input.window, at as usize, SampleType::F32);
        complex(weight * frame_sample(input, frame, at, frames, padding, plan), 0.0f32)
    }
}

/// Sample `j` of frame `frame`, which is inner where `padding` is none.
#[cube]
fn frame_sample(
    input: &FrameInput,
    frame: u32,
    j: u32,
    frames: &SegmentShape,
    #[comptime] padding: RowPadding,
    #[comptime] plan: FusedFramePlan,
) -> f32 {
    let place = sample_place(frame, j, frames, padding);
    let mut value = frames.constant;
    if comptime!(padding != RowPadding::Constant) || place.is_inside {
        value = sample(&input.signal, place.at, plan.samples);
    }
    value
}

/// Power or amplitude of the bins of a spectrum that lies in the exchange memory.
#[cube]
fn square_spectrum(
    exchange: &Shared<[Complex]>,
    magnitudes: &mut Shared<[f32]>,
    input: &FrameInput,
    own: &Sequence,
    #[comptime] plan: FusedFramePlan,
) {
    let launch = comptime!(plan.launch);
    let points = comptime!(launch.points);
    let slot = own_slot(plan);
    for k in range_stepped(own.t, comptime!(points / 2 + 1), comptime!(launch.layout.units)) {
        // The units of a sequence share out its bins; positions are padded so that they are on different banks.
        let bin = exchange[(own.base + padded(k, launch)) as usize];
        let (a, b) = (bin.extract(0usize), bin.extract(1usize));
        if comptime!(plan.is_by_halves()) {
            // Bins k and h − k from the spectrum Z of pairs of samples, h of them, as where it is folded:
            // (Z(k) + Z*(h − k))/2 ± w·(Z(k) − Z*(h − k))/2i.
            let image = exchange[(own.base + padded(mirrored(k, points), launch)) as usize];
            let (c, d) = (image.extract(0usize), image.extract(1usize));
            let w = root(&input.table, comptime!(launch.fold_twiddles_at()), k, comptime!(launch.fold_root()));
            let odd = times(complex(b + d, c - a), w);
            let (re, im) = (odd.extract(0usize), odd.extract(1usize));
            let lower = magnitude(0.5f32 * (a + c + re), 0.5f32 * (b - d + im), plan);
            let upper = magnitude(0.5f32 * (a + c - re), 0.5f32 * (b - d - im), plan);
            magnitudes[magnitude_at(k, slot, plan)] = lower;
            magnitudes[magnitude_at(points - k, slot, plan)] = upper;
        } else {
            magnitudes[magnitude_at(k, slot, plan)] = magnitude(a, b, plan);
        }
    }
}

/// Slot of this unit's sequence in its cube.
#[cube]
fn own_slot(#[comptime] plan: FusedFramePlan) -> u32 {
    UNIT_POS / comptime!(plan.launch.layout.units)
}

/// Position of the magnitude of a bin of the sequence in slot `slot`: those of all sequences are side by side, as units
/// that sum bands read them.
#[cube]
pub fn magnitude_at(bin: u32, slot: u32, #[comptime] plan: FusedFramePlan) -> usize {
    (bin * comptime!(plan.bin_stride()) + slot) as usize
}

#[cube]
fn magnitude(re: f32, im: f32, #[comptime] plan: FusedFramePlan) -> f32 {
    let power = fma(re, re, im * im);
    if comptime!(plan.frame.is_power) { power } else { power.sqrt() }
}

/// Whether all samples of a frame are of its row, and none of its padding.
#[cube]
fn is_inner(frame: u32, shape: &SegmentShape, #[comptime] plan: FramePlan) -> bool {
    if comptime!(plan.padding == RowPadding::None) {
        true.runtime()
    } else {
        let position = frame % shape.segments * shape.hop;
        position >= shape.padding && position + comptime!(plan.n) <= shape.padding + shape.samples
    }
}
