//! Peaks of a block of frames.

use anyhow::{Context, Result, anyhow};
use burn::tensor::kind::Basic;
use burn::tensor::{Element, Tensor};
use bytemuck::cast_slice;
use firefly_app::remote::explained_failure;
use firefly_ops::Band;

use crate::journal::Payload;

/// Peaks of frames, each value `[frames, channels, k]`, strongest first.
#[derive(Debug, Clone, PartialEq)]
pub struct PeakValues {
    /// Bins; −1 where a frame has too few.
    pub bins: Vec<i32>,
    /// Power at those bins; NaN where the bin is −1.
    pub power: Vec<f32>,
    /// Further values of local maxima.
    pub maxima: Option<MaximumValues>,
}

/// Shape of local maxima, NaN where there is none.
#[derive(Debug, Clone, PartialEq)]
pub struct MaximumValues {
    /// Power above the base, in the unit of the power.
    pub prominence: Vec<f32>,
    /// Distance of the line from its bin, in bins.
    pub offset: Vec<f32>,
}

impl PeakValues {
    /// Of the `searched` maxima of each row, the `k` strongest that are in the band, if there is one, and whose power
    /// is at least `ratio` times their base.
    pub fn strongest_of(&self, searched: usize, band: Option<Band>, ratio: f64, k: usize) -> Self {
        let rows = self.bins.len() / searched;
        let mut kept = Self { bins: vec![-1; rows * k], power: vec![f32::NAN; rows * k], maxima: None };
        let Some(maxima) = &self.maxima else { return kept };
        let (mut prominence, mut offset) = (kept.power.clone(), kept.power.clone());
        let is_kept = |place: &usize| {
            let base = f64::from(self.power[*place]) - f64::from(maxima.prominence[*place]);
            let bin = usize::try_from(self.bins[*place]);
            let is_in_band = bin.is_ok_and(|bin| band.is_none_or(|band| (band.first..band.end).contains(&bin)));
            is_in_band && f64::from(self.power[*place]) >= ratio * base
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
///
/// # Errors
/// If the device fails.
pub fn read<E: Element, K: Basic>(tensor: Tensor<2, K>) -> Result<Vec<E>> {
    let device = tensor.device();
    let values = tensor.try_into_vec_as();
    values.map_err(|error| anyhow!(explained_failure(&device, error.to_string()))).context("reading from the device")
}

/// Number of values per peak that is a strongest bin.
const STRONGEST: u8 = 2;
/// Number of values per local maximum.
const MAXIMA: u8 = 4;

/// In the byte order of the machine, which a journal does not leave.
impl Payload for PeakValues {
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(if self.maxima.is_some() { MAXIMA } else { STRONGEST });
        out.extend_from_slice(cast_slice(&self.bins));
        let maxima = self.maxima.iter().flat_map(|maxima| [&maxima.prominence, &maxima.offset]);
        for values in [&self.power].into_iter().chain(maxima) {
            out.extend_from_slice(cast_slice(values));
        }
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (&columns, bytes) = bytes.split_first()?;
        if !matches!(columns, STRONGEST | MAXIMA) || bytes.len() % (4 * usize::from(columns)) != 0 {
            return None;
        }
        let mut columns = bytes.chunks_exact((bytes.len() / usize::from(columns)).max(1));
        let bins = columns.next()?.as_chunks().0.iter().map(|raw| i32::from_ne_bytes(*raw)).collect();
        let mut floats = columns.map(|bytes| bytes.as_chunks().0.iter().map(|raw| f32::from_ne_bytes(*raw)).collect());
        let power = floats.next()?;
        let maxima = match (floats.next(), floats.next()) {
            (Some(prominence), Some(offset)) => Some(MaximumValues { prominence, offset }),
            _ => None,
        };
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
        assert_eq!(PeakValues::decode(&[STRONGEST]), None);
    }

    #[test]
    fn the_strongest_maxima_of_a_band_with_a_prominence_relative_to_their_base_are_kept() {
        let values = PeakValues {
            bins: vec![4, 9, 2, -1, 7, -1, -1, -1],
            power: vec![8.0, 6.0, 5.0, f32::NAN, 3.0, f32::NAN, f32::NAN, f32::NAN],
            maxima: Some(MaximumValues {
                prominence: vec![8.0, 2.0, 4.5, f32::NAN, 1.0, f32::NAN, f32::NAN, f32::NAN],
                offset: vec![0.1, 0.2, 0.3, f32::NAN, 0.4, f32::NAN, f32::NAN, f32::NAN],
            }),
        };
        // Ratios to the base: infinite, 1.5 and 10 in the first row, 1.5 in the second.
        let kept = values.strongest_of(4, None, 10.0, 2);
        assert_eq!(kept.bins, [4, 2, -1, -1]);
        assert_eq!(kept.maxima.unwrap().offset[..2], [0.1, 0.3]);
        assert_eq!(values.strongest_of(4, None, 1.5, 2).bins, [4, 9, 7, -1]);
        assert_eq!(values.strongest_of(4, None, 1.6, 1).power[0], 8.0);
        assert_eq!(values.strongest_of(4, Some(Band::new(2..8)), 0.0, 2).bins, [4, 2, 7, -1]);
    }
}
