//! `firefly-bench fft`: complex transforms, exact and learned, forward and backward.

use std::io::Write;

use anyhow::ensure;

use super::Verdict;
use crate::cli::grid::Grid;
use crate::cli::lists::Counts;
use crate::cli::options::Measuring;
use crate::harness::parameters::Parameters;
use crate::harness::strategy::Strategy;
use crate::suites::fft::{TransformProblem, grid};

/// The options of `fft`.
#[derive(Debug, Clone, clap::Args)]
pub struct Arguments {
    /// Complex values of a row: powers of two from 8 to 65536
    #[arg(long, value_name = "LIST", default_value = "256,1024")]
    pub n: Counts,
    /// Rows of a call
    #[arg(long, value_name = "LIST", default_value = "32,2048")]
    pub batch: Counts,
    /// Share of the gates that are open in firefly-hard, from 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.5)]
    pub open: f64,
    /// What every command has
    #[command(flatten)]
    pub measuring: Measuring,
}

/// Runs the grid that `arguments` describe over strategies of `catalogue`, and prints the table to `out`.
///
/// # Errors
/// For arguments no case can be made of, a device that is not there, and output that can't be written. A case that fails
/// is no error but a row of the table and a [`Verdict`].
pub fn run(
    arguments: &Arguments,
    catalogue: &[Box<dyn Strategy<TransformProblem>>],
    out: &mut dyn Write,
) -> anyhow::Result<Verdict> {
    let Arguments { n, batch, open, measuring } = arguments;
    ensure!((0.0..=1.0).contains(open), "--open is {open}, but must be from 0 to 1");
    let grid = Grid {
        command: "fft",
        heading: vec![
            format!("unnormalised forward transforms of complex f32; {open} of the gates of firefly-hard open"),
            "GB/s: every value read once and written once; error: of a value, of its row's largest magnitude (of a gradient, \
             of its tensor's)"
                .into(),
        ],
        facts: Parameters::default().with("direction", "forward").with("scaling", "none").with("values", "complex f32"),
        options: Parameters::default().with("n", n.0.clone()).with("batch", batch.0.clone()).with("open", *open),
        problems: grid(&n.0, &batch.0, *open),
        columns: &["n", "batch"],
        catalogue,
        usual_baseline: "rustfft",
    };
    Ok(Verdict::of(&grid.run(measuring, out)?))
}
