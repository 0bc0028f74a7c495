//! Parameters: names and values in the order they were given.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// Parameters of a problem or a command: a JSON object whose entries keep their order. Two are equal if their entries
/// are, in whatever order.
#[derive(Debug, Clone, Default)]
pub struct ParameterMap(Vec<(String, Value)>);

impl ParameterMap {
    /// Adds an entry at the end.
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.insert(name.to_string(), value.into());
        self
    }

    /// Adds an entry at the end, or replaces the value of the one with that name.
    fn insert(&mut self, name: String, value: Value) {
        match self.0.iter_mut().find(|(other, _)| *other == name) {
            Some(entry) => entry.1 = value,
            None => self.0.push((name, value)),
        }
    }

    /// The value under `name`.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.iter().find(|(other, _)| *other == name).map(|(_, value)| value)
    }

    /// The whole number under `name`.
    pub fn count(&self, name: &str) -> Option<u64> {
        self.get(name)?.as_u64()
    }

    /// The entries in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// All entries but those under `names`.
    pub fn without(&self, names: &[&str]) -> Self {
        let kept = self.iter().filter(|(name, _)| !names.contains(name));
        Self(kept.map(|(name, value)| (name.to_string(), value.clone())).collect())
    }

    /// The value under `name` as a table shows it; nothing where there is none.
    pub fn shown(&self, name: &str) -> String {
        self.get(name).map(shown).unwrap_or_default()
    }
}

impl PartialEq for ParameterMap {
    fn eq(&self, other: &Self) -> bool {
        self.0.len() == other.0.len() && self.iter().all(|(name, value)| other.get(name) == Some(value))
    }
}

impl Eq for ParameterMap {}

impl Serialize for ParameterMap {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for ParameterMap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;

        impl<'de> Visitor<'de> for Entries {
            type Value = ParameterMap;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<ParameterMap, A::Error> {
                let mut parameters = ParameterMap::default();
                while let Some((name, value)) = access.next_entry()? {
                    parameters.insert(name, value);
                }
                Ok(parameters)
            }
        }

        deserializer.deserialize_map(Entries)
    }
}

pub fn name_of<T: PartialEq>(named: &[(&'static str, T)], value: &T) -> &'static str {
    named.iter().find(|(_, other)| other == value).map_or("", |(name, _)| name)
}

/// A value without quotes.
pub fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// `n_fft 256, segments 2`.
impl fmt::Display for ParameterMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (name, value)) in self.iter().enumerate() {
            let separator = if place == 0 { "" } else { ", " };
            write!(f, "{separator}{name} {}", shown(value))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_survives_json() {
        let parameters = ParameterMap::default().with("n_fft", 256).with("batch", 8).with("pipeline", "psd");
        let text = serde_json::to_string(&parameters).unwrap();
        assert_eq!(text, r#"{"n_fft":256,"batch":8,"pipeline":"psd"}"#);
        assert_eq!(serde_json::from_str::<ParameterMap>(&text).unwrap(), parameters);
        assert_eq!(parameters.to_string(), "n_fft 256, batch 8, pipeline psd");
        assert_eq!(parameters.without(&["batch"]).to_string(), "n_fft 256, pipeline psd");
        assert_eq!((parameters.count("batch"), parameters.shown("pipeline").as_str()), (Some(8), "psd"));
        assert_eq!((parameters.count("k"), parameters.shown("k").as_str()), (None, ""));
    }
}
