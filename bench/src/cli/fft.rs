//! `firefly-bench fft`: Fourier transforms of any length, complex and real.

use std::io::Write;

use firefly_ops::Direction;

use super::ExitStatus;
use super::comparison::Comparison;
use super::options::MeasureOptions;
use super::problem_options::named;
use crate::harness::{NumberRange, ParameterMap, Problem, distinct, numbers, whole};
use crate::suites::fft::{DIRECTIONS, Extent, FftValues, Shapes, catalogue, grid};

/// Options of `fft`.
#[derive(Debug, Clone, clap::Args)]
pub struct FftArgs {
    /// Points of a transform, or of each of its dimensions as in 128x128
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "256,1000,4096")]
    pub n: Vec<Shapes>,
    /// Values to transform: complex ones, or real ones to half spectra and back
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "complex,real")]
    #[arg(value_parser = named(FftValues::NAMED))]
    pub values: Vec<FftValues>,
    /// Forward or inverse transforms, neither of them normalised
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    #[arg(default_value = "forward", value_parser = named(DIRECTIONS))]
    pub direction: Vec<Direction>,
    /// Transforms per call, from 1; their values take at most 8 GiB
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "32,2048")]
    pub batch: Vec<NumberRange>,
    /// As many transforms per call, at least one, as have about so many points together
    #[arg(long, value_name = "N", conflicts_with = "batch", value_parser = whole::<usize>)]
    pub points: Option<usize>,
    #[command(flatten)]
    pub measure: MeasureOptions,
}

/// Runs the grid that `arguments` describe, and prints the table to `out`.
pub fn run(arguments: &FftArgs, out: &mut dyn Write) -> anyhow::Result<ExitStatus> {
    let FftArgs { n, values, direction, batch, points, measure } = arguments;
    let shapes = Shapes::of(n);
    let (values, directions) = (distinct(values.iter().copied()), distinct(direction.iter().copied()));
    let extent = points.map_or_else(|| Extent::Batches(numbers(batch)), Extent::Points);
    let problems = grid(&values, &directions, &shapes, &extent);
    let of_problems = |name| distinct(problems.iter().map(|problem| problem.parameters().shown(name)));
    let batches: Vec<usize> = distinct(problems.iter().map(|problem| problem.batch));
    let comparison = Comparison {
        command: "fft",
        heading: vec![
            "unnormalised transforms of f32; half spectra where values are real".into(),
            "GB/s: every value read once and written once; error: of a value, of its row's largest magnitude".into(),
        ],
        facts: ParameterMap::default().with("scaling", "none"),
        options: ParameterMap::default()
            .with("values", of_problems("values"))
            .with("direction", of_problems("direction"))
            .with("n", of_problems("n"))
            // One of the two: the other is refused beside it.
            .with("batch", points.is_none().then_some(batches))
            .with("points", *points),
        problems,
        columns: &["values", "direction", "n", "batch"],
        catalogue: &catalogue(),
        added: Vec::new(),
        default_baseline: "rustfft",
    };
    Ok(ExitStatus::of(&comparison.run(measure, out)?))
}
