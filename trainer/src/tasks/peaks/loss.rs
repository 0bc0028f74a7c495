//! The loss: distance of the model's power from ranking and from equalling the reference peaks, plus the price of the
//! work that the gates of a step leave; and times per frame: those that calibrated devices predict, and the time of open
//! segments that the price can be on.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use firefly_app::device::DeviceName;
use firefly_framework::device::{DeviceId, DeviceKind, fingerprint};
use firefly_framework::picker::LearnedSize;
use firefly_framework::profile::{DeviceProfile, ProfileError, default_path, load};
use firefly_models::LearnedWelchPeaks;
use firefly_models::learned_welch_peaks::Gates;
use firefly_ops::WelchOptions;
use firefly_ops::options::PeakLossOptions;
use firefly_ops::training::peak_loss;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::data::PeaksBatch;
use super::{LossSection, ModelSection, Parameters, PeaksConfig};
use crate::tasks::prelude::*;

/// Added to power relative to a frame's mean before its logarithm is taken, so that the logarithm is bounded.
const RELATIVE_POWER_OFFSET: f64 = 1e-9;

/// Exact segments whose work has the price.
pub const PRICED_SEGMENTS: usize = 2;

/// Work that a price is on: open butterflies, or their time.
#[derive(Debug, Clone)]
pub struct Work {
    /// Work per frame, `[1]`.
    pub per_frame: Tensor<1>,
    /// Work per frame that the price is for: that of [`PRICED_SEGMENTS`] exact segments.
    pub unit: f64,
}

/// Losses of each frame's peaks by `model` with `gates`, `[batch, 2]`: the ranking loss in nepers per peak, and the
/// squared error of log power at the reference's bins.
pub fn peak_losses(
    model: &LearnedWelchPeaks,
    gates: &Gates,
    batch: &PeaksBatch,
    section: &LossSection,
) -> Result<Tensor<2>, ArgumentError> {
    let k = model.config().k;
    let per_peak = 1.0 / (batch.signal.dims()[0] * k) as f64;
    let parameters = PeakLossOptions::new(k)
        .with_temperature(section.temperature)
        .with_offset(RELATIVE_POWER_OFFSET)
        .with_weights([section.ranking * section.temperature * per_peak, section.log_power * per_peak]);
    peak_loss(model.try_psd(batch.signal.clone(), gates)?, batch.targets.clone(), &parameters)
}

/// The loss with these [`peak_losses`] and with `work`, where `price` is that of its unit.
pub fn total_loss(losses: Tensor<2>, work: Work, price: f64) -> StepLoss {
    let price = work.per_frame * (price / work.unit);
    let total = losses.clone().sum() + price.clone();
    let [ranking, log_power] = [0, 1].map(|loss| losses.clone().detach().narrow(1, loss, 1).sum());
    StepLoss { total, terms: vec![("ranking", ranking), ("log_power", log_power), ("price", price)] }
}

pub(super) fn learns(config: &PeaksConfig, group: Parameters) -> bool {
    config.training.learn.contains(&group)
}

/// Price of work: it rises linearly from zero over the first steps.
pub(super) fn price(config: &PeaksConfig, step: usize) -> f64 {
    let ramp = config.loss.price_ramp * config.training.steps as f64;
    config.loss.price * if ramp > 0.0 { (step as f64 / ramp).min(1.0) } else { 1.0 }
}

/// The gates of a run that learns none, and the work that they leave: the same in every step.
pub(super) type FixedGates = OnceLock<(Gates, Work)>;

/// Random numbers from 0 to 1 of the shape of `like`, on its device.
fn uniform_like<const D: usize>(generator: &mut ChaCha8Rng, like: Tensor<D>) -> Tensor<D> {
    let shape = like.dims();
    let draws: Vec<f32> = (0..shape.iter().product()).map(|_| generator.random()).collect();
    Tensor::from_data(TensorData::new(draws, shape), &like.device().inner())
}

/// The gates of a batch, sampled where they are learned and hard where they are not, and the work that they leave.
pub(super) fn gates_and_work(
    config: &PeaksConfig,
    fixed: &FixedGates,
    model: &LearnedWelchPeaks,
    number: usize,
) -> Result<(Gates, Work), ArgumentError> {
    let with_work = |gates: Gates| {
        let work = expected_work(config, model, &gates);
        (gates, work)
    };
    if ![Parameters::Gates, Parameters::Segments].into_iter().any(|group| learns(config, group)) {
        return Ok(fixed.get_or_init(|| with_work(model.hard_gates())).clone());
    }
    // The draws follow from the seed and the number of the batch alone.
    let mut generator = ChaCha8Rng::seed_from_u64(config.seed);
    generator.set_stream(number as u64);
    let logits = model.transform.as_ref().map(|transform| transform.gate_logits.val());
    let butterflies = logits.map(|logits| uniform_like(&mut generator, logits));
    let sampled = model.try_sample_gates_from(butterflies, uniform_like(&mut generator, model.segment_logits.val()))?;
    Ok(with_work(match (learns(config, Parameters::Gates), learns(config, Parameters::Segments)) {
        (true, true) => sampled,
        (true, false) => model.hard_gates().with_butterflies(sampled.butterflies().cloned()),
        (false, _) if model.transform.is_none() => sampled,
        (false, _) => sampled.with_butterflies(model.hard_gates().butterflies().cloned()),
    }))
}

/// Expected work. Gates that are not learned count as they are.
fn expected_work(config: &PeaksConfig, model: &LearnedWelchPeaks, gates: &Gates) -> Work {
    let butterflies = match learns(config, Parameters::Gates) {
        true => model.expected_open_gates(),
        false => open_butterflies(model, gates).detach(),
    };
    let segments = match learns(config, Parameters::Segments) {
        true => model.expected_open_segments(),
        false => gates.segments().clone().sum().detach(),
    };
    work(config, model, butterflies, segments)
}

/// Work that hard gates leave.
pub(super) fn hard_work(config: &PeaksConfig, model: &LearnedWelchPeaks, gates: &Gates) -> Work {
    work(config, model, open_butterflies(model, gates), gates.segments().clone().sum())
}

/// Open butterflies per segment, `[1]`: all of an exact transform.
fn open_butterflies(model: &LearnedWelchPeaks, gates: &Gates) -> Tensor<1> {
    match gates.butterflies() {
        Some(butterflies) => butterflies.clone().sum(),
        None => model.expected_open_gates(),
    }
}

/// The time of open segments `[1]` where that is priced, or else their open butterflies: `butterflies` `[1]` in each.
fn work(config: &PeaksConfig, model: &LearnedWelchPeaks, butterflies: Tensor<1>, segments: Tensor<1>) -> Work {
    let times = &config.loss.segment_times;
    if times.is_empty() {
        let unit = model.options().with_segments(PRICED_SEGMENTS).butterflies();
        return Work { per_frame: butterflies * segments, unit: unit as f64 };
    }
    Work { per_frame: time_of(segments, times), unit: priced_time(times) }
}

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

/// The profile of a device; `None` if it was not calibrated. An error if its file can't be read, or is of another
/// machine.
pub(super) fn profile(device: DeviceId) -> Result<Option<DeviceProfile>, ProfileError> {
    load(&default_path(device)?, &fingerprint(device))
}

/// Nanoseconds per frame of an exact estimate that finds `k` peaks in large batches that are read back, if the device
/// was calibrated; `None` of one that finds peaks in a part of the bins.
pub(super) fn exact(options: WelchOptions, k: usize, device: &DeviceProfile) -> Option<f64> {
    let row = device.crossovers.at(options.n_fft, options.averaged(), k)?;
    options.band.is_none().then_some(row.fused)
}

/// Nanoseconds per frame, among all bins, of a learned model that runs as an exact estimate, with so many of its segments open; with a gain that takes
/// products of neighbouring bins if `products`.
pub(super) fn learned(
    options: WelchOptions,
    segments: usize,
    products: bool,
    k: usize,
    device: &DeviceProfile,
) -> Option<f64> {
    let (open, all) = (options.with_segments(segments).butterflies(), options.butterflies());
    let size = LearnedSize { open, all, segments, exact: true, products };
    device.crossovers.learned(&size, options.n_fft, k, device.peaks.gpu)
}

/// The same of a trained model, as a function of the device; `None` of one that does not run as an exact estimate, or
/// finds peaks in a part of the bins.
pub(super) fn of_model(model: &LearnedWelchPeaks) -> impl Fn(&DeviceProfile) -> Option<f64> + use<> {
    let (options, k) = (model.options(), model.config().k);
    let size = options.band.is_none().then(|| model.size());
    move |device| device.crossovers.learned(&size?, options.n_fft, k, device.peaks.gpu)
}

/// Gives a loss that is priced by the time on a device the times of its calibrated profile, unless it has times. An
/// error if the device was not calibrated, or its profile can't be read.
pub(super) fn complete(loss: &mut LossSection, model: &ModelSection) -> Result<(), ConfigError> {
    if let (Some(device), true) = (&loss.price_device, loss.segment_times.is_empty()) {
        let failed =
            |expected: String| ConfigError::Value { key: "loss.price_device".into(), got: device.clone(), expected };
        let name: DeviceName = device.parse().map_err(|error| failed(format!("the name of a device: {error}")))?;
        let profile = profile(name.id()).map_err(|error| failed(format!("a calibrated device: {error}")))?;
        let config = model.learned();
        let (options, products) = (config.options(), config.product_weight.is_some());
        let time = |segments| learned(options, segments, products, model.k, profile.as_ref()?);
        let times: Option<_> = (1..=model.segments).map(time).collect();
        let hint = || failed("a calibrated device: run `firefly-bench calibrate` with `--device` first".into());
        loss.segment_times = times.ok_or_else(hint)?;
    }
    Ok(())
}

/// The time of an expected number of open segments `[1]`, between the times of whole numbers; differentiable.
fn time_of(segments: Tensor<1>, times: &[f64]) -> Tensor<1> {
    let device = segments.device();
    let steps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let count = steps.len();
    if count == 0 {
        return segments * times[0];
    }
    let whole: Vec<f64> = (1..=count).map(|number| number as f64).collect();
    let [steps, whole] = [steps, whole].map(|values| Tensor::<1>::from_data(TensorData::new(values, [count]), &device));
    ((segments.expand([count]) - whole).clamp(0.0, 1.0) * steps).sum() + times[0]
}

/// The time of [`PRICED_SEGMENTS`] open segments, or of all where there are fewer.
fn priced_time(times: &[f64]) -> f64 {
    times[PRICED_SEGMENTS.min(times.len()) - 1]
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;
    use firefly_framework::picker::{Crossover, Crossovers, Strategy};
    use firefly_framework::profile::Preset;
    use firefly_models::{Band, LearnedWelchPeaksConfig};

    use super::*;

    /// A device on which a frame takes 1 ns per segment in exact estimates, and 2 ns in learned ones.
    fn device() -> DeviceProfile {
        let row = |segments: usize| {
            let fused = segments as f64;
            let (few, frames, saved) = (Strategy::Fused, 1.0, 0.0);
            Crossover { n_fft: 64, segments, k: 4, few, frames, saved, fused, learned: 2.0 * fused }
        };
        let crossovers = Crossovers::new(vec![row(1), row(8)]).unwrap();
        DeviceProfile { crossovers, ..Preset::Cpu.profile() }
    }

    #[test]
    fn times_are_those_of_open_segments() {
        let (options, device) = (WelchOptions::new(64, 8), device());
        let close = |time: Option<f64>, expected: f64| (time.unwrap() / expected - 1.0).abs() < 1e-9;
        assert!(close(exact(options, 4, &device), 8.0) && close(exact(options.with_segments(1), 4, &device), 1.0));
        assert!(close(learned(options, 1, false, 4, &device), 2.0));
        // Products of a segment alone take a transform as long as that of two.
        assert!(close(learned(options, 1, true, 4, &device), 4.0));
        let config = LearnedWelchPeaksConfig::new().with_n_fft(64).with_k(4);
        let model = config.init(&Device::flex());
        assert!(close(of_model(&model)(&device), 2.0 * model.count_open_segments() as f64));
    }

    #[test]
    fn what_was_not_measured_is_not_predicted() {
        let (device, host) = (device(), Device::flex());
        let config = LearnedWelchPeaksConfig::new().with_n_fft(64).with_k(4);
        let predicted = |config: &LearnedWelchPeaksConfig| of_model(&config.init(&host))(&device);
        assert!(predicted(&config).is_some());
        assert_eq!(predicted(&config.clone().with_learned_transform(true)), None);
        assert_eq!(predicted(&config.clone().with_band(Some(Band::new(1..9)))), None);
        let plain = Preset::Cpu.profile();
        assert_eq!(exact(WelchOptions::new(64, 8), 4, &plain), None);
    }

    #[test]
    fn times_between_whole_numbers_of_segments_are_interpolated_with_their_slope() {
        let device = Device::flex().autodiff();
        for (segments, expected, slope) in
            [(1.0, 50.0, 0.0), (1.5, 75.0, 50.0), (2.25, 106.25, 25.0), (3.75, 181.25, 75.0), (4.0, 200.0, 0.0)]
        {
            let number = Tensor::<1>::from_floats([segments], &device).require_grad();
            let time = time_of(number.clone(), &[50.0, 100.0, 125.0, 200.0]);
            let gradient = number.grad(&time.clone().backward());
            assert!((time.into_scalar::<f32>() - expected).abs() < 1e-4, "{segments} segments");
            // At a whole number the slope may be that of either side.
            if slope > 0.0 {
                assert!((gradient.unwrap().into_scalar::<f32>() - slope).abs() < 1e-4, "{segments} segments");
            }
        }
        let one = time_of(Tensor::from_floats([1.0], &device), &[70.0]);
        assert_eq!((one.into_scalar::<f32>(), priced_time(&[70.0]), priced_time(&[50.0, 100.0])), (70.0, 70.0, 100.0));
    }

    #[test]
    fn devices_that_were_not_calibrated_are_named() {
        let mut loss = LossSection { price_device: Some("cpux".into()), ..LossSection::default() };
        let error = complete(&mut loss, &ModelSection::default()).unwrap_err().to_string();
        assert!(error.starts_with("loss.price_device is cpux, but must be the name of a device"), "{error}");
        let mut loss = LossSection { segment_times: vec![1.0; 8], ..loss };
        complete(&mut loss, &ModelSection::default()).unwrap();
        assert_eq!(loss.segment_times, [1.0; 8]);
    }
}
