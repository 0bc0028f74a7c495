//! The series: read or generated, standardised, and cut into windows on a device.

use std::f64::consts::TAU;
use std::ops::Range;
use std::path::Path;

use burn::tensor::{Device, Int, Tensor, TensorData};

use super::config::DataSection;
use crate::data::{DataError, Fingerprint, normal, read_table};
use crate::task::TaskError;

/// Periods of a generated series in rows: a day and a week of hours.
const PERIODS: [f64; 2] = [24.0, 168.0];
/// Standard deviation of the noise of a generated series.
const NOISE: f64 = 0.3;

/// Values of a table, row-major `[rows, channels]`.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesTable {
    /// Columns.
    pub channels: usize,
    /// The values.
    pub values: Vec<f32>,
}

impl SeriesTable {
    /// The table in a file.
    ///
    /// # Errors
    /// If it can't be read, or a value is not finite.
    pub fn read(path: &Path) -> Result<Self, DataError> {
        let columns = read_table(path)?;
        let rows = columns.first().map_or(0, |column| column.samples.len());
        let values = (0..rows).flat_map(|row| columns.iter().map(move |column| column.samples[row])).collect();
        Ok(Self { channels: columns.len(), values })
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
        Self { channels, values: (0..rows * channels).map(value).collect() }
    }

    /// Rows of the table.
    pub fn rows(&self) -> usize {
        self.values.len() / self.channels.max(1)
    }
}

/// Mean and deviation of each channel, of training rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Standardisation {
    means: Vec<f64>,
    deviations: Vec<f64>,
}

impl Standardisation {
    /// Of the first `rows` of a table. A channel that is constant has deviation 1.
    pub fn of(table: &SeriesTable, rows: usize) -> Self {
        let column =
            |channel: usize| table.values.chunks(table.channels).take(rows).map(move |row| f64::from(row[channel]));
        let mean = |channel| column(channel).sum::<f64>() / rows as f64;
        let means: Vec<f64> = (0..table.channels).map(mean).collect();
        let deviation = |(channel, mean): (usize, &f64)| {
            let variance = column(channel).map(|value| (value - mean).powi(2)).sum::<f64>() / rows as f64;
            if variance > 0.0 { variance.sqrt() } else { 1.0 }
        };
        Self { deviations: means.iter().enumerate().map(deviation).collect(), means }
    }

    /// Values in units of the deviation from the mean.
    pub fn apply(&self, table: &SeriesTable) -> SeriesTable {
        self.map(table, |value, mean, deviation| (value - mean) / deviation)
    }

    /// Values in the table's own units again.
    pub fn revert(&self, table: &SeriesTable) -> SeriesTable {
        self.map(table, |value, mean, deviation| value * deviation + mean)
    }

    fn map(&self, table: &SeriesTable, change: impl Fn(f64, f64, f64) -> f64) -> SeriesTable {
        let value = |(place, value): (usize, &f32)| {
            let channel = place % table.channels;
            change(f64::from(*value), self.means[channel], self.deviations[channel]) as f32
        };
        SeriesTable { channels: table.channels, values: table.values.iter().enumerate().map(value).collect() }
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

/// A standardised series on a device.
pub struct Series {
    /// `[rows, channels]`.
    values: Tensor<2>,
    look_back: usize,
    horizon: usize,
    /// Windows of each part.
    pub parts: WindowSplit,
    /// Standardisation by training rows.
    pub standardisation: Standardisation,
    /// Channels.
    pub channels: usize,
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
    /// Reads or generates the series of a section.
    ///
    /// # Errors
    /// If the file can't be read or has too few rows.
    pub fn open(section: &DataSection, seed: u64, device: &Device) -> Result<Self, TaskError> {
        let needed = section.train_rows + section.validation_rows + section.test_rows;
        let (table, fingerprint) = match &section.file {
            Some(path) => {
                let table = SeriesTable::read(path)?;
                if table.rows() < needed {
                    let reason = format!(
                        "it has {} rows, but data.train_rows, validation_rows and test_rows take {needed}",
                        table.rows()
                    );
                    return Err(TaskError::Table { path: path.clone(), reason });
                }
                let fingerprint = fingerprint(&table);
                (table, fingerprint)
            }
            None => (SeriesTable::generated(needed, section.synthetic_channels, seed), 0),
        };
        let standardisation = Standardisation::of(&table, section.train_rows);
        let SeriesTable { channels, mut values } = standardisation.apply(&table);
        values.truncate(needed * channels);
        Ok(Self {
            values: Tensor::from_data(TensorData::new(values, [needed, channels]), device),
            look_back: section.look_back,
            horizon: section.horizon,
            parts: WindowSplit::of(section),
            standardisation,
            channels,
            fingerprint,
        })
    }

    /// The same series on another device.
    pub fn on_device(&self, device: &Device) -> Self {
        let Self { look_back, horizon, channels, fingerprint, .. } = *self;
        let (parts, standardisation) = (self.parts.clone(), self.standardisation.clone());
        let values = self.values.clone().to_device(device);
        Self { values, look_back, horizon, parts, standardisation, channels, fingerprint }
    }

    /// The windows that begin at these rows.
    pub fn windows(&self, starts: &[usize]) -> Windows {
        let (length, device) = (self.look_back + self.horizon, self.values.device());
        let starts: Vec<i32> = starts.iter().map(|start| *start as i32).collect();
        let count = starts.len();
        let starts = Tensor::<2, Int>::from_data(TensorData::new(starts, [count, 1]), &device);
        let within = Tensor::<1, Int>::arange(0..length as i64, &device).reshape([1, length]);
        let rows = self.values.clone().select(0, (starts + within).reshape([count * length]));
        let windows = rows.reshape([count, length, self.channels]);
        Windows {
            past: windows.clone().narrow(1, 0, self.look_back),
            future: windows.narrow(1, self.look_back, self.horizon),
        }
    }
}

fn fingerprint(table: &SeriesTable) -> u64 {
    let mut fingerprint = Fingerprint::default();
    fingerprint.values(&table.values);
    fingerprint.finish()
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
        let standard = standardisation.apply(&table);
        let again = Standardisation::of(&standard, 300);
        assert!(again.means.iter().all(|mean| mean.abs() < 1e-6), "{again:?}");
        assert!(again.deviations.iter().all(|deviation| (deviation - 1.0).abs() < 1e-6), "{again:?}");
        let reverted = standardisation.revert(&standard);
        assert!(reverted.values.iter().zip(&table.values).all(|(a, b)| (a - b).abs() < 1e-5));
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
        let series = Series::open(&section, 1, &Device::flex()).unwrap();
        let Windows { past, future } = series.windows(&[0, 4]);
        assert_eq!((past.dims(), future.dims()), ([2, 3, 2], [2, 2, 2]));
        let rows = |tensor: Tensor<3>| tensor.into_data().try_to_vec::<f32>().unwrap();
        let all = series.values.clone().into_data().try_to_vec::<f32>().unwrap();
        assert_eq!(rows(past)[6..12], all[8..14]);
        assert_eq!(rows(future)[4..8], all[14..18]);
    }
}
