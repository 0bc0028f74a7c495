//! Lower limits of the fields of configurations.

use firefly_ops::ArgumentError;

/// Checks that each field of a configuration is finite and at least its limit: `fields` are name, value and limit.
///
/// # Errors
/// [`ArgumentError`] naming the first field that is not.
pub fn ensure_least(
    config: &'static str,
    fields: impl IntoIterator<Item = (&'static str, f64, f64)>,
) -> Result<(), ArgumentError> {
    match fields.into_iter().find(|(_, value, least)| !(value.is_finite() && value >= least)) {
        None => Ok(()),
        Some((field, value, least)) => Err(ArgumentError::new(config, field, value, format!("at least {least}"))),
    }
}
