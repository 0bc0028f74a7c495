//! FNet in the zoo.

use burn::tensor::{DType, Device};
use firefly_framework::graph::{AnyTensor, Input};
use firefly_ops::ArgumentError;

use super::config::FNetConfig;
use super::module::FNet;
use crate::zoo::{Family, FamilyCard, MACHINE, Measurement, Paper, Signature, Variant, exactly};

impl Family for FNet {
    type Config = FNetConfig;

    const CARD: FamilyCard = FamilyCard {
        name: "fnet",
        summary: "Encoder of tokens whose blocks mix by the real part of a Fourier transform.",
        paper: Some(Paper {
            authors: "Lee-Thorp et al. 2021",
            title: "FNet: Mixing Tokens with Fourier Transforms",
            url: "https://arxiv.org/abs/2105.03824",
        }),
        inputs: &[Signature {
            name: "tokens",
            shape: "[batch, tokens], integers",
            meaning: "numbers of tokens in the vocabulary",
        }],
        outputs: &[
            Signature { name: "values", shape: "[batch, tokens, width]", meaning: "values of each token" },
            Signature {
                name: "pooled",
                shape: "[batch, width]",
                meaning: "values of the sequence, from its first token",
            },
        ],
        results: &[Measurement {
            model: "fnet",
            what: "test accuracy of bearing faults at load 3 from frames of 512 samples as tokens, trained on loads 0 \
                   to 2, in percent: 2 blocks of 32 values (most frequent class: 11.1; mel_classifier_bearing: 100)",
            value: "92.4",
            command: "firefly train configs/classification-bearing-fnet.toml --data DATA",
            machine: MACHINE,
        }],
    };

    fn variants() -> Vec<Variant<FNetConfig>> {
        let base = FNetConfig::new();
        let large = base.clone().with_width(1024).with_feed_forward(4096).with_layers(24);
        let tiny = base.clone().with_vocabulary(11).with_length(12).with_width(8).with_feed_forward(16).with_layers(2);
        vec![
            Variant::new("fnet", "the paper's base model: 12 blocks of 768 values", base),
            Variant::new("fnet_large", "the paper's large model: 24 blocks of 1,024 values", large),
            Variant::new("fnet_tiny", "2 blocks of 8 values, for tests", tiny),
        ]
    }

    fn from_config(config: &FNetConfig, device: &Device) -> Result<Self, ArgumentError> {
        config.try_init(device)
    }

    fn config(&self) -> FNetConfig {
        FNet::config(self).clone()
    }

    fn inputs(&self, batch: usize) -> Vec<Input> {
        vec![Input::new("tokens", [batch, FNet::config(self).length]).with_dtype(DType::I64)]
    }

    fn apply(&self, inputs: Vec<AnyTensor>) -> Result<Vec<AnyTensor>, ArgumentError> {
        let [tokens] = exactly("fnet", inputs)?;
        let values = self.try_forward(tokens.try_int::<2>("fnet", "tokens")?)?;
        Ok(vec![values.clone().into(), self.pooled(values).into()])
    }
}
