//! Peaks of a block of frames.

use anyhow::{Context, Result, anyhow};
use burn::tensor::kind::Basic;
use burn::tensor::{DType, Element, Tensor};
use bytemuck::cast_slice;
use firefly_app::remote::explained_failure;
use firefly_ops::Band;

use crate::journal::Payload;
use crate::row_scales::{RowScales, RowValues};

/// Peaks of frames, each value `[frames, channels, k]`, strongest first.
#[derive(Debug, Clone, PartialEq)]
pub struct PeakValues {
    /// Bins; −1 where a frame has too few.
    pub bins: Vec<i32>,
    /// Values at those bins, NaN where the bin is −1: the power; of local maxima also prominence and offset; and of tested
    /// peaks probability, errors and amplitude.
    pub columns: Vec<Vec<f64>>,
}

pub const POWER: usize = 0;
/// Power above the base, in the unit of the power.
pub const PROMINENCE: usize = 1;
/// Distance of the line from its bin, in bins.
pub const OFFSET: usize = 2;
/// The first column of tested peaks.
pub const TESTED: usize = 3;
/// Columns of the strongest bins, of local maxima, and of tested peaks.
const KINDS: [u8; 3] = [1, 3, 7];

/// Conditions of local maxima that are checked on the host; 0 is none.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LeastPower {
    /// Least ratio of the power to its base.
    pub ratio: f64,
    pub height: f64,
    pub prominence: f64,
}

impl RowValues for PeakValues {
    fn replace_rows(&mut self, rows: &[usize], others: &Self) {
        self.bins.replace_rows(rows, &others.bins);
        let columns = self.columns.iter_mut().zip(&others.columns);
        columns.for_each(|(column, other)| column.replace_rows(rows, other));
    }
}

/// Values of rows of equal length.
impl<T: Copy> RowValues for Vec<T> {
    fn replace_rows(&mut self, rows: &[usize], others: &Self) {
        let length = others.len() / rows.len().max(1);
        for (row, other) in rows.iter().zip(others.chunks(length.max(1))) {
            self[row * length..][..length].copy_from_slice(other);
        }
    }
}

impl PeakValues {
    /// No peaks in so many places.
    pub fn none(count: usize, columns: usize) -> Self {
        Self { bins: vec![-1; count], columns: vec![vec![f64::NAN; count]; columns] }
    }

    /// Whether frames may have fewer than k peaks, which have prominence and offset.
    pub fn are_maxima(&self) -> bool {
        self.columns.len() > OFFSET
    }

    /// Of the `searched` maxima of each row, the `k` strongest that are in the band, if there is one, and fulfil the
    /// conditions.
    pub fn strongest_of(&self, searched: usize, band: Option<Band>, least: LeastPower, k: usize) -> Self {
        let rows = self.bins.len() / searched;
        let mut kept = Self::none(rows * k, self.columns.len());
        let is_kept = |place: &usize| {
            let [power, prominence] = [POWER, PROMINENCE].map(|column| self.columns[column][*place]);
            let bin = usize::try_from(self.bins[*place]);
            let is_in_band = bin.is_ok_and(|bin| band.is_none_or(|band| (band.first..band.end).contains(&bin)));
            is_in_band
                && power >= least.ratio * (power - prominence)
                && power >= least.height
                && prominence >= least.prominence
        };
        for row in 0..rows {
            let places = (row * searched..(row + 1) * searched).filter(is_kept);
            for (to, from) in (row * k..(row + 1) * k).zip(places) {
                kept.bins[to] = self.bins[from];
                kept.columns.iter_mut().zip(&self.columns).for_each(|(column, of_all)| column[to] = of_all[from]);
            }
        }
        kept
    }
}

/// Values of a tensor, in host memory.
pub fn read<E: Element, K: Basic>(tensor: Tensor<2, K>) -> Result<Vec<E>> {
    let device = tensor.device();
    let values = tensor.try_into_vec_as();
    values.map_err(|error| anyhow!(explained_failure(&device, error.to_string()))).context("reading from the device")
}

/// Power of rows with their scales, in host memory.
pub fn read_power(power: Tensor<2>, scales: &RowScales) -> Result<Vec<f64>> {
    match power.dtype() {
        DType::F64 => read(power),
        _ => Ok(scales.applied(&read::<f32, _>(power)?)),
    }
}

/// In the byte order of the machine, which a journal does not leave.
impl Payload for PeakValues {
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.columns.len() as u8);
        out.extend_from_slice(cast_slice(&self.bins));
        self.columns.iter().for_each(|column| out.extend_from_slice(cast_slice(column)));
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (kind, bytes) = bytes.split_first().filter(|(kind, _)| KINDS.contains(kind))?;
        let width = 4 + 8 * usize::from(*kind);
        if bytes.len() % width != 0 {
            return None;
        }
        let (bins, columns) = bytes.split_at(4 * (bytes.len() / width));
        let bins: Vec<i32> = bins.as_chunks().0.iter().map(|raw| i32::from_ne_bytes(*raw)).collect();
        let columns: Vec<f64> = columns.as_chunks().0.iter().map(|raw| f64::from_ne_bytes(*raw)).collect();
        let column = |place: usize| columns[place * bins.len()..][..bins.len()].to_vec();
        Some(Self { columns: (0..usize::from(*kind)).map(column).collect(), bins })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_that_were_encoded() {
        let column = |scale: f64| vec![0.5 * scale, 1e-300, -scale, f64::MAX];
        for columns in KINDS {
            let columns = (0..columns).map(|place| column(place.into())).collect();
            let values = PeakValues { bins: vec![1, -1, 7, 9], columns };
            let mut bytes = Vec::new();
            values.encode(&mut bytes);
            assert_eq!(PeakValues::decode(&bytes), Some(values));
            assert_eq!(PeakValues::decode(&bytes[..bytes.len() - 1]), None);
        }
        assert_eq!(PeakValues::decode(&[]), None);
        assert_eq!(PeakValues::decode(&[1, 0]), None);
        assert_eq!(PeakValues::decode(&[4]), None);
    }

    #[test]
    fn the_strongest_maxima_of_a_band_with_a_prominence_relative_to_their_base_are_kept() {
        let values = PeakValues {
            bins: vec![4, 9, 2, -1, 7, -1, -1, -1],
            columns: vec![
                vec![8.0, 6.0, 5.0, f64::NAN, 3.0, f64::NAN, f64::NAN, f64::NAN],
                vec![8.0, 2.0, 4.5, f64::NAN, 1.0, f64::NAN, f64::NAN, f64::NAN],
                vec![0.1, 0.2, 0.3, f64::NAN, 0.4, f64::NAN, f64::NAN, f64::NAN],
            ],
        };
        // Ratios to the base: infinite, 1.5 and 10 in the first row, 1.5 in the second.
        let ratio = |ratio| LeastPower { ratio, ..LeastPower::default() };
        let kept = values.strongest_of(4, None, ratio(10.0), 2);
        assert_eq!(kept.bins, [4, 2, -1, -1]);
        assert_eq!(kept.columns[OFFSET][..2], [0.1, 0.3]);
        assert_eq!(values.strongest_of(4, None, ratio(1.5), 2).bins, [4, 9, 7, -1]);
        assert_eq!(values.strongest_of(4, None, ratio(1.6), 1).columns[POWER][0], 8.0);
        assert_eq!(values.strongest_of(4, Some(Band::new(2..8)), ratio(0.0), 2).bins, [4, 2, 7, -1]);
        let least = LeastPower { ratio: 0.0, height: 5.5, prominence: 3.0 };
        assert_eq!(values.strongest_of(4, None, least, 2).bins, [4, -1, -1, -1]);
    }
}
