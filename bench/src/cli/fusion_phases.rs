//! `firefly-bench fusion-phases`: savings of fusion, phase by phase, as counted, predicted and measured.

use std::io::Write;
use std::path::PathBuf;

use firefly_framework::profile::Preset;
use firefly_ops::options::validate_n_fft;

use super::ExitStatus;
use super::comparison::Comparison;
use super::device_profile::{device_profile, presets, target_profile};
use super::options::MeasureOptions;
use super::problem_options::PeaksGrid;
use crate::harness::CaseRecord;
use crate::report::{decision, traffic};
use crate::suites::peaks::facts;
use crate::suites::phases::{Phase, catalogue};

/// Options of `fusion-phases`.
#[derive(Debug, Clone, clap::Args)]
pub struct FusionPhasesArgs {
    #[command(flatten)]
    pub grid: PeaksGrid,
    /// Calibrated profile (a file that `calibrate` wrote) to predict and decide by; the user's own, or a preset if
    /// there is none, unless given
    #[arg(long, value_name = "PATH")]
    pub profile: Option<PathBuf>,
    /// Device whose profile predicts and decides instead, whatever the device that is measured: its calibrated profile,
    /// or its preset if there is none
    #[arg(long, value_name = "DEVICE", conflicts_with = "profile", value_parser = presets())]
    pub target: Option<Preset>,
    /// Print each decision in prose, with every term in a table
    #[arg(long)]
    pub explain: bool,
    #[command(flatten)]
    pub measure: MeasureOptions,
}

/// Runs the phases on the grid that `arguments` describe, and prints the tables to `out`.
pub fn run(arguments: &FusionPhasesArgs, out: &mut dyn Write) -> anyhow::Result<ExitStatus> {
    let FusionPhasesArgs { grid, profile, target, explain, measure } = arguments;
    let problems = grid.problems();
    for problem in &problems {
        // The phases that are not fused transform by butterflies.
        validate_n_fft("fusion-phases", "n_fft", problem.options.n_fft)?;
    }
    let costs = match target {
        Some(preset) => target_profile(*preset),
        None => device_profile(measure.device.name(), profile.as_deref())?,
    };
    let catalogue = catalogue(costs.clone(), false);
    let facts = facts();
    let comparison = Comparison {
        command: "fusion-phases",
        heading: vec![
            format!("one-sided f32 power: {facts}"),
            format!(
                "from frames on the device to peaks in host memory; times predicted by the {} costs of {}",
                costs.origin(),
                costs.name
            ),
            "gains and saved: over the baseline; gains of phase-3: over its graph before the rewrite".into(),
        ],
        facts: facts.with("costs", costs.origin()).with("costs_of", costs.name),
        options: grid.parameters(),
        problems,
        columns: PeaksGrid::COLUMNS,
        catalogue: &catalogue,
        added: Vec::new(),
        default_baseline: Phase::Baseline.name(),
    };
    let cases = comparison.run(measure, out)?;
    let layout = measure.layout();
    write!(out, "\n{}", traffic::table(&cases, comparison.columns).render_with_remark(layout))?;
    if let Some(quality) = traffic::quality(&cases) {
        writeln!(out, "\n{quality}")?;
    }
    if *explain {
        let explained = |case: &CaseRecord| {
            let decision = case.measured()?.traffic.as_ref()?.decision.as_ref()?;
            Some(format!("{}\n{}", case.label(), decision::explain(decision, layout)))
        };
        write!(out, "\n{}", cases.iter().filter_map(explained).collect::<Vec<_>>().join("\n"))?;
    }
    write!(out, "{}", traffic::sweeps(&cases, comparison.columns, layout))?;
    write!(out, "{}", comparison.crossovers(&cases, &["batch"], layout))?;
    Ok(ExitStatus::of(&cases))
}
