//! `firefly-bench e2e`: whole pipelines, from frames in host memory to results in host memory.

use std::io::Write;

use anyhow::ensure;

use super::ExitStatus;
use super::comparison::Comparison;
use super::options::MeasureOptions;
use super::problem_options::{PeaksGrid, TrainOptions, named};
use crate::harness::{distinct, name_of, whole};
use crate::suites::layers::MAX_MELS;
use crate::suites::peaks::facts;
use crate::suites::pipelines::{Pipeline, catalogue, grid};

/// Options of `e2e`.
#[derive(Debug, Clone, clap::Args)]
pub struct E2eArgs {
    /// Results to compute
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "psd,mel,peaks")]
    #[arg(value_parser = named(Pipeline::NAMED))]
    pub pipeline: Vec<Pipeline>,
    #[command(flatten)]
    pub grid: PeaksGrid,
    /// Filters of the mel pipeline, from 1 to 4096
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = whole::<usize>)]
    pub mels: usize,
    /// Sampling rate of the mel filters in hertz, above 0
    #[arg(long, value_name = "HERTZ", default_value_t = 16_000.0)]
    pub sample_rate: f64,
    #[command(flatten)]
    pub train: TrainOptions,
    #[command(flatten)]
    pub measure: MeasureOptions,
}

/// Runs the grid that `arguments` describe, and prints the table to `out`.
pub fn run(arguments: &E2eArgs, out: &mut dyn Write) -> anyhow::Result<ExitStatus> {
    let E2eArgs { pipeline, grid: sizes, mels, sample_rate, train, measure } = arguments;
    train.check(measure.strategy.as_deref())?;
    let problems = sizes.problems();
    let pipelines = distinct(pipeline.iter().copied());
    ensure!((1..=MAX_MELS).contains(mels), "--mels is {mels}, but must be from 1 to {MAX_MELS}");
    ensure!(
        sample_rate.is_finite() && *sample_rate > 0.0,
        "--sample-rate is {sample_rate}, but must be a positive number of hertz"
    );
    let facts = facts();
    let names: Vec<&str> = pipelines.iter().map(|pipeline| name_of(&Pipeline::NAMED, pipeline)).collect();
    let comparison = Comparison {
        command: "e2e",
        heading: vec![
            format!("one-sided f32 power: {facts}; {mels} triangular mel filters at {sample_rate} Hz"),
            "a row is a frame; from frames in host memory to results in host memory; GB/s: both once".into(),
        ],
        facts,
        options: train.parameters(
            sizes.parameters().with("pipeline", names).with("mels", *mels).with("sample_rate", *sample_rate),
        ),
        problems: grid(&pipelines, &problems, *mels, *sample_rate),
        columns: &["n_fft", "segments", "batch", "pipeline", "k"],
        catalogue: &catalogue(train.source(measure.seed)),
        added: train.added(),
        default_baseline: "burn-stock",
    };
    let cases = comparison.run(measure, out)?;
    write!(out, "{}", comparison.crossovers(&cases, &["batch", "k"], measure.layout()))?;
    Ok(ExitStatus::of(&cases))
}
