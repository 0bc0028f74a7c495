//! Execution configurations: host threads and a forced instruction set.

use std::sync::Arc;

use firefly_ops::instruction_sets::InstructionSet;
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

/// Host threads, and the instruction set that Firefly's kernels are forced to use, if any.
#[derive(Debug, Clone)]
pub struct ExecutionConfig {
    pool: Arc<ThreadPool>,
    /// The set that kernels are forced to use.
    pub forced: Option<InstructionSet>,
}

impl ExecutionConfig {
    /// Every combination of `threads` and `sets`, those with the same threads next to each other. Without sets, kernels
    /// choose their own.
    ///
    /// # Errors
    /// [`ThreadPoolBuildError`] if threads can't be started.
    pub fn all(threads: &[usize], sets: Option<&[InstructionSet]>) -> Result<Vec<Self>, ThreadPoolBuildError> {
        let sets: Vec<Option<InstructionSet>> =
            sets.map_or_else(|| vec![None], |sets| sets.iter().copied().map(Some).collect());
        let mut executions = Vec::new();
        for &threads in threads {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build()?;
            let pool = Arc::new(pool);
            executions.extend(sets.iter().map(|&forced| Self { pool: pool.clone(), forced }));
        }
        Ok(executions)
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// Runs `body` on one of the threads.
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
    fn a_configuration_has_its_threads_and_its_set() {
        let sets = [InstructionSet::detected(), InstructionSet::Portable];
        let executions = ExecutionConfig::all(&[1, 3], Some(&sets)).unwrap();
        assert_eq!(executions.iter().map(ExecutionConfig::threads).collect::<Vec<_>>(), [1, 1, 3, 3]);
        assert_eq!(executions[3].run(|| (InstructionSet::current(), rayon::current_num_threads())), {
            (InstructionSet::Portable, 3)
        });
        let free = ExecutionConfig::all(&[2], None).unwrap();
        assert_eq!((free.len(), free[0].run(InstructionSet::current)), (1, InstructionSet::detected()));
    }
}
