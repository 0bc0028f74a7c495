//! Errors of the zoo.

use std::io;
use std::path::PathBuf;

use burn_store::SafetensorsStoreError;
use firefly_framework::graph::GraphError;
use firefly_framework::onnx::OnnxError;
use firefly_ops::ArgumentError;
use thiserror::Error;

use super::store::WEIGHTS_FORMAT;
use crate::weights::ParameterMismatch;

/// Reason why a model of the zoo can't be created, run, saved or loaded.
///
/// ```
/// use firefly_models::zoo::{self, ZooError};
///
/// let error = zoo::card("welch_peeks").err();
/// assert!(matches!(&error, Some(ZooError::UnknownModel { name, .. }) if name == "welch_peeks"));
/// assert!(error.is_some_and(|error| error.to_string().contains("did you mean `welch_peaks`?")));
/// ```
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages describe the variants and name the fields")]
pub enum ZooError {
    #[error("zoo: no model is called `{name}`{}; there are {}", hint(name, known), known.join(", "))]
    UnknownModel { name: String, known: Vec<&'static str> },
    #[error("zoo: {model} has no setting `{key}`{}; it has {}", hint(key, accepted), accepted.join(", "))]
    UnknownSetting { model: String, key: String, accepted: Vec<String> },
    /// The value of a setting has another type.
    #[error("zoo: {model}: `{key} = {value}`: {error}")]
    Setting { model: String, key: String, value: String, error: serde_json::Error },
    #[error("zoo: `{0}` is no setting, which has the form `key = value`")]
    Form(String),
    /// A configuration or an input is out of range.
    #[error(transparent)]
    Argument(#[from] ArgumentError),
    /// The model can't be captured.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// The model can't be exported as an ONNX file.
    #[error(transparent)]
    Onnx(#[from] OnnxError),
    #[error("zoo: there are no trained weights of {model}; {}", shipped(trained))]
    NoWeights { model: String, trained: Vec<&'static str> },
    /// A file can't be read or written.
    #[error("{0}: {1}")]
    File(PathBuf, io::Error),
    #[error("{0}: no model of the zoo in format {WEIGHTS_FORMAT}: {1}")]
    Format(PathBuf, String),
    #[error("{0}: damaged or cut short: {1}")]
    Damaged(PathBuf, String),
    /// The weights can't be serialised.
    #[error("{0}: {1}")]
    Weights(PathBuf, SafetensorsStoreError),
    /// The weights are not those of the configuration.
    #[error("{0}: {1}")]
    OtherModel(PathBuf, ParameterMismatch),
}

/// The models with trained weights, as text.
fn shipped(trained: &[&str]) -> String {
    if trained.is_empty() {
        "none ship with this version".into()
    } else {
        format!("there are of {}", trained.join(", "))
    }
}

/// The nearest name, as a question, if one is near.
fn hint<S: AsRef<str>>(name: &str, known: &[S]) -> String {
    let limit = name.chars().count().div_ceil(3).max(1);
    let distances = known.iter().map(|known| (strsim::damerau_levenshtein(name, known.as_ref()), known.as_ref()));
    let nearest = distances.filter(|(distance, _)| *distance <= limit).min();
    nearest.map(|(_, near)| format!(" (did you mean `{near}`?)")).unwrap_or_default()
}
