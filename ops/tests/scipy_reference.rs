//! The Welch reference against `scipy.signal.welch`, on the cases of `fixtures/make_welch.py`.

mod common;

use common::fixtures::Fixtures;
use common::{definition, relative_error};
use firefly_reference::welch::welch_psd;

/// Largest difference allowed, relative to the row's maximum.
const TOLERANCE: f64 = 1e-12;

#[test]
fn the_reference_equals_scipy() {
    let fixtures = Fixtures::load();
    let mut worst: f64 = 0.0;
    for case in &fixtures.cases {
        let power = welch_psd(fixtures.samples(case), case.frame, &case.window(), &definition(&case.options()));
        let error = relative_error(&power, &case.power);
        assert!(error <= TOLERANCE, "{}: relative error {error:.1e}", case.describe());
        worst = worst.max(error);
    }
    println!("{} cases, worst relative error {worst:.1e}", fixtures.cases.len());
}
