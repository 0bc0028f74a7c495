//! Launches of the search for local maxima: marks, ranking, separation where maxima may be too close, bases.

use cubecl::server::Handle;

use super::kernel::{self, MaximaShapeLaunch, RankingShapeLaunch};
use crate::gpu::device::{GpuDevice, buffer, chunks, elements, empty, floats, from_row};
use crate::gpu::top_k::{PeakBuffers, SearchedRows, top_k};
use crate::options::LocalMaximaOptions;

/// Bins of the maxima of rows and of their bases, to be written.
#[derive(Debug, Clone)]
pub struct MaximaBuffers {
    /// `[rows, k]`, i32.
    pub maxima: Handle,
    /// `[rows, k]`, i32.
    pub bases: Handle,
    /// Maxima per row.
    pub k: usize,
}

/// The `into.k` strongest local maxima of each row of `length` values that meet the options, strongest first, ties to
/// the lower bin, and their bases: `power` `[rows, length]`. Ranks without a maximum are −1.
pub fn local_maxima(
    device: &GpuDevice,
    power: &Handle,
    options: &LocalMaximaOptions,
    into: &MaximaBuffers,
    rows: usize,
    length: usize,
) {
    // Two maxima are at least two bins apart, and none is at an end.
    let ranked = if options.separates() { (length.saturating_sub(1) / 2).max(1) } else { into.k };
    for chunk in chunks(device, rows, length + 2 * ranked, length) {
        let power = from_row(power, chunk.start, length);
        let [maxima, bases] = [&into.maxima, &into.bases].map(|bins| from_row(bins, chunk.start, into.k));
        let search = MaximaSearch { device, options, power, rows: chunk.len(), length };
        search.rank(&maxima, into.k, ranked);
        search.find_bases(&maxima, &bases, into.k);
    }
}

/// The rows of one chunk.
struct MaximaSearch<'a> {
    device: &'a GpuDevice,
    options: &'a LocalMaximaOptions,
    power: Handle,
    rows: usize,
    length: usize,
}

impl MaximaSearch<'_> {
    /// Writes the bins of the `k` strongest maxima; `ranked` are ranked to find them.
    fn rank(&self, bins: &Handle, k: usize, ranked: usize) {
        let Self { device, options, ref power, rows, length } = *self;
        let (client, values) = (&device.client, rows * length);
        let marked = empty(client, values);
        let (cubes, units) = elements(device, values);
        kernel::clear::launch(client, cubes, units, floats(&marked, values), values as u32, f32::NAN.to_bits());
        // Where maxima may be too close, prominence is checked of those alone that are kept.
        let (separates, prominent) = (options.separates(), options.prominence.is_some());
        let (cubes, units) = elements(device, values);
        kernel::mark_maxima::launch(
            client,
            cubes,
            units,
            floats(power, values),
            floats(&marked, values),
            self.shape(),
            prominent && !separates,
        );
        let marks = SearchedRows::whole(&marked, rows, length);
        let strengths = empty(client, rows * ranked);
        if !separates {
            return top_k(device, &marks, &PeakBuffers { bins: bins.clone(), power: strengths, k });
        }
        let order = client.empty(rows * ranked * size_of::<i32>());
        top_k(device, &marks, &PeakBuffers { bins: order.clone(), power: strengths, k: ranked });
        let reach = (options.distance - 1).min(length);
        let (cubes, units) = elements(device, rows);
        kernel::separate::launch(
            client,
            cubes,
            units,
            floats(power, values),
            floats(&marked, values),
            buffer::<i32>(&order, rows * ranked),
            buffer::<i32>(bins, rows * k),
            self.shape(),
            RankingShapeLaunch::new(ranked as u32, k as u32, reach as u32),
            prominent,
        );
    }

    fn find_bases(&self, maxima: &Handle, bases: &Handle, k: usize) {
        let Self { device, ref power, rows, length, .. } = *self;
        let count = rows * k;
        let (cubes, units) = elements(device, count);
        kernel::find_bases::launch(
            &device.client,
            cubes,
            units,
            floats(power, rows * length),
            buffer::<i32>(maxima, count),
            buffer::<i32>(bases, count),
            rows as u32,
            length as u32,
            k as u32,
        );
    }

    fn shape(&self) -> MaximaShapeLaunch {
        let height = at_least(self.options.height.unwrap_or(f64::NEG_INFINITY));
        let prominence = at_least(self.options.prominence.unwrap_or_default());
        let (rows, length) = (self.rows as u32, self.length as u32);
        MaximaShapeLaunch::new(rows, length, ordered(height), prominence, f32::NAN.to_bits())
    }
}

/// The least f32 that is not below a number. `x >= at_least(number)` holds for the same f32 x as `x >= number`.
fn at_least(number: f64) -> f32 {
    let nearest = number as f32;
    if f64::from(nearest) < number { nearest.next_up() } else { nearest }
}

/// A number's bits in the order of numbers, as the kernels map them.
fn ordered(number: f32) -> u32 {
    // Adding zero turns −0 into 0.
    let bits = (number + 0.0).to_bits();
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_height_that_f32_does_not_have_is_rounded_up() {
        assert_eq!(at_least(0.5), 0.5);
        for number in [0.1, 0.3, 0.7, -0.1, -0.3, -0.7] {
            assert!(f64::from(at_least(number)) >= number && f64::from(at_least(number).next_down()) < number);
        }
        assert_eq!((at_least(1e300), at_least(f64::NEG_INFINITY)), (f32::INFINITY, f32::NEG_INFINITY));
    }

    #[test]
    fn keys_are_in_the_order_of_numbers() {
        let numbers = [f32::NEG_INFINITY, f32::MIN, -1.0, -1e-40, 0.0, 1e-40, 1.0, f32::MAX, f32::INFINITY];
        assert!(numbers.map(ordered).is_sorted());
        assert_eq!(ordered(-0.0), ordered(0.0));
    }
}
