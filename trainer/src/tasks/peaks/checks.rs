//! Checks of the values that are the task's own.

use firefly_models::ArgumentError;

use super::{Parameters, PeaksConfig, REFERENCE_SEGMENTS};
use crate::config::{ConfigError, MAX_FRAMES, ensure, in_section};

/// Upper limit of a model's candidate segments.
const MAX_SEGMENTS: usize = 128;
/// Upper limit of the distance between segments, in samples.
const MAX_HOP: usize = 1 << 24;
/// Limits of the numbers in the loss, which is computed in f32.
const LOSS_LIMITS: [f64; 2] = [1e-6, 1e6];
/// Longest time per frame that can be priced.
const MAX_NANOSECONDS: f64 = 1e12;

/// Checks every value of the task's sections.
pub(super) fn validate(config: &PeaksConfig) -> Result<(), ConfigError> {
    let from_model = |error: ArgumentError| ConfigError::Value {
        key: format!("model.{}", error.argument),
        got: error.got,
        expected: error.expected,
    };
    let (model, training, loss) = (&config.model, &config.training, &config.loss);
    // Before the model's own checks, which count the samples of a frame.
    ensure(model.hop <= MAX_HOP, "model.hop", model.hop, "at most 16,777,216")?;
    ensure(model.segments <= MAX_SEGMENTS, "model.segments", model.segments, "at most 128")?;
    model.learned().validate().map_err(from_model)?;
    model.exact(REFERENCE_SEGMENTS).validate().map_err(from_model)?;

    // Whether this run uses them or not.
    config.data.sampling.validate().map_err(|error| in_section("data.sampling", error))?;
    config.data.synthetic.validate().map_err(|error| in_section("data.synthetic", error))?;
    let synthetic_frames = config.data.synthetic_frames;
    ensure(synthetic_frames <= MAX_FRAMES, "data.synthetic_frames", synthetic_frames, "at most 1,048,576")?;
    ensure(!training.learn.is_empty(), "training.learn", "empty", "at least one group of parameters")?;
    for (key, value) in [("training.taper_rate", training.taper_rate), ("training.twiddle_rate", training.twiddle_rate)]
    {
        ensure(value > 0.0 && value <= 1.0, key, value, "above 0 and at most 1")?;
    }
    let [least, greatest] = LOSS_LIMITS;
    let temperature = loss.temperature;
    ensure((least..=greatest).contains(&temperature), "loss.temperature", temperature, "from 1e-6 to 1e6")?;
    for (key, value) in [("loss.ranking", loss.ranking), ("loss.log_power", loss.log_power), ("loss.price", loss.price)]
    {
        ensure((0.0..=greatest).contains(&value), key, value, "from 0 to 1e6")?;
    }
    ensure(
        loss.ranking > 0.0 || loss.log_power > 0.0,
        "loss.ranking",
        loss.ranking,
        "above 0 where loss.log_power is 0: nothing else is fitted to the reference",
    )?;
    ensure((0.0..=1.0).contains(&loss.price_ramp), "loss.price_ramp", loss.price_ramp, "from 0 to 1")?;
    let learns = |group| training.learn.contains(&group);
    let (learns_segments, learns_butterflies) =
        (learns(Parameters::Segments), learns(Parameters::Gates) || learns(Parameters::Twiddles));
    let (learned, groups) = (model.learned_transform, format_args!("{:?}", training.learn));
    ensure(
        learned || !learns_butterflies,
        "training.learn",
        groups,
        "without gates and twiddles unless model.learned_transform is true: the exact transform has none",
    )?;
    ensure(
        learns_segments || learns(Parameters::Gates) || loss.price == 0.0,
        "loss.price",
        loss.price,
        "0 unless training.learn has gates or segments: nothing else can close",
    )?;
    if loss.price_device.is_none() && loss.segment_times.is_empty() {
        return Ok(());
    }
    let key = if loss.segment_times.is_empty() { "loss.price_device" } else { "loss.segment_times" };
    ensure(
        learns_segments && !learns_butterflies,
        key,
        "given",
        "left out unless training.learn has segments, and neither gates nor twiddles: only segments determine the time",
    )?;
    let is_time = |time: &f64| (LOSS_LIMITS[0]..=MAX_NANOSECONDS).contains(time);
    let times = &loss.segment_times;
    if times.is_empty() || (times.len() == model.segments && times.iter().all(is_time)) {
        return Ok(());
    }
    let expected = format!("a time from 1e-6 to 1e12 ns for each number of open segments, {}", model.segments);
    Err(ConfigError::Value { key: "loss.segment_times".into(), got: format!("{times:?}"), expected })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_out_of_range_are_named_with_their_section() {
        let key = |change: fn(&mut PeaksConfig)| {
            let mut config = PeaksConfig::default();
            change(&mut config);
            config.validate().unwrap_err().to_string()
        };
        assert!(PeaksConfig::default().validate().is_ok());
        assert!(key(|c| c.model.n_fft = 101).starts_with("model.n_fft is 101"));
        assert!(key(|c| c.model.k = 0).starts_with("model.k is 0"));
        assert!(key(|c| c.model.segments = 0).starts_with("model.segments is 0"));
        assert!(
            key(|c| (c.model.n_fft, c.model.learned_transform) = (100, true))
                .starts_with("model.n_fft is 100, but must be a power of two from 8 to 65536 with learned_transform")
        );
        assert!(key(|c| c.training.batch = 0).starts_with("training.batch is 0"));
        assert!(key(|c| c.training.learn.clear()).starts_with("training.learn is empty"));
        assert!(key(|c| c.training.batch = usize::MAX).starts_with("training.batch is"));
        assert!(
            key(|c| {
                c.training.learn = vec![Parameters::Gain];
                c.loss.price = 0.1;
            })
            .contains("nothing else can close")
        );
        assert!(
            key(|c| {
                (c.training.learn, c.loss.price) = (vec![Parameters::Gain], 0.0);
                c.loss.price_device = Some("cpu".into());
            })
            .starts_with("loss.price_device is given, but must be")
        );
        assert!(key(|c| c.training.learn.push(Parameters::Twiddles)).starts_with("training.learn is [Taper, "));
        let times = |times: &[f64]| {
            let mut config = PeaksConfig::default();
            config.training.learn = vec![Parameters::Taper, Parameters::Segments, Parameters::Gain];
            config.loss.segment_times = times.to_vec();
            config.model.segments = 8;
            config.validate()
        };
        assert!(times(&[100.0; 8]).is_ok());
        for wrong in [&[100.0; 7][..], &[0.0; 8], &[f64::NAN; 8], &[1e13; 8]] {
            assert!(times(wrong).unwrap_err().to_string().contains("for each number of open segments, 8"), "{wrong:?}");
        }
        assert!(key(|c| c.data.sampling.gain_db = -1.0).starts_with("data.sampling.gain_db is -1, but must be"));
        assert!(key(|c| c.data.synthetic.families.clear()).starts_with("data.synthetic.families is empty"));
        assert!(key(|c| c.loss.price = f64::NAN).starts_with("loss.price is NaN"));
        assert!(key(|c| c.model.hop = 1 << 50).starts_with("model.hop is"));
        assert!(key(|c| c.loss.price = 1e39).starts_with("loss.price is"));
        assert!(key(|c| c.loss.ranking = -1.0).starts_with("loss.ranking is -1, but must be from 0 to 1e6"));
        assert!(
            key(|c| (c.loss.ranking, c.loss.log_power) = (0.0, 0.0))
                .starts_with("loss.ranking is 0, but must be above")
        );
        assert!(key(|c| c.loss.temperature = 1e-300).starts_with("loss.temperature is"));
        assert!(key(|c| c.training.steps = usize::MAX).starts_with("training.steps is"));
        assert!(key(|c| c.schedule.keep_checkpoints = 1).starts_with("schedule.keep_checkpoints is 1"));
        assert!(key(|c| c.name = "a\nb".into()).starts_with("name is"));
        assert!(key(|c| c.name = "../up".into()).starts_with("name is ../up"));
    }
}
