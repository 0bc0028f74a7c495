//! `firefly-bench welch-peaks`: the strongest lines of Welch spectra, strategy against strategy.

use std::io::Write;

use anyhow::{Context, ensure};

use super::ExitStatus;
use super::comparison::Comparison;
use super::options::MeasureOptions;
use super::problem_options::{PeaksGrid, TrainOptions};
use crate::harness::BenchStrategy;
use crate::suites::peaks::{PeaksProblem, facts};

/// Options of `welch-peaks`.
#[derive(Debug, Clone, clap::Args)]
pub struct WelchPeaksArgs {
    /// Sizes of the problems
    #[command(flatten)]
    pub grid: PeaksGrid,
    /// Spread the segments evenly over a frame of N segments, at most 128, instead of one after the other [default without
    /// N: 8]
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "8")]
    pub spread: Option<usize>,
    /// Training of learned models
    #[command(flatten)]
    pub train: TrainOptions,
    /// Device, execution and iterations
    #[command(flatten)]
    pub measure: MeasureOptions,
}

/// Runs the grid that `arguments` describe over strategies of `catalogue`, and prints the table to `out`.
pub fn run(
    arguments: &WelchPeaksArgs,
    catalogue: &[BenchStrategy<PeaksProblem>],
    out: &mut dyn Write,
) -> anyhow::Result<ExitStatus> {
    let WelchPeaksArgs { grid, spread, train, measure } = arguments;
    train.check(measure.strategy.as_deref())?;
    let (mut problems, mut facts, mut options) = (grid.problems(), facts(), grid.parameters());
    if let Some(frame) = *spread {
        for problem in &mut problems {
            *problem = problem.spread(frame).context("--spread")?;
            let averaged = problem.options.averaged();
            ensure!(
                averaged < frame,
                "--spread is {frame}, but must be more segments than the {averaged} that are used"
            );
        }
        facts = facts.with("segments", format!("spread over {frame}"));
        options = options.with("spread", frame);
    }
    let comparison = Comparison {
        command: "welch-peaks",
        heading: vec![
            format!("one-sided f32 power: {facts}"),
            "a row is a frame; GB/s: every sample once and 8 bytes per peak; error: of a peak's power, of its row's \
             maximum"
                .into(),
        ],
        facts,
        options: train.parameters(options),
        problems,
        columns: PeaksGrid::COLUMNS,
        catalogue,
        added: train.added(),
        default_baseline: "rustfft",
    };
    let cases = comparison.run(measure, out)?;
    write!(out, "{}", comparison.crossovers(&cases, &["batch", "k"], measure.layout()))?;
    Ok(ExitStatus::of(&cases))
}

#[cfg(test)]
mod tests {
    use clap::Args;
    use firefly_models::segments::SEGMENT_NAMES;

    use super::*;

    #[test]
    fn the_help_names_numbers_of_segments() {
        let help = WelchPeaksArgs::augment_args(clap::Command::new("welch-peaks")).render_long_help().to_string();
        for (name, segments) in SEGMENT_NAMES {
            assert!(help.contains(&format!("{name} ({segments})")), "{name}");
        }
    }
}
