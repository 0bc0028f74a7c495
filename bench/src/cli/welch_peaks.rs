//! `firefly-bench welch-peaks`: the strongest lines of Welch spectra, strategy against strategy.

use std::io::Write;

use anyhow::ensure;
use clap::value_parser;

use super::ExitStatus;
use super::comparison::Comparison;
use super::options::MeasureOptions;
use super::welch_options::PeaksGrid;
use crate::harness::strategy::BenchStrategy;
use crate::report::crossover::{self, crossovers};
use crate::suites::peaks::{PeaksProblem, facts};

const MOST_STEPS: u64 = 1_000_000;
/// Steps where a learned model is named and no number is given.
const DEFAULT_STEPS: usize = 200;

/// Options of `welch-peaks`.
#[derive(Debug, Clone, clap::Args)]
pub struct WelchPeaksArgs {
    /// Sizes of the problems
    #[command(flatten)]
    pub grid: PeaksGrid,
    /// Steps to train learned models for first, which adds the strategy `learned`; 0 trains none. 200 where only that
    /// strategy is named
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(..=MOST_STEPS))]
    pub train_steps: Option<u64>,
    /// Device, execution and iterations
    #[command(flatten)]
    pub measure: MeasureOptions,
}

impl WelchPeaksArgs {
    /// Steps that learned models are trained for.
    pub fn train_steps(&self) -> usize {
        self.train_steps.map_or(DEFAULT_STEPS, |steps| steps as usize)
    }

    /// Whether learned models are measured, besides what `--strategy` names.
    fn adds_learned(&self) -> bool {
        self.train_steps.is_some_and(|steps| steps > 0)
    }
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
    let WelchPeaksArgs { grid, train_steps, measure } = arguments;
    let names_learned =
        measure.strategy.iter().flatten().any(|name| ["learned", "learned_compiled"].contains(&name.trim()));
    ensure!(
        !names_learned || arguments.train_steps() > 0,
        "--strategy learned: the model is trained first, and --train-steps is 0; give a number of steps, such as 200"
    );
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
        options: grid.parameters().with("train_steps", *train_steps),
        problems,
        columns: PeaksGrid::COLUMNS,
        catalogue,
        added: if arguments.adds_learned() { vec!["learned"] } else { Vec::new() },
        default_baseline: "rustfft",
    };
    let cases = comparison.run(measure, out)?;
    for over in ["batch", "k"] {
        let others: Vec<&str> = comparison.columns.iter().copied().filter(|name| *name != over).collect();
        write!(out, "{}", crossover::render(&crossovers(&cases, over), over, &others))?;
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
