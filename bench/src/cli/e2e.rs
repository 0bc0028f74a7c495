//! `firefly-bench e2e`: whole pipelines, from frames in host memory to results in host memory.

use std::io::Write;

use anyhow::ensure;
use clap::builder::TypedValueParser;
use firefly_models::Tier;

use super::ExitStatus;
use super::comparison::Comparison;
use super::options::MeasureOptions;
use super::train_options::TrainOptions;
use super::values::{TIERS, named};
use super::welch_options::{lengths, tier_names};
use crate::harness::number_list::{NumberRange, distinct, numbers, whole};
use crate::harness::parameters::ParameterMap;
use crate::harness::strategy::BenchStrategy;
use crate::report::crossover::{self, crossovers};
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
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "256", allow_negative_numbers = true)]
    pub n_fft: Vec<NumberRange>,
    /// Frames per call, from 1; their samples take at most 8 GiB
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "32,1024,8192",
        allow_negative_numbers = true
    )]
    pub batch: Vec<NumberRange>,
    /// Segments used of each frame: ultra (1), fast (2), reference (8)
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "fast", value_parser = named(TIERS))]
    pub tier: Vec<Tier>,
    /// Peaks per frame: from 1 to n_fft / 2 + 1
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "16", allow_negative_numbers = true)]
    pub k: Vec<NumberRange>,
    /// Filters of the mel pipeline, from 1 to 4096
    #[arg(long, value_name = "N", default_value_t = 40, allow_negative_numbers = true)]
    #[arg(value_parser = whole::<usize>)]
    pub mels: usize,
    /// Sampling rate of the mel filters in hertz, above 0
    #[arg(long, value_name = "HERTZ", default_value_t = 16_000.0, allow_negative_numbers = true)]
    pub sample_rate: f64,
    /// Training of learned models
    #[command(flatten)]
    pub train: TrainOptions,
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
    let E2eArgs { pipeline, n_fft, batch, tier, k, mels, sample_rate, train, measure } = arguments;
    train.check(measure.strategy.as_deref())?;
    let (lengths, batches, ks) = (lengths(n_fft, "e2e")?, numbers(batch), numbers(k));
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
        options: train.parameters(
            ParameterMap::default()
                .with("pipeline", names)
                .with("n_fft", lengths.clone())
                .with("batch", batches.clone())
                .with("tier", tier_names(tier))
                .with("k", ks.clone())
                .with("mels", *mels)
                .with("sample_rate", *sample_rate),
        ),
        problems: grid(
            &pipelines,
            &crate::suites::peaks::grid(&lengths, &distinct(tier.clone()), &batches, &ks),
            *mels,
            *sample_rate,
        ),
        columns: &["n_fft", "tier", "batch", "pipeline", "k"],
        catalogue,
        added: train.added(),
        default_baseline: "burn-stock",
    };
    let cases = comparison.run(measure, out)?;
    for over in ["batch", "k"] {
        let others: Vec<&str> = comparison.columns.iter().copied().filter(|name| *name != over).collect();
        write!(out, "{}", crossover::render(&crossovers(&cases, over), over, &others, measure.layout()))?;
    }
    Ok(ExitStatus::of(&cases))
}
