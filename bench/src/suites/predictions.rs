//! `firefly-bench predictions`: predicted and measured times of captured graphs that are replayed, and of models of the
//! zoo.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, ensure};
use burn::tensor::{Device, TensorData};
use firefly_app::device::DeviceName;
use firefly_app::suggest;
use firefly_framework::graph::{AnyTensor, GraphError};
use firefly_framework::movement::{MovementOptions, count};
use firefly_framework::profile::DeviceProfile;
use firefly_models::zoo::{self, ZooError};
use firefly_ops::ArgumentError;
use firefly_ops::options::validate_n_fft;

use super::comparison::{Comparison, MeasureOptions};
use super::models::{PeaksModel, family_models, inputs, untrained};
use super::options::{PeaksGrid, device_profile};
use super::peaks::{PeaksProblem, STOCK, check_peaks, expected, facts, learned_rows, on_device};
use super::phases::{self, replay};
use crate::harness::{
    BenchStrategy, CaseError, CaseRecord, Computed, Expectation, NumberRange, ParameterMap, PhaseTraffic, Problem,
    ProblemSpec, TensorRoutine, Verified, check, check_memory, failed, numbers, read, tolerance, whole_tensors,
};
use crate::report::traffic;

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

pub fn run(arguments: &PredictionsArgs, out: &mut dyn Write) -> Result<Vec<CaseRecord>> {
    let PredictionsArgs { grid, zoo, zoo_batch, profile, measure } = arguments;
    let costs = device_profile(measure.device.name(), profile.as_deref())?;
    let Some(filter) = zoo else {
        let grid = (grid.parameters(), grid.problems(), PeaksGrid::COLUMNS);
        return measured(&costs, facts(), grid, &catalogue(&costs), measure, out);
    };
    let names = if filter.is_empty() { family_models() } else { zoo::list(filter) };
    let hint = suggest::hint(filter, zoo::list(""));
    ensure!(!names.is_empty(), "--zoo: no model's name contains `{filter}`{hint}");
    let (catalogue, batches) = (zoo_catalogue(&names, &costs)?, numbers(zoo_batch));
    let options = ParameterMap::default().with("zoo", filter.as_str()).with("zoo_batch", batches.clone());
    let grid = (options, batches.into_iter().map(ZooBatch).collect(), &["batch"][..]);
    measured(&costs, ParameterMap::default(), grid, &catalogue, measure, out)
}

/// Measures the problems, and prints predicted times beside the measured ones.
fn measured<P: Problem>(
    costs: &DeviceProfile,
    facts: ParameterMap,
    (options, problems, columns): (ParameterMap, Vec<P>, &'static [&'static str]),
    catalogue: &[BenchStrategy<P>],
    measure: &MeasureOptions,
    out: &mut dyn Write,
) -> Result<Vec<CaseRecord>> {
    let comparison = Comparison {
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
        options,
        problems,
        columns,
        catalogue,
        default_baseline: "welch-peaks",
    };
    let cases = comparison.measure(measure, out)?;
    write!(out, "{}", traffic::table(&cases, columns).render_with_remark(measure.layout()))?;
    for case in cases.iter().filter(|case| case.measured().is_none()) {
        writeln!(out, "{}: {}", case.label(), case.outcome.remark())?;
    }
    if let Some(quality) = traffic::quality(&cases) {
        writeln!(out, "\n{quality}")?;
    }
    Ok(cases)
}

/// Error allowed of a model of the zoo beside the same model on the host, relative to the largest value of a result:
/// matrix products of accelerators may round their factors to TF32, through several layers.
const ZOO_TOLERANCE: f64 = 1e-2;

/// The fusion phases as traced, and every model of peaks, replayed, predicted by the costs of a device.
pub fn catalogue(costs: &DeviceProfile) -> Vec<BenchStrategy<PeaksProblem>> {
    let shared = Arc::new(costs.clone());
    let models = PeaksModel::NAMED.map(|(name, model)| replayed(name, model, shared.clone()));
    phases::catalogue(costs.clone(), true).into_iter().chain(models).collect()
}

/// A model of peaks, captured and replayed. Its learned model is untrained.
fn replayed(name: &'static str, model: PeaksModel, costs: Arc<DeviceProfile>) -> BenchStrategy<PeaksProblem> {
    BenchStrategy::new(name, "a model of peaks, captured and replayed", move |problem: &PeaksProblem, inputs| {
        let graph = model.graph(problem)?;
        let traffic = PhaseTraffic::of_graph(&count(&graph, &MovementOptions::default()), &costs);
        let run = replay(&graph, inputs.device())?;
        let routine = on_device(inputs, move |signal| run(signal).map(Computed::OnHost)).reading_back();
        let rows = match model {
            PeaksModel::Learned => {
                let refuse = |error: ArgumentError| GraphError::Model(error.to_string());
                // The definition of learned estimates is one of butterflies.
                validate_n_fft(name, "n_fft", problem.options.n_fft).map_err(refuse)?;
                let learned = PeaksModel::learned(problem).try_init(&Device::flex()).map_err(refuse)?;
                learned_rows(&learned, inputs)
            }
            _ => expected(problem, inputs),
        };
        let verified = if model == PeaksModel::WelchPsd {
            let (sizes, allowed) = ([1, problem.batch, problem.options.bins()], tolerance(problem.options.n_fft));
            check(routine, &Expectation::of_rows(rows, sizes, allowed), inputs)?
        } else {
            // Burn's sort leaves the order of equal powers open.
            check_peaks(routine, problem, inputs, rows, !matches!(model, PeaksModel::Stock(_)))?
        };
        Ok(Verified { traffic: Some(Box::new(traffic)), ..verified })
    })
    .with_temporaries(STOCK)
}

/// A batch for models of the zoo, whose inputs are of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZooBatch(pub usize);

impl Problem for ZooBatch {
    fn spec(&self) -> ProblemSpec {
        let parameters = ParameterMap::default().with("batch", self.0);
        ProblemSpec { max_sets: 1, ..ProblemSpec::new(parameters, self.0, Vec::new(), 0) }
    }
}

/// Models of the zoo as their users call them, without those that can't be captured.
pub fn zoo_catalogue(names: &[&'static str], costs: &DeviceProfile) -> Result<Vec<BenchStrategy<ZooBatch>>, ZooError> {
    let costs = Arc::new(costs.clone());
    names.iter().map(|name| zoo::card(name).map(|_| of_zoo(name, costs.clone()))).collect()
}

/// A model of the zoo, compared with the same model on the host.
fn of_zoo(name: &'static str, costs: Arc<DeviceProfile>) -> BenchStrategy<ZooBatch> {
    BenchStrategy::new(name, "a model of the zoo, untrained", move |&ZooBatch(batch): &ZooBatch, sets| {
        let (device, host) = (sets.device(), Device::flex());
        let model = untrained(name).map_err(failed)?;
        let moved = count(&model.capture(batch).map_err(failed)?, &MovementOptions::default());
        // On an accelerator, inputs alone are made in host memory.
        let is_on_host = DeviceName::of(device).kind().is_host();
        let bytes = if is_on_host { moved.peak_bytes } else { moved.held_bytes };
        check_memory(bytes as usize)?;
        let rows = sets.expected_values::<CaseError>(name, || {
            let results = model.try_forward(inputs(&model, batch, &host))?;
            let floats = results.into_iter().filter(AnyTensor::is_float).collect::<Vec<_>>();
            let wide = |data: TensorData| data.convert::<f64>().try_to_vec::<f64>().map_err(failed);
            let values = read(floats)?.into_iter().map(wide).collect::<Result<_, _>>()?;
            Ok(whole_tensors(0, values).collect())
        })?;
        let bytes = model.to_bytes().map_err(failed)?;
        let model = zoo::from_bytes(Path::new(name), bytes, device).map_err(failed)?;
        let operands = inputs(&model, batch, device);
        let forward = move |operands| Ok(model.try_forward(operands)?);
        let routine = TensorRoutine::new(device, move |_| Ok(operands.clone()), forward).reading_back();
        let verified = check(routine, &Expectation::of_tensors(rows, batch, ZOO_TOLERANCE), sets)?;
        Ok(Verified { traffic: Some(Box::new(PhaseTraffic::of_graph(&moved, &costs))), ..verified })
    })
    .without_competing()
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use firefly_framework::device::{DeviceId, fingerprint};
    use firefly_framework::profile::{Preset, save};

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
        assert!(run(&command.arguments, &mut out).unwrap().iter().all(|case| case.measured().is_some()));
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
        assert!(text.contains("fno2d_tiny") && text.contains("gfnet_tiny"), "{text}");
        for words in [&["--batch", "4294967296"][..], &["--zoo", "fits_tiny", "--zoo-batch", "1000000000"]] {
            let text = run_with(words).unwrap();
            assert!(text.contains("for an input of 8 GiB") || text.contains("of memory"), "{text}");
        }
        let error = run_with(&["--zoo", "fno9"]).unwrap_err().to_string();
        assert!(error.contains("no model's name contains `fno9`"), "{error}");
    }
}
