//! Cards: descriptions of models.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::settings::Settings;

/// Paper that a family follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paper {
    /// Authors and year, such as `Dao et al. 2019`.
    pub authors: &'static str,
    /// The title.
    pub title: &'static str,
    /// Address of the paper.
    pub url: &'static str,
}

/// Input or output of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signature {
    /// The name.
    pub name: &'static str,
    /// The shape, such as `[batch, frame]`, and the type where it is not float.
    pub shape: &'static str,
    /// The meaning, with its unit.
    pub meaning: &'static str,
}

/// Measured result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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

/// Description of a family, whatever the variant: its name, and its [text](FamilyText), to which it dereferences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct FamilyCard {
    /// Name of the family.
    pub name: &'static str,
}

/// Text of a family's card, in `cards.json`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct FamilyText {
    /// One sentence: what the model computes.
    pub summary: &'static str,
    /// The paper, if it follows one.
    pub paper: Option<Paper>,
    /// Inputs, in order.
    pub inputs: Vec<Signature>,
    /// Outputs, in order.
    pub outputs: Vec<Signature>,
    /// Measured results of its variants.
    pub results: Vec<Measurement>,
}

impl FamilyCard {
    /// Its text.
    ///
    /// ```
    /// use firefly_models::WelchPeaks;
    /// use firefly_models::zoo::Family;
    ///
    /// assert_eq!(WelchPeaks::CARD.text().inputs[0].shape, "[batch, frame]");
    /// ```
    pub fn text(&self) -> &'static FamilyText {
        static TEXTS: LazyLock<HashMap<&str, FamilyText>> =
            LazyLock::new(|| serde_json::from_str(include_str!("cards.json")).expect("tests read every card"));
        &TEXTS[self.name]
    }
}

impl Deref for FamilyCard {
    type Target = FamilyText;

    fn deref(&self) -> &FamilyText {
        self.text()
    }
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
    /// Measured results of the variant.
    pub results: Vec<Measurement>,
}
