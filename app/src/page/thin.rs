//! Fewer points for the same picture.

/// Thins `points` to at most `limit` (at least 8), with the first and last point, the highest and lowest of every bucket, and one gap
/// where a bucket holds a value that is not finite.
pub(super) fn thin(points: &[(f64, f64)], limit: usize) -> Vec<(f64, f64)> {
    let limit = limit.max(8);
    if points.len() <= limit {
        return points.to_vec();
    }
    let last = points.len() - 1;
    let inner = &points[1..last];
    // A bucket gives at most three points: lowest, highest, gap.
    let buckets = (limit - 2) / 3;
    let mut kept = Vec::with_capacity(limit);
    kept.push(points[0]);
    for bucket in 0..buckets {
        let start = bucket * inner.len() / buckets;
        let end = (bucket + 1) * inner.len() / buckets;
        let mut chosen = bucket_points(&inner[start..end]);
        chosen.sort_unstable();
        chosen.dedup();
        kept.extend(chosen.into_iter().map(|index| inner[start + index]));
    }
    kept.push(points[last]);
    kept
}

/// The mean of every one of `limit` runs of neighbouring points, so that a trend shows through noise. A run with a value that is not finite
/// is a gap. Fewer points than twice `limit` give nothing: they show their trend themselves.
pub(super) fn trend(points: &[(f64, f64)], limit: usize) -> Vec<(f64, f64)> {
    if limit == 0 || points.len() < 2 * limit {
        return Vec::new();
    }
    (0..limit)
        .map(|run| {
            let run = &points[run * points.len() / limit..(run + 1) * points.len() / limit];
            let mean = |value: fn(&(f64, f64)) -> f64| run.iter().map(|point| value(point) / run.len() as f64).sum();
            (mean(|point| point.0), mean(|point| point.1))
        })
        .collect()
}

/// Indices of the lowest, the highest and the first not finite point.
fn bucket_points(bucket: &[(f64, f64)]) -> Vec<usize> {
    let finite = || bucket.iter().enumerate().filter(|(_, point)| point.1.is_finite());
    let lowest = finite().min_by(|a, b| a.1.1.total_cmp(&b.1.1));
    let highest = finite().max_by(|a, b| a.1.1.total_cmp(&b.1.1));
    let gap = bucket.iter().enumerate().find(|(_, point)| !point.1.is_finite());
    [lowest, highest, gap].into_iter().flatten().map(|(index, _)| index).collect()
}

#[cfg(test)]
mod tests {
    use super::{thin, trend};

    #[test]
    fn short_series_stay_as_they_are() {
        let points: Vec<_> = (0..600).map(|i| (f64::from(i), 1.0)).collect();
        assert_eq!(thin(&points, 600), points);
    }

    #[test]
    fn extremes_and_ends_are_kept_in_order() {
        let mut points: Vec<_> = (0..100_000).map(|i| (f64::from(i), (f64::from(i) * 0.37).sin())).collect();
        points[0].1 = 0.25;
        points[43_210].1 = 50.0;
        points[43_211].1 = -50.0;
        points[99_999].1 = 0.125;
        let thinned = thin(&points, 600);
        assert!(thinned.len() <= 600 && thinned.len() > 350);
        assert_eq!(thinned[0], points[0]);
        assert_eq!(thinned.last(), points.last());
        assert!(thinned.contains(&points[43_210]));
        assert!(thinned.contains(&points[43_211]));
        assert!(thinned.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }

    #[test]
    fn gaps_are_kept() {
        let points: Vec<_> = (0..10_000).map(|i| (f64::from(i), if i == 5_000 { f64::NAN } else { 1.0 })).collect();
        let thinned = thin(&points, 600);
        assert!(thinned.len() <= 600);
        assert_eq!(thinned.iter().filter(|point| point.1.is_nan()).count(), 1);
    }

    #[test]
    fn series_of_gaps_alone_is_thinned_too() {
        let points = vec![(0.0, f64::NAN); 5_000];
        assert!(thin(&points, 600).len() <= 600);
    }

    #[test]
    fn trend_is_the_mean_of_neighbours() {
        let mut points: Vec<_> = (0..4_000).map(|i| (f64::from(i), f64::from(i % 2))).collect();
        assert!(trend(&points[..300], 200).is_empty());
        assert!(trend(&points, 200).iter().all(|point| (point.1 - 0.5).abs() < 1e-9));
        points[0].1 = f64::NAN;
        let trend = trend(&points, 200);
        assert!(trend[0].1.is_nan() && trend[1].1.is_finite());
        assert!((trend[1].0 - 29.5).abs() < 1e-9);
    }
}
