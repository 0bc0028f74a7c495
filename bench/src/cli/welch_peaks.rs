//! `firefly-bench welch-peaks`: the strongest lines of Welch spectra, strategy against strategy.

use std::io::Write;

use super::ExitStatus;
use super::comparison::Comparison;
use super::options::MeasureOptions;
use super::train_options::TrainOptions;
use super::welch_options::PeaksGrid;
use crate::harness::strategy::BenchStrategy;
use crate::report::crossover::{self, crossovers};
use crate::suites::peaks::{PeaksProblem, facts};

/// Options of `welch-peaks`.
#[derive(Debug, Clone, clap::Args)]
pub struct WelchPeaksArgs {
    /// Sizes of the problems
    #[command(flatten)]
    pub grid: PeaksGrid,
    /// Training of learned models
    #[command(flatten)]
    pub train: TrainOptions,
    /// Device, execution and iterations
    #[command(flatten)]
    pub measure: MeasureOptions,
}

/// Runs the grid that `arguments` describe over strategies of `catalogue`, and prints the table to `out`.
///
/// # Errors
/// For arguments out of range, a device that is not there, and output that can't be written. A case that fails is a row
/// of the table and an [`ExitStatus`].
pub fn run(
    arguments: &WelchPeaksArgs,
    catalogue: &[BenchStrategy<PeaksProblem>],
    out: &mut dyn Write,
) -> anyhow::Result<ExitStatus> {
    let WelchPeaksArgs { grid, train, measure } = arguments;
    train.check(measure.strategy.as_deref())?;
    let problems = grid.problems("welch-peaks")?;
    let facts = facts();
    let comparison = Comparison {
        command: "welch-peaks",
        heading: vec![
            format!("one-sided f32 power: {facts}"),
            "a row is a frame; GB/s: every sample once and 8 bytes per peak; error: of a peak's power, of its row's \
             maximum"
                .into(),
        ],
        facts,
        options: train.parameters(grid.parameters()),
        problems,
        columns: PeaksGrid::COLUMNS,
        catalogue,
        added: train.added(),
        default_baseline: "rustfft",
    };
    let cases = comparison.run(measure, out)?;
    for over in ["batch", "k"] {
        let others: Vec<&str> = comparison.columns.iter().copied().filter(|name| *name != over).collect();
        write!(out, "{}", crossover::render(&crossovers(&cases, over), over, &others, measure.layout()))?;
    }
    Ok(ExitStatus::of(&cases))
}

#[cfg(test)]
mod tests {
    use clap::Args;
    use firefly_models::Tier;

    use super::*;

    #[test]
    fn the_help_names_every_tier() {
        let help = WelchPeaksArgs::augment_args(clap::Command::new("welch-peaks")).render_long_help().to_string();
        for tier in Tier::ALL {
            assert!(help.contains(&format!("{tier} ({})", tier.segments())), "{tier}");
        }
    }
}
