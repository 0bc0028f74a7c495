//! Contract of a family, and its entry in the registry.

use std::path::Path;

use burn::config::Config;
use burn::module::Module;
use burn::tensor::Device;
use firefly_framework::graph::{AnyTensor, Input};
use firefly_ops::ArgumentError;

use super::card::{Card, FamilyCard, FamilyText};
use super::error::ZooError;
use super::settings::Settings;
use crate::weights;

/// Named configuration of a family.
pub struct Variant<C> {
    /// The name, which begins with that of the family.
    pub name: &'static str,
    /// One phrase: what is particular to it.
    pub summary: &'static str,
    /// The configuration.
    pub config: C,
    /// Trained weights, as [`ZooModel::to_bytes`](super::ZooModel::to_bytes) writes them.
    pub weights: Option<&'static [u8]>,
}

impl<C> Variant<C> {
    /// A variant without trained weights.
    pub const fn new(name: &'static str, summary: &'static str, config: C) -> Self {
        Self { name, summary, config, weights: None }
    }

    /// The same variant with trained weights.
    pub fn with_weights(self, weights: &'static [u8]) -> Self {
        Self { weights: Some(weights), ..self }
    }
}

/// Family of models: a Burn module with a configuration, named variants and a card.
///
/// A family is registered by a line in `families.rs`; every test of the registry then runs on its variants.
///
/// ```
/// use burn::tensor::Device;
/// use firefly_models::WelchPeaks;
/// use firefly_models::zoo::Family;
///
/// let variant = WelchPeaks::variants().into_iter().find(|variant| variant.name == "welch_peaks_tiny");
/// let model = variant.map(|variant| WelchPeaks::from_config(&variant.config, &Device::flex())).transpose()?;
/// assert_eq!(model.map(|model| model.inputs(5)[0].shape.clone()), Some(vec![5, 48]));
/// # Ok::<(), firefly_models::ArgumentError>(())
/// ```
pub trait Family: Module {
    /// The configuration.
    type Config: Config + Clone;

    /// Description of the family, whatever the variant.
    const CARD: FamilyCard;

    /// Named configurations: the family's own name first; one that ends in `_tiny` is small enough for every test.
    fn variants() -> Vec<Variant<Self::Config>>;

    /// The untrained model on `device`.
    ///
    /// # Errors
    /// [`ArgumentError`] naming the first field that is out of range.
    fn from_config(config: &Self::Config, device: &Device) -> Result<Self, ArgumentError>;

    /// The configuration that the model was made with.
    fn config(&self) -> Self::Config;

    /// Declared inputs of a batch of `batch`.
    fn inputs(&self, batch: usize) -> Vec<Input>;

    /// Outputs of a list of inputs.
    ///
    /// # Errors
    /// [`ArgumentError`] for inputs of another number, rank, kind or shape.
    fn apply(&self, inputs: Vec<AnyTensor>) -> Result<Vec<AnyTensor>, ArgumentError>;
}

/// The `N` inputs of a model.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_models::zoo::exactly;
///
/// let tensor = || Tensor::<1>::ones([3], &Device::flex()).into();
/// let [_, _] = exactly("my_model", vec![tensor(), tensor()])?;
/// let error = exactly::<2>("my_model", vec![tensor()]).unwrap_err();
/// assert_eq!(error.to_string(), "my_model: `inputs` is 1 tensors, but must be 2 of them");
/// # Ok::<(), firefly_models::ArgumentError>(())
/// ```
///
/// # Errors
/// [`ArgumentError`] for another number of inputs.
pub fn exactly<const N: usize>(
    operation: &'static str,
    inputs: Vec<AnyTensor>,
) -> Result<[AnyTensor; N], ArgumentError> {
    let error = |inputs: Vec<AnyTensor>| {
        ArgumentError::new(operation, "inputs", format!("{} tensors", inputs.len()), format!("{N} of them"))
    };
    inputs.try_into().map_err(error)
}

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
    /// Model of a configuration, with the weights of a safetensors file; errors name its path.
    pub restore: fn(&Path, &Settings, Vec<u8>, &Device) -> Result<M, ZooError>,
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
        None => {
            let known = variants.iter().map(|variant| variant.name).collect();
            Err(ZooError::UnknownModel { name: name.into(), known })
        }
    }
}

fn card<F: Family>(name: &str) -> Result<Card, ZooError> {
    let Variant { name, summary, config, weights } = variant::<F>(name)?;
    let FamilyText { summary: of_family, paper, inputs, outputs, results } = F::CARD.text();
    Ok(Card {
        name,
        family: F::CARD.name,
        summary: of_family,
        variant: summary,
        paper: *paper,
        inputs,
        outputs,
        settings: Settings::of(&config),
        parameters: F::from_config(&config, &host())?.num_params(),
        has_weights: weights.is_some(),
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

fn restore<M, F: Family + Into<M>>(
    path: &Path,
    settings: &Settings,
    bytes: Vec<u8>,
    device: &Device,
) -> Result<M, ZooError> {
    let refused = |error: ZooError| ZooError::Format(path.into(), error.to_string());
    let default = variant::<F>(F::CARD.name).map_err(refused)?.config;
    let config = settings.applied_to(F::CARD.name, &default).map_err(refused)?;
    let mut model = F::from_config(&config, device).map_err(|error| refused(error.into()))?;
    weights::apply(&mut model, bytes).map_err(|mismatch| ZooError::OtherModel(path.into(), mismatch))?;
    Ok(model.into())
}
