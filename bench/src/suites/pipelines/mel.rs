//! Mel filterbank.

use firefly_ops::{ArgumentError, MelBands, MelNorm, MelScale, mel_filters};

/// Triangular filters `[bins, filters]`, row-major, on a one-sided spectrum of `bins` bins from 0 to half of
/// `sample_rate`, with the HTK scale and without normalisation.
///
/// # Errors
/// [`ArgumentError`] without filters or bins, or for a rate that is not positive.
pub fn filterbank(bins: usize, filters: usize, sample_rate: f64) -> Result<Vec<f64>, ArgumentError> {
    let bands = MelBands::new(sample_rate, filters).with_scale(MelScale::Htk).with_norm(MelNorm::None);
    let rows = mel_filters(2 * bins.saturating_sub(1), &bands)?;
    Ok((0..bins).flat_map(|bin| rows.iter().map(move |row| row[bin])).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mel(hertz: f64) -> f64 {
        2595.0 * (1.0 + hertz / 700.0).log10()
    }

    fn hertz(mel: f64) -> f64 {
        700.0 * (10f64.powf(mel / 2595.0) - 1.0)
    }

    #[test]
    fn the_scale_is_the_published_one() {
        assert!((mel(1000.0) - 999.99).abs() < 0.01);
        assert!((hertz(mel(440.0)) - 440.0).abs() < 1e-9);
    }

    #[test]
    fn between_the_outer_centres_neighbours_add_up_to_one() {
        let (bins, filters) = (129, 8);
        let bank = filterbank(bins, filters, 16_000.0).unwrap();
        let row = |bin: usize| &bank[bin * filters..(bin + 1) * filters];
        let sums: Vec<f64> = (0..bins).map(|bin| row(bin).iter().sum()).collect();
        let first = hertz(mel(8_000.0) / 9.0);
        let last = hertz(mel(8_000.0) * 8.0 / 9.0);
        for (bin, sum) in sums.iter().enumerate() {
            let frequency = 8_000.0 * bin as f64 / 128.0;
            if (first..=last).contains(&frequency) {
                assert!((sum - 1.0).abs() < 1e-12, "bin {bin}: {sum}");
            }
        }
        assert!(sums[0] == 0.0 && sums[128] < 1e-12);
        assert!(bank.iter().all(|weight| (0.0..=1.0).contains(weight)));
    }

    #[test]
    fn one_filter_by_hand() {
        // Edges at 0, 1,000 mel-halves: with one filter, the centre is where half of the mels of Nyquist are.
        let bank = filterbank(3, 1, 2_000.0).unwrap();
        let centre = hertz(mel(1_000.0) / 2.0);
        assert_eq!(bank[0], 0.0);
        assert!((bank[1] - (1_000.0 - 500.0) / (1_000.0 - centre)).abs() < 1e-12);
        assert!(bank[2].abs() < 1e-12);
    }
}
