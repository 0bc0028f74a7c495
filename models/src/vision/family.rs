//! Image classifiers in the zoo.

use burn::tensor::Tensor;
use firefly_framework::graph::Input;

use super::config::{AfnoConfig, GfNetConfig};
use super::module::{Afno, GfNet};
use crate::zoo::{Family, FamilyCard, Measurement, Paper, Signature, Variant};

/// Machine of the results on the cards.
const MACHINE: &str = "NVIDIA H200, 2026-11-24; one run, seed 1";

/// Registers a classifier: its name, summary, paper, results and variants.
macro_rules! vision_family {
    ($model:ident, $config:ident, $name:literal, $summary:literal, $paper:expr, $results:expr, $variants:expr) => {
        impl Family for $model {
            configured_by! { $config }

            const CARD: FamilyCard = FamilyCard {
                name: $name,
                summary: $summary,
                paper: Some($paper),
                inputs: &[Signature::new("images", "[batch, in_channels, image, image]", "pixels, in any unit")],
                outputs: &[Signature::new("scores", "[batch, classes]", "a value per class")],
                results: $results,
            };

            fn variants() -> Vec<Variant<$config>> {
                $variants
            }

            fn inputs(&self, batch: usize) -> Vec<Input> {
                let $config { in_channels, image, .. } = *$model::config(self);
                vec![Input::new("images", [batch, in_channels, image, image])]
            }

            applied_to! { images: Tensor<4> => Tensor<2>, $name }
        }
    };
}

vision_family!(
    GfNet,
    GfNetConfig,
    "gfnet",
    "Image classifier that mixes patches by learned filters of their spectrum.",
    Paper {
        authors: "Rao et al. 2021",
        title: "Global Filter Networks for Image Classification",
        url: "https://arxiv.org/abs/2107.00645",
    },
    &[Measurement {
        model: "gfnet",
        what: "test accuracy of spoken digits from log-mel spectra, official split, in percent: 4 blocks of 64 values \
               (most frequent class: 10.0)",
        value: "99.0",
        command: "firefly train configs/classification-digits-gfnet.toml --data DATA --device cuda",
        machine: MACHINE,
    }],
    {
        let config = GfNetConfig::new();
        let extra_small = config.clone().with_width(384);
        let base = config.clone().with_width(512).with_layers(19);
        let tiny = config.clone().with_image(12).with_patch(3).with_width(6).with_layers(2).with_classes(3);
        vec![
            Variant::new("gfnet", "GFNet-Ti: 12 blocks of 256 values", config),
            Variant::new("gfnet_xs", "GFNet-XS: 12 blocks of 384 values", extra_small.clone()),
            Variant::new("gfnet_s", "GFNet-S: 19 blocks of 384 values", extra_small.with_layers(19)),
            Variant::new("gfnet_b", "GFNet-B: 19 blocks of 512 values", base),
            Variant::new("gfnet_tiny", "2 blocks of 6 values, for tests", tiny),
        ]
    }
);

vision_family!(
    Afno,
    AfnoConfig,
    "afno",
    "Image classifier that mixes patches by linear layers over the channels of each bin.",
    Paper {
        authors: "Guibas et al. 2022",
        title: "Adaptive Fourier Neural Operators: Efficient Token Mixers for Transformers",
        url: "https://arxiv.org/abs/2111.13587",
    },
    &[Measurement {
        model: "afno",
        what: "test accuracy of spoken digits from log-mel spectra, official split, in percent: 4 blocks of 64 values, \
               4 blocks of channels (most frequent class: 10.0)",
        value: "87.5",
        command: "firefly train configs/classification-digits-afno.toml --data DATA --device cuda",
        machine: MACHINE,
    }],
    {
        let config = AfnoConfig::new();
        let tiny =
            config.clone().with_image(12).with_patch(3).with_width(6).with_blocks(2).with_layers(2).with_classes(3);
        vec![
            Variant::new("afno", "12 blocks of 256 values, weights in 8 blocks", config),
            Variant::new("afno_tiny", "2 blocks of 6 values, for tests", tiny),
        ]
    }
);
