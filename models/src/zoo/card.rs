//! Cards: descriptions of models.

use serde::Serialize;

use super::settings::Settings;

/// Paper that a family follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Paper {
    /// Authors and year, such as `Dao et al. 2019`.
    pub authors: &'static str,
    /// The title.
    pub title: &'static str,
    /// Address of the paper.
    pub url: &'static str,
}

/// Input or output of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Signature {
    /// The name.
    pub name: &'static str,
    /// The shape, such as `[batch, frame]`, and the type where it is not float.
    pub shape: &'static str,
    /// The meaning, with its unit.
    pub meaning: &'static str,
}

impl Signature {
    pub(crate) const fn new(name: &'static str, shape: &'static str, meaning: &'static str) -> Self {
        Self { name, shape, meaning }
    }
}

/// Machine that the results of cards in this version were measured on.
pub(crate) const MACHINE: &str = "two cores of an AMD EPYC with AVX-512";
/// Machine that models of sequences and images were trained on.
pub(crate) const H200: &str = "NVIDIA H200, 2026-11-24; one run, seed 1";

/// Measured result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Measurement {
    /// Variant that was measured.
    pub model: &'static str,
    /// Quantity and data, such as `MSE on ETTh1, horizon 96`.
    pub what: &'static str,
    /// The value, with its unit.
    pub value: &'static str,
    /// Command that measures it.
    pub command: &'static str,
    /// Machine that it was measured on.
    pub machine: &'static str,
}

/// Description of a family, whatever the variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FamilyCard {
    /// Name of the family.
    pub name: &'static str,
    /// One sentence: what the model computes.
    pub summary: &'static str,
    /// The paper, if it follows one.
    pub paper: Option<Paper>,
    /// Inputs, in order.
    pub inputs: &'static [Signature],
    /// Outputs, in order.
    pub outputs: &'static [Signature],
    /// Measured results of its variants.
    pub results: &'static [Measurement],
}

/// Card of a variant.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Card {
    /// Name of the variant.
    pub name: &'static str,
    /// Name of its family.
    pub family: &'static str,
    /// One sentence: what the family computes.
    pub summary: &'static str,
    /// One phrase: what is particular to the variant.
    pub variant: &'static str,
    /// The paper, if it follows one.
    pub paper: Option<Paper>,
    /// Inputs, in order.
    pub inputs: &'static [Signature],
    /// Outputs, in order.
    pub outputs: &'static [Signature],
    /// Every setting of its configuration.
    pub settings: Settings,
    /// Number of trainable values.
    pub parameters: usize,
    /// Whether trained weights ship with this crate.
    pub has_weights: bool,
    /// The reason why the model can't be captured, if it can't.
    pub capture_unsupported: Option<&'static str>,
    /// Measured results of the variant.
    pub results: Vec<Measurement>,
}
