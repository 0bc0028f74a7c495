//! `firefly-bench max-batch`: the largest batch that is safe in one call, what limits it, and proof by running it.
use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use burn::tensor::Device;
use firefly_app::device::{DeviceChoice, DeviceName};
use firefly_app::files::ensure_writable;
use firefly_app::progress::StepProgress;
use firefly_app::table::{Align, TableLayout, TextTable, wrapped};
use firefly_models::Tier;
use thiserror::Error;

use super::ExitStatus;
use super::values::{TIERS, named};
use super::welch_options::tier_names;
use crate::harness::machine::{MachineInfo, available_cores, available_memory};
use crate::harness::number_list::{NumberRange, distinct, numbers, whole};
use crate::harness::outcome::{BatchLimit, CaseOutcome, CaseRecord, LimitedBy};
use crate::harness::parameters::ParameterMap;
use crate::harness::problem::{Problem, ProblemError};
use crate::harness::verification::{CaseError, Unsupported, Verification};
use crate::report::schema::{BenchReport, CommandRecord};
use crate::suites::peaks::{MAX_INPUT_BYTES, PeaksProblem, facts, firefly, grid};
use firefly_app::number::{self, bytes};

/// Share of the memory that is free which a call may take: the rest is for whoever else is there.
const MEMORY_SHARE: f64 = 0.8;
/// Bytes of a peak in an operation's output: a bin of 64 bits and a power of 32.
const PEAK_BYTES: usize = size_of::<i64>() + size_of::<f32>();

/// Options of `max-batch`.
#[derive(Debug, Clone, clap::Args)]
pub struct MaxBatchArgs {
    /// Samples per segment: powers of two from 8 to 65536
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "256,1024,4096",
        allow_negative_numbers = true
    )]
    pub n_fft: Vec<NumberRange>,
    /// Peaks per frame: from 1 to n_fft / 2 + 1
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "16", allow_negative_numbers = true)]
    pub k: Vec<NumberRange>,
    /// Segments used of each frame: ultra (1), fast (2), reference (8)
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "fast", value_parser = named(TIERS))]
    pub tier: Vec<Tier>,
    /// Device of the tensors: auto (the first GPU that is built in and present, or else the CPU), cpu, ndarray, wgpu,
    /// vulkan, metal, cuda or rocm, with an index as in cuda:1
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    pub device: DeviceChoice,
    /// Prove by running a batch whose input takes at most so many MiB, from 0: the largest itself, if that is no more,
    /// and if there is memory for its expected result too
    #[arg(long, value_name = "MIB", default_value_t = 64, allow_negative_numbers = true)]
    #[arg(value_parser = whole::<usize>)]
    pub prove: usize,
    /// Seed of the inputs: a whole number from 0
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    #[arg(value_parser = whole::<u64>)]
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
///
/// # Errors
/// For a device that is not there, and output that can't be written. A batch that can't be proven is no error but a row
/// of the table and a [`ExitStatus`].
pub fn run(arguments: &MaxBatchArgs, out: &mut dyn Write) -> anyhow::Result<ExitStatus> {
    let MaxBatchArgs { n_fft, k, tier, device: name, prove, seed, json, wide, quiet } = arguments;
    let name = &name.name();
    let device = name.open()?;
    if let Some(path) = json {
        ensure_writable(path).with_context(|| format!("--json {}", path.display()))?;
    }
    let problems = grid(&numbers(n_fft), &distinct(tier.clone()), &[1], &numbers(k));
    let progress = StepProgress::new(*quiet, problems.len());
    let mut cases = Vec::new();
    for problem in &problems {
        progress.set_message(format!("n_fft {}, {}, k {}", problem.options.n_fft, problem.tier, problem.k));
        let outcome = match largest(problem, *name) {
            Ok((limit, row_bytes)) => {
                let most = (prove.saturating_mul(1 << 20) / row_bytes).min(provable(problem, limit.free_bytes));
                prove_batch(problem, limit, most, *seed, &device)
            }
            Err(reason) => CaseOutcome::unsupported(reason),
        };
        cases.push(CaseRecord {
            problem: problem.parameters().without(&["batch"]),
            strategy: firefly().info().name.into(),
            device: name.to_string(),
            instruction_set: None,
            threads: available_cores(),
            competes: true,
            outcome,
        });
        progress.advance(1);
    }
    progress.finish();
    let host = MachineInfo::detect();
    let title = format!("max-batch of welch_peaks on {}: {}", arguments.device.explained(), host.summary());
    // The file before the table: a closed output loses no result.
    if let Some(path) = json {
        let options = ParameterMap::default()
            .with("n_fft", numbers(n_fft))
            .with("k", numbers(k))
            .with("tier", tier_names(tier))
            .with("device", name.to_string())
            .with("prove", *prove)
            .with("seed", *seed);
        let command = CommandRecord { name: "max-batch".into(), options };
        BenchReport::new(host, command, facts(), cases.clone()).write(path)?;
    }
    let layout = TableLayout::of_stdout(*wide);
    if !quiet {
        writeln!(out, "{}", wrapped(&title, layout.width).join("\n  "))?;
        writeln!(out, "one-sided f32 power: {}\n", facts())?;
    }
    write!(out, "{}", table(&cases).render_in(layout))?;
    Ok(ExitStatus::of(&cases))
}

/// Reason why there is no largest batch.
#[derive(Debug, Error)]
enum LimitError {
    #[error(transparent)]
    Problem(#[from] ProblemError),
    #[error("{0} does not say how much memory it has")]
    UnknownMemory(DeviceName),
}

/// The largest batch of a problem, and the bytes per row of its input.
fn largest(problem: &PeaksProblem, device: DeviceName) -> Result<(BatchLimit, usize), LimitError> {
    problem.check()?;
    if !device.kind().is_host() {
        return Err(LimitError::UnknownMemory(device));
    }
    let input = problem.frame() * size_of::<f32>();
    Ok((limit(input, problem.k * PEAK_BYTES, available_memory()), input))
}

/// The largest batch of rows that take so many bytes of input and output, where so many bytes are free.
///
/// Every tensor is one allocation, which can't be larger than `isize::MAX` bytes; that is also as far as an index
/// reaches. Commands that measure accept inputs of [`MAX_INPUT_BYTES`].
fn limit(input: usize, output: usize, free: Option<u64>) -> BatchLimit {
    let by_index = isize::MAX as u64 / input.max(output) as u64;
    let by_memory = free.map(|free| (MEMORY_SHARE * free as f64) as u64 / (input + output) as u64);
    let by_size = MAX_INPUT_BYTES as u64 / input as u64;
    let limits = [
        (by_memory, LimitedBy::Memory),
        (Some(by_index), LimitedBy::IndexRange),
        (Some(by_size), LimitedBy::InputSize),
    ];
    let known = limits.into_iter().filter_map(|(batch, limited_by)| Some((batch?, limited_by)));
    let (batch, limited_by) = known.min_by_key(|(batch, _)| *batch).unwrap_or((by_index, LimitedBy::IndexRange));
    BatchLimit {
        batch,
        limited_by,
        bytes_per_row: (input + output) as u64,
        free_bytes: free,
        proven_batch: 0,
        verification: None,
    }
}

/// Largest batch that can be proven where so many bytes are free: beside the call's own memory that takes the frames a
/// second time, and what the comparison reads.
fn provable(problem: &PeaksProblem, free: Option<u64>) -> usize {
    const ROWS: usize = 1 << 10;
    let rows = PeaksProblem { batch: ROWS, ..*problem };
    let needed = rows.input_memory(1) + firefly().memory(&rows).total();
    free.map_or(usize::MAX, |free| (MEMORY_SHARE * free as f64 * ROWS as f64 / needed as f64) as usize)
}

/// Runs the largest batch, or `most` rows if that is fewer, and checks them.
fn prove_batch(problem: &PeaksProblem, limit: BatchLimit, most: usize, seed: u64, device: &Device) -> CaseOutcome {
    let batch = usize::try_from(limit.batch).unwrap_or(usize::MAX).min(most);
    if batch == 0 {
        return CaseOutcome::Bounded(limit);
    }
    let problem = PeaksProblem { batch, ..*problem };
    match verify_batch(&problem, seed, device) {
        Ok(found) => {
            CaseOutcome::Bounded(BatchLimit { proven_batch: batch as u64, verification: Some(found), ..limit })
        }
        Err(CaseError::Unsupported(reason)) => CaseOutcome::unsupported(reason),
        Err(error) => CaseOutcome::failed(format!("batch {batch}: {error}")),
    }
}

fn verify_batch(problem: &PeaksProblem, seed: u64, device: &Device) -> Result<Verification, CaseError> {
    problem.check().map_err(Unsupported::Problem)?;
    let inputs = problem.generate(seed, 1, device);
    let expected = problem.expected(&inputs, seed).map_err(CaseError::mismatch)?;
    Ok(firefly().verify(problem, &inputs, &expected)?.verification)
}

/// Table with a row per problem.
pub fn table(cases: &[CaseRecord]) -> TextTable {
    let mut table = TextTable::default()
        .column("n_fft", Align::Right)
        .column("tier", Align::Left)
        .column("k", Align::Right)
        .optional("bytes/row", Align::Right, 3)
        .optional("free", Align::Right, 4)
        .column("largest batch", Align::Right)
        .optional("limited by", Align::Left, 2)
        .optional("proven batch", Align::Right, 1)
        .wide("rows checked", Align::Right)
        .optional("error", Align::Right, 5);
    for case in cases {
        let mut cells: Vec<String> = ["n_fft", "tier", "k"].map(|name| case.problem.shown(name)).into();
        match &case.outcome {
            CaseOutcome::Bounded(limit) => {
                cells.extend([
                    number::whole(limit.bytes_per_row),
                    limit.free_bytes.map(bytes).unwrap_or_default(),
                    number::whole(limit.batch),
                    limit.limited_by.to_string(),
                    number::whole(limit.proven_batch),
                    limit.verification.map(|found| found.rows.to_string()).unwrap_or_default(),
                    limit.verification.map(|found| format!("{:.1e}", found.error)).unwrap_or_default(),
                ]);
                table.row(cells);
            }
            other => table.row_with_remark(cells, other.remark()),
        }
    }
    table
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
        // One output of a row is then larger than any allocation.
        let wide = limit(1, isize::MAX as usize, None);
        assert_eq!((wide.batch, wide.limited_by), (1, LimitedBy::IndexRange));
    }

    #[test]
    fn a_largest_batch_is_accepted_by_the_commands_that_measure() {
        for (n_fft, tier, k) in [(8, Tier::Ultra, 5), (256, Tier::Fast, 16), (65_536, Tier::Reference, 32_769)] {
            let problem = PeaksProblem::new(n_fft, tier, 1, k);
            let (limit, _) = largest(&problem, DeviceName::CPU).unwrap();
            let of = |batch| PeaksProblem { batch, ..problem }.check();
            assert_eq!(of(limit.batch as usize), Ok(()), "{n_fft} {tier} {k}");
            let largest = limit_without_memory(&problem);
            assert!(of(largest).is_ok() && of(largest + 1).is_err(), "{n_fft} {tier} {k}: {largest}");
        }
    }

    #[test]
    fn a_proof_fits_in_free_memory() {
        const FREE: u64 = 3 << 30;
        let problem = PeaksProblem::new(256, Tier::Fast, 1, 16);
        let provable = provable(&problem, Some(FREE));
        let rows = PeaksProblem { batch: provable, ..problem };
        let needed = rows.input_memory(1) + firefly().memory(&rows).total();
        let share = needed as f64 / FREE as f64;
        assert!((0.79..=0.8).contains(&share), "{share}");
    }

    fn limit_without_memory(problem: &PeaksProblem) -> usize {
        limit(problem.frame() * size_of::<f32>(), problem.k * PEAK_BYTES, None).batch as usize
    }

    #[test]
    fn a_device_that_does_not_say_its_memory_has_no_bound() {
        let problem = PeaksProblem::new(64, Tier::Fast, 1, 4);
        let reason = largest(&problem, "cuda:1".parse().unwrap()).unwrap_err().to_string();
        assert_eq!(reason, "cuda:1 does not say how much memory it has");
        assert!(
            largest(&PeaksProblem::new(8, Tier::Fast, 1, 6), DeviceName::CPU)
                .unwrap_err()
                .to_string()
                .contains("`k` is 6")
        );
    }
}
