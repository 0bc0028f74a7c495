//! Task `forecasting`: the next rows of a series from those before, by the protocol of the long-term forecasting
//! literature (Zhou et al. 2021): rows split in time, columns standardised by training rows, every window with stride
//! 1, no test window dropped.

mod config;
mod series;

use std::ops::Range;
use std::sync::Arc;

use firefly_recordings::channel_titles;

pub use config::{DataSection, ForecastError, LossSection};
pub use series::{Series, SeriesTable, Standardisation, WindowSplit, Windows};

use super::ridge as regression;
use crate::data::EpochOrder;
use crate::tasks::prelude::*;
use crate::tasks::ridge::{MAX_VALUES, Moments};

/// Windows per batch of an evaluation.
const BATCH: usize = 256;
/// Rows of the period that a naive forecast repeats, a day of hours; the whole look-back where that is shorter.
const PERIOD: usize = 24;

/// The task.
#[derive(Debug, Clone, PartialEq)]
pub struct Forecasting;

/// Configuration of a run of the task.
pub type ForecastingConfig = RunConfig<Forecasting>;

/// File of the standardisation in a model's folder.
const CHANNELS: &str = "channels.json";

/// Model of the zoo, and the standardisation of the rows that it was trained on.
#[derive(Module, Debug)]
pub struct Forecaster {
    /// The model of the zoo.
    pub model: ZooModel,
    /// Titles, means and deviations of the channels.
    #[module(skip)]
    pub standardisation: Standardisation,
}

/// The series of a run, and the order of its training windows.
pub struct ForecastingData {
    series: Series,
    order: Arc<EpochOrder>,
}

impl TaskData for ForecastingData {
    fn fingerprint(&self) -> u64 {
        self.series.fingerprint
    }

    fn on_device(&self, device: &Device) -> Self {
        Self { series: self.series.on_device(device), order: self.order.clone() }
    }

    fn order(&self) -> Option<&EpochOrder> {
        Some(&self.order)
    }
}

/// Mean squared and mean absolute error of forecasts.
struct MeanErrors {
    mse: f64,
    mae: f64,
}

/// Forecast and, if the model has one, reconstruction of look-backs.
fn outputs(Forecaster { model, .. }: &Forecaster, past: Tensor<3>) -> Result<(Tensor<3>, Option<Tensor<3>>)> {
    const NAME: &str = "forecasting";
    let mut outputs = model.try_forward(vec![past.into()])?.into_iter();
    let forecast = outputs.next().ok_or_else(|| zoo_model::without_output(model))?;
    let reconstruction = outputs.next().map(|output| output.try_float::<3>(NAME, "reconstruction")).transpose()?;
    Ok((forecast.try_float::<3>(NAME, "forecast")?, reconstruction))
}

/// Mean error of two tensors, `[1]`.
fn mean_error(kind: ForecastError, found: Tensor<3>, wanted: Tensor<3>) -> Tensor<1> {
    let error = found - wanted;
    match kind {
        ForecastError::Mse => error.square().mean(),
        ForecastError::Mae => error.abs().mean(),
    }
}

impl ForecastingData {
    /// The series of a run; see [`Series::open`].
    fn open(config: &ForecastingConfig, trained: Option<&Standardisation>, device: &Device) -> Result<Self> {
        let series = Series::open(&config.data, config.seed, trained, device)?;
        let order = EpochOrder::new(config.seed, series.parts.train.len(), config.training.batch);
        Ok(Self { series, order: order.into() })
    }

    /// Errors of forecasts of the windows that begin at these rows.
    fn errors(&self, starts: &[usize], forecast: impl Fn(Tensor<3>) -> Result<Tensor<3>>) -> Result<MeanErrors> {
        let sum = |tensor: Tensor<3>| -> f64 { tensor.into_data().iter::<f32>().map(f64::from).sum() };
        let (mut squared, mut absolute, mut values) = (0.0, 0.0, 0.0);
        for starts in starts.chunks(BATCH) {
            let Windows { past, future } = self.series.windows(starts);
            let error = forecast(past)? - future;
            values += error.dims().iter().product::<usize>() as f64;
            squared += sum(error.clone().square());
            absolute += sum(error.abs());
        }
        Ok(MeanErrors { mse: squared / values, mae: absolute / values })
    }
}

/// The settings of the model that follow from the data.
fn derived(config: &ForecastingConfig, channels: usize) -> Settings {
    let DataSection { look_back, horizon, .. } = config.data;
    Settings::new().with("look_back", look_back).with("horizon", horizon).with("channels", channels)
}

impl Task for Forecasting {
    const TERMS: &'static [(&'static str, &'static str)] =
        &[("forecast", "forecast"), ("reconstruction", "reconstruction")];
    const CURVES: &'static [MetricCurve] =
        &[MetricCurve::new("validation_mse", "Validation error", "mean squared error of standardised values")];

    type Model = Forecaster;
    type Data = ForecastingData;
    type Row = ScoreRow;

    fn open(config: &ForecastingConfig, device: &Device, _monitor: &Monitor<'_>) -> Result<ForecastingData> {
        ForecastingData::open(config, None, device)
    }

    fn init(run: &OpenRun<'_, Self>, device: &Device) -> Result<Forecaster> {
        let OpenRun { config, data } = *run;
        let standardisation = data.series.standardisation.clone();
        let model = config.model.create(derived(config, standardisation.channels()), config.seed, device)?;
        Ok(Forecaster { model, standardisation })
    }

    fn loss(run: &OpenRun<'_, Self>, model: &Forecaster, share: &BatchShare, _: usize) -> Result<StepLoss> {
        let OpenRun { config, data } = *run;
        // The order is of windows to train on, which begin at row 0.
        let Windows { past, future } = data.series.windows(&data.order.batch(share.number)[share.rows.clone()]);
        let (forecast, reconstruction) = outputs(model, past.clone())?;
        let LossSection { kind, reconstruction: weight } = config.loss;
        let forecast = mean_error(kind, forecast, future);
        match reconstruction.filter(|_| weight > 0.0) {
            None => Ok(StepLoss::single(forecast)),
            Some(reconstruction) => {
                let reconstruction = mean_error(kind, reconstruction, past) * weight;
                let total = forecast.clone() + reconstruction.clone();
                Ok(StepLoss { total, terms: vec![("forecast", forecast), ("reconstruction", reconstruction)] })
            }
        }
    }

    fn measure(run: &OpenRun<'_, Self>, model: &Forecaster) -> Result<Validation> {
        let OpenRun { config, data } = *run;
        let windows = &data.series.parts.validation;
        let count = config.schedule.validation_frames.min(windows.len());
        let starts: Vec<usize> = (0..count).map(|index| windows.start + index * windows.len() / count).collect();
        let MeanErrors { mse, mae } = data.errors(&starts, |past| Ok(outputs(model, past)?.0))?;
        let loss = match config.loss.kind {
            ForecastError::Mse => mse,
            ForecastError::Mae => mae,
        };
        Ok(Validation { loss, metrics: vec![Metric::real("mse", mse), Metric::real("mae", mae)] })
    }

    fn save(model: &Forecaster, _config: &ForecastingConfig, folder: &Path) -> Result<(), ModelError> {
        zoo_model::save(&model.model, folder)?;
        zoo_model::write_json(folder.join(CHANNELS), &model.standardisation)
    }

    fn load(folder: &Path, config: &ForecastingConfig, device: &Device) -> Result<LoadedModel<Self>, ModelError> {
        let model = zoo_model::read(folder, device)?;
        let standardisation: Standardisation = zoo_model::read_json(folder.join(CHANNELS))?;
        let expected = config.model.create(derived(config, standardisation.channels()), config.seed, device)?;
        let differences = zoo_model::differences(&model, &expected);
        Ok(LoadedModel { model: Forecaster { model, standardisation }, differences })
    }

    fn evaluate(run: &OpenRun<'_, Self>, models: &[(String, Forecaster)]) -> Result<Vec<ScoreRow>> {
        let OpenRun { config, data } = *run;
        let starts: Vec<usize> = data.series.parts.test.clone().collect();
        let horizon = config.data.horizon;
        let row = |name: &str, is_learned: bool, parameters: usize, errors: MeanErrors| ScoreRow {
            name: name.into(),
            is_learned,
            data_set: data_set(config),
            scores: vec![
                Metric::real("mse", errors.mse),
                Metric::real("mae", errors.mae),
                Metric::whole("windows", starts.len()),
                Metric::whole("parameters", parameters),
            ],
        };
        let look_back = config.data.look_back;
        let repeated = |period: usize| {
            move |past: Tensor<3>| {
                let last = past.narrow(1, look_back - period, period);
                Ok(last.repeat_dim(1, horizon.div_ceil(period)).narrow(1, 0, horizon))
            }
        };
        let period = PERIOD.min(look_back);
        let mut rows = vec![
            row("last row", false, 0, data.errors(&starts, repeated(1))?),
            row(&format!("last {period} rows"), false, 0, data.errors(&starts, repeated(period))?),
        ];
        match Ridge::fit(&data.series, look_back, horizon, &data.series.device) {
            Some(ridge) => {
                let errors = data.errors(&starts, |past| Ok(ridge.forecast(past)))?;
                rows.push(row(regression::NAME, false, ridge.parameters(), errors));
            }
            None => regression::warn_too_large(),
        }
        for (name, model) in models {
            let errors = data.errors(&starts, |past| Ok(outputs(model, past)?.0))?;
            rows.push(row(name, true, model.num_params(), errors));
        }
        Ok(rows)
    }

    /// Another table, standardised as the training rows were; its rows after as many as those to train and validate on
    /// are tested.
    fn evaluate_on(
        config: &ForecastingConfig,
        name: &str,
        models: &[(String, Forecaster)],
        device: &Device,
    ) -> Result<Vec<ScoreRow>> {
        if !Path::new(name).is_file() {
            return Err(TaskError::UnknownData(name.into(), "is no file with a table"));
        }
        let mut config = config.clone();
        config.data.file = Some(name.into());
        let trained = models.first().map(|(_, model)| &model.standardisation);
        let data = ForecastingData::open(&config, trained, device)?;
        Self::evaluate(&OpenRun { config: &config, data: &data }, models)
    }

    /// The rows that follow the last ones of each table, in its units; standardised by the run's training rows. Columns
    /// are those of the training table, found by their titles where both tables have some.
    fn predict(
        config: &ForecastingConfig,
        placed: &mut [Placed<Forecaster>],
        inputs: &[PathBuf],
    ) -> Result<Predictions> {
        let Some(Placed { model: Forecaster { standardisation, .. }, .. }) = placed.first() else {
            return Ok(Predictions::Table(PredictionTable::default()));
        };
        let (look_back, standardisation) = (config.data.look_back, standardisation.clone());
        let channels = standardisation.channels();
        let of_first = inputs.first().map_or(Ok(Vec::new()), |first| channel_titles(first))?;
        let titles = if standardisation.titles.is_empty() { &of_first } else { &standardisation.titles };
        let is_free = |title: &&String| !["file", "row"].contains(&title.as_str());
        let title = |channel| titles.get(channel).filter(is_free).cloned();
        let name = |channel| title(channel).unwrap_or_else(|| format!("channel_{channel}"));
        let columns = ["file", "row"].map(String::from).into_iter().chain((0..channels).map(name)).collect();
        let of_file = |Placed { model, device }: &Placed<Forecaster>, path: &PathBuf| {
            let input = SeriesTable::read_as(path, &standardisation)?;
            let rows = input.rows();
            if rows < look_back {
                let reason = format!("it has {rows} rows, but a forecast takes {look_back}");
                return Err(TaskError::Input(path.clone(), reason));
            }
            let last = standardisation.apply(&input.channels_of(rows - look_back..rows));
            let standard = TensorData::new(last, [1, look_back, channels]);
            let (forecast, _) = outputs(model, Tensor::from_data(standard, device))?;
            let forecast: Vec<f32> = forecast.into_data().iter().collect();
            let forecast = standardisation.revert(&forecast);
            let row = |(index, values): (usize, &[f64])| -> Vec<String> {
                let place = [path.display().to_string(), (rows + index).to_string()];
                place.into_iter().chain(values.iter().map(ToString::to_string)).collect()
            };
            Ok::<_, TaskError>(forecast.chunks(channels).enumerate().map(row).collect::<Vec<_>>())
        };
        let rows = over_devices(placed, inputs, of_file)?.concat();
        Ok(Predictions::Table(PredictionTable { columns, rows }))
    }

    fn report(run: &OpenRun<'_, Self>, model: &Forecaster, rows: &[ScoreRow]) -> Result<ReportParts> {
        let config = run.config;
        let facts = [
            ("model", config.model.name.clone()),
            ("settings", model.model.settings().to_string()),
            ("look-back", format!("{} rows", config.data.look_back)),
            ("horizon", format!("{} rows", config.data.horizon)),
        ];
        Ok(scores::report(data_set(config), facts, rows))
    }
}

/// Name of the data with the horizon.
fn data_set(config: &ForecastingConfig) -> String {
    let name = config.data.file.as_ref().map_or("generated series".into(), |path| path.display().to_string());
    format!("{name}, {} rows ahead", config.data.horizon)
}

/// Forecasts by ridge regression: one linear map from a look-back to the rows behind it, the same for every channel, of
/// windows less their look-back's mean. It is the strongest of the simple baselines: A. Toner and L. Darlow, "An
/// analysis of linear time series forecasting models", 2024, find that linear models of the literature are this map
/// with constraints.
struct Ridge {
    /// Weights, `[look_back, horizon]`.
    weights: Tensor<2>,
}

impl Ridge {
    /// The map that fits the training windows of a series, with the penalty of the lowest validation error; `None` if
    /// windows have more than [`MAX_VALUES`] rows.
    fn fit(series: &Series, look_back: usize, horizon: usize, device: &Device) -> Option<Self> {
        let window = look_back + horizon;
        if window > MAX_VALUES {
            return None;
        }
        let of_windows = |starts: &Range<usize>| {
            let rows = series.standardised_rows(starts.start..starts.end + window - 1);
            moments(&rows, series.standardisation.channels(), starts.len(), look_back, window)
        };
        let weights = of_windows(&series.parts.train).best_map(&of_windows(&series.parts.validation));
        let weights: Vec<f32> = weights.into_iter().map(|weight| weight as f32).collect();
        let weights = Tensor::<2>::from_data(TensorData::new(weights, [horizon, look_back]), device);
        Some(Self { weights: weights.transpose() })
    }

    fn parameters(&self) -> usize {
        self.weights.dims().iter().product()
    }

    /// Forecasts `[windows, horizon, channels]` of look-backs `[windows, look_back, channels]`.
    fn forecast(&self, past: Tensor<3>) -> Tensor<3> {
        let mean = past.clone().mean_dim(1);
        let varying = (past - mean.clone()).swap_dims(1, 2);
        varying.matmul(self.weights.clone().unsqueeze()).swap_dims(1, 2) + mean
    }
}

/// Sums over `windows` windows of `window` rows with stride 1, and over all channels of `rows`, `[rows, channels]`: of
/// products of samples less the mean of their look-back.
fn moments(rows: &[f32], channels: usize, windows: usize, look_back: usize, window: usize) -> Moments {
    let products = products(rows, channels, windows, window);
    let with_past = |place: usize| &products[place * window..][..look_back];
    let mean = |values: &[f64]| values.iter().sum::<f64>() / look_back as f64;
    let means: Vec<f64> = (0..window).map(|place| mean(with_past(place))).collect();
    let of_mean = mean(&means[..look_back]);
    let less_means = |place: usize| -> Vec<f64> {
        with_past(place).iter().zip(&means).map(|(product, mean)| product - mean - means[place] + of_mean).collect()
    };
    let square = |place: usize| products[place * window + place] - 2.0 * means[place] + of_mean;
    Moments {
        inputs: (0..look_back).flat_map(less_means).collect(),
        cross: (look_back..window).flat_map(less_means).collect(),
        outputs: (look_back..window).map(square).sum(),
        count: look_back,
    }
}

/// Sums over windows and channels of the products of the samples at each two places of a window, `[window, window]`, in
/// about one pass over the rows: the sum for two places is that for the places before them, but for the products at both
/// ends.
fn products(rows: &[f32], channels: usize, windows: usize, window: usize) -> Vec<f64> {
    let row = |row: usize| rows[row * channels..][..channels].iter().map(|value| f64::from(*value));
    let product = |a: usize, b: usize| row(a).zip(row(b)).map(|(a, b)| a * b).sum::<f64>();
    let mut sums = vec![0.0; window * window];
    for (b, sum) in sums[..window].iter_mut().enumerate() {
        *sum = (0..windows).map(|start| product(start, start + b)).sum();
    }
    for a in 1..window {
        for b in a..window {
            let before = sums[(a - 1) * window + b - 1];
            sums[a * window + b] = before - product(a - 1, b - 1) + product(windows + a - 1, windows + b - 1);
        }
        for b in 0..a {
            sums[a * window + b] = sums[b * window + a];
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(look_back: usize, horizon: usize) -> DataSection {
        DataSection {
            look_back,
            horizon,
            train_rows: 300,
            validation_rows: 100,
            test_rows: 100,
            synthetic_channels: 3,
            ..DataSection::default()
        }
    }

    /// The look-backs and futures of windows without the mean of the look-back, `[windows · channels, …]`.
    fn centred(series: &Series, starts: Range<usize>) -> Vec<(Vec<f64>, Vec<f64>)> {
        let Windows { past, future } = series.windows(&starts.collect::<Vec<_>>());
        let values = |tensor: Tensor<3>| -> Vec<Vec<f64>> {
            let [windows, rows, channels] = tensor.dims();
            let flat: Vec<f32> =
                tensor.swap_dims(1, 2).reshape([windows * channels * rows]).into_data().iter().collect();
            flat.chunks(rows).map(|row| row.iter().copied().map(f64::from).collect()).collect()
        };
        let pairs = values(past).into_iter().zip(values(future));
        pairs
            .map(|(past, future)| {
                let mean = past.iter().sum::<f64>() / past.len() as f64;
                let less = |values: Vec<f64>| values.into_iter().map(|value| value - mean).collect();
                (less(past), less(future))
            })
            .collect()
    }

    #[test]
    fn the_moments_are_sums_over_windows() {
        let (look_back, horizon) = (7, 4);
        let series = Series::open(&section(look_back, horizon), 3, None, &Device::flex()).unwrap();
        for starts in [series.parts.train.clone(), series.parts.validation.clone()] {
            let rows = series.standardised_rows(starts.start..starts.end + look_back + horizon - 1);
            let found = moments(&rows, series.standardisation.channels(), starts.len(), look_back, look_back + horizon);
            let windows = centred(&series, starts);
            let sum = |term: &dyn Fn(&[f64], &[f64]) -> f64| -> f64 {
                windows.iter().map(|(past, future)| term(past, future)).sum()
            };
            for i in 0..look_back {
                for j in 0..look_back {
                    let expected = sum(&|past, _| past[i] * past[j]);
                    assert!((found.inputs[i * look_back + j] - expected).abs() < 1e-8 * windows.len() as f64);
                }
                for h in 0..horizon {
                    let expected = sum(&|past, future| past[i] * future[h]);
                    assert!((found.cross[h * look_back + i] - expected).abs() < 1e-8 * windows.len() as f64);
                }
            }
            assert!(
                (found.outputs - sum(&|_, future| future.iter().map(|value| value * value).sum())).abs()
                    < 1e-8 * windows.len() as f64
            );
        }
    }

    #[test]
    fn forecasts_are_nearer_than_the_mean_and_follow_a_change_of_level() {
        let device = Device::flex();
        let series = Series::open(&section(48, 6), 1, None, &device).unwrap();
        let ridge = Ridge::fit(&series, 48, 6, &device).unwrap();
        assert_eq!(ridge.parameters(), 48 * 6);
        let Windows { past, future } = series.windows(&series.parts.test.clone().collect::<Vec<_>>());
        let error = |found: Tensor<3>| (found - future.clone()).square().mean().into_scalar::<f32>();
        let forecast = ridge.forecast(past.clone());
        let of_mean = past.clone().mean_dim(1).repeat_dim(1, 6);
        let (found, mean) = (error(forecast.clone()), error(of_mean));
        assert!(found < 0.5 * mean, "{found} of {mean}");
        let shifted = ridge.forecast(past + 5.0) - 5.0;
        assert!((shifted - forecast).abs().max().into_scalar::<f32>() < 1e-4);
    }
}
