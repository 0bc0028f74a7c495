//! Configurations of sequence models.

use burn::config::Config;
use firefly_ops::ArgumentError;

use crate::{MAX_DEPTH, ensure_most};

/// Declares a configuration with the fields that all sequence models have, and its checks.
macro_rules! sequence_config {
    (
        $(#[$doc:meta])* $config:ident;
        $($(#[$field_doc:meta])* $field:ident: $type:ty = $default:literal, $least:literal $(, $most:literal)?;)*
    ) => {
        $(#[$doc])*
        #[non_exhaustive]
        #[derive(Config, Debug, PartialEq)]
        pub struct $config {
            /// Channels of the input.
            #[config(default = 1)]
            pub in_channels: usize,
            /// Values of the output.
            #[config(default = 10)]
            pub outputs: usize,
            /// Channels of the layers.
            #[config(default = 64)]
            pub width: usize,
            /// Number of layers.
            #[config(default = 4)]
            pub layers: usize,
            /// Samples of the declared inputs.
            #[config(default = 1024)]
            pub length: usize,
            $(
                $(#[$field_doc])*
                #[config(default = $default)]
                pub $field: $type,
            )*
        }

        impl $config {
            /// Checks every field.
            ///
            /// # Errors
            /// [`ArgumentError`] naming the first field that is out of range.
            pub fn validate(&self) -> Result<(), ArgumentError> {
                const NAME: &str = stringify!($config);
                ensure_least!(
                    self, NAME,
                    in_channels: 1.0, outputs: 1.0, width: 1.0, layers: 1.0, length: 2.0 $(, $field: $least)*
                )?;
                $($(ensure_most(NAME, stringify!($field), self.$field, $most)?;)?)*
                ensure_most(NAME, "layers", self.layers, MAX_DEPTH)
            }
        }
    };
}

sequence_config! {
    /// Configuration of [`LongConv`](crate::LongConv).
    ///
    /// ```
    /// use firefly_models::LongConvConfig;
    ///
    /// let config = LongConvConfig::new().with_width(32).with_length(8_000);
    /// assert!(config.validate().is_ok());
    /// assert!(config.with_layers(0).validate().unwrap_err().to_string().contains("`layers` is 0"));
    /// ```
    LongConvConfig;
    /// Soft threshold: taps are moved towards 0 by this distance before they are used, and smaller ones become 0.
    threshold: f64 = 0.001, 0.0;
}

sequence_config! {
    /// Configuration of [`S4d`](crate::S4d).
    ///
    /// ```
    /// use firefly_models::S4dConfig;
    ///
    /// let config = S4dConfig::new().with_length(8_000).with_states(64);
    /// assert!(config.validate().is_ok());
    /// assert!(config.with_states(0).validate().unwrap_err().to_string().contains("`states` is 0"));
    /// ```
    S4dConfig;
    /// Complex states per channel; each stands for itself and its conjugate.
    states: usize = 32, 1.0;
}

sequence_config! {
    /// Configuration of [`Hyena`](crate::Hyena).
    ///
    /// ```
    /// use firefly_models::HyenaConfig;
    ///
    /// let config = HyenaConfig::new().with_length(8_000).with_order(3);
    /// assert!(config.validate().is_ok());
    /// assert!(config.with_order(1).validate().unwrap_err().to_string().contains("`order` is 1"));
    /// ```
    HyenaConfig;
    /// Products by a projection of the input, at most 64: one more than there are long convolutions.
    order: usize = 2, 2.0, 64;
    /// Number of frequencies whose sine and cosine at the position are inputs of the filters' network.
    frequencies: usize = 1, 1.0;
    /// Hidden units of the filters' network.
    filter_width: usize = 64, 1.0;
}
