//! `firefly-bench e2e`: whole pipelines, from frames in host memory to results in host memory.

use std::io::Write;

use anyhow::ensure;
use clap::builder::TypedValueParser;
use firefly_models::Tier;

use super::ExitStatus;
use super::comparison::Comparison;
use super::options::MeasureOptions;
use super::values::{NumberRange, TIERS, distinct, named, numbers};
use super::welch_options::{lengths, tier_names};
use crate::harness::parameters::ParameterMap;
use crate::harness::strategy::BenchStrategy;
use crate::suites::peaks::facts;
use crate::suites::pipelines::{Pipeline, PipelineProblem, grid};

const MOST_MELS: usize = 4096;

/// Options of `e2e`.
#[derive(Debug, Clone, clap::Args)]
pub struct E2eArgs {
    /// Results to compute
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "psd,mel,peaks")]
    #[arg(value_parser = pipelines())]
    pub pipeline: Vec<Pipeline>,
    /// Samples per segment: powers of two from 8 to 65536
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "256")]
    pub n_fft: Vec<NumberRange>,
    /// Frames per call
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "32,1024,8192")]
    pub batch: Vec<NumberRange>,
    /// Segments used of each frame: ultra (1), fast (2), reference (8)
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "fast", value_parser = named(TIERS))]
    pub tier: Vec<Tier>,
    /// Peaks per frame
    #[arg(long, default_value_t = 16)]
    pub k: usize,
    /// Filters of the mel pipeline
    #[arg(long, default_value_t = 40)]
    pub mels: usize,
    /// Sampling rate of the mel filters, in hertz
    #[arg(long, default_value_t = 16_000.0)]
    pub sample_rate: f64,
    /// Device, execution and iterations
    #[command(flatten)]
    pub measure: MeasureOptions,
}

/// Parser of a pipeline by its name.
fn pipelines() -> impl TypedValueParser<Value = Pipeline> {
    named(Pipeline::ALL.map(|pipeline| (pipeline.name(), pipeline)))
}

/// Runs the grid that `arguments` describe over strategies of `catalogue`, and prints the table to `out`.
///
/// # Errors
/// For arguments out of range, a device that is not there, and output that can't be written. A case that fails is a row
/// of the table and an [`ExitStatus`].
pub fn run(
    arguments: &E2eArgs,
    catalogue: &[BenchStrategy<PipelineProblem>],
    out: &mut dyn Write,
) -> anyhow::Result<ExitStatus> {
    let E2eArgs { pipeline, n_fft, batch, tier, k, mels, sample_rate, measure } = arguments;
    let (lengths, batches) = (lengths(n_fft, "e2e")?, numbers(batch));
    let pipelines = distinct(pipeline.iter().copied());
    ensure!((1..=MOST_MELS).contains(mels), "--mels is {mels}, but must be from 1 to {MOST_MELS}");
    ensure!(
        sample_rate.is_finite() && *sample_rate > 0.0,
        "--sample-rate is {sample_rate}, but must be a positive number of hertz"
    );
    let facts = facts();
    let names: Vec<&str> = pipelines.iter().map(|pipeline| pipeline.name()).collect();
    let comparison = Comparison {
        command: "e2e",
        heading: vec![
            format!("one-sided f32 power: {facts}; {mels} triangular mel filters at {sample_rate} Hz"),
            "a row is a frame; from frames in host memory to results in host memory; GB/s: both once".into(),
        ],
        facts,
        options: ParameterMap::default()
            .with("pipeline", names)
            .with("n_fft", lengths.clone())
            .with("batch", batches.clone())
            .with("tier", tier_names(tier))
            .with("k", *k)
            .with("mels", *mels)
            .with("sample_rate", *sample_rate),
        problems: grid(&pipelines, &lengths, &distinct(tier.clone()), &batches, [*k, *mels], *sample_rate),
        columns: &["n_fft", "tier", "batch", "pipeline"],
        catalogue,
        added: Vec::new(),
        default_baseline: "burn-stock",
    };
    Ok(ExitStatus::of(&comparison.run(measure, out)?))
}
