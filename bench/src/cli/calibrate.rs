//! `firefly-bench calibrate`: measured costs of a device, for the picker and for predictions of graphs.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::value_parser;
use firefly_app::device::DeviceChoice;
use firefly_app::files::ensure_writable;
use firefly_app::number::{duration, significant};
use firefly_app::table::{Align, TextTable};
use firefly_framework::calibration::{CalibrationSizes, LatencySpread, measure_constants, measure_latencies};
use firefly_framework::cost::PeaksSize;
use firefly_framework::device::fingerprint;
use firefly_framework::profile::{DeviceProfile, Preset, default_path, save};
use firefly_models::Tier;

use super::ExitStatus;
use crate::harness::load::{LoadProbe, LoadRecord, in_quiet_rounds};
use crate::harness::number_list::whole;
use crate::harness::statistics::Percentiles;
use crate::suites::operations::{self, OperationScope};
use crate::suites::peaks::PeaksProblem;
use crate::suites::picker::{TimingBudget, Timings, calibrated_estimates, time_in_rounds};

/// Options of `calibrate`.
#[derive(Debug, Clone, clap::Args)]
pub struct CalibrateArgs {
    /// Device: auto (the first GPU that is built in and present, or else the CPU), cpu, ndarray, wgpu, vulkan,
    /// metal, cuda or rocm, with an index as in cuda:1
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    pub device: DeviceChoice,
    /// File of the profile; in the user's configuration folder, where the picker looks for it, unless given
    #[arg(long, value_name = "PATH")]
    pub out: Option<PathBuf>,
    /// Milliseconds per point and round, from 0; at least three runs of each method
    #[arg(long, value_name = "MS", default_value_t = 9, allow_negative_numbers = true)]
    #[arg(value_parser = whole::<u64>)]
    pub time: u64,
    /// Rounds over the whole grid, from 1 to 100
    #[arg(long, value_name = "N", default_value_t = 5, allow_negative_numbers = true)]
    #[arg(value_parser = value_parser!(u32).range(1..=100))]
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

/// Measures a device and writes its profile.
///
/// # Errors
/// For a device that is not there, methods that fail or don't agree, and a file that can't be written.
pub fn run(arguments: &CalibrateArgs, out: &mut dyn Write) -> anyhow::Result<ExitStatus> {
    let id = arguments.device.name();
    let device = id.open()?;
    let name = id.to_string();
    let path = match &arguments.out {
        Some(path) => path.clone(),
        None => default_path(id.id())?,
    };
    ensure_writable(&path).with_context(|| path.display().to_string())?;
    let sizes = if arguments.rough { CalibrationSizes::rough() } else { CalibrationSizes::full() };
    let scope = match (arguments.rough, arguments.zoo) {
        (true, _) => OperationScope::Rough,
        (false, true) => OperationScope::Zoo,
        (false, false) => OperationScope::Peaks,
    };
    let budget = TimingBudget { rounds: arguments.rounds as usize, time: Duration::from_millis(arguments.time) };
    let mut probe = LoadProbe::new(id.kind());
    let (measured, mut load) = in_quiet_rounds(1, |_| {
        let before = probe.slowdown();
        let measured = measure_constants(Preset::of(id.kind()).profile(), &device, arguments.rough)?;
        let mut profile = DeviceProfile { name: name.clone(), fingerprint: fingerprint(id.id()), ..measured };
        let between = probe.slowdown();
        operations::measure(&mut profile, &device, scope, arguments.quiet)?;
        Ok::<_, anyhow::Error>((profile, before.max(between).max(probe.slowdown())))
    })?;
    let constants = measured.into_iter().next().context("nothing was measured")?;
    let estimates = calibrated_estimates(id.kind());
    let mut profile = constants.clone();
    measure_latencies(&mut profile, &estimates, &sizes, |sizes| {
        let problems = sizes.iter().map(problem).collect::<anyhow::Result<Vec<_>>>()?;
        let timed = time_in_rounds(&problems, &estimates, &constants, &device, budget, &mut probe, arguments.quiet)?;
        let Timings { samples, load: timing } = timed;
        load = LoadRecord::of([&load, &timing]);
        samples.into_iter().map(|samples| samples.into_iter().map(spread).collect()).collect::<anyhow::Result<_>>()
    })?;
    profile.remark = load.remark().unwrap_or_default();
    save(&profile, &path)?;
    report(&profile, out)?;
    writeln!(out, "\nwritten to {}", path.display())?;
    Ok(ExitStatus::Passed)
}

/// The problem of a size, which has as many segments as a tier.
fn problem(size: &PeaksSize) -> anyhow::Result<PeaksProblem> {
    let PeaksSize { options, batch, k } = *size;
    let tier = Tier::ALL.into_iter().find(|tier| tier.segments() == options.segments);
    let tier = tier.with_context(|| format!("no tier has {} segments", options.segments))?;
    Ok(PeaksProblem::new(options.n_fft, tier, batch, k))
}

fn spread(samples: Vec<f64>) -> anyhow::Result<LatencySpread> {
    let Percentiles { p10, p90, .. } = Percentiles::of(samples).context("nothing was timed")?;
    Ok(LatencySpread { p10, p90 })
}

fn report(profile: &DeviceProfile, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut table = TextTable::default().column("measured", Align::Left).column(&profile.name, Align::Right);
    let mut row = |name: &str, value: String| table.row([name.to_string(), value]);
    row("launch overhead", duration(profile.dispatch));
    row("round trip", duration(profile.roundtrip));
    row("memory, GB/s", significant(profile.memory_bandwidth, 3));
    row("to the host, GB/s", significant(profile.link_bandwidth, 3));
    row("host's search, GB/s", significant(profile.scan_bandwidth, 3));
    row("kinds of operation measured", profile.operations.len().to_string());
    for (name, table) in &profile.latencies {
        row(&format!("{name}: worst error between points"), format!("× {}", significant(table.error, 3)));
    }
    row("elementwise operations", if profile.merges_elementwise { "one kernel" } else { "a kernel each" }.into());
    write!(out, "{}", table.render())?;
    if !profile.remark.is_empty() {
        writeln!(out, "\n{}; calibrate again when the machine is idle", profile.remark)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use firefly_app::device::DeviceName;
    use firefly_framework::profile::load;

    use super::*;

    #[test]
    fn a_rough_calibration_is_a_profile_that_loads() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cpu.toml");
        let arguments = CalibrateArgs {
            device: DeviceChoice::Named(DeviceName::CPU),
            out: Some(path.clone()),
            time: 0,
            rounds: 1,
            zoo: false,
            rough: true,
            quiet: true,
        };
        let mut out = Vec::new();
        assert_eq!(run(&arguments, &mut out).unwrap(), ExitStatus::Passed);
        let profile = load(&path, &fingerprint(DeviceName::CPU.id())).unwrap().unwrap();
        assert_eq!(
            profile.latencies.keys().collect::<Vec<_>>(),
            ["fused", "learned", "learned_fewest_blocks", "learned_halved", "spectrum"]
        );
        assert!(profile.latencies.values().all(|table| table.nanoseconds.len() == 8 && table.error >= 1.0));
        assert!(profile.dispatch > 0.0 && profile.memory_bandwidth > 0.0);
        assert!(profile.operations.contains_key("firefly::butterfly"), "{:?}", profile.operations.keys());
        assert!(String::from_utf8(out).unwrap().contains("launch overhead"));
    }
}
