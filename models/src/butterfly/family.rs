//! The butterfly model in the zoo.

use burn::tensor::Device;
use firefly_framework::graph::{AnyTensor, Input};
use firefly_ops::ArgumentError;
use firefly_ops::fft::ComplexTensor;

use super::config::ButterflyConfig;
use super::module::Butterfly;
use crate::zoo::{Family, FamilyCard, MACHINE, Measurement, Paper, Signature, Variant, exactly};

impl Family for Butterfly {
    type Config = ButterflyConfig;

    const CARD: FamilyCard = FamilyCard {
        name: "butterfly",
        summary: "Learned fast transform: a product of butterfly matrices and relaxed permutations.",
        paper: Some(Paper {
            authors: "Dao et al. 2019",
            title: "Learning fast algorithms for linear transforms using butterfly factorizations",
            url: "https://arxiv.org/abs/1903.05895",
        }),
        inputs: &[
            Signature { name: "re", shape: "[rows, n]", meaning: "real part of each row" },
            Signature { name: "im", shape: "[rows, n]", meaning: "imaginary part of each row" },
        ],
        outputs: &[
            Signature { name: "re", shape: "[rows, n]", meaning: "real part of each transform" },
            Signature { name: "im", shape: "[rows, n]", meaning: "imaginary part of each transform" },
        ],
        results: &[
            Measurement {
                model: "butterfly_dft_8",
                what: "RMSE of the unitary Fourier transform of 8 points, permutation learned",
                value: "2.1e-8",
                command: "cargo run --release -p firefly-models --example recover_dft -- 8",
                machine: MACHINE,
            },
            Measurement {
                model: "butterfly_dft_16",
                what: "RMSE of the unitary Fourier transform of 16 points, permutation learned",
                value: "4.3e-8",
                command: "cargo run --release -p firefly-models --example recover_dft -- 16",
                machine: MACHINE,
            },
            Measurement {
                model: "butterfly",
                what: "RMSE of the Fourier transform of 64 values, BPP; 64 random starts",
                value: "8.7e-9",
                command: "firefly train configs/transform-dct.toml --set data.transform=dft --set data.output=complex \
                          --set data.size=64",
                machine: MACHINE,
            },
            Measurement {
                model: "butterfly",
                what: "RMSE of the Hartley transform of 64 values, the real part of BPP; the greatest of six transforms \
                       of up to 64 values",
                value: "1.3e-6",
                command: "firefly train configs/transform-dct.toml --set data.transform=hartley --set data.size=64",
                machine: MACHINE,
            },
            Measurement {
                model: "butterfly",
                what: "RMSE of the cosine transform of 64 values, the real part of BPP; 64 random starts",
                value: "8.2e-9",
                command: "firefly train configs/transform-dct.toml --set data.size=64",
                machine: MACHINE,
            },
            Measurement {
                model: "butterfly",
                what: "RMSE of a convolution of 64 values, (BP)²; 128 random starts",
                value: "1.6e-8",
                command: "firefly train configs/transform-convolution.toml --set data.size=64",
                machine: MACHINE,
            },
        ],
    };

    fn variants() -> Vec<Variant<ButterflyConfig>> {
        let config = ButterflyConfig::new();
        let squared = config.clone().with_products(2);
        let [dft_8, dft_16] = [8, 16].map(|n| config.clone().with_n(n));
        vec![
            Variant::new("butterfly", "BP for rows of 64 values, complex", config.clone()),
            Variant::new("butterfly_squared", "(BP)² for rows of 64 values, complex", squared),
            Variant::new("butterfly_real", "BP for rows of 64 values, real", config.clone().with_complex(false)),
            Variant::new("butterfly_dft_8", "the unitary Fourier transform of 8 points, learned", dft_8)
                .with_weights(include_bytes!("../../weights/butterfly_dft_8.safetensors")),
            Variant::new("butterfly_dft_16", "the unitary Fourier transform of 16 points, learned", dft_16)
                .with_weights(include_bytes!("../../weights/butterfly_dft_16.safetensors")),
            Variant::new("butterfly_tiny", "BP for rows of 8 values, complex", config.with_n(8)),
        ]
    }

    fn from_config(config: &ButterflyConfig, device: &Device) -> Result<Self, ArgumentError> {
        config.try_init(device)
    }

    fn config(&self) -> ButterflyConfig {
        Butterfly::config(self).clone()
    }

    fn inputs(&self, batch: usize) -> Vec<Input> {
        ["re", "im"].map(|part| Input::new(part, [batch, Butterfly::config(self).n])).to_vec()
    }

    fn apply(&self, inputs: Vec<AnyTensor>) -> Result<Vec<AnyTensor>, ArgumentError> {
        const NAME: &str = "Butterfly";
        let [re, im] = exactly(NAME, inputs)?;
        let (re, im) = (re.try_float::<2>(NAME, "re")?, im.try_float::<2>(NAME, "im")?);
        let rows = self.try_forward(ComplexTensor::new(re, im))?;
        Ok(vec![rows.re.into(), rows.im.into()])
    }
}
