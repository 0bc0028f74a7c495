//! The cases of `fixtures/make_local_maxima.py`, computed by `scipy.signal.find_peaks`.

use firefly_ops::LocalMaximaOptions;
use serde::Deserialize;

/// Inverse of the step that values and prominences are multiples of.
const UNIT: f64 = 1024.0;

#[derive(Deserialize)]
struct MaximaFile {
    cases: Vec<MaximaCase>,
}

/// A spectrum, conditions, and the peaks that SciPy finds.
#[derive(Debug, Deserialize)]
pub struct MaximaCase {
    kind: String,
    pub length: usize,
    seed: u64,
    height: Option<f64>,
    distance: Option<usize>,
    prominence: Option<f64>,
    bins: Vec<i64>,
    /// In units of 1/1024.
    prominences: Vec<i64>,
}

impl MaximaCase {
    pub fn load() -> Vec<Self> {
        let text = include_str!("../fixtures/local_maxima.json");
        let file: MaximaFile = serde_json::from_str(text).expect("fixtures parse");
        file.cases
    }

    /// Bins, ascending, and prominences.
    pub fn peaks(&self) -> impl Iterator<Item = (i64, f64)> {
        self.bins.iter().zip(&self.prominences).map(|(&bin, &prominence)| (bin, prominence as f64 / UNIT))
    }

    pub fn options(&self) -> LocalMaximaOptions {
        let mut options = LocalMaximaOptions::new().with_distance(self.distance.unwrap_or(1));
        (options.height, options.prominence) = (self.height, self.prominence);
        options
    }

    /// The spectrum, as `make_spectrum` of the script makes it.
    pub fn spectrum(&self) -> Vec<f64> {
        // Knuth's generator modulo 2⁶⁴.
        let next = |state: u64| state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mut state = next(self.seed + 1);
        let mut walk: u64 = 1 << 20;
        let value = |i: usize| {
            state = next(state);
            let noise = state >> 40;
            let value = match self.kind.as_str() {
                "noise" => noise >> 1,
                "lines" => (noise >> 6) + if noise.is_multiple_of(16) { noise >> 1 } else { 0 },
                "levels" => (noise >> 22) * 1024,
                "slope" => (noise >> 8) + 20_000 * i as u64,
                "walk" => {
                    walk = walk + (noise >> 8) - (1 << 15);
                    walk
                }
                other => panic!("unknown kind {other}"),
            };
            value as f64 / UNIT
        };
        (0..self.length).map(value).collect()
    }
}
