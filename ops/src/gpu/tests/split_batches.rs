//! A batch that no buffer of the device holds is split over launches, with the same results.

use super::devices::accelerators;
use super::outputs::outputs;
use crate::options::WelchOptions;

#[test]
#[ignore = "needs a device; run with --include-ignored"]
fn a_batch_that_no_buffer_holds_gives_the_same_results() {
    let (rows, options) = (200, WelchOptions::new(64, 1));
    for device in accelerators() {
        let whole = outputs(&device, &options, rows);
        // 64 rows, so the batch takes four launches, the last one smaller.
        let mut small = device.clone();
        small.limits.buffer = 64 * 4 * options.n_fft as u64;
        for (at, (whole, split)) in whole.iter().zip(&outputs(&small, &options, rows)).enumerate() {
            let largest = whole.iter().fold(0f32, |largest, value| largest.max(value.abs()));
            let close = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-5 * largest;
            assert!(whole.len() == split.len() && whole.iter().zip(split).all(close), "output {at}");
        }
    }
}
