//! The options that every command which measures has.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context, ensure};
use clap::value_parser;
use firefly_app::device::DeviceName;
use firefly_app::files::ensure_writable;
use firefly_ops::InstructionSet;

use super::lists::{self, Counts, ListError};
use crate::harness::execution::Lane;
use crate::harness::host::available_cores;
use crate::harness::parameters::Parameters;
use crate::harness::runner::Equipment;
use crate::harness::timing::Schedule;

const MOST_ITERATIONS: i64 = 1_000_000;
const MOST_THREADS: usize = 1024;

/// What is measured with, and how. Lists are separated by commas; lists of numbers also take ranges of powers of two, as
/// in 32..8192.
#[derive(Debug, Clone, clap::Args)]
pub struct Measuring {
    /// How it is computed, among the strategies named below; by all of them unless given
    #[arg(long, value_name = "LIST")]
    pub strategy: Option<String>,
    /// The strategy that the others' speed is related to
    #[arg(long, value_name = "NAME")]
    pub baseline: Option<String>,
    /// Where tensors are: cpu, ndarray, wgpu, vulkan, metal or cuda, with an index as in cuda:1
    #[arg(long, default_value = "cpu")]
    pub device: DeviceName,
    /// Instruction sets that Firefly's kernels for host processors are made to use, each a case of its own, among
    /// portable, avx2 and avx512; their own choice unless given
    #[arg(long, value_name = "LIST")]
    pub instruction_set: Option<InstructionSets>,
    /// Host threads to use, each number a case of its own; all cores unless given
    #[arg(long, value_name = "LIST")]
    pub threads: Option<Counts>,
    /// Iterations that are timed, each on the next of several inputs
    #[arg(long, value_name = "N", default_value_t = 51, value_parser = value_parser!(u32).range(1..=MOST_ITERATIONS))]
    pub iters: u32,
    /// Iterations before those
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = value_parser!(u32).range(..=MOST_ITERATIONS))]
    pub warmup: u32,
    /// What inputs are made from
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Write a JSON report there, with every sample
    #[arg(long, value_name = "PATH")]
    pub json: Option<PathBuf>,
    /// Print results only
    #[arg(long)]
    pub quiet: bool,
}

impl Measuring {
    /// Opens the device, makes the threads, and finds out whether the report can be written.
    ///
    /// # Errors
    /// If one of these can't be done.
    pub fn open(&self) -> anyhow::Result<Equipment> {
        let device = self.device.open()?;
        ensure!(
            self.instruction_set.is_none() || self.is_on_host(),
            "--instruction-set: kernels on {} have no choice of them",
            self.device
        );
        if let Some(path) = &self.json {
            ensure_writable(path).with_context(|| format!("--json {}", path.display()))?;
        }
        let threads = self.thread_counts();
        for threads in &threads {
            ensure!(*threads <= MOST_THREADS, "--threads: {threads} is more than {MOST_THREADS}");
        }
        if cfg!(debug_assertions) {
            eprintln!("warning: built without optimisation; times mean nothing");
        }
        let sets = self.instruction_set.as_ref().map(|sets| &sets.0[..]);
        let lanes = Lane::all(&threads, sets)?;
        Ok(Equipment { device, device_name: self.device, lanes, schedule: self.schedule(), seed: self.seed })
    }

    /// Whether the device is the host itself.
    pub fn is_on_host(&self) -> bool {
        self.device.kind().is_host()
    }

    /// Numbers of threads, in the order typed.
    pub fn thread_counts(&self) -> Vec<usize> {
        self.threads.as_ref().map_or_else(|| vec![available_cores()], |threads| threads.0.clone())
    }

    /// How often everything runs.
    pub fn schedule(&self) -> Schedule {
        Schedule { warmup: self.warmup as usize, iterations: self.iters as usize }
    }

    /// The options, added to a command's own.
    pub fn parameters(&self, own: Parameters) -> Parameters {
        own.with("device", self.device.to_string())
            .with("instruction_set", self.instruction_set.as_ref().map(ToString::to_string))
            .with("threads", self.thread_counts())
            .with("iters", self.iters)
            .with("warmup", self.warmup)
            .with("seed", self.seed)
    }
}

/// Instruction sets in the order typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstructionSets(pub Vec<InstructionSet>);

impl FromStr for InstructionSets {
    type Err = ListError;

    fn from_str(text: &str) -> Result<Self, ListError> {
        let names: Vec<&str> = InstructionSet::ALL.iter().map(|set| set.name()).collect();
        let positions = lists::named(text, "instruction set", &names)?;
        Ok(Self(positions.into_iter().map(|position| InstructionSet::ALL[position]).collect()))
    }
}

impl fmt::Display for InstructionSets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.iter().map(|set| set.name()).collect::<Vec<_>>().join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instruction_sets_are_parsed_in_order() {
        let text = format!("{},portable", InstructionSet::detected());
        let sets = text.parse::<InstructionSets>().unwrap();
        assert_eq!(sets.to_string(), text);
        assert!("portible".parse::<InstructionSets>().unwrap_err().to_string().contains("did you mean `portable`?"));
    }
}
