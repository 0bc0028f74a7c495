//! Configurations of image classifiers.

use burn::config::Config;
use firefly_ops::ArgumentError;

use crate::{MAX_DEPTH, ensure, ensure_most};

/// Declares a configuration with the fields that all image classifiers have, and its checks.
macro_rules! vision_config {
    (
        $(#[$doc:meta])* $config:ident;
        $($(#[$field_doc:meta])* $field:ident: $type:ty = $default:literal, $least:literal;)*
    ) => {
        $(#[$doc])*
        #[non_exhaustive]
        #[derive(Config, Debug, PartialEq)]
        pub struct $config {
            /// Rows and columns of an image.
            #[config(default = 224)]
            pub image: usize,
            /// Channels of an image.
            #[config(default = 3)]
            pub in_channels: usize,
            /// Rows and columns of a patch, a divisor of those of an image.
            #[config(default = 16)]
            pub patch: usize,
            /// Values per patch.
            #[config(default = 256)]
            pub width: usize,
            /// Number of blocks.
            #[config(default = 12)]
            pub layers: usize,
            /// Hidden values of a block's linear layers per value of a patch.
            #[config(default = 4)]
            pub expansion: usize,
            /// Number of classes.
            #[config(default = 1000)]
            pub classes: usize,
            $(
                $(#[$field_doc])*
                #[config(default = $default)]
                pub $field: $type,
            )*
        }

        impl $config {
            /// Patches along a row or a column of an image.
            pub fn side(&self) -> usize {
                self.image / self.patch
            }

            /// Checks every field.
            ///
            /// # Errors
            /// [`ArgumentError`] naming the first field that is out of range.
            pub fn validate(&self) -> Result<(), ArgumentError> {
                const NAME: &str = stringify!($config);
                ensure_least!(
                    self, NAME,
                    image: 1.0, in_channels: 1.0, patch: 1.0, width: 1.0, layers: 1.0, expansion: 1.0, classes: 1.0
                    $(, $field: $least)*
                )?;
                ensure_most(NAME, "layers", self.layers, MAX_DEPTH)?;
                let expected = format!("a divisor of `image`, {}", self.image);
                ensure(self.image.is_multiple_of(self.patch), NAME, "patch", self.patch, expected)?;
                self.validate_mixer(NAME)
            }
        }
    };
}

vision_config! {
    /// Configuration of [`GfNet`](crate::GfNet); the defaults are those of the paper's `GFNet-Ti`.
    ///
    /// ```
    /// use firefly_models::GfNetConfig;
    ///
    /// let config = GfNetConfig::new().with_image(32).with_patch(4);
    /// assert_eq!(config.side(), 8);
    /// assert!(config.with_patch(5).validate().unwrap_err().to_string().contains("`patch` is 5"));
    /// ```
    GfNetConfig;
}

impl GfNetConfig {
    fn validate_mixer(&self, _name: &'static str) -> Result<(), ArgumentError> {
        Ok(())
    }
}

vision_config! {
    /// Configuration of [`Afno`](crate::Afno).
    ///
    /// ```
    /// use firefly_models::AfnoConfig;
    ///
    /// let config = AfnoConfig::new().with_image(32).with_patch(4);
    /// assert!(config.validate().is_ok());
    /// assert!(config.with_blocks(7).validate().unwrap_err().to_string().contains("`blocks` is 7"));
    /// ```
    AfnoConfig;
    /// Blocks of the mixer's weight matrices, a divisor of `width`.
    blocks: usize = 8, 1.0;
    /// Distance by which bins are moved towards 0; nearer ones become 0.
    threshold: f64 = 0.01, 0.0;
}

impl AfnoConfig {
    fn validate_mixer(&self, name: &'static str) -> Result<(), ArgumentError> {
        let expected = format!("a divisor of `width`, {}", self.width);
        ensure(self.width.is_multiple_of(self.blocks), name, "blocks", self.blocks, expected)
    }
}
