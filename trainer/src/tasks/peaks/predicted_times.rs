//! Times per frame that calibrated devices predict.

use std::collections::BTreeMap;

use firefly_framework::cost::{LearnedSize, PeaksSize, PeaksWorkload, Strategy};
use firefly_framework::device::{DeviceId, DeviceKind, fingerprint};
use firefly_framework::profile::{DeviceProfile, ProfileError, default_path, load};
use firefly_models::LearnedWelchPeaks;
use firefly_ops::WelchOptions;

use crate::tasks::frame_sets::BATCH;

/// Profiles of calibrated devices by their names.
pub(super) type CalibratedDevices = BTreeMap<String, DeviceProfile>;

/// The first device of each kind that was calibrated on this machine. A profile that can't be used is left out, as it is
/// where the picker selects.
pub(super) fn calibrated() -> CalibratedDevices {
    let first = DeviceKind::ALL.map(|kind| DeviceId::new(kind, 0));
    first.into_iter().filter_map(|device| Some((device.to_string(), profile(device).ok()??))).collect()
}

/// Microseconds from the nanoseconds that are predicted for each device.
pub(super) fn microseconds_by_device(
    calibrated: &CalibratedDevices,
    predicted: impl Fn(&DeviceProfile) -> Option<f64>,
) -> BTreeMap<String, f64> {
    calibrated.iter().filter_map(|(name, device)| Some((name.clone(), predicted(device)? / 1e3))).collect()
}

/// The profile of a device; `None` if it was not calibrated.
///
/// # Errors
/// [`ProfileError`] if its file can't be read, or is of another machine.
pub(super) fn profile(device: DeviceId) -> Result<Option<DeviceProfile>, ProfileError> {
    load(&default_path(device)?, &fingerprint(device))
}

/// Nanoseconds per frame of an exact estimate that finds `k` peaks among all bins in batches that are read back, if the
/// profile has times of such estimates.
pub(super) fn exact(options: WelchOptions, k: usize, device: &DeviceProfile) -> Option<f64> {
    per_frame(workload(options, k), Strategy::Fused, device)
}

/// What a learned model that runs as an exact estimate computes.
#[derive(Debug, Clone, Copy)]
pub(super) struct OpenParts {
    /// Open segments.
    pub segments: usize,
    /// Whether its gain takes products of neighbouring bins.
    pub products: bool,
    /// Closed blocks of bins.
    pub closed_blocks: usize,
    /// Halvings of the transform.
    pub halvings: usize,
}

/// The same of a learned model that runs as an exact estimate, with the parts `open` of those of `options`.
pub(super) fn learned(options: WelchOptions, open: OpenParts, k: usize, device: &DeviceProfile) -> Option<f64> {
    let OpenParts { segments, products, closed_blocks, halvings } = open;
    let all = options.butterflies();
    let open = options.with_segments(segments).butterflies();
    let size = LearnedSize { open, all, segments, exact: true, products, closed_blocks, halvings };
    per_frame(workload(options, k).with_learned(Some(size)), Strategy::Learned, device)
}

/// The same of a trained model, as a function of the device; `None` of one that does not run as an exact estimate, or
/// finds peaks in a part of the bins.
pub(super) fn of_model(model: &LearnedWelchPeaks) -> impl Fn(&DeviceProfile) -> Option<f64> + use<> {
    let (options, k) = (model.options(), model.config().k);
    let size = options.band.is_none().then(|| model.size());
    move |device| per_frame(workload(options, k).with_learned(Some(size?)), Strategy::Learned, device)
}

fn workload(options: WelchOptions, k: usize) -> PeaksWorkload {
    PeaksWorkload::new(PeaksSize { options, batch: BATCH, k })
}

fn per_frame(workload: PeaksWorkload, strategy: Strategy, device: &DeviceProfile) -> Option<f64> {
    Some(workload.measured(strategy, device)? / BATCH as f64)
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, Tensor, s};
    use firefly_framework::cost::PEAKS_AXES;
    use firefly_framework::profile::{LatencyAxis, LatencyTable, Preset};
    use firefly_models::{Band, LearnedWelchPeaksConfig};

    use super::*;

    /// A device on which a batch takes 1 µs per segment in exact estimates, and 2 µs in learned ones.
    fn device() -> DeviceProfile {
        let table = |factor: f64| {
            let axis = |(name, interpolation): (&str, _)| {
                let values = if name == "segments" { vec![1.0, 8.0] } else { vec![1.0] };
                LatencyAxis { name: name.into(), interpolation, values }
            };
            LatencyTable::new(PEAKS_AXES.map(axis).to_vec(), vec![factor, 8.0 * factor]).unwrap()
        };
        let latencies = [("fused".to_string(), table(1e3)), ("learned".to_string(), table(2e3))].into();
        DeviceProfile { latencies, ..Preset::Cpu.profile() }
    }

    #[test]
    fn times_are_those_of_open_segments() {
        let (options, device) = (WelchOptions::new(64, 8), device());
        let close = |time: Option<f64>, batch: f64| (time.unwrap() * BATCH as f64 / batch - 1.0).abs() < 1e-9;
        assert!(close(exact(options, 4, &device), 8e3) && close(exact(options.with_segments(1), 4, &device), 1e3));
        let open = OpenParts { segments: 1, products: false, closed_blocks: 0, halvings: 0 };
        assert!(close(learned(options, open, 4, &device), 2e3));
        // Products of a segment alone take a transform as long as that of two.
        assert!(close(learned(options, OpenParts { products: true, ..open }, 4, &device), 4e3));
        // What was not measured.
        assert_eq!(learned(options, OpenParts { halvings: 1, ..open }, 4, &device), None);
        let config = LearnedWelchPeaksConfig::new().with_n_fft(64).with_k(4);
        let model = config.init(&Device::flex());
        assert!(close(of_model(&model)(&device), 2e3 * model.count_open_segments() as f64));
    }

    #[test]
    fn what_was_not_measured_is_not_predicted() {
        let (device, host) = (device(), Device::flex());
        let config = LearnedWelchPeaksConfig::new().with_n_fft(64).with_k(4);
        let predicted = |config: &LearnedWelchPeaksConfig, change: fn(&mut LearnedWelchPeaks)| {
            let mut model = config.init(&host);
            change(&mut model);
            of_model(&model)(&device)
        };
        assert!(predicted(&config, |_| ()).is_some());
        assert_eq!(predicted(&config, |model| model.twiddles = model.twiddles.clone().map(|value| value * 0.5)), None);
        let close_one = |model: &mut LearnedWelchPeaks| {
            let close = |gates: Tensor<2>| gates.slice_fill(s![0..1, 0..1], -3.0);
            model.gate_logits = model.gate_logits.clone().map(close);
        };
        assert_eq!(predicted(&config, close_one), None);
        assert_eq!(predicted(&config.clone().with_band(Some(Band::new(1..9))), |_| ()), None);
        let plain = DeviceProfile { latencies: BTreeMap::new(), ..device.clone() };
        assert_eq!(exact(WelchOptions::new(64, 8), 4, &plain), None);
    }
}
