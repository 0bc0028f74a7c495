//! Parameters: lists of numbers as they are typed, and names and values in the order they were given.

use std::fmt;
use std::str::FromStr;

use clap::ValueEnum;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// Largest number of a list: products of two of them and a few bytes are no overflow.
const MAX_NUMBER: usize = 1 << 32;

/// Item of a list of numbers from 1 to 2³²: `32`, or `32..8192` or `32-8192` for the powers of two from 32 to 8192.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberRange(Vec<usize>);

impl FromStr for NumberRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let item = text.trim();
        if item.is_empty() {
            return Err("an item of the list is empty".into());
        }
        // A dash after a digit, so that `-1` is a number below the least.
        let dashed = || item.split_once('-').filter(|(from, _)| !from.is_empty());
        let Some((from, to)) = item.split_once("..").or_else(dashed) else { return Ok(Self(vec![number(item)?])) };
        let (from, to) = (power_of_two(from, item)?, power_of_two(to, item)?);
        if to < from {
            return Err(format!("range `{item}` ends before it starts"));
        }
        Ok(Self((from.ilog2()..=to.ilog2()).map(|exponent| 1 << exponent).collect()))
    }
}

/// A whole number from 0.
pub fn whole<T: FromStr>(text: &str) -> Result<T, String> {
    text.trim().parse().map_err(|_| format!("`{text}` is not a whole number from 0 that fits 64 bits"))
}

fn number(text: &str) -> Result<usize, String> {
    match text.trim().parse() {
        Ok(number) if number > MAX_NUMBER => Err(format!("{number} is more than {MAX_NUMBER}")),
        Ok(0) => Err("0 is not accepted; numbers start at 1".into()),
        Ok(number) => Ok(number),
        Err(_) => Err(format!("`{text}` is not a whole number from 1; lists look like 32,256 or 32..8192")),
    }
}

fn power_of_two(text: &str, range: &str) -> Result<usize, String> {
    let end = number(text)?;
    let refuse = || format!("range `{range}` goes through powers of two, and {end} is not one");
    if end.is_power_of_two() { Ok(end) } else { Err(refuse()) }
}

/// The numbers of a list in the order typed, each once.
pub fn numbers(list: &[NumberRange]) -> Vec<usize> {
    distinct(list.iter().flat_map(|range| range.0.iter().copied()))
}

/// The values in their order, each once.
pub fn distinct<T: PartialEq>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut distinct = Vec::new();
    for value in values {
        if !distinct.contains(&value) {
            distinct.push(value);
        }
    }
    distinct
}

/// Items in groups of equal keys, in the order of the first of each.
pub fn grouped<K: PartialEq, T>(items: impl IntoIterator<Item = (K, T)>) -> Vec<(K, Vec<T>)> {
    let mut groups: Vec<(K, Vec<T>)> = Vec::new();
    for (key, item) in items {
        match groups.iter_mut().find(|(other, _)| *other == key) {
            Some((_, group)) => group.push(item),
            None => groups.push((key, vec![item])),
        }
    }
    groups
}

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

/// Name of a value as users type it.
pub fn value_name(value: &impl ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_string()).unwrap_or_default()
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
    use proptest::prelude::*;

    use super::*;

    fn parsed(text: &str) -> Result<Vec<usize>, String> {
        let ranges = text.split(',').map(str::parse).collect::<Result<Vec<NumberRange>, _>>()?;
        Ok(numbers(&ranges))
    }

    fn refused(text: &str) -> String {
        parsed(text).unwrap_err()
    }

    #[test]
    fn numbers_and_ranges_keep_the_order_typed() {
        assert_eq!(parsed("32"), Ok(vec![32]));
        assert_eq!(parsed("1024, 7,32"), Ok(vec![1024, 7, 32]));
        assert_eq!(parsed("32..256"), Ok(vec![32, 64, 128, 256]));
        assert_eq!(parsed("100,1..4,4,8..8"), Ok(vec![100, 1, 2, 4, 8]));
        assert_eq!(parsed("4,1..2"), Ok(vec![4, 1, 2]));
        assert_eq!(parsed("32-256,7"), Ok(vec![32, 64, 128, 256, 7]));
    }

    #[test]
    fn wrong_items_are_explained() {
        for text in ["", "32,", ",32", "1,,2"] {
            assert_eq!(refused(text), "an item of the list is empty");
        }
        assert!(refused("many").contains("`many` is not a whole number"));
        assert!(refused("-1").contains("`-1` is not a whole number"));
        assert!(refused("1..").contains("not a whole number"));
        assert!(refused("99999999999999999999").contains("not a whole number"));
        assert_eq!(refused("9223372036854775808"), "9223372036854775808 is more than 4294967296");
        assert!(refused("0").contains("start at 1"));
        assert!(refused("64..32").contains("`64..32` ends before it starts"));
        assert!(refused("64-32").contains("`64-32` ends before it starts"));
        assert!(refused("4-").contains("not a whole number"));
        assert!(refused("32..100").contains("100 is not one"));
    }

    #[test]
    fn whole_numbers_begin_at_zero() {
        assert_eq!((whole("0"), whole(" 17 ")), (Ok(0u64), Ok(17)));
        for text in ["-1", "x", "1.5", "99999999999999999999"] {
            assert!(whole::<usize>(text).unwrap_err().contains(&format!("`{text}` is not a whole number")));
        }
    }

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

    proptest! {
        #[test]
        fn any_text_is_parsed_or_refused(
            text in prop::collection::vec(prop::sample::select(&b"0123456789.,x -"[..]), 0..24),
        ) {
            let text = String::from_utf8(text).unwrap();
            if let Ok(numbers) = parsed(&text) {
                prop_assert!(!numbers.is_empty() && numbers.iter().all(|number| *number > 0));
            }
        }
    }
}
