//! Gains of the learned model that several bins share.

use burn::module::Param;
use burn::tensor::{Device, Tensor, TensorData};
use firefly_models::{LearnedWelchPeaks, LearnedWelchPeaksConfig};

const BINS: usize = 9;

fn model(gains: Option<usize>, device: &Device) -> LearnedWelchPeaks {
    LearnedWelchPeaksConfig::new().with_n_fft(16).with_k(4).with_gains(gains).init(device)
}

fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().try_to_vec().unwrap()
}

/// The gradient of a loss in the logarithms of the gains, which are all alike.
fn gradient(gains: Option<usize>) -> Vec<[f32; 3]> {
    let device = Device::flex().autodiff();
    let model = model(gains, &device);
    let samples: Vec<f32> = (0..4 * 24).map(|i| (i as f32 * 0.9).sin() + 0.3 * (i as f32 * 2.3).cos()).collect();
    let signal = Tensor::<2>::from_data(TensorData::new(samples, [4, 24]), &device);
    let gradients = model.psd(signal, &model.hard_gates()).log().sum().backward();
    values(model.log_gain.val().grad(&gradients).unwrap()).as_chunks().0.to_vec()
}

#[test]
fn neighbouring_bins_share_a_gain() {
    let device = Device::flex();
    for (gains, of_bins) in [(1, [0; BINS]), (3, [0, 0, 0, 1, 1, 1, 2, 2, 2]), (4, [0, 0, 0, 1, 1, 2, 2, 3, 3])] {
        let mut model = model(Some(gains), &device);
        let own: Vec<f32> = (0..3 * gains).map(|i| (i as f32 + 1.0).ln()).collect();
        model.log_gain = Param::from_tensor(Tensor::from_data(TensorData::new(own, [gains, 3]), &device));
        let found = values(model.gain());
        for (bin, taps) in found.as_chunks::<3>().0.iter().enumerate() {
            let expected = [1, 2, 3].map(|tap| (3 * of_bins[bin] + tap) as f32);
            let near = taps.iter().zip(expected).all(|(tap, expected)| (tap / expected - 1.0).abs() < 1e-6);
            assert!(near, "{gains} gains, bin {bin}: {taps:?} instead of {expected:?}");
        }
    }
}

#[test]
fn the_gradient_of_a_shared_gain_is_the_sum_over_its_bins() {
    let own = gradient(None);
    assert_eq!(own.len(), BINS);
    for gains in [1, 3, 4, BINS] {
        let shared = gradient(Some(gains));
        assert_eq!(shared.len(), gains);
        for (gain, found) in shared.iter().enumerate() {
            let bins = (0..BINS).filter(|bin| bin * gains / BINS == gain);
            let expected = bins.fold([0.0; 3], |sum, bin| [0, 1, 2].map(|tap| sum[tap] + own[bin][tap]));
            let near = found.iter().zip(expected).all(|(found, sum)| (found - sum).abs() <= 1e-5 * (1.0 + sum.abs()));
            assert!(near, "gain {gain} of {gains}: {found:?} instead of {expected:?}");
        }
    }
}
