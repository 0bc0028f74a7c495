//! Model zoo: families of models by name, each with named variants and a card.
//!
//! A name such as `welch_peaks_tiny` is a *variant*: a configuration of a *family*. Every family is also an ordinary
//! Burn module with a configuration of its own, such as [`WelchPeaksConfig`](crate::WelchPeaksConfig); the registry is
//! for programs that choose a model by name.
//!
//! ```
//! use burn::module::Module;
//! use burn::tensor::{Device, Tensor};
//! use firefly_models::zoo::{self, Settings};
//!
//! let device = Device::flex();
//! assert!(zoo::list("welch").contains(&"welch_peaks"));
//! assert_eq!(zoo::card("learned_welch_peaks_tiny")?.family, "learned_welch_peaks");
//!
//! let overrides = Settings::new().with("n_fft", 64).with("k", 3);
//! let model = zoo::create("welch_peaks", &overrides, &device)?;
//! let outputs = model.try_forward(vec![Tensor::<2>::ones([5, 96], &device).into()])?;
//! assert_eq!((model.num_params(), outputs[0].dims()), (0, vec![5, 3]));
//! # Ok::<(), firefly_models::zoo::ZooError>(())
//! ```

mod card;
mod error;
mod families;
mod family;
mod settings;
mod store;

use burn::tensor::Device;

pub use card::{Card, FamilyCard, FamilyText, Measurement, Paper, Signature};
pub use error::ZooError;
pub use families::ZooModel;
pub use family::{Family, Variant, exactly};
pub use settings::{Settings, largest_whole};
pub use store::{WEIGHTS_FORMAT, from_bytes, load};

use families::FAMILIES;
use family::FamilyEntry;

/// Names of the variants that contain `filter`, by family; all of them for an empty filter.
pub fn list(filter: &str) -> Vec<&'static str> {
    let names = FAMILIES.iter().flat_map(|family| (family.variants)());
    names.filter(|name| name.contains(filter)).collect()
}

/// Names of the variants whose trained weights ship with this crate.
///
/// ```
/// use firefly_models::zoo;
///
/// assert!(zoo::list_pretrained().contains(&"spectral_denoiser_speech"));
/// ```
pub fn list_pretrained() -> Vec<&'static str> {
    let trained = |name: &&str| find(name).is_ok_and(|family| (family.weights)(name).is_some());
    list("").into_iter().filter(trained).collect()
}

/// Name of the family that has the variant `name`.
///
/// ```
/// use firefly_models::zoo;
///
/// assert_eq!(zoo::family("fits_720")?, "fits");
/// # Ok::<(), zoo::ZooError>(())
/// ```
///
/// # Errors
/// [`ZooError::UnknownModel`].
pub fn family(name: &str) -> Result<&'static str, ZooError> {
    Ok(find(name)?.name)
}

/// Card of the variant `name`: what it computes, its paper, settings, parameters and measured results.
///
/// ```
/// use firefly_models::zoo;
///
/// let card = zoo::card("spectral_denoiser_speech")?;
/// assert_eq!((card.family, card.inputs[0].shape, card.has_weights), ("spectral_denoiser", "[batch, samples]", true));
/// assert!(card.results.iter().any(|result| result.value == "14.27 dB"));
/// # Ok::<(), zoo::ZooError>(())
/// ```
///
/// # Errors
/// [`ZooError::UnknownModel`].
pub fn card(name: &str) -> Result<Card, ZooError> {
    (find(name)?.card)(name)
}

/// Untrained model of the variant `name` on `device`, with settings of its configuration replaced by `overrides`.
///
/// ```
/// use burn::tensor::Device;
/// use firefly_models::zoo;
///
/// let model = zoo::create("fits", &"horizon = 24, channels = 1".parse()?, &Device::flex())?;
/// assert_eq!(model.inputs(8)[0].shape, [8, 360, 1]);
/// let error = zoo::create("fits", &"horizont = 24".parse()?, &Device::flex()).err();
/// assert!(error.is_some_and(|error| error.to_string().contains("did you mean `horizon`?")));
/// # Ok::<(), zoo::ZooError>(())
/// ```
///
/// # Errors
/// [`ZooError::UnknownModel`], [`ZooError::UnknownSetting`] and [`ZooError::Setting`] for names and values that the
/// family does not have, [`ZooError::Argument`] for a configuration that is out of range.
pub fn create(name: &str, overrides: &Settings, device: &Device) -> Result<ZooModel, ZooError> {
    (find(name)?.create)(name, overrides, device)
}

/// Model of the variant `name` on `device`, with the trained weights that ship with this crate.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_models::zoo;
///
/// let device = Device::flex();
/// let model = zoo::pretrained("mel_classifier_digits", &device)?;
/// let outputs = model.try_forward(vec![Tensor::<2>::ones([3, 6_000], &device).into()])?;
/// assert_eq!(outputs[0].dims(), [3, 10]);
/// # Ok::<(), zoo::ZooError>(())
/// ```
///
/// # Errors
/// [`ZooError::UnknownModel`]; [`ZooError::NoWeights`] for a variant without them.
pub fn pretrained(name: &str, device: &Device) -> Result<ZooModel, ZooError> {
    let weights = (find(name)?.weights)(name);
    let weights = weights.ok_or_else(|| ZooError::NoWeights { model: name.into(), trained: list_pretrained() })?;
    from_bytes(name.as_ref(), weights.to_vec(), device)
}

/// The family that has the variant `name`.
fn find(name: &str) -> Result<&'static FamilyEntry<ZooModel>, ZooError> {
    let has = |family: &&FamilyEntry<ZooModel>| (family.variants)().contains(&name);
    FAMILIES.iter().find(has).ok_or_else(|| ZooError::UnknownModel { name: name.into(), known: list("") })
}
