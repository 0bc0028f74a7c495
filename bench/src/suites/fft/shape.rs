//! Shapes of transforms.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::harness::number_list::{NumberError, NumberRange, distinct, numbers};

/// Largest number of dimensions of a transform.
const MAX_RANK: usize = 3;

/// Points along each dimension of a transform, one to three of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FftShape(Vec<usize>);

impl FftShape {
    /// Points along each dimension.
    pub fn dims(&self) -> &[usize] {
        &self.0
    }

    /// Points along all dimensions but the last.
    pub fn outer(&self) -> usize {
        self.0.iter().rev().skip(1).product()
    }

    /// Points along the last dimension.
    pub fn last(&self) -> usize {
        self.0.last().copied().unwrap_or(1)
    }

    /// Points of the transform.
    pub fn points(&self) -> usize {
        self.outer() * self.last()
    }
}

impl fmt::Display for FftShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dims: Vec<String> = self.0.iter().map(usize::to_string).collect();
        f.write_str(&dims.join("x"))
    }
}

/// Item of a list of shapes: `1000`, `128x128`, or `256..4096` for the powers of two from 256 to 4096.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shapes(Vec<FftShape>);

/// Reason why a text is no shape.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ParseShapeError {
    /// A number of points is wrong.
    #[error(transparent)]
    Number(#[from] NumberError),
    /// The shape has too many dimensions.
    #[error("`{0}` has more than three dimensions")]
    Rank(String),
}

impl Shapes {
    /// The shapes of a list in the order typed, each once.
    pub fn of(list: &[Self]) -> Vec<FftShape> {
        distinct(list.iter().flat_map(|item| item.0.iter().cloned()))
    }
}

impl FromStr for Shapes {
    type Err = ParseShapeError;

    fn from_str(text: &str) -> Result<Self, ParseShapeError> {
        let dims: Vec<NumberRange> = text.split('x').map(str::parse).collect::<Result<_, _>>()?;
        if dims.len() > MAX_RANK {
            return Err(ParseShapeError::Rank(text.to_string()));
        }
        let all = dims.iter().fold(vec![Vec::new()], |shapes: Vec<Vec<usize>>, range| {
            let extended = |shape: Vec<usize>| {
                let with = move |n| shape.iter().copied().chain([n]).collect();
                numbers(std::slice::from_ref(range)).into_iter().map(with)
            };
            shapes.into_iter().flat_map(extended).collect()
        });
        Ok(Self(all.into_iter().map(FftShape).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Vec<String> {
        Shapes::of(&[text.parse().unwrap()]).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn shapes_are_numbers_separated_by_x() {
        assert_eq!(parsed("1000"), ["1000"]);
        assert_eq!(parsed("8..32"), ["8", "16", "32"]);
        assert_eq!(parsed("12x5x7"), ["12x5x7"]);
        let shape = &Shapes::of(&["12x5x7".parse().unwrap()])[0];
        assert_eq!((shape.outer(), shape.last(), shape.points()), (60, 7, 420));
    }

    #[test]
    fn wrong_shapes_are_refused() {
        let error = |text: &str| text.parse::<Shapes>().unwrap_err().to_string();
        assert!(error("12xa").contains("`a` is not a whole number"));
        assert!(error("0x2").contains("numbers start at 1"));
        assert_eq!(error("2x2x2x2"), "`2x2x2x2` has more than three dimensions");
    }
}
