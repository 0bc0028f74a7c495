//! Cost of Welch peaks: the strategies that compute them, and the predicted time of each.

use std::fmt;

use firefly_ops::WelchOptions;
use serde::{Deserialize, Serialize};

use super::measured_estimate::MeasuredEstimate;
use super::peaks_size::{LearnedSize, PeaksSize, SAMPLE_BYTES};
use super::published;
use crate::profile::DeviceProfile;

/// Strategy of computing Welch peaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Strategy {
    /// Copy of the frames to the host, and computation there.
    Host,
    /// One operation on the device.
    Fused,
    /// Spectra on the device, read back, and searched on the host.
    Spectrum,
    /// The learned model on the device.
    Learned,
}

impl Strategy {
    /// Every strategy.
    pub const ALL: [Self; 4] = [Self::Host, Self::Fused, Self::Spectrum, Self::Learned];

    /// Name of the strategy, and key of its latency table in a device profile.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Fused => "fused",
            Self::Spectrum => "spectrum",
            Self::Learned => "learned",
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Everything besides the device that the predicted time of a strategy depends on.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PeaksWorkload {
    /// The problem size.
    pub size: PeaksSize,
    /// Whether peaks stay on the device of the frames; they are delivered in host memory otherwise.
    pub keep_on_device: bool,
    /// Whether the frames are in host memory.
    pub on_host: bool,
    /// The learned model, if there is one.
    pub learned: Option<LearnedSize>,
}

impl PeaksWorkload {
    /// The workload of frames on a device whose peaks are delivered in host memory, without a learned model.
    pub const fn new(size: PeaksSize) -> Self {
        Self { size, keep_on_device: false, on_host: false, learned: None }
    }

    /// The same workload with peaks that stay on the device or are delivered in host memory.
    pub const fn with_keep_on_device(self, keep_on_device: bool) -> Self {
        Self { keep_on_device, ..self }
    }

    /// The same workload of frames in host memory or on a device.
    pub const fn with_on_host(self, on_host: bool) -> Self {
        Self { on_host, ..self }
    }

    /// The same workload with a learned model or without one.
    pub const fn with_learned(self, learned: Option<LearnedSize>) -> Self {
        Self { learned, ..self }
    }

    /// Predicted nanoseconds; `None` for a strategy that is no candidate: `Host` on the host, where it is the same as
    /// `Fused`, and `Learned` without a model, or with one that is not sparse where its time was not measured: on a
    /// device that was not calibrated, and anywhere if it does not run as an exact estimate.
    pub fn predict(&self, strategy: Strategy, device: &DeviceProfile) -> Option<f64> {
        if strategy == Strategy::Host && self.on_host {
            return None;
        }
        if strategy == Strategy::Learned {
            let learned = self.learned?;
            return self.measured(strategy, device).or_else(|| {
                let scale = published::learned_scale(&learned);
                learned.is_sparse().then(|| published::fused(&self.size, device, scale))
            });
        }
        let measured = self.measured(strategy, device);
        Some(measured.unwrap_or_else(|| self.estimate(strategy, device)) + self.upload(strategy, device))
    }

    /// Nanoseconds that follow from the measured latencies of a strategy, if the profile has them; of a learned model
    /// that runs as an exact estimate those of as many segments as it has open, less those of the blocks of bins that are
    /// closed.
    pub fn measured(&self, strategy: Strategy, device: &DeviceProfile) -> Option<f64> {
        if strategy == Strategy::Learned {
            return self.measured_learned(device);
        }
        device.latencies.get(strategy.name())?.predict(&self.size.coordinates())
    }

    fn measured_learned(&self, device: &DeviceProfile) -> Option<f64> {
        let learned = self.learned.filter(|learned| learned.exact)?;
        let options = WelchOptions::new(self.size.options.n_fft, learned.timed_segments(device.peaks.gpu));
        let coordinates = PeaksSize { options, ..self.size }.coordinates();
        let time = |estimate: MeasuredEstimate| device.latencies.get(estimate.name())?.predict(&coordinates);
        let open = MeasuredEstimate::Strategy(Strategy::Learned);
        let whole = match learned.halvings {
            0 => time(open)?,
            1 => time(MeasuredEstimate::Halved)?,
            _ => return None,
        };
        let fewest = self.size.k.div_ceil(options.block_len());
        if learned.closed_blocks == 0 || options.blocks() <= fewest {
            return Some(whole);
        }
        let per_block = (time(open)? - time(MeasuredEstimate::FewestBlocks)?) / (options.blocks() - fewest) as f64;
        Some((whole - per_block * learned.closed_blocks as f64).max(0.0))
    }

    /// Nanoseconds by the published estimates.
    fn estimate(&self, strategy: Strategy, device: &DeviceProfile) -> f64 {
        let size = &self.size;
        match strategy {
            Strategy::Host => published::host(size, device),
            // The operation runs on the host, as the host path does.
            Strategy::Fused | Strategy::Learned if self.on_host => published::host(size, device),
            Strategy::Fused | Strategy::Learned => published::fused(size, device, 1.0),
            // The same with spectra in memory, which are searched in a second pass.
            Strategy::Spectrum if self.on_host => {
                let power = size.batch as u64 * size.options.bins() as u64 * SAMPLE_BYTES;
                published::host(size, device) + power as f64 / device.scan_bandwidth
            }
            Strategy::Spectrum => published::block(size, device),
        }
    }

    /// Predicted nanoseconds of copying peaks that were found on the host to the device.
    fn upload(&self, strategy: Strategy, device: &DeviceProfile) -> f64 {
        let found_on_host = matches!(strategy, Strategy::Host | Strategy::Spectrum);
        if !found_on_host || self.on_host || !self.keep_on_device {
            return 0.0;
        }
        device.roundtrip + self.size.peaks_bytes() as f64 / device.link_bandwidth
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::PEAKS_AXES;
    use crate::profile::{LatencyAxis, LatencyTable, Preset};

    /// A model without products whose blocks of bins are open and whose transform is not halved.
    const WHOLE: LearnedSize =
        LearnedSize { open: 0, all: 0, segments: 0, exact: true, products: false, closed_blocks: 0, halvings: 0 };

    fn workload(batch: usize) -> PeaksWorkload {
        PeaksWorkload::new(PeaksSize { options: WelchOptions::new(256, 2), batch, k: 16 })
    }

    fn times(workload: &PeaksWorkload, device: &DeviceProfile) -> Vec<Option<f64>> {
        Strategy::ALL.map(|strategy| workload.predict(strategy, device)).to_vec()
    }

    #[test]
    fn small_batches_stay_on_the_host_and_large_ones_go_to_the_gpu() {
        let fastest = |batch| {
            let times = times(&workload(batch), &Preset::Cuda.profile());
            let order = |a: &usize, b: &usize| times[*a].unwrap().total_cmp(&times[*b].unwrap());
            (0..3).min_by(order).map(|index| Strategy::ALL[index])
        };
        assert_eq!(fastest(8192), Some(Strategy::Fused));
        assert_eq!(fastest(1), Some(Strategy::Host));
    }

    #[test]
    fn frames_in_host_memory_have_no_host_strategy() {
        let workload = PeaksWorkload { on_host: true, ..workload(100) };
        assert_eq!(workload.predict(Strategy::Host, &Preset::Cpu.profile()), None);
    }

    #[test]
    fn measured_latencies_take_precedence() {
        let axis =
            |(name, interpolation): (&str, _)| LatencyAxis { name: name.into(), interpolation, values: vec![1.0] };
        let table = LatencyTable::new(PEAKS_AXES.map(axis).to_vec(), vec![1234.0]).unwrap();
        let device = DeviceProfile { latencies: [("fused".to_string(), table)].into(), ..Preset::Cuda.profile() };
        assert!((workload(8).predict(Strategy::Fused, &device).unwrap() - 1234.0).abs() < 1e-6);
    }

    #[test]
    fn only_sparse_learned_models_are_candidates() {
        let device = Preset::Cuda.profile();
        let with = |batch, open| {
            let learned = Some(LearnedSize { open, all: 1000, segments: 2, exact: false, ..WHOLE });
            PeaksWorkload { learned, ..workload(batch) }.predict(Strategy::Learned, &device)
        };
        assert_eq!((with(8, 250), with(8, 1000)), (None, None));
        // Below 0.44 of the exact operation's scale, the least time of small batches decides.
        assert_eq!(with(8, 200), Some(400_000.0));
        let fused = workload(100_000).predict(Strategy::Fused, &device).unwrap();
        assert!((with(100_000, 200).unwrap() / fused - 0.44).abs() < 1e-9);
    }

    #[test]
    fn measured_learned_models_take_the_time_of_their_open_segments() {
        let axis = |(name, interpolation): (&str, _)| {
            let values = if name == "segments" { vec![1.0, 8.0] } else { vec![1.0] };
            LatencyAxis { name: name.into(), interpolation, values }
        };
        let table = LatencyTable::new(PEAKS_AXES.map(axis).to_vec(), vec![1000.0, 8000.0]).unwrap();
        let device = DeviceProfile { latencies: [("learned".to_string(), table)].into(), ..Preset::Cuda.profile() };
        let of = |learned| PeaksWorkload { learned: Some(learned), ..workload(8) }.predict(Strategy::Learned, &device);
        let model = |segments, exact| LearnedSize { open: 1000, all: 1000, segments, exact, ..WHOLE };
        let with = |segments, exact| of(model(segments, exact));
        assert!((with(1, true).unwrap() - 1000.0).abs() < 1e-6 && (with(8, true).unwrap() - 8000.0).abs() < 1e-6);
        // On a host, products of one segment take a transform as long as that of two.
        let host = DeviceProfile { latencies: device.latencies.clone(), ..Preset::Cpu.profile() };
        let with_products = |segments, device: &DeviceProfile| {
            let learned = Some(LearnedSize { products: true, ..model(segments, true) });
            PeaksWorkload { learned, ..workload(8) }.predict(Strategy::Learned, device)
        };
        assert_eq!([1, 2].map(|segments| with_products(segments, &host)), [2, 2].map(|segments| with(segments, true)));
        assert_eq!(with_products(1, &device), with(1, true));
        // Learned butterflies take another time, which calibration does not measure.
        assert_eq!(with(1, false), None);
        assert_eq!(workload(8).predict(Strategy::Learned, &device), None);
    }

    #[test]
    fn closed_blocks_and_halved_transforms_take_the_times_that_were_measured() {
        let axis =
            |(name, interpolation): (&str, _)| LatencyAxis { name: name.into(), interpolation, values: vec![1.0] };
        let table = |time| LatencyTable::new(PEAKS_AXES.map(axis).to_vec(), vec![time]).unwrap();
        let tables = |tables: &[(&str, f64)]| DeviceProfile {
            latencies: tables.iter().map(|&(name, time)| (name.to_string(), table(time))).collect(),
            ..Preset::Cuda.profile()
        };
        let measured = [("learned", 1000.0), ("learned_fewest_blocks", 650.0), ("learned_halved", 600.0)];
        let time = |closed_blocks, halvings, device: &DeviceProfile| {
            let learned = LearnedSize { segments: 2, closed_blocks, halvings, ..WHOLE };
            workload(8).with_learned(Some(learned)).measured(Strategy::Learned, device)
        };
        // Seven of eight blocks of sixteen bins are closed where as few as possible are open for 16 peaks.
        let device = tables(&measured);
        let expected = [(0, 0, 1000.0), (3, 0, 850.0), (7, 0, 650.0), (0, 1, 600.0), (2, 1, 500.0)];
        for (closed, halvings, expected) in expected {
            let found = time(closed, halvings, &device).unwrap();
            assert!((found - expected).abs() < 1e-6, "{closed} closed, {halvings} halvings: {found}");
        }
        assert_eq!(time(0, 2, &device), None);
        let without = tables(&measured[..1]);
        assert_eq!((time(0, 0, &without).is_some(), time(1, 0, &without), time(0, 1, &without)), (true, None, None));
    }

    #[test]
    fn peaks_kept_on_the_device_are_uploaded() {
        let device = Preset::Cuda.profile();
        let kept = PeaksWorkload { keep_on_device: true, ..workload(1000) };
        let host = |workload: &PeaksWorkload| workload.predict(Strategy::Host, &device).unwrap();
        assert!((host(&kept) - host(&workload(1000)) - (20_000.0 + 128_000.0 / 50.0)).abs() < 1e-6);
        assert_eq!(kept.predict(Strategy::Fused, &device), workload(1000).predict(Strategy::Fused, &device));
    }
}
