//! Ways to solve a problem.

use super::problem::Problem;
use super::verification::{Refusal, Verified};

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
