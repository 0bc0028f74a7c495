//! The ways to compute a tier, and how long each is predicted to take.

use std::fmt;

use firefly_framework::cost::{DeviceProfile, Growth, Io, Prediction, Preset};
use firefly_ops::WelchOptions;

/// How a tier's peaks are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// Frames are brought to the host, and everything is computed there.
    Host,
    /// One operation on the device.
    Fused,
    /// Spectra on the device, read back, and searched on the host.
    Spectrum,
    /// The learned model on the device.
    Learned,
}

impl Method {
    /// Every method.
    pub const ALL: [Self; 4] = [Self::Host, Self::Fused, Self::Spectrum, Self::Learned];

    /// Its name, under which calibration keeps its times.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Fused => "fused",
            Self::Spectrum => "spectrum",
            Self::Learned => "learned",
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Where peaks are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Destination {
    /// In host memory: reading them back is part of the time.
    #[default]
    Host,
    /// On the device that the frames are on.
    Device,
}

/// What times are predicted for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Workload {
    /// The estimate.
    pub options: WelchOptions,
    /// Frames.
    pub batch: usize,
    /// Peaks of each.
    pub k: usize,
    /// Where they are wanted.
    pub destination: Destination,
    /// Whether the frames are in the host's own memory.
    pub on_host: bool,
    /// A learned model's open butterflies and all of them, if there is one.
    pub butterflies: Option<(usize, usize)>,
}

/// The axes of measured times, and how times grow along them.
pub const RATE_AXES: [(&str, Growth); 4] =
    [("n_fft", Growth::Power), ("segments", Growth::Power), ("k", Growth::Power), ("batch", Growth::Affine)];

/// A learned model is worth a thought only where this many times its open butterflies are fewer than all of them.
const LEARNED_SPARSITY: usize = 4;
const BYTES: u64 = 4;
/// A bin and a power.
const PEAK_BYTES: u64 = 8;

impl Workload {
    /// Where the workload is on the [`RATE_AXES`].
    pub fn place(&self) -> [f64; 4] {
        [self.options.n_fft, self.options.segments, self.k, self.batch].map(|size| size as f64)
    }

    /// Predicted nanoseconds; `None` for a method that is out of the question.
    pub fn predict(&self, method: Method, device: &DeviceProfile) -> Option<f64> {
        if method == Method::Host && self.on_host {
            // The fused operation does the same.
            return None;
        }
        if method == Method::Learned {
            let (open, all) = self.butterflies.filter(|(open, all)| open * LEARNED_SPARSITY < *all)?;
            let share = open as f64 / all as f64;
            return Some(self.predict(Method::Fused, device)? * (0.30 + 0.70 * share));
        }
        let measured = device.rates.get(method.name()).and_then(|rate| rate.predict(&self.place()));
        Some(measured.unwrap_or_else(|| self.by_io(method, device)) + self.putting_back(method, device))
    }

    /// Predicted nanoseconds from what has to move.
    fn by_io(&self, method: Method, device: &DeviceProfile) -> f64 {
        let [batch, segments, n_fft, k] =
            [self.batch, self.options.segments, self.options.n_fft, self.k].map(|size| size as u64);
        let peaks = batch * k * PEAK_BYTES;
        let signal = batch * self.options.frame() as u64 * BYTES;
        let power = batch * self.options.bins() as u64 * BYTES;
        let read = |bytes| if self.destination == Destination::Host { bytes } else { 0 };
        match method {
            Method::Host => {
                let bring = Prediction::new(&Io { host_output: signal, ..Io::default() }, device).total();
                bring + Prediction::new(&Io::host_path(batch, segments, n_fft, k), &Preset::Cpu.profile()).total()
            }
            Method::Fused | Method::Learned => {
                let io = Io { launches: 1, syncs: 0, host_output: read(peaks), traffic: signal + peaks };
                Prediction::new(&io, device).total() * device.compute_factor
            }
            Method::Spectrum => {
                let io = Io { launches: 1, syncs: 0, host_output: power, traffic: signal + power };
                let scan = power as f64 / device.scan_bandwidth;
                Prediction::new(&io, device).total() * device.compute_factor + scan
            }
        }
    }

    /// What it takes to put peaks that were found on the host on the device.
    fn putting_back(&self, method: Method, device: &DeviceProfile) -> f64 {
        let found_on_host = matches!(method, Method::Host | Method::Spectrum);
        if !found_on_host || self.on_host || self.destination == Destination::Host {
            return 0.0;
        }
        device.roundtrip + (self.batch * self.k) as f64 * PEAK_BYTES as f64 / device.link_bandwidth
    }
}

#[cfg(test)]
mod tests {
    use firefly_framework::cost::{Axis, Rate};

    use super::*;

    fn workload(batch: usize) -> Workload {
        Workload {
            options: WelchOptions::new(256, 2),
            batch,
            k: 16,
            destination: Destination::Host,
            on_host: false,
            butterflies: None,
        }
    }

    fn times(workload: &Workload, device: &DeviceProfile) -> Vec<Option<f64>> {
        Method::ALL.map(|method| workload.predict(method, device)).to_vec()
    }

    #[test]
    fn small_batches_stay_on_the_host_and_large_ones_go_to_the_gpu() {
        let fastest = |batch| {
            let times = times(&workload(batch), &Preset::Wgpu.profile());
            (0..3).min_by(|a, b| times[*a].unwrap().total_cmp(&times[*b].unwrap())).map(|place| Method::ALL[place])
        };
        assert_eq!(fastest(8192), Some(Method::Fused));
        assert_eq!(fastest(1), Some(Method::Host));
    }

    #[test]
    fn on_the_host_there_is_nothing_to_bring() {
        let workload = Workload { on_host: true, ..workload(100) };
        assert_eq!(workload.predict(Method::Host, &Preset::Cpu.profile()), None);
    }

    #[test]
    fn measured_times_come_first() {
        let axes = RATE_AXES.map(|(name, growth)| Axis { name: name.into(), growth, values: vec![1.0] }).to_vec();
        let rates = [("fused".to_string(), Rate::new(axes, vec![1234.0]).unwrap())].into();
        let device = DeviceProfile { rates, ..Preset::Cuda.profile() };
        assert!((workload(8).predict(Method::Fused, &device).unwrap() - 1234.0).abs() < 1e-6);
    }

    #[test]
    fn only_sparse_models_are_considered() {
        let device = Preset::Cuda.profile();
        let with = |open| Workload { butterflies: Some((open, 1000)), ..workload(8) }.predict(Method::Learned, &device);
        assert_eq!((with(250), with(1000)), (None, None));
        let fused = workload(8).predict(Method::Fused, &device).unwrap();
        assert!((with(200).unwrap() / fused - 0.44).abs() < 1e-9);
    }

    #[test]
    fn peaks_wanted_on_the_device_are_put_back() {
        let device = Preset::Cuda.profile();
        let on_device = Workload { destination: Destination::Device, ..workload(1000) };
        let host = |workload: &Workload| workload.predict(Method::Host, &device).unwrap();
        assert!((host(&on_device) - host(&workload(1000)) - (20_000.0 + 128_000.0 / 50.0)).abs() < 1e-6);
        let fused = |workload: &Workload| workload.predict(Method::Fused, &device).unwrap();
        assert!(fused(&on_device) < fused(&workload(1000)));
    }
}
