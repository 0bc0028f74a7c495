//! No kernel has an access out of bounds: with bounds checks, which drop such accesses, every output has the same bits.

use super::outputs::{accelerators, outputs};
use crate::options::{Detrend, Scaling, WelchOptions};

#[test]
fn bounds_checks_change_no_bit() {
    let apart = |n| WelchOptions {
        scaling: Scaling::Spectrum,
        detrend: Detrend::Constant,
        hop: n + 3,
        ..WelchOptions::new(n, 3)
    };
    // Each search for peaks, one launch and several, paired and odd segments.
    let cases = [apart(16), WelchOptions::new(64, 2), apart(256), WelchOptions::new(4096, 2)];
    for (device, options) in accelerators().iter().flat_map(|device| cases.iter().map(move |case| (device, case))) {
        let mut checked = device.clone();
        checked.bounds_checks = true;
        let pairs = outputs(device, options, 5).into_iter().zip(outputs(&checked, options, 5));
        for (at, (without, with)) in pairs.enumerate() {
            let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
            assert!(bits(&without) == bits(&with), "n {}: output {at}", options.n_fft);
        }
    }
}
