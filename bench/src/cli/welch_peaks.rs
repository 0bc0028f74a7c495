//! `firefly-bench welch-peaks`: the strongest lines of Welch spectra, strategy against strategy.

use std::io::Write;

use super::Verdict;
use crate::cli::grid::Grid;
use crate::cli::options::Measuring;
use crate::cli::peaks_grid::PeaksGrid;
use crate::harness::strategy::Strategy;
use crate::report::crossover::{self, crossovers};
use crate::suites::peaks::PeaksProblem;
use crate::suites::peaks::facts;

const MOST_STEPS: usize = 1_000_000;

/// The options of `welch-peaks`.
#[derive(Debug, Clone, clap::Args)]
pub struct Arguments {
    /// What is computed
    #[command(flatten)]
    pub grid: PeaksGrid,
    /// Train learned models for so many steps first, and measure them as the strategy `learned`
    #[arg(long, value_name = "N", value_parser = train_steps)]
    pub train_steps: Option<usize>,
    /// What every command has
    #[command(flatten)]
    pub measuring: Measuring,
}

fn train_steps(text: &str) -> Result<usize, String> {
    let steps = text.parse().ok().filter(|steps| (1..=MOST_STEPS).contains(steps));
    steps.ok_or_else(|| format!("must be a whole number from 1 to {MOST_STEPS}"))
}

/// Runs the grid that `arguments` describe over strategies of `catalogue`, and prints the table to `out`.
///
/// # Errors
/// For arguments no case can be made of, a device that is not there, and output that can't be written. A case that fails
/// is no error but a row of the table and a [`Verdict`].
pub fn run(
    arguments: &Arguments,
    catalogue: &[Box<dyn Strategy<PeaksProblem>>],
    out: &mut dyn Write,
) -> anyhow::Result<Verdict> {
    let Arguments { grid: asked, train_steps, measuring } = arguments;
    let problems = asked.problems("welch-peaks")?;
    let facts = facts();
    let grid = Grid {
        command: "welch-peaks",
        heading: vec![
            format!("one-sided f32 power: {facts}"),
            "a row is a frame; GB/s: every sample once and 8 bytes a peak; error: of a peak's power, of its row's maximum"
                .into(),
        ],
        facts,
        options: asked.parameters().with("train_steps", *train_steps),
        problems,
        columns: PeaksGrid::COLUMNS,
        catalogue,
        usual_baseline: "rustfft",
    };
    let cases = grid.run(measuring, out)?;
    for over in ["batch", "k"] {
        let others: Vec<&str> = grid.columns.iter().copied().filter(|name| *name != over).collect();
        write!(out, "{}", crossover::render(&crossovers(&cases, over), over, &others))?;
    }
    Ok(Verdict::of(&cases))
}

#[cfg(test)]
mod tests {
    use clap::Args;
    use firefly_models::Tier;

    use super::*;

    #[test]
    fn the_help_names_every_tier() {
        let help = Arguments::augment_args(clap::Command::new("welch-peaks")).render_long_help().to_string();
        for tier in Tier::ALL {
            assert!(help.contains(&format!("{tier} ({})", tier.segments())), "{tier}");
        }
    }
}
