//! Frames of a row: where their samples are, beyond its ends too.

use std::ops::Range;

use crate::cpu::real::Real;
use crate::options::{SignalPadding, StftOptions};

/// Frames of rows of one length.
#[derive(Debug, Clone, Copy)]
pub(super) struct Framing {
    /// Samples of a frame.
    pub n_fft: usize,
    /// Samples from one frame's start to the next.
    pub hop: usize,
    /// Samples of a row.
    pub samples: usize,
    /// Number of frames.
    pub count: usize,
    /// Samples before the row that the first frame starts with.
    padding: usize,
    pad: SignalPadding,
}

impl Framing {
    pub fn new(options: &StftOptions, samples: usize) -> Self {
        let &StftOptions { n_fft, hop, pad, .. } = options;
        Self { n_fft, hop, samples, count: options.frames(samples), padding: options.padding(), pad }
    }

    /// The samples of frame `frame`, if all of them are in the row.
    pub fn inside(&self, frame: usize) -> Option<Range<usize>> {
        let start = (frame * self.hop).checked_sub(self.padding)?;
        (start + self.n_fft <= self.samples).then_some(start..start + self.n_fft)
    }

    /// The sample that is sample `j` of frame `frame`; none where it is the padding's constant.
    pub fn sample(&self, frame: usize, j: usize) -> Option<usize> {
        let position = frame * self.hop + j;
        match position.checked_sub(self.padding) {
            Some(sample) if sample < self.samples => Some(sample),
            after => match self.pad {
                SignalPadding::Constant(_) => None,
                SignalPadding::Edge => Some(after.map_or(0, |_| self.samples - 1)),
                // The last sample is not repeated, nor is the first.
                SignalPadding::Reflect => Some(match after {
                    Some(beyond) => 2 * (self.samples - 1) - beyond,
                    None => self.padding - position,
                }),
                SignalPadding::Circular => Some(match after {
                    Some(beyond) => beyond - self.samples,
                    None => position + self.samples - self.padding,
                }),
            },
        }
    }

    /// The constant of the padding.
    pub fn constant<T: Real>(&self) -> T {
        T::of(f64::from(self.pad.constant()))
    }

    /// Copies frame `frame` of a row.
    pub fn copy<T: Real>(&self, row: &[T], frame: usize, into: &mut [T]) {
        if let Some(inside) = self.inside(frame) {
            return into.copy_from_slice(&row[inside]);
        }
        for (j, into) in into.iter_mut().enumerate() {
            *into = self.sample(frame, j).map_or(self.constant(), |sample| row[sample]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(pad: SignalPadding) -> Vec<Vec<f64>> {
        let framing = Framing::new(&StftOptions::new(6).with_hop(3).with_pad(pad), 5);
        let mut frame = [0.0; 6];
        (0..framing.count)
            .map(|index| {
                framing.copy(&[1.0, 2.0, 3.0, 4.0, 5.0], index, &mut frame);
                frame.to_vec()
            })
            .collect()
    }

    #[test]
    fn ends_are_padded_as_the_mode_says() {
        let reflected = [[4.0, 3.0, 2.0, 1.0, 2.0, 3.0], [1.0, 2.0, 3.0, 4.0, 5.0, 4.0]];
        assert_eq!(frames(SignalPadding::Reflect), reflected);
        let repeated = [[1.0, 1.0, 1.0, 1.0, 2.0, 3.0], [1.0, 2.0, 3.0, 4.0, 5.0, 5.0]];
        assert_eq!(frames(SignalPadding::Edge), repeated);
        let constant = [[7.0, 7.0, 7.0, 1.0, 2.0, 3.0], [1.0, 2.0, 3.0, 4.0, 5.0, 7.0]];
        assert_eq!(frames(SignalPadding::Constant(7.0)), constant);
        let wrapped = [[3.0, 4.0, 5.0, 1.0, 2.0, 3.0], [1.0, 2.0, 3.0, 4.0, 5.0, 1.0]];
        assert_eq!(frames(SignalPadding::Circular), wrapped);
    }
}
