//! Local maxima of rows in device memory, strongest first, and the bases of their prominence.
//!
//! Maxima are marked in a copy of the power that is NaN elsewhere, so that the search for the strongest bins ranks
//! them.

use cubecl::prelude::*;
use cubecl::server::Handle;

use crate::gpu::device::{GpuDevice, buffer, chunks, elements, empty, floats, from_row, launch_checked};
use crate::gpu::top_k::{PeakBuffers, SearchedRows, top_k};
use crate::options::LocalMaximaOptions;

/// Bins of the maxima of rows and of their bases, to be written.
#[derive(Debug, Clone)]
pub struct MaximaBuffers {
    /// `[rows, k]`, i32.
    pub maxima: Handle,
    /// `[rows, k]`, i32.
    pub bases: Handle,
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
        launch_checked!(clear(
            device,
            elements(device, values),
            floats(&marked, values),
            values as u32,
            f32::NAN.to_bits(),
        ));
        // Where maxima may be too close, prominence is checked of those alone that are kept.
        let (separates, prominent) = (options.separates(), options.prominence.is_some());
        launch_checked!(mark_maxima(
            device,
            elements(device, values),
            floats(power, values),
            floats(&marked, values),
            self.shape(),
            prominent && !separates,
        ));
        let marks = SearchedRows::whole(&marked, rows, length);
        let strengths = empty(client, rows * ranked);
        if !separates {
            return top_k(device, &marks, &PeakBuffers { bins: bins.clone(), power: strengths, k });
        }
        let order = client.empty(rows * ranked * size_of::<i32>());
        top_k(device, &marks, &PeakBuffers { bins: order.clone(), power: strengths, k: ranked });
        let reach = (options.distance - 1).min(length);
        launch_checked!(separate(
            device,
            elements(device, rows),
            floats(power, values),
            floats(&marked, values),
            buffer::<i32>(&order, rows * ranked),
            buffer::<i32>(bins, rows * k),
            self.shape(),
            RankingShapeLaunch::new(ranked as u32, k as u32, reach as u32),
            prominent,
        ));
    }

    fn find_bases(&self, maxima: &Handle, bases: &Handle, k: usize) {
        let Self { device, ref power, rows, length, .. } = *self;
        let count = rows * k;
        launch_checked!(find_bases(
            device,
            elements(device, count),
            floats(power, rows * length),
            buffer::<i32>(maxima, count),
            buffer::<i32>(bases, count),
            rows as u32,
            length as u32,
            k as u32,
        ));
    }

    fn shape(&self) -> MaximaShapeLaunch {
        let height = at_least(self.options.height.unwrap_or(f64::NEG_INFINITY));
        let prominence = at_least(self.options.prominence.unwrap_or_default());
        let (rows, length) = (self.rows as u32, self.length as u32);
        MaximaShapeLaunch::new(rows, length, ordered_bits(height), prominence, f32::NAN.to_bits())
    }
}

/// The least f32 that is not below a number. `x >= at_least(number)` holds for the same f32 x as `x >= number`.
fn at_least(number: f64) -> f32 {
    let nearest = number as f32;
    if f64::from(nearest) < number { nearest.next_up() } else { nearest }
}

/// A number's bits in the order of numbers, as the kernels map them.
fn ordered_bits(number: f32) -> u32 {
    // Adding zero turns −0 into 0.
    let bits = (number + 0.0).to_bits();
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

/// The shape of rows and the conditions that maxima meet.
#[derive(CubeType, CubeLaunch)]
pub struct MaximaShape {
    pub rows: u32,
    pub length: u32,
    /// The least height, as [`ordered`] maps it.
    pub least: u32,
    pub prominence: f32,
    /// The bits of NaN, which not every compiler takes as a constant.
    pub nan: u32,
}

/// A value's bits in the order of values: 0 and −0 are equal, and NaN is above all others. Made of bits: under
/// fast-math, a comparison of floats may miss NaN.
#[cube]
fn ordered(value: f32) -> u32 {
    let bits = u32::reinterpret(value);
    let size = bits & 0x7fff_ffffu32;
    let negative = (bits >> 31u32) == 1 && size != 0;
    let key = select(negative, !bits, size | 0x8000_0000u32);
    select(size <= 0x7f80_0000u32, key, 0xffff_ffffu32)
}

/// Writes NaN to the first `count` values: a unit per value.
#[cube(launch)]
pub fn clear(values: &mut [f32], count: u32, nan: u32) {
    let at = ABSOLUTE_POS as u32;
    if at >= count {
        terminate!();
    }
    values[at as usize] = f32::reinterpret(nan);
}

/// Copies each finite maximum that is high enough from `power` to `maxima`: a unit per bin.
#[cube(launch)]
pub fn mark_maxima(power: &[f32], maxima: &mut [f32], shape: MaximaShape, #[comptime] checks_prominence: bool) {
    let at = ABSOLUTE_POS as u32;
    if at >= shape.rows * shape.length {
        terminate!();
    }
    // Adjacent units read adjacent bins.
    let bin = at % shape.length;
    let own = ordered(power[at as usize]);
    // Finite power only: its key is between those of the two infinities. Bin 0 has no neighbour below.
    if bin > 0 && own >= shape.least && own > 0x007f_ffffu32 && own < 0xff80_0000u32 {
        // The unit of the first bin of a plateau decides for all of it; most plateaus are one bin long.
        if ordered(power[(at - 1) as usize]) < own {
            let (first, last) = (at - bin, at - bin + shape.length - 1);
            let mut end = at;
            while end < last && ordered(power[min(end + 1, last) as usize]) == own {
                end += 1;
            }
            // A plateau that also falls on its upper side is one maximum, at its middle, rounded down.
            if end < last && ordered(power[min(end + 1, last) as usize]) < own {
                let middle = (at + end) / 2;
                let mut kept = true;
                if comptime!(checks_prominence) {
                    kept = is_prominent(power, middle, first, last, shape.prominence);
                }
                if kept {
                    maxima[middle as usize] = power[middle as usize];
                }
            }
        }
    }
}

/// Keeps the maxima of a row that are far enough from every stronger one that is kept, and prominent enough: a unit per
/// row. `order` has the bins of all `count` marked maxima of a row at most, strongest first, then −1. Marks within
/// `reach` of a maximum that is kept are cleared.
#[cube(launch)]
pub fn separate(
    power: &[f32],
    maxima: &mut [f32],
    order: &[i32],
    bins: &mut [i32],
    shape: MaximaShape,
    ranking: RankingShape,
    #[comptime] checks_prominence: bool,
) {
    let row = ABSOLUTE_POS as u32;
    if row >= shape.rows {
        terminate!();
    }
    let first = row * shape.length;
    let last = first + shape.length - 1;
    // Greedy selection from the strongest maximum on. Each choice depends on those before, so one unit computes a row.
    let mut found = 0u32;
    let mut rank = 0u32;
    let mut open = true;
    while open {
        let bin = order[(row * ranking.count + rank) as usize];
        if bin < 0 {
            open = false;
        } else {
            let bin = u32::cast_from(bin);
            let at = first + bin;
            let size = u32::reinterpret(maxima[at as usize]) & 0x7fff_ffffu32;
            // A maximum that a stronger one has cleared is NaN.
            if size < 0x7f80_0000u32 {
                // It clears itself and all that are too close, whether it is prominent or not.
                for other in at - min(ranking.reach, bin)..min(at + ranking.reach, last) + 1 {
                    maxima[other as usize] = f32::reinterpret(shape.nan);
                }
                let mut kept = true;
                if comptime!(checks_prominence) {
                    kept = is_prominent(power, at, first, last, shape.prominence);
                }
                if kept {
                    bins[(row * ranking.k + found) as usize] = i32::cast_from(bin);
                    found += 1;
                }
            }
            rank += 1;
            open = rank < ranking.count && found < ranking.k;
        }
    }
    // Ranks without a maximum.
    for rank in found..ranking.k {
        bins[(row * ranking.k + rank) as usize] = -1i32;
    }
}

/// Ranking of marked maxima.
#[derive(CubeType, CubeLaunch)]
pub struct RankingShape {
    /// Ranks per row of the order of all maxima.
    pub count: u32,
    /// Maxima per row that are kept.
    pub k: u32,
    /// Bins on either side of a maximum that are too close to it.
    pub reach: u32,
}

/// Finds the base of every maximum: a unit per maximum.
#[cube(launch)]
pub fn find_bases(power: &[f32], maxima: &[i32], bases: &mut [i32], rows: u32, length: u32, k: u32) {
    let place = ABSOLUTE_POS as u32;
    if place >= rows * k {
        terminate!();
    }
    // The units of a row's maxima all read that row, so most reads come from a cache. How far they read depends on the
    // power.
    let bin = maxima[place as usize];
    if bin < 0 {
        bases[place as usize] = -1i32;
    } else {
        let first = place / k * length;
        let base = base(power, first + u32::cast_from(bin), first, first + length - 1);
        bases[place as usize] = i32::cast_from(base - first);
    }
}

/// Whether the maximum at a place of the row from `first` to `last` is prominent enough.
#[cube]
fn is_prominent(power: &[f32], at: u32, first: u32, last: u32, prominence: f32) -> bool {
    let base = base(power, at, first, last);
    power[at as usize] - power[base as usize] >= prominence
}

/// The place of a maximum's base: the higher of the lowest values on both sides, of equal ones the lower place.
#[cube]
fn base(power: &[f32], at: u32, first: u32, last: u32) -> u32 {
    let left = lowest(power, at, first, false);
    let right = lowest(power, at, last, true);
    select(ordered(power[left as usize]) >= ordered(power[right as usize]), left, right)
}

/// The place of the lowest value, the nearest of equal ones, from a maximum to a higher value or the `end` of its row.
#[cube]
fn lowest(power: &[f32], at: u32, end: u32, #[comptime] upwards: bool) -> u32 {
    let own = ordered(power[at as usize]);
    let mut low = own;
    let mut lowest = at;
    let mut place = at;
    // Bin by bin, until one is higher or the row ends.
    let mut open = place != end;
    while open {
        if comptime!(upwards) {
            place += 1;
        } else {
            place -= 1;
        }
        let key = ordered(power[place as usize]);
        if key < low {
            low = key;
            lowest = place;
        }
        open = key <= own && place != end;
    }
    lowest
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
        assert!(numbers.map(ordered_bits).is_sorted());
        assert_eq!(ordered_bits(-0.0), ordered_bits(0.0));
    }
}
