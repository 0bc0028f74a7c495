//! What is wrong with a configuration.

use firefly_ops::ArgumentError;
use thiserror::Error;

/// A configuration that no model can be made of.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// A field the operations would refuse.
    #[error(transparent)]
    Argument(#[from] ArgumentError),
}

impl ConfigError {
    pub(crate) fn field(
        config: &'static str,
        field: &'static str,
        got: impl std::fmt::Display,
        expected: impl std::fmt::Display,
    ) -> Self {
        Self::Argument(ArgumentError::new(config, field, got, expected))
    }
}
