//! Memory that a run needs, compared with what is there before it is allocated: for generated samples before they are solved,
//! for samples in files before the first step.

use firefly_app::number::bytes;
use firefly_models::ArgumentError;

use super::OperatorConfig;
use super::config::GeneratedSection;
use crate::config::{ConfigError, Training};

/// Bytes of a value of a sample.
const VALUE: u128 = size_of::<f32>() as u128;
/// Inputs and outputs, each held once as samples and once as they are put together.
const SAMPLE_COPIES: u128 = 4;
/// Fields of a solver's grid in float64 that one thread holds, in values of f32.
const SOLVER_FIELDS: u128 = 40;
/// Hidden fields per layer that a training step keeps for the backward pass.
const KEPT_PER_LAYER: u128 = 6;

/// One of the amounts of memory that a run needs.
struct Need {
    key: &'static str,
    value: usize,
    values: u128,
}

/// Checks that a run on generated samples fits into `available` bytes of memory.
pub(super) fn check(config: &OperatorConfig, available: u64) -> Result<(), ConfigError> {
    if config.data.files.is_some() {
        return Ok(());
    }
    let needs = needs(config);
    let total = needs.iter().map(|need| need.values).sum::<u128>() * VALUE;
    let Some(largest) = needs.iter().max_by_key(|need| need.values).filter(|_| total > u128::from(available)) else {
        return Ok(());
    };
    let text = |count: u128| bytes(u64::try_from(count).unwrap_or(u64::MAX));
    let expected = format!(
        "small enough for {} of memory: the run needs {}, of which this takes {}",
        bytes(available),
        text(total),
        text(largest.values * VALUE)
    );
    Err(ConfigError::Value { key: largest.key.into(), got: largest.value.to_string(), expected })
}

/// Checks that a step on fields of `points` along each dimension fits into `available` bytes of memory.
///
/// # Errors
/// [`ArgumentError`] naming the size of the batch.
pub(super) fn check_step(config: &OperatorConfig, points: &[usize], available: u64) -> Result<(), ArgumentError> {
    let batch = config.training.batch();
    let points = points.iter().map(|count| *count as u128).product::<u128>();
    let needed = u64::try_from(step(config, points) * VALUE).unwrap_or(u64::MAX);
    if needed <= available {
        return Ok(());
    }
    let (needed, available) = (bytes(needed), bytes(available));
    let expected = format!("small enough for {available} of memory: a step takes {needed}");
    Err(ArgumentError::new("operator", "training.batch", batch, expected))
}

/// Values that a step on fields of `points` in all keeps for the backward pass.
fn step(config: &OperatorConfig, points: u128) -> u128 {
    let setting = |key: &str| u128::from(config.model.setting(key).and_then(|value| value.as_u64()).unwrap_or(1));
    config.training.batch() as u128 * points * setting("width") * setting("layers") * KEPT_PER_LAYER
}

fn needs(config: &OperatorConfig) -> Vec<Need> {
    let GeneratedSection { samples, test_samples, points, solver_points, test_points, equation, .. } =
        &config.data.generated;
    let field = |points: usize| (points as u128).pow(equation.dims() as u32);
    let batch = config.training.batch();
    let tests: u128 = test_points.iter().map(|points| field(*points)).sum();
    let need = |key, value: usize, values: u128| Need { key, value, values };
    vec![
        need("data.generated.samples", *samples, *samples as u128 * field(*points) * SAMPLE_COPIES),
        need("data.generated.test_samples", *test_samples, *test_samples as u128 * tests * SAMPLE_COPIES),
        need("data.generated.solver_points", *solver_points, field(*solver_points) * SOLVER_FIELDS * threads()),
        need("training.batch", batch, step(config, field(*points))),
    ]
}

/// Threads that solve samples.
fn threads() -> u128 {
    rayon::current_num_threads() as u128
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_named() {
        let message = |change: fn(&mut OperatorConfig), available: u64| {
            let mut config = OperatorConfig::default();
            change(&mut config);
            config.check_memory(Some(available)).unwrap_err().to_string()
        };
        assert!(OperatorConfig::default().check_memory(Some(1 << 30)).is_ok());
        let text = message(|config| config.data.generated.samples = 1 << 20, 1 << 28);
        assert!(text.starts_with("data.generated.samples is 1048576, but must be small enough for 256 MiB"), "{text}");
        let text = message(|config| config.training.batch = 1 << 20, 1 << 30);
        assert!(text.starts_with("training.batch is 1048576"), "{text}");
        let text = message(|config| config.data.generated.solver_points = 1 << 20, 1 << 20);
        assert!(text.starts_with("data.generated.solver_points is 1048576"), "{text}");
        let config = OperatorConfig::default();
        assert!(check_step(&config, &[1 << 10], 1 << 30).is_ok());
        let text = check_step(&config, &[1 << 12; 3], 1 << 30).unwrap_err().to_string();
        assert!(text.contains("training.batch") && text.contains("1.00 GiB of memory"), "{text}");
    }
}
