//! Comparison of strategies on a command's problems: run, recorded and shown.

use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use firefly_app::progress::StepProgress;
use firefly_app::suggest;
use firefly_app::table::{TableLayout, wrapped};

use super::options::MeasureOptions;
use crate::harness::{
    BenchStrategy, CaseRecord, Inputs, MachineInfo, ParameterMap, Problem, Runner, distinct, is_interrupted, listen,
};
use crate::report::crossover::{self, crossovers};
use crate::report::schema::{BenchReport, CommandRecord, write};
use crate::report::terminal;

/// Least time between two records of a measurement that is not finished.
const RECORD_EVERY: Duration = Duration::from_secs(1);

/// Problems and strategies of a command.
pub struct Comparison<'a, P: Problem> {
    pub command: &'static str,
    /// Lines that are printed before the cases.
    pub heading: Vec<String>,
    /// Properties that all cases have in common.
    pub facts: ParameterMap,
    /// The command's own options.
    pub options: ParameterMap,
    /// Problems, those that share inputs next to each other.
    pub problems: Vec<P>,
    /// Parameters of a problem that the table shows.
    pub columns: &'static [&'static str],
    pub catalogue: &'a [BenchStrategy<P>],
    /// Strategies that run by name only, and that the command's options ask for.
    pub added: Vec<&'static str>,
    /// Baseline where no other is named and this one runs.
    pub default_baseline: &'static str,
}

impl<P: Problem> Comparison<'_, P> {
    /// Measures every case, writes the report if `options` name a file, and prints the table to `out`.
    pub fn run(&self, options: &MeasureOptions, out: &mut dyn Write) -> anyhow::Result<Vec<CaseRecord>> {
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
    pub fn measure(&self, options: &MeasureOptions, out: &mut dyn Write) -> anyhow::Result<Vec<CaseRecord>> {
        let strategies = self.strategies(options)?;
        let baseline = self.baseline(options, &strategies)?;
        let setup = options.open()?;
        listen();
        let runner = Runner::new(&strategies, baseline, options.control, &setup);
        let machine = MachineInfo::detect();
        if !options.quiet {
            self.introduce(options, &strategies, &machine, out)?;
        }
        let names: Vec<&str> = strategies.iter().map(|strategy| strategy.name).collect();
        let own = self.options.clone().with("strategy", names.clone()).with("baseline", baseline.map(|at| names[at]));
        let command = CommandRecord { name: self.command.into(), options: options.parameters(own) };
        let record = |cases: &[CaseRecord], complete: bool| -> anyhow::Result<()> {
            let Some(path) = &options.json else { return Ok(()) };
            let report = BenchReport::new(machine.clone(), command.clone(), self.facts.clone(), cases.to_vec());
            write(&BenchReport { complete, ..report }, path)
        };

        let progress = StepProgress::new(options.quiet, self.problems.len() * runner.steps());
        let mut inputs: Option<Inputs> = None;
        let mut cases = Vec::new();
        let mut recorded = Instant::now();
        for problem in &self.problems {
            let parameters = problem.parameters();
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
    fn strategies(&self, options: &MeasureOptions) -> anyhow::Result<Vec<&BenchStrategy<P>>> {
        let positions = |names: &[String]| -> anyhow::Result<Vec<usize>> {
            names.iter().map(|name| self.position(name.trim())).collect()
        };
        let runs = |position: &usize| {
            let strategy = &self.catalogue[*position];
            let wanted = !strategy.is_by_name || self.added.contains(&strategy.name);
            wanted && !(options.is_on_host() && strategy.needs_accelerator)
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
    fn baseline(&self, options: &MeasureOptions, strategies: &[&BenchStrategy<P>]) -> anyhow::Result<Option<usize>> {
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

    fn position(&self, name: &str) -> anyhow::Result<usize> {
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
    fn introduce(
        &self,
        options: &MeasureOptions,
        strategies: &[&BenchStrategy<P>],
        machine: &MachineInfo,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        let threads: Vec<String> = options.thread_counts().iter().map(usize::to_string).collect();
        let mut lines = vec![format!("{} on {}", self.command, machine.summary())];
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
