use proptest::prelude::*;

use super::top_k_of as peaks;
use crate::cpu::Real;

fn expected_bins<T: Real>(power: &[T], k: usize) -> Vec<i64> {
    let mut bins: Vec<usize> = (0..power.len()).filter(|&bin| power[bin].is_finite()).collect();
    bins.sort_by(|&a, &b| power[b].partial_cmp(&power[a]).expect("finite").then(a.cmp(&b)));
    let missing = std::iter::repeat(-1);
    bins.into_iter().map(|bin| bin as i64).chain(missing).take(k).collect()
}

fn check<T: Real>(power: &[T], k: usize) {
    let (peak_bins, peak_power) = peaks(power, power.len(), k);
    assert_eq!(peak_bins, expected_bins(power, k));
    for (&bin, power_of_peak) in peak_bins.iter().zip(peak_power) {
        match usize::try_from(bin) {
            Ok(bin) => assert!(power_of_peak == power[bin]),
            Err(_) => assert!(power_of_peak.is_nan()),
        }
    }
}

fn special_values() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => 0.0..3.0,
        4 => (0..4).prop_map(f64::from),
        1 => -3.0..0.0,
        1 => proptest::sample::select(vec![
            f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 1e-40, -1e-40, 5e-324, f64::MAX, f64::MIN,
        ]),
    ]
}

proptest! {
    #[test]
    #[cfg_attr(miri, ignore = "plain loops in safe code, too slow under Miri")]
    fn the_strongest_bins_in_order(power in proptest::collection::vec(special_values(), 1..140), part in 0.0..1.0) {
        let k = 1 + (part * power.len() as f64) as usize;
        check(&power, k.min(power.len()));
        check(&power.iter().map(|&p| p as f32).collect::<Vec<_>>(), k.min(power.len()));
    }
}

#[test]
fn the_lower_bin_wins_a_tie() {
    assert_eq!(peaks(&[1.0f32, 3.0, 0.0, 3.0, -0.0, 3.0], 6, 6).0, [1, 3, 5, 0, 2, 4]);
    assert_eq!(peaks(&[2.0f64; 9], 9, 4).0, [0, 1, 2, 3]);
}

#[test]
fn non_finite_values_are_never_selected() {
    let power = [f32::NAN, 1.0, f32::INFINITY, f32::MIN, f32::NEG_INFINITY];
    let (bins, peak_power) = peaks(&power, 5, 5);
    assert_eq!(bins, [1, 3, -1, -1, -1]);
    assert_eq!(peak_power[..2], [1.0, f32::MIN]);
    assert!(peak_power[2..].iter().all(|power| power.is_nan()));
}

#[test]
fn rows_are_independent() {
    let power = [f64::NAN, f64::NAN, f64::NAN, 1.0, 2.0, 3.0];
    assert_eq!(peaks(&power, 3, 2).0, [-1, -1, 2, 1]);
}

#[test]
#[cfg_attr(miri, ignore = "plain loops in safe code, too slow under Miri")]
fn the_longest_row() {
    let power: Vec<f32> = super::single(&super::noise(32_769, 8));
    check(&power, 16);
    check(&power, 32_769);
}
