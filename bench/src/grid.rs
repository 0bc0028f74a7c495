//! A command's problems and strategies: every case verified, timed beside the others of its problem, shown and recorded.

use std::io::Write;

use anyhow::{Context, ensure};
use burn::tensor::Device;
use firefly_ops::InstructionSet;

use crate::cases;
use crate::host::{Host, available_memory};
use crate::json::{CaseRecord, Command, Outcome, Report};
use crate::lane::Lane;
use crate::lists;
use crate::options::{Equipment, Measuring};
use crate::parameters::Parameters;
use crate::progress::Progress;
use crate::race::{self, Entrant, race};
use crate::strategy::{Problem, Strategy, select};
use crate::table::digits;
use crate::workload::Refusal;

/// Share of the memory that is free which inputs may take.
const MEMORY_SHARE: f64 = 0.6;
/// The strategy that copies the input: others' speed is shown as a fraction of its speed.
pub const FLOOR: &str = "memcpy";
/// What a strategy's speed is related to where it is a step from another.
const STEP: &str = "the one before";

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

/// A strategy on a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slot {
    strategy: usize,
    lane: usize,
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
        let slots = slots(&strategies, &equipment.lanes);
        let host = Host::detect();
        if !measuring.quiet {
            writeln!(out, "{}", self.introduction(measuring, &strategies, &host))?;
        }
        let progress =
            Progress::new(measuring.quiet, self.problems.len() * race::steps(slots.len(), equipment.schedule));
        let round = Round { strategies: &strategies, baseline, slots: &slots, equipment: &equipment, measuring };
        let mut inputs: Option<P::Inputs> = None;
        let mut cases = Vec::new();
        for problem in &self.problems {
            let shown: Vec<String> =
                self.columns.iter().map(|name| format!("{name} {}", problem.parameters().shown(name))).collect();
            progress.say(shown.join(", "));
            cases.extend(round.run(problem, &mut inputs, &progress));
        }
        progress.finish();

        write!(out, "{}", cases::table(&cases, self.columns).render())?;
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

/// Every strategy on every lane; one that doesn't take instruction sets only once for as many threads.
fn slots<P: Problem>(strategies: &[&dyn Strategy<P>], lanes: &[Lane]) -> Vec<Slot> {
    let (mut slots, mut first) = (Vec::new(), 0);
    for of_threads in lanes.chunk_by(|a, b| a.threads() == b.threads()) {
        for (strategy, chosen) in strategies.iter().enumerate() {
            let count = if chosen.takes_instruction_sets() { of_threads.len() } else { 1 };
            slots.extend((first..first + count).map(|lane| Slot { strategy, lane }));
        }
        first += of_threads.len();
    }
    slots
}

/// What the problems of a grid have in common.
struct Round<'a, P: Problem> {
    strategies: &'a [&'a dyn Strategy<P>],
    baseline: Option<usize>,
    slots: &'a [Slot],
    equipment: &'a Equipment,
    measuring: &'a Measuring,
}

impl<P: Problem> Round<'_, P> {
    /// The cases of a problem; `kept` are the inputs of the one before it, and then its own.
    fn run(&self, problem: &P, kept: &mut Option<P::Inputs>, progress: &Progress) -> Vec<CaseRecord> {
        let schedule = self.equipment.schedule;
        let most_sets = schedule.warmup + schedule.iterations;
        // Inputs that don't fit are freed before memory is asked for.
        let fitting = kept.take().filter(|inputs| problem.fits(inputs));
        let device: &Device = &self.equipment.device;
        let ready = problem.check().and_then(|()| match fitting {
            Some(fitting) => Ok(fitting),
            None => enough_memory(problem.input_memory(most_sets))
                .map(|()| problem.generate(self.measuring.seed, most_sets, device)),
        });
        let steps = race::steps(self.slots.len(), schedule);
        let outcomes = match ready {
            Err(reason) => {
                progress.advance(steps);
                vec![Outcome::Unsupported { reason }; self.slots.len()]
            }
            Ok(ready) => {
                let inputs: &P::Inputs = kept.insert(ready);
                match problem.expected(inputs, self.measuring.seed) {
                    Ok(expected) => {
                        let entrants = self.slots.iter().map(|slot| self.entrant(*slot, problem, inputs, &expected));
                        race(entrants.collect(), problem.size(), schedule, progress)
                    }
                    Err(error) => {
                        progress.advance(steps);
                        vec![Outcome::failed(error); self.slots.len()]
                    }
                }
            }
        };
        self.slots.iter().zip(outcomes).map(|(slot, outcome)| self.record(*slot, problem, outcome)).collect()
    }

    fn entrant<'a>(
        &'a self,
        slot: Slot,
        problem: &'a P,
        inputs: &'a P::Inputs,
        expected: &'a P::Expected,
    ) -> Entrant<'a> {
        let (strategy, lane) = (self.strategies[slot.strategy], &self.equipment.lanes[slot.lane]);
        let forced = lane.forced().filter(|_| strategy.takes_instruction_sets());
        let verify = move || {
            if let Some(set) = forced {
                if set > InstructionSet::detected() {
                    return Err(Refusal::Unsupported(format!("this processor does not have {set}")));
                }
                if strategy.instruction_set(problem) != Some(set.name()) {
                    return Err(Refusal::Unsupported(format!("there is no kernel for {set} at this size")));
                }
            }
            strategy.verify(problem, inputs, expected)
        };
        Entrant { lane, verify: Box::new(verify), relations: self.relations(slot) }
    }

    /// The case itself, the baseline and the floor on as many threads, and the same strategy on the first number of threads.
    fn relations(&self, slot: Slot) -> Vec<(String, usize)> {
        let lanes = &self.equipment.lanes;
        let threads = |slot: Slot| lanes[slot.lane].threads();
        let place = |wanted: &dyn Fn(Slot) -> bool| self.slots.iter().position(|&other| wanted(other));
        // Where the other takes instruction sets too, the case is compared with its own; else with the only one there is.
        let beside = |strategy: usize| {
            let is_beside = |other: Slot| other.strategy == strategy && threads(other) == threads(slot);
            place(&|other| is_beside(other) && other.lane == slot.lane).or_else(|| place(&is_beside))
        };
        let name = |strategy: usize| self.strategies[strategy].name().to_string();
        let mut relations = Vec::new();
        if let Some(baseline) = self.baseline {
            relations.extend(beside(baseline).map(|other| (name(baseline), other)));
        }
        let place_of = |wanted: &str| self.strategies.iter().position(|strategy| strategy.name() == wanted);
        if let Some(floor) = place_of(FLOOR) {
            relations.extend(beside(floor).map(|other| (name(floor), other)));
        }
        if let Some(before) = self.strategies[slot.strategy].step_from().and_then(place_of) {
            relations.extend(beside(before).map(|other| (STEP.to_string(), other)));
        }
        let fewest = lanes[0].threads();
        if lanes.iter().any(|lane| lane.threads() != fewest) {
            let alone = place(&|other| {
                other.strategy == slot.strategy
                    && threads(other) == fewest
                    && lanes[other.lane].forced() == lanes[slot.lane].forced()
            });
            let plural = if fewest == 1 { "" } else { "s" };
            relations.extend(alone.map(|other| (format!("{fewest} thread{plural}"), other)));
        }
        relations
    }

    fn record(&self, slot: Slot, problem: &P, outcome: Outcome) -> CaseRecord {
        let (strategy, lane) = (self.strategies[slot.strategy], &self.equipment.lanes[slot.lane]);
        let asked = lane.forced().filter(|_| strategy.takes_instruction_sets()).map(InstructionSet::name);
        CaseRecord {
            problem: problem.parameters(),
            strategy: strategy.name().into(),
            device: self.measuring.device.to_string(),
            instruction_set: asked.or_else(|| self.chosen_set(strategy, problem, lane)).map(str::to_string),
            threads: lane.threads(),
            competes: strategy.competes(),
            outcome,
        }
    }

    /// The set that a strategy's kernels choose themselves.
    fn chosen_set(&self, strategy: &dyn Strategy<P>, problem: &P, lane: &Lane) -> Option<&'static str> {
        let known = !strategy.takes_instruction_sets() || self.measuring.is_on_host();
        if known && problem.check().is_ok() { lane.run(|| strategy.instruction_set(problem)) } else { None }
    }
}

/// Whether inputs that take `needed` bytes fit in memory.
fn enough_memory(needed: usize) -> Result<(), String> {
    let needed = needed as f64;
    match available_memory() {
        Some(free) if needed > MEMORY_SHARE * free as f64 => {
            let [needed, free] = [needed, free as f64].map(|bytes| digits(bytes / f64::from(1 << 30)));
            Err(format!("inputs take {needed} GiB of memory, and {free} GiB are free"))
        }
        _ => Ok(()),
    }
}
