//! `local_maxima_2d` against its definition by flooding: points, power, prominence, gradients and errors.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use burn::tensor::{DType, Device, Tensor};
use common::differences::check_gradient;
use common::{integers, noise, tensor, uniform, values};
use firefly_ops::{LocalMaxima2d, LocalMaximaOptions, local_maxima_2d};

/// A map of `bins` per frame.
struct Definition<'a> {
    values: &'a [f64],
    bins: usize,
}

impl Definition<'_> {
    fn height(&self, point: usize) -> f64 {
        if self.values[point].is_nan() { f64::INFINITY } else { self.values[point] }
    }

    /// Neighbours of a point, and whether there are all eight.
    fn neighbours(&self, point: usize) -> (Vec<usize>, bool) {
        let (frames, bins) = ((self.values.len() / self.bins) as i64, self.bins as i64);
        let (frame, bin) = (point as i64 / bins, point as i64 % bins);
        let all = (-1..=1).flat_map(|row| (-1..=1).map(move |column| (row, column))).filter(|step| *step != (0, 0));
        let all = all.map(|(row, column)| (frame + row, bin + column));
        let found = all.filter(|&(row, column)| (0..frames).contains(&row) && (0..bins).contains(&column));
        let found: Vec<usize> = found.map(|(row, column)| (row * bins + column) as usize).collect();
        let are_all = found.len() == 8;
        (found, are_all)
    }

    /// Points that are reached from one through points that pass.
    fn flood(&self, from: usize, passes: impl Fn(f64) -> bool) -> Vec<usize> {
        let (mut reached, mut next) = (vec![from], 0);
        while next < reached.len() {
            for other in self.neighbours(reached[next]).0 {
                if passes(self.height(other)) && !reached.contains(&other) {
                    reached.push(other);
                }
            }
            next += 1;
        }
        reached.sort_unstable();
        reached
    }

    fn is_maximum(&self, point: usize) -> bool {
        let height = self.height(point);
        let plateau = self.flood(point, |other| other == height);
        let is_top = |&point: &usize| {
            let (neighbours, are_all) = self.neighbours(point);
            are_all && neighbours.iter().all(|&other| self.height(other) <= height)
        };
        height.is_finite() && plateau[(plateau.len() - 1) / 2] == point && plateau.iter().all(is_top)
    }

    /// Height above the highest level from which a flood reaches higher ground, or else above the lowest.
    fn prominence(&self, point: usize) -> f64 {
        let height = self.height(point);
        let mut levels: Vec<f64> = (0..self.values.len()).map(|point| self.height(point)).collect();
        levels.sort_by(|a, b| b.total_cmp(a));
        let is_saddle = |&&level: &&f64| {
            level < height && self.flood(point, |other| other >= level).iter().any(|&other| self.height(other) > height)
        };
        height - levels.iter().find(is_saddle).unwrap_or(&levels[levels.len() - 1])
    }

    /// Points that meet the conditions, the most prominent first, and their prominence.
    fn maxima(&self, options: &LocalMaximaOptions, frames: usize) -> Vec<(usize, f64)> {
        let mut maxima: Vec<usize> = (0..self.values.len()).filter(|&point| self.is_maximum(point)).collect();
        maxima.retain(|&point| self.height(point) >= options.height.unwrap_or(f64::NEG_INFINITY));
        maxima.sort_by(|&a, &b| self.height(b).partial_cmp(&self.height(a)).unwrap().then(a.cmp(&b)));
        let mut kept: Vec<usize> = Vec::new();
        for point in maxima {
            let is_far = |&other: &usize| {
                let distance = [other / self.bins, other % self.bins];
                distance[0].abs_diff(point / self.bins) >= frames
                    || distance[1].abs_diff(point % self.bins) >= options.distance
            };
            if kept.iter().all(is_far) {
                kept.push(point);
            }
        }
        let mut kept: Vec<(usize, f64)> = kept.into_iter().map(|point| (point, self.prominence(point))).collect();
        kept.retain(|&(_, prominence)| prominence >= options.prominence.unwrap_or(0.0));
        kept.sort_by(|a, b| b.1.partial_cmp(&a.1).unwrap());
        kept
    }
}

/// Multiples of 1/64 and levels with plateaus, and some values that are not finite: differences are exact in f32.
fn special_values(count: usize, levels: f64, seed: u64) -> Vec<f64> {
    let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0];
    let kinds = uniform(count, 0.0..1.0, seed + 1);
    let value = |(i, value): (usize, f64)| match kinds[i] {
        kind if kind < 0.97 => (levels * value).round() / 64.0,
        _ => special[i % special.len()],
    };
    noise(count, seed).into_iter().enumerate().map(value).collect()
}

#[test]
fn maps_of_any_kind_equal_the_definition_by_flooding() {
    let any = LocalMaximaOptions::new();
    let conditions = [
        (any, 1),
        (any.with_height(0.02), 1),
        (any.with_distance(3), 3),
        (any.with_distance(1), 4),
        (any.with_distance(4).with_prominence(0.02).with_height(-0.25), 2),
        (any.with_distance(usize::MAX), usize::MAX),
    ];
    let mut found_maxima = 0;
    for (frames, bins) in [(1, 1), (1, 9), (3, 3), (4, 9), (9, 12), (13, 7)] {
        for (levels, seed) in [(1.4, 1), (3.0, 2), (64.0, 3), (4096.0, 4)] {
            let points = frames * bins;
            let input = special_values(4 * points, levels, seed + 10 * points as u64);
            for dtype in [DType::F32, DType::F64] {
                let map = tensor(&input, [2, 2, frames, bins], &Device::flex(), dtype);
                for ((options, distance), k) in conditions.iter().zip([points, 1, 4, 9, points, 2]) {
                    let k = k.min(points);
                    let label = format!("{frames} × {bins}, levels {levels}, {dtype:?}, {options:?}, {distance}");
                    let found: LocalMaxima2d<3> = local_maxima_2d(map.clone(), options, *distance, k).unwrap();
                    assert_eq!(found.prominence.dims(), [2, 2, k], "{label}");
                    let (rows, columns) = (integers(found.frames), integers(found.bins));
                    let (power, prominence) = (values(found.power), values(found.prominence));
                    for (number, values) in input.chunks(points).enumerate() {
                        let expected = Definition { values, bins }.maxima(options, *distance);
                        for rank in 0..k {
                            let at = number * k + rank;
                            match expected.get(rank) {
                                Some(&(point, height)) => {
                                    let place = [(point / bins) as i64, (point % bins) as i64];
                                    assert_eq!([rows[at], columns[at]], place, "{label}, map {number}, {rank}");
                                    assert_eq!((power[at], prominence[at]), (values[point], height), "{label}");
                                    found_maxima += 1;
                                }
                                None => {
                                    assert_eq!((rows[at], columns[at]), (-1, -1), "{label}, map {number}, {rank}");
                                    assert!(power[at].is_nan() && prominence[at].is_nan(), "{label}");
                                }
                            }
                        }
                    }
                }
            }
        }
    }
    assert!(found_maxima > 1000, "{found_maxima} maxima are no test");
}

fn found(rows: &[&[f64]], k: usize) -> Vec<([i64; 2], f64)> {
    let map = tensor(&rows.concat(), [rows.len(), rows[0].len()], &Device::flex(), DType::F32);
    let maxima = local_maxima_2d::<2, 1>(map, &LocalMaximaOptions::new(), 1, k).unwrap();
    let points = integers(maxima.frames).into_iter().zip(integers(maxima.bins)).map(|(frame, bin)| [frame, bin]);
    points.zip(values(maxima.prominence)).take_while(|([frame, _], _)| *frame >= 0).collect()
}

#[test]
fn a_plateau_is_its_middle_point_and_none_at_an_edge() {
    let rows: [&[f64]; 5] = [
        &[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 3.0],
        &[0.0, 5.0, 5.0, 0.0, 0.0, 3.0, 0.0],
        &[0.0, 0.0, 0.0, 5.0, 0.0, 0.0, 0.0],
        &[0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0],
        &[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    ];
    assert_eq!(found(&rows, 9), [([1, 2], 5.0), ([3, 5], 2.0)]);
}

#[test]
fn saddles_lie_on_ways_around_and_equal_tops_have_none_between_them() {
    // The way from 4 to 6 within the row leads through 1, that around it through 3.5.
    let rows: [&[f64]; 5] = [
        &[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        &[0.0, 4.0, 1.0, 1.0, 1.0, 6.0, 0.0],
        &[0.0, 3.5, 0.0, 0.0, 0.0, 3.5, 0.0],
        &[0.0, 3.0, 3.5, 3.5, 3.5, 3.0, 0.0],
        &[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    ];
    assert_eq!(found(&rows, 2), [([1, 5], 6.0), ([1, 1], 0.5)]);
    let rows: [&[f64]; 3] = [&[1.0; 7], &[1.0, 4.0, 2.0, 3.0, 2.0, 4.0, 1.0], &[1.0; 7]];
    assert_eq!(found(&rows, 3), [([1, 1], 3.0), ([1, 5], 3.0), ([1, 3], 1.0)]);
}

#[test]
fn gradients_match_finite_differences() {
    let input = noise(12 * 14, 5);
    let run = |map: Tensor<2>| -> Tensor<1> {
        let found = local_maxima_2d::<2, 1>(map, &LocalMaximaOptions::new().with_distance(2), 2, 4).unwrap();
        assert!(integers(found.bins).iter().all(|bin| *bin >= 0));
        Tensor::cat(vec![found.power, found.prominence], 0)
    };
    check_gradient("local_maxima_2d", &input, [12, 14], run);
}

#[test]
fn no_maps_have_no_maxima() {
    let none = local_maxima_2d::<3, 2>(Tensor::zeros([0, 4, 5], &Device::flex()), &LocalMaximaOptions::new(), 1, 3);
    let none = none.unwrap();
    assert_eq!((none.frames.dims(), none.bins.dims(), none.power.dims()), ([0, 3], [0, 3], [0, 3]));
}

#[test]
fn arguments_out_of_range_are_refused() {
    let any = LocalMaximaOptions::new();
    let refused = |options: LocalMaximaOptions, shape: [usize; 2], frames, k| {
        let map = Tensor::<2>::zeros(shape, &Device::flex());
        let error = local_maxima_2d::<2, 1>(map, &options, frames, k).err().unwrap();
        assert_eq!(error.operation, "local_maxima_2d");
        (error.argument, error.got)
    };
    assert_eq!(refused(any, [0, 5], 1, 1), ("power", "[0, 5]".into()));
    assert_eq!(refused(any, [4, 0], 1, 1), ("power", "[4, 0]".into()));
    assert_eq!(refused(any, [4, 5], 0, 1), ("frames", "0".into()));
    assert_eq!(refused(any, [4, 5], 1, 0), ("k", "0".into()));
    assert_eq!(refused(any, [4, 5], 1, 21), ("k", "21".into()));
    assert_eq!(refused(any.with_distance(0), [4, 5], 1, 1), ("distance", "0".into()));
    assert_eq!(refused(any.with_height(f64::NAN), [4, 5], 1, 1), ("height", "NaN".into()));
    assert_eq!(refused(any.with_prominence(f64::NAN), [4, 5], 1, 1), ("prominence", "NaN".into()));
}
