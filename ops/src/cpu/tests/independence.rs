//! Independence of rows: none disturbs another, and the number of threads changes nothing.

use rayon::ThreadPoolBuilder;

use super::gained::GainedEstimate;
use super::*;
use crate::cpu::*;

/// Enough rows for many tasks, and for blocks of uneven length.
const ROWS: usize = reduced(1009, 13);
const N: usize = reduced(64, 16);
const K: usize = 5;

/// Bit patterns of everything the kernels compute from `signal`.
struct RowBits {
    /// Per row.
    rows: Vec<Vec<u32>>,
    /// Sums over rows.
    sums: Vec<u32>,
}

fn bits(values: &[f32]) -> impl Iterator<Item = u32> {
    values.iter().map(|value| value.to_bits())
}

fn outputs(signal: &[f32], grad: &[f32]) -> RowBits {
    let options = WelchOptions { detrend: Detrend::Constant, scaling: Scaling::Spectrum, ..WelchOptions::new(N, 3) };
    let (frame_len, bins) = (options.frame(), options.bins());
    let rows = signal.len() / frame_len;
    let estimate = GainedEstimate::new(options, 5).single();
    let zeros = |len: usize| vec![0.0f32; len];
    let mut floats: Vec<(Vec<f32>, usize)> = Vec::new();
    let mut peak_bins = vec![0; 2 * rows * K];
    let (plain_bins, gained_bins) = peak_bins.split_at_mut(rows * K);
    let mut sums = Vec::new();
    let plain = Estimate::new(&estimate.window, None, &options);
    for (estimate, bins_of_peaks) in [(plain, plain_bins), (estimate.borrow(), gained_bins)] {
        let (mut power, mut peaks, mut grad_signal) = (zeros(rows * bins), zeros(rows * K), zeros(signal.len()));
        welch_psd(signal, frame_len, &estimate, &mut power);
        welch_peaks(signal, frame_len, &estimate, K, bins_of_peaks, &mut peaks);
        let (mut window, mut gain) = (zeros(N), estimate.gain.map(|gain| zeros(gain.len())));
        let into = [Some(&mut grad_signal[..]), Some(&mut window[..]), gain.as_deref_mut()];
        welch_psd_backward(signal, frame_len, &estimate, grad, into);
        floats.extend([(power, bins), (peaks, K), (grad_signal, frame_len)]);
        sums.extend(bits(&window).chain(bits(&gain.unwrap_or_default())));
    }

    let re: Vec<f32> = signal.chunks(frame_len).flat_map(|frame| frame[..N].to_vec()).collect();
    let im: Vec<f32> = signal.chunks(frame_len).flat_map(|frame| frame[N..2 * N].to_vec()).collect();
    // The gradient of a row's bins, repeated, as that of its outputs.
    let grad: Vec<f32> = grad.chunks(bins).flat_map(|grad| [&grad[..N / 2], &grad[..N / 2]].concat()).collect();
    let [mut out_re, mut out_im, mut grad_re, mut grad_im] = [(); 4].map(|()| zeros(rows * N));
    let (twiddles, gates) = (single(&perturbed_twiddles(N, 31)), single(&random_gates(N, 32)));
    let transform = ButterflyTransform { n: N, twiddles: &twiddles, gates: Some(&gates) };
    let [mut of_twiddles, mut of_gates] = [zeros(twiddles.len()), zeros(gates.len())];
    butterfly([&re, &im], &transform, [&mut out_re, &mut out_im]);
    let into = [&mut grad_re, &mut grad_im, &mut of_twiddles, &mut of_gates].map(|values| Some(&mut values[..]));
    butterfly_backward([&re, &im], &transform, [&grad, &grad], into);
    floats.extend([(out_re, N), (out_im, N), (grad_re, N), (grad_im, N)]);
    [&of_twiddles, &of_gates].iter().for_each(|values| sums.extend(bits(values)));

    let row = |row: usize| {
        let of_row = |(values, len): &(Vec<f32>, usize)| bits(&values[row * len..(row + 1) * len]).collect::<Vec<_>>();
        let peak_bins = peak_bins.chunks(K).skip(row).step_by(rows).flatten().map(|&bin| bin as u32);
        floats.iter().flat_map(of_row).chain(peak_bins).collect()
    };
    RowBits { rows: (0..rows).map(row).collect(), sums }
}

fn inputs() -> (Vec<f32>, Vec<f32>) {
    let options = WelchOptions::new(N, 3);
    (single(&noise(ROWS * options.frame(), 50)), single(&noise(ROWS * options.bins(), 51)))
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let (signal, grad) = inputs();
    let in_pool = |threads| {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool of threads");
        pool.install(|| outputs(&signal, &grad))
    };
    let one = in_pool(1);
    for threads in [2, 3] {
        let many = in_pool(threads);
        assert!(one.rows == many.rows, "{threads} threads");
        assert!(one.sums == many.sums, "{threads} threads");
    }
}

#[test]
fn a_row_that_is_not_finite_stays_alone() {
    let (signal, grad) = inputs();
    let clean = outputs(&signal, &grad);
    let frame_len = WelchOptions::new(N, 3).frame();
    // The samples of the first, a middle and the last segment.
    for (row, sample, value) in [(0, 3, f32::NAN), (ROWS / 2, N, f32::INFINITY), (ROWS - 1, frame_len - 1, f32::NAN)] {
        let mut signal = signal.clone();
        signal[row * frame_len + sample] = value;
        let dirty = outputs(&signal, &grad);
        for other in (0..ROWS).filter(|&other| other != row) {
            assert!(dirty.rows[other] == clean.rows[other], "row {other} by row {row}");
        }
        let power = dirty.rows[row].iter().take(N / 2 + 1);
        assert!(power.into_iter().all(|&bits| !f32::from_bits(bits).is_finite()));
    }
}

#[test]
fn a_row_without_gradient_contributes_nothing() {
    let (mut signal, mut grad) = inputs();
    let (frame_len, bins) = (WelchOptions::new(N, 3).frame(), WelchOptions::new(N, 3).bins());
    grad[7 * bins..8 * bins].fill(0.0);
    let clean = outputs(&signal, &grad);
    signal[7 * frame_len..8 * frame_len].fill(f32::NAN);
    let dirty = outputs(&signal, &grad);
    assert!(dirty.sums == clean.sums);
    assert!(clean.sums.iter().all(|&bits| f32::from_bits(bits).is_finite()));
}

#[test]
fn no_rows_give_no_output() {
    let none = outputs(&[], &[]);
    assert!(none.rows.is_empty());
    assert!(none.sums.iter().all(|&bits| f32::from_bits(bits) == 0.0));
}
