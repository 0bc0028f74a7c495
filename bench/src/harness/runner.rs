//! Runner: verifies, times and records the cases of one problem after another.
use burn::tensor::Device;
use firefly_app::device::DeviceName;
use firefly_app::progress::StepProgress;
use firefly_ops::InstructionSet;

use super::case::{self, Case, run_cases};
use super::execution::ExecutionConfig;
use super::machine::available_memory;
use super::outcome::{CaseOutcome, CaseRecord};
use super::problem::{Problem, ProblemError};
use super::strategy::BenchStrategy;
use super::timing::Iterations;
use super::verification::Unsupported;

/// Share of the memory that can be taken which a problem may need.
const MEMORY_SHARE: f64 = 0.8;
/// Name of the strategy that copies the input: the speed of others is also given as a fraction of its speed.
pub const COPY_BASELINE: &str = "memcpy";
/// Suffix of the name of the baseline's second copy.
pub const CONTROL: &str = "-control";
/// Name of the comparison with the strategy that a strategy improves on.
const PREVIOUS: &str = "the one before";

/// Device, execution configurations and iterations of a measurement.
pub struct MeasurementSetup {
    /// Device that tensors are on.
    pub device: Device,
    /// The device's name.
    pub device_name: DeviceName,
    /// Execution configurations, those with the same threads next to each other.
    pub executions: Vec<ExecutionConfig>,
    /// Iterations per case.
    pub iterations: Iterations,
    /// Seed of the inputs, and of the order in which cases take turns.
    pub seed: u64,
}

/// Strategy and execution configuration of a case, by position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Configuration {
    strategy: usize,
    execution: usize,
    /// Whether it is the second copy of the baseline.
    is_control: bool,
}

/// Runner of several strategies on every execution configuration.
pub struct Runner<'a, P: Problem> {
    strategies: &'a [&'a BenchStrategy<P>],
    baseline: Option<usize>,
    configurations: Vec<Configuration>,
    setup: &'a MeasurementSetup,
}

/// Every strategy on every execution configuration; a strategy that doesn't take instruction sets only once per number
/// of threads. The strategy at `control` is there twice.
fn configurations<P: Problem>(
    strategies: &[&BenchStrategy<P>],
    executions: &[ExecutionConfig],
    control: Option<usize>,
) -> Vec<Configuration> {
    let (mut configurations, mut first) = (Vec::new(), 0);
    for same_threads in executions.chunk_by(|a, b| a.threads() == b.threads()) {
        let entrants = (0..strategies.len()).map(|strategy| (strategy, false)).chain(control.map(|at| (at, true)));
        for (strategy, is_control) in entrants {
            let count = if strategies[strategy].info().takes_instruction_sets { same_threads.len() } else { 1 };
            let executions = first..first + count;
            configurations.extend(executions.map(|execution| Configuration { strategy, execution, is_control }));
        }
        first += same_threads.len();
    }
    configurations
}

impl<'a, P: Problem> Runner<'a, P> {
    /// A runner that relates speed to the strategy at position `baseline`, and measures it twice with `control`.
    pub fn new(
        strategies: &'a [&'a BenchStrategy<P>],
        baseline: Option<usize>,
        control: bool,
        setup: &'a MeasurementSetup,
    ) -> Self {
        let control = baseline.filter(|_| control);
        Self { strategies, baseline, configurations: configurations(strategies, &setup.executions, control), setup }
    }

    /// Steps of progress per problem.
    pub fn steps(&self) -> usize {
        case::steps(self.configurations.len(), self.setup.iterations)
    }

    /// Records of a problem's cases. `kept` holds the inputs of the previous problem, and afterwards those of this one.
    pub fn run(&self, problem: &P, kept: &mut Option<P::Inputs>, progress: &StepProgress) -> Vec<CaseRecord> {
        let outcomes = self.outcomes(problem, kept, progress).unwrap_or_else(|outcome| {
            progress.advance(self.steps());
            vec![outcome; self.configurations.len()]
        });
        let records = self.configurations.iter().zip(outcomes);
        records.map(|(configuration, outcome)| self.record(*configuration, problem, outcome)).collect()
    }

    /// Outcomes of all cases, or the outcome that they share if the problem has no inputs or no expected results.
    fn outcomes(
        &self,
        problem: &P,
        kept: &mut Option<P::Inputs>,
        progress: &StepProgress,
    ) -> Result<Vec<CaseOutcome>, CaseOutcome> {
        let MeasurementSetup { device, iterations, seed, .. } = self.setup;
        // Inputs that don't fit are dropped before memory for others is allocated.
        let fitting = kept.take().filter(|inputs| problem.fits(inputs));
        problem.check().map_err(CaseOutcome::unsupported)?;
        let inputs = match fitting {
            Some(fitting) => fitting,
            None => {
                let most_sets = iterations.warmup + iterations.timed;
                check_memory(self.memory(problem, most_sets)).map_err(CaseOutcome::unsupported)?;
                problem.generate(*seed, most_sets, device)
            }
        };
        let inputs: &P::Inputs = kept.insert(inputs);
        let expected = problem.expected(inputs, *seed).map_err(|error| CaseOutcome::failed(error.to_string()))?;
        let cases =
            self.configurations.iter().map(|configuration| self.case(*configuration, problem, inputs, &expected));
        Ok(run_cases(cases.collect(), problem.size(), *iterations, *seed, progress))
    }

    /// Bytes of host memory that a problem takes: its inputs, the buffers that all cases hold, and the temporaries of
    /// the largest. On an accelerator, results and temporaries are in device memory, whose size is not known.
    fn memory(&self, problem: &P, most_sets: usize) -> usize {
        let inputs = problem.input_memory(most_sets);
        if !self.setup.device_name.kind().is_host() {
            return inputs;
        }
        let needs = || self.configurations.iter().map(|configuration| self.parts(*configuration).0.memory(problem));
        let held: usize = needs().map(|need| need.held).sum();
        inputs + held + needs().map(|need| need.transient).max().unwrap_or(0)
    }

    fn case<'b>(
        &'b self,
        configuration: Configuration,
        problem: &'b P,
        inputs: &'b P::Inputs,
        expected: &'b P::Expected,
    ) -> Case<'b> {
        let (strategy, execution) = self.parts(configuration);
        let forced = forced_set(strategy, execution);
        let verify = move || {
            if let Some(set) = forced {
                if set > InstructionSet::detected() {
                    return Err(Unsupported::InstructionSet(set).into());
                }
                if strategy.instruction_set(problem) != Some(set.name()) {
                    return Err(Unsupported::Kernel(set).into());
                }
            }
            strategy.verify(problem, inputs, expected)
        };
        Case { execution, verify: Box::new(verify), comparisons: self.comparisons(configuration) }
    }

    /// Cases that a case's speed is given relative to: the baseline and the copy on as many threads, the strategy that
    /// it improves on, and the same strategy on the first number of threads.
    fn comparisons(&self, configuration: Configuration) -> Vec<(String, usize)> {
        let executions = &self.setup.executions;
        let threads = |configuration: Configuration| executions[configuration.execution].threads();
        let find = |wanted: &dyn Fn(Configuration) -> bool| {
            self.configurations.iter().position(|&other| !other.is_control && wanted(other))
        };
        // A strategy that takes instruction sets too is compared on the same one; any other has a single case.
        let with_same_threads = |strategy: usize| {
            let matches = |other: Configuration| other.strategy == strategy && threads(other) == threads(configuration);
            find(&|other| matches(other) && other.execution == configuration.execution).or_else(|| find(&matches))
        };
        let named = |name: &str| self.strategies.iter().position(|strategy| strategy.info().name == name);
        let mut comparisons = Vec::new();
        if let Some(baseline) = self.baseline {
            let name = self.strategies[baseline].info().name;
            comparisons.extend(with_same_threads(baseline).map(|other| (name.to_string(), other)));
        }
        if let Some(copy) = named(COPY_BASELINE) {
            comparisons.extend(with_same_threads(copy).map(|other| (COPY_BASELINE.to_string(), other)));
        }
        if let Some(previous) = self.strategies[configuration.strategy].info().previous.and_then(named) {
            comparisons.extend(with_same_threads(previous).map(|other| (PREVIOUS.to_string(), other)));
        }
        let fewest = executions[0].threads();
        if executions.iter().any(|execution| execution.threads() != fewest) {
            let with_fewest = find(&|other| {
                other.strategy == configuration.strategy
                    && threads(other) == fewest
                    && executions[other.execution].forced() == executions[configuration.execution].forced()
            });
            let plural = if fewest == 1 { "" } else { "s" };
            comparisons.extend(with_fewest.map(|other| (format!("{fewest} thread{plural}"), other)));
        }
        comparisons
    }

    fn record(&self, configuration: Configuration, problem: &P, outcome: CaseOutcome) -> CaseRecord {
        let (strategy, execution) = self.parts(configuration);
        let forced = forced_set(strategy, execution).map(InstructionSet::name);
        CaseRecord {
            problem: problem.parameters(),
            strategy: format!("{}{}", strategy.info().name, if configuration.is_control { CONTROL } else { "" }),
            device: self.setup.device_name.to_string(),
            instruction_set: forced.or_else(|| self.chosen_set(strategy, problem, execution)).map(str::to_string),
            threads: execution.threads(),
            competes: strategy.info().competes && !configuration.is_control,
            outcome,
        }
    }

    fn parts(&self, configuration: Configuration) -> (&BenchStrategy<P>, &ExecutionConfig) {
        (self.strategies[configuration.strategy], &self.setup.executions[configuration.execution])
    }

    /// The set that a strategy's kernels choose themselves.
    fn chosen_set(
        &self,
        strategy: &BenchStrategy<P>,
        problem: &P,
        execution: &ExecutionConfig,
    ) -> Option<&'static str> {
        let known = !strategy.info().takes_instruction_sets || self.setup.device_name.kind().is_host();
        if known && problem.check().is_ok() { execution.run(|| strategy.instruction_set(problem)) } else { None }
    }
}

/// The set that a strategy is forced to use.
fn forced_set<P: Problem>(strategy: &BenchStrategy<P>, execution: &ExecutionConfig) -> Option<InstructionSet> {
    execution.forced().filter(|_| strategy.info().takes_instruction_sets)
}

/// Checks that `needed` bytes fit in memory.
fn check_memory(needed: usize) -> Result<(), ProblemError> {
    match available_memory() {
        Some(free) if needed as f64 > MEMORY_SHARE * free as f64 => Err(ProblemError::Memory { needed, free }),
        _ => Ok(()),
    }
}
