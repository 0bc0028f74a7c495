//! Names and values in the order they were given.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// What fixes a case, or a run: a JSON object whose entries keep their order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Parameters(Vec<(String, Value)>);

impl Parameters {
    /// Adds an entry at the end.
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.push((name.to_string(), value.into()));
        self
    }

    /// The value under `name`.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(other, _)| other == name).map(|(_, value)| value)
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
        Self(self.0.iter().filter(|(name, _)| !names.contains(&name.as_str())).cloned().collect())
    }

    /// The value under `name` as a table shows it; nothing where there is none.
    pub fn shown(&self, name: &str) -> String {
        self.get(name).map(shown).unwrap_or_default()
    }
}

/// A value without quotes.
pub fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// `n_fft 256, tier fast`.
impl fmt::Display for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (name, value)) in self.iter().enumerate() {
            let separator = if place == 0 { "" } else { ", " };
            write!(f, "{separator}{name} {}", shown(value))?;
        }
        Ok(())
    }
}

impl Serialize for Parameters {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in self.iter() {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Parameters {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Parameters;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Parameters, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Parameters(entries))
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_survives_json() {
        let parameters = Parameters::default().with("n_fft", 256).with("batch", 8).with("tier", "fast");
        let text = serde_json::to_string(&parameters).unwrap();
        assert_eq!(text, r#"{"n_fft":256,"batch":8,"tier":"fast"}"#);
        assert_eq!(serde_json::from_str::<Parameters>(&text).unwrap(), parameters);
        assert_eq!(parameters.to_string(), "n_fft 256, batch 8, tier fast");
        assert_eq!(parameters.without(&["batch"]).to_string(), "n_fft 256, tier fast");
        assert_eq!((parameters.count("batch"), parameters.shown("tier").as_str()), (Some(8), "fast"));
        assert_eq!((parameters.count("k"), parameters.shown("k").as_str()), (None, ""));
    }
}
