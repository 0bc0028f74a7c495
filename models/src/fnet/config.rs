//! Configuration of FNet.

use burn::config::Config;
use firefly_ops::ArgumentError;

/// Configuration of [`FNet`](crate::FNet); the defaults are those of the paper's base model.
///
/// ```
/// use firefly_models::FNetConfig;
///
/// let config = FNetConfig::new().with_width(128).with_layers(2);
/// assert!(config.validate().is_ok());
/// assert!(config.with_vocabulary(0).validate().unwrap_err().to_string().contains("`vocabulary` is 0"));
/// ```
#[non_exhaustive]
#[derive(Config, Debug, PartialEq)]
pub struct FNetConfig {
    /// Number of different tokens.
    #[config(default = 32_000)]
    pub vocabulary: usize,
    /// Largest number of tokens of a sequence, and tokens of the declared inputs.
    #[config(default = 512)]
    pub length: usize,
    /// Values per token.
    #[config(default = 768)]
    pub width: usize,
    /// Hidden values of a block's linear layers.
    #[config(default = 3072)]
    pub feed_forward: usize,
    /// Number of blocks.
    #[config(default = 12)]
    pub layers: usize,
}

impl FNetConfig {
    /// Checks every field.
    ///
    /// # Errors
    /// [`ArgumentError`] naming the first field that is out of range.
    pub fn validate(&self) -> Result<(), ArgumentError> {
        let counts = [
            ("vocabulary", self.vocabulary),
            ("length", self.length),
            ("width", self.width),
            ("feed_forward", self.feed_forward),
            ("layers", self.layers),
        ];
        match counts.into_iter().find(|(_, count)| *count == 0) {
            None => Ok(()),
            Some((field, count)) => Err(ArgumentError::new("FNetConfig", field, count, "at least 1")),
        }
    }
}
