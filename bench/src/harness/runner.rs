//! Runner: verifies, times and records the cases of one problem after another.

use std::time::Instant;

use burn::tensor::Device;
use firefly_app::device::DeviceName;
use firefly_app::progress::StepProgress;
use firefly_ops::instruction_sets::InstructionSet;

use super::{
    BenchStrategy, CaseError, CaseOutcome, CaseRecord, CaseResult, ExecutionConfig, Inputs, Iterations, Measured,
    Percentiles, Problem, ProblemSpec, SpeedRatio, Verified, check_memory, interleave, is_interrupted,
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

/// Strategy of a case, and what it runs on.
struct Configuration<'a, P: Problem> {
    strategy: &'a BenchStrategy<P>,
    execution: &'a ExecutionConfig,
    /// Whether it is the second copy of the baseline.
    is_control: bool,
}

/// Runner of several strategies on every execution configuration.
pub struct Runner<'a, P: Problem> {
    baseline: Option<&'a BenchStrategy<P>>,
    configurations: Vec<Configuration<'a, P>>,
    setup: &'a MeasurementSetup,
}

impl<'a, P: Problem> Runner<'a, P> {
    /// A runner that relates speed to the strategy at position `baseline`, and measures it twice with `control`.
    pub fn new(
        strategies: &[&'a BenchStrategy<P>],
        baseline: Option<usize>,
        control: bool,
        setup: &'a MeasurementSetup,
    ) -> Self {
        let baseline = baseline.map(|at| strategies[at]);
        let control = baseline.filter(|_| control);
        let mut configurations = Vec::new();
        for same_threads in setup.executions.chunk_by(|a, b| a.threads() == b.threads()) {
            let entrants = strategies.iter().map(|strategy| (*strategy, false)).chain(control.map(|own| (own, true)));
            for (strategy, is_control) in entrants {
                // A strategy that doesn't take instruction sets is there only once per number of threads.
                let count = if strategy.takes_instruction_sets { same_threads.len() } else { 1 };
                let of = |execution| Configuration { strategy, execution, is_control };
                configurations.extend(same_threads[..count].iter().map(of));
            }
        }
        Self { baseline, configurations, setup }
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
        let record = |(configuration, outcome): (&Configuration<'_, P>, CaseOutcome)| {
            let Configuration { strategy, execution, is_control } = configuration;
            let is_known = !strategy.takes_instruction_sets || self.setup.device_name.kind().is_host();
            let chosen = || execution.run(|| (strategy.instruction_set)(problem));
            let chosen = || if is_known && !is_refused { chosen() } else { None };
            let set = configuration.forced_set().map(InstructionSet::name).or_else(chosen);
            CaseRecord {
                problem: parameters.clone(),
                strategy: format!("{}{}", strategy.name, if *is_control { CONTROL } else { "" }),
                device: self.setup.device_name.to_string(),
                instruction_set: set.map(str::to_string),
                threads: execution.threads(),
                competes: strategy.competes && !is_control,
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
    ) -> CaseResult<Vec<CaseOutcome>> {
        let MeasurementSetup { device, iterations, seed, .. } = self.setup;
        // Inputs that don't fit are dropped before memory for others is allocated.
        let fitting = kept.take().and_then(|inputs| inputs.for_another_problem(&spec.inputs, spec.rows));
        let size = [spec.rows, spec.useful_bytes];
        if let Some(reason) = spec.refused.take() {
            return Err(reason);
        }
        let inputs = match fitting {
            Some(fitting) => fitting,
            None => {
                let most_sets = (iterations.warmup + iterations.timed).min(spec.max_sets);
                // On an accelerator, results and temporaries are in device memory, whose size is not known.
                let is_on_host = self.setup.device_name.kind().is_host();
                let own = self.configurations.iter().map(|case| case.strategy.memory(&spec));
                let own = own.max().filter(|_| is_on_host);
                check_memory(Inputs::memory(&spec.inputs, spec.rows, most_sets) + own.unwrap_or(0))?;
                Inputs::generate(spec.inputs, spec.rows, *seed, most_sets, device)
            }
        };
        Ok(self.measured(problem, size, kept.insert(inputs), progress))
    }

    /// Cases that a case's speed is given relative to: the baseline and the copy on as many threads, the strategy that
    /// it improves on, and the same strategy on the first number of threads.
    fn comparisons(&self, configuration: &Configuration<'_, P>) -> Vec<(String, usize)> {
        let (executions, forced) = (&self.setup.executions, configuration.execution.forced);
        let find = |name: &str, threads: usize, wanted: &dyn Fn(&ExecutionConfig) -> bool| {
            let matches = |other: &Configuration<'_, P>| {
                let execution = other.execution;
                other.strategy.name == name && execution.threads() == threads && wanted(execution)
            };
            self.configurations.iter().position(|other| !other.is_control && matches(other))
        };
        // A strategy that takes instruction sets too is compared on the same one; any other has a single case.
        let with_same_threads = |(title, name): (&str, &str)| {
            let threads = configuration.execution.threads();
            let same_set = find(name, threads, &|other| other.forced == forced);
            Some((title.to_string(), same_set.or_else(|| find(name, threads, &|_| true))?))
        };
        let others = [
            self.baseline.map(|baseline| (baseline.name, baseline.name)),
            Some((COPY_BASELINE, COPY_BASELINE)),
            configuration.strategy.previous.map(|previous| (PREVIOUS, previous)),
        ];
        let mut comparisons: Vec<_> = others.into_iter().flatten().filter_map(with_same_threads).collect();
        let fewest = executions[0].threads();
        if executions.iter().any(|execution| execution.threads() != fewest) {
            let with_fewest = find(configuration.strategy.name, fewest, &|other| other.forced == forced);
            let plural = if fewest == 1 { "" } else { "s" };
            comparisons.extend(with_fewest.map(|other| (format!("{fewest} thread{plural}"), other)));
        }
        comparisons
    }

    /// Outcomes of the cases, in their order. Progress advances by [`steps`](Self::steps).
    fn measured(
        &self,
        problem: &P,
        [rows, useful]: [usize; 2],
        inputs: &Inputs,
        progress: &StepProgress,
    ) -> Vec<CaseOutcome> {
        let MeasurementSetup { iterations, seed, .. } = *self.setup;
        let mut outcomes: Vec<Option<CaseOutcome>> = Vec::with_capacity(self.configurations.len());
        let (mut passed, mut places) = (Vec::new(), Vec::new());
        // Verify each case on its own threads; what fails has its outcome, what passes will be timed.
        for (index, configuration) in self.configurations.iter().enumerate() {
            if is_interrupted() {
                outcomes.push(Some(CaseOutcome::unsupported("interrupted")));
                continue;
            }
            let execution = configuration.execution;
            outcomes.push(match execution.run(|| configuration.verified(problem, inputs)) {
                Ok(verified) => {
                    places.push(index);
                    passed.push((execution, verified));
                    None
                }
                Err(error) => Some(error.into()),
            });
            progress.advance(1);
        }
        // Time all that passed in one loop.
        let mut left = iterations.warmup + iterations.timed;
        let start = Instant::now();
        let timed = interleave(&mut passed, iterations, seed, &|| start.elapsed(), || {
            left -= 1;
            progress.advance(1);
        });
        progress.advance(left);

        // Relate the times to those of other cases.
        let samples_of = |which: usize| timed[places.iter().position(|index| *index == which)?].as_ref().ok();
        for ((&index, (_, verified)), samples) in places.iter().zip(passed).zip(&timed) {
            let measured = |samples: &Vec<u64>| {
                let ratio = |(baseline, other): (String, usize)| {
                    let ratio = Percentiles::of_speed_ratio(samples_of(other)?, samples)?;
                    Some(SpeedRatio { baseline, ratio })
                };
                let speed = self.comparisons(&self.configurations[index]).into_iter().filter_map(ratio).collect();
                let Verified { checksums, verification, useful_bytes, accuracy, traffic, selected, .. } = verified;
                let size = [rows, useful_bytes.unwrap_or(useful)];
                let measured = Measured::new(size, verification, checksums.len(), samples.clone())?;
                Some(CaseOutcome::Measured(Box::new(Measured { accuracy, traffic, selected, speed, ..measured })))
            };
            outcomes[index] = match samples {
                Ok(samples) => measured(samples),
                Err(error) => Some(CaseOutcome::failed(error.to_string())),
            };
        }
        outcomes.into_iter().map(|outcome| outcome.unwrap_or_else(|| CaseOutcome::failed("it was not timed"))).collect()
    }
}

impl<P: Problem> Configuration<'_, P> {
    fn forced_set(&self) -> Option<InstructionSet> {
        self.execution.forced.filter(|_| self.strategy.takes_instruction_sets)
    }

    /// The strategy's routine, verified on the calling threads with the set that its kernels are forced to use.
    fn verified<'b>(&self, problem: &P, inputs: &'b Inputs) -> CaseResult<Verified<'b>> {
        if let Some(set) = self.forced_set() {
            if set > InstructionSet::detected() {
                return Err(CaseError::Unsupported(format!("this processor does not have {set}")));
            }
            if (self.strategy.instruction_set)(problem) != Some(set.name()) {
                return Err(CaseError::Unsupported(format!("there is no kernel for {set} at this size")));
            }
        }
        (self.strategy.verify)(problem, inputs)
    }
}
