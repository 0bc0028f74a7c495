//! What is timed.

/// Something that is ready to run on any of several input sets.
pub trait Workload: Send {
    /// Puts the input back where a run takes it from, for workloads that overwrite it. Not timed.
    fn restore(&mut self, _set: usize) {}

    /// Computes one input set, to the end: what it computed is where the caller of such a computation wants it. Timed.
    ///
    /// # Errors
    /// What went wrong.
    fn run(&mut self, set: usize) -> Result<(), String>;

    /// The [`checksum`] of what the last run computed. Not timed.
    fn checksum(&self) -> u64;
}

/// A workload whose output can be looked at.
pub trait Produces<O>: Workload {
    /// What the last run computed.
    ///
    /// # Errors
    /// If there is nothing, or it is not of a known type.
    fn output(&self) -> Result<O, String>;
}

/// A sum over every byte, that two outputs share if they are equal.
pub fn checksum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let whole = words.iter().fold(0u64, |sum, word| sum.wrapping_add(u64::from_le_bytes(*word)));
    rest.iter().fold(whole, |sum, &byte| sum.rotate_left(8).wrapping_add(u64::from(byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_sees_every_byte() {
        let bytes: Vec<u8> = (0..29).collect();
        for position in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[position] ^= 1;
            assert_ne!(checksum(&changed), checksum(&bytes), "byte {position}");
        }
    }
}
