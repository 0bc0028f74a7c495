//! `firefly-bench calibrate`: what a device costs, measured, for the picker.

use std::hint::black_box;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context;
use burn::tensor::{Device, Tensor};
use firefly_framework::cost::{Axis, DeviceProfile, Preset, Rate, default_path, save};
use firefly_framework::device::DeviceName;
use firefly_framework::files::ensure_writable;
use firefly_framework::host::fingerprint;
use firefly_models::{Method, RATE_AXES, Tier};

use super::Verdict;
use crate::methods::{Noise, time_methods};
use crate::peaks::PeaksProblem;
use crate::progress::Progress;
use crate::statistics::Spread;
use crate::table::{Side, Table, digits, duration};

/// The options.
#[derive(Debug, Clone, clap::Args)]
pub struct Arguments {
    /// The device: cpu, ndarray, wgpu, vulkan, metal or cuda, with an index as in cuda:1
    #[arg(long, default_value = "cpu")]
    pub device: DeviceName,
    /// Where the profile goes; the user's configuration folder, where the picker looks for it, unless given
    #[arg(long, value_name = "PATH")]
    pub out: Option<PathBuf>,
    /// Measure a few points only: to see that it works, not to use
    #[arg(long)]
    pub rough: bool,
    /// Print the result only
    #[arg(long)]
    pub quiet: bool,
}

/// The sizes that strategies are timed at. K has a point on each side of 16, up to which a faster search is used.
struct Grid {
    n_fft: Vec<usize>,
    tiers: Vec<Tier>,
    k: Vec<usize>,
    batch: Vec<usize>,
    /// Between the points of the grid, to see what the predictions are worth.
    held_out: Vec<PeaksProblem>,
    time: Duration,
}

impl Grid {
    fn full() -> Self {
        let between = [(128, 4, 4), (256, 60, 16), (1024, 1000, 16), (2048, 100, 40), (256, 3000, 64)];
        let tiers = [Tier::Fast, Tier::Reference];
        let held_out = tiers.into_iter().flat_map(|tier| {
            between.into_iter().map(move |(n_fft, batch, k)| PeaksProblem::new(n_fft, tier, batch, k))
        });
        Self {
            n_fft: vec![64, 512, 4096],
            tiers: Tier::ALL.to_vec(),
            k: vec![4, 16, 17, 64],
            batch: vec![1, 16, 256, 4096],
            held_out: held_out.collect(),
            time: Duration::from_millis(20),
        }
    }

    fn rough() -> Self {
        Self {
            n_fft: vec![64, 256],
            tiers: vec![Tier::Fast],
            k: vec![4, 16],
            batch: vec![1, 64],
            held_out: vec![PeaksProblem::new(128, Tier::Fast, 8, 8)],
            time: Duration::ZERO,
        }
    }

    fn axes(&self) -> Vec<Axis> {
        let floats = |sizes: &[usize]| sizes.iter().map(|size| *size as f64).collect();
        let segments: Vec<usize> = self.tiers.iter().map(|tier| tier.segments()).collect();
        let values: [Vec<f64>; 4] = [floats(&self.n_fft), floats(&segments), floats(&self.k), floats(&self.batch)];
        RATE_AXES.iter().zip(values).map(|(name, values)| Axis { name: name.to_string(), values }).collect()
    }

    /// The problem at every point, the last axis running fastest.
    fn problems(&self) -> Vec<PeaksProblem> {
        let mut problems = Vec::new();
        for &n_fft in &self.n_fft {
            for &tier in &self.tiers {
                for &k in &self.k {
                    // Short segments have fewer bins than the most peaks: all of them is as near as it gets.
                    let k = k.min(n_fft / 2 + 1);
                    problems.extend(self.batch.iter().map(|&batch| PeaksProblem::new(n_fft, tier, batch, k)));
                }
            }
        }
        problems
    }
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
    let preset = Preset::of(arguments.device.kind()).profile();
    let mut profile =
        DeviceProfile { name: name.clone(), fingerprint: fingerprint(&name), ..constants(preset, &device, &grid)? };
    measure_rates(&mut profile, &grid, &device, arguments.quiet)?;
    save(&profile, &path)?;
    report(&profile, out)?;
    writeln!(out, "\nwritten to {}", path.display())?;
    Ok(Verdict::Passed)
}

/// Bytes of the tensors that bandwidths are measured with: larger than caches.
const LARGE: usize = 256 << 20;
const SMALL_OPERATIONS: usize = 1000;

/// Launch overhead, round trip and bandwidths.
fn constants(preset: DeviceProfile, device: &Device, grid: &Grid) -> anyhow::Result<DeviceProfile> {
    let one = Tensor::<1>::ones([1], device);
    let dispatch = median(|| {
        let chain = (0..SMALL_OPERATIONS).fold(one.clone(), |value, _| value + 1.0);
        Ok(black_box(chain.try_into_data()?).num_elements())
    })? / SMALL_OPERATIONS as f64;
    let roundtrip = median(|| Ok((one.clone() + 1.0).try_into_data()?.num_elements()))? - dispatch;
    let bytes = if grid.time.is_zero() { LARGE / 64 } else { LARGE };
    let large = Tensor::<1>::ones([bytes / size_of::<f32>()], device);
    let first =
        |tensor: Tensor<1>| -> anyhow::Result<usize> { Ok(tensor.narrow(0, 0, 1).try_into_data()?.num_elements()) };
    let traffic = median(|| first(large.clone() + 1.0))?;
    let link = median(|| Ok(black_box(large.clone().try_into_data()?.try_to_vec::<f32>()?).len()))?;
    let host = large.clone().try_into_data()?.try_to_vec::<f32>()?;
    let scan = median(|| Ok(black_box(&host).iter().fold(0f32, |most, value| most.max(*value)) as usize))?;
    Ok(DeviceProfile {
        dispatch,
        roundtrip: roundtrip.max(0.0),
        memory_bandwidth: 2.0 * bytes as f64 / traffic,
        link_bandwidth: bytes as f64 / link,
        scan_bandwidth: bytes as f64 / scan,
        ..preset
    })
}

/// Median nanoseconds of a few runs, after one that is not counted.
fn median(mut run: impl FnMut() -> anyhow::Result<usize>) -> anyhow::Result<f64> {
    black_box(run()?);
    let mut times = Vec::new();
    for _ in 0..7 {
        let start = Instant::now();
        black_box(run()?);
        times.push(start.elapsed().as_nanos() as f64);
    }
    Ok(Spread::of(times).context("nothing was timed")?.median)
}

/// Times of every method over the grid, and how far predictions are off between its points.
fn measure_rates(profile: &mut DeviceProfile, grid: &Grid, device: &Device, quiet: bool) -> anyhow::Result<()> {
    let methods = [Method::Fused, Method::Spectrum];
    let problems = grid.problems();
    let samples = problems.iter().chain(&grid.held_out).map(|problem| problem.batch * problem.frame()).max();
    let noise = Noise::new(samples.unwrap_or(0));
    let progress = Progress::new(quiet, problems.len() + grid.held_out.len());
    let mut measure = |problem: &PeaksProblem| -> anyhow::Result<Vec<f64>> {
        progress.advance(1);
        let spreads = time_methods(problem, &methods, &noise, profile, device, grid.time)?;
        Ok(spreads.iter().map(|spread| spread.median).collect())
    };
    let times = problems.iter().map(&mut measure).collect::<anyhow::Result<Vec<_>>>()?;
    let held_out = grid.held_out.iter().map(&mut measure).collect::<anyhow::Result<Vec<_>>>()?;
    progress.finish();
    for (place, method) in methods.iter().enumerate() {
        let mut rate = Rate::new(grid.axes(), times.iter().map(|times| times[place]).collect())?;
        let off = grid.held_out.iter().zip(&held_out).filter_map(|(problem, times)| {
            let PeaksProblem { options, k, batch, .. } = problem;
            let at = [options.n_fft, options.segments, *k, *batch].map(|size| size as f64);
            let ratio = rate.predict(&at)? / times[place];
            Some(ratio.max(1.0 / ratio))
        });
        rate.error = off.fold(1.0, f64::max);
        profile.rates.insert(method.name().into(), rate);
    }
    Ok(())
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
        let arguments = Arguments { device: DeviceName::CPU, out: Some(path.clone()), rough: true, quiet: true };
        let mut out = Vec::new();
        assert_eq!(run(&arguments, &mut out).unwrap(), Verdict::Passed);
        let profile = load(&path, &fingerprint("cpu")).unwrap().unwrap();
        assert_eq!(profile.rates.keys().collect::<Vec<_>>(), ["fused", "spectrum"]);
        assert!(profile.rates.values().all(|rate| rate.nanoseconds.len() == 8 && rate.error >= 1.0));
        assert!(profile.dispatch > 0.0 && profile.memory_bandwidth > 0.0);
        assert!(String::from_utf8(out).unwrap().contains("launch overhead"));
    }

    #[test]
    fn problems_are_in_the_order_of_the_axes() {
        let grid = Grid::full();
        let (axes, problems) = (grid.axes(), grid.problems());
        assert_eq!(problems.len(), axes.iter().map(|axis| axis.values.len()).product::<usize>());
        assert_eq!((problems[1].batch, problems[4].k, problems[16].tier), (16, 16, Tier::Fast));
        assert!(problems.iter().chain(&grid.held_out).all(|problem| problem.validate().is_ok()));
    }
}
