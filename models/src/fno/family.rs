//! Fourier neural operators in the zoo.

use burn::tensor::Tensor;
use firefly_framework::graph::Input;

use super::{Fno, FnoConfig, FnoKind};
use crate::zoo::{Family, FamilyCard, MACHINE, Measurement, Paper, Signature, Variant};

const PAPER: Option<Paper> = Some(Paper {
    authors: "Li et al. 2021",
    title: "Fourier Neural Operator for Parametric Partial Differential Equations",
    url: "https://arxiv.org/abs/2010.08895",
});

/// Measured results in one dimension.
const BURGERS: &[Measurement] = &[
    Measurement {
        model: "fno1d",
        what: "relative L2 on Burgers' equation at 1,024 points, trained at 128 points in 60 epochs",
        value: "0.0011",
        command: "firefly train configs/operator-burgers.toml --set training.epochs=60 --set data.validation_share=0.1 \
                  --set data.generated.points=128",
        machine: MACHINE,
    },
    Measurement {
        model: "fno1d",
        what: "relative L2 on Burgers' equation at 1,024, 2,048 and 8,192 points, trained at 1,024 in 20 epochs",
        value: "0.0036, 0.0036, 0.0036",
        command: "firefly train configs/operator-burgers.toml --set training.epochs=20",
        machine: MACHINE,
    },
    Measurement {
        model: "fno1d",
        what: "relative L2 on Burgers' equation at 1,024, 2,048 and 8,192 points, trained at 1,024 in 200 epochs",
        value: "0.000353, 0.000353, 0.000354",
        command: "cargo run --release --features cuda -- train configs/operator-burgers.toml --device cuda",
        machine: "an NVIDIA H200",
    },
];

/// Command of the measurements in two dimensions.
const COMMAND: &str = "firefly train configs/operator-darcy.toml --data DATA";
/// Command that trains the shipped weights.
const LONG_COMMAND: &str = "firefly train configs/operator-darcy-long.toml --data DATA";

/// A measurement of `fno2d_darcy` on the small Darcy set.
const fn darcy(what: &'static str, value: &'static str, command: &'static str) -> Measurement {
    Measurement { model: "fno2d_darcy", what, value, command, machine: MACHINE }
}

/// Measured results in two dimensions.
const DARCY: &[Measurement] = &[
    darcy("relative L2 on Darcy flow at 16 × 16, 15 epochs, seeds 1 to 3", "0.080, 0.079, 0.077", COMMAND),
    darcy("relative L2 at 32 × 32, trained at 16 × 16, 15 epochs, seeds 1 to 3", "0.099, 0.105, 0.105", COMMAND),
    darcy(
        "relative L2 on Darcy flow at 16 × 16 points, the shipped weights, trained for 100 epochs",
        "0.071",
        LONG_COMMAND,
    ),
    darcy("relative L2 at 32 × 32 points, the shipped weights, trained at 16 × 16", "0.096", LONG_COMMAND),
];

/// A measurement of `fno3d_darcy` on generated Darcy flow.
const fn darcy_3d(what: &'static str, value: &'static str) -> Measurement {
    Measurement {
        model: "fno3d_darcy",
        what,
        value,
        command: "firefly train configs/operator-darcy3d.toml",
        machine: MACHINE,
    }
}

/// Measured results in three dimensions.
const DARCY_3D: &[Measurement] = &[
    darcy_3d(
        "relative L2 on Darcy flow at 16 × 16 × 16 points, 15 epochs (mean of the training outputs: 0.349)",
        "0.040",
    ),
    darcy_3d(
        "relative L2 at 32 × 32 × 32 points, trained at 16 × 16 × 16 (mean of the training outputs: 0.378)",
        "0.080",
    ),
];

/// Registers the operator of a number of dimensions.
macro_rules! operator {
    ($rank:literal, $name:literal, $dims:literal, $points:literal, $results:expr, $variants:expr) => {
        impl Family for Fno<$rank> {
            configured_by! { FnoConfig }

            const CARD: FamilyCard = FamilyCard {
                name: $name,
                summary: concat!("Fourier neural operator: a map between fields in ", $dims, "."),
                paper: PAPER,
                inputs: &[Signature::new(
                    "field",
                    concat!("[batch, in_channels, ", $points, "]"),
                    "values on an equally spaced grid",
                )],
                outputs: &[Signature::new(
                    "field",
                    concat!("[batch, out_channels, ", $points, "]"),
                    "values at the same points",
                )],
                results: $results,
            };

            fn variants() -> Vec<Variant<FnoConfig>> {
                $variants
            }

            fn inputs(&self, batch: usize) -> Vec<Input> {
                let FnoConfig { in_channels, points, .. } = *Fno::config(self);
                let mut shape = vec![points; $rank];
                (shape[0], shape[1]) = (batch, in_channels);
                vec![Input::new("field", shape)]
            }

            applied_to! { field: Tensor<$rank> => Tensor<$rank>, $name }
        }
    };
}

/// A configuration small enough for every test.
fn tiny(modes: Vec<usize>) -> FnoConfig {
    FnoConfig::new(modes).with_width(4).with_layers(2).with_projection(6).with_points(8)
}

operator!(3, "fno1d", "one dimension", "n", BURGERS, {
    let burgers = FnoConfig::new(vec![16]).with_width(64).with_points(1024);
    vec![
        Variant::new("fno1d", "the paper's for Burgers' equation: 16 modes of 64 channels", burgers.clone()),
        Variant::new("fno1d_factorized", "factorised layers", burgers.with_kind(FnoKind::Factorized)),
        Variant::new("fno1d_tiny", "3 modes of 4 channels, for tests", tiny(vec![3])),
    ]
});

operator!(4, "fno2d", "two dimensions", "n₁, n₂", DARCY, {
    let darcy = FnoConfig::new(vec![24, 12]).with_width(32).with_padding(9).with_points(85);
    let small = FnoConfig::new(vec![8, 4]).with_width(24).with_lifting(Some(48)).with_projection(48).with_points(16);
    let factorized = FnoConfig::new(vec![16, 16]).with_width(64).with_kind(FnoKind::Factorized);
    let closed = FnoConfig::new(vec![10, 10])
        .with_width(24)
        .with_kind(FnoKind::Factorized)
        .with_lifting(Some(48))
        .with_projection(48)
        .with_padding_share(0.25)
        .with_points(17);
    vec![
        Variant::new("fno2d", "the paper's for Darcy flow: 12 modes per corner of 32 channels, zeros behind", darcy),
        Variant::new("fno2d_small", "4 modes per corner of 24 channels, for grids of 16 points", small),
        Variant::new(
            "fno2d_darcy",
            "Darcy flow on the unit square, points k/n closed by those at 1: permeability 0 or 1 to pressure; \
             factorised",
            closed,
        )
        .with_weights(include_bytes!("../../weights/fno2d_darcy.safetensors")),
        Variant::new("fno2d_factorized", "factorised layers: 16 modes along each dimension of 64 channels", factorized),
        Variant::new("fno2d_tiny", "4 by 3 modes of 4 channels, for tests", tiny(vec![4, 3])),
        Variant::new(
            "fno2d_factorized_tiny",
            "factorised layers of 4 channels, for tests",
            tiny(vec![4, 3]).with_kind(FnoKind::Factorized),
        ),
    ]
});

operator!(5, "fno3d", "three dimensions", "n₁, n₂, n₃", DARCY_3D, {
    let flow = FnoConfig::new(vec![16, 16, 8]).with_width(20).with_padding(6);
    let factorized = FnoConfig::new(vec![8, 8, 8]).with_kind(FnoKind::Factorized);
    let closed = FnoConfig::new(vec![8, 8, 8])
        .with_width(16)
        .with_kind(FnoKind::Factorized)
        .with_lifting(Some(32))
        .with_projection(32)
        .with_padding_share(0.25)
        .with_points(17);
    vec![
        Variant::new("fno3d", "the paper's for Navier–Stokes flow: 8 modes per corner of 20 channels", flow),
        Variant::new(
            "fno3d_darcy",
            "Darcy flow on the unit cube, points k/n closed by those at 1: permeability to pressure; factorised",
            closed,
        )
        .with_weights(include_bytes!("../../weights/fno3d_darcy.safetensors")),
        Variant::new("fno3d_factorized", "factorised layers: 8 modes along each dimension", factorized),
        Variant::new("fno3d_tiny", "4, 3 and 2 modes of 4 channels, for tests", tiny(vec![4, 3, 2])),
    ]
});
