//! Runner: verifies, times and records the cases of one problem after another.

use burn::tensor::Device;
use firefly_app::device::DeviceName;
use firefly_app::progress::StepProgress;
use firefly_ops::instruction_sets::InstructionSet;

use super::{
    BenchStrategy, CaseError, CaseOutcome, CaseRecord, ExecutionConfig, Inputs, Iterations, Measured, Percentiles,
    Problem, ProblemSpec, SpeedRatio, Verified, VerifiedCase, WorkSize, check_memory, interleave, is_interrupted,
};

/// Name of the strategy that copies the input: the speed of others is also given as a fraction of its speed.
pub const COPY_BASELINE: &str = "memcpy";
/// Suffix of the name of the baseline's second copy.
pub const CONTROL: &str = "-control";
/// Name of the comparison with the strategy that a strategy improves on.
const PREVIOUS: &str = "the one before";

/// Device, execution configurations and iterations of a measurement.
pub struct MeasurementSetup {
    pub device: Device,
    pub device_name: DeviceName,
    /// Execution configurations, those with the same threads next to each other.
    pub executions: Vec<ExecutionConfig>,
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

impl<'a, P: Problem> Runner<'a, P> {
    /// A runner that relates speed to the strategy at position `baseline`, and measures it twice with `control`.
    pub fn new(
        strategies: &'a [&'a BenchStrategy<P>],
        baseline: Option<usize>,
        control: bool,
        setup: &'a MeasurementSetup,
    ) -> Self {
        let control = baseline.filter(|_| control);
        let (mut configurations, mut first) = (Vec::new(), 0);
        for same_threads in setup.executions.chunk_by(|a, b| a.threads() == b.threads()) {
            let entrants = (0..strategies.len()).map(|strategy| (strategy, false)).chain(control.map(|at| (at, true)));
            for (strategy, is_control) in entrants {
                // A strategy that doesn't take instruction sets is there only once per number of threads.
                let count = if strategies[strategy].takes_instruction_sets { same_threads.len() } else { 1 };
                let executions = first..first + count;
                configurations.extend(executions.map(|execution| Configuration { strategy, execution, is_control }));
            }
            first += same_threads.len();
        }
        Self { strategies, baseline, configurations, setup }
    }

    pub fn steps(&self) -> usize {
        let Iterations { warmup, timed } = self.setup.iterations;
        self.configurations.len() + warmup + timed
    }

    /// Records of a problem's cases. `kept` holds the inputs of the previous problem, and afterwards those of this one.
    pub fn run(&self, problem: &P, kept: &mut Option<Inputs>, progress: &StepProgress) -> Vec<CaseRecord> {
        let spec = problem.spec();
        let parameters = spec.parameters.clone();
        let is_refused = spec.refused.is_some();
        let outcomes = self.outcomes(problem, spec, kept, progress).unwrap_or_else(|error| {
            progress.advance(self.steps());
            vec![error.into(); self.configurations.len()]
        });
        let record = |(configuration, outcome): (&Configuration, CaseOutcome)| {
            let (strategy, execution) = self.parts(*configuration);
            let chosen = || execution.run(|| (strategy.instruction_set)(problem));
            let forced = forced_set(strategy, execution).map(InstructionSet::name);
            let is_known = !strategy.takes_instruction_sets || self.setup.device_name.kind().is_host();
            CaseRecord {
                problem: parameters.clone(),
                strategy: format!("{}{}", strategy.name, if configuration.is_control { CONTROL } else { "" }),
                device: self.setup.device_name.to_string(),
                instruction_set: forced
                    .or_else(|| if is_known && !is_refused { chosen() } else { None })
                    .map(str::to_string),
                threads: execution.threads(),
                competes: strategy.competes && !configuration.is_control,
                outcome,
            }
        };
        self.configurations.iter().zip(outcomes).map(record).collect()
    }

    /// Outcomes of all cases, or the reason that they share if the problem has no inputs.
    fn outcomes(
        &self,
        problem: &P,
        mut spec: ProblemSpec,
        kept: &mut Option<Inputs>,
        progress: &StepProgress,
    ) -> Result<Vec<CaseOutcome>, CaseError> {
        let MeasurementSetup { device, iterations, seed, .. } = self.setup;
        // Inputs that don't fit are dropped before memory for others is allocated.
        let fitting = kept.take().filter(|inputs| inputs.fit(&spec.inputs, spec.rows));
        let size = WorkSize { rows: spec.rows, useful_bytes: spec.useful_bytes };
        if let Some(reason) = spec.refused.take() {
            return Err(reason);
        }
        let inputs = match fitting {
            Some(fitting) => fitting.for_another_problem(),
            None => {
                let most_sets = (iterations.warmup + iterations.timed).min(spec.max_sets);
                // On an accelerator, results and temporaries are in device memory, whose size is not known.
                let is_on_host = self.setup.device_name.kind().is_host();
                let own = self.strategies.iter().map(|strategy| strategy.memory(&spec)).max().filter(|_| is_on_host);
                check_memory(Inputs::memory(&spec.inputs, spec.rows, most_sets) + own.unwrap_or(0))?;
                Inputs::generate(spec.inputs, spec.rows, *seed, most_sets, device)
            }
        };
        Ok(self.measured(problem, size, kept.insert(inputs), progress))
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
        let named = |name: &str| self.strategies.iter().position(|strategy| strategy.name == name);
        let others = [
            self.baseline.map(|baseline| (self.strategies[baseline].name, baseline)),
            named(COPY_BASELINE).map(|copy| (COPY_BASELINE, copy)),
            self.strategies[configuration.strategy].previous.and_then(named).map(|previous| (PREVIOUS, previous)),
        ];
        let compared = |(name, strategy): (&str, usize)| Some((name.to_string(), with_same_threads(strategy)?));
        let mut comparisons: Vec<(String, usize)> = others.into_iter().flatten().filter_map(compared).collect();
        let fewest = executions[0].threads();
        if executions.iter().any(|execution| execution.threads() != fewest) {
            let with_fewest = find(&|other| {
                other.strategy == configuration.strategy
                    && threads(other) == fewest
                    && executions[other.execution].forced == executions[configuration.execution].forced
            });
            let plural = if fewest == 1 { "" } else { "s" };
            comparisons.extend(with_fewest.map(|other| (format!("{fewest} thread{plural}"), other)));
        }
        comparisons
    }

    fn parts(&self, configuration: Configuration) -> (&BenchStrategy<P>, &ExecutionConfig) {
        (self.strategies[configuration.strategy], &self.setup.executions[configuration.execution])
    }

    /// Outcomes of the cases, in their order. Progress advances by [`steps`](Self::steps).
    fn measured(&self, problem: &P, size: WorkSize, inputs: &Inputs, progress: &StepProgress) -> Vec<CaseOutcome> {
        let MeasurementSetup { iterations, seed, .. } = *self.setup;
        let mut outcomes: Vec<Option<CaseOutcome>> = Vec::with_capacity(self.configurations.len());
        let (mut routines, mut passed) = (Vec::new(), Vec::new());
        // Verify each case on its own threads; what fails has its outcome, what passes will be timed.
        for (index, &configuration) in self.configurations.iter().enumerate() {
            if is_interrupted() {
                outcomes.push(Some(CaseOutcome::unsupported("interrupted")));
                continue;
            }
            let (strategy, execution) = self.parts(configuration);
            outcomes.push(match execution.run(|| verified(strategy, execution, problem, inputs)) {
                Ok(Verified { routine, checksums, verification, useful_bytes, accuracy, traffic, selected }) => {
                    let size = WorkSize { useful_bytes: useful_bytes.unwrap_or(size.useful_bytes), ..size };
                    let sets = checksums.len();
                    let measured = move |samples: Vec<u64>| {
                        let measured = Measured::new(size, verification, sets, samples)?;
                        Some(Measured { accuracy, traffic, selected, ..measured })
                    };
                    passed.push((index, measured));
                    routines.push(VerifiedCase { execution, routine, checksums });
                    None
                }
                Err(error) => Some(error.into()),
            });
            progress.advance(1);
        }
        // Time all that passed in one loop.
        let mut left = iterations.warmup + iterations.timed;
        let timed = interleave(&mut routines, iterations, seed, || {
            left -= 1;
            progress.advance(1);
        });
        progress.advance(left);

        // Relate the times to those of other cases.
        let places: Vec<usize> = passed.iter().map(|(index, _)| *index).collect();
        let samples_of = |which: usize| timed[places.iter().position(|index| *index == which)?].as_ref().ok();
        for ((index, measured), samples) in passed.into_iter().zip(&timed) {
            outcomes[index] = match samples {
                Ok(samples) => measured(samples.clone()).map(|measured| {
                    let ratio = |(baseline, other): (String, usize)| {
                        let ratio = Percentiles::of_speed_ratio(samples_of(other)?, samples)?;
                        Some(SpeedRatio { baseline, ratio })
                    };
                    let speed = self.comparisons(self.configurations[index]).into_iter().filter_map(ratio).collect();
                    CaseOutcome::Measured(Box::new(Measured { speed, ..measured }))
                }),
                Err(error) => Some(CaseOutcome::failed(error.to_string())),
            };
        }
        outcomes.into_iter().map(|outcome| outcome.unwrap_or_else(|| CaseOutcome::failed("it was not timed"))).collect()
    }
}

/// The strategy's routine, verified on the calling threads with the set that its kernels are forced to use.
fn verified<'a, P: Problem>(
    strategy: &BenchStrategy<P>,
    execution: &ExecutionConfig,
    problem: &P,
    inputs: &'a Inputs,
) -> Result<Verified<'a>, CaseError> {
    if let Some(set) = forced_set(strategy, execution) {
        if set > InstructionSet::detected() {
            return Err(CaseError::Unsupported(format!("this processor does not have {set}")));
        }
        if (strategy.instruction_set)(problem) != Some(set.name()) {
            return Err(CaseError::Unsupported(format!("there is no kernel for {set} at this size")));
        }
    }
    (strategy.verify)(problem, inputs)
}

fn forced_set<P: Problem>(strategy: &BenchStrategy<P>, execution: &ExecutionConfig) -> Option<InstructionSet> {
    execution.forced.filter(|_| strategy.takes_instruction_sets)
}
