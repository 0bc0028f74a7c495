//! Sequence models in the zoo.

use burn::tensor::Tensor;
use firefly_framework::graph::Input;

use super::config::{HyenaConfig, LongConvConfig, S4dConfig};
use super::module::{Hyena, LongConv, S4d};
use crate::zoo::{Family, FamilyCard, Measurement, Paper, Signature, Variant};

/// Machine of the results on the cards.
const MACHINE: &str = "NVIDIA H200, 2026-11-24; one run, seed 1";

/// Registers a sequence model: its name, summary, paper, results and variants.
macro_rules! sequence_family {
    ($model:ident, $config:ident, $name:literal, $summary:literal, $paper:expr, $results:expr, $variants:expr) => {
        impl Family for $model {
            configured_by! { $config }

            const CARD: FamilyCard = FamilyCard {
                name: $name,
                summary: $summary,
                paper: Some($paper),
                inputs: &[Signature::new(
                    "signal",
                    "[batch, in_channels, length]",
                    "samples of each channel, oldest first",
                )],
                outputs: &[Signature::new("scores", "[batch, outputs]", "a value per class, or a regression")],
                results: $results,
            };

            fn variants() -> Vec<Variant<$config>> {
                $variants
            }

            fn inputs(&self, batch: usize) -> Vec<Input> {
                let $config { in_channels, length, .. } = *$model::config(self);
                vec![Input::new("signal", [batch, in_channels, length])]
            }

            applied_to! { signal: Tensor<3> => Tensor<2>, $name }
        }
    };
}

sequence_family!(
    LongConv,
    LongConvConfig,
    "long_conv",
    "Sequence model of convolutions as long as the signal, learned tap by tap.",
    Paper {
        authors: "Fu et al. 2023",
        title: "Simple Hardware-Efficient Long Convolutions for Sequence Modeling",
        url: "https://arxiv.org/abs/2302.06646",
    },
    &[Measurement {
        model: "long_conv",
        what: "test accuracy of spoken digits from waveforms, official split, in percent, after 25 epochs on steps of \
               16 samples (most frequent class: 10.0)",
        value: "84.0",
        command: "firefly train configs/classification-digits-long-conv.toml --data DATA --device cuda",
        machine: MACHINE,
    }],
    {
        let config = LongConvConfig::new();
        let tiny = config.clone().with_width(6).with_layers(2).with_length(40).with_outputs(3);
        vec![
            Variant::new("long_conv", "4 layers of 64 channels, 1,024 samples", config),
            Variant::new("long_conv_tiny", "2 layers of 6 channels, 40 samples, for tests", tiny),
        ]
    }
);

sequence_family!(
    S4d,
    S4dConfig,
    "s4d",
    "Sequence model of convolutions with the responses of diagonal state spaces.",
    Paper {
        authors: "Gu et al. 2022",
        title: "On the Parameterization and Initialization of Diagonal State Space Models",
        url: "https://arxiv.org/abs/2206.11893",
    },
    &[Measurement {
        model: "s4d",
        what: "test accuracy of spoken digits from waveforms, official split, in percent: width 64, 4 layers, 16 pairs \
               of states on steps of 16 samples (most frequent class: 10.0)",
        value: "96.5",
        command: "firefly train configs/classification-digits-s4d.toml --data DATA --device cuda",
        machine: MACHINE,
    }],
    {
        let config = S4dConfig::new();
        let digits = config.clone().with_length(8_000);
        let tiny = config.clone().with_width(6).with_layers(2).with_states(4).with_length(40).with_outputs(3);
        vec![
            Variant::new("s4d", "4 layers of 64 channels with 32 pairs of states, 1,024 samples", config),
            Variant::new("s4d_digits", "the same for one second at 8 kHz", digits),
            Variant::new("s4d_tiny", "2 layers of 6 channels with 4 pairs of states, for tests", tiny),
        ]
    }
);

sequence_family!(
    Hyena,
    HyenaConfig,
    "hyena",
    "Sequence model of long convolutions with implicit filters, between products by projections.",
    Paper {
        authors: "Poli et al. 2023",
        title: "Hyena Hierarchy: Towards Larger Convolutional Language Models",
        url: "https://arxiv.org/abs/2302.10866",
    },
    &[Measurement {
        model: "hyena",
        what: "test accuracy of spoken digits from waveforms, official split, in percent, after 25 epochs: width 64, 3 \
               layers, on steps of 16 samples (most frequent class: 10.0)",
        value: "80.5",
        command: "firefly train configs/classification-digits-hyena.toml --data DATA --device cuda",
        machine: MACHINE,
    }],
    {
        let config = HyenaConfig::new();
        let digits = config.clone().with_length(8_000);
        let tiny = config.clone().with_width(6).with_layers(2).with_filter_width(8).with_length(40).with_outputs(3);
        vec![
            Variant::new("hyena", "order 2, 4 layers of 64 channels, up to 1,024 samples", config),
            Variant::new("hyena_digits", "the same for one second at 8 kHz", digits),
            Variant::new("hyena_tiny", "order 2, 2 layers of 6 channels, for tests", tiny.clone()),
            Variant::new("hyena_order_3_tiny", "order 3, 2 layers of 6 channels, for tests", tiny.with_order(3)),
        ]
    }
);
