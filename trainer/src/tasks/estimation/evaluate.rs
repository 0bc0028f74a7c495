//! Errors, work and time of estimates beside the exact one.

use burn::tensor::Device;
use firefly_models::ArgumentError;
use firefly_models::zoo::ZooModel;

use super::EstimationConfig;
use super::comparison::Comparison;
use super::config::untrained;
use super::estimator::{Compared, Output, estimator};
use crate::data::Frames;
use crate::metrics::Metric;
use crate::task::TaskError;
use crate::tasks::scores::ScoreRow;
use crate::tasks::timing::{TimedEstimate, microseconds_per_frame};

/// Exact estimates, the last of which is the reference, and the learned ones with their names, on one data set.
///
/// # Errors
/// If there are no frames with power, or they don't fit the models.
pub(super) fn compare(
    config: &EstimationConfig,
    data_set: &str,
    frames: &Frames,
    models: &[(String, ZooModel)],
    device: &Device,
) -> Result<Vec<ScoreRow>, TaskError> {
    if frames.is_empty() {
        return Err(TaskError::NoFrames { data_set: data_set.into() });
    }
    let exact = untrained(config, device)?;
    let mut compared = estimator(&exact)?.exact(device);
    let exact_count = compared.len();
    for (name, model) in models {
        let model = estimator(model)?;
        compared.push(Compared {
            name: name.clone(),
            is_learned: true,
            open_share: model.open_share(),
            estimate: Box::new(|frames| model.estimate(frames)),
        });
    }
    let times = microseconds_per_frame(frames, device, &compared.iter().map(timed).collect::<Vec<_>>())?;
    let reference = &compared[exact_count - 1].estimate;
    let row = |(candidate, time): (&Compared<'_>, f64)| {
        let comparison = Comparison::of(frames, device, &candidate.estimate, reference, config.loss.floor)?;
        if !comparison.has_power {
            return Err(TaskError::NoPower { data_set: data_set.into() });
        }
        let mut scores = comparison.metrics();
        scores.extend(candidate.open_share.map(|share| Metric::real("open_share", share)));
        scores.push(Metric::real("median_microseconds_per_frame", time));
        let Compared { name, is_learned, .. } = candidate;
        Ok(ScoreRow { name: name.clone(), is_learned: *is_learned, data_set: data_set.into(), scores })
    };
    compared.iter().zip(times).map(row).collect()
}

/// An estimate, read back.
fn timed<'a>(compared: &'a Compared<'_>) -> TimedEstimate<'a, ArgumentError> {
    Box::new(|signal| {
        let data = match (compared.estimate)(signal)?.output {
            Output::Power(values) | Output::LogPower(values) => vec![values.into_data()],
            Output::Peaks(peaks) => vec![peaks.bins.into_data(), peaks.power.into_data()],
        };
        std::hint::black_box(data);
        Ok(())
    })
}
