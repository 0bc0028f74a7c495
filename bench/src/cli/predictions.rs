//! `firefly-bench predictions`: predicted and measured times of captured graphs and of the zoo's models.

use std::io::Write;
use std::path::PathBuf;

use anyhow::ensure;
use firefly_app::suggest;
use firefly_framework::profile::DeviceProfile;
use firefly_models::zoo;

use super::ExitStatus;
use super::comparison::Comparison;
use super::device_profile::device_profile;
use super::options::MeasureOptions;
use super::problem_options::PeaksGrid;
use crate::harness::{BenchStrategy, NumberRange, ParameterMap, Problem, numbers};
use crate::report::traffic;
use crate::suites::models::family_models;
use crate::suites::peaks::facts;
use crate::suites::predictions::{ZooBatch, catalogue, zoo_catalogue};

/// Options of `predictions`.
#[derive(Debug, Clone, clap::Args)]
#[command(mut_arg("iters", |arg| arg.default_value("15")), mut_arg("warmup", |arg| arg.default_value("2")))]
pub struct PredictionsArgs {
    #[command(flatten)]
    pub grid: PeaksGrid,
    /// Predict models of the zoo instead: those whose name contains FILTER, or else one of each family
    #[arg(long, value_name = "FILTER", num_args = 0..=1, default_missing_value = "")]
    #[arg(conflicts_with_all = ["n_fft", "batch", "k", "segments"])]
    pub zoo: Option<String>,
    /// Elements per call of a model of the zoo, from 1
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1,4", requires = "zoo")]
    pub zoo_batch: Vec<NumberRange>,
    /// Calibrated profile (a file that `calibrate` wrote) to predict by; the user's own, or a preset if there is none,
    /// unless given
    #[arg(long, value_name = "PATH")]
    pub profile: Option<PathBuf>,
    #[command(flatten)]
    pub measure: MeasureOptions,
}

/// Predicts and times the graphs of every problem or model, and prints a table to `out`.
pub fn run(arguments: &PredictionsArgs, out: &mut dyn Write) -> anyhow::Result<ExitStatus> {
    let PredictionsArgs { grid, zoo, zoo_batch, profile, measure } = arguments;
    let costs = device_profile(measure.device.name(), profile.as_deref())?;
    let Some(filter) = zoo else {
        let catalogue = catalogue(&costs);
        let comparison = comparison(&costs, facts(), grid.problems(), &catalogue);
        let comparison = Comparison { options: grid.parameters(), columns: PeaksGrid::COLUMNS, ..comparison };
        return measured(&comparison, measure, out);
    };
    let names = if filter.is_empty() { family_models() } else { zoo::list(filter) };
    let hint = suggest::hint(filter, zoo::list(""));
    ensure!(!names.is_empty(), "--zoo: no model's name contains `{filter}`{hint}");
    let (catalogue, batches) = (zoo_catalogue(&names, &costs)?, numbers(zoo_batch));
    let options = ParameterMap::default().with("zoo", filter.as_str()).with("zoo_batch", batches.clone());
    let problems = batches.into_iter().map(ZooBatch).collect();
    let comparison = comparison(&costs, ParameterMap::default(), problems, &catalogue);
    measured(&Comparison { options, columns: &["batch"], ..comparison }, measure, out)
}

/// Comparison of predicted with measured times, without options and columns.
fn comparison<'a, P: Problem>(
    costs: &DeviceProfile,
    facts: ParameterMap,
    problems: Vec<P>,
    catalogue: &'a [BenchStrategy<P>],
) -> Comparison<'a, P> {
    Comparison {
        command: "predictions",
        heading: vec![
            format!(
                "from inputs on the device to results in host memory; times predicted by the {} costs of {}",
                costs.origin(),
                costs.name
            ),
            "every graph runs as it was traced: phase-3, too, is not rewritten".into(),
        ],
        facts: facts.with("costs", costs.origin()).with("costs_of", costs.name.clone()),
        options: ParameterMap::default(),
        problems,
        columns: &[],
        catalogue,
        added: Vec::new(),
        default_baseline: "welch-peaks",
    }
}

/// Measures, and prints predicted times beside the measured ones.
fn measured<P: Problem>(
    comparison: &Comparison<'_, P>,
    measure: &MeasureOptions,
    out: &mut dyn Write,
) -> anyhow::Result<ExitStatus> {
    let cases = comparison.measure(measure, out)?;
    write!(out, "{}", traffic::table(&cases, comparison.columns).render_with_remark(measure.layout()))?;
    for case in cases.iter().filter(|case| case.measured().is_none()) {
        writeln!(out, "{}: {}", case.label(), case.outcome.remark())?;
    }
    if let Some(quality) = traffic::quality(&cases) {
        writeln!(out, "\n{quality}")?;
    }
    Ok(ExitStatus::of(&cases))
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use firefly_framework::device::{DeviceId, fingerprint};
    use firefly_framework::profile::{DeviceProfile, Preset, save};

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        arguments: PredictionsArgs,
    }

    #[test]
    fn the_share_of_good_predictions_is_printed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cpu.toml");
        // A device on which everything takes longer than anything can.
        let slow = DeviceProfile { roundtrip: 1e15, fingerprint: fingerprint(DeviceId::CPU), ..Preset::Cpu.profile() };
        save(&slow, &path).unwrap();
        let grid = ["predictions", "--n-fft", "64", "--batch", "3", "--k", "4", "--iters", "1", "--quiet"];
        let command = Command::parse_from(grid.iter().chain(&["--device", "cpu", "--profile", path.to_str().unwrap()]));
        let mut out = Vec::new();
        assert_eq!(run(&command.arguments, &mut out).unwrap(), ExitStatus::Passed);
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("0 % of 12 cases predicted within"), "{text}");
    }

    #[test]
    fn models_of_the_zoo_are_predicted_by_their_names() {
        let run_with = |words: &[&str]| {
            let command =
                Command::parse_from(["predictions", "--device", "cpu", "--iters", "1", "--quiet"].iter().chain(words));
            let mut out = Vec::new();
            run(&command.arguments, &mut out).map(|_| String::from_utf8(out).unwrap())
        };
        let text = run_with(&["--zoo", "_tiny", "--zoo-batch", "2"]).unwrap();
        assert!(text.contains("fno2d_tiny") && !text.contains("timesnet_tiny"), "{text}");
        for words in [&["--batch", "4294967296"][..], &["--zoo", "fits_tiny", "--zoo-batch", "1000000000"]] {
            let text = run_with(words).unwrap();
            assert!(text.contains("for an input of 8 GiB") || text.contains("of memory"), "{text}");
        }
        let error = run_with(&["--zoo", "fno9"]).unwrap_err().to_string();
        assert!(error.contains("no model's name contains `fno9`"), "{error}");
    }
}
