//! Check that recordings fit into the available memory, while they are read.

use firefly_app::host::available_memory;

use super::error::RecordingProblem;

/// Bytes of recordings between two looks at the available memory: a look takes as long as reading some of them.
const INTERVAL: u64 = 64 << 20;

/// Counter of the samples of recordings that are held in memory.
#[derive(Debug, Default)]
pub(super) struct MemoryCheck {
    /// Bytes counted since the last look.
    unchecked: u64,
}

impl MemoryCheck {
    /// Counts samples that are about to be held.
    ///
    /// # Errors
    /// [`RecordingProblem::Memory`] if they do not fit into the available memory.
    pub(super) fn take(&mut self, samples: u64) -> Result<(), RecordingProblem> {
        self.take_of(samples, available_memory)
    }

    fn take_of(&mut self, samples: u64, available: impl Fn() -> Option<u64>) -> Result<(), RecordingProblem> {
        let needed = samples.saturating_mul(size_of::<f32>() as u64);
        self.unchecked = self.unchecked.saturating_add(needed);
        if self.unchecked < INTERVAL {
            return Ok(());
        }
        self.unchecked = 0;
        match available() {
            Some(available) if needed > available => Err(RecordingProblem::Memory { needed, available }),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings_that_do_not_fit_are_refused_before_they_are_read() {
        let left = || Some(256 << 20);
        let mut check = MemoryCheck::default();
        assert!(check.take_of(64 << 20, left).is_ok(), "as many bytes as are left");
        let error = check.take_of(65 << 20, left).unwrap_err().to_string();
        assert!(error.starts_with("its samples take 260 MiB of memory, and 256 MiB are left"), "{error}");
        assert!(check.take_of(u64::MAX, left).is_err());
        assert!(check.take_of(u64::MAX, || None).is_ok(), "where the memory is not known, everything is read");
    }

    #[test]
    fn many_small_recordings_are_checked_together() {
        let mut check = MemoryCheck::default();
        let refused = (0..100).position(|_| check.take_of(1 << 20, || Some(0)).is_err());
        assert_eq!(refused, Some(15), "4 MiB each: the sixteenth fills the interval");
    }
}
