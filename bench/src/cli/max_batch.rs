//! `firefly-bench max-batch`: the largest batch that is safe in one call, what limits it, and proof by running it.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use burn::tensor::Device;
use firefly_app::device::{DeviceChoice, DeviceName};
use firefly_app::files::ensure_writable;
use firefly_app::progress::StepProgress;
use firefly_app::table::{TableLayout, TextTable, wrapped};

use super::ExitStatus;
use crate::harness::{
    BatchLimit, CaseError, CaseOutcome, CaseRecord, Inputs, LimitedBy, MAX_BYTES, MEMORY_SHARE, MachineInfo, Problem,
    Verification, available_cores, available_memory, whole,
};
use crate::report::schema::{BenchReport, CommandRecord, write};
use crate::report::terminal::Columns;
use crate::suites::options::PeaksSizes;
use crate::suites::peaks::{PeaksProblem, facts, firefly};
use firefly_app::number::{self, bytes};

/// Bytes of a peak in an operation's output: a bin of 64 bits and a power of 32.
const PEAK_BYTES: usize = size_of::<i64>() + size_of::<f32>();

#[derive(Debug, Clone, clap::Args)]
#[command(mut_arg("n_fft", |arg| arg.default_value("256,1024,4096")))]
pub(crate) struct MaxBatchArgs {
    #[command(flatten)]
    pub sizes: PeaksSizes,
    /// Device of the tensors: auto (the first GPU that is built in and present, or else the CPU), cpu, ndarray, wgpu,
    /// vulkan, metal, cuda or rocm, with an index as in cuda:1
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    pub device: DeviceChoice,
    /// Prove by running a batch whose input takes at most so many MiB, from 0: the largest itself, if that is no more,
    /// and if there is memory for its expected result too
    #[arg(long, value_name = "MIB", default_value_t = 64, value_parser = whole::<usize>)]
    pub prove: usize,
    /// Seed of the inputs: a whole number from 0
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<u64>)]
    pub seed: u64,
    /// Write a JSON report to this file
    #[arg(long, value_name = "PATH")]
    pub json: Option<PathBuf>,
    /// Show every column of the table, whatever the terminal's width
    #[arg(long)]
    pub wide: bool,
    /// Print the table only
    #[arg(long)]
    pub quiet: bool,
}

/// Computes the largest batches, proves what can be, and prints the table to `out`.
pub(crate) fn run(arguments: &MaxBatchArgs, out: &mut dyn Write) -> anyhow::Result<ExitStatus> {
    let MaxBatchArgs { sizes, device: name, prove, seed, json, wide, quiet } = arguments;
    let name = &name.name();
    let device = name.open()?;
    if let Some(path) = json {
        ensure_writable(path).with_context(|| format!("--json {}", path.display()))?;
    }
    let problems = sizes.problems(&[1]);
    let progress = StepProgress::new(*quiet, problems.len());
    let mut cases = Vec::new();
    for problem in &problems {
        let parameters = problem.spec().parameters;
        progress.set_message(parameters.without(&["hop", "frame", "batch"]).to_string());
        let outcome = match largest(problem, *name) {
            Ok((limit, row_bytes)) => {
                let most = (prove.saturating_mul(1 << 20) / row_bytes).min(provable(problem, limit.free_bytes));
                prove_batch(problem, limit, most, *seed, &device)
            }
            Err(reason) => CaseOutcome::unsupported(reason),
        };
        cases.push(CaseRecord {
            problem: parameters.without(&["batch"]),
            strategy: firefly().name.into(),
            device: name.to_string(),
            instruction_set: None,
            threads: available_cores(),
            competes: true,
            outcome,
        });
        progress.advance(1);
    }
    progress.finish();
    // The file before the table: a closed output loses no result.
    if let Some(path) = json {
        let options = sizes.parameters().with("device", name.to_string()).with("prove", *prove).with("seed", *seed);
        let command = CommandRecord { name: "max-batch".into(), options };
        write(&BenchReport::new(command, facts(), cases.clone()), path)?;
    }
    let layout = TableLayout::of_stdout(*wide);
    if !quiet {
        let (device, machine) = (arguments.device.explained(), MachineInfo::detect().summary());
        let title = format!("max-batch of welch_peaks on {device}: {machine}");
        writeln!(out, "{}", wrapped(&title, layout.width).join("\n  "))?;
        writeln!(out, "one-sided f32 power: {}\n", facts())?;
    }
    write!(out, "{}", table(&cases).render_with_remark(layout))?;
    Ok(ExitStatus::of(&cases))
}

/// The largest batch of a problem, and the bytes per row of its input.
fn largest(problem: &PeaksProblem, device: DeviceName) -> Result<(BatchLimit, usize), String> {
    problem.validate().map_err(|error| error.to_string())?;
    if !device.kind().is_host() {
        return Err(format!("{device} does not say how much memory it has"));
    }
    let input = problem.frame() * size_of::<f32>();
    Ok((limit(input, problem.k * PEAK_BYTES, available_memory()), input))
}

/// The largest batch of rows that take so many bytes of input and output, where so many bytes are free, with an input
/// that commands which measure accept.
fn limit(input: usize, output: usize, free: Option<u64>) -> BatchLimit {
    let by_size = MAX_BYTES as u64 / input as u64;
    let by_memory = free.map(|free| (MEMORY_SHARE * free as f64) as u64 / (input + output) as u64);
    let (batch, limited_by) = match by_memory {
        Some(batch) if batch < by_size => (batch, LimitedBy::Memory),
        _ => (by_size, LimitedBy::InputSize),
    };
    let (bytes_per_row, free_bytes) = ((input + output) as u64, free);
    BatchLimit { batch, limited_by, bytes_per_row, free_bytes, proven_batch: 0, verification: None }
}

/// Largest batch that can be proven where so many bytes are free: beside the call's own memory that takes the frames a
/// second time, and what the comparison reads.
fn provable(problem: &PeaksProblem, free: Option<u64>) -> usize {
    const ROWS: usize = 1 << 10;
    let rows = PeaksProblem { batch: ROWS, ..*problem };
    let spec = rows.spec();
    let needed = Inputs::memory(&spec.inputs, ROWS, 1) + firefly().memory(&spec);
    free.map_or(usize::MAX, |free| (MEMORY_SHARE * free as f64 * ROWS as f64 / needed as f64) as usize)
}

/// Runs the largest batch, or `most` rows if that is fewer, and checks them.
fn prove_batch(problem: &PeaksProblem, limit: BatchLimit, most: usize, seed: u64, device: &Device) -> CaseOutcome {
    let batch = usize::try_from(limit.batch).unwrap_or(usize::MAX).min(most);
    if batch == 0 {
        return CaseOutcome::Bounded(limit);
    }
    let problem = PeaksProblem { batch, ..*problem };
    let inputs = Inputs::generate(problem.spec().inputs, batch, seed, 1, device);
    match (firefly().verify)(&problem, &inputs) {
        Ok(verified) => {
            let verification = Some(verified.verification);
            CaseOutcome::Bounded(BatchLimit { proven_batch: batch as u64, verification, ..limit })
        }
        Err(CaseError::Unsupported(reason)) => CaseOutcome::unsupported(reason),
        Err(error) => CaseOutcome::failed(format!("batch {batch}: {error}")),
    }
}

/// Table with a row per problem.
pub fn table(cases: &[CaseRecord]) -> TextTable {
    fn of<'a>(shown: impl Fn(&BatchLimit) -> String + 'a) -> impl Fn(&CaseRecord) -> String + 'a {
        move |case| match &case.outcome {
            CaseOutcome::Bounded(limit) => shown(limit),
            _ => String::new(),
        }
    }
    let found = |shown: fn(Verification) -> String| of(move |limit| limit.verification.map(shown).unwrap_or_default());
    Columns::new()
        .number("n_fft", |case: &CaseRecord| case.problem.shown("n_fft"))
        .number("segments", |case| case.problem.shown("segments"))
        .number("k", |case| case.problem.shown("k"))
        .optional("bytes/row", 3, of(|limit| number::whole(limit.bytes_per_row)))
        .optional("free", 4, of(|limit| limit.free_bytes.map(bytes).unwrap_or_default()))
        .number("largest batch", of(|limit| number::whole(limit.batch)))
        .optional_word("limited by", 2, of(|limit| limit.limited_by.name().into()))
        .optional("proven batch", 1, of(|limit| number::whole(limit.proven_batch)))
        .wide("rows checked", found(|found| found.rows.to_string()))
        .optional("error", 5, found(|found| format!("{:.1e}", found.error)))
        .table_with_remarks(cases, 3, |case| match &case.outcome {
            CaseOutcome::Bounded(_) => None,
            other => Some(other.remark()),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tighter_bound_limits() {
        let by_memory = limit(1536, 192, Some(1_000_000));
        assert_eq!((by_memory.batch, by_memory.limited_by), (462, LimitedBy::Memory));
        let unknown = limit(1536, 192, None);
        assert_eq!((unknown.batch, unknown.limited_by), (5_592_405, LimitedBy::InputSize));
        let plenty = limit(1536, 192, Some(u64::MAX));
        assert_eq!(plenty.limited_by, LimitedBy::InputSize);
    }

    #[test]
    fn a_largest_batch_is_accepted_by_the_commands_that_measure() {
        for (n_fft, segments, k) in [(8, 1, 5), (256, 2, 16), (1000, 3, 501), (65_536, 8, 32_769)] {
            let problem = PeaksProblem::new(n_fft, segments, 1, k);
            let (limit, _) = largest(&problem, DeviceName::CPU).unwrap();
            let of = |batch| PeaksProblem { batch, ..problem }.validate();
            assert!(of(limit.batch as usize).is_ok(), "{n_fft} {segments} {k}");
            let largest = limit_without_memory(&problem);
            assert!(of(largest).is_ok() && of(largest + 1).is_err(), "{n_fft} {segments} {k}: {largest}");
        }
    }

    #[test]
    fn a_proof_fits_in_free_memory() {
        const FREE: u64 = 3 << 30;
        let problem = PeaksProblem::new(256, 2, 1, 16);
        let provable = provable(&problem, Some(FREE));
        let rows = PeaksProblem { batch: provable, ..problem };
        let needed = Inputs::memory(&rows.spec().inputs, provable, 1) + firefly().memory(&rows.spec());
        let share = needed as f64 / FREE as f64;
        assert!((0.79..=0.8).contains(&share), "{share}");
    }

    fn limit_without_memory(problem: &PeaksProblem) -> usize {
        limit(problem.frame() * size_of::<f32>(), problem.k * PEAK_BYTES, None).batch as usize
    }

    #[test]
    fn a_device_that_does_not_say_its_memory_has_no_bound() {
        let problem = PeaksProblem::new(64, 2, 1, 4);
        let reason = largest(&problem, "cuda:1".parse().unwrap()).unwrap_err();
        assert_eq!(reason, "cuda:1 does not say how much memory it has");
        assert!(largest(&PeaksProblem::new(8, 2, 1, 6), DeviceName::CPU).unwrap_err().to_string().contains("`k` is 6"));
    }
}
