//! Calls of an operation on arrays of another library, and the keys of their plans.

use burn::tensor::{DType, Shape};
use firefly_ops::op::{OpDescriptor, TensorSpec};

use crate::{InteropError, operation};

/// Bytes to which the addresses that kernels get are aligned: the widest that a thread loads at once.
pub const ALIGNMENT: u64 = 16;

/// An array in the memory of a device or the host.
#[derive(Debug, Clone, Copy)]
pub struct Array<'a> {
    /// Address of the first value.
    pub address: u64,
    /// Length of each dimension.
    pub shape: &'a [i64],
    /// Values from one index of a dimension to the next.
    pub strides: &'a [i64],
    /// Type of the values.
    pub dtype: DType,
}

impl Array<'_> {
    /// Bytes from an aligned address to the first value.
    pub fn offset(&self) -> u64 {
        self.address % ALIGNMENT
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.lengths().product()
    }

    /// Lengths of the dimensions.
    pub(crate) fn lengths(&self) -> impl DoubleEndedIterator<Item = usize> {
        self.shape.iter().map(|&length| length as usize)
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Strides in which those of dimensions that have one index, which no address depends on, are as in contiguous
    /// memory.
    pub fn relevant_strides(&self) -> Vec<usize> {
        let contiguous = contiguous_strides(self.lengths());
        let is_empty = self.is_empty();
        let relevant = |(dim, own): (usize, usize)| {
            if self.shape[dim] == 1 || is_empty { own } else { self.strides[dim] as usize }
        };
        contiguous.into_iter().enumerate().map(relevant).collect()
    }

    /// Whether values lie one after the other in the order of their indices.
    pub fn is_contiguous(&self) -> bool {
        self.relevant_strides() == contiguous_strides(self.lengths())
    }

    fn spec(&self) -> TensorSpec {
        TensorSpec { shape: Shape::from(self.lengths()), dtype: self.dtype }
    }
}

/// Strides of contiguous memory.
pub fn contiguous_strides(shape: impl DoubleEndedIterator<Item = usize>) -> Vec<usize> {
    let mut next = 1;
    let mut strides: Vec<usize> = shape
        .rev()
        .map(|length| {
            let own = next;
            next *= length.max(1);
            own
        })
        .collect();
    strides.reverse();
    strides
}

/// An operation on arrays.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The operation as [text](operation).
    pub operation: &'a str,
    /// Number of the CUDA device that the arrays are on; 0 for the host.
    pub device: u32,
    /// The inputs, in the order of the operation's row.
    pub inputs: &'a [Array<'a>],
}

impl Call<'_> {
    /// The operation, once its options and the shapes of its inputs are checked.
    ///
    /// # Errors
    /// [`InteropError::Operation`] for text that is no operation; [`InteropError::Argument`] for an option or an input.
    pub fn checked(&self) -> Result<OpDescriptor, InteropError> {
        let descriptor = operation::parse(self.operation)?;
        let specs: Vec<_> = self.inputs.iter().map(Array::spec).collect();
        descriptor.check(&specs)?;
        Ok(descriptor)
    }

    /// The key of the call's plan: equal for calls that launch the same kernels with the same arguments but addresses.
    ///
    /// # Errors
    /// [`InteropError::Array`] for an array of another type than f32, which kernels for devices compute with, and for
    /// arrays of more dimensions, or an operation of more text, than a key holds.
    pub fn key(&self) -> Result<Key, InteropError> {
        let mut key = Key { words: [0; KEY_WORDS], len: 0 };
        let text = self.operation.as_bytes();
        let needed: usize =
            2 + text.len().div_ceil(8) + self.inputs.iter().map(|i| 1 + 2 * i.shape.len()).sum::<usize>();
        if needed > KEY_WORDS {
            let got = format!("one of arrays and options of {needed} words");
            return Err(InteropError::array(self.operation, 0, got, "of 160 at most"));
        }
        key.push(u64::from(self.device));
        key.push(text.len() as u64);
        for bytes in text.chunks(8) {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            key.push(u64::from_ne_bytes(word));
        }
        for (position, input) in self.inputs.iter().enumerate() {
            let is_empty = input.shape.contains(&0);
            if input.dtype != DType::F32 {
                let got = format!("of {:?}", input.dtype);
                return Err(InteropError::array(self.operation, position, got, "of float32 on a CUDA device"));
            }
            key.push(input.offset() << 8 | (input.shape.len() as u64) << 16);
            for (&length, &stride) in input.shape.iter().zip(input.strides) {
                key.push(length as u64);
                key.push(if length == 1 || is_empty { 0 } else { stride as u64 });
            }
        }
        Ok(key)
    }
}

const KEY_WORDS: usize = 160;

/// Words that a plan follows from, in a buffer of fixed size: looking a plan up allocates nothing.
pub struct Key {
    words: [u64; KEY_WORDS],
    len: usize,
}

impl Key {
    fn push(&mut self, word: u64) {
        self.words[self.len] = word;
        self.len += 1;
    }

    /// The words.
    pub fn words(&self) -> &[u64] {
        &self.words[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(operation: &str, address: u64, shape: &[i64], strides: &[i64]) -> Vec<u64> {
        let inputs = [Array { address, shape, strides, dtype: DType::F32 }];
        Call { operation, device: 0, inputs: &inputs }.key().map(|key| key.words().to_vec()).unwrap_or_default()
    }

    #[test]
    fn strides_that_no_address_depends_on_are_not_in_the_key() {
        let own = words("top_k 5 0", 512, &[1, 384], &[384, 1]);
        assert_eq!(own, words("top_k 5 0", 1024, &[1, 384], &[1536, 1]));
        assert_eq!(words("top_k 5 0", 0, &[0, 384], &[384, 1]), words("top_k 5 0", 0, &[0, 384], &[1, 0]));
    }

    #[test]
    fn whatever_launches_depend_on_is_in_the_key() {
        let own = words("top_k 5 0", 512, &[2, 384], &[384, 1]);
        assert_ne!(own, words("top_k 6 0", 512, &[2, 384], &[384, 1]));
        assert_ne!(own, words("top_k 5 0", 516, &[2, 384], &[384, 1]));
        assert_ne!(own, words("top_k 5 0", 512, &[2, 383], &[384, 1]));
        assert_ne!(own, words("top_k 5 0", 512, &[2, 384], &[385, 1]));
        assert_ne!(own, words("top_k 5 0", 512, &[1, 2, 384], &[768, 384, 1]));
    }

    #[test]
    fn a_key_that_does_not_fit_is_an_error() {
        let inputs = [Array { address: 0, shape: &[1; 80], strides: &[1; 80], dtype: DType::F32 }];
        assert!(Call { operation: "top_k 5 0", device: 0, inputs: &inputs }.key().is_err());
    }

    #[test]
    fn devices_compute_in_float32_alone() {
        let inputs = [Array { address: 0, shape: &[8], strides: &[1], dtype: DType::F64 }];
        assert!(Call { operation: "top_k 5 0", device: 0, inputs: &inputs }.key().is_err());
    }

    #[test]
    fn contiguity_does_not_depend_on_dimensions_of_one_index() {
        let array = |shape, strides| Array { address: 0, shape, strides, dtype: DType::F32 };
        assert!(array(&[2, 1, 3], &[3, 77, 1]).is_contiguous());
        assert!(!array(&[2, 1, 3], &[4, 3, 1]).is_contiguous());
        assert!(!array(&[2, 3], &[0, 1]).is_contiguous());
    }
}
