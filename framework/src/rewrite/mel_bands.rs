//! Recognition of mel filters in a constant matrix.

use firefly_ops::{MelBands, MelNorm, MelScale, mel_filters};

/// Sample rates that matrices are compared at, in hertz.
const SAMPLE_RATES: [f64; 11] =
    [16_000.0, 22_050.0, 44_100.0, 48_000.0, 8_000.0, 24_000.0, 32_000.0, 11_025.0, 12_000.0, 96_000.0, 192_000.0];

/// Largest difference of a weight, relative to the largest: constants are f32.
const TOLERANCE: f64 = 2e-6;

/// The bands whose filters are the rows of `weights` `[count, n_fft / 2 + 1]`, on one of the usual sample rates.
pub fn bands(weights: &[f64], count: usize, n_fft: usize) -> Option<MelBands> {
    let bins = n_fft / 2 + 1;
    let edges: Vec<(usize, f64)> =
        weights.chunks_exact(bins).enumerate().filter_map(|(m, row)| Some((m + 2, upper_edge(row)?))).collect();
    let (first, last) = (edges.first()?, edges.last()?);
    if first.0 == last.0 {
        return None;
    }
    let norms = [MelNorm::Slaney, MelNorm::None];
    let scales = [MelScale::Slaney, MelScale::Htk];
    let kinds = scales.into_iter().flat_map(|scale| norms.map(|norm| (scale, norm)));
    let mut candidates =
        SAMPLE_RATES.into_iter().flat_map(|rate| kinds.clone().map(move |(scale, norm)| (rate, scale, norm)));
    candidates.find_map(|(rate, scale, norm)| {
        // Edges are equally spaced on the scale: two of them give all others.
        let mel = |edge: &(usize, f64)| scale.mel(edge.1 * rate / n_fft as f64);
        let step = (mel(last) - mel(first)) / (last.0 - first.0) as f64;
        let at = |edge: usize| scale.hertz(mel(last) + (edge as f64 - last.0 as f64) * step);
        let (low, high) = (at(0).round().max(0.0), at(count + 1));
        let high = if (high - rate / 2.0).abs() < 0.5 { rate / 2.0 } else { high.round() };
        let bands = MelBands::new(rate, count).with_f_min(low).with_f_max(high).with_scale(scale).with_norm(norm);
        is_equal(weights, &mel_filters(n_fft, &bands).ok()?).then_some(bands)
    })
}

/// The upper edge of a triangle in bins, from the last two weights beyond its largest one.
fn upper_edge(weights: &[f64]) -> Option<f64> {
    let peak = (0..weights.len()).max_by(|&a, &b| weights[a].total_cmp(&weights[b]))?;
    let end = peak + 1 + weights[peak + 1..].iter().take_while(|weight| **weight > 0.0).count();
    let last = end.checked_sub(1).filter(|last| *last >= peak + 2)?;
    let slope = weights[last] - weights[last - 1];
    Some(last as f64 - weights[last] / slope)
}

fn is_equal(weights: &[f64], filters: &[Vec<f64>]) -> bool {
    let largest = weights.iter().copied().fold(0.0, f64::max);
    let close = |(a, b): (&f64, &f64)| (a - b).abs() <= TOLERANCE * largest;
    weights.iter().zip(filters.iter().flatten()).all(close)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounded(n_fft: usize, bands: &MelBands) -> Vec<f64> {
        mel_filters(n_fft, bands).unwrap().concat().into_iter().map(|weight| f64::from(weight as f32)).collect()
    }

    #[test]
    fn bands_are_found_from_their_filters() {
        for (n_fft, wanted) in [
            (400, MelBands::new(16_000.0, 80).with_f_max(8000.0)),
            (1024, MelBands::new(22_050.0, 80).with_f_max(8000.0)),
            (512, MelBands::new(16_000.0, 64).with_f_min(20.0).with_f_max(7600.0).with_scale(MelScale::Htk)),
            (
                2048,
                MelBands::new(44_100.0, 128).with_f_max(22_050.0).with_scale(MelScale::Htk).with_norm(MelNorm::None),
            ),
            (400, MelBands::new(8000.0, 23).with_f_min(100.0).with_f_max(3800.0).with_norm(MelNorm::None)),
        ] {
            assert_eq!(bands(&rounded(n_fft, &wanted), wanted.count, n_fft), Some(wanted));
        }
    }

    #[test]
    fn other_matrices_are_no_filters() {
        let filters = rounded(400, &MelBands::new(16_000.0, 40));
        let mut other = filters.clone();
        *other.iter_mut().rfind(|weight| **weight > 0.0).unwrap() *= 1.01;
        assert_eq!(bands(&other, 40, 400), None);
        let doubled: Vec<f64> = filters.iter().map(|weight| 2.0 * weight).collect();
        assert_eq!(bands(&doubled, 40, 400), None);
        assert_eq!(bands(&vec![1.0; 40 * 201], 40, 400), None);
        assert_eq!(bands(&vec![0.0; 40 * 201], 40, 400), None);
    }
}
