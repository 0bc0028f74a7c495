//! Checks of the values that are the task's own.

use firefly_models::{ArgumentError, Tier};

use super::{Parameters, PeaksConfig};
use crate::config::{ConfigError, MAX_FRAMES, ensure};

/// Upper limit of a model's candidate segments.
const MAX_SEGMENTS: usize = 65_536;
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
    ensure(model.segments <= MAX_SEGMENTS, "model.segments", model.segments, "at most 65,536")?;
    model.learned().validate().map_err(from_model)?;
    model.exact(Tier::Reference).validate().map_err(from_model)?;

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
    for (key, value) in [
        ("loss.ranking", loss.ranking),
        ("loss.log_power", loss.log_power),
        ("loss.missed", loss.missed),
        ("loss.price", loss.price),
    ] {
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
    let only = "left out unless model.closed_blocks is given: no block has a gate";
    ensure(!learns(Parameters::Blocks) || model.closed_blocks.is_some(), "training.learn", "blocks", only)?;
    let only = "left out unless model.halvings is given: no gate halves the transform";
    ensure(!learns(Parameters::Halving) || model.halvings.is_some(), "training.learn", "halving", only)?;
    let learns_butterflies = learns(Parameters::Gates) || learns(Parameters::Twiddles);
    ensure(
        model.halvings.is_none() || !learns_butterflies,
        "model.halvings",
        model.halvings.unwrap_or_default(),
        "left out where training.learn has gates or twiddles: a halved transform has none of them",
    )?;
    let timed = [Parameters::Segments, Parameters::Blocks, Parameters::Halving].into_iter().any(learns);
    ensure(
        timed || learns(Parameters::Gates) || loss.price == 0.0,
        "loss.price",
        loss.price,
        "0 unless training.learn has gates, segments, blocks or halving: nothing else can close",
    )?;
    validate_times(config, timed && !learns_butterflies)
}

/// Checks the times that a price is on; `timed` is whether what is learned determines the time.
fn validate_times(config: &PeaksConfig, timed: bool) -> Result<(), ConfigError> {
    let (model, training, loss) = (&config.model, &config.training, &config.loss);
    let learns = |group| training.learn.contains(&group);
    let alone = "left out unless loss.segment_times is given: loss.price_device has its own";
    let given = !loss.segment_times.is_empty();
    ensure(given || loss.halved_times.is_empty(), "loss.halved_times", format_args!("{:?}", loss.halved_times), alone)?;
    ensure(given || loss.block_time.is_none(), "loss.block_time", loss.block_time.unwrap_or_default(), alone)?;
    if loss.price_device.is_none() && loss.segment_times.is_empty() {
        return ensure(
            loss.price == 0.0 || !(learns(Parameters::Blocks) || learns(Parameters::Halving)),
            "loss.price",
            loss.price,
            "0 unless loss.price_device or loss.segment_times is given: blocks and halving change the time, not the butterflies",
        );
    }
    let key = if loss.segment_times.is_empty() { "loss.price_device" } else { "loss.segment_times" };
    ensure(
        timed,
        key,
        "given",
        "left out unless training.learn has segments, blocks or halving, and neither gates nor twiddles: only those \
         determine the time",
    )?;
    let is_time = |time: &f64| (LOSS_LIMITS[0]..=MAX_NANOSECONDS).contains(time);
    let expected = format!("a time from 1e-6 to 1e12 ns for each number of open segments, {}", model.segments);
    for (key, times) in [("loss.segment_times", &loss.segment_times), ("loss.halved_times", &loss.halved_times)] {
        let are_times = times.is_empty() || (times.len() == model.segments && times.iter().all(is_time));
        if !are_times {
            return Err(ConfigError::Value { key: key.into(), got: format!("{times:?}"), expected });
        }
    }
    if loss.segment_times.is_empty() {
        return Ok(());
    }
    // Closed blocks save a part of the time.
    let (blocks, times) =
        (model.learned().options().blocks() as f64, loss.segment_times.iter().chain(&loss.halved_times));
    let least = times.copied().fold(f64::INFINITY, f64::min) / blocks;
    ensure(
        loss.block_time.is_some() == model.closed_blocks.is_some()
            && loss.block_time.is_none_or(|time| (0.0..=least).contains(&time)),
        "loss.block_time",
        format_args!("{:?}", loss.block_time),
        "given where model.closed_blocks and loss.segment_times are, from 0 to the least time over the number of blocks",
    )?;
    ensure(
        loss.halved_times.is_empty() == model.halvings.is_none(),
        "loss.halved_times",
        format_args!("{:?}", loss.halved_times),
        "given where model.halvings and loss.segment_times are",
    )
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
        assert!(key(|c| c.model.n_fft = 100).starts_with("model.n_fft is 100"));
        assert!(key(|c| c.model.k = 0).starts_with("model.k is 0"));
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
            key(|c| c.loss.price_device = Some("cpu".into())).starts_with("loss.price_device is given, but must be")
        );
        let times = |times: &[f64]| {
            let mut config = PeaksConfig::default();
            config.training.learn = vec![Parameters::Taper, Parameters::Segments, Parameters::Gain];
            config.loss.segment_times = times.to_vec();
            config.validate()
        };
        assert!(times(&[100.0; 8]).is_ok());
        for wrong in [&[100.0; 7][..], &[0.0; 8], &[f64::NAN; 8], &[1e13; 8]] {
            assert!(times(wrong).unwrap_err().to_string().contains("for each number of open segments, 8"), "{wrong:?}");
        }
        // Blocks and halving.
        let skipping = |change: fn(&mut PeaksConfig)| {
            let mut config = PeaksConfig::default();
            (config.model.closed_blocks, config.model.halvings) = (Some(vec![]), Some(1));
            config.training.learn = vec![Parameters::Blocks, Parameters::Halving];
            (config.loss.segment_times, config.loss.halved_times) = (vec![100.0; 8], vec![60.0; 8]);
            config.loss.block_time = Some(2.0);
            change(&mut config);
            config.validate().map_or_else(|error| error.to_string(), |()| "valid".into())
        };
        assert_eq!(skipping(|_| ()), "valid");
        assert!(skipping(|c| c.model.closed_blocks = None).starts_with("training.learn is blocks"));
        assert!(skipping(|c| c.model.halvings = None).starts_with("training.learn is halving"));
        assert!(skipping(|c| c.training.learn.push(Parameters::Gates)).starts_with("model.halvings is 1"));
        assert!(skipping(|c| c.loss.block_time = None).starts_with("loss.block_time is None"));
        assert!(skipping(|c| c.loss.block_time = Some(f64::NAN)).starts_with("loss.block_time is Some(NaN)"));
        assert!(skipping(|c| c.loss.block_time = Some(8.0)).contains("the least time over the number of blocks"));
        assert!(skipping(|c| c.loss.halved_times.clear()).starts_with("loss.halved_times is []"));
        assert!(skipping(|c| c.loss.segment_times.clear()).contains("left out unless loss.segment_times"));
        assert!(skipping(|c| c.loss.missed = -1.0).starts_with("loss.missed is -1"));
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
