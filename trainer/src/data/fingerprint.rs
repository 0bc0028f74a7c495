//! Fingerprint of data: a number that changes with them.

use sha2::{Digest, Sha256};

/// Fingerprint of values in the order in which they are added: the first eight bytes of their SHA-256.
#[derive(Default)]
pub struct Fingerprint(Sha256);

impl Fingerprint {
    /// Adds a number.
    pub fn number(&mut self, number: usize) {
        self.0.update((number as u64).to_le_bytes());
    }

    /// Adds values.
    pub fn values<'a>(&mut self, values: impl IntoIterator<Item = &'a f32>) {
        values.into_iter().for_each(|value| self.0.update(value.to_le_bytes()));
    }

    /// The fingerprint.
    pub fn finish(self) -> u64 {
        self.0.finalize().iter().take(size_of::<u64>()).fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_changes_with_every_value_and_their_order() {
        let of = |values: &[f32]| {
            let mut fingerprint = Fingerprint::default();
            fingerprint.values(values);
            fingerprint.finish()
        };
        assert_eq!(of(&[1.0, 2.0]), of(&[1.0, 2.0]));
        assert_ne!(of(&[1.0, 2.0]), of(&[2.0, 1.0]));
        assert_ne!(of(&[1.0, 2.0]), of(&[1.0]));
    }
}
