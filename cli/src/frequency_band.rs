//! A band of frequencies, and its bins at a sample rate.

use std::fmt;
use std::str::FromStr;

use firefly_ops::{ArgumentError, Band};

/// Frequencies from `low` to `high`, in hertz, both included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FrequencyBand {
    low: f64,
    /// Infinite where the band is open.
    high: f64,
}

impl FrequencyBand {
    /// The bins whose frequencies are in the band, of segments of `n_fft` samples at `rate` hertz.
    ///
    /// # Errors
    /// If there are none.
    pub fn bins(&self, n_fft: usize, rate: f64) -> Result<Band, ArgumentError> {
        let (bins, hertz_per_bin) = (n_fft / 2 + 1, rate / n_fft as f64);
        let is_inside = |bin: &usize| (self.low..=self.high).contains(&(*bin as f64 * hertz_per_bin));
        let Some(first) = (0..bins).find(is_inside) else {
            let most = rate / 2.0;
            let expected = format!("a band with bins: at {rate} Hz they are every {hertz_per_bin} Hz from 0 to {most}");
            return Err(ArgumentError::new("peaks", "--band", self, expected));
        };
        Ok(Band::new(first..first + (first..bins).take_while(is_inside).count()))
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
        let band = Self { low: end(low, 0.0)?, high: end(high, f64::INFINITY)? };
        if (0.0..=band.high).contains(&band.low) { Ok(band) } else { Err(expected()) }
    }
}

impl fmt::Display for FrequencyBand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..", self.low)?;
        if self.high.is_finite() { write!(f, "{}", self.high) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_of_a_band_include_both_ends() {
        // 16 samples at 1600 Hz: a bin every 100 Hz up to 800.
        let bins = |text: &str| text.parse::<FrequencyBand>().unwrap().bins(16, 1600.0).map(|band| band.to_string());
        for (text, expected) in
            [("100..300", "1..4"), ("101..299.5", "2..3"), ("50..", "1..9"), ("..0", "0..1"), ("..", "0..9")]
        {
            assert_eq!(bins(text).unwrap(), expected, "{text}");
        }
        for text in ["110..190", "801.."] {
            let error = bins(text).unwrap_err().to_string();
            assert!(error.contains("they are every 100 Hz from 0 to 800"), "{error}");
        }
    }

    #[test]
    fn what_is_no_band_is_refused() {
        for text in ["", "5", "a..b", "-1..5", "5..4", "nan..", "..inf", "1..2..3"] {
            let error = text.parse::<FrequencyBand>().unwrap_err();
            assert!(error.contains("as in 500..5000"), "{text}: {error}");
        }
        let shown = |text: &str| text.parse::<FrequencyBand>().unwrap().to_string();
        assert_eq!((shown("0.5 .. 7e3"), shown("..")), ("0.5..7000".to_string(), "0..".to_string()));
    }
}
