//! Memory that a run needs, compared with what is there before any of it is allocated.

use super::{BATCH, DataSection, ForecastingConfig};
use crate::config::{ConfigError, Need, ensure_fits};

/// Values per row and channel of a series while it is read or generated, put in order and standardised.
const PER_VALUE: u128 = 4;
/// Values of a step per row and channel of a window: windows, spectra, and their gradients.
const PER_WINDOW: u128 = 24;
/// Values of a step per row, feature, period and block of a model of features.
const PER_FEATURE: u128 = 2;
/// Values per weight of a layer between spectra: real and imaginary part, gradients, and the optimizer's means.
const PER_WEIGHT: u128 = 10;

/// Checks that the series and a step fit into `available` bytes of memory. The channels of a table are not known before
/// it is read, and count as one; its values are counted again while they are read.
///
/// # Errors
/// [`ConfigError::Value`] naming the key that needs most of it.
pub(super) fn check(config: &ForecastingConfig, available: u64) -> Result<(), ConfigError> {
    let DataSection { ref file, look_back, horizon, train_rows, validation_rows, test_rows, synthetic_channels } =
        config.data;
    let channels = if file.is_some() { 1 } else { synthetic_channels as u128 };
    let number = |key: &str| config.model.count(key);
    let window = (look_back + horizon) as u128;
    let features = number("features").unwrap_or(0) + number("hidden").unwrap_or(0);
    let of_features = features * number("blocks").unwrap_or(1) * number("periods").unwrap_or(1) * PER_FEATURE;
    let of_window = window * (channels * PER_WINDOW + of_features);
    let weights = number("cut_off").map_or(0, |bins| bins * (bins * window / look_back.max(1) as u128) * PER_WEIGHT);
    let rows = [train_rows, validation_rows, test_rows].map(|rows| rows as u128);
    let batch = config.training.batch;
    let needs = [
        Need::of_values("data.train_rows", train_rows, rows[0] * channels * PER_VALUE),
        Need::of_values("data.validation_rows", validation_rows, rows[1] * channels * PER_VALUE),
        Need::of_values("data.test_rows", test_rows, rows[2] * channels * PER_VALUE),
        Need::of_values("training.batch", batch, batch as u128 * of_window),
        // The windows of an evaluation's batch, whose number is fixed.
        Need::of_values(
            if look_back < horizon { "data.horizon" } else { "data.look_back" },
            look_back.max(horizon),
            BATCH as u128 * of_window + weights,
        ),
    ];
    ensure_fits(&needs, available)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_need_too_much_memory_are_named() {
        let message = |change: fn(&mut ForecastingConfig)| {
            let mut config = ForecastingConfig::default();
            change(&mut config);
            config.check_memory(Some(2 << 30)).map_err(|error| error.to_string())
        };
        assert_eq!(message(|_| ()), Ok(()));
        assert_eq!(message(|config| config.model.name = "timesnet".into()), Ok(()));
        let error = message(|config| config.data.train_rows = 1 << 26).unwrap_err();
        assert!(error.starts_with("data.train_rows is 67108864, but must be small enough for 2.00 GiB"), "{error}");
        let error = message(|config| config.training.batch = 1 << 20).unwrap_err();
        assert!(error.starts_with("training.batch is 1048576"), "{error}");
        let error = message(|config| (config.data.horizon, config.data.synthetic_channels) = (1 << 16, 4096));
        assert!(error.unwrap_err().starts_with("data."));
    }
}
