//! The cases of `fixtures/make_welch.py`, computed by `scipy.signal.welch`.

use firefly_ops::{Detrend, Scaling, WelchOptions};
use firefly_reference::window::{Symmetry, WindowShape, window};
use serde::Deserialize;

#[derive(Deserialize)]
pub struct Fixtures {
    signals: Vec<Vec<f64>>,
    pub cases: Vec<Case>,
}

#[derive(Deserialize)]
pub struct Case {
    signal: usize,
    pub frame: usize,
    n_fft: usize,
    hop: usize,
    segments: usize,
    window: String,
    symmetric: bool,
    scaling: String,
    sample_rate: f64,
    detrend: String,
    pub power: Vec<f64>,
}

impl Fixtures {
    pub fn load() -> Self {
        let fixtures: Self = serde_json::from_str(include_str!("../fixtures/welch.json")).expect("fixtures parse");
        assert!(fixtures.cases.len() >= 30);
        fixtures
    }

    /// The frame of a case.
    pub fn samples(&self, case: &Case) -> &[f64] {
        &self.signals[case.signal][..case.frame]
    }
}

impl Case {
    pub fn window(&self) -> Vec<f64> {
        let shape = match self.window.as_str() {
            "hann" => WindowShape::Hann,
            "hamming" => WindowShape::Hamming,
            "blackman" => WindowShape::Blackman,
            "boxcar" => WindowShape::Rectangular,
            other => panic!("unknown window {other}"),
        };
        let symmetry = if self.symmetric { Symmetry::Symmetric } else { Symmetry::Periodic };
        window(shape, symmetry, self.n_fft)
    }

    pub fn options(&self) -> WelchOptions {
        let scaling = match self.scaling.as_str() {
            "density" => Scaling::Density { sample_rate: self.sample_rate },
            "spectrum" => Scaling::Spectrum,
            other => panic!("unknown scaling {other}"),
        };
        let detrend = match self.detrend.as_str() {
            "none" => Detrend::None,
            "constant" => Detrend::Constant,
            other => panic!("unknown detrend {other}"),
        };
        WelchOptions::new(self.n_fft, self.segments).with_hop(self.hop).with_scaling(scaling).with_detrend(detrend)
    }

    pub fn describe(&self) -> String {
        format!("signal {}, {} (symmetric: {}), {:?}", self.signal, self.window, self.symmetric, self.options())
    }
}
