//! The series: read or generated, standardised, and cut into windows on a device.

use std::f64::consts::TAU;
use std::ops::Range;

use burn::tensor::Int;
use firefly_recordings::{Samples, channel_titles, read_rows};
use serde::{Deserialize, Serialize};

use super::config::DataSection;
use crate::data::{DataError, Fingerprint, normal};
use crate::tasks::prelude::*;

/// Periods of a generated series in rows: a day and a week of hours.
const PERIODS: [f64; 2] = [24.0, 168.0];
/// Standard deviation of the noise of a generated series.
const NOISE: f64 = 0.3;

/// Values of a table, row-major `[rows, columns]`.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesTable {
    columns: usize,
    /// Titles of the columns; none where the table has none.
    pub titles: Vec<String>,
    /// The columns that are channels, in their order.
    channels: Vec<usize>,
    /// Each value as two numbers that it is the sum of; see [`read_rows`].
    parts: Samples,
}

impl SeriesTable {
    /// The table in a file; if it takes too much memory, in a temporary file. An error if it can't be read, or a value
    /// is not finite.
    pub fn read(path: &Path) -> Result<Self, DataError> {
        let (columns, parts) = read_rows(path)?;
        Ok(Self { titles: channel_titles(path)?, ..Self::new(columns, parts) })
    }

    fn new(columns: usize, parts: Samples) -> Self {
        Self { columns, titles: Vec::new(), channels: (0..columns).collect(), parts }
    }

    /// The table in a file, with the channels that another one had: found by their titles where both have some. An error
    /// as of [`read`](Self::read), and if a channel is missing.
    pub fn read_as(path: &Path, trained: &Standardisation) -> Result<Self> {
        let table = Self::read(path)?;
        let refused = |reason| TaskError::Input(path.to_path_buf(), reason);
        let (count, by_title) = (trained.means.len(), columns_of(&trained.titles, &table.titles).map_err(refused)?);
        let is_by_title = by_title.is_some();
        let channels = by_title.unwrap_or_else(|| table.channels.clone());
        if channels.len() != count {
            return Err(refused(format!("it has {} channels, but the model was trained on {count}", channels.len())));
        }
        if !is_by_title && count > 1 {
            tracing::warn!(
                "{}: its columns are taken in the order of the trained ones, since titles are missing or equal",
                path.display()
            );
        }
        Ok(Self { channels, ..table })
    }

    /// A generated table: each channel is the sum of a daily and a weekly period with phases of its own, and noise.
    pub fn generated(rows: usize, channels: usize, seed: u64) -> Self {
        let noise = normal(seed, rows * channels);
        let phase = |channel: usize, period: usize| ((channel + 1) * (period + 2)) as f64 * 0.7;
        let value = |place: usize| {
            let (row, channel) = (place / channels, place % channels);
            let waves = PERIODS.iter().enumerate();
            let sum: f64 = waves.map(|(index, period)| (TAU * row as f64 / period + phase(channel, index)).sin()).sum();
            (sum + NOISE * noise[place]) as f32
        };
        Self::new(channels, (0..rows * channels).flat_map(|place| [value(place), 0.0]).collect::<Vec<f32>>().into())
    }

    /// Rows of the table.
    pub fn rows(&self) -> usize {
        self.parts.len() / (2 * self.columns).max(1)
    }

    /// The channels of these rows, row-major.
    pub fn channels_of(&self, rows: Range<usize>) -> Vec<f64> {
        let pairs = self.parts.as_chunks::<2>().0;
        let rows = pairs[rows.start * self.columns..rows.end * self.columns].chunks(self.columns);
        let value = |[value, rest]: [f32; 2]| f64::from(value) + f64::from(rest);
        rows.flat_map(|row| self.channels.iter().map(|column| value(row[*column]))).collect()
    }
}

/// Places of the trained columns in a table by their titles; `None` where either has none, or some are equal. The error
/// is the reason if a title is missing.
fn columns_of(trained: &[String], found: &[String]) -> Result<Option<Vec<usize>>, String> {
    let are_distinct = trained.iter().enumerate().all(|(place, title)| !trained[..place].contains(title));
    if trained.is_empty() || found.is_empty() || !are_distinct {
        return Ok(None);
    }
    let place = |title: &String| {
        let place = found.iter().position(|found| found == title);
        place.ok_or_else(|| {
            format!("it has no column `{title}`, which the model was trained on; it has {}", found.join(", "))
        })
    };
    trained.iter().map(place).collect::<Result<_, _>>().map(Some)
}

/// Mean and deviation of each channel, of training rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Standardisation {
    /// Titles of the channels; none where the table had none.
    pub titles: Vec<String>,
    means: Vec<f64>,
    deviations: Vec<f64>,
}

impl Standardisation {
    /// Of the first `rows` of a table. A channel that is constant has deviation 1.
    pub fn of(table: &SeriesTable, rows: usize) -> Self {
        // Differences from the first row, so that those of a constant channel are exactly 0.
        let first = table.channels_of(0..1);
        // Row by row, as a file is read.
        let mean_of = |term: &dyn Fn(usize, f64) -> f64| {
            let mut sums = vec![0.0; first.len()];
            for row in 0..rows {
                let values = table.channels_of(row..row + 1);
                sums.iter_mut().zip(values).enumerate().for_each(|(channel, (sum, value))| {
                    *sum += term(channel, value - first[channel]);
                });
            }
            sums.into_iter().map(|sum| sum / rows as f64).collect::<Vec<f64>>()
        };
        let offsets = mean_of(&|_, value| value);
        let variances = mean_of(&|channel, value| (value - offsets[channel]).powi(2));
        let means = first.iter().zip(&offsets).map(|(first, offset)| first + offset).collect();
        let deviation = |variance: f64| if variance > 0.0 { variance.sqrt() } else { 1.0 };
        let deviations = variances.into_iter().map(deviation).collect();
        Self { titles: table.titles.clone(), deviations, means }
    }

    /// Channels.
    pub fn channels(&self) -> usize {
        self.means.len()
    }

    /// Values of whole rows in units of the deviation from the mean.
    pub fn apply(&self, values: &[f64]) -> Vec<f32> {
        let units = self.means.iter().zip(&self.deviations).cycle();
        values.iter().zip(units).map(|(value, (mean, deviation))| ((value - mean) / deviation) as f32).collect()
    }

    /// Values of whole rows in the table's own units again.
    pub fn revert(&self, values: &[f32]) -> Vec<f64> {
        let units = self.means.iter().zip(&self.deviations).cycle();
        values.iter().zip(units).map(|(value, (mean, deviation))| f64::from(*value) * deviation + mean).collect()
    }
}

/// Windows of each part of the rows, by their first rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowSplit {
    /// Windows to train on.
    pub train: Range<usize>,
    /// Windows whose forecasts are of validation rows.
    pub validation: Range<usize>,
    /// Windows whose forecasts are of test rows.
    pub test: Range<usize>,
}

impl WindowSplit {
    /// All windows with stride 1. Windows of validation and test look back across their border, and none is dropped.
    pub fn of(section: &DataSection) -> Self {
        let DataSection { look_back, horizon, train_rows, validation_rows, test_rows, .. } = *section;
        let behind = |border: usize, rows: usize| border - look_back..border + rows + 1 - horizon - look_back;
        Self {
            train: 0..train_rows + 1 - look_back - horizon,
            validation: behind(train_rows, validation_rows),
            test: behind(train_rows + validation_rows, test_rows),
        }
    }
}

#[derive(Clone)]
enum SeriesRows {
    /// Standardised, on a device: `[rows, channels]`.
    OnDevice(Box<Tensor<2>>),
    /// Of a table in a file: windows are standardised as they are taken.
    InFile(SeriesTable),
}

/// A standardised series, windows of which are taken on a device.
#[derive(Clone)]
pub struct Series {
    rows: SeriesRows,
    /// The device that windows are on.
    pub device: Device,
    look_back: usize,
    horizon: usize,
    /// Windows of each part.
    pub parts: WindowSplit,
    /// Standardisation by training rows.
    pub standardisation: Standardisation,
    /// Number that changes with the values; 0 for a generated series.
    pub fingerprint: u64,
}

/// Look-backs `[windows, look_back, channels]` and what follows them, `[windows, horizon, channels]`.
pub struct Windows {
    /// The look-backs.
    pub past: Tensor<3>,
    /// The rows to forecast.
    pub future: Tensor<3>,
}

impl Series {
    /// Reads or generates the series of a section, standardised by its own training rows, or as those that a model was
    /// trained on, which then also say its channels. An error if the file can't be read or has too few rows.
    pub fn open(section: &DataSection, seed: u64, trained: Option<&Standardisation>, device: &Device) -> Result<Self> {
        let needed = section.train_rows + section.validation_rows + section.test_rows;
        let (table, fingerprint) = match &section.file {
            Some(path) => {
                let table = match trained {
                    Some(trained) => SeriesTable::read_as(path, trained)?,
                    None => SeriesTable::read(path)?,
                };
                if table.rows() < needed {
                    let reason = format!(
                        "it has {} rows, but data.train_rows, validation_rows and test_rows take {needed}",
                        table.rows()
                    );
                    return Err(TaskError::Input(path.clone(), reason));
                }
                let mut fingerprint = Fingerprint::default();
                fingerprint.values(&table.parts[..]);
                (table, fingerprint.finish())
            }
            None => (SeriesTable::generated(needed, section.synthetic_channels, seed), 0),
        };
        let standardisation = trained.cloned().unwrap_or_else(|| Standardisation::of(&table, section.train_rows));
        Ok(Self::of(table, standardisation, section, fingerprint, device))
    }

    /// The series of a section with this table.
    fn of(
        table: SeriesTable,
        standardisation: Standardisation,
        section: &DataSection,
        fingerprint: u64,
        device: &Device,
    ) -> Self {
        let DataSection { train_rows, validation_rows, test_rows, look_back, horizon, .. } = *section;
        let rows = if table.parts.is_in_file() {
            SeriesRows::InFile(table)
        } else {
            let shape = [train_rows + validation_rows + test_rows, standardisation.channels()];
            let values = standardisation.apply(&table.channels_of(0..shape[0]));
            SeriesRows::OnDevice(Tensor::from_data(TensorData::new(values, shape), device).into())
        };
        let (device, parts) = (device.clone(), WindowSplit::of(section));
        Self { rows, device, look_back, horizon, parts, standardisation, fingerprint }
    }

    /// The same series on another device.
    pub fn on_device(&self, device: &Device) -> Self {
        let rows = match self.rows.clone() {
            SeriesRows::OnDevice(values) => SeriesRows::OnDevice(values.to_device(device).into()),
            in_file @ SeriesRows::InFile(_) => in_file,
        };
        Self { rows, device: device.clone(), ..self.clone() }
    }

    /// Standardised values of these rows, `[rows, channels]`.
    pub(super) fn standardised_rows(&self, rows: Range<usize>) -> Vec<f32> {
        match &self.rows {
            SeriesRows::OnDevice(values) => {
                values.as_ref().clone().narrow(0, rows.start, rows.len()).into_data().iter().collect()
            }
            SeriesRows::InFile(table) => self.standardisation.apply(&table.channels_of(rows)),
        }
    }

    /// The windows that begin at these rows.
    pub fn windows(&self, starts: &[usize]) -> Windows {
        let (length, device) = (self.look_back + self.horizon, &self.device);
        let shape = [starts.len(), length, self.standardisation.channels()];
        let windows = match &self.rows {
            SeriesRows::OnDevice(values) => {
                let starts: Vec<i32> = starts.iter().map(|start| *start as i32).collect();
                let starts = Tensor::<2, Int>::from_data(TensorData::new(starts, [shape[0], 1]), device);
                let within = Tensor::<1, Int>::arange(0..length as i64, device).reshape([1, length]);
                values.as_ref().clone().select(0, (starts + within).reshape([shape[0] * length])).reshape(shape)
            }
            SeriesRows::InFile(table) => {
                let windows: Vec<f64> =
                    starts.iter().flat_map(|start| table.channels_of(*start..start + length)).collect();
                Tensor::from_data(TensorData::new(self.standardisation.apply(&windows), shape), device)
            }
        };
        Windows {
            past: windows.clone().narrow(1, 0, self.look_back),
            future: windows.narrow(1, self.look_back, self.horizon),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_windows_are_those_of_the_protocol() {
        let section = DataSection::default();
        let parts = WindowSplit::of(&section);
        assert_eq!(parts.train, 0..8640 - 456 + 1);
        // Every forecast of test rows, 2,880 − 96 + 1 of them, the first of the first test row.
        assert_eq!((parts.test.start + 360, parts.test.len()), (8640 + 2880, 2785));
        assert_eq!((parts.validation.start + 360, parts.validation.len()), (8640, 2785));
        assert_eq!(parts.test.end - 1 + 456, 8640 + 2 * 2880, "the last window ends with the last row");
    }

    #[test]
    fn training_rows_have_mean_0_and_variance_1_and_can_be_reverted() {
        let table = SeriesTable::generated(500, 2, 1);
        let standardisation = Standardisation::of(&table, 300);
        let values = table.channels_of(0..500);
        let standard = standardisation.apply(&values);
        let parts: Vec<f32> = standard.iter().flat_map(|value| [*value, 0.0]).collect();
        let again = Standardisation::of(&SeriesTable::new(2, parts.into()), 300);
        assert!(again.means.iter().all(|mean| mean.abs() < 1e-6), "{again:?}");
        assert!(again.deviations.iter().all(|deviation| (deviation - 1.0).abs() < 1e-6), "{again:?}");
        let reverted = standardisation.revert(&standard);
        assert!(reverted.iter().zip(values).all(|(a, b)| (a - b).abs() < 1e-5));
    }

    #[test]
    fn columns_are_found_by_their_titles() {
        let titles = |text: &str| text.split_terminator(',').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(columns_of(&titles("low,high"), &titles("high,other,low")), Ok(Some(vec![2, 0])));
        for (trained, found) in [("low,high", ""), ("", "a,b,c"), ("a,a", "a,a")] {
            assert_eq!(columns_of(&titles(trained), &titles(found)), Ok(None));
        }
        let message = columns_of(&titles("low,high"), &titles("low,x")).unwrap_err();
        assert!(message.contains("no column `high`") && message.contains("it has low, x"), "{message}");
    }

    #[test]
    fn windows_hold_consecutive_rows() {
        let section = DataSection {
            look_back: 3,
            horizon: 2,
            train_rows: 10,
            validation_rows: 4,
            test_rows: 4,
            synthetic_channels: 2,
            ..DataSection::default()
        };
        let series = Series::open(&section, 1, None, &Device::flex()).unwrap();
        let Windows { past, future } = series.windows(&[0, 4]);
        assert_eq!((past.dims(), future.dims()), ([2, 3, 2], [2, 2, 2]));
        let rows = |tensor: Tensor<3>| tensor.into_data().try_to_vec::<f32>().unwrap();
        let SeriesRows::OnDevice(all) = series.rows.clone() else { panic!("the table is small") };
        let all = all.into_data().try_to_vec::<f32>().unwrap();
        assert_eq!(rows(past)[6..12], all[8..14]);
        assert_eq!(rows(future)[4..8], all[14..18]);
        // The same of a table that is in a file.
        let table = SeriesTable::generated(18, 2, 1);
        let in_file = SeriesTable::new(2, table.parts.to_file().unwrap());
        let standardisation = series.standardisation.clone();
        let in_file = Series::of(in_file, standardisation, &section, 0, &Device::flex()).on_device(&Device::flex());
        assert!(matches!(in_file.rows, SeriesRows::InFile(_)));
        let (expected, found) = (series.windows(&[0, 4, 13]), in_file.windows(&[0, 4, 13]));
        assert_eq!((rows(found.past), rows(found.future)), (rows(expected.past), rows(expected.future)));
    }
}
