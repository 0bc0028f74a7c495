//! Peaks through the Rust API: `firefly_ops::welch_peaks`, which the Python package calls, timed one call per line of
//! standard input, which says `constant` or `none`, the trend that is subtracted. Prints the seconds of each call.
//!
//! `rust_peaks ROWS FRAME N_FFT K THREADS`

use std::error::Error;
use std::hint::black_box;
use std::io::{self, BufRead, Write};
use std::time::Instant;

use burn::tensor::{Device, Distribution, FloatDType, Tensor};
use firefly_ops::{Detrend, Scaling, WelchOptions, Window, WindowSymmetry, welch_peaks};

fn main() -> Result<(), Box<dyn Error>> {
    let numbers = std::env::args().skip(1).map(|text| text.parse()).collect::<Result<Vec<usize>, _>>()?;
    let [rows, frame, n_fft, k, threads] = numbers[..] else {
        return Err("usage: rust_peaks ROWS FRAME N_FFT K THREADS".into());
    };
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    let device = Device::flex();
    let signal = Tensor::<2>::random([rows, frame], Distribution::Normal(0.0, 1.0), &device);
    let window = Window::Hann.tensor(n_fft, WindowSymmetry::Periodic, FloatDType::F32, &device);
    let options =
        WelchOptions::new(n_fft, 2 * (frame - n_fft) / n_fft + 1).with_scaling(Scaling::Density { sample_rate: 1.0 });
    let mut out = io::stdout();
    for line in io::stdin().lock().lines() {
        let detrend = if line? == "constant" { Detrend::Constant } else { Detrend::None };
        let options = options.with_detrend(detrend);
        let start = Instant::now();
        let peaks = welch_peaks(signal.clone(), window.clone(), &options, k)?;
        black_box((peaks.bins.into_data(), peaks.power.into_data()));
        writeln!(out, "{}", start.elapsed().as_secs_f64())?;
        out.flush()?;
    }
    Ok(())
}
