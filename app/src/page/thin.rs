//! Reduction of points to as many as a chart can show.

use super::point::{Point, Range};

/// One point per run of neighbours, `runs` of them, at most as many as there are points: the run's mean, with its
/// extremes as the range. A run with a value that is not finite is a gap.
pub(super) fn thin(points: &[Point], runs: usize) -> Vec<Point> {
    let run = |index: usize| mean(&points[index * points.len() / runs..(index + 1) * points.len() / runs]);
    (0..runs).map(run).collect()
}

/// The mean of `points`, at least one, with their extremes as its range.
fn mean(points: &[Point]) -> Point {
    let mean = |value: fn(&Point) -> f64| points.iter().map(|point| value(point) / points.len() as f64).sum();
    let extreme = |pick: fn(f64, f64) -> f64| points.iter().map(|point| point.y).reduce(pick).unwrap_or(f64::NAN);
    let range = Range { low: extreme(f64::min), high: extreme(f64::max) };
    Point { range: Some(range), ..Point::at(mean(|point| point.x), mean(|point| point.y)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extremes_are_kept_in_order() {
        let mut points: Vec<_> = (0..100_000).map(|i| Point::at(f64::from(i), (f64::from(i) * 0.37).sin())).collect();
        points[43_210].y = 50.0;
        points[43_211].y = -50.0;
        let thinned = thin(&points, 512);
        assert_eq!(thinned.len(), 512);
        assert!(thinned.iter().any(|point| point.range.unwrap().high == 50.0));
        assert!(thinned.iter().any(|point| point.range.unwrap().low == -50.0));
        assert!(thinned.windows(2).all(|pair| pair[0].x < pair[1].x));
    }

    #[test]
    fn gaps_are_kept() {
        let gap = |i| if i == 5_000 { f64::NAN } else { 1.0 };
        let points: Vec<_> = (0..10_000).map(|i| Point::at(f64::from(i), gap(i))).collect();
        let thinned = thin(&points, 512);
        assert_eq!(thinned.iter().filter(|point| point.y.is_nan()).count(), 1);
        let thinned = thin(&vec![Point::at(0.0, f64::NAN); 5_000], 512);
        assert!(thinned.len() == 512 && thinned.iter().all(|point| point.y.is_nan()));
    }

    #[test]
    fn means_are_those_of_neighbours() {
        let points: Vec<_> = (0..4_000).map(|i| Point::at(f64::from(i), f64::from(i % 2))).collect();
        let thinned = thin(&points, 200);
        assert!(thinned.iter().all(|point| (point.y - 0.5).abs() < 1e-9));
        assert!((thinned[1].x - 29.5).abs() < 1e-9);
    }
}
