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
    /// Columns of tested peaks.
    pub lines: Vec<Vec<f64>>,
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
        kept.maxima = Some(MaximumValues { prominence, offset, lines: Vec::new() });
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

/// Kinds of peaks, by the number of their columns of f64.
const STRONGEST: u8 = 1;
const MAXIMA: u8 = 3;
const TESTED: u8 = 7;

/// In the byte order of the machine, which a journal does not leave.
impl Payload for PeakValues {
    fn encode(&self, out: &mut Vec<u8>) {
        let mut columns = vec![self.power.clone()];
        if let Some(MaximumValues { prominence, offset, lines }) = self.maxima.clone() {
            columns.extend([prominence, offset.into_iter().map(f64::from).collect()].into_iter().chain(lines));
        }
        out.push(columns.len() as u8);
        out.extend_from_slice(cast_slice(&self.bins));
        out.extend_from_slice(cast_slice(&columns.concat()));
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (&kind, bytes) = bytes.split_first()?;
        let width = 4 + 8 * usize::from(kind);
        if ![STRONGEST, MAXIMA, TESTED].contains(&kind) || bytes.len() % width != 0 {
            return None;
        }
        let count = bytes.len() / width;
        let (bins, columns) = bytes.split_at(4 * count);
        let columns: Vec<f64> = columns.as_chunks().0.iter().map(|raw| f64::from_ne_bytes(*raw)).collect();
        let column = |place: usize| columns[place * count..][..count].to_vec();
        // The offset was an f32.
        let narrowed = |value: f64| Some(value as f32).filter(|offset| f64::from(*offset).to_bits() == value.to_bits());
        let maxima = match kind {
            STRONGEST => None,
            _ => Some(MaximumValues {
                prominence: column(1),
                offset: column(2).into_iter().map(narrowed).collect::<Option<_>>()?,
                lines: (usize::from(MAXIMA)..kind.into()).map(column).collect(),
            }),
        };
        let bins = bins.as_chunks().0.iter().map(|raw| i32::from_ne_bytes(*raw)).collect();
        Some(Self { bins, power: column(0), maxima })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_that_were_encoded() {
        let (prominence, offset) = (vec![0.25, 1.0, 0.0, 1e-9], vec![-0.5, 0.25, 0.0, 0.1]);
        let maxima = MaximumValues { prominence, offset, lines: Vec::new() };
        let lines = [0.5, 1e-300, 2.0, f64::MAX].map(|value| vec![value, 0.0, -value, 1.0]).to_vec();
        let tested = MaximumValues { lines, ..maxima.clone() };
        for maxima in [None, Some(maxima), Some(tested)] {
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
                lines: Vec::new(),
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
