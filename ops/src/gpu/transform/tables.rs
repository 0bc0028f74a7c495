//! The table of a step, computed on the host in float64.

use std::f64::consts::{PI, TAU};

use rustfft::FftPlanner;
use rustfft::num_complex::Complex;

use super::step::{Fold, Step, fine_roots, roots_len};

/// The values of a step's table, real and imaginary parts in turn; their order is in [`Step`].
pub fn table(step: &Step) -> Vec<f32> {
    let mut values = Vec::with_capacity(step.table_len() as usize);
    for pass in 0..step.passes() {
        let (radix, before) = (step.radix(pass), step.before(pass));
        if before > 1 {
            for m in 0..radix {
                values.extend((0..before).map(|j| root(u64::from(j * m), before * radix)));
            }
        }
    }
    if step.chirps_input || step.chirps_output {
        values.extend((0..step.points).map(|i| chirp(i, step.points)));
    }
    if step.is_filtered {
        values.extend(filter(step));
    }
    values.extend(roots(step.twiddle_root));
    values.extend(roots(step.fold_root()));
    if values.is_empty() {
        // A buffer is never empty.
        values.push(Complex::new(1.0, 0.0));
    }
    rounded(&values)
}

/// The twiddles of a fold in a launch of its own.
pub fn fold_table(fold: Fold) -> Vec<f32> {
    rounded(&roots(fold.root()))
}

fn rounded(values: &[Complex<f64>]) -> Vec<f32> {
    values.iter().flat_map(|value| [value.re as f32, value.im as f32]).collect()
}

/// The finer roots of unity of [`fine_roots`], then the coarser ones.
fn roots(of: u32) -> Vec<Complex<f64>> {
    let fine = fine_roots(of);
    let coarse = (0..roots_len(of) - fine).map(|block| u64::from(block) * u64::from(fine));
    (0..u64::from(fine)).chain(coarse).map(|exponent| root(exponent, of)).collect()
}

/// exp(−2πi·exponent/of).
fn root(exponent: u64, of: u32) -> Complex<f64> {
    Complex::cis(-TAU * exponent as f64 / f64::from(of))
}

/// exp(−πi·i²/points): the square is reduced in integers, so that the angle is exact.
fn chirp(i: u32, points: u32) -> Complex<f64> {
    let square = u64::from(i) * u64::from(i) % (2 * u64::from(points));
    Complex::cis(-PI * square as f64 / f64::from(points))
}

/// The transform of the conjugate chirp over the length m of the convolution, divided by m: of each column the bins
/// column + columns·k.
fn filter(step: &Step) -> impl Iterator<Item = Complex<f64>> {
    let (length, points, columns) = (step.filter_len() as usize, step.points, step.columns as usize);
    let mut values = vec![Complex::new(0.0, 0.0); length];
    for i in 0..points {
        let value = chirp(i, points).conj() / length as f64;
        values[i as usize] = value;
        values[(length - i as usize) % length] = value;
    }
    FftPlanner::new().plan_fft_forward(length).process(&mut values);
    (0..columns).flat_map(move |column| (column..length).step_by(columns)).map(move |at| values[at])
}
