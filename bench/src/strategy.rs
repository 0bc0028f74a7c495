//! What commands compare: problems, and ways to solve them.

use anyhow::Context;
use burn::tensor::Device;

use crate::json::Size;
use crate::lists;
use crate::parameters::Parameters;
use crate::workload::{Refusal, Verified};

/// What strategies are compared on.
pub trait Problem: Sync {
    /// Inputs of a problem, several sets of them.
    type Inputs: Send + Sync;
    /// What comes out in float64.
    type Expected: Sync;

    /// What fixes it.
    fn parameters(&self) -> Parameters;

    /// Whether any strategy could solve it.
    ///
    /// # Errors
    /// Why not.
    fn check(&self) -> Result<(), String>;

    /// What rates are related to.
    fn size(&self) -> Size;

    /// Bytes that inputs, of at most so many sets, take.
    fn input_memory(&self, most_sets: usize) -> usize;

    /// Inputs of at most so many sets, the same for the same seed.
    fn generate(&self, seed: u64, most_sets: usize, device: &Device) -> Self::Inputs;

    /// Whether inputs made for another problem are inputs for this one.
    fn fits(&self, inputs: &Self::Inputs) -> bool;

    /// What comes out, in float64.
    ///
    /// # Errors
    /// If two ways to compute it disagree.
    fn expected(&self, inputs: &Self::Inputs, seed: u64) -> Result<Self::Expected, String>;
}

/// A way to solve a command's problems.
pub trait Strategy<P: Problem>: Sync {
    /// The name users select it by.
    fn name(&self) -> &'static str;

    /// What it does, in one line.
    fn summary(&self) -> &'static str;

    /// Whether its kernels are Firefly's for host processors, which can be made to use an instruction set.
    fn takes_instruction_sets(&self) -> bool {
        false
    }

    /// The instruction set of the kernels it runs on the calling thread; none where that is not known, or they don't use
    /// the one that is asked for.
    fn instruction_set(&self, _problem: &P) -> Option<&'static str> {
        None
    }

    /// Whether it is about moving data to a device with memory of its own and back: on the host it runs only by name.
    fn needs_accelerator(&self) -> bool {
        false
    }

    /// Whether its time is to be compared with others' in the search for the fastest: not that of a bound, or of something
    /// that computes another result.
    fn competes(&self) -> bool {
        true
    }

    /// The strategy that this one is a step from: its speed is related to that one's, besides the baseline's.
    fn step_from(&self) -> Option<&'static str> {
        None
    }

    /// Does everything that needs doing once (plans, buffers, tensors on the device of `inputs`), then runs every input
    /// set and compares the output with what is expected. Called, as is the workload, on the thread pool that may be used.
    ///
    /// # Errors
    /// [`Refusal`] if the problem can't be solved this way, or the output is wrong.
    fn verify<'a>(&self, problem: &P, inputs: &'a P::Inputs, expected: &P::Expected) -> Result<Verified<'a>, Refusal>;
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
