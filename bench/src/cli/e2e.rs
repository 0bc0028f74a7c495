//! `firefly-bench e2e`: whole pipelines, from frames in host memory to results in host memory.

use std::io::Write;
use std::str::FromStr;

use anyhow::ensure;

use super::Verdict;
use crate::cli::grid::Grid;
use crate::cli::lists::{self, Counts, ListError};
use crate::cli::options::Measuring;
use crate::cli::peaks_grid::{Tiers, check_lengths};
use crate::harness::parameters::Parameters;
use crate::harness::strategy::Strategy;
use crate::suites::peaks::facts;
use crate::suites::pipelines::{Pipeline, PipelineProblem, grid};

const MOST_MELS: usize = 4096;

/// The options of `e2e`.
#[derive(Debug, Clone, clap::Args)]
pub struct Arguments {
    /// What comes out: psd, mel, peaks
    #[arg(long, value_name = "LIST", default_value = "psd,mel,peaks")]
    pub pipeline: Pipelines,
    /// Samples of a segment: powers of two from 8 to 65536
    #[arg(long, value_name = "LIST", default_value = "256")]
    pub n_fft: Counts,
    /// Frames of a call
    #[arg(long, value_name = "LIST", default_value = "32,1024,8192")]
    pub batch: Counts,
    /// Segments used of each frame: ultra (1), fast (2), reference (8)
    #[arg(long, value_name = "LIST", default_value = "fast")]
    pub tier: Tiers,
    /// Peaks of each frame
    #[arg(long, default_value_t = 16)]
    pub k: usize,
    /// Filters of the mel pipeline
    #[arg(long, default_value_t = 40)]
    pub mels: usize,
    /// Samples a second, in hertz: where the mel filters are
    #[arg(long, default_value_t = 16_000.0)]
    pub sample_rate: f64,
    /// What every command has
    #[command(flatten)]
    pub measuring: Measuring,
}

/// Pipelines in the order typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pipelines(pub Vec<Pipeline>);

impl FromStr for Pipelines {
    type Err = ListError;

    fn from_str(text: &str) -> Result<Self, ListError> {
        let positions = lists::named(text, "pipeline", &Pipeline::ALL.map(Pipeline::name))?;
        Ok(Self(positions.into_iter().map(|position| Pipeline::ALL[position]).collect()))
    }
}

/// Runs the grid that `arguments` describe over strategies of `catalogue`, and prints the table to `out`.
///
/// # Errors
/// For arguments no case can be made of, a device that is not there, and output that can't be written. A case that fails
/// is no error but a row of the table and a [`Verdict`].
pub fn run(
    arguments: &Arguments,
    catalogue: &[Box<dyn Strategy<PipelineProblem>>],
    out: &mut dyn Write,
) -> anyhow::Result<Verdict> {
    let Arguments { pipeline, n_fft, batch, tier, k, mels, sample_rate, measuring } = arguments;
    check_lengths(n_fft, "e2e")?;
    ensure!((1..=MOST_MELS).contains(mels), "--mels is {mels}, but must be from 1 to {MOST_MELS}");
    ensure!(
        sample_rate.is_finite() && *sample_rate > 0.0,
        "--sample-rate is {sample_rate}, but must be a positive number of hertz"
    );
    let facts = facts();
    let names: Vec<&str> = pipeline.0.iter().map(|pipeline| pipeline.name()).collect();
    let grid = Grid {
        command: "e2e",
        heading: vec![
            format!("one-sided f32 power: {facts}; {mels} triangular mel filters at {sample_rate} Hz"),
            "a row is a frame; from frames in host memory to results in host memory; GB/s: both once".into(),
        ],
        facts,
        options: Parameters::default()
            .with("pipeline", names)
            .with("n_fft", n_fft.0.clone())
            .with("batch", batch.0.clone())
            .with("tier", tier.names())
            .with("k", *k)
            .with("mels", *mels)
            .with("sample_rate", *sample_rate),
        problems: grid(&pipeline.0, &n_fft.0, &tier.0, &batch.0, [*k, *mels], *sample_rate),
        columns: &["n_fft", "tier", "batch", "pipeline"],
        catalogue,
        usual_baseline: "burn-stock",
    };
    Ok(Verdict::of(&grid.run(measuring, out)?))
}
