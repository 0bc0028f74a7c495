//! Settings of configurations, by name.

use std::fmt;
use std::str::FromStr;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::error::ZooError;

/// Largest whole number of a setting. Products of larger ones have no meaning as sizes of tensors.
const MAX_WHOLE: u64 = 1 << 24;

/// Settings of a configuration: values by key, in the form that its fields have in JSON or TOML.
///
/// ```
/// use firefly_models::zoo::Settings;
///
/// let settings: Settings = "n_fft = 512, window = hamming".parse()?;
/// assert_eq!(settings, Settings::new().with("n_fft", 512).with("window", "hamming"));
/// assert_eq!(settings.to_string(), "n_fft = 512, window = \"hamming\"");
/// assert!("n_fft".parse::<Settings>().is_err());
/// # Ok::<(), firefly_models::zoo::ZooError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Settings(Map<String, Value>);

impl Settings {
    /// No settings.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same settings with one more, or another value of one.
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.insert(key.into(), value.into());
        self
    }

    /// The value of `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// Keys and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Every setting of `config`.
    pub(super) fn of(config: &impl Serialize) -> Self {
        // A configuration is a struct of plain fields: serialising it does not fail, and gives an object.
        match serde_json::to_value(config) {
            Ok(Value::Object(settings)) => Self(settings),
            _ => Self::default(),
        }
    }

    /// `config` of `model` with these settings in place of its own.
    pub(super) fn applied_to<C: Serialize + DeserializeOwned + Clone>(
        &self,
        model: &str,
        config: &C,
    ) -> Result<C, ZooError> {
        let Self(mut settings) = Self::of(config);
        let mut config = config.clone();
        for (key, value) in &self.0 {
            if !settings.contains_key(key) {
                let accepted = settings.keys().cloned().collect();
                return Err(ZooError::UnknownSetting { model: model.into(), key: key.clone(), accepted });
            }
            settings.insert(key.clone(), value.clone());
            // JSON has no NaN and no infinity.
            let shown = if value.is_null() { "null, NaN or infinity".into() } else { value.to_string() };
            let refused =
                |error| ZooError::Setting { model: model.into(), key: key.clone(), value: shown.clone(), error };
            // One after the other, so that an error is that of this key.
            config = serde_json::from_value(Value::Object(settings.clone())).map_err(refused)?;
            // A field that holds a fraction takes whole numbers too, of any size.
            let Self(taken) = Self::of(&config);
            if taken.get(key).and_then(largest_whole).is_some_and(|largest| largest > MAX_WHOLE) {
                return Err(refused(serde_json::Error::custom("a whole number is at most 16,777,216")));
            }
        }
        Ok(config)
    }
}

/// The largest whole number in the value of a setting, in lists too; `None` where there is none.
///
/// ```
/// use firefly_models::zoo::largest_whole;
///
/// let values = [serde_json::json!([3, 16]), serde_json::json!(0.5)];
/// assert_eq!(values.map(|value| largest_whole(&value)), [Some(16), None]);
/// ```
pub fn largest_whole(value: &Value) -> Option<u64> {
    match value {
        Value::Array(values) => values.iter().filter_map(largest_whole).max(),
        value => value.as_u64(),
    }
}

impl FromStr for Settings {
    type Err = ZooError;

    /// `key = value` pairs, separated by commas. A value is a JSON number, `true`, `false` or `null`; anything else is
    /// text.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut pairs = text.split(',').filter(|pair| !pair.trim().is_empty());
        pairs.try_fold(Self::new(), |settings, pair| {
            let (key, value) = pair.split_once('=').ok_or_else(|| ZooError::Form(pair.trim().into()))?;
            let (key, value) = (key.trim(), value.trim());
            let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.into()));
            Ok(settings.with(key, value))
        })
    }
}

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs: Vec<_> = self.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        f.write_str(&pairs.join(", "))
    }
}
