//! Mel spectra (S. Davis and P. Mermelstein, "Comparison of parametric representations for monosyllabic word
//! recognition in continuously spoken sentences", IEEE Trans. Acoust. Speech Signal Process. 28, 1980), with the
//! filters of librosa and torchaudio.

use super::Complex;
use super::fast_dft::fast_dft;

/// Formula of the mel scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scale {
    /// 2595·log₁₀(1 + f/700).
    Htk,
    /// 3f/200 up to 1,000 Hz, and 15 + 27·ln(f/1000)/ln 6.4 above.
    Slaney,
}

impl Scale {
    fn mel(self, f: f64) -> f64 {
        match self {
            Self::Htk => 2595.0 * (1.0 + f / 700.0).log10(),
            Self::Slaney if f < 1000.0 => 3.0 * f / 200.0,
            Self::Slaney => 15.0 + 27.0 * (f / 1000.0).ln() / 6.4f64.ln(),
        }
    }

    fn hertz(self, mel: f64) -> f64 {
        match self {
            Self::Htk => 700.0 * (10f64.powf(mel / 2595.0) - 1.0),
            Self::Slaney if mel < 15.0 => 200.0 * mel / 3.0,
            Self::Slaney => 1000.0 * 6.4f64.powf((mel - 15.0) / 27.0),
        }
    }
}

/// Samples beyond the ends of a signal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Padding {
    /// A constant.
    Constant(f64),
    /// The mirror image, without the sample at the end.
    Reflect,
    /// The sample at the end.
    Edge,
    /// The signal from its other end.
    Circular,
}

/// The logarithm of a band.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Log {
    /// Factor on the natural logarithm.
    pub factor: f64,
    /// Number that is added to a band.
    pub offset: f64,
    /// Least value that the logarithm is taken of.
    pub floor: f64,
}

/// Parameters of a mel spectrum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MelDefinition {
    /// Samples of a frame.
    pub n_fft: usize,
    /// Samples from the start of one frame to the start of the next.
    pub hop: usize,
    /// Padding of a signal by n_fft/2 samples on both sides; `None` for no padding.
    pub padding: Option<Padding>,
    /// Whether spectra are divided by √n_fft.
    pub normalized: bool,
    /// Whether |X|² is summed, or else |X|.
    pub squared: bool,
    /// Samples per second.
    pub sample_rate: f64,
    /// Number of bands.
    pub bands: usize,
    /// Lower edge of the first band and upper edge of the last, in hertz.
    pub edges: [f64; 2],
    /// The scale.
    pub scale: Scale,
    /// Whether filters are multiplied by 2/(upper − lower edge).
    pub equal_area: bool,
    /// The logarithm, if one is taken.
    pub log: Option<Log>,
}

impl MelDefinition {
    /// Weight of bin k in band m, \[bands\]\[n_fft/2 + 1\]: the triangle over three of bands + 2 edges that are equally
    /// spaced in mel.
    pub fn filters(&self) -> Vec<Vec<f64>> {
        let [low, high] = self.edges.map(|f| self.scale.mel(f));
        let edge = |m: usize| self.scale.hertz(low + (high - low) * m as f64 / (self.bands + 1) as f64);
        let band = |m: usize| {
            let (a, b, c) = (edge(m), edge(m + 1), edge(m + 2));
            let area = if self.equal_area { 2.0 / (c - a) } else { 1.0 };
            let weight = |k: usize| {
                let f = k as f64 * self.sample_rate / self.n_fft as f64;
                area * ((f - a) / (b - a)).min((c - f) / (c - b)).max(0.0)
            };
            (0..=self.n_fft / 2).map(weight).collect()
        };
        (0..self.bands).map(band).collect()
    }

    /// Bands of the frames of one row, \[bands, frames\]. `window` is \[n_fft\].
    ///
    /// # Panics
    /// If the row has no frame, or is too short to be reflected.
    pub fn bands(&self, row: &[f64], window: &[f64]) -> Vec<f64> {
        let padded = self.padded(row);
        let frames = 1 + (padded.len() - self.n_fft) / self.hop;
        let filters = self.filters();
        let mut bands = vec![0.0; self.bands * frames];
        for t in 0..frames {
            let frame = padded[t * self.hop..][..self.n_fft].iter().zip(window).map(|(x, w)| Complex::from(x * w));
            let spectrum = fast_dft(&frame.collect::<Vec<_>>());
            let norm = if self.normalized { 1.0 / self.n_fft as f64 } else { 1.0 };
            let power = spectrum.iter().map(|x| norm * x.norm_sqr());
            let bins: Vec<f64> = power.map(|p| if self.squared { p } else { p.sqrt() }).collect();
            for (m, filter) in filters.iter().enumerate() {
                let sum: f64 = filter.iter().zip(&bins).map(|(weight, bin)| weight * bin).sum();
                bands[m * frames + t] = self.log.map_or(sum, |log| log.factor * (sum + log.offset).max(log.floor).ln());
            }
        }
        bands
    }

    fn padded(&self, row: &[f64]) -> Vec<f64> {
        let Some(padding) = self.padding else { return row.to_vec() };
        let (half, last) = ((self.n_fft / 2) as isize, row.len() as isize - 1);
        let sample = |i: isize| match padding {
            _ if (0..=last).contains(&i) => row[i as usize],
            Padding::Constant(value) => value,
            Padding::Edge => row[i.clamp(0, last) as usize],
            Padding::Reflect => row[if i < 0 { -i } else { 2 * last - i } as usize],
            Padding::Circular => row[i.rem_euclid(last + 1) as usize],
        };
        (-half..=last + half).map(sample).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEFINITION: MelDefinition = MelDefinition {
        n_fft: 8,
        hop: 4,
        padding: None,
        normalized: false,
        squared: true,
        sample_rate: 8000.0,
        bands: 1,
        edges: [0.0, 4000.0],
        scale: Scale::Htk,
        equal_area: false,
        log: None,
    };

    #[test]
    fn one_band_is_a_triangle_over_all_bins() {
        // The middle edge is half of mel(4000): 700·(√(1 + 40/7) − 1) = 1113.8 Hz.
        let middle = 700.0 * ((47.0f64 / 7.0).sqrt() - 1.0);
        let expected = [0.0, 1000.0 / middle, 2000.0 / (4000.0 - middle), 1000.0 / (4000.0 - middle), 0.0];
        for (got, expected) in DEFINITION.filters()[0].iter().zip(expected) {
            assert!((got - expected).abs() < 1e-12, "{got} is not {expected}");
        }
    }

    #[test]
    fn an_impulse_gives_the_sum_of_a_filter() {
        let mut row = [0.0; 12];
        row[5] = 2.0;
        let sum: f64 = DEFINITION.filters()[0].iter().sum();
        let bands = DEFINITION.bands(&row, &[1.0; 8]);
        assert_eq!(bands.len(), 2);
        assert!(bands.iter().all(|band| (band - 4.0 * sum).abs() < 1e-12));
        let amplitude = MelDefinition { squared: false, normalized: true, ..DEFINITION }.bands(&row, &[1.0; 8]);
        assert!(amplitude.iter().all(|band| (band - 2.0 * sum / 8f64.sqrt()).abs() < 1e-12));
    }

    #[test]
    fn ends_are_padded_as_the_mode_says() {
        let padded =
            |padding| MelDefinition { n_fft: 4, padding: Some(padding), ..DEFINITION }.padded(&[1.0, 2.0, 3.0]);
        assert_eq!(padded(Padding::Reflect), [3.0, 2.0, 1.0, 2.0, 3.0, 2.0, 1.0]);
        assert_eq!(padded(Padding::Edge), [1.0, 1.0, 1.0, 2.0, 3.0, 3.0, 3.0]);
        assert_eq!(padded(Padding::Circular), [2.0, 3.0, 1.0, 2.0, 3.0, 1.0, 2.0]);
        assert_eq!(padded(Padding::Constant(5.0)), [5.0, 5.0, 1.0, 2.0, 3.0, 5.0, 5.0]);
    }
}
