//! What a case runs on: so many threads, and an instruction set.

use std::sync::Arc;

use anyhow::Context;
use firefly_ops::InstructionSet;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Host threads, and the instruction set that Firefly's kernels are made to use, if any.
#[derive(Debug, Clone)]
pub struct Lane {
    pool: Arc<ThreadPool>,
    forced: Option<InstructionSet>,
}

impl Lane {
    /// Every combination of `threads` and `sets`, those with the same threads next to each other. Without sets, kernels
    /// choose their own.
    ///
    /// # Errors
    /// If threads can't be made.
    pub fn all(threads: &[usize], sets: Option<&[InstructionSet]>) -> anyhow::Result<Vec<Self>> {
        let sets: Vec<Option<InstructionSet>> =
            sets.map_or_else(|| vec![None], |sets| sets.iter().copied().map(Some).collect());
        let mut lanes = Vec::new();
        for &threads in threads {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build().context("--threads")?;
            let pool = Arc::new(pool);
            lanes.extend(sets.iter().map(|&forced| Self { pool: pool.clone(), forced }));
        }
        Ok(lanes)
    }

    /// Threads it has.
    pub fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// The set that kernels are made to use.
    pub fn forced(&self) -> Option<InstructionSet> {
        self.forced
    }

    /// Runs `body` on one of its threads.
    pub fn run<R: Send>(&self, body: impl FnOnce() -> R + Send) -> R {
        self.pool.install(|| match self.forced {
            Some(set) => set.force(body),
            None => body(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lane_has_its_threads_and_its_set() {
        let sets = [InstructionSet::detected(), InstructionSet::Portable];
        let lanes = Lane::all(&[1, 3], Some(&sets)).unwrap();
        assert_eq!(lanes.iter().map(Lane::threads).collect::<Vec<_>>(), [1, 1, 3, 3]);
        assert_eq!(lanes[3].run(|| (InstructionSet::current(), rayon::current_num_threads())), {
            (InstructionSet::Portable, 3)
        });
        let free = Lane::all(&[2], None).unwrap();
        assert_eq!((free.len(), free[0].run(InstructionSet::current)), (1, InstructionSet::detected()));
    }
}
