//! Options of every command that measures.

use std::path::PathBuf;

use anyhow::{Context, anyhow, ensure};
use clap::value_parser;
use firefly_app::device::DeviceChoice;
use firefly_app::files::ensure_writable;
use firefly_app::host::MAX_THREADS;
use firefly_app::table::TableLayout;
use firefly_ops::instruction_sets::InstructionSet;

use super::problem_options::named;
use crate::harness::{
    ExecutionConfig, Iterations, MeasurementSetup, NumberRange, ParameterMap, available_cores, distinct, numbers, whole,
};

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
    pub fn open(&self) -> anyhow::Result<MeasurementSetup> {
        let name = self.device.name();
        let device = name.open()?;
        ensure!(
            self.instruction_set.is_none() || self.is_on_host(),
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

    /// Whether the device is the host itself.
    pub fn is_on_host(&self) -> bool {
        self.device.name().kind().is_host()
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
        let sets = self
            .instruction_set
            .as_ref()
            .map(|sets| distinct(sets).iter().map(|set| set.name()).collect::<Vec<_>>().join(","));
        own.with("device", self.device.name().to_string())
            .with("instruction_set", sets)
            .with("threads", self.thread_counts())
            .with("iters", self.iters)
            .with("warmup", self.warmup)
            .with("seed", self.seed)
            .with("control", self.control)
    }
}
