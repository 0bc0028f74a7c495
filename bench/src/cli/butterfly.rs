//! `firefly-bench butterfly`: butterfly transforms, exact and learned, forward and backward.

use std::io::Write;

use anyhow::ensure;

use super::ExitStatus;
use super::comparison::Comparison;
use super::options::MeasureOptions;
use crate::harness::{NumberRange, ParameterMap, numbers};
use crate::suites::butterfly::{catalogue, grid};

/// Options of `butterfly`.
#[derive(Debug, Clone, clap::Args)]
pub struct ButterflyArgs {
    /// Complex values per row: powers of two from 8 to 65536
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "256,1024")]
    pub n: Vec<NumberRange>,
    /// Rows per call, from 1; their values take at most 8 GiB
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "32,2048")]
    pub batch: Vec<NumberRange>,
    /// Share of the gates that are open in firefly-hard, from 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.5)]
    pub open: f64,
    #[command(flatten)]
    pub measure: MeasureOptions,
}

/// Runs the grid that `arguments` describe, and prints the table to `out`.
pub fn run(arguments: &ButterflyArgs, out: &mut dyn Write) -> anyhow::Result<ExitStatus> {
    let ButterflyArgs { n, batch, open, measure } = arguments;
    ensure!((0.0..=1.0).contains(open), "--open is {open}, but must be from 0 to 1");
    let (lengths, batches) = (numbers(n), numbers(batch));
    let comparison = Comparison {
        command: "butterfly",
        heading: vec![
            format!("unnormalised forward transforms of complex f32; {open} of the gates of firefly-hard open"),
            "GB/s: every value read once and written once; error: of a value, of its row's largest magnitude (of a \
             gradient, of its tensor's)"
                .into(),
        ],
        facts: ParameterMap::default()
            .with("direction", "forward")
            .with("scaling", "none")
            .with("values", "complex f32"),
        options: ParameterMap::default().with("n", lengths.clone()).with("batch", batches.clone()).with("open", *open),
        problems: grid(&lengths, &batches, *open),
        columns: &["n", "batch"],
        catalogue: &catalogue(),
        added: Vec::new(),
        default_baseline: "rustfft",
    };
    Ok(ExitStatus::of(&comparison.run(measure, out)?))
}
