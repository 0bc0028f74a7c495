//! Memory that a run needs, compared with what is there before any of it is allocated.

use super::{LearningData, TransformConfig};
use crate::config::{ConfigError, Need, ensure_fits};

/// Values per element of the matrix: real and imaginary parts in float64, and as tensors with their transposes.
const PER_ELEMENT: u128 = 12;
/// Values of a step per value of a row, product and stage, which the backward pass keeps: real and imaginary parts, and
/// those of the steps of a permutation.
const PER_STAGE: u128 = 8;

/// Checks that the matrix and a step fit into `available` bytes of memory.
///
/// # Errors
/// [`ConfigError::Value`] naming the key that needs most of it.
pub(super) fn check(config: &TransformConfig, available: u64) -> Result<(), ConfigError> {
    let size = config.data.size as u128;
    let products = config.model.count("products").unwrap_or(1);
    let stages = products * u128::from(size.max(2).ilog2());
    // Random starts are trained side by side.
    let starts = config.training.starts as u128;
    let step = |rows: u128| rows * size * stages * starts * PER_STAGE;
    let matrix = Need::of_values("data.size", size, size * size * PER_ELEMENT);
    // A validation is a step over the whole matrix without a backward pass.
    let step = match config.data.from {
        LearningData::Matrix => Need::of_values("data.size", size, step(size)),
        LearningData::Examples => {
            Need::of_values("training.batch", config.training.batch, step(config.training.batch as u128))
        }
    };
    ensure_fits(&[matrix, step], available)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_need_too_much_memory_are_named() {
        let message = |change: fn(&mut TransformConfig)| {
            let mut config = TransformConfig::default();
            change(&mut config);
            config.check_memory(Some(2 << 30)).map_err(|error| error.to_string())
        };
        assert_eq!(message(|_| ()), Ok(()));
        assert_eq!(message(|config| config.data.size = 512), Ok(()));
        let error = message(|config| config.data.size = 4096).unwrap_err();
        assert!(error.starts_with("data.size is 4096, but must be small enough for 2.00 GiB"), "{error}");
        let error = message(|config| {
            (config.data.from, config.data.size, config.training.batch) = (LearningData::Examples, 256, 1 << 20);
        });
        assert!(error.unwrap_err().starts_with("training.batch is 1048576"));
    }
}
