//! Frames of a row: where their samples are, beyond its ends too, and the gradients of those.

use std::ops::Range;

use crate::cpu::real::Real;
use crate::options::{SignalPadding, StftOptions};

/// Frames of rows of one length.
#[derive(Debug, Clone, Copy)]
pub(super) struct Framing {
    pub n_fft: usize,
    pub hop: usize,
    pub samples: usize,
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

/// Sums that the gradients of a row's frames are added to; either may be empty.
pub(super) struct FrameGradients<'a, T> {
    pub framing: &'a Framing,
    /// `[n_fft]`.
    pub window: &'a [T],
    /// `[samples]`.
    pub signal: &'a mut [T],
    /// `[n_fft]`.
    pub of_window: &'a mut [T],
}

impl<T: Real> FrameGradients<'_, T> {
    /// Adds the part of frame `frame` of `row`, from `grad`, the gradient of its windowed samples.
    pub fn add(&mut self, row: &[T], frame: usize, grad: &[T]) {
        let Some(inside) = self.framing.inside(frame) else {
            return self.add_at_an_end(row, frame, grad);
        };
        if !self.signal.is_empty() {
            let sums = self.signal[inside.clone()].iter_mut();
            sums.zip(grad).zip(self.window).for_each(|((sum, &grad), &window)| *sum += window * grad);
        }
        let sums = self.of_window.iter_mut();
        sums.zip(grad).zip(&row[inside]).for_each(|((sum, &grad), &sample)| *sum += sample * grad);
    }

    /// [`add`](Self::add) for a frame that reaches beyond the row.
    fn add_at_an_end(&mut self, row: &[T], frame: usize, grad: &[T]) {
        for (j, &grad) in grad.iter().enumerate() {
            let sample = self.framing.sample(frame, j);
            if let Some(sum) = sample.and_then(|sample| self.signal.get_mut(sample)) {
                *sum += self.window[j] * grad;
            }
            if let Some(sum) = self.of_window.get_mut(j) {
                *sum += sample.map_or(self.framing.constant(), |sample| row[sample]) * grad;
            }
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
