//! TimesNet in the zoo.

use burn::tensor::Device;
use firefly_framework::graph::{AnyTensor, Input};
use firefly_ops::ArgumentError;

use super::config::TimesNetConfig;
use super::module::TimesNet;
use crate::zoo::{Family, FamilyCard, Measurement, Paper, Signature, Variant, exactly};

impl Family for TimesNet {
    type Config = TimesNetConfig;

    const CARD: FamilyCard = FamilyCard {
        name: "timesnet",
        summary: "Forecast of a series by convolutions over pictures of its strongest periods.",
        paper: Some(Paper {
            authors: "Wu et al. 2023",
            title: "TimesNet: Temporal 2D-variation modeling for general time series analysis",
            url: "https://arxiv.org/abs/2210.02186",
        }),
        inputs: &[Signature {
            name: "series",
            shape: "[batch, look_back, channels]",
            meaning: "samples of each channel, oldest first",
        }],
        outputs: &[Signature {
            name: "forecast",
            shape: "[batch, horizon, channels]",
            meaning: "in the unit of the series",
        }],
        results: &[Measurement {
            model: "timesnet",
            what: "test MSE of ETTh1, 96 rows ahead: 3 kernels, 16 hidden features, dropout 0.5, seeds 1 to 3 (last 24 \
                   rows: 0.512)",
            value: "0.390, 0.403, 0.399",
            command: "cargo run --release --features cuda -- train configs/forecasting-timesnet.toml --data DATA \
                      --device cuda",
            machine: "an NVIDIA H100",
        }],
    };

    const CAPTURE_UNSUPPORTED: Option<&'static str> = Some("shapes depend on the periods of the series");

    fn variants() -> Vec<Variant<TimesNetConfig>> {
        let config = TimesNetConfig::new();
        let tiny = config.clone().with_look_back(16).with_horizon(4).with_channels(2).with_features(4).with_hidden(4);
        let tiny = tiny.with_blocks(1).with_periods(2).with_kernels(2);
        vec![
            Variant::new("timesnet", "96 samples from 96 of 7 channels", config),
            Variant::new("timesnet_tiny", "4 samples from 16 of 2 channels", tiny),
        ]
    }

    fn from_config(config: &TimesNetConfig, device: &Device) -> Result<Self, ArgumentError> {
        config.try_init(device)
    }

    fn config(&self) -> TimesNetConfig {
        TimesNet::config(self).clone()
    }

    fn inputs(&self, batch: usize) -> Vec<Input> {
        let TimesNetConfig { look_back, channels, .. } = *TimesNet::config(self);
        vec![Input::new("series", [batch, look_back, channels])]
    }

    fn apply(&self, inputs: Vec<AnyTensor>) -> Result<Vec<AnyTensor>, ArgumentError> {
        const NAME: &str = "TimesNet";
        let [series] = exactly(NAME, inputs)?;
        Ok(vec![self.try_forward(series.try_float::<3>(NAME, "series")?)?.into()])
    }
}
