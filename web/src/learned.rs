//! Peaks of learned estimates.

use firefly_models::zoo::WEIGHTS_FORMAT;
use firefly_models::{LearnedWelchPeaks, LearnedWelchPeaksConfig, weights};
use safetensors::SafeTensors;
use serde_json::{Value, json};
use wasm_bindgen::prelude::*;

use crate::results::Results;
use crate::{argument_error, device, rows, run};

/// Name of the family in the zoo.
const FAMILY: &str = "learned_welch_peaks";

/// Learned Welch estimate with its weights.
#[wasm_bindgen]
pub struct Learned {
    model: LearnedWelchPeaks,
}

impl Learned {
    /// A model without autodiff.
    pub fn of(model: LearnedWelchPeaks) -> Self {
        Self { model }
    }
}

#[wasm_bindgen]
impl Learned {
    /// The model of a safetensors file of the zoo.
    #[wasm_bindgen(constructor)]
    pub fn new(bytes: Vec<u8>) -> Result<Learned, JsError> {
        let config = read_config(&bytes).map_err(|reason| refused(&reason))?;
        let mut model = config.try_init(&device()).map_err(argument_error)?;
        weights::apply(&mut model, bytes).map_err(|mismatch| refused(&mismatch.to_string()))?;
        Ok(Self { model })
    }

    /// The bytes of a safetensors file of the zoo.
    pub fn bytes(&self) -> Result<Vec<u8>, JsError> {
        let settings = self.model.config();
        let header = json!({ "format": WEIGHTS_FORMAT, "family": FAMILY, "settings": settings }).to_string();
        Ok(weights::serialize(&self.model, ("firefly", &header))?)
    }

    /// Configuration of the model as JSON.
    pub fn config(&self) -> Result<String, JsError> {
        serde_json::to_string(self.model.config()).map_err(|error| refused(&error.to_string()))
    }

    /// Samples of a frame.
    pub fn frame(&self) -> usize {
        self.model.options().frame()
    }

    /// Peaks of each row of `frame` samples.
    pub fn peaks(&self, signal: Vec<f32>, frame: usize, k: usize) -> Result<Results, JsError> {
        run(|| {
            let model = self.model.clone().try_with_k(k)?;
            let signal = rows("learned_welch_peaks", "signal", signal, frame)?;
            Ok(model.try_forward(signal, &model.hard_gates())?.into())
        })
    }

    /// Power of each row of `frame` samples, `[rows, bins]`.
    pub fn psd(&self, signal: Vec<f32>, frame: usize) -> Result<Results, JsError> {
        run(|| {
            let signal = rows("learned_welch_peaks", "signal", signal, frame)?;
            Ok(Results::new([self.model.try_psd(signal, &self.model.hard_gates())?]))
        })
    }
}

fn refused(reason: &str) -> JsError {
    JsError::new(&format!("Learned.fromBytes: the file is not a learned estimate of the zoo: {reason}"))
}

/// The configuration in the file's metadata, of which every key is one of the configuration's.
fn read_config(bytes: &[u8]) -> Result<LearnedWelchPeaksConfig, String> {
    let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(|error| error.to_string())?;
    let header = metadata.metadata().as_ref().and_then(|entries| entries.get("firefly"));
    let header = header.ok_or("its metadata has no entry `firefly`")?;
    let header: Value = serde_json::from_str(header).map_err(|error| error.to_string())?;
    if header["format"] != WEIGHTS_FORMAT {
        return Err(format!("its format is {}, not {WEIGHTS_FORMAT}", header["format"]));
    }
    if header["family"] != FAMILY {
        return Err(format!("it is of the family {}", header["family"]));
    }
    let settings = header["settings"].as_object().ok_or("it has no settings")?;
    // Settings that a file lacks have their defaults.
    let mut all = serde_json::to_value(LearnedWelchPeaksConfig::new()).map_err(|error| error.to_string())?;
    for (key, value) in settings {
        let setting = all.get_mut(key).ok_or_else(|| format!("it has an unknown setting `{key}`"))?;
        *setting = value.clone();
    }
    serde_json::from_value(all).map_err(|error| error.to_string())
}
