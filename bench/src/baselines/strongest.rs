//! Top-K of a row by partial selection.

/// Writes the `bins.len()` strongest bins of `power`, strongest first, lower bin first among equals; −1 and NaN where
/// there are too few finite ones. `keys` has the length of `power` and is overwritten.
///
/// Power is not negative, so its bits are in its order. A key is those bits above the inverted bin: one integer
/// comparison then settles both power and tie, and the selection has no data-dependent closure to call.
pub fn strongest(power: &[f32], keys: &mut [u64], bins: &mut [i32], peaks: &mut [f32]) {
    for (bin, (key, &power)) in keys.iter_mut().zip(power).enumerate() {
        let bits = if power.is_finite() { u64::from(power.to_bits()) + 1 } else { 0 };
        *key = bits << 32 | u64::from(!(bin as u32));
    }
    let k = bins.len();
    let head = if k < keys.len() {
        let first = keys.len() - k;
        keys.select_nth_unstable(first);
        &mut keys[first..]
    } else {
        keys
    };
    head.sort_unstable();
    for ((&key, bin), peak) in head.iter().rev().zip(bins).zip(peaks) {
        (*bin, *peak) = match (key >> 32) as u32 {
            0 => (-1, f32::NAN),
            bits => (!(key as u32) as i32, f32::from_bits(bits - 1)),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn top(power: &[f32], k: usize) -> (Vec<i32>, Vec<f32>) {
        let (mut keys, mut bins, mut peaks) = (vec![0; power.len()], vec![0; k], vec![0.0; k]);
        strongest(power, &mut keys, &mut bins, &mut peaks);
        (bins, peaks)
    }

    #[test]
    fn strongest_first_and_lower_bins_among_equals() {
        assert_eq!(top(&[1.0, 5.0, 3.0, 5.0, 0.0], 3), (vec![1, 3, 2], vec![5.0, 5.0, 3.0]));
        assert_eq!(top(&[0.0, 0.0, 0.0], 2), (vec![0, 1], vec![0.0, 0.0]));
        assert_eq!(top(&[2.0, 1.0], 2).0, [0, 1]);
    }

    #[test]
    fn non_finite_power_is_never_selected() {
        let (bins, peaks) = top(&[f32::NAN, 1.0, f32::INFINITY], 3);
        assert_eq!(bins, [1, -1, -1]);
        assert!(peaks[0] == 1.0 && peaks[1].is_nan() && peaks[2].is_nan());
    }
}
