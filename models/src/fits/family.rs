//! FITS in the zoo.

use burn::tensor::Device;
use firefly_framework::graph::{AnyTensor, Input};
use firefly_ops::ArgumentError;

use super::config::FitsConfig;
use super::module::Fits;
use crate::zoo::{Family, FamilyCard, MACHINE, Measurement, Paper, Signature, Variant, exactly};

impl Family for Fits {
    type Config = FitsConfig;

    const CARD: FamilyCard = FamilyCard {
        name: "fits",
        summary: "Forecast of a series by a complex linear layer on the lowest bins of its spectrum.",
        paper: Some(Paper {
            authors: "Xu et al. 2024",
            title: "FITS: Modeling time series with 10k parameters",
            url: "https://arxiv.org/abs/2307.03756",
        }),
        inputs: &[Signature {
            name: "series",
            shape: "[batch, look_back, channels]",
            meaning: "samples of each channel, oldest first",
        }],
        outputs: &[
            Signature { name: "forecast", shape: "[batch, horizon, channels]", meaning: "in the unit of the series" },
            Signature {
                name: "reconstruction",
                shape: "[batch, look_back, channels]",
                meaning: "the series as the model interpolates it",
            },
        ],
        results: &[
            Measurement {
                model: "fits",
                what: "test MSE of ETTh1, 96 rows ahead; of ETTh2 with data.file=ett/ETTh2.csv",
                value: "0.370; 0.272",
                command: "firefly train configs/forecasting-etth1-96.toml --data DATA",
                machine: MACHINE,
            },
            Measurement {
                model: "fits_192",
                what: "test MSE of ETTh1, 192 rows ahead; of ETTh2 with data.file=ett/ETTh2.csv",
                value: "0.403; 0.332",
                command: "firefly train configs/forecasting-etth1-96.toml --data DATA --set data.horizon=192",
                machine: MACHINE,
            },
            Measurement {
                model: "fits_336",
                what: "test MSE of ETTh1, 336 rows ahead; of ETTh2 with data.file=ett/ETTh2.csv",
                value: "0.428; 0.356",
                command: "firefly train configs/forecasting-etth1-96.toml --data DATA --set data.horizon=336",
                machine: MACHINE,
            },
            Measurement {
                model: "fits_720",
                what: "test MSE of ETTh1, 720 rows ahead; of ETTh2 with data.file=ett/ETTh2.csv",
                value: "0.430; 0.384",
                command: "firefly train configs/forecasting-etth1-96.toml --data DATA --set data.horizon=720",
                machine: MACHINE,
            },
        ],
    };

    fn variants() -> Vec<Variant<FitsConfig>> {
        // Look-back and bins with the lowest validation error on hourly ETT data.
        let config = FitsConfig::new().with_look_back(360).with_cut_off(181);
        let of_horizon = |horizon| config.clone().with_horizon(horizon);
        let tiny = config.clone().with_look_back(24).with_horizon(6).with_channels(2).with_cut_off(8);
        vec![
            Variant::new("fits", "96 samples from 360 of 7 channels, all 181 bins", config.clone()),
            Variant::new("fits_192", "192 samples from 360 of 7 channels, all 181 bins", of_horizon(192)),
            Variant::new("fits_336", "336 samples from 360 of 7 channels, all 181 bins", of_horizon(336)),
            Variant::new("fits_720", "720 samples from 360 of 7 channels, all 181 bins", of_horizon(720)),
            Variant::new("fits_tiny", "6 samples from 24 of 2 channels, 8 bins", tiny),
        ]
    }

    fn from_config(config: &FitsConfig, device: &Device) -> Result<Self, ArgumentError> {
        config.try_init(device)
    }

    fn config(&self) -> FitsConfig {
        Fits::config(self).clone()
    }

    fn inputs(&self, batch: usize) -> Vec<Input> {
        let FitsConfig { look_back, channels, .. } = *Fits::config(self);
        vec![Input::new("series", [batch, look_back, channels])]
    }

    fn apply(&self, inputs: Vec<AnyTensor>) -> Result<Vec<AnyTensor>, ArgumentError> {
        const NAME: &str = "Fits";
        let FitsConfig { look_back, horizon, .. } = *Fits::config(self);
        let [series] = exactly(NAME, inputs)?;
        let longer = self.try_forward(series.try_float::<3>(NAME, "series")?)?;
        Ok(vec![longer.clone().narrow(1, look_back, horizon).into(), longer.narrow(1, 0, look_back).into()])
    }
}
