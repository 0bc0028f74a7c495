//! Memory that a run needs, compared with what is there before it is allocated: for generated samples before they are
//! solved, for samples in files before the first step.

use super::OperatorConfig;
use super::config::GeneratedSection;
use crate::config::{ConfigError, Need, Training, ensure_fits};

/// Inputs and outputs, each held once as samples and once as they are put together.
const SAMPLE_COPIES: u128 = 4;
/// Fields of a solver's grid in float64 that one thread holds, in values of f32.
const SOLVER_FIELDS: u128 = 40;
/// Hidden fields per layer that a training step keeps for the backward pass.
const KEPT_PER_LAYER: u128 = 6;

/// Checks that a run on generated samples fits into `available` bytes of memory.
pub(super) fn check(config: &OperatorConfig, available: u64) -> Result<(), ConfigError> {
    if config.data.files.is_some() {
        return Ok(());
    }
    let GeneratedSection { samples, test_samples, points, solver_points, test_points, equation, .. } =
        &config.data.generated;
    let field = |points: usize| (points as u128).pow(equation.dims() as u32);
    let tests: u128 = test_points.iter().map(|points| field(*points)).sum();
    let threads = rayon::current_num_threads() as u128;
    let solved = *samples as u128 * field(*points) * SAMPLE_COPIES;
    let needs = [
        Need::of_values("data.generated.samples", samples, solved),
        Need::of_values("data.generated.test_samples", test_samples, *test_samples as u128 * tests * SAMPLE_COPIES),
        Need::of_values("data.generated.solver_points", solver_points, field(*solver_points) * SOLVER_FIELDS * threads),
        step(config, field(*points)),
    ];
    ensure_fits(&needs, available)
}

/// Checks that a step on fields of `points` along each dimension fits into `available` bytes of memory.
///
/// # Errors
/// [`ConfigError::Value`] naming the size of the batch; the model's width where one field does not fit; the points
/// where one channel of it does not.
pub(super) fn check_step(config: &OperatorConfig, points: &[usize], available: u64) -> Result<(), ConfigError> {
    let need = step(config, points.iter().map(|count| *count as u128).product());
    let width = config.model.count("width").unwrap_or(1);
    let of_field = need.bytes / config.training.batch().max(1) as u128;
    let need = if of_field / width.max(1) > u128::from(available) {
        let key = if config.data.files.is_some() { "data.files" } else { "data.generated.points" };
        let points: Vec<String> = points.iter().map(ToString::to_string).collect();
        Need { key, value: points.join(" × "), bytes: need.bytes }
    } else if of_field > u128::from(available) {
        Need { key: "model.settings.width", value: width.to_string(), bytes: need.bytes }
    } else {
        need
    };
    ensure_fits(&[need], available)
}

/// Memory of a step on fields of `points` in all: what it keeps for the backward pass.
fn step(config: &OperatorConfig, points: u128) -> Need {
    let setting = |key: &str| config.model.count(key).unwrap_or(1);
    let (batch, layers) = (config.training.batch(), setting("layers"));
    let values = [batch as u128, points, setting("width"), layers, KEPT_PER_LAYER];
    Need::of_values("training.batch", batch, values.into_iter().fold(1, u128::saturating_mul))
}

#[cfg(test)]
mod tests {
    use firefly_models::zoo::Settings;

    use super::*;

    #[test]
    fn settings_that_need_too_much_memory_are_named() {
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
        assert!(text.starts_with("data.generated.points is 4096 × 4096 × 4096, but must be small enough"), "{text}");
        let mut many = OperatorConfig::default();
        many.training.batch = 1 << 16;
        let text = check_step(&many, &[1 << 12], 1 << 30).unwrap_err().to_string();
        assert!(text.starts_with("training.batch is 65536, but must be small enough for 1.00 GiB of memory"), "{text}");
        let mut wide = OperatorConfig::default();
        wide.model.settings = Settings::new().with("width", 1 << 20);
        let text = check_step(&wide, &[1 << 12], 1 << 30).unwrap_err().to_string();
        assert!(text.starts_with("model.settings.width is 1048576"), "{text}");
    }
}
