//! Adaptive Welch peaks beside estimates from a fixed number of segments.

use burn::tensor::{Device, FloatDType, Tensor};
use firefly_models::{AdaptivePeaks, AdaptiveRounds, AdaptiveWelchPeaks, ArgumentError, WindowSymmetry};
use firefly_ops::welch_peaks;

use super::LossSection;
use super::estimator::{Compared, Estimate, Estimator, Output};
use crate::metrics::StepLoss;
use crate::tasks::gate_noise::GateNoise;
use crate::tasks::peak_targets::peak_targets;

impl Estimator for AdaptiveWelchPeaks {
    fn frame(&self) -> usize {
        self.options().frame()
    }

    /// Expected share of the peaks of all segments that are lost where a frame stops, and the price of its
    /// segments. What is lost after a round does not depend on the parameters: the gradient is that of stopping there.
    fn loss(
        &self,
        frames: Tensor<2>,
        section: &LossSection,
        _noise: Option<GateNoise>,
    ) -> Result<StepLoss, ArgumentError> {
        let (k, rows) = (self.config().k, frames.dims()[0] as f64);
        let AdaptiveRounds { power, stops } = self.try_rounds(frames)?;
        let peaks = power.into_iter().map(|power| Ok(peak_targets(power, k)?.peaks));
        let peaks = peaks.collect::<Result<Vec<_>, ArgumentError>>()?;
        // A model has two rounds at least, the last of which is the reference.
        let reference = &peaks[peaks.len() - 1];
        let lost = peaks.iter().map(|found| (found.clone() * reference.clone()).sum_dim(1) / -(k as f64) + 1.0);
        let error = (stops.clone() * Tensor::cat(lost.collect(), 1)).sum() / rows;
        let counts: Vec<f32> = self.config().rounds.iter().map(|count| *count as f32).collect();
        let counts = Tensor::<1>::from_data(counts.as_slice(), &stops.device().inner());
        let price = (stops * counts.unsqueeze()).sum() * (section.price / rows);
        Ok(StepLoss { total: error.clone() + price.clone(), terms: vec![("error", error), ("price", price)] })
    }

    fn estimate(&self, frames: Tensor<2>) -> Result<Estimate, ArgumentError> {
        let AdaptivePeaks { peaks, segments } = self.try_forward(frames)?;
        Ok(Estimate { output: Output::Peaks(peaks), segments: Some(segments) })
    }

    fn open_share(&self) -> Option<f64> {
        None
    }

    fn exact(&self, device: &Device) -> Vec<Compared<'static>> {
        let (config, all) = (self.config(), self.options());
        let window = config.window.tensor(config.n_fft, WindowSymmetry::Periodic, FloatDType::F32, device);
        let of_segments = |segments: usize| {
            let (window, options, k) = (window.clone(), all.with_segments(segments), config.k);
            let estimate = move |frames: Tensor<2>| {
                let segments = Tensor::full([frames.dims()[0], 1], segments as f64, &frames.device());
                let peaks = welch_peaks(frames, window.clone(), &options, k)?;
                Ok(Estimate { output: Output::Peaks(peaks), segments: Some(segments) })
            };
            let name = if segments == 1 { "1 segment".into() } else { format!("{segments} segments") };
            Compared { name, is_learned: false, open_share: None, estimate: Box::new(estimate) }
        };
        (1..=all.segments).map(of_segments).collect()
    }
}

#[cfg(test)]
mod tests {
    use burn::module::Param;
    use burn::tensor::Distribution;
    use firefly_models::AdaptiveWelchPeaksConfig;

    use super::*;

    /// Error and price of frames that all stop after the first round, or after the last.
    fn terms(threshold: f32) -> [f64; 2] {
        let device = Device::flex();
        device.seed(1);
        let config = AdaptiveWelchPeaksConfig::new().with_n_fft(64).with_k(4).with_rounds(vec![1, 2, 4]);
        let mut model = config.init(&device);
        model.thresholds = Param::from_tensor(Tensor::full([2], threshold, &device));
        let frames = Tensor::<2>::random([50, model.frame()], Distribution::Normal(0.0, 1.0), &device);
        let loss = model.loss(frames, &LossSection { price: 0.1, ..LossSection::default() }, None).unwrap();
        [0, 1].map(|term: usize| loss.terms[term].1.clone().into_scalar::<f64>())
    }

    #[test]
    fn frames_that_stop_at_once_lose_peaks_and_those_that_go_on_pay_for_every_segment() {
        let ([lost, first], [none, all]) = (terms(2.0), terms(-1.0));
        assert!((0.1..0.9).contains(&lost) && (first - 0.1).abs() < 1e-6, "{lost} and {first}");
        assert!(none.abs() < 1e-6 && (all - 0.4).abs() < 1e-6, "{none} and {all}");
    }
}
