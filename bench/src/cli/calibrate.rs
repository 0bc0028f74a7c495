//! `firefly-bench calibrate`: what a device costs, measured, for the picker.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::value_parser;
use firefly_app::device::DeviceName;
use firefly_app::files::ensure_writable;
use firefly_framework::cost::{DeviceProfile, Preset, default_path, save};
use firefly_framework::host::fingerprint;

use super::Verdict;
use crate::calibration::{Grid, constants, measure_rates};
use crate::harness::format::{digits, duration};
use crate::methods::{Effort, methods_of};
use crate::report::table::{Side, Table};

/// The options.
#[derive(Debug, Clone, clap::Args)]
pub struct Arguments {
    /// The device: cpu, ndarray, wgpu, vulkan, metal or cuda, with an index as in cuda:1
    #[arg(long, default_value = "cpu")]
    pub device: DeviceName,
    /// Where the profile goes; the user's configuration folder, where the picker looks for it, unless given
    #[arg(long, value_name = "PATH")]
    pub out: Option<PathBuf>,
    /// Milliseconds to measure each point for in a round, at least three runs of each method
    #[arg(long, value_name = "MS", default_value_t = 9)]
    pub time: u64,
    /// How often the whole grid is gone through
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = value_parser!(u32).range(1..=100))]
    pub rounds: u32,
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
pub fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Verdict> {
    let device = arguments.device.open()?;
    let name = arguments.device.to_string();
    let path = match &arguments.out {
        Some(path) => path.clone(),
        None => default_path(&name)?,
    };
    ensure_writable(&path).with_context(|| path.display().to_string())?;
    let grid = if arguments.rough { Grid::rough() } else { Grid::full() };
    let effort = Effort { rounds: arguments.rounds as usize, time: Duration::from_millis(arguments.time) };
    let preset = Preset::of(arguments.device.kind()).profile();
    let measured = constants(preset, &device, arguments.rough)?;
    let mut profile = DeviceProfile { name: name.clone(), fingerprint: fingerprint(&name), ..measured };
    measure_rates(&mut profile, methods_of(arguments.device.kind()), &grid, effort, &device, arguments.quiet)?;
    save(&profile, &path)?;
    report(&profile, out)?;
    writeln!(out, "\nwritten to {}", path.display())?;
    Ok(Verdict::Passed)
}

fn report(profile: &DeviceProfile, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut table = Table::default().column("measured", Side::Left).column(&profile.name, Side::Right);
    let mut row = |name: &str, value: String| table.row([name.to_string(), value]);
    row("launch overhead", duration(profile.dispatch));
    row("round trip", duration(profile.roundtrip));
    row("memory, GB/s", digits(profile.memory_bandwidth));
    row("to the host, GB/s", digits(profile.link_bandwidth));
    row("host's scan, GB/s", digits(profile.scan_bandwidth));
    for (name, rate) in &profile.rates {
        row(&format!("{name}: worst error between points"), format!("× {}", digits(rate.error)));
    }
    write!(out, "{}", table.render())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use firefly_framework::cost::load;

    use super::*;

    #[test]
    fn a_rough_calibration_is_a_profile_that_loads() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cpu.toml");
        let arguments = Arguments {
            device: DeviceName::CPU,
            out: Some(path.clone()),
            time: 0,
            rounds: 1,
            rough: true,
            quiet: true,
        };
        let mut out = Vec::new();
        assert_eq!(run(&arguments, &mut out).unwrap(), Verdict::Passed);
        let profile = load(&path, &fingerprint("cpu")).unwrap().unwrap();
        assert_eq!(profile.rates.keys().collect::<Vec<_>>(), ["fused", "spectrum"]);
        assert!(profile.rates.values().all(|rate| rate.nanoseconds.len() == 8 && rate.error >= 1.0));
        assert!(profile.dispatch > 0.0 && profile.memory_bandwidth > 0.0);
        assert!(String::from_utf8(out).unwrap().contains("launch overhead"));
    }
}
