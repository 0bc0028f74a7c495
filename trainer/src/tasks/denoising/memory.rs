//! Memory that a run needs, compared with what is there before any of it is allocated.

use super::{BATCH, DenoisingConfig};
use crate::config::{ConfigError, Need, ensure_fits};

/// Values of a training step per sample of a batch: signals on host and device, and the loss with its spectra.
const PER_SAMPLE: u128 = 60;
/// Values per bin of a frame: spectra, powers, masks, and their gradients.
const PER_BIN: u128 = 40;
/// Values per hidden channel of a frame and layer: what the backward pass keeps, and gradients.
const PER_CHANNEL: u128 = 12;

/// Checks that batches and generated signals fit into `available` bytes of memory. Recordings come on top.
///
/// # Errors
/// [`ConfigError::Value`] naming the key that needs most of it.
pub(super) fn check(config: &DenoisingConfig, available: u64) -> Result<(), ConfigError> {
    let data = &config.data;
    let setting = |key: &str| config.model.count(key).unwrap_or(1);
    let frames = data.samples as u128 / setting("hop").max(1) + 1;
    let network = (setting("n_fft") / 2 + 1) * PER_BIN + (setting("layers") + 2) * setting("hidden") * PER_CHANNEL;
    let example = data.samples as u128 * PER_SAMPLE + frames * network;
    // Training, validation and test examples are there twice while they are generated.
    let generated = match &data.recordings {
        None => 3 * data.synthetic_examples as u128 * data.samples as u128,
        Some(_) => 0,
    };
    let needs = [
        ("training.batch", config.training.batch, config.training.batch as u128 * example),
        ("data.samples", data.samples, BATCH as u128 * example),
        ("data.synthetic_examples", data.synthetic_examples, generated),
    ];
    ensure_fits(&needs.map(|(key, value, values)| Need::of_values(key, value, values)), available)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_need_too_much_memory_are_named() {
        let message = |change: fn(&mut DenoisingConfig)| {
            let mut config = DenoisingConfig::default();
            change(&mut config);
            config.check_memory(Some(2 << 30)).map_err(|error| error.to_string())
        };
        assert_eq!(message(|_| ()), Ok(()));
        assert!(
            message(|config| config.training.batch = 1 << 20).unwrap_err().starts_with("training.batch is 1048576")
        );
        assert!(message(|config| config.data.samples = 1 << 22).unwrap_err().starts_with("data.samples is 4194304"));
        let error = message(|config| config.data.synthetic_examples = 1 << 20).unwrap_err();
        assert!(
            error.starts_with("data.synthetic_examples is 1048576, but must be small enough for 2.00 GiB"),
            "{error}"
        );
    }
}
