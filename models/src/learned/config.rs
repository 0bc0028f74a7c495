//! What a learned model starts from.

use burn::config::Config;
use burn::module::Param;
use burn::tensor::{Device, FloatDType, Tensor, TensorData};
use firefly_ops::{ArgumentError, Detrend, Direction, Scaling, WelchOptions, Window, WindowSymmetry, exact_twiddles};

use super::module::LearnedWelchPeaks;
use crate::welch_peaks::validate;

/// Most candidate segments.
const MAX_SEGMENTS: usize = 65_536;
/// No gate with a greater logit would ever close.
const MAX_LOGIT: f64 = 50.0;
/// Logarithm of a neighbour's gain at the start: nearly nothing, but not so little that its gradient is.
const NEIGHBOUR_LOG_GAIN: f32 = -4.0;

/// Configuration of [`LearnedWelchPeaks`].
///
/// The model starts close to the exact estimate over the open segments; training departs from there.
#[derive(Config, Debug, PartialEq)]
pub struct LearnedWelchPeaksConfig {
    /// Samples in a segment: a power of two from 8 to 65,536.
    #[config(default = 256)]
    pub n_fft: usize,
    /// Samples from one candidate segment's start to the next; half a segment unless given.
    pub hop: Option<usize>,
    /// Candidate segments of a frame: a gate opens or closes each of them.
    #[config(default = 2)]
    pub segments: usize,
    /// The candidates that start open; all of them unless given.
    pub open_segments: Option<Vec<usize>>,
    /// Peaks a row: from 1 to the number of bins.
    #[config(default = 16)]
    pub k: usize,
    /// The taper's shape at the start.
    #[config(default = "Window::Hann")]
    pub window: Window,
    /// Whether that shape is periodic or symmetric.
    #[config(default = "WindowSymmetry::Periodic")]
    pub symmetry: WindowSymmetry,
    /// How power is scaled.
    #[config(default = "Scaling::Power")]
    pub scaling: Scaling,
    /// What is taken off each segment.
    #[config(default = "Detrend::None")]
    pub detrend: Detrend,
    /// Logit of a gate that starts open, at most 50; the larger, the longer a price must push to close it.
    #[config(default = 3.0)]
    pub open_logit: f64,
}

impl LearnedWelchPeaksConfig {
    /// The estimate over all candidate segments.
    pub fn options(&self) -> WelchOptions {
        WelchOptions {
            n_fft: self.n_fft,
            hop: self.hop.unwrap_or(self.n_fft / 2),
            segments: self.segments,
            scaling: self.scaling,
            detrend: self.detrend,
        }
    }

    /// Checks every field.
    ///
    /// # Errors
    /// [`ArgumentError`] naming the first field that is out of range.
    pub fn validate(&self) -> Result<(), ArgumentError> {
        const NAME: &str = "LearnedWelchPeaksConfig";
        validate(NAME, &self.options(), self.k)?;
        if let Some(open) = &self.open_segments {
            if open.is_empty() {
                return Err(ArgumentError::new(NAME, "open_segments", "empty", "at least one segment"));
            }
            if let Some((place, segment)) =
                open.iter().enumerate().find(|(place, segment)| open[..*place].contains(segment))
            {
                let got = format!("{segment} again at place {place}");
                return Err(ArgumentError::new(NAME, "open_segments", got, "each candidate once"));
            }
            if let Some(segment) = open.iter().find(|segment| **segment >= self.segments) {
                let expected = format!("candidates below {}", self.segments);
                return Err(ArgumentError::new(NAME, "open_segments", segment, expected));
            }
        }
        if self.segments > MAX_SEGMENTS {
            let expected = format!("at most {MAX_SEGMENTS}");
            return Err(ArgumentError::new(NAME, "segments", self.segments, expected));
        }
        if !(self.open_logit > 0.0 && self.open_logit <= MAX_LOGIT) {
            let expected = format!("above 0 and at most {MAX_LOGIT}");
            return Err(ArgumentError::new(NAME, "open_logit", self.open_logit, expected));
        }
        Ok(())
    }

    /// The module on `device`.
    ///
    /// # Errors
    /// [`ArgumentError`] naming the first field that is out of range.
    pub fn init(&self, device: &Device) -> Result<LearnedWelchPeaks, ArgumentError> {
        self.validate()?;
        let options = self.options();
        let bins = options.bins();
        let log_gain = [NEIGHBOUR_LOG_GAIN, 0.0, NEIGHBOUR_LOG_GAIN].repeat(bins);
        let shape = [options.stages(), self.n_fft / 2];
        let segment_logits: Vec<f32> = (0..self.segments)
            .map(|segment| {
                let open = self.open_segments.as_ref().is_none_or(|open| open.contains(&segment));
                if open { self.open_logit as f32 } else { -self.open_logit as f32 }
            })
            .collect();
        let segment_logits = Tensor::from_data(TensorData::new(segment_logits, [self.segments]), device);
        Ok(LearnedWelchPeaks {
            taper: Param::from_tensor(self.window.tensor(self.n_fft, self.symmetry, FloatDType::F32, device)),
            twiddles: Param::from_tensor(exact_twiddles(self.n_fft, Direction::Forward, FloatDType::F32, device)?),
            gate_logits: Param::from_tensor(Tensor::full(shape, self.open_logit, device)),
            segment_logits: Param::from_tensor(segment_logits),
            log_gain: Param::from_tensor(Tensor::from_data(TensorData::new(log_gain, [bins, 3]), device)),
            config: self.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_fields_are_named() {
        let message = |config: LearnedWelchPeaksConfig| config.validate().unwrap_err().to_string();
        let good = LearnedWelchPeaksConfig::new();
        assert_eq!(good.validate(), Ok(()));
        assert!(message(good.clone().with_n_fft(100)).contains("`n_fft` is 100"));
        assert!(message(good.clone().with_k(130)).contains("`k` is 130"));
        assert!(message(good.clone().with_segments(0)).contains("`segments` is 0"));
        assert!(message(good.clone().with_open_segments(Some(vec![2]))).contains("`open_segments` is 2"));
        assert!(message(good.clone().with_open_segments(Some(vec![]))).contains("at least one"));
        assert!(message(good.clone().with_open_segments(Some(vec![1, 1]))).contains("each candidate once"));
        assert!(message(good.clone().with_segments(100_000).with_hop(Some(1))).contains("at most 65536"));
        assert!(message(good.clone().with_open_logit(1e39)).contains("`open_logit`"));
        assert!(message(good.clone().with_open_logit(f64::NAN)).contains("`open_logit`"));
        assert!(good.with_hop(Some(0)).init(&Device::flex()).unwrap_err().to_string().contains("`hop` is 0"));
    }
}
