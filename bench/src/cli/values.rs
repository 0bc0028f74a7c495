//! Named values of options.

use std::fmt;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use firefly_models::Tier;
use firefly_ops::InstructionSet;

/// Tiers by name.
pub const TIERS: [(&str, Tier); 3] = [("ultra", Tier::Ultra), ("fast", Tier::Fast), ("reference", Tier::Reference)];

/// Parser of a value by its name; the error names the possible values and the nearest one.
pub fn named<T: Clone + Send + Sync + 'static>(
    values: impl IntoIterator<Item = (&'static str, T)>,
) -> impl TypedValueParser<Value = T> {
    let values: Vec<(&'static str, T)> = values.into_iter().collect();
    let names = PossibleValuesParser::new(values.iter().map(|(name, _)| *name));
    names.try_map(move |name| {
        let found = values.iter().find(|(other, _)| *other == name);
        found.map(|(_, value)| value.clone()).ok_or(UnknownName(name))
    })
}

/// Parser of an instruction set by its name.
pub fn instruction_set() -> impl TypedValueParser<Value = InstructionSet> {
    named(InstructionSet::ALL.iter().map(|set| (set.name(), *set)))
}

/// Name that is not among the possible values.
#[derive(Debug, Clone, PartialEq, Eq)]
struct UnknownName(String);

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown name `{}`", self.0)
    }
}

impl std::error::Error for UnknownName {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiers_have_the_names_that_models_give_them() {
        assert_eq!(TIERS.map(|(_, tier)| tier), Tier::ALL);
        assert!(TIERS.iter().all(|(name, tier)| *name == tier.to_string()));
    }
}
