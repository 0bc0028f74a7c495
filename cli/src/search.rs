//! Options of the search for peaks in the power of frames.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use anyhow::{Result, bail, ensure};
use firefly_ops::Band;

use crate::local_maxima::LocalMaximaArgs;
use crate::pipeline::OpenRecording;

/// Part of a bin that a frequency at an edge of a band may differ by from the bin's.
const EDGE_TOLERANCE: f64 = 1e-6;

#[derive(Debug, Clone, Default, clap::Args)]
pub struct SearchOptions {
    /// Peaks per frame, 1 to n_fft / 2 + 1, or to the number of bins of --band [default: 16, or all if there are fewer]
    #[arg(short, long, value_name = "N")]
    pub k: Option<usize>,
    /// Search peaks between two frequencies, in hertz, both included: 500..5000, 50.. or ..5000 [default: all, or the
    /// band of the model of a run]
    #[arg(long, value_name = "LOW..HIGH", allow_hyphen_values = true)]
    pub band: Option<FrequencyBand>,
    /// Local maxima instead of the strongest bins.
    #[command(flatten)]
    pub maxima: LocalMaximaArgs,
}

/// Frequencies from `low` to `high`, in hertz, both included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FrequencyBand {
    /// Infinite where the band is open, as is `high`.
    low: f64,
    high: f64,
}

impl FrequencyBand {
    /// The bins whose frequencies are in the band, by rising frequency, of segments of `n_fft` samples of a recording.
    pub fn bins(&self, recording: OpenRecording, n_fft: usize) -> Result<Band> {
        let (first_hertz, bins, rate) = (recording.first_hertz(n_fft), recording.bins(n_fft), recording.rate);
        let hertz_per_bin = rate / n_fft as f64;
        let hertz = |bin: usize| first_hertz + bin as f64 * rate / n_fft as f64;
        // Half a bin's rounding: a frequency that is written in decimals is that of its bin.
        let tolerance = EDGE_TOLERANCE * hertz_per_bin;
        let band = self.low - tolerance..=self.high + tolerance;
        let is_inside = |bin: &usize| band.contains(&hertz(*bin));
        let Some(first) = (0..bins).find(is_inside) else {
            let (least, most) = (first_hertz, hertz(bins - 1));
            bail!(
                "--band is {self}, but must be a band with bins: at {rate} Hz they are every {hertz_per_bin} Hz from \
                 {least} to {most}"
            );
        };
        Ok(Band::new(first..first + (first..bins).take_while(is_inside).count()))
    }

    /// The bins of the band between 0 and half the sample rate, of segments of `n_fft` real samples.
    pub fn interior_bins(&self, recording: OpenRecording, n_fft: usize) -> Result<Range<usize>> {
        let band = self.bins(recording, n_fft)?;
        let bins = band.first.max(1)..band.end.min(n_fft.div_ceil(2));
        ensure!(!bins.is_empty(), "--band {self} has no frequency between 0 and half the sample rate");
        Ok(bins)
    }
}

impl FromStr for FrequencyBand {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || format!("`{text}` is not a band: hertz as in 500..5000, 50.. or ..5000, both ends included");
        let (low, high) = text.split_once("..").ok_or_else(expected)?;
        let end = |text: &str, open: f64| match text.trim() {
            "" => Ok(open),
            text => text.parse::<f64>().ok().filter(|hertz| hertz.is_finite()).ok_or_else(expected),
        };
        let band = Self { low: end(low, f64::NEG_INFINITY)?, high: end(high, f64::INFINITY)? };
        if band.low <= band.high { Ok(band) } else { Err(expected()) }
    }
}

impl fmt::Display for FrequencyBand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.low.is_finite() {
            write!(f, "{}", self.low)?;
        }
        f.write_str("..")?;
        if self.high.is_finite() { write!(f, "{}", self.high) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_of_a_band_include_both_ends() {
        // 16 samples at 1600 Hz: a bin every 100 Hz up to 800.
        let real = OpenRecording { source: 0, channels: 1, rate: 1600.0, centre: None };
        let bins_of = |text: &str, recording, n_fft| text.parse::<FrequencyBand>().unwrap().bins(recording, n_fft);
        let bins = |text: &str| bins_of(text, real, 16).map(|band| band.to_string());
        for (text, expected) in
            [("100..300", "1..4"), ("101..299.5", "2..3"), ("50..", "1..9"), ("..0", "0..1"), ("..", "0..9")]
        {
            assert_eq!(bins(text).unwrap(), expected, "{text}");
        }
        for tenth in 1..128 {
            let hertz = f64::from(tenth) / 10.0;
            let band = bins_of(&format!("{hertz}..{hertz}"), OpenRecording { rate: 25.6, ..real }, 256).unwrap();
            assert_eq!((band.first, band.end), (tenth as usize, tenth as usize + 1), "{hertz}");
        }
        let complex = OpenRecording { centre: Some(0.0), ..real };
        assert_eq!(bins_of("-300..200", complex, 16).unwrap().to_string(), "5..11");
        for text in ["110..190", "801..", "-50..-1"] {
            let error = bins(text).unwrap_err().to_string();
            assert!(error.contains("they are every 100 Hz from 0 to 800"), "{error}");
        }
    }

    #[test]
    fn what_is_no_band_is_refused() {
        for text in ["", "5", "a..b", "5..4", "nan..", "..inf", "1..2..3"] {
            let error = text.parse::<FrequencyBand>().unwrap_err();
            assert!(error.contains("as in 500..5000"), "{text}: {error}");
        }
        let shown = |text: &str| text.parse::<FrequencyBand>().unwrap().to_string();
        assert_eq!((shown("0.5 .. 7e3"), shown("..")), ("0.5..7000".to_string(), "..".to_string()));
    }
}
