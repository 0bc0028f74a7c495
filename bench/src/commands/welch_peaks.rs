//! `firefly-bench welch-peaks`: the strongest lines of Welch spectra, strategy against strategy.

use std::io::Write;
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context, ensure};
use clap::value_parser;
use firefly_framework::device::DeviceName;
use firefly_framework::files::ensure_writable;
use firefly_models::Tier;
use firefly_ops::WelchOptions;
use serde_json::json;

use super::Verdict;
use crate::comparison::Comparison;
use crate::host::{Host, available_cores, available_memory};
use crate::input::Inputs;
use crate::json::{self, CaseRecord, Command, Estimate, Measured, Outcome, Report, Tool};
use crate::lists::{self, Counts, ListError};
use crate::measure::Schedule;
use crate::problem::{Problem, SYMMETRY, WINDOW, grid};
use crate::progress::Progress;
use crate::strategy::Strategy;
use crate::table::{Side, Table, count, digits, duration};

/// What speed is related to unless said, where it takes part.
const USUAL_BASELINE: &str = "rustfft";
const MOST_ITERATIONS: i64 = 1_000_000;
const MOST_THREADS: i64 = 1024;
/// Share of the memory that is free which inputs may take.
const MEMORY_SHARE: f64 = 0.6;

/// The options. Lists are separated by commas; lists of numbers also take ranges of powers of two, as in 32..8192.
#[derive(Debug, Clone, clap::Args)]
pub struct Arguments {
    /// Samples of a segment: powers of two from 8 to 65536
    #[arg(long, value_name = "LIST", default_value = "256")]
    pub n_fft: Counts,
    /// Frames of a call
    #[arg(long, value_name = "LIST", default_value = "32,256,1024,8192")]
    pub batch: Counts,
    /// Peaks of each frame
    #[arg(long, value_name = "LIST", default_value = "16")]
    pub k: Counts,
    /// Segments used of each frame: ultra (1), fast (2), reference (8)
    #[arg(long, value_name = "LIST", default_value = "fast")]
    pub tier: Tiers,
    /// How peaks are computed, among firefly, psd-topk, rustfft and realfft; all of them unless given
    #[arg(long, value_name = "LIST")]
    pub strategy: Option<String>,
    /// The strategy that the others' speed is related to: rustfft unless given, or the first if that doesn't take part
    #[arg(long, value_name = "NAME")]
    pub baseline: Option<String>,
    /// Where tensors are: cpu, ndarray, wgpu, vulkan, metal or cuda, with an index as in cuda:1
    #[arg(long, default_value = "cpu")]
    pub device: DeviceName,
    /// Iterations that are timed, each on the next of several inputs
    #[arg(long, value_name = "N", default_value_t = 51, value_parser = value_parser!(u32).range(1..=MOST_ITERATIONS))]
    pub iters: u32,
    /// Iterations before those
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = value_parser!(u32).range(..=MOST_ITERATIONS))]
    pub warmup: u32,
    /// What inputs are made from
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Host threads to use; all cores unless given
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..=MOST_THREADS))]
    pub threads: Option<u16>,
    /// Write a JSON report there, with every sample
    #[arg(long, value_name = "PATH")]
    pub json: Option<PathBuf>,
    /// Print the table only
    #[arg(long)]
    pub quiet: bool,
}

/// Tiers in the order typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tiers(pub Vec<Tier>);

impl FromStr for Tiers {
    type Err = ListError;

    fn from_str(text: &str) -> Result<Self, ListError> {
        let names = Tier::ALL.map(|tier| tier.to_string());
        let positions = lists::named(text, "tier", &names.each_ref().map(String::as_str))?;
        Ok(Self(positions.into_iter().map(|position| Tier::ALL[position]).collect()))
    }
}

/// Runs the grid that `arguments` describe over strategies of `catalogue`, and prints the table to `out`.
///
/// # Errors
/// For arguments no case can be made of, a device that is not there, and output that can't be written. A case that fails
/// is no error but a row of the table and a [`Verdict`].
pub fn run(arguments: &Arguments, catalogue: &[Box<dyn Strategy>], out: &mut dyn Write) -> anyhow::Result<Verdict> {
    for &n_fft in &arguments.n_fft.0 {
        WelchOptions { hop: 1, ..WelchOptions::new(n_fft, 1) }.validate("welch-peaks")?;
    }
    let device = arguments.device.open()?;
    if let Some(path) = &arguments.json {
        ensure_writable(path).with_context(|| format!("--json {}", path.display()))?;
    }
    let comparison = comparison(arguments, catalogue)?;
    let threads = comparison.pool.current_num_threads();
    let problems = grid(&arguments.n_fft.0, &arguments.tier.0, &arguments.batch.0, &arguments.k.0);
    let host = Host::detect();
    if !arguments.quiet {
        writeln!(out, "{}", heading(arguments, &comparison, &host))?;
    }
    if cfg!(debug_assertions) {
        eprintln!("warning: built without optimisation; times mean nothing");
    }

    let progress = Progress::new(arguments.quiet, problems.len() * comparison.steps());
    let most_sets = comparison.schedule.warmup + comparison.schedule.iterations;
    let mut inputs: Option<Inputs> = None;
    let mut cases = Vec::new();
    for problem in &problems {
        let Problem { tier, options, batch, k } = problem;
        progress.say(format!("n_fft {}, {tier}, batch {batch}, k {k}", options.n_fft));
        // Inputs that don't fit are freed before memory is asked for.
        inputs = inputs.filter(|inputs| inputs.fit(problem));
        let ready = problem.check().map_err(|error| error.to_string()).and_then(|()| match inputs.take() {
            Some(fitting) => Ok(fitting),
            None => enough_memory(problem, most_sets)
                .map(|()| Inputs::generate(problem, arguments.seed, most_sets, &device)),
        });
        let outcomes = match ready {
            Ok(ready) => comparison.run(problem, inputs.insert(ready), &progress),
            Err(reason) => {
                progress.advance(comparison.steps());
                vec![Outcome::Unsupported { reason }; comparison.strategies.len()]
            }
        };
        let records = comparison.strategies.iter().zip(outcomes);
        cases.extend(
            records.map(|(strategy, outcome)| record(problem, strategy.name(), arguments.device, threads, outcome)),
        );
    }
    progress.finish();

    let baseline = comparison.baseline.map(|index| comparison.strategies[index].name());
    write!(out, "{}", table(&cases, baseline).render())?;
    out.flush()?;
    let failures = cases.iter().filter(|case| matches!(case.outcome, Outcome::Failed { .. })).count();
    if let Some(path) = &arguments.json {
        let command = command(arguments, &comparison, threads);
        let report = Report {
            format: json::FORMAT,
            tool: Tool::this(),
            date: json::now(),
            host,
            command,
            estimate: estimate(),
            cases,
        };
        report.write(path).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(if failures == 0 { Verdict::Passed } else { Verdict::Failed })
}

/// Whether the problem's inputs fit in memory.
fn enough_memory(problem: &Problem, most_sets: usize) -> Result<(), String> {
    let needed = Inputs::memory(problem, most_sets) as f64;
    match available_memory() {
        Some(free) if needed > MEMORY_SHARE * free as f64 => {
            let [needed, free] = [needed, free as f64].map(|bytes| digits(bytes / f64::from(1 << 30)));
            Err(format!("inputs take {needed} GiB of memory, and {free} GiB are free"))
        }
        _ => Ok(()),
    }
}

fn comparison<'a>(arguments: &Arguments, catalogue: &'a [Box<dyn Strategy>]) -> anyhow::Result<Comparison<'a>> {
    let known: Vec<&str> = catalogue.iter().map(|strategy| strategy.name()).collect();
    let chosen = match &arguments.strategy {
        Some(list) => lists::named(list, "strategy", &known).context("--strategy")?,
        None => (0..catalogue.len()).collect(),
    };
    let strategies: Vec<&dyn Strategy> = chosen.into_iter().map(|index| catalogue[index].as_ref()).collect();
    let names: Vec<&str> = strategies.iter().map(|strategy| strategy.name()).collect();
    let baseline = match &arguments.baseline {
        Some(name) => {
            let positions = lists::named(name, "strategy", &known).context("--baseline")?;
            let position = names.iter().position(|name| *name == known[positions[0]]);
            ensure!(positions.len() == 1, "--baseline: one strategy is wanted, not a list");
            Some(position.with_context(|| format!("--baseline: `{name}` is not among the strategies that run"))?)
        }
        None if names.len() == 1 => None,
        None => Some(names.iter().position(|name| *name == USUAL_BASELINE).unwrap_or(0)),
    };
    let threads = arguments.threads.map_or_else(available_cores, usize::from);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().context("--threads")?;
    let schedule = Schedule { warmup: arguments.warmup as usize, iterations: arguments.iters as usize };
    Ok(Comparison { strategies, baseline, schedule, seed: arguments.seed, pool })
}

fn estimate() -> Estimate {
    let options = Problem::new(256, Tier::Fast, 1, 1).options;
    Estimate {
        scaling: options.scaling.to_string(),
        window: format!("{WINDOW} {SYMMETRY:?}").to_lowercase(),
        hop: "n_fft/2".into(),
        detrend: options.detrend.to_string(),
    }
}

fn heading(arguments: &Arguments, comparison: &Comparison<'_>, host: &Host) -> String {
    let Estimate { scaling, window, hop, detrend } = estimate();
    let threads = comparison.pool.current_num_threads();
    let mut lines = vec![
        format!("welch-peaks on {}", host.summary()),
        format!("one-sided f32 power: scaling {scaling}, window {window}, hop {hop}, detrend {detrend}"),
        format!(
            "device {}, host threads {threads}, iterations {} after {}, seed {}",
            arguments.device, arguments.iters, arguments.warmup, arguments.seed
        ),
    ];
    lines.extend(comparison.strategies.iter().map(|strategy| format!("{}: {}", strategy.name(), strategy.summary())));
    if let Some(baseline) = comparison.baseline {
        let name = comparison.strategies[baseline].name();
        lines.push(format!("× {name}: how many times as fast as {name}, iteration by iteration: median (p10 – p90)"));
    }
    lines.push("GB/s: every sample once and 8 bytes a peak. error: of a peak's power, of its row's maximum\n".into());
    lines.join("\n")
}

fn command(arguments: &Arguments, comparison: &Comparison<'_>, threads: usize) -> Command {
    let names: Vec<&str> = comparison.strategies.iter().map(|strategy| strategy.name()).collect();
    Command {
        name: "welch-peaks".into(),
        options: json!({
            "n_fft": arguments.n_fft,
            "batch": arguments.batch,
            "k": arguments.k,
            "tier": arguments.tier.0,
            "strategy": names,
            "baseline": comparison.baseline.map(|index| names[index]),
            "device": arguments.device.to_string(),
            "iters": arguments.iters,
            "warmup": arguments.warmup,
            "seed": arguments.seed,
            "threads": threads,
        }),
    }
}

fn record(problem: &Problem, strategy: &str, device: DeviceName, threads: usize, outcome: Outcome) -> CaseRecord {
    CaseRecord {
        n_fft: problem.options.n_fft,
        tier: problem.tier.to_string(),
        segments: problem.options.segments,
        hop: problem.options.hop,
        frame: problem.frame(),
        batch: problem.batch,
        k: problem.k,
        strategy: strategy.into(),
        device: device.to_string(),
        threads,
        outcome,
    }
}

fn table(cases: &[CaseRecord], baseline: Option<&str>) -> Table {
    let mut table = Table::default()
        .column("n_fft", Side::Right)
        .column("tier", Side::Left)
        .column("batch", Side::Right)
        .column("k", Side::Right)
        .column("strategy", Side::Left)
        .column("median", Side::Right)
        .column("p10 – p90", Side::Right)
        .column("ns/row", Side::Right)
        .column("rows/s", Side::Right)
        .column("GB/s", Side::Right)
        .column("error", Side::Right);
    if let Some(baseline) = baseline {
        table = table.column(format!("× {baseline}"), Side::Left);
    }
    for case in cases {
        let mut cells = vec![
            case.n_fft.to_string(),
            case.tier.clone(),
            case.batch.to_string(),
            case.k.to_string(),
            case.strategy.clone(),
        ];
        match &case.outcome {
            Outcome::Measured(measured) => {
                cells.extend(figures(measured));
                table.row(cells);
            }
            Outcome::Failed { error } => table.row_with_remark(cells, format!("FAILED: {error}")),
            Outcome::Unsupported { reason } => table.row_with_remark(cells, format!("unsupported: {reason}")),
        }
    }
    table
}

fn figures(measured: &Measured) -> Vec<String> {
    let mut cells = vec![
        duration(measured.time_ns.median),
        format!("{} – {}", duration(measured.time_ns.p10), duration(measured.time_ns.p90)),
        digits(measured.ns_per_row),
        count(measured.rows_per_second),
        digits(measured.useful_gb_per_second),
        format!("{:.1e}", measured.verification.power_error),
    ];
    cells.extend(measured.speed_ratio.as_ref().map(|speed| {
        let spread = &speed.ratio;
        format!("{} ({} – {})", digits(spread.median), digits(spread.p10), digits(spread.p90))
    }));
    cells
}

#[cfg(test)]
mod tests {
    use clap::Args;

    use super::*;
    use crate::strategy::catalogue;

    #[test]
    fn the_help_names_every_strategy_and_tier() {
        let help = Arguments::augment_args(clap::Command::new("welch-peaks")).render_long_help().to_string();
        for strategy in catalogue() {
            assert!(help.contains(strategy.name()), "{}", strategy.name());
        }
        for tier in Tier::ALL {
            assert!(help.contains(&format!("{tier} ({})", tier.segments())), "{tier}");
        }
    }

    #[test]
    fn tiers_are_parsed_in_order() {
        assert_eq!("reference,ultra".parse(), Ok(Tiers(vec![Tier::Reference, Tier::Ultra])));
        assert!("fasst".parse::<Tiers>().unwrap_err().to_string().contains("did you mean `fast`?"));
    }
}
