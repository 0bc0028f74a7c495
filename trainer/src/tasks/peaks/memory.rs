//! Memory that a run needs, compared with what is there before any of it is allocated.

use firefly_app::number;

use super::{ModelSection, PeaksConfig, evaluate};
use crate::config::ConfigError;

/// Bytes of a sample.
const SAMPLE: u128 = size_of::<f32>() as u128;
/// Copies of a batch that a training step holds at once: host, device, and what the backward pass keeps.
const STEP_COPIES: u128 = 4;
/// Copies of a batch of an evaluation: host and device.
const EVALUATION_COPIES: u128 = 2;

/// One of the amounts of memory that a run needs.
struct Need {
    key: &'static str,
    value: usize,
    frames: u128,
}

/// Checks that the frames of a run fit into `available` bytes of memory. Recordings come on top.
pub(super) fn check(config: &PeaksConfig, available: u64) -> Result<(), ConfigError> {
    let available = u128::from(available);
    let frame = config.model.frame();
    let frame_bytes = frame as u128 * SAMPLE;
    let needs = needs(config);
    let total = needs.iter().map(|need| need.frames).sum::<u128>() * frame_bytes;
    let Some(largest) = needs.iter().max_by_key(|need| need.frames) else { return Ok(()) };
    if total <= available {
        return Ok(());
    }
    let model = &config.model;
    let why = format!(
        "small enough for {} of memory: the run needs {}, of which this takes {}; a frame has {frame} samples, from \
         model.n_fft {}, model.hop {} and model.segments {}",
        bytes(available),
        bytes(total),
        bytes(largest.frames * frame_bytes),
        model.n_fft,
        model.hop,
        model.segments
    );
    // Frames that don't even fit the batches of an evaluation are what is wrong, not their number.
    let (key, got) = if evaluate::BATCH as u128 * EVALUATION_COPIES * frame_bytes > available {
        longest(model)
    } else {
        (largest.key, largest.value)
    };
    Err(ConfigError::Value { key: key.into(), got: got.to_string(), expected: why })
}

/// Frames in memory at once, by the key that sets their number.
fn needs(config: &PeaksConfig) -> Vec<Need> {
    let frames = |key, value: usize, copies: u128| Need { key, value, frames: value as u128 * copies };
    let mut needs = vec![
        frames("training.batch", config.training.batch, STEP_COPIES),
        frames("evaluation batch", evaluate::BATCH, EVALUATION_COPIES),
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

/// Bytes as text.
fn bytes(count: u128) -> String {
    number::bytes(u64::try_from(count).unwrap_or(u64::MAX))
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
    fn what_does_not_fit_is_named() {
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
