//! Exact estimates whose segments are placed in a frame, against the float64 definition.

use burn::tensor::{Device, Int, Tensor};
use firefly_models::auto::Strategy;
use firefly_models::testing::{Formulation, StockWelchPeaks};
use firefly_models::{AutoWelchPeaksConfig, WelchPeaksConfig};
use firefly_ops::options::{SegmentPlacement, SegmentSet};
use firefly_reference::peaks::top_k;
use firefly_reference::welch::{PowerScaling, WelchDefinition, welch_psd};
use firefly_reference::window::{Symmetry, WindowShape, window};

use crate::common::{assert_close, samples, tensor, values};

const ROWS: usize = 5;
const N: usize = 64;
const HOP: usize = 32;
const BINS: usize = N / 2 + 1;
/// Longer than the segments of any placement here.
const FRAME: usize = N + 9 * HOP;

/// Power of every row, the mean of those of the segments with these indices: `[ROWS, BINS]`.
fn expected(signal: &[f64], indices: &[usize]) -> Vec<f64> {
    let taper = window(WindowShape::Hann, Symmetry::Periodic, N);
    let scaling = PowerScaling::Raw;
    let single = WelchDefinition { n_fft: N, hop: HOP, segments: 1, scaling, remove_mean: false };
    let mut power = vec![0.0; ROWS * BINS];
    for (row, power) in signal.chunks(FRAME).zip(power.chunks_mut(BINS)) {
        for index in indices {
            let of_segment = welch_psd(&row[index * HOP..][..N], N, &taper, &single);
            power.iter_mut().zip(of_segment).for_each(|(sum, of)| *sum += of / indices.len() as f64);
        }
    }
    power
}

#[test]
fn placed_segments_have_the_power_of_their_definition() {
    let (signal, device) = (samples(ROWS * FRAME, 3), Device::flex());
    let frames = || tensor(&signal, [ROWS, FRAME], &device);
    let listed = SegmentPlacement::Listed(SegmentSet::new([0, 1, 6]).unwrap());
    for (segments, placement, indices, frame) in [
        (3, None, &[0, 1, 2][..], 4),
        (4, Some(SegmentPlacement::Spread(8)), &[0, 2, 4, 6], 9),
        (3, Some(SegmentPlacement::Spread(8)), &[0, 2, 5], 9),
        (2, Some(SegmentPlacement::Spread(10)), &[0, 5], 11),
        (3, Some(listed), &[0, 1, 6], 8),
    ] {
        let config = WelchPeaksConfig::new().with_n_fft(N).with_k(4).with_segments(segments).with_placement(placement);
        assert_eq!(config.options().frame(), frame * HOP, "{placement:?}");
        let expected = expected(&signal, indices);
        let model = config.init(&device);
        assert_close(&format!("{placement:?}"), &values(model.psd(frames())), &expected, 5e-6);
        let stock = StockWelchPeaks::new(&config, Formulation::Unfold, &device).unwrap();
        assert_close(&format!("stock, {placement:?}"), &values(stock.psd(frames())), &expected, 1e-5);

        let (strongest, _) = top_k(&expected, BINS, 4);
        let bins = |bins: Tensor<2, Int>| bins.into_data().iter::<i64>().collect::<Vec<_>>();
        assert_eq!(bins(model.forward(frames()).bins), strongest, "{placement:?}");
        for strategy in Strategy::EXACT {
            let auto = AutoWelchPeaksConfig::new().with_peaks(config.clone()).with_strategies(vec![strategy]);
            assert_eq!(bins(auto.init(&device).forward(frames()).bins), strongest, "{strategy}, {placement:?}");
        }
    }
}

#[test]
fn candidate_numbers_of_segments_are_spread_over_one_frame() {
    let device = Device::flex();
    let signal = samples(ROWS * FRAME, 4);
    let peaks = WelchPeaksConfig::new().with_n_fft(N).with_k(4).with_placement(Some(SegmentPlacement::Spread(8)));
    let auto = AutoWelchPeaksConfig::new().with_peaks(peaks.clone()).with_segments(vec![4, 8]).init(&device);
    let selected = auto.select(ROWS, FRAME, false).selected.segments;
    let exact = peaks.with_segments(selected).init(&device);
    let power = |peaks: firefly_models::Peaks<2>| values(peaks.power);
    let frames = tensor(&signal, [ROWS, FRAME], &device);
    // Strategies differ in rounding.
    assert_close("power", &power(auto.forward(frames.clone())), &power(exact.forward(frames)), 1e-5);
    assert!([4, 8].contains(&selected));
}

#[test]
fn placements_that_hold_no_such_number_are_refused() {
    let config = |segments, placement| WelchPeaksConfig::new().with_segments(segments).with_placement(Some(placement));
    let message = |config: WelchPeaksConfig| config.validate().unwrap_err().to_string();
    assert!(message(config(9, SegmentPlacement::Spread(8))).contains("`placement` is spread over 8"));
    let listed = SegmentPlacement::Listed(SegmentSet::new([0, 5]).unwrap());
    assert!(message(config(3, listed)).contains("`segments` is 3, but must be the number of those listed (0, 5), 2"));
    let of_two = AutoWelchPeaksConfig::new().with_peaks(config(2, listed)).with_segments(vec![1, 2]);
    assert!(of_two.try_init(&Device::flex()).unwrap_err().to_string().contains("`segments` is 1"));
}
