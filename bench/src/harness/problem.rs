//! Problems, the strategies that are compared on them, with what these run on, and the reasons why one has no time.

use std::fmt::Display;
use std::sync::Arc;

use firefly_app::number::bytes;
use firefly_framework::graph::GraphError;
use firefly_ops::ArgumentError;
use firefly_ops::instruction_sets::InstructionSet;
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
use thiserror::Error;

use super::{Inputs, ParameterMap, TensorSpec, Verified, available_memory};

/// Largest tensor of a problem, in bytes; larger batches are to be split.
pub const MAX_BYTES: usize = 8 << 30;
/// Share of the memory that can be taken which a problem may need.
pub const MEMORY_SHARE: f64 = 0.8;

/// One operation at one size. What is expected of a strategy is an [`Expectation`](super::verification::Expectation), which
/// the strategy gives with its routine.
pub trait Problem: Clone + Send + Sync + 'static {
    fn spec(&self) -> ProblemSpec;
}

pub struct ProblemSpec {
    /// The parameters that fix the problem.
    pub parameters: ParameterMap,
    pub rows: usize,
    /// The input tensors: those that differ from set to set first, then parameters, which do not.
    pub inputs: Vec<TensorSpec>,
    pub output_bytes: usize,
    /// Bytes per call that any strategy has to move: of every input and the result, unless it is said.
    pub useful_bytes: usize,
    pub max_sets: usize,
    /// The reason why no strategy could solve the problem, if there is one.
    pub refused: Option<CaseError>,
}

impl ProblemSpec {
    pub fn new(parameters: ParameterMap, rows: usize, inputs: Vec<TensorSpec>, output_bytes: usize) -> Self {
        let (max_sets, refused) = (usize::MAX, None);
        let spec = Self { parameters, rows, inputs, output_bytes, useful_bytes: 0, max_sets, refused };
        Self { useful_bytes: spec.bytes(), ..spec }
    }

    pub fn input_bytes(&self) -> usize {
        self.inputs.iter().map(TensorSpec::bytes).fold(0, usize::saturating_add)
    }

    pub fn bytes(&self) -> usize {
        self.input_bytes().saturating_add(self.output_bytes)
    }
}

/// Reason why a case has no time.
#[derive(Debug, Error)]
pub enum CaseError {
    /// The strategy doesn't support the problem or the device, or the machine has no room for the problem.
    #[error("{0}")]
    Unsupported(String),
    /// The routine failed, or its result is not the reference's.
    #[error("{0}")]
    Failed(anyhow::Error),
}

/// Result of a step of a case.
pub type CaseResult<T> = Result<T, CaseError>;

impl From<ArgumentError> for CaseError {
    fn from(error: ArgumentError) -> Self {
        Self::unsupported(error)
    }
}

impl From<GraphError> for CaseError {
    fn from(error: GraphError) -> Self {
        Self::unsupported(error)
    }
}

/// A routine's error, which may itself be such a reason.
impl From<anyhow::Error> for CaseError {
    fn from(error: anyhow::Error) -> Self {
        error.downcast().unwrap_or_else(Self::Failed)
    }
}

impl CaseError {
    pub(crate) fn unsupported(reason: impl ToString) -> Self {
        Self::Unsupported(reason.to_string())
    }

    pub(crate) fn no_transform(library: &str) -> Self {
        Self::Unsupported(format!("{library} has no such transform"))
    }

    pub(crate) fn out_of_range(parameter: &str, got: usize, expected: impl Display) -> Self {
        Self::Unsupported(format!("{parameter} is {got}, but must be {expected}"))
    }
}

/// The reason why `batch` rows, whose inputs or results take `row_bytes` bytes each, are too many: they take more than
/// [`MAX_BYTES`].
pub fn too_large(batch: usize, row_bytes: usize) -> Option<CaseError> {
    let most = MAX_BYTES / row_bytes.max(1);
    let refuse = || CaseError::out_of_range("batch", batch, format_args!("at most {most}, for tensors of 8 GiB"));
    (batch > most).then(refuse)
}

pub fn check_memory(needed: usize) -> CaseResult<()> {
    match available_memory() {
        Some(free) if needed as f64 > MEMORY_SHARE * free as f64 => Err(CaseError::Unsupported(format!(
            "inputs, results and temporaries take {} of memory, and {} can be taken, of which a fifth is left to others",
            bytes(needed as u64),
            bytes(free)
        ))),
        _ => Ok(()),
    }
}

/// Prepares what is needed once (plans, buffers, tensors on the device of the inputs), then runs every input set and
/// compares the results with the expected ones. Called on the thread pool that the routine may use.
pub type Verify<P> = dyn for<'a> Fn(&P, &'a Inputs) -> CaseResult<Verified<'a>> + Send + Sync;

/// Way to solve the problems of a suite, and what a comparison has to take into account.
#[allow(missing_docs, reason = "the methods that set them describe the fields")]
pub struct BenchStrategy<P: Problem> {
    pub name: &'static str,
    pub aliases: &'static [&'static str],
    pub summary: &'static str,
    pub takes_instruction_sets: bool,
    pub needs_accelerator: bool,
    pub is_by_name: bool,
    pub competes: bool,
    /// Name of the strategy that it improves on: its speed is also given relative to that one.
    pub previous: Option<&'static str>,
    pub instruction_set: fn(&P) -> Option<&'static str>,
    /// A verified routine for a problem; an error if that is not supported, or the result is wrong.
    pub verify: Box<Verify<P>>,
    temporaries: usize,
}

impl<P: Problem> BenchStrategy<P> {
    /// A strategy that competes, runs everywhere, and whose instruction set is not known.
    pub fn new<F>(name: &'static str, summary: &'static str, verify: F) -> Self
    where
        F: for<'a> Fn(&P, &'a Inputs) -> CaseResult<Verified<'a>> + Send + Sync + 'static,
    {
        Self {
            name,
            aliases: &[],
            summary,
            takes_instruction_sets: false,
            needs_accelerator: false,
            is_by_name: false,
            competes: true,
            previous: None,
            instruction_set: |_| None,
            temporaries: 1,
            verify: Box::new(verify),
        }
    }

    /// Whether users may select it by `name`.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }

    /// Firefly's kernels for host processors: `chosen` is the set that they use on the calling thread.
    pub fn with_forced_sets(mut self, chosen: fn(&P) -> Option<&'static str>) -> Self {
        self.takes_instruction_sets = true;
        self.with_instruction_set(chosen)
    }

    /// Kernels of a library that chooses its instruction set itself.
    pub fn with_instruction_set(mut self, chosen: fn(&P) -> Option<&'static str>) -> Self {
        self.instruction_set = chosen;
        self
    }

    /// A strategy whose temporaries take so many times the memory of an input set and its result.
    pub const fn with_temporaries(mut self, times: usize) -> Self {
        self.temporaries = times;
        self
    }

    /// A strategy that measures transfers to a device with memory of its own: it runs on the host only if it is named.
    pub const fn on_accelerators(mut self) -> Self {
        self.needs_accelerator = true;
        self
    }

    /// A strategy with other names, of which its own may be one.
    pub const fn also_called(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    /// A strategy that takes longer to prepare than to measure: it runs only if it is named, or an option asks for it.
    pub const fn by_name(mut self) -> Self {
        self.is_by_name = true;
        self
    }

    /// A strategy that takes no part in the search for the fastest.
    pub const fn without_competing(mut self) -> Self {
        self.competes = false;
        self
    }

    /// A strategy of calls in flight: only accelerators run them while the host goes on, and the time of one of them is
    /// not that of a call.
    pub fn in_flight(self) -> Self {
        self.on_accelerators().without_competing()
    }

    /// Bytes of host memory that it takes beside the input sets of a problem, where the device is a host.
    pub fn memory(&self, spec: &ProblemSpec) -> usize {
        self.temporaries * spec.bytes()
    }
}

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
    pub fn all(threads: &[usize], sets: Option<&[InstructionSet]>) -> Result<Vec<Self>, ThreadPoolBuildError> {
        let sets: Vec<Option<InstructionSet>> =
            sets.map_or_else(|| vec![None], |sets| sets.iter().copied().map(Some).collect());
        let mut executions = Vec::new();
        for &threads in threads {
            let pool = Arc::new(ThreadPoolBuilder::new().num_threads(threads).build()?);
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
