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
    /// Power at those bins; NaN where the bin is −1.
    pub power: Vec<f64>,
    pub maxima: Option<MaximumValues>,
}

/// Conditions of local maxima that are checked on the host; 0 is none.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LeastPower {
    /// Least ratio of the power to its base.
    pub ratio: f64,
    pub height: f64,
    pub prominence: f64,
}

/// Shape of local maxima, NaN where there is none.
#[derive(Debug, Clone, PartialEq)]
pub struct MaximumValues {
    /// Power above the base, in the unit of the power.
    pub prominence: Vec<f64>,
    /// Distance of the line from its bin, in bins.
    pub offset: Vec<f32>,
}

impl RowValues for PeakValues {
    fn replace_rows(&mut self, rows: &[usize], others: &Self) {
        self.bins.replace_rows(rows, &others.bins);
        self.power.replace_rows(rows, &others.power);
        if let (Some(maxima), Some(others)) = (&mut self.maxima, &others.maxima) {
            maxima.prominence.replace_rows(rows, &others.prominence);
            maxima.offset.replace_rows(rows, &others.offset);
        }
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
    /// Of the `searched` maxima of each row, the `k` strongest that are in the band, if there is one, and fulfil the
    /// conditions.
    pub fn strongest_of(&self, searched: usize, band: Option<Band>, least: LeastPower, k: usize) -> Self {
        let rows = self.bins.len() / searched;
        let mut kept = Self { bins: vec![-1; rows * k], power: vec![f64::NAN; rows * k], maxima: None };
        let Some(maxima) = &self.maxima else { return kept };
        let (mut prominence, mut offset) = (kept.power.clone(), vec![f32::NAN; rows * k]);
        let is_kept = |place: &usize| {
            let (power, prominence) = (self.power[*place], maxima.prominence[*place]);
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
                kept.power[to] = self.power[from];
                prominence[to] = maxima.prominence[from];
                offset[to] = maxima.offset[from];
            }
        }
        kept.maxima = Some(MaximumValues { prominence, offset });
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

/// Kinds of peaks, by the number of their values.
const STRONGEST: u8 = 2;
const MAXIMA: u8 = 4;
/// Bytes of a strongest bin: its number and its power. A local maximum has a prominence and an offset, too.
const STRONGEST_BYTES: usize = 12;
const MAXIMUM_BYTES: usize = 24;

/// In the byte order of the machine, which a journal does not leave.
impl Payload for PeakValues {
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(if self.maxima.is_some() { MAXIMA } else { STRONGEST });
        out.extend_from_slice(cast_slice(&self.bins));
        out.extend_from_slice(cast_slice(&self.power));
        if let Some(maxima) = &self.maxima {
            out.extend_from_slice(cast_slice(&maxima.prominence));
            out.extend_from_slice(cast_slice(&maxima.offset));
        }
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (&kind, mut bytes) = bytes.split_first()?;
        let width = match kind {
            STRONGEST => STRONGEST_BYTES,
            MAXIMA => MAXIMUM_BYTES,
            _ => return None,
        };
        if bytes.len() % width != 0 {
            return None;
        }
        let count = bytes.len() / width;
        let mut column = |width: usize| {
            let (column, rest) = bytes.split_at(width * count);
            bytes = rest;
            column
        };
        let doubles = |bytes: &[u8]| bytes.as_chunks().0.iter().map(|raw| f64::from_ne_bytes(*raw)).collect();
        let bins = column(4).as_chunks().0.iter().map(|raw| i32::from_ne_bytes(*raw)).collect();
        let power = doubles(column(8));
        let maxima = (kind == MAXIMA).then(|| MaximumValues {
            prominence: doubles(column(8)),
            offset: column(4).as_chunks().0.iter().map(|raw| f32::from_ne_bytes(*raw)).collect(),
        });
        Some(Self { bins, power, maxima })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_that_were_encoded() {
        let maxima = MaximumValues { prominence: vec![0.25, 1.0, 0.0, 1e-9], offset: vec![-0.5, 0.25, 0.0, 0.1] };
        for maxima in [None, Some(maxima)] {
            let values = PeakValues { bins: vec![1, -1, 7, 9], power: vec![0.5, 2.0, 1e-30, 4.0], maxima };
            let mut bytes = Vec::new();
            values.encode(&mut bytes);
            assert_eq!(PeakValues::decode(&bytes), Some(values));
            assert_eq!(PeakValues::decode(&bytes[..bytes.len() - 1]), None);
        }
        assert_eq!(PeakValues::decode(&[]), None);
        assert_eq!(PeakValues::decode(&[STRONGEST, 0]), None);
        assert_eq!(PeakValues::decode(&[MAXIMA + 1]), None);
    }

    #[test]
    fn the_strongest_maxima_of_a_band_with_a_prominence_relative_to_their_base_are_kept() {
        let values = PeakValues {
            bins: vec![4, 9, 2, -1, 7, -1, -1, -1],
            power: vec![8.0, 6.0, 5.0, f64::NAN, 3.0, f64::NAN, f64::NAN, f64::NAN],
            maxima: Some(MaximumValues {
                prominence: vec![8.0, 2.0, 4.5, f64::NAN, 1.0, f64::NAN, f64::NAN, f64::NAN],
                offset: vec![0.1, 0.2, 0.3, f32::NAN, 0.4, f32::NAN, f32::NAN, f32::NAN],
            }),
        };
        // Ratios to the base: infinite, 1.5 and 10 in the first row, 1.5 in the second.
        let ratio = |ratio| LeastPower { ratio, ..LeastPower::default() };
        let kept = values.strongest_of(4, None, ratio(10.0), 2);
        assert_eq!(kept.bins, [4, 2, -1, -1]);
        assert_eq!(kept.maxima.unwrap().offset[..2], [0.1, 0.3]);
        assert_eq!(values.strongest_of(4, None, ratio(1.5), 2).bins, [4, 9, 7, -1]);
        assert_eq!(values.strongest_of(4, None, ratio(1.6), 1).power[0], 8.0);
        assert_eq!(values.strongest_of(4, Some(Band::new(2..8)), ratio(0.0), 2).bins, [4, 2, 7, -1]);
        let least = LeastPower { ratio: 0.0, height: 5.5, prominence: 3.0 };
        assert_eq!(values.strongest_of(4, None, least, 2).bins, [4, -1, -1, -1]);
    }
}
