//! Every case of a problem: verified, timed beside the others, and recorded.

use burn::tensor::Device;
use firefly_app::device::DeviceName;
use firefly_ops::InstructionSet;

use super::case::{self, Entrant, race};
use super::execution::Lane;
use super::format::digits;
use super::host::available_memory;
use super::outcome::{CaseRecord, Outcome};
use super::problem::Problem;
use super::progress::Progress;
use super::strategy::Strategy;
use super::timing::Schedule;
use super::verification::Refusal;

/// Share of the memory that is free which inputs may take.
const MEMORY_SHARE: f64 = 0.6;
/// Name of the strategy that copies the input: the speed of others is also given as a fraction of its speed.
pub const COPY: &str = "memcpy";
/// What a strategy's speed is related to where it is a step from another.
const STEP: &str = "the one before";

/// What cases are measured with.
pub struct Equipment {
    /// Where tensors are.
    pub device: Device,
    /// The device's name.
    pub device_name: DeviceName,
    /// What cases run on.
    pub lanes: Vec<Lane>,
    /// How often.
    pub schedule: Schedule,
    /// What inputs are made from.
    pub seed: u64,
}

/// A strategy on a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slot {
    strategy: usize,
    lane: usize,
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

/// Runs the cases of one problem after another.
pub struct Runner<'a, P: Problem> {
    strategies: &'a [&'a dyn Strategy<P>],
    baseline: Option<usize>,
    slots: Vec<Slot>,
    equipment: &'a Equipment,
}

impl<'a, P: Problem> Runner<'a, P> {
    /// A runner of every strategy on every lane; speed is related to the strategy at place `baseline`.
    pub fn new(strategies: &'a [&'a dyn Strategy<P>], baseline: Option<usize>, equipment: &'a Equipment) -> Self {
        Self { strategies, baseline, slots: slots(strategies, &equipment.lanes), equipment }
    }

    /// Steps of progress per problem.
    pub fn steps(&self) -> usize {
        case::steps(self.slots.len(), self.equipment.schedule)
    }

    /// The cases of a problem; `kept` are the inputs of the one before it, and then its own.
    pub fn run(&self, problem: &P, kept: &mut Option<P::Inputs>, progress: &Progress) -> Vec<CaseRecord> {
        let schedule = self.equipment.schedule;
        let most_sets = schedule.warmup + schedule.iterations;
        // Inputs that don't fit are freed before memory is asked for.
        let fitting = kept.take().filter(|inputs| problem.fits(inputs));
        let device: &Device = &self.equipment.device;
        let ready = problem.check().and_then(|()| match fitting {
            Some(fitting) => Ok(fitting),
            None => enough_memory(problem.input_memory(most_sets))
                .map(|()| problem.generate(self.equipment.seed, most_sets, device)),
        });
        let steps = self.steps();
        let outcomes = match ready {
            Err(reason) => {
                progress.advance(steps);
                vec![Outcome::Unsupported { reason }; self.slots.len()]
            }
            Ok(ready) => {
                let inputs: &P::Inputs = kept.insert(ready);
                match problem.expected(inputs, self.equipment.seed) {
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

    fn entrant<'b>(
        &'b self,
        slot: Slot,
        problem: &'b P,
        inputs: &'b P::Inputs,
        expected: &'b P::Expected,
    ) -> Entrant<'b> {
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
        if let Some(floor) = place_of(COPY) {
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
            device: self.equipment.device_name.to_string(),
            instruction_set: asked.or_else(|| self.chosen_set(strategy, problem, lane)).map(str::to_string),
            threads: lane.threads(),
            competes: strategy.competes(),
            outcome,
        }
    }

    /// The set that a strategy's kernels choose themselves.
    fn chosen_set(&self, strategy: &dyn Strategy<P>, problem: &P, lane: &Lane) -> Option<&'static str> {
        let known = !strategy.takes_instruction_sets() || self.equipment.device_name.kind().is_host();
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
