//! Entry of a family in the registry.

use burn::tensor::Device;

use super::card::{Card, FamilyCard};
use super::error::ZooError;
use super::family::{Family, Variant};
use super::settings::Settings;
use crate::weights::{self, ParameterMismatch};

/// Family in the registry: its functions, whatever its type. `M` is the model of any family.
pub(super) struct FamilyEntry<M> {
    /// Name of the family.
    pub name: &'static str,
    /// Names of its variants.
    pub variants: fn() -> Vec<&'static str>,
    /// Card of a variant.
    pub card: fn(&str) -> Result<Card, ZooError>,
    /// Trained weights of a variant.
    pub weights: fn(&str) -> Option<&'static [u8]>,
    /// Untrained model of a variant with overrides.
    pub create: fn(&str, &Settings, &Device) -> Result<M, ZooError>,
    /// Model of a configuration, with the weights of a safetensors file.
    pub restore: fn(&Settings, Vec<u8>, &Device) -> Result<M, RestoreError>,
}

/// Reason why a model can't be restored.
pub(super) enum RestoreError {
    Settings(ZooError),
    Weights(ParameterMismatch),
}

impl<M> FamilyEntry<M> {
    pub const fn of<F: Family + Into<M>>() -> Self {
        Self {
            name: F::CARD.name,
            variants: || F::variants().iter().map(|variant| variant.name).collect(),
            card: card::<F>,
            weights: |name| variant::<F>(name).ok()?.weights,
            create: |name, overrides, device| {
                let config = overrides.applied_to(name, &variant::<F>(name)?.config)?;
                Ok(F::from_config(&config, device)?.into())
            },
            restore: restore::<M, F>,
        }
    }
}

fn variant<F: Family>(name: &str) -> Result<Variant<F::Config>, ZooError> {
    let mut variants = F::variants();
    match variants.iter().position(|variant| variant.name == name) {
        Some(place) => Ok(variants.swap_remove(place)),
        None => Err(ZooError::unknown_model(name, variants.iter().map(|variant| variant.name).collect())),
    }
}

fn card<F: Family>(name: &str) -> Result<Card, ZooError> {
    let Variant { name, summary, config, weights } = variant::<F>(name)?;
    let FamilyCard { name: family, summary: of_family, paper, inputs, outputs, results } = F::CARD;
    Ok(Card {
        name,
        family,
        summary: of_family,
        variant: summary,
        paper,
        inputs,
        outputs,
        settings: Settings::of(&config),
        parameters: F::from_config(&config, &host())?.num_params(),
        has_weights: weights.is_some(),
        capture_unsupported: F::CAPTURE_UNSUPPORTED,
        results: results.iter().filter(|result| result.model == name).copied().collect(),
    })
}

/// Device of a model that is only counted: the host, so that no GPU is looked for, where the build has it.
fn host() -> Device {
    #[cfg(feature = "flex")]
    let device = Device::flex();
    #[cfg(not(feature = "flex"))]
    let device = Device::default();
    device
}

fn restore<M, F: Family + Into<M>>(settings: &Settings, bytes: Vec<u8>, device: &Device) -> Result<M, RestoreError> {
    let default = variant::<F>(F::CARD.name).map_err(RestoreError::Settings)?.config;
    let config = settings.applied_to(F::CARD.name, &default).map_err(RestoreError::Settings)?;
    let mut model = F::from_config(&config, device).map_err(|error| RestoreError::Settings(error.into()))?;
    weights::apply(&mut model, bytes).map_err(RestoreError::Weights)?;
    Ok(model.into())
}
