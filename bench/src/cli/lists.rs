//! Lists as users type them: `32,256,1024..8192` and `fast,reference`.

use std::fmt;
use std::str::FromStr;

use firefly_app::suggest;
use serde::Serialize;
use thiserror::Error;

/// What is wrong with a list.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ListError {
    /// Nothing between two commas, or nothing at all.
    #[error("an item of the list is empty")]
    Empty,
    /// An item is not a whole number.
    #[error("`{0}` is not a whole number; lists look like 32,256 or 32..8192")]
    NotANumber(String),
    /// An item is zero.
    #[error("0 is not accepted; numbers start at 1")]
    Zero,
    /// A range ends before it starts.
    #[error("range `{0}` ends before it starts")]
    Backwards(String),
    /// An end of a range is not a power of two.
    #[error("range `{range}` goes through powers of two, and {end} is not one")]
    NotAPower {
        /// The range as typed.
        range: String,
        /// Its end that is not a power of two.
        end: usize,
    },
    /// A name that is not known.
    #[error("unknown {what} `{name}`{hint}; known are {known}")]
    Unknown {
        /// What is named: `strategy`, `tier`.
        what: &'static str,
        /// The name as typed.
        name: String,
        /// A suggestion, or nothing.
        hint: String,
        /// The names there are.
        known: String,
    },
}

/// Whole numbers from 1 in the order typed, each once. `a..b` stands for the powers of two from `a` to `b`, both
/// included.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Counts(pub Vec<usize>);

impl FromStr for Counts {
    type Err = ListError;

    fn from_str(text: &str) -> Result<Self, ListError> {
        let mut counts = Vec::new();
        for item in items(text) {
            let item = item?;
            match item.split_once("..") {
                None => push_new(&mut counts, count(item)?),
                Some((from, to)) => {
                    let (from, to) = (power_of_two(from, item)?, power_of_two(to, item)?);
                    if to < from {
                        return Err(ListError::Backwards(item.to_string()));
                    }
                    for exponent in from.ilog2()..=to.ilog2() {
                        push_new(&mut counts, 1 << exponent);
                    }
                }
            }
        }
        Ok(Self(counts))
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let items: Vec<String> = self.0.iter().map(usize::to_string).collect();
        f.write_str(&items.join(","))
    }
}

/// The positions in `known` of the names in a list, in the order typed, each once.
///
/// # Errors
/// [`ListError::Unknown`], with the nearest known name, or [`ListError::Empty`].
pub fn named(text: &str, what: &'static str, known: &[&str]) -> Result<Vec<usize>, ListError> {
    let mut positions = Vec::new();
    for item in items(text) {
        let name = item?;
        let position = known.iter().position(|candidate| *candidate == name).ok_or_else(|| ListError::Unknown {
            what,
            name: name.to_string(),
            hint: suggest::hint(name, known.iter().copied()),
            known: known.join(", "),
        })?;
        push_new(&mut positions, position);
    }
    Ok(positions)
}

fn items(text: &str) -> impl Iterator<Item = Result<&str, ListError>> {
    text.split(',').map(|item| match item.trim() {
        "" => Err(ListError::Empty),
        item => Ok(item),
    })
}

fn count(text: &str) -> Result<usize, ListError> {
    match text.trim().parse() {
        Ok(0) => Err(ListError::Zero),
        Ok(count) => Ok(count),
        Err(_) => Err(ListError::NotANumber(text.to_string())),
    }
}

fn power_of_two(text: &str, range: &str) -> Result<usize, ListError> {
    let end = count(text)?;
    if end.is_power_of_two() { Ok(end) } else { Err(ListError::NotAPower { range: range.to_string(), end }) }
}

fn push_new(list: &mut Vec<usize>, item: usize) {
    if !list.contains(&item) {
        list.push(item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Vec<usize> {
        text.parse::<Counts>().unwrap().0
    }

    fn refused(text: &str) -> String {
        text.parse::<Counts>().unwrap_err().to_string()
    }

    #[test]
    fn numbers_and_ranges_in_the_order_typed() {
        assert_eq!(parsed("32"), [32]);
        assert_eq!(parsed("1024, 7,32"), [1024, 7, 32]);
        assert_eq!(parsed("32..256"), [32, 64, 128, 256]);
        assert_eq!(parsed("100,1..4,4,8..8"), [100, 1, 2, 4, 8]);
        assert_eq!(parsed("1..4").len(), 3);
        assert_eq!("4,1..2".parse::<Counts>().unwrap().to_string(), "4,1,2");
    }

    #[test]
    fn bad_lists_say_what_is_wrong() {
        for text in ["", "32,", ",32", "1,,2"] {
            assert_eq!(refused(text), "an item of the list is empty");
        }
        assert!(refused("many").contains("`many` is not a whole number"));
        assert!(refused("-1").contains("`-1` is not a whole number"));
        assert!(refused("1..").contains("not a whole number"));
        assert!(refused("99999999999999999999").contains("not a whole number"));
        assert!(refused("0").contains("start at 1"));
        assert!(refused("64..32").contains("`64..32` ends before it starts"));
        assert!(refused("32..100").contains("100 is not one"));
    }

    #[test]
    fn names_are_found_once_and_slips_are_recognised() {
        let known = ["ultra", "fast", "reference"];
        assert_eq!(named("reference,fast,fast", "tier", &known), Ok(vec![2, 1]));
        assert_eq!(
            named("fats", "tier", &known).unwrap_err().to_string(),
            "unknown tier `fats` (did you mean `fast`?); known are ultra, fast, reference"
        );
        assert_eq!(named("fast,", "tier", &known), Err(ListError::Empty));
    }
}
