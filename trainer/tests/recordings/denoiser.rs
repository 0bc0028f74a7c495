//! The denoiser that ships, on the speaker it was not trained on.

use std::path::Path;

use burn::tensor::{Device, Tensor};
use firefly_models::zoo;
use firefly_trainer::config::load;
use firefly_trainer::tasks::denoising::{
    Condition, Denoising, ExampleSets, Noisy, NoisyBatch, SpectralSubtraction, si_snr, tuned,
};
use libtest_mimic::Trial;

use crate::{assert_near, figure, trial};

/// Training examples that spectral subtraction is tuned on.
const TUNED_ON: usize = 48;
/// Examples per batch.
const BATCH: usize = 50;

pub fn trials() -> Vec<Trial> {
    vec![trial("the_denoiser_that_ships_has_the_ratio_of_its_card_2_db_above_spectral_subtraction", "speech", denoiser)]
}

/// Mean ratio of estimates, in decibels.
fn ratio(estimate: Tensor<2>, clean: &Tensor<2>) -> f64 {
    let [rows, samples] = clean.dims();
    let [estimate, clean] = [estimate, clean.clone()].map(|rows| rows.into_data().iter().collect::<Vec<f32>>());
    let pairs = estimate.chunks(samples).zip(clean.chunks(samples));
    pairs.map(|(estimate, clean)| si_snr(estimate, clean).unwrap()).sum::<f64>() / rows as f64
}

fn denoiser(data: &Path) {
    let device = Device::flex();
    let config = load::<Denoising>(Path::new("../configs/denoising-speech.toml"), &[], Some(data)).unwrap();
    let sets = ExampleSets::open(&config).unwrap();
    let model = zoo::pretrained("spectral_denoiser_speech", &device).unwrap();
    let tuning: Vec<usize> = (0..TUNED_ON).map(|index| index * sets.train.len() / TUNED_ON).collect();
    let test: Vec<usize> = (0..sets.test.len()).collect();
    let (mut learned, mut subtracted, mut batches) = (0.0, 0.0, 0);
    for kind in &config.data.noises {
        let condition = Condition { kind: *kind, snr_db: 5.0 };
        let NoisyBatch { clean, noisy } = sets.train.mixed(&tuning, |_| condition, &device);
        let noisy = Noisy::new(noisy, config.data.sample_rate).unwrap();
        let score = |settings: &SpectralSubtraction| noisy.subtracted(settings).map(|rows| ratio(rows, &clean));
        let settings = tuned(score).unwrap();

        for indices in test.chunks(BATCH) {
            let NoisyBatch { clean, noisy } = sets.test.mixed(indices, |_| condition, &device);
            let denoised = model.try_forward(vec![noisy.clone().into()]).unwrap().remove(0);
            learned += ratio(denoised.try_float::<2>("test", "denoised").unwrap(), &clean);
            let noisy = Noisy::new(noisy, config.data.sample_rate).unwrap();
            subtracted += ratio(noisy.subtracted(&settings).unwrap(), &clean);
            batches += 1;
        }
    }
    let [learned, subtracted] = [learned, subtracted].map(|sum| sum / f64::from(batches));
    assert!(learned >= subtracted + 2.0, "{learned} dB and {subtracted} dB");
    assert_near(learned, figure("spectral_denoiser_speech", "SI-SNR"), 0.05);
}
