//! Memory that a run needs, compared with what is there before any of it is allocated.

use super::{BATCH, ClassificationConfig, InputForm};
use crate::config::{ConfigError, Need, ensure_fits};

/// Values of a step per sample of a batch: signals on host and device.
const PER_SAMPLE: u128 = 4;
/// Values of a step per channel of a convolution over spectra and place in it: what the backward pass keeps, and
/// gradients.
const PER_PLACE: u128 = 4;
/// Values of a step per value of a layer of a model of steps, tokens or patches: the same, with spectra twice as long.
const PER_STATE: u128 = 16;

/// Checks that batches and generated signals fit into `available` bytes of memory. Recordings come on top, and are
/// counted while they are read.
///
/// # Errors
/// [`ConfigError::Value`] naming the key that needs most of it.
pub(super) fn check(config: &ClassificationConfig, available: u64) -> Result<(), ConfigError> {
    let data = &config.data;
    let (samples, batch) = (data.samples as u128, config.training.batch);
    let example = (samples * PER_SAMPLE).saturating_add(layers(config, samples));
    // Training, validation and test examples of each family are there twice while they are generated.
    let generated = match &data.recordings {
        None => 3 * data.synthetic_examples as u128 * data.synthetic.families.len() as u128 * samples,
        Some(_) => 0,
    };
    let needs = [
        Need::of_values("training.batch", batch, (batch as u128).saturating_mul(example)),
        Need::of_values("data.samples", samples, (BATCH as u128).saturating_mul(example)),
        Need::of_values("data.synthetic_examples", data.synthetic_examples, generated),
    ];
    ensure_fits(&needs, available)
}

/// Values of a step in the layers of an example.
fn layers(config: &ClassificationConfig, samples: u128) -> u128 {
    let number = |key: &str| config.model.count(key).unwrap_or(1);
    // Every layer of a model of steps, tokens or patches has all its values at each of them.
    let places = match InputForm::of(config) {
        InputForm::Samples => return mel_layers(config, samples),
        InputForm::Steps { patch } => samples / patch as u128,
        InputForm::Tokens { .. } => samples,
        InputForm::Image { side } => (side as u128 / number("patch").max(1)).pow(2),
    };
    places.saturating_mul(number("width")).saturating_mul(number("layers") * PER_STATE)
}

/// Values of a step in the log-mel spectrum of an example and in convolutions over it.
fn mel_layers(config: &ClassificationConfig, samples: u128) -> u128 {
    let number = |key: &str| config.model.count(key).unwrap_or(1);
    let channels = config.model.setting("channels").unwrap_or_default();
    let channels: Vec<u128> =
        channels.as_array().into_iter().flatten().filter_map(|count| count.as_u64()).map(u128::from).collect();
    let image = (samples / number("hop").max(1) + 1).saturating_mul(number("bands"));
    // Each layer has a quarter of the places of the one before.
    let layers = channels.iter().zip(0..64).map(|(count, layer)| count.saturating_mul((image >> (2 * layer)).max(1)));
    layers.fold(image, u128::saturating_add).saturating_mul(PER_PLACE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_need_too_much_memory_are_named() {
        let message = |change: fn(&mut ClassificationConfig)| {
            let mut config = ClassificationConfig::default();
            change(&mut config);
            config.check_memory(Some(2 << 30)).map_err(|error| error.to_string())
        };
        assert_eq!(message(|_| ()), Ok(()));
        let error = message(|config| config.training.batch = 1 << 20).unwrap_err();
        assert!(error.starts_with("training.batch is 1048576, but must be small enough for 2.00 GiB"), "{error}");
        assert!(message(|config| config.data.samples = 1 << 22).unwrap_err().starts_with("data.samples is 4194304"));
        let error = message(|config| config.data.synthetic_examples = 1 << 20).unwrap_err();
        assert!(error.starts_with("data.synthetic_examples is 1048576"), "{error}");
        let error = message(|config| (config.model.name, config.training.batch) = ("s4d".into(), 1 << 10)).unwrap_err();
        assert!(error.starts_with("training.batch is 1024"), "{error}");
    }
}
