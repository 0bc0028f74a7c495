//! Both searches for bases agree, and rows of any kind against the float64 definition.

use firefly_reference::local_maxima as reference;
use proptest::prelude::*;

use crate::cpu::local_maxima;
use crate::cpu::local_maxima::{Bases, base};
use crate::options::LocalMaximaOptions;

/// Values with plateaus, ties, and some that are not finite.
fn special_values() -> impl Strategy<Value = f64> {
    prop_oneof![
        6 => -3.0..3.0,
        6 => (-3..3).prop_map(f64::from),
        1 => prop::sample::select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, f64::MAX, f64::MIN]),
    ]
}

fn options() -> impl Strategy<Value = LocalMaximaOptions> {
    let condition = || prop::option::of(prop_oneof![-3.0..3.0, (-3..3).prop_map(f64::from)]);
    (condition(), 1usize..12, condition()).prop_map(|(height, distance, prominence)| LocalMaximaOptions {
        height,
        distance,
        prominence,
        ..LocalMaximaOptions::new()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 1000 }))]

    #[test]
    fn maxima_are_those_of_the_definition(
        (length, values) in (1usize..60).prop_flat_map(|length| {
            (Just(length), prop::collection::vec(special_values(), length * 3))
        }),
        options in options(),
        k in 1usize..20,
    ) {
        let conditions = reference::Conditions {
            height: options.height,
            distance: options.distance,
            prominence: options.prominence,
        };
        let (expected, expected_bases) = reference::local_maxima(&values, length, &conditions, k);
        let [mut maxima, mut bases] = [0; 2].map(|_| vec![7; 3 * k]);
        local_maxima(&values, length, &options, k, &mut maxima, &mut bases);
        prop_assert_eq!(maxima, expected);
        prop_assert_eq!(bases, expected_bases);
    }

    #[test]
    fn bases_by_search_are_those_of_the_linear_pass(row in prop::collection::vec(special_values(), 1..80)) {
        let mut bases = Bases::new(row.len());
        bases.measure(&row);
        for bin in (0..row.len()).filter(|&bin| row[bin].is_finite()) {
            prop_assert_eq!(bases.of(&row, bin), base(&row, bin));
        }
    }
}
