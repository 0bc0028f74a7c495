//! Comparison of strategies on a command's problems, run, recorded and shown; and the options of commands that compare.

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use clap::value_parser;
use firefly_app::device::DeviceChoice;
use firefly_app::files::ensure_writable;
use firefly_app::host::MAX_THREADS;
use firefly_app::progress::StepProgress;
use firefly_app::suggest;
use firefly_app::table::{TableLayout, wrapped};
use firefly_ops::instruction_sets::InstructionSet;

use super::options::named;
use crate::harness::{
    BenchStrategy, CaseRecord, ExecutionConfig, Inputs, Iterations, MachineInfo, MeasurementSetup, NumberRange,
    ParameterMap, Problem, Runner, available_cores, distinct, is_interrupted, listen, numbers, whole,
};
use crate::report::crossover::{self, crossovers};
use crate::report::schema::{BenchReport, CommandRecord, write};
use crate::report::terminal;

const MAX_ITERATIONS: i64 = 1_000_000;

/// Device, execution and iterations of a measurement.
///
/// Lists are separated by commas; lists of numbers also take ranges of powers of two, as in 32..8192.
#[derive(Debug, Clone, clap::Args)]
pub struct MeasureOptions {
    /// Strategies to run, among those named below; those that suit the device unless given
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub strategy: Option<Vec<String>>,
    /// Strategies to leave out
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub without: Option<Vec<String>>,
    /// Strategy that the speed of the others is relative to
    #[arg(long, value_name = "NAME")]
    pub baseline: Option<String>,
    /// Measure the baseline a second time, as NAME-control: how far from 1.00 its speed is says what differences mean
    #[arg(long)]
    pub control: bool,
    /// Device of the tensors: auto (the first GPU that is built in and present, or else the CPU), cpu, ndarray, wgpu,
    /// vulkan, metal, cuda or rocm, with an index as in cuda:1
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    pub device: DeviceChoice,
    /// Instruction sets that Firefly's kernels for host processors are forced to use, each a case of its own; their own
    /// choice unless given
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = named(InstructionSet::ALL.iter().map(|set| (set.name(), *set))))]
    pub instruction_set: Option<Vec<InstructionSet>>,
    /// Numbers of host threads from 1 to 1024, each a case of its own; all cores unless given
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub threads: Option<Vec<NumberRange>>,
    /// Timed iterations from 1 to 1000000, each on the next of several input sets
    #[arg(long, value_name = "N", default_value_t = 51, value_parser = value_parser!(u32).range(1..=MAX_ITERATIONS))]
    pub iters: u32,
    /// Iterations before those, from 0 to 1000000
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = value_parser!(u32).range(..=MAX_ITERATIONS))]
    pub warmup: u32,
    /// Seed of the inputs, and of the order in which cases take turns: a whole number from 0
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<u64>)]
    pub seed: u64,
    /// Write a JSON report with every sample to this file
    #[arg(long, value_name = "PATH")]
    pub json: Option<PathBuf>,
    /// Show every column of the tables, whatever the terminal's width
    #[arg(long)]
    pub wide: bool,
    /// Print results only
    #[arg(long)]
    pub quiet: bool,
}

impl MeasureOptions {
    /// Opens the device, starts the threads, and checks that the report can be written.
    pub fn open(&self) -> Result<MeasurementSetup> {
        let name = self.device.name();
        let device = name.open()?;
        ensure!(
            self.instruction_set.is_none() || name.kind().is_host(),
            "--instruction-set: kernels on {name} have no choice of them"
        );
        let threads = self.thread_counts();
        for threads in &threads {
            ensure!(*threads <= MAX_THREADS, "--threads: {threads} is more than {MAX_THREADS}");
        }
        if cfg!(debug_assertions) {
            tracing::warn!("built without optimisation; times mean nothing");
        }
        let sets = self.instruction_set.as_ref().map(|sets| distinct(sets.iter().copied()));
        let executions = ExecutionConfig::all(&threads, sets.as_deref());
        let executions = executions.map_err(|error| anyhow!("--threads: {error}"))?;
        if let Some(path) = &self.json {
            ensure_writable(path).with_context(|| format!("--json {}", path.display()))?;
        }
        let iterations = Iterations { warmup: self.warmup as usize, timed: self.iters as usize };
        Ok(MeasurementSetup { device, device_name: name, executions, iterations, seed: self.seed })
    }

    pub fn layout(&self) -> TableLayout {
        TableLayout::of_stdout(self.wide)
    }

    /// Numbers of threads, in the order typed.
    pub fn thread_counts(&self) -> Vec<usize> {
        self.threads.as_ref().map_or_else(|| vec![available_cores()], |threads| numbers(threads))
    }

    /// A command's own options, followed by these.
    pub fn parameters(&self, own: ParameterMap) -> ParameterMap {
        let names = |sets: &Vec<InstructionSet>| distinct(sets.iter().map(|set| set.name())).join(",");
        own.with("device", self.device.name().to_string())
            .with("instruction_set", self.instruction_set.as_ref().map(names))
            .with("threads", self.thread_counts())
            .with("iters", self.iters)
            .with("warmup", self.warmup)
            .with("seed", self.seed)
            .with("control", self.control)
    }
}

/// Least time between two records of a measurement that is not finished.
const RECORD_EVERY: Duration = Duration::from_secs(1);

pub struct Comparison<'a, P: Problem> {
    pub command: &'static str,
    /// Lines that are printed before the cases.
    pub heading: Vec<String>,
    /// Properties that all cases have in common.
    pub facts: ParameterMap,
    pub options: ParameterMap,
    /// Problems, those that share inputs next to each other.
    pub problems: Vec<P>,
    pub columns: &'static [&'static str],
    pub catalogue: &'a [BenchStrategy<P>],
    /// Baseline where no other is named and this one runs.
    pub default_baseline: &'static str,
}

impl<P: Problem> Comparison<'_, P> {
    /// Measures every case, writes the report if `options` name a file, and prints the table to `out`.
    pub fn run(&self, options: &MeasureOptions, out: &mut dyn Write) -> Result<Vec<CaseRecord>> {
        let cases = self.measure(options, out)?;
        let table = terminal::table(&cases, self.columns);
        write!(out, "{}", table.render_in(options.layout()))?;
        if let Some(remark) = table.remark_on_hidden(options.layout()).filter(|_| !options.quiet) {
            writeln!(out, "\n{remark}")?;
        }
        out.flush()?;
        Ok(cases)
    }

    /// Crossovers of cases over each of `sizes`, as text.
    pub fn crossovers(&self, cases: &[CaseRecord], sizes: &[&str], layout: TableLayout) -> String {
        let of_size = |over: &&str| {
            let others: Vec<&str> = self.columns.iter().copied().filter(|name| name != over).collect();
            crossover::render(&crossovers(cases, over), over, &others, layout)
        };
        sizes.iter().map(of_size).collect()
    }

    /// Measures every case, and writes the report if `options` name a file: before any table, and while the measurement
    /// runs too, so that what was measured survives its end. An interrupted measurement has the cases that were timed.
    pub fn measure(&self, options: &MeasureOptions, out: &mut dyn Write) -> Result<Vec<CaseRecord>> {
        let strategies = self.strategies(options)?;
        let baseline = self.baseline(options, &strategies)?;
        let setup = options.open()?;
        listen();
        let runner = Runner::new(&strategies, baseline, options.control, &setup);
        if !options.quiet {
            self.introduce(options, &strategies, out)?;
        }
        let names: Vec<&str> = strategies.iter().map(|strategy| strategy.name).collect();
        let own = self.options.clone().with("strategy", names.clone()).with("baseline", baseline.map(|at| names[at]));
        let command = CommandRecord { name: self.command.into(), options: options.parameters(own) };
        let record = |cases: &[CaseRecord], complete: bool| -> Result<()> {
            let Some(path) = &options.json else { return Ok(()) };
            let report = BenchReport::new(command.clone(), self.facts.clone(), cases.to_vec());
            write(&BenchReport { complete, ..report }, path)
        };

        let progress = StepProgress::new(options.quiet, self.problems.len() * runner.steps());
        let mut inputs: Option<Inputs> = None;
        let mut cases = Vec::new();
        let mut recorded = Instant::now();
        for problem in &self.problems {
            let parameters = problem.spec().parameters;
            let shown: Vec<String> =
                self.columns.iter().map(|name| format!("{name} {}", parameters.shown(name))).collect();
            progress.set_message(shown.join(", "));
            let measured = runner.run(problem, &mut inputs, &progress);
            if is_interrupted() {
                // Cases of the last problem that were not timed have no outcome.
                cases.extend(measured.into_iter().filter(|case| case.measured().is_some()));
                progress.note("interrupted: what was measured is kept");
                break;
            }
            cases.extend(measured);
            if recorded.elapsed() >= RECORD_EVERY {
                record(&cases, false)?;
                recorded = Instant::now();
            }
        }
        progress.finish();
        record(&cases, !is_interrupted())?;
        Ok(cases)
    }

    /// The strategies that are named, or else all that make sense on the device; without those that are left out.
    fn strategies(&self, options: &MeasureOptions) -> Result<Vec<&BenchStrategy<P>>> {
        let positions =
            |names: &[String]| -> Result<Vec<usize>> { names.iter().map(|name| self.position(name.trim())).collect() };
        let runs = |position: &usize| {
            let strategy = &self.catalogue[*position];
            let lacks_accelerator = strategy.needs_accelerator && options.device.name().kind().is_host();
            !strategy.is_by_name && !lacks_accelerator
        };
        let mut chosen = match &options.strategy {
            Some(names) => distinct(positions(names).context("--strategy")?),
            None => (0..self.catalogue.len()).filter(runs).collect(),
        };
        let left_out = positions(options.without.as_deref().unwrap_or_default()).context("--without")?;
        chosen.retain(|position| !left_out.contains(position));
        ensure!(!chosen.is_empty(), "--without: no strategy is left");
        Ok(chosen.into_iter().map(|position| &self.catalogue[position]).collect())
    }

    /// Position of the baseline among the strategies that run.
    fn baseline(&self, options: &MeasureOptions, strategies: &[&BenchStrategy<P>]) -> Result<Option<usize>> {
        let position = |name: &str| strategies.iter().position(|strategy| strategy.name == name);
        let Some(name) = &options.baseline else {
            let first_competing = || strategies.iter().position(|strategy| strategy.competes);
            let baseline = position(self.default_baseline).or_else(first_competing);
            return Ok(baseline.filter(|_| strategies.len() > 1 || options.control));
        };
        let named = &self.catalogue[self.position(name).context("--baseline")?];
        let missing = || format!("--baseline: `{name}` is not among the strategies that run");
        position(named.name).with_context(missing).map(Some)
    }

    fn position(&self, name: &str) -> Result<usize> {
        let mut strategies = self.catalogue.iter();
        // A name precedes an alias of another.
        let exact = strategies.clone().position(|strategy| strategy.name == name);
        exact.or_else(|| strategies.position(|strategy| strategy.is_called(name))).with_context(|| {
            let names: Vec<&str> = self.catalogue.iter().map(|strategy| strategy.name).collect();
            let all = self.catalogue.iter().flat_map(|strategy| strategy.aliases).chain(&names).copied();
            format!("unknown strategy `{name}`{}; known are {}", suggest::hint(name, all), names.join(", "))
        })
    }

    /// Prints what is measured, on what, and how to read the table.
    fn introduce(&self, options: &MeasureOptions, strategies: &[&BenchStrategy<P>], out: &mut dyn Write) -> Result<()> {
        let threads: Vec<String> = options.thread_counts().iter().map(usize::to_string).collect();
        let mut lines = vec![format!("{} on {}", self.command, MachineInfo::detect().summary())];
        lines.extend(self.heading.iter().cloned());
        lines.push(format!(
            "device {}, host threads {}, iterations {} after {}, seed {}",
            options.device.explained(),
            threads.join(" and "),
            options.iters,
            options.warmup,
            options.seed
        ));
        lines.extend(strategies.iter().map(|strategy| format!("{}: {}", strategy.name, strategy.summary)));
        lines.push("× NAME: how many times as fast as NAME, median of the iterations".into());
        for line in lines {
            // What continues a line is indented.
            writeln!(out, "{}", wrapped(&line, options.layout().width.saturating_sub(2)).join("\n  "))?;
        }
        Ok(writeln!(out)?)
    }
}
