//! Transforms of channels to the kept modes of all dimensions, and back.
//!
//! Forward, the last dimension is transformed first, and every transform leaves fewer values to the next one; the way
//! back is the reverse.

use crate::cpu::real::Real;
use crate::cpu::runtime::take;
use crate::cpu::transform::{columns_to_modes, inverse_real_part, lowest_bins, modes_to_columns};
use crate::options::FftOptions;
use crate::spectral_shape::SpectralShape;

/// Values between the transforms of the channels that are transformed at once, about: they stay in the cache.
const BLOCK_VALUES: usize = 1 << 15;

/// The transforms of some channels of a call.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChannelTransform<'a> {
    pub shape: &'a SpectralShape,
    /// Parameters of the transforms along the last dimension.
    pub options: &'a FftOptions,
    /// Channels of the whole call.
    pub all_channels: usize,
}

/// Values of the memory that a transform of channels needs besides its arguments.
pub(super) fn spare_len(shape: &SpectralShape) -> usize {
    // Real and imaginary parts, before and after a transform of a dimension that is neither the first nor the last.
    let buffers = if shape.last() > 1 { 4 } else { 2 };
    buffers * block(shape).1
}

/// Channels that are transformed at once, and the complex values between their transforms.
fn block(shape: &SpectralShape) -> (usize, usize) {
    let last = shape.last();
    if last == 0 {
        return (usize::MAX, 0);
    }
    let values = shape.values_between(last - 1);
    let channels = (BLOCK_VALUES / values).max(1);
    (channels, channels * values)
}

fn shared<'a, T>(parts: &'a [&mut [T]; 2]) -> [&'a [T]; 2] {
    parts.each_ref().map(|part| &**part)
}

fn exclusive<'a, T>(parts: &'a mut [&mut [T]; 2]) -> [&'a mut [T]; 2] {
    parts.each_mut().map(|part| &mut **part)
}

impl ChannelTransform<'_> {
    /// Rows of the last dimension in the whole call.
    fn all_rows(&self) -> usize {
        self.all_channels * self.shape.points[..self.shape.last()].iter().product::<usize>()
    }

    /// The kept modes of channels: `input` `[channels, points…]` → `output` `[channels, modes…]`.
    pub fn forward<T: Real>(&self, input: &[T], [out_re, out_im]: [&mut [T]; 2], spare: &mut [T]) {
        let Self { shape, options, .. } = *self;
        let (last, modes) = (shape.last(), shape.channel_modes());
        let (points, bins) = (shape.points[last], shape.modes[last]);
        if last == 0 {
            return lowest_bins(input, points, options, bins, self.all_rows(), [out_re, out_im]);
        }
        let (channels, _) = block(shape);
        let outputs = out_re.chunks_mut(channels * modes).zip(out_im.chunks_mut(channels * modes));
        for (input, (out_re, out_im)) in input.chunks(channels * shape.samples()).zip(outputs) {
            let count = out_re.len() / modes;
            let mut rest = &mut *spare;
            let mut parts = [0; 2].map(|_| take(&mut rest, count * shape.values_between(last - 1)));
            lowest_bins(input, points, options, bins, self.all_rows(), exclusive(&mut parts));
            for dim in (1..last).rev() {
                let mut next = [0; 2].map(|_| take(&mut rest, count * shape.values_between(dim - 1)));
                columns_to_modes(&shape.columns(dim), shared(&parts), exclusive(&mut next));
                parts = next;
            }
            columns_to_modes(&shape.columns(0), shared(&parts), [out_re, out_im]);
        }
    }

    /// Channels from their modes, all other bins being 0: `input` `[channels, modes…]` → `output` `[channels,
    /// points…]`.
    pub fn inverse<T: Real>(&self, [re, im]: [&[T]; 2], output: &mut [T], spare: &mut [T]) {
        let Self { shape, options, .. } = *self;
        let (last, modes) = (shape.last(), shape.channel_modes());
        let bins = shape.modes[last];
        if last == 0 {
            return inverse_real_part([re, im], bins, options, self.all_rows(), output);
        }
        let (channels, _) = block(shape);
        let inputs = re.chunks(channels * modes).zip(im.chunks(channels * modes));
        for ((re, im), output) in inputs.zip(output.chunks_mut(channels * shape.samples())) {
            let count = re.len() / modes;
            let mut rest = &mut *spare;
            let mut parts = [0; 2].map(|_| take(&mut rest, count * shape.values_between(0)));
            modes_to_columns(&shape.columns(0), [re, im], exclusive(&mut parts));
            for dim in 1..last {
                let mut next = [0; 2].map(|_| take(&mut rest, count * shape.values_between(dim)));
                modes_to_columns(&shape.columns(dim), shared(&parts), exclusive(&mut next));
                parts = next;
            }
            inverse_real_part(shared(&parts), bins, options, self.all_rows(), output);
        }
    }
}
