//! Sizes of a spectral convolution, and the frequencies of its modes.

use crate::options::{Direction, FftOptions};

/// Sizes of a spectral convolution of `[batch, inputs, points…]` with weights `[inputs, outputs, modes…]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SpectralShape {
    pub batch: usize,
    /// Channels of the input.
    pub inputs: usize,
    /// Channels of the output.
    pub outputs: usize,
    /// Points of each transformed dimension.
    pub points: Vec<usize>,
    /// Modes kept of each transformed dimension.
    pub modes: Vec<usize>,
}

impl SpectralShape {
    /// The sizes of an input and of weights of these shapes.
    pub fn of(input: &[usize], weights: &[usize]) -> Self {
        Self {
            batch: input[0],
            inputs: input[1],
            outputs: weights[1],
            points: input[2..].to_vec(),
            modes: weights[2..].to_vec(),
        }
    }

    /// The last of the transformed dimensions.
    pub fn last(&self) -> usize {
        self.points.len() - 1
    }

    pub fn samples(&self) -> usize {
        self.points.iter().product()
    }

    /// Modes of a channel.
    pub fn channel_modes(&self) -> usize {
        self.modes.iter().product()
    }

    /// Complex values of a channel between the transforms along dimension `dim` and along the one after it.
    pub fn values_between(&self, dim: usize) -> usize {
        self.points[..=dim].iter().chain(&self.modes[dim + 1..]).product()
    }

    /// The columns that a transform along dimension `dim`, which is not the last, takes.
    pub fn columns(&self, dim: usize) -> Columns {
        Columns { points: self.points[dim], modes: self.modes[dim], width: self.modes[dim + 1..].iter().product() }
    }

    /// The transform of samples to half spectra along the last dimension.
    pub fn forward(&self) -> FftOptions {
        FftOptions::new(self.points[self.last()], Direction::Forward)
    }

    /// The transform of half spectra to samples along the last dimension, with the factor of all dimensions.
    pub fn inverse(&self) -> FftOptions {
        FftOptions { direction: Direction::Inverse, scale: 1.0 / self.samples() as f64, ..self.forward() }
    }

    /// The adjoint of [`forward`](Self::forward): an interior bin stands for two bins of the whole spectrum.
    pub fn forward_adjoint(&self) -> FftOptions {
        FftOptions { direction: Direction::Inverse, interior: 0.5, ..self.forward() }
    }

    /// The adjoint of [`inverse`](Self::inverse).
    pub fn inverse_adjoint(&self) -> FftOptions {
        FftOptions { direction: Direction::Forward, interior: 2.0, ..self.inverse() }
    }
}

/// Columns of complex matrices `[points, width]` that are transformed, of which `modes` bins are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Columns {
    pub points: usize,
    pub modes: usize,
    pub width: usize,
}

impl Columns {
    /// Modes of non-negative frequency, which come first; those of negative frequency follow.
    pub fn lower(&self) -> usize {
        self.modes.div_ceil(2)
    }

    /// The bin of a mode.
    #[cfg_attr(not(any(feature = "flex", feature = "ndarray")), allow(dead_code, reason = "kernels on a CPU"))]
    pub fn bin(&self, mode: usize) -> usize {
        if mode < self.lower() { mode } else { self.points - self.modes + mode }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_the_lowest_frequencies_of_both_signs() {
        let bins = |points, modes| {
            let columns = Columns { points, modes, width: 1 };
            (0..modes).map(|mode| columns.bin(mode)).collect::<Vec<_>>()
        };
        assert_eq!(bins(8, 4), [0, 1, 6, 7]);
        assert_eq!(bins(8, 5), [0, 1, 2, 6, 7]);
        assert_eq!(bins(3, 1), [0]);
        assert_eq!(bins(4, 4), [0, 1, 2, 3]);
        assert_eq!(bins(5, 5), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn values_shrink_with_every_transform() {
        let shape = SpectralShape::of(&[2, 3, 8, 10, 12], &[3, 4, 5, 6, 7]);
        assert_eq!([1, 0].map(|dim| shape.values_between(dim)), [560, 336]);
        assert_eq!((shape.samples(), shape.channel_modes()), (960, 210));
        assert_eq!(shape.columns(0), Columns { points: 8, modes: 5, width: 42 });
        assert_eq!(shape.columns(1), Columns { points: 10, modes: 6, width: 7 });
    }
}
