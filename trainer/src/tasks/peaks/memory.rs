//! Memory that a run needs, compared with what is there before any of it is allocated.

use super::{ModelSection, PeaksConfig};
use crate::config::{ConfigError, Need, Shortage};
use crate::tasks::frame_sets::BATCH;

/// Copies of a batch that a training step holds at once: host, device, and what the backward pass keeps.
const STEP_COPIES: u128 = 4;
/// Copies of a batch of an evaluation: host and device.
const EVALUATION_COPIES: u128 = 2;

/// Checks that the frames of a run fit into `available` bytes of memory. Recordings come on top.
pub(super) fn check(config: &PeaksConfig, available: u64) -> Result<(), ConfigError> {
    let (model, frame) = (&config.model, config.model.frame());
    let needs = needs(config);
    let Some(shortage) = Shortage::of(&needs, available) else { return Ok(()) };
    let expected = format!(
        "{}; a frame has {frame} samples, from model.n_fft {}, model.hop {} and model.segments {}",
        shortage.expected(),
        model.n_fft,
        model.hop,
        model.segments
    );
    // Frames that don't even fit the batches of an evaluation are what is wrong, not their number.
    let evaluation = BATCH as u128 * EVALUATION_COPIES * frame as u128 * size_of::<f32>() as u128;
    let (key, got) = if evaluation > u128::from(available) {
        let (key, value) = longest(model);
        (key, value.to_string())
    } else {
        (shortage.largest.key, shortage.largest.value.clone())
    };
    Err(ConfigError::Value { key: key.into(), got, expected })
}

/// Frames in memory at once, by the key that sets their number.
fn needs(config: &PeaksConfig) -> Vec<Need> {
    let frame = config.model.frame() as u128;
    let frames = |key, value: usize, copies: u128| Need::of_values(key, value, value as u128 * copies * frame);
    let mut needs = vec![
        frames("training.batch", config.training.batch, STEP_COPIES),
        frames("evaluation batch", BATCH, EVALUATION_COPIES),
    ];
    if config.data.recordings.is_none() {
        // Validation frames and test frames; those that are validated on are copied.
        needs.push(frames("data.synthetic_frames", config.data.synthetic_frames, 2));
        let validated = config.schedule.validation_frames.min(config.data.synthetic_frames);
        needs.push(frames("schedule.validation_frames", validated, 2));
    }
    needs
}

/// The key that contributes most to the length of a frame, with its value.
fn longest(model: &ModelSection) -> (&'static str, usize) {
    if model.hop > model.n_fft {
        ("model.hop", model.hop)
    } else if model.segments > model.n_fft / model.hop.max(1) {
        ("model.segments", model.segments)
    } else {
        ("model.n_fft", model.n_fft)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(change: fn(&mut PeaksConfig), available: u64) -> String {
        let mut config = PeaksConfig::default();
        change(&mut config);
        config.check_memory(Some(available)).unwrap_err().to_string()
    }

    #[test]
    fn settings_that_need_too_much_memory_are_named() {
        let config = PeaksConfig::default();
        assert!(config.check_memory(Some(1 << 30)).is_ok());
        assert!(config.check_memory(None).is_ok());
        let text = message(|c| c.data.synthetic_frames = 1 << 20, 1 << 32);
        assert!(text.starts_with("data.synthetic_frames is 1048576, but must be small enough for 4.00 GiB"), "{text}");
        let text = message(|c| c.training.batch = 1 << 20, 1 << 32);
        assert!(text.starts_with("training.batch is 1048576"), "{text}");
        let text = message(|c| c.model.hop = 1 << 24, 1 << 34);
        assert!(text.starts_with("model.hop is 16777216"), "{text}");
        assert!(text.contains("a frame has 117440768 samples"), "{text}");
        assert!(message(|c| c.model.segments = 65_536, 1 << 34).starts_with("model.segments is 65536"));
    }
}
