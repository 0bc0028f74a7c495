//! `firefly-bench calibrate`: measured costs of a device, for the picker and for predictions of graphs.

use std::convert::Infallible;
use std::hint::black_box;
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use burn::tensor::{Device, Tensor};
use clap::value_parser;
use firefly_app::device::{DeviceChoice, DeviceName};
use firefly_app::files::ensure_writable;
use firefly_app::number::{duration, significant};
use firefly_app::progress::StepProgress;
use firefly_app::table::{Align, TextTable};
use firefly_framework::calibration::{CrossoverGrid, measure_constants, measure_operations};
use firefly_framework::device::fingerprint;
use firefly_framework::graph::{Graph, GraphError};
use firefly_framework::picker::{PeaksSize, Strategy};
use firefly_framework::profile::{DeviceProfile, Preset, default_path, save};

use super::ExitStatus;
use crate::harness::{
    CaseError, CaseRecord, ExecutionConfig, Iterations, LoadProbe, LoadRecord, MeasurementSetup, Percentiles, Runner,
    available_cores, in_quiet_rounds,
};
use crate::suites::models::{PeaksModel, family_models, untrained};
use crate::suites::peaks::PeaksProblem;
use crate::suites::phases::{Phase, host_tail, replay};
use crate::suites::picker::catalogue;

/// Problems after which the load of the machine is probed again.
const PROBED: usize = 16;

#[derive(Debug, Clone, clap::Args)]
pub struct CalibrateArgs {
    /// Device: auto (the first GPU that is built in and present, or else the CPU), cpu, ndarray, wgpu, vulkan,
    /// metal, cuda or rocm, with an index as in cuda:1
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    pub device: DeviceChoice,
    /// File of the profile; in the user's configuration folder, where the picker looks for it, unless given
    #[arg(long, value_name = "PATH")]
    pub out: Option<PathBuf>,
    /// Timed iterations per point and round, from 1 to 1000
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = value_parser!(u32).range(1..=1000))]
    pub iters: u32,
    /// Rounds over the whole grid, from 1 to 100
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = value_parser!(u32).range(1..=100))]
    pub rounds: u32,
    /// Measure the operations of the zoo's models, too, which takes minutes more
    #[arg(long, conflicts_with = "rough")]
    pub zoo: bool,
    /// Measure a few points only: to see that it works, not to use
    #[arg(long)]
    pub rough: bool,
    /// Print the result only
    #[arg(long)]
    pub quiet: bool,
}

pub fn run(arguments: &CalibrateArgs, out: &mut dyn Write) -> Result<ExitStatus> {
    let id = arguments.device.name();
    let device = id.open()?;
    let path = arguments.out.clone().map_or_else(|| default_path(id.id()), Ok)?;
    ensure_writable(&path).with_context(|| path.display().to_string())?;
    let grid = if arguments.rough { CrossoverGrid::rough() } else { CrossoverGrid::full() };
    let mut probe = LoadProbe::new(id.kind());
    let (measured, mut load) = in_quiet_rounds(1, |_| {
        let before = probe.slowdown();
        let measured = measure_constants(Preset::of(id.kind()).profile(), &device, arguments.rough)?;
        let mut profile = DeviceProfile { name: id.to_string(), fingerprint: fingerprint(id.id()), ..measured };
        let between = probe.slowdown();
        measure_device(&mut profile, &device, arguments)?;
        Ok::<_, anyhow::Error>((profile, before.max(between).max(probe.slowdown())))
    })?;
    let mut profile = measured.into_iter().next().context("nothing was measured")?;
    let setup = MeasurementSetup {
        device,
        device_name: id,
        executions: ExecutionConfig::all(&[available_cores()], None)?,
        iterations: Iterations { warmup: 1, timed: arguments.iters as usize },
        seed: 0,
    };
    // On a host, there is no transfer to avoid.
    let host: &[Strategy] = if id.kind().is_host() { &[] } else { &[Strategy::Host] };
    let strategies = [&[Strategy::Fused][..], host, &[Strategy::Spectrum, Strategy::Learned]].concat();
    let sizes = grid.sizes();
    let (times, timing) = measure_rounds(arguments, &sizes, &strategies, &profile, &setup, &mut probe)?;
    load.slowdowns.extend(timing.slowdowns);
    load.repeated += timing.repeated;
    profile.crossovers = grid.crossovers(&strategies, &times)?;
    profile.remark = load.remark().unwrap_or_default();
    save(&profile, &path)?;
    report(&profile, out)?;
    writeln!(out, "\nwritten to {}", path.display())?;
    Ok(ExitStatus::Passed)
}

/// Nanoseconds of each strategy on every size, verified and timed in rounds: a machine that is slow for a minute is slow
/// in one round only, and rounds on a busy machine are repeated.
fn measure_rounds(
    arguments: &CalibrateArgs,
    sizes: &[PeaksSize],
    strategies: &[Strategy],
    profile: &DeviceProfile,
    setup: &MeasurementSetup,
    probe: &mut LoadProbe,
) -> Result<(Vec<Vec<f64>>, LoadRecord)> {
    let catalogue = catalogue(profile);
    let find = |strategy: &Strategy| catalogue.iter().find(|found| found.name == strategy.name());
    let chosen: Vec<_> = strategies.iter().filter_map(find).collect();
    let runner = Runner::new(&chosen, None, false, setup);
    let rounds = arguments.rounds as usize;
    let progress = StepProgress::new(arguments.quiet, rounds * sizes.len() * runner.steps());
    let (rounds, load) = in_quiet_rounds(rounds, |round| {
        let purpose = if round < rounds { format!(" of {rounds}") } else { ", instead of a busy one".into() };
        progress.set_message(format!("round {}{purpose}", round + 1));
        let (mut samples, mut slowdowns, mut inputs) = (Vec::new(), vec![probe.slowdown()], None);
        for (place, &PeaksSize { options, batch, k }) in sizes.iter().enumerate() {
            let cases = runner.run(&PeaksProblem { options, batch, k }, &mut inputs, &progress);
            let times = |case: &CaseRecord| match case.measured() {
                Some(measured) => Ok(measured.samples_ns.clone()),
                None => Err(anyhow!("{}: {}", case.label(), case.outcome.remark())),
            };
            samples.push(cases.iter().map(times).collect::<Result<Vec<Vec<u64>>>>()?);
            if place % PROBED == PROBED - 1 {
                slowdowns.push(probe.slowdown());
            }
        }
        let slowdown = Percentiles::of(slowdowns).map_or(1.0, |slowdown| slowdown.median);
        if LoadRecord::is_busy(slowdown) {
            progress.note(&format!(
                "round {}: the machine is busy: other load makes the slowest core take {slowdown:.2} times as long",
                round + 1
            ));
        }
        Ok::<_, anyhow::Error>((samples, slowdown))
    })?;
    progress.finish();
    // Geometric mean of the 10th and the 90th percentile. A shared machine alternates between two speeds, with and without
    // other load. A median is that of whichever speed lasted longer; this differs from either by the same factor.
    let middle = |place: usize, strategy: usize| -> Result<f64> {
        let samples = rounds.iter().flat_map(|round| &round[place][strategy]).map(|&sample| sample as f64);
        let Percentiles { p10, p90, .. } = Percentiles::of(samples).context("nothing was timed")?;
        Ok((p10 * p90).sqrt())
    };
    let middles = |place: usize| (0..strategies.len()).map(|strategy| middle(place, strategy)).collect();
    Ok(((0..sizes.len()).map(middles).collect::<Result<_>>()?, load))
}

fn report(profile: &DeviceProfile, out: &mut dyn Write) -> Result<()> {
    let mut table = TextTable::default().column("measured", Align::Left).column(&profile.name, Align::Right);
    let mut row = |name: &str, value: String| table.row([name.to_string(), value]);
    row("launch overhead", duration(profile.dispatch));
    row("round trip", duration(profile.roundtrip));
    row("memory, GB/s", significant(profile.memory_bandwidth, 3));
    row("to the host, GB/s", significant(profile.link_bandwidth, 3));
    row("host's search, GB/s", significant(profile.scan_bandwidth, 3));
    row("kinds of operation measured", profile.operations.len().to_string());
    row("elementwise operations", if profile.merges_elementwise { "one kernel" } else { "a kernel each" }.into());
    writeln!(out, "{}", table.render())?;
    let mut table = TextTable::default()
        .columns(["n_fft", "segments", "k up to"], Align::Right)
        .grouped(2)
        .column("few frames", Align::Left)
        .columns(["fused from frames", "fused, per frame", "learned, per frame"], Align::Right);
    for row in profile.crossovers.rows() {
        let sizes = [row.n_fft, row.segments, row.k].map(|size| size.to_string());
        let times = [significant(row.frames, 3), duration(row.fused), duration(row.learned)];
        table.row(sizes.into_iter().chain([row.few.to_string()]).chain(times));
    }
    write!(out, "{}", table.render())?;
    if !profile.remark.is_empty() {
        writeln!(out, "\n{}; calibrate again when the machine is idle", profile.remark)?;
    }
    Ok(())
}

/// Largest number of runs of which the fastest counts, after one that is not timed: an operation is timed by the
/// difference of two times, which what else a machine does would drown.
const MAX_RUNS: usize = 9;
/// Nanoseconds of runs after which no further one begins on the host. On an accelerator, several runs compile kernels
/// before one is as fast as all later ones.
const ENOUGH: f64 = 50e6;

/// Batches of the zoo's models: latencies of other ones are interpolated.
const ZOO_BATCHES: [usize; 2] = [1, 4];

/// Lengths and batches of the problems whose phases and models of peaks are measured.
const SIZES: &[(usize, usize)] = &[(256, 32), (256, 1024), (256, 8192), (1024, 32), (1024, 1024)];
const ROUGH_SIZES: &[(usize, usize)] = &[(64, 8)];

/// Measures the operations of the graphs that `arguments` ask for, and the host's search of spectra; says on the error
/// stream how far it is.
fn measure_device(profile: &mut DeviceProfile, device: &Device, arguments: &CalibrateArgs) -> Result<()> {
    let problem = |n, batch| PeaksProblem::new(n, 2, batch, 16);
    let mut graphs = Vec::new();
    for &(n, batch) in if arguments.rough { ROUGH_SIZES } else { SIZES } {
        for phase in Phase::ALL {
            graphs.push(phase.graph(&problem(n, batch))?);
        }
        for (_, model) in PeaksModel::NAMED {
            graphs.push(model.graph(&problem(n, batch))?);
        }
    }
    if arguments.zoo {
        for name in family_models() {
            let model = untrained(name)?;
            for batch in ZOO_BATCHES {
                graphs.push(model.capture(batch)?);
            }
        }
    }
    let mut bar = None;
    let progress = |done, all| {
        let bar = bar.get_or_insert_with(|| {
            let bar = StepProgress::new(arguments.quiet, all);
            bar.set_message(format!("{all} operations"));
            bar
        });
        bar.set_position(done as u64);
    };
    measure_operations(profile, &graphs, progress, |graph| time(graph, device))?;
    if let Some(bar) = bar {
        bar.finish();
    }
    profile.scan_bandwidth = search_bandwidth(&problem(256, if arguments.rough { 8 } else { 4096 }));
    Ok(())
}

/// Nanoseconds of a run of a graph whose only input is a number; none if the device can't replay it.
fn time(graph: &Graph, device: &Device) -> Result<Option<f64>> {
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
        Ok::<_, Infallible>(clock.elapsed().as_nanos() as f64)
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
    use firefly_framework::profile::load;
    use firefly_models::testing::Formulation;

    use super::*;

    fn rough(out: Option<PathBuf>) -> CalibrateArgs {
        let device = DeviceChoice::Named(DeviceName::CPU);
        CalibrateArgs { device, out, iters: 1, rounds: 1, zoo: false, rough: true, quiet: true }
    }

    #[test]
    fn a_rough_calibration_is_a_profile_that_loads() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cpu.toml");
        let arguments = rough(Some(path.clone()));
        let mut out = Vec::new();
        assert_eq!(run(&arguments, &mut out).unwrap(), ExitStatus::Passed);
        let profile = load(&path, &fingerprint(DeviceName::CPU.id())).unwrap().unwrap();
        assert_eq!(profile.crossovers.rows().iter().map(|row| row.n_fft).collect::<Vec<_>>(), [64, 256]);
        assert!(profile.dispatch > 0.0 && profile.memory_bandwidth > 0.0);
        assert!(profile.operations.contains_key("firefly::butterfly"), "{:?}", profile.operations.keys());
        assert!(String::from_utf8(out).unwrap().contains("fused from frames"));
    }

    #[test]
    fn every_operation_of_the_models_is_measured() {
        let mut profile = Preset::Cpu.profile();
        measure_device(&mut profile, &Device::flex(), &rough(None)).unwrap();
        let options = MovementOptions::default();
        for model in [PeaksModel::WelchPeaks, PeaksModel::Learned, PeaksModel::Stock(Formulation::Unfold)] {
            let moved = count(&model.graph(&PeaksProblem::new(64, 2, 32, 4)).unwrap(), &options);
            let prediction = Prediction::of_graph(&moved, &profile);
            assert!(prediction.operations > 0.0, "{model:?}");
            assert_eq!((prediction.launches, prediction.traffic), (0.0, 0.0), "{model:?}: {prediction}");
        }
        assert!(profile.scan_bandwidth > 0.0);
    }
}
