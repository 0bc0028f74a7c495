//! Parameters of a module in a safetensors file, checked one by one when they are read.

use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::{Bool, FloatDType, Tensor};
use burn_store::{ApplyError, ModuleSnapshot, SafetensorsStore, SafetensorsStoreError};
use thiserror::Error;

use crate::checksum::{is_intact, sealed};

/// Reason why a file does not hold the parameters of a module.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages describe the variants")]
pub enum ParameterMismatch {
    #[error("damaged or cut short: {0}")]
    Damaged(SafetensorsStoreError),
    #[error("damaged: its SHA-256 is not that of what was written")]
    Checksum,
    /// A parameter is missing, or has another shape or type.
    #[error("not the weights of this model: {0}")]
    OtherModel(String),
    #[error("`{0}` is no parameter of the model")]
    UnknownTensor(String),
    #[error("`{0}` holds a number that is not finite in f32")]
    NotFinite(String),
}

/// Parameters of `module` as a safetensors file with one entry of metadata besides its [checksum](crate::checksum):
/// several would be written in random order, and equal models to different bytes.
///
/// ```
/// use burn::nn::LinearConfig;
/// use burn::tensor::{Device, Tensor};
/// use firefly_models::weights;
///
/// let device = Device::flex();
/// let (layer, mut other) = (LinearConfig::new(3, 2).init(&device), LinearConfig::new(3, 2).init(&device));
/// weights::apply(&mut other, weights::serialize(&layer, ("layer", "output"))?)?;
/// let input = Tensor::<2>::ones([1, 3], &device);
/// assert_eq!(layer.forward(input.clone()).into_data(), other.forward(input).into_data());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the device fails.
pub fn serialize<M: Module>(module: &M, (key, value): (&str, &str)) -> Result<Vec<u8>, SafetensorsStoreError> {
    let mut store = SafetensorsStore::from_bytes(None).clear_metadata().metadata(key, value);
    module.save_into(&mut store)?;
    store.get_bytes().map(sealed)
}

/// Reads the parameters of `module` from a safetensors file, as [`serialize`] wrote it.
///
/// # Errors
/// [`ParameterMismatch`] for a damaged file, parameters that are missing, unknown or of another shape or type, and
/// values that are not finite.
pub fn apply<M: Module>(module: &mut M, bytes: Vec<u8>) -> Result<(), ParameterMismatch> {
    if !is_intact(&bytes) {
        return Err(ParameterMismatch::Checksum);
    }
    // Without the store's own checks, whose errors are lists for programmers.
    let mut store = SafetensorsStore::from_bytes(Some(bytes)).allow_partial(true).validate(false);
    let applied = module.load_from(&mut store).map_err(ParameterMismatch::Damaged)?;
    let missing = applied.missing.first().map(|(parameter, _)| format!("`{parameter}` is missing"));
    if let Some(reason) = applied.errors.first().map(mismatch).or(missing) {
        return Err(ParameterMismatch::OtherModel(reason));
    }
    if let Some(tensor) = applied.unused.into_iter().next() {
        return Err(ParameterMismatch::UnknownTensor(tensor));
    }
    first_not_finite(module).map_or(Ok(()), |parameter| Err(ParameterMismatch::NotFinite(parameter)))
}

/// Description of the fault of a parameter.
fn mismatch(error: &ApplyError) -> String {
    match error {
        ApplyError::ShapeMismatch { path, expected, found } => {
            format!("`{path}` has the shape {:?}, not {:?}", found.as_slice(), expected.as_slice())
        }
        ApplyError::DTypeMismatch { path, expected, found } => format!("`{path}` is {found:?}, not {expected:?}"),
        ApplyError::AdapterError { path, message } | ApplyError::LoadError { path, message } => {
            format!("`{path}`: {message}")
        }
    }
}

/// Name of the first float parameter with a value that is not finite.
fn first_not_finite(module: &impl Module) -> Option<String> {
    #[derive(Default)]
    struct WeightsSearch {
        path: Vec<String>,
        found: Option<String>,
    }
    impl ModuleVisitor for WeightsSearch {
        fn enter_module(&mut self, name: &str, _container: &str) {
            self.path.push(name.into());
        }

        fn exit_module(&mut self, _name: &str, _container: &str) {
            self.path.pop();
        }

        fn visit_float<const D: usize>(&mut self, parameter: &Param<Tensor<D>>) {
            // The store keeps the type of a file, of f64 too, whose numbers may be infinite in f32, in which models compute.
            let finite: Tensor<D, Bool> = parameter.val().inner().cast(FloatDType::F32).is_finite();
            if self.found.is_none() && !finite.all().into_data().iter::<bool>().all(|finite| finite) {
                self.found = Some(self.path.join("."));
            }
        }
    }
    let mut search = WeightsSearch::default();
    module.visit(&mut search);
    search.found
}
