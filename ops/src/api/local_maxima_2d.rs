//! Local maxima of maps such as spectrograms, with prominence in two dimensions.

use std::ops::Range;

use burn::tensor::{DType, Int, Tensor, TensorData};
use rayon::prelude::*;

use super::check::{self, InputCheck};
use super::rows::shape_of;
use crate::error::{Result, ensure};
use crate::options::LocalMaximaOptions;

/// Local maxima of maps, the most prominent first, of [`local_maxima_2d`].
#[derive(Debug, Clone)]
pub struct LocalMaxima2d<const E: usize> {
    /// Frames `[.., k]`, of the type of [`Peaks::bins`](crate::Peaks::bins); −1 where a map has fewer maxima.
    pub frames: Tensor<E, Int>,
    /// Bins `[.., k]`; −1 there.
    pub bins: Tensor<E, Int>,
    /// Power `[.., k]`; NaN there.
    pub power: Tensor<E>,
    /// Height above the saddle `[.., k]`, in the unit of the power; NaN there.
    pub prominence: Tensor<E>,
}

/// The `k` most prominent local maxima of maps over frames and bins, with topographic prominence in two dimensions.
///
/// A local maximum is a point above its eight neighbours, or a plateau (neighbours of equal power) above all of its own,
/// which counts as one point: the middle one (rounded down) in the order of frames, then bins. Points at the edges of a
/// map, and plateaus that reach them, are none. Prominence is the height above the saddle, the highest of the lowest
/// points of all ways to higher ground; of the highest maximum, above the lowest point of the map. Unlike that of
/// [`local_maxima`](crate::local_maxima), it takes no edge for higher ground. A value that is not finite is no maximum;
/// NaN is higher ground, as infinity is. The search is on the host, in the time of sorting.
///
/// - `power`: `[.., frames, bins]`, of any sign, each map on its own, of 1 to 2³¹ − 1 points.
/// - `options`: conditions as of `local_maxima`; without effect is the interpolation.
/// - `frames`: least distance in frames, from 1. Of two maxima that are closer in frames and, by the options, in bins the
///   weaker is dropped, of two equal ones the later.
/// - `k`: from 1 to the points of a map.
/// - returns f64 for f64, or f32 for any smaller float; of equal prominence the stronger is first, then the earlier.
///   Power and prominence are differentiable in `power`.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::{LocalMaximaOptions, local_maxima_2d};
///
/// let rows = [[0.0, 1.0, 0.0, 0.0, 0.0], [1.0, 5.0, 2.0, 3.0, 1.0], [0.0, 2.0, 0.0, 1.0, 0.0]];
/// let power = Tensor::<2>::from_floats(rows, &Device::flex());
/// let maxima = local_maxima_2d::<2, 1>(power, &LocalMaximaOptions::new(), 1, 2)?;
/// assert_eq!(maxima.bins.into_data().iter::<i64>().collect::<Vec<_>>(), [1, 3]);
/// // The saddle between them is 2.
/// assert_eq!(maxima.prominence.into_data().iter::<f32>().collect::<Vec<_>>(), [5.0, 1.0]);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// [`ArgumentError`](crate::ArgumentError) for options or sizes out of range, a device without kernels, or power that
/// can't be read, as in a graph that is being captured.
pub fn local_maxima_2d<const D: usize, const E: usize>(
    power: Tensor<D>,
    options: &LocalMaximaOptions,
    frames: usize,
    k: usize,
) -> Result<LocalMaxima2d<E>> {
    const { assert!(D >= 2 && D == E + 1, "frames and bins become maxima") };
    const NAME: &str = "local_maxima_2d";
    options.validate(NAME)?;
    ensure(frames >= 1, NAME, "frames", frames, "at least 1")?;
    let (dims, device) = (power.dims(), power.device());
    let (bins, points) = (dims[D - 1], dims[D - 2].saturating_mul(dims[D - 1]));
    let (is_counted, got) = ((1..=i32::MAX as usize).contains(&points), format_args!("{dims:?}"));
    ensure(is_counted, NAME, "power", got, "maps of 1 to 2147483647 points, which 32 bits can number")?;
    ensure((1..=points).contains(&k), NAME, "k", k, format_args!("from 1 to the points of a map, {points}"))?;
    let maps: usize = dims[..D - 2].iter().product();
    let power = InputCheck::of(NAME, "power", &power)?.first(power).reshape([maps, points]);
    let values = check::read(NAME, "power", power.clone())?;
    let found = values.par_chunks_exact(points).map(|values| {
        let values = values.iter().map(|value| if value.is_nan() { f64::INFINITY } else { value + 0.0 });
        Map { values: values.collect(), bins }.strongest(options, frames)
    });
    let found: Vec<Vec<[usize; 2]>> = found.collect();
    let dtype: DType = check::bin_dtype(&device, points).into();
    let places = |of: fn([usize; 2], usize) -> usize| {
        let place = |map: &Vec<_>, rank| map.get(rank).map_or(-1, |maximum| of(*maximum, bins) as i64);
        let places: Vec<i64> = found.iter().flat_map(|map| (0..k).map(move |rank| place(map, rank))).collect();
        Tensor::<2, Int>::from_data(TensorData::new(places, [maps, k]), (&device, dtype))
    };
    let point = places(|[point, _], _| point);
    let missing = point.clone().lower_elem(0);
    let [height, saddle] =
        [point, places(|[_, saddle], _| saddle)].map(|points| power.clone().gather(1, points.clamp_min(0)));
    let shape: [usize; E] = shape_of(&dims[..D - 2], &[k]);
    let or_nan = |values: Tensor<2>| values.mask_fill(missing.clone(), f32::NAN).reshape(shape);
    Ok(LocalMaxima2d {
        frames: places(|[point, _], bins| point / bins).reshape(shape),
        bins: places(|[point, _], bins| point % bins).reshape(shape),
        prominence: or_nan(height.clone() - saddle),
        power: or_nan(height),
    })
}

/// Heights of points, frame by frame, none of them NaN or −0.
struct Map {
    values: Vec<f64>,
    bins: usize,
}

impl Map {
    /// Maxima that meet the conditions and their saddles, the most prominent first.
    fn strongest(&self, options: &LocalMaximaOptions, frames: usize) -> Vec<[usize; 2]> {
        let (mut maxima, values) = (self.maxima(), &self.values);
        maxima.retain(|&[point, _]| options.height.is_none_or(|least| values[point] >= least));
        maxima.sort_by(|&[a, _], &[b, _]| values[b].total_cmp(&values[a]).then(a.cmp(&b)));
        let mut is_free = vec![true; values.len()];
        maxima.retain(|&[point, _]| {
            let is_kept = is_free[point];
            if is_kept {
                self.near(point, [frames, options.distance]).for_each(|points| is_free[points].fill(false));
            }
            is_kept
        });
        let prominence = |&[point, saddle]: &[usize; 2]| values[point] - values[saddle];
        maxima.retain(|maximum| options.prominence.is_none_or(|least| prominence(maximum) >= least));
        maxima.sort_by(|a, b| prominence(b).total_cmp(&prominence(a)));
        maxima
    }

    /// All maxima with their saddles: points join the regions of their higher neighbours, in falling order. Where two
    /// regions meet is the saddle of the lower one; of two of one height, both have the saddle of the joined region.
    fn maxima(&self) -> Vec<[usize; 2]> {
        let values = &self.values;
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.par_sort_unstable_by(|&a, &b| values[b].total_cmp(&values[a]).then(a.cmp(&b)));
        let lowest = order[values.len() - 1];
        // Of each point one that is nearer to the root of its region, which is its own and none is higher than.
        let mut regions: Vec<usize> = (0..values.len()).collect();
        // Of each root the saddle, and the root of the region that is joined there.
        let mut joined: Vec<[usize; 2]> = regions.iter().map(|&point| [lowest, point]).collect();
        let (mut maxima, mut level): (Vec<[usize; 2]>, Vec<[usize; 2]>) = (Vec::new(), Vec::new());
        for equal in order.chunk_by(|&a, &b| values[a] == values[b]) {
            let value = values[equal[0]];
            for &point in equal {
                let is_before = |&other: &usize| values[other] > value || values[other] == value && other < point;
                for other in self.neighbours(point).filter(is_before) {
                    let [a, b] = [point, other].map(|point| root(&mut regions, point));
                    let (from, to) = if values[a] < values[b] { (a, b) } else { (b, a) };
                    if from != to {
                        (regions[from], joined[from]) = (to, [point, to]);
                    }
                }
            }
            // Plateaus are the regions without a higher point.
            let with_root = equal.iter().map(|&point| [root(&mut regions, point), point]);
            level.clear();
            level.extend(with_root.filter(|&[top, _]| values[top] == value && value.is_finite()));
            level.sort_unstable();
            for plateau in level.chunk_by(|a, b| a[0] == b[0]) {
                if plateau.iter().all(|&[_, point]| self.neighbours(point).count() == 9) {
                    maxima.push(plateau[(plateau.len() - 1) / 2]);
                }
            }
        }
        // Of a maximum by its root, kept with each root on the way.
        let mut saddle = |top: usize| {
            let (mut end, mut at) = (top, top);
            while joined[end][1] != end && values[joined[end][1]] == values[end] {
                end = joined[end][1];
            }
            while at != end {
                let next = joined[at][1];
                joined[at] = [joined[end][0], at];
                at = next;
            }
            joined[end][0]
        };
        maxima.into_iter().map(|[top, point]| [point, saddle(top)]).collect()
    }

    /// Points less than `distances` in frames and bins from a point, which is among them, frame by frame.
    fn near(&self, point: usize, distances: [usize; 2]) -> impl Iterator<Item = Range<usize>> {
        let (bins, frames) = (self.bins, self.values.len() / self.bins);
        let near = |at: usize, distance: usize, count: usize| {
            (at + 1).saturating_sub(distance)..at.saturating_add(distance).min(count)
        };
        let columns = near(point % bins, distances[1], bins);
        near(point / bins, distances[0], frames).map(move |row| row * bins + columns.start..row * bins + columns.end)
    }

    /// A point and its neighbours: nine, but at an edge.
    fn neighbours(&self, point: usize) -> impl Iterator<Item = usize> {
        self.near(point, [2, 2]).flatten()
    }
}

/// The root of the region of a point, with half of the way shortened.
fn root(regions: &mut [usize], mut point: usize) -> usize {
    while regions[point] != point {
        regions[point] = regions[regions[point]];
        point = regions[point];
    }
    point
}
