//! The polynomials against the functions of the platform, on rows of every length.

use super::*;

/// Numbers from 0 to 1.
fn uniform(count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    (0..count).map(|_| f64::from(next() as f32)).collect()
}

#[test]
fn f32_is_near_f64_on_rows_of_every_length() {
    const ROWS: usize = 5;
    for bins in [1, 2, 5, 15, 16, 17, 33, 129] {
        let of = |seed| uniform(ROWS * bins, seed);
        let power: Vec<f64> = of(1).iter().map(|x| f64::from((30.0 * x - 25.0).exp() as f32)).collect();
        let peaks: Vec<f64> = of(2).iter().map(|x| f64::from(*x < 0.2)).collect();
        let (target_power, reference_power, grad) = (of(3), uniform(ROWS, 4), uniform(2 * ROWS, 5));
        let strongest: Vec<f64> = power.chunks(bins).map(|row| row.iter().copied().fold(0.0, f64::max)).collect();
        let options = PeakLossOptions::new(1).with_temperature(0.5).with_weights([0.3, 2.0]);
        let inputs = PeakLossInputs {
            power: &power,
            strongest: &strongest,
            reference_power: &reference_power,
            peaks: &peaks,
            target_power: &target_power,
        };
        let narrow = |values: &[f64]| values.iter().map(|value| *value as f32).collect::<Vec<f32>>();
        let arrays = [&power, &strongest, &reference_power, &peaks, &target_power].map(|values| narrow(values));
        let [power, strongest, reference_power, peaks, target_power] = arrays.each_ref().map(Vec::as_slice);
        let narrow_inputs = PeakLossInputs { power, strongest, reference_power, peaks, target_power };

        let (mut expected, mut found) = (vec![0.0; 2 * ROWS], vec![0.0; 2 * ROWS]);
        peak_loss(&inputs, &options, &mut expected);
        peak_loss(&narrow_inputs, &options, &mut found);
        for (found, expected) in found.iter().zip(&expected) {
            assert!((f64::from(*found) - expected).abs() <= 2e-6 * (1.0 + expected), "{bins}: {found}, {expected}");
        }
        let (mut expected, mut found) = (vec![0.0; ROWS * bins], vec![0.0; ROWS * bins]);
        peak_loss_backward(&inputs, &grad, &options, &mut expected);
        peak_loss_backward(&narrow_inputs, &narrow(&grad), &options, &mut found);
        for (row, (found, expected)) in found.chunks(bins).zip(expected.chunks(bins)).enumerate() {
            let largest = expected.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
            for (found, expected) in found.iter().zip(expected) {
                let error = (f64::from(*found) - expected).abs();
                assert!(error <= 1e-5 * largest, "{bins} bins, row {row}: {found}, {expected}");
            }
        }
    }
}
