//! Settings of the synthetic signals.

use std::fmt::{self, Debug, Display};
use std::str::FromStr;

use thiserror::Error;

use crate::config::{choice, section};
use crate::data::DataError;

choice! {
    /// Family of synthetic signals.
    pub enum SignalFamily {
        /// Sinusoids of unrelated frequencies and levels, in white noise.
        Tones = "tones",
        /// A fundamental and its harmonics, with levels that fall per octave, in white noise.
        Harmonics = "harmonics",
        /// A carrier with sinusoidal amplitude modulation, in white noise.
        Am = "am",
        /// A carrier with sinusoidal frequency modulation, in white noise.
        Fm = "fm",
        /// A linear chirp, in white noise.
        Chirps = "chirps",
        /// Gaussian noise with a power density proportional to frequency^-exponent.
        Noise = "noise",
    }
}

impl Display for SignalFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A name that is not a family's.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("no family of signals is called {0:?}; there are tones, harmonics, am, fm, chirps and noise")]
pub struct UnknownSignalFamily(pub String);

impl FromStr for SignalFamily {
    type Err = UnknownSignalFamily;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|family| family.as_str() == name).ok_or_else(|| UnknownSignalFamily(name.to_owned()))
    }
}

section! {
    /// Settings of the synthetic signals. A pair is the least and the greatest value, between which each frame draws
    /// uniformly unless said. Frequencies are fractions of the sample rate: 0.5 is Nyquist.
    pub struct SyntheticConfig {
        pub families: Vec<SignalFamily> = SignalFamily::ALL.to_vec(),
        pub frequency: [f64; 2] = [0.01, 0.45],
        pub tones: [usize; 2] = [1, 8],
        pub tone_level_db: [f64; 2] = [-20.0, 0.0],
        pub harmonics: [usize; 2] = [3, 12],
        pub harmonic_decay_db: [f64; 2] = [3.0, 12.0],
        pub am_depth: [f64; 2] = [0.2, 1.0],
        pub modulation_rate: [f64; 2] = [0.001, 0.02],
        pub fm_deviation: [f64; 2] = [0.002, 0.05],
        pub noise_exponent: [f64; 2] = [0.0, 2.0],
        pub snr_db: [f64; 2] = [0.0, 40.0],
        pub level_db: [f64; 2] = [-20.0, 0.0],
    }
}

impl SyntheticConfig {
    /// Name of the signals: `synthetic`, or the families where not all of them are drawn.
    pub(in crate::data) fn name(&self) -> String {
        if SignalFamily::ALL.iter().all(|family| self.families.contains(family)) {
            return "synthetic".into();
        }
        self.families.iter().map(|family| family.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// Checks every setting by itself, and together those that a listed family uses together. The error has the key,
    /// its value, and the values accepted.
    pub fn validate(&self) -> Result<(), DataError> {
        if self.families.is_empty() {
            let accepted = "at least one of tones, harmonics, am, fm, chirps, noise";
            return Err(DataError::setting("families", "empty", accepted));
        }
        check_range("frequency", self.frequency, 1e-6, 0.4999)?;
        check_range("tones", self.tones, 1, 1000)?;
        check_range("tone_level_db", self.tone_level_db, -120.0, 120.0)?;
        check_range("harmonics", self.harmonics, 1, 1000)?;
        check_range("harmonic_decay_db", self.harmonic_decay_db, 0.0, 60.0)?;
        check_range("am_depth", self.am_depth, 0.0, 1.0)?;
        check_range("modulation_rate", self.modulation_rate, 1e-6, 0.25)?;
        check_range("fm_deviation", self.fm_deviation, 0.0, 0.25)?;
        check_range("noise_exponent", self.noise_exponent, -2.0, 4.0)?;
        check_range("snr_db", self.snr_db, -60.0, 200.0)?;
        check_range("level_db", self.level_db, -200.0, 200.0)?;
        self.validate_together()
    }

    /// Checks settings that depend on each other, for the families that use them.
    fn validate_together(&self) -> Result<(), DataError> {
        let [low, high] = self.frequency;
        let room = high - low;
        let has = |family| self.families.contains(&family);
        if has(SignalFamily::Harmonics) && self.harmonics[1] as f64 * low > high {
            return Err(DataError::setting(
                "harmonics",
                format!("{:?}", self.harmonics),
                format!("at most {}, or `frequency` wider", (high / low).floor()),
            ));
        }
        if has(SignalFamily::Am) && 2.0 * self.modulation_rate[1] > room {
            return Err(DataError::setting(
                "modulation_rate",
                format!("{:?}", self.modulation_rate),
                format!("at most {}, for both sidebands within `frequency`", room / 2.0),
            ));
        }
        if has(SignalFamily::Fm) && 2.0 * (self.modulation_rate[1] + self.fm_deviation[1]) > room {
            return Err(DataError::setting(
                "fm_deviation",
                format!("{:?}", self.fm_deviation),
                format!(
                    "at most {} together with `modulation_rate`, for Carson's bandwidth within `frequency`",
                    room / 2.0
                ),
            ));
        }
        Ok(())
    }
}

fn check_range<T>(key: &'static str, got: [T; 2], least: T, greatest: T) -> Result<(), DataError>
where
    T: PartialOrd + Debug + Display,
{
    let [low, high] = &got;
    // Written so that a NaN fails.
    if *low >= least && low <= high && *high <= greatest {
        return Ok(());
    }
    let accepted = format!("[least, greatest] in ascending order within {least} to {greatest}");
    Err(DataError::setting(key, format!("{got:?}"), accepted))
}
