//! Local maxima of the power of frames: options, and the search.

use std::fmt;
use std::str::FromStr;

use anyhow::{Result, bail, ensure};
use burn::tensor::Tensor;
use firefly_ops::options::Interpolation;
use firefly_ops::{Band, LocalMaximaOptions, local_maxima};
use serde::Serialize;

use crate::peak_values::{LeastPower, PeakValues, read, read_power};
use crate::row_scales::RowScales;

/// Greatest prominence in decibels that a difference of two powers in single precision shows to a quarter of a decibel.
const MOST_DECIBELS: f64 = 60.0;

#[derive(Debug, Clone, Copy, PartialEq, Default, clap::Args, Serialize)]
pub struct LocalMaximaArgs {
    /// Peaks are local maxima of a frame's power, at most -k of them, with frequencies between bins; conditions as in
    /// scipy.signal.find_peaks
    #[arg(long)]
    local_maxima: bool,
    /// Least power of a local maximum: in the unit of --scaling, or in decibels as in -40dB [default: any]
    #[arg(long, value_name = "POWER", allow_hyphen_values = true)]
    height: Option<Level>,
    /// Least prominence of a local maximum: its power above its base in the unit of --scaling, as in 0.001, or relative
    /// to it in decibels, as in 10dB (0dB to 60dB) [default: any]
    #[arg(long, value_name = "POWER", allow_hyphen_values = true)]
    prominence: Option<Level>,
    /// Least distance of local maxima, in bins, as in 4, or in hertz, as in 120Hz: of two that are closer the weaker is
    /// left out [default: 1]
    #[arg(long, value_name = "DISTANCE", allow_hyphen_values = true)]
    distance: Option<Distance>,
}

impl LocalMaximaArgs {
    /// The search that the options ask for, if any; `exact_for_hann`: whether a tone's bins have the shape of the
    /// transform of a Hann window. An error if a level is out of range, and for conditions of local maxima that are not
    /// searched.
    pub fn search(&self, exact_for_hann: bool) -> Result<Option<LocalMaximaSearch>> {
        if !self.local_maxima {
            let height = self.height.map(|_| "--height");
            let given = height.or(self.prominence.map(|_| "--prominence")).or(self.distance.map(|_| "--distance"));
            return given.map_or(Ok(None), |option| bail!("{option} is for --local-maxima, which is not given"));
        }
        if let Some(given @ Level::Decibels(prominence)) = self.prominence {
            ensure!(
                (0.0..=MOST_DECIBELS).contains(&prominence),
                "--prominence {given}: accepted are 0dB to {MOST_DECIBELS}dB, which single precision resolves"
            );
        }
        for (option, level) in [("--height", self.height), ("--prominence", self.prominence)] {
            let is_negative = matches!(level, Some(Level::Power(power)) if power < 0.0);
            ensure!(!is_negative, "{option}: power is 0 or greater; decibels need their unit, as in {option} -40dB");
        }
        let interpolation = if exact_for_hann { Interpolation::Hann } else { Interpolation::LogParabola };
        Ok(Some(LocalMaximaSearch { conditions: *self, interpolation }))
    }

    fn distance(&self) -> Distance {
        self.distance.unwrap_or(Distance::Bins(1.0))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LocalMaximaSearch {
    conditions: LocalMaximaArgs,
    interpolation: Interpolation,
}

impl LocalMaximaSearch {
    /// The `k` strongest local maxima of each row of power `[rows, bins]` with its scale, of all bins or of a band.
    pub fn find(
        &self,
        power: Tensor<2>,
        scales: &RowScales,
        band: Option<Band>,
        k: usize,
        hertz_per_bin: f64,
    ) -> Result<PeakValues> {
        let bins = power.dims()[1];
        let mut options = LocalMaximaOptions::new()
            .with_distance(self.conditions.distance().in_bins(hertz_per_bin))
            .with_interpolation(self.interpolation);
        let height = self.conditions.height.map(Level::power);
        let (mut least, mut prominence) = (LeastPower::default(), None);
        match self.conditions.prominence {
            Some(Level::Decibels(decibels)) => least.ratio = 10f64.powf(decibels / 10.0),
            Some(Level::Power(power)) => prominence = Some(power),
            None => {}
        }
        if scales.is_empty() {
            (options.height, options.prominence) = (height, prominence);
        } else {
            (least.height, least.prominence) = (height.unwrap_or(0.0), prominence.unwrap_or(0.0));
        }
        // A band, a prominence relative to the base and levels of scaled rows are no conditions of the operation: with
        // them every maximum is read, which are at most every second bin between the ends.
        let reads_all = band.is_some() || least != LeastPower::default();
        let searched = if reads_all { (bins.saturating_sub(1) / 2).max(1) } else { k };
        let found = local_maxima(power, &options, searched)?;
        let columns =
            vec![read_power(found.power, scales)?, read_power(found.prominence, scales)?, read(found.offset)?];
        let values = PeakValues { bins: read(found.bins)?, columns };
        Ok(if reads_all { values.strongest_of(searched, band, least, k) } else { values })
    }
}

impl fmt::Display for LocalMaximaSearch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, level) in [("height", self.conditions.height), ("prominence", self.conditions.prominence)] {
            if let Some(level) = level {
                write!(f, "{name} {level}, ")?;
            }
        }
        write!(f, "distance {}, between bins by {}", self.conditions.distance(), self.interpolation)
    }
}

/// Power, in the unit of the scaling or in decibels.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub enum Level {
    Power(f64),
    /// Decibels relative to 1, or to another power.
    Decibels(f64),
}

impl Level {
    fn power(self) -> f64 {
        match self {
            Self::Power(power) => power,
            Self::Decibels(decibels) => 10f64.powf(decibels / 10.0),
        }
    }
}

impl FromStr for Level {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, is_decibels) = without_unit(text, "db");
        match number.parse::<f64>() {
            Ok(value) if value.is_finite() && is_decibels => Ok(Self::Decibels(value)),
            Ok(value) if value.is_finite() => Ok(Self::Power(value)),
            _ => {
                Err(format!("`{text}` is not a power: a number in the unit of the scaling, or of decibels as in -40dB"))
            }
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Power(power) => write!(f, "{power}"),
            Self::Decibels(decibels) => write!(f, "{decibels}dB"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub enum Distance {
    Bins(f64),
    Hertz(f64),
}

impl Distance {
    /// The distance in whole bins, rounded up as in SciPy.
    fn in_bins(self, hertz_per_bin: f64) -> usize {
        let bins = match self {
            Self::Bins(bins) => bins,
            Self::Hertz(hertz) => hertz / hertz_per_bin,
        };
        (bins.ceil() as usize).max(1)
    }
}

impl FromStr for Distance {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, is_hertz) = without_unit(text, "hz");
        match number.parse::<f64>() {
            Ok(hertz) if is_hertz && hertz.is_finite() && hertz >= 0.0 => Ok(Self::Hertz(hertz)),
            Ok(bins) if !is_hertz && bins.is_finite() && bins >= 1.0 => Ok(Self::Bins(bins)),
            _ => Err(format!("`{text}` is not a distance: bins from 1, as in 4, or hertz from 0, as in 120Hz")),
        }
    }
}

impl fmt::Display for Distance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bins(bins) => write!(f, "{bins} bins"),
            Self::Hertz(hertz) => write!(f, "{hertz}Hz"),
        }
    }
}

/// A text before a unit in letters of either case, and whether the unit is there.
fn without_unit<'a>(text: &'a str, unit: &str) -> (&'a str, bool) {
    match text.len().checked_sub(unit.len()).and_then(|at| text.split_at_checked(at)) {
        Some((number, end)) if end.eq_ignore_ascii_case(unit) => (number.trim_end(), true),
        _ => (text, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_distances_are_read_with_their_unit() {
        assert_eq!("0.5".parse(), Ok(Level::Power(0.5)));
        assert_eq!("-40dB".parse(), Ok(Level::Decibels(-40.0)));
        assert_eq!("3 db".parse(), Ok(Level::Decibels(3.0)));
        assert!((Level::Decibels(-40.0).power() - 1e-4).abs() < 1e-18);
        assert_eq!("4".parse(), Ok(Distance::Bins(4.0)));
        assert_eq!("120Hz".parse::<Distance>().map(|distance| distance.in_bins(50.0)), Ok(3));
        assert_eq!("0Hz".parse::<Distance>().map(|distance| distance.in_bins(50.0)), Ok(1));
        for text in ["", "dB", "x", "nan", "inf", "1e999", "nandB", "5Hz", "ä"] {
            assert!(text.parse::<Level>().is_err(), "{text}");
        }
        for text in ["", "0", "-1", "0.5", "nan", "infHz", "-1Hz", "3dB", "€"] {
            assert!(text.parse::<Distance>().is_err(), "{text}");
        }
    }
}
