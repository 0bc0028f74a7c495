//! A command's problems and strategies: every case verified, timed beside the others of its problem, shown and recorded.

use std::io::Write;

use anyhow::{Context, ensure};

use super::lists;
use super::options::Measuring;
use crate::harness::host::Host;
use crate::harness::outcome::CaseRecord;
use crate::harness::parameters::Parameters;
use crate::harness::problem::Problem;
use crate::harness::progress::Progress;
use crate::harness::runner::Runner;
use crate::harness::strategy::Strategy;
use crate::report::schema::{Command, Report};
use crate::report::terminal;

/// What a command compares.
pub struct Grid<'a, P: Problem> {
    /// The command's name.
    pub command: &'static str,
    /// Lines about all cases, printed before them.
    pub heading: Vec<String>,
    /// What all cases have in common.
    pub facts: Parameters,
    /// The command's own options.
    pub options: Parameters,
    /// The problems, those that share inputs next to each other.
    pub problems: Vec<P>,
    /// The parameters of a problem that the table shows.
    pub columns: &'static [&'static str],
    /// Every strategy there is.
    pub catalogue: &'a [Box<dyn Strategy<P>>],
    /// What speed is related to unless said, where it takes part.
    pub usual_baseline: &'static str,
}

impl<P: Problem> Grid<'_, P> {
    /// Runs every case, prints the table to `out`, and writes the report if one is asked for.
    ///
    /// # Errors
    /// For options that make no case, a device that is not there, and output that can't be written. A case that fails is no
    /// error, but a row that says so.
    pub fn run(&self, measuring: &Measuring, out: &mut dyn Write) -> anyhow::Result<Vec<CaseRecord>> {
        let mut strategies = select(self.catalogue, measuring.strategy.as_deref())?;
        strategies.retain(|strategy| {
            measuring.strategy.is_some() || !measuring.is_on_host() || !strategy.needs_accelerator()
        });
        let baseline = self.baseline(measuring, &strategies)?;
        let equipment = measuring.open()?;
        let runner = Runner::new(&strategies, baseline, &equipment);
        let host = Host::detect();
        if !measuring.quiet {
            writeln!(out, "{}", self.introduction(measuring, &strategies, &host))?;
        }
        let progress = Progress::new(measuring.quiet, self.problems.len() * runner.steps());
        let mut inputs: Option<P::Inputs> = None;
        let mut cases = Vec::new();
        for problem in &self.problems {
            let shown: Vec<String> =
                self.columns.iter().map(|name| format!("{name} {}", problem.parameters().shown(name))).collect();
            progress.say(shown.join(", "));
            cases.extend(runner.run(problem, &mut inputs, &progress));
        }
        progress.finish();

        write!(out, "{}", terminal::table(&cases, self.columns).render())?;
        out.flush()?;
        if let Some(path) = &measuring.json {
            let names: Vec<&str> = strategies.iter().map(|strategy| strategy.name()).collect();
            let own =
                self.options.clone().with("strategy", names.clone()).with("baseline", baseline.map(|at| names[at]));
            let command = Command { name: self.command.into(), options: measuring.parameters(own) };
            Report::new(host, command, self.facts.clone(), cases.clone()).write(path)?;
        }
        Ok(cases)
    }

    /// The place among the strategies of the one that others are compared with.
    fn baseline(&self, measuring: &Measuring, strategies: &[&dyn Strategy<P>]) -> anyhow::Result<Option<usize>> {
        let place = |name: &str| strategies.iter().position(|strategy| strategy.name() == name);
        match &measuring.baseline {
            Some(name) => {
                let known: Vec<&str> = self.catalogue.iter().map(|strategy| strategy.name()).collect();
                let positions = lists::named(name, "strategy", &known).context("--baseline")?;
                ensure!(positions.len() == 1, "--baseline: one strategy is wanted, not a list");
                let position = place(known[positions[0]]);
                let missing = || format!("--baseline: `{name}` is not among the strategies that run");
                position.with_context(missing).map(Some)
            }
            None if strategies.len() == 1 => Ok(None),
            None => {
                Ok(place(self.usual_baseline).or_else(|| strategies.iter().position(|strategy| strategy.competes())))
            }
        }
    }

    fn introduction(&self, measuring: &Measuring, strategies: &[&dyn Strategy<P>], host: &Host) -> String {
        let threads: Vec<String> = measuring.thread_counts().iter().map(usize::to_string).collect();
        let mut lines = vec![format!("{} on {}", self.command, host.summary())];
        lines.extend(self.heading.iter().cloned());
        lines.push(format!(
            "device {}, host threads {}, iterations {} after {}, seed {}",
            measuring.device,
            threads.join(" and "),
            measuring.iters,
            measuring.warmup,
            measuring.seed
        ));
        lines.extend(strategies.iter().map(|strategy| format!("{}: {}", strategy.name(), strategy.summary())));
        lines.push("× NAME: how many times as fast as NAME, iteration by iteration: median (p10 – p90)\n".into());
        lines.join("\n")
    }
}

/// The place in a catalogue of each named strategy; of all of them if none is named.
///
/// # Errors
/// For a name that is not known.
pub fn select<'a, P: Problem>(
    catalogue: &'a [Box<dyn Strategy<P>>],
    names: Option<&str>,
) -> anyhow::Result<Vec<&'a dyn Strategy<P>>> {
    let known: Vec<&str> = catalogue.iter().map(|strategy| strategy.name()).collect();
    let chosen = match names {
        Some(names) => lists::named(names, "strategy", &known).context("--strategy")?,
        None => (0..catalogue.len()).collect(),
    };
    Ok(chosen.into_iter().map(|index| catalogue[index].as_ref()).collect())
}
