//! Memory that recordings, tables and arrays may take, counted while they are read.

use firefly_app::host::available_memory;

/// Memory that is left for samples: at first half of what is available, since work on them needs some, too.
#[derive(Debug, Clone, Copy)]
pub(super) struct SampleMemory {
    /// Bytes.
    pub left: u64,
}

impl Default for SampleMemory {
    /// Half of the available memory; no limit where it is not known.
    fn default() -> Self {
        Self { left: available_memory().map_or(u64::MAX, |available| available / 2) }
    }
}

impl SampleMemory {
    /// Memory of a table or an array: half of that of recordings, since tasks make copies of them.
    pub fn of_table() -> Self {
        Self { left: Self::default().left / 2 }
    }

    /// Takes the memory of samples that are about to be held; false if it is not there.
    #[must_use]
    pub fn take(&mut self, samples: u64) -> bool {
        let left = self.left.checked_sub(samples.saturating_mul(size_of::<f32>() as u64));
        left.map(|left| self.left = left).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_take_what_is_left_and_no_more() {
        let mut memory = SampleMemory { left: 256 << 20 };
        assert!(memory.take(32 << 20) && memory.take(32 << 20));
        assert!(!memory.take(1) && !memory.take(u64::MAX), "nothing is left");
        assert!(memory.take(0));
        assert!(SampleMemory { left: 4 }.take(1));
        assert!(!SampleMemory { left: 3 }.take(1));
    }
}
