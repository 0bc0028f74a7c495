//! Memory that a run needs, compared with what is there before any of it is allocated.

use super::EstimationConfig;
use super::config::frame;
use crate::config::{ConfigError, Need, ensure_fits};
use crate::tasks::frame_sets::BATCH;

/// Copies of a batch of frames: host and device, windowed, and their transforms.
const PER_SAMPLE: u128 = 8;
/// Values of a training step per sample of a segment and stage of its transform, or round of an adaptive estimate,
/// which the backward pass keeps.
const PER_STAGE: u128 = 8;

/// Checks that batches and generated signals fit into `available` bytes of memory. Recordings come on top.
///
/// # Errors
/// [`ConfigError::Value`] naming the key that needs most of it.
pub(super) fn check(config: &EstimationConfig, available: u64) -> Result<(), ConfigError> {
    // A configuration is checked before its memory.
    let frame = frame(config).unwrap_or(0) as u128;
    let n_fft = config.model.count("n_fft").unwrap_or(1);
    let rounds = config.model.setting("rounds").and_then(|rounds| rounds.as_array().map(Vec::len)).unwrap_or(0);
    let stages = u128::from(n_fft.max(2).ilog2()).max(rounds as u128);
    let (data, batch) = (&config.data, config.training.batch);
    let step = frame * PER_SAMPLE + n_fft * stages * PER_STAGE;
    let mut needs = vec![
        Need::of_values("training.batch", batch, batch as u128 * step),
        Need::of_values("model.settings.n_fft", n_fft, BATCH as u128 * frame * PER_SAMPLE),
    ];
    if data.recordings.is_none() {
        // Validation frames and test frames; those that are validated on are copied.
        let values = 3 * data.synthetic_frames as u128 * frame;
        needs.push(Need::of_values("data.synthetic_frames", data.synthetic_frames, values));
    }
    ensure_fits(&needs, available)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_need_too_much_memory_are_named() {
        let message = |change: fn(&mut EstimationConfig)| {
            let mut config = EstimationConfig::default();
            change(&mut config);
            config.check_memory(Some(1 << 30)).map_err(|error| error.to_string())
        };
        assert_eq!(message(|_| ()), Ok(()));
        let error = message(|config| config.training.batch = 1 << 20).unwrap_err();
        assert!(error.starts_with("training.batch is 1048576, but must be small enough for 1.00 GiB"), "{error}");
        let error = message(|config| config.data.synthetic_frames = 1 << 20).unwrap_err();
        assert!(error.starts_with("data.synthetic_frames is 1048576"), "{error}");
        let error = message(|config| {
            config.training.batch = 1;
            config.model.settings = "n_fft = 65536".parse().unwrap();
        });
        assert!(error.unwrap_err().starts_with("model.settings.n_fft is 65536"));
    }
}
