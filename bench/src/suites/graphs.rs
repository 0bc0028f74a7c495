//! Operations of captured graphs, which calibration measures so that the time of any graph can be predicted.

use std::hint::black_box;
use std::time::Instant;

use burn::tensor::{Device, Tensor};
use firefly_app::device::DeviceName;
use firefly_app::progress::StepProgress;
use firefly_framework::calibration::measure_operations;
use firefly_framework::graph::{Graph, GraphError};
use firefly_framework::profile::DeviceProfile;

use super::models::{PeaksModel, family_models, recordable};
use super::peaks::PeaksProblem;
use super::phases::{Phase, host_tail, replay};
use crate::harness::CaseError;

/// Largest number of runs of which the fastest counts, after one that is not timed: an operation is timed by the
/// difference of two times, which what else a machine does would drown.
const MAX_RUNS: usize = 9;
/// Nanoseconds of runs after which no further one begins on the host. On an accelerator, several runs compile kernels
/// before one is as fast as all later ones.
const ENOUGH: f64 = 50e6;

/// Batches of the zoo's models: latencies of other ones are interpolated.
const ZOO_BATCHES: [usize; 2] = [1, 4];

/// Graphs whose operations are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationScope {
    /// Phases and models of peaks of one small problem: to test that measuring works.
    Rough,
    /// Phases and models of peaks.
    Peaks,
    /// These, and a model of every family of the zoo.
    Zoo,
}

/// Measures the operations of the graphs of `scope`, and the host's search of spectra; says on the error stream how far
/// it is, unless `quiet`.
pub fn measure_device(
    profile: &mut DeviceProfile,
    device: &Device,
    scope: OperationScope,
    quiet: bool,
) -> anyhow::Result<()> {
    let problem = |n, batch| PeaksProblem::new(n, 2, batch, 16);
    let problems = match scope {
        OperationScope::Rough => vec![problem(64, 8)],
        OperationScope::Peaks | OperationScope::Zoo => {
            [(256, 32), (256, 1024), (256, 8192), (1024, 32), (1024, 1024)].map(|(n, b)| problem(n, b)).to_vec()
        }
    };
    let mut graphs = Vec::new();
    for problem in &problems {
        for phase in Phase::ALL {
            graphs.push(phase.graph(problem)?);
        }
        for (_, model) in PeaksModel::NAMED {
            graphs.push(model.graph(problem)?);
        }
    }
    if scope == OperationScope::Zoo {
        for name in family_models() {
            let Some(model) = recordable(name)? else { continue };
            for batch in ZOO_BATCHES {
                graphs.push(model.capture(batch)?);
            }
        }
    }
    let mut bar = None;
    let progress = |done, all| {
        let bar = bar.get_or_insert_with(|| {
            let bar = StepProgress::new(quiet, all);
            bar.set_message(format!("{all} operations"));
            bar
        });
        bar.set_position(done as u64);
    };
    measure_operations(profile, &graphs, progress, |graph| time(graph, device))?;
    if let Some(bar) = bar {
        bar.finish();
    }
    profile.scan_bandwidth = search_bandwidth(&problem(256, if scope == OperationScope::Rough { 8 } else { 4096 }));
    Ok(())
}

/// Nanoseconds of a run of a graph whose only input is a number; none if the device can't replay it.
fn time(graph: &Graph, device: &Device) -> anyhow::Result<Option<f64>> {
    let run = match replay(graph, device) {
        Ok(run) => run,
        Err(error) => {
            let is_unknown = matches!(error.downcast_ref(), Some(GraphError::UnknownOperation(_)));
            return if is_unknown || error.is::<CaseError>() { Ok(None) } else { Err(error) };
        }
    };
    let start = Tensor::<2>::zeros([1, 1], device);
    let once = || {
        let (start, clock) = (start.clone(), Instant::now());
        let outputs = run(start)?;
        outputs.iter().for_each(|output| _ = black_box(output.as_bytes()));
        Ok::<_, anyhow::Error>(clock.elapsed().as_nanos() as f64)
    };
    once()?;
    let enough = if DeviceName::of(device).kind().is_host() { ENOUGH } else { f64::INFINITY };
    fastest(enough, once).map(Some)
}

/// Bytes per nanosecond at which the host finds the peaks of complex spectra.
fn search_bandwidth(problem: &PeaksProblem) -> f64 {
    let values = problem.batch * problem.options.segments * problem.options.n_fft;
    let spectra: Vec<f32> = (0..2 * values).map(|index| (index as u32).wrapping_mul(2_654_435_761) as f32).collect();
    let search = || {
        let clock = Instant::now();
        let power = |at: usize| spectra[2 * at] * spectra[2 * at] + spectra[2 * at + 1] * spectra[2 * at + 1];
        black_box(host_tail(problem, power));
        Ok::<_, std::convert::Infallible>(clock.elapsed().as_nanos() as f64)
    };
    let Ok(time) = fastest(ENOUGH, search);
    size_of_val(&spectra[..]) as f64 / time
}

/// The least time of several runs, each of which returns its nanoseconds; none begins after `enough` of them.
fn fastest<E>(enough: f64, mut run: impl FnMut() -> Result<f64, E>) -> Result<f64, E> {
    let (mut fastest, mut spent) = (f64::INFINITY, 0.0);
    for _ in 0..MAX_RUNS {
        let time = run()?;
        fastest = fastest.min(time);
        spent += time;
        if spent >= enough {
            break;
        }
    }
    Ok(fastest)
}

#[cfg(test)]
mod tests {
    use firefly_framework::cost::Prediction;
    use firefly_framework::movement::{MovementOptions, count};
    use firefly_framework::profile::Preset;
    use firefly_models::testing::Formulation;

    use super::*;

    #[test]
    fn every_operation_of_the_models_is_measured() {
        let mut profile = Preset::Cpu.profile();
        measure_device(&mut profile, &Device::flex(), OperationScope::Rough, true).unwrap();
        let options = MovementOptions::default();
        for model in [PeaksModel::WelchPeaks, PeaksModel::Learned, PeaksModel::Stock(Formulation::Unfold)] {
            let moved = count(&model.graph(&PeaksProblem::new(64, 2, 32, 4)).unwrap(), &options);
            let prediction = Prediction::of_graph(&moved, &profile);
            assert!(prediction.operations > 0.0, "{}", model.name());
            assert_eq!((prediction.launches, prediction.traffic), (0.0, 0.0), "{}: {prediction}", model.name());
        }
        assert!(profile.scan_bandwidth > 0.0);
    }
}
