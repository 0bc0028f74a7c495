//! `firefly-bench fusion-phases`: what fusing saves, phase by phase, as counted, predicted and measured.

use std::io::Write;
use std::path::PathBuf;

use super::Verdict;
use super::device_profile::device_profile;
use crate::cli::grid::Grid;
use crate::cli::options::Measuring;
use crate::cli::peaks_grid::PeaksGrid;
use crate::harness::outcome::CaseRecord;
use crate::report::crossover::{self, crossovers};
use crate::report::movement;
use crate::suites::peaks::facts;
use crate::suites::phases::{Phase, catalogue};

/// The options of `fusion-phases`.
#[derive(Debug, Clone, clap::Args)]
pub struct Arguments {
    /// What is computed
    #[command(flatten)]
    pub grid: PeaksGrid,
    /// A calibrated profile to predict and decide by; the user's own, or a preset if there is none, unless given
    #[arg(long, value_name = "PATH")]
    pub profile: Option<PathBuf>,
    /// Print each decision with every term
    #[arg(long)]
    pub explain: bool,
    /// What every command has
    #[command(flatten)]
    pub measuring: Measuring,
}

/// Runs the phases on the grid that `arguments` describe, and prints the tables to `out`.
///
/// # Errors
/// For arguments no case can be made of, a device or profile that is not there, and output that can't be written. A case that
/// fails is no error but a row of the table and a [`Verdict`].
pub fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Verdict> {
    let Arguments { grid: asked, profile, explain, measuring } = arguments;
    let problems = asked.problems("fusion-phases")?;
    let (costs, source) = device_profile(measuring.device, profile.as_deref())?;
    let catalogue = catalogue(costs.clone());
    let facts = facts();
    let grid = Grid {
        command: "fusion-phases",
        heading: vec![
            format!("one-sided f32 power: {facts}"),
            format!(
                "from frames on the device to peaks in host memory; times predicted by the {source} costs of {}",
                costs.name
            ),
        ],
        facts: facts.with("costs", source.to_string()).with("costs_of", costs.name),
        options: asked.parameters(),
        problems,
        columns: PeaksGrid::COLUMNS,
        catalogue: &catalogue,
        usual_baseline: Phase::Baseline.name(),
    };
    let cases = grid.run(measuring, out)?;
    write!(out, "\n{}", movement::table(&cases, grid.columns).render())?;
    if *explain {
        write!(out, "\n{}", explanations(&cases))?;
    }
    let others: Vec<&str> = grid.columns.iter().copied().filter(|name| *name != "batch").collect();
    write!(out, "{}", crossover::render(&crossovers(&cases, "batch"), "batch", &others))?;
    Ok(Verdict::of(&cases))
}

/// Why the gate decided as it did, case by case.
fn explanations(cases: &[CaseRecord]) -> String {
    let explained = |case: &CaseRecord| {
        let decision = case.measured()?.movement.as_ref()?.decision.as_ref()?;
        Some(format!("{}: {}", case.label(), decision.explain()))
    };
    cases.iter().filter_map(explained).collect()
}
