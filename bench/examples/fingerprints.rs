//! Fingerprints of every operation: one hash per case, of results and gradients on fixed inputs.
//!
//! Two revisions that print the same lines compute the same bits:
//!
//! ```text
//! cargo run --release -p firefly-bench --example fingerprints > old.txt     # at one revision
//! cargo run --release -p firefly-bench --example fingerprints | diff old.txt -    # at the other
//! ```
//!
//! Without arguments every instruction set of the processor is covered in turn, in f32 and f64;
//! `--device NAME` covers that device in f32.

use std::hash::{DefaultHasher, Hasher};

use anyhow::{Context, Result};
use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use firefly_app::device::DeviceName;
use firefly_ops::fft::ComplexTensor;
use firefly_ops::instruction_sets::InstructionSet;
use firefly_ops::options::SegmentSet;
use firefly_ops::twiddles::exact_twiddles;
use firefly_ops::{
    Detrend, Direction, Peaks, Scaling, WelchOptions, WelchWeights, Window, WindowSymmetry, butterfly, welch_peaks,
    welch_psd,
};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

const LENGTHS: [usize; 12] = [8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384];
/// The longest segments of estimates with a gain.
const MAX_GAINED_LENGTH: usize = 4096;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => InstructionSet::available().try_for_each(|set| {
            set.force(|| {
                suite(set.name(), &Device::flex(), DType::F32)?;
                suite(set.name(), &Device::flex(), DType::F64)
            })
        }),
        ["--device", name] => suite(name, &name.parse::<DeviceName>()?.open()?, DType::F32),
        _ => anyhow::bail!("usage: fingerprints [--device NAME]"),
    }
}

/// Hash of results and gradients.
#[derive(Default)]
struct Fingerprint(DefaultHasher);

impl Fingerprint {
    /// Adds values to the last bit, but for NaN: compilers are free to choose which NaN an operation gives.
    fn float<const D: usize>(mut self, tensor: Tensor<D>) -> Self {
        let values = tensor.into_data();
        values.iter::<f64>().for_each(|x| self.0.write_u64(if x.is_nan() { f64::NAN } else { x }.to_bits()));
        self
    }

    /// Adds a gradient, or a mark where there is none.
    fn gradient<const D: usize>(mut self, tensor: Option<Tensor<D>>) -> Self {
        self.0.write_u8(tensor.is_some().into());
        match tensor {
            Some(tensor) => self.float(tensor),
            None => self,
        }
    }

    fn peaks(mut self, peaks: Peaks<2>) -> Self {
        peaks.bins.into_data().iter::<i64>().for_each(|bin| self.0.write_i64(bin));
        self.float(peaks.power)
    }
}

/// Settings that every case of a suite shares.
struct Suite<'a> {
    name: &'a str,
    device: Device,
    dtype: DType,
}

fn random(seed: usize) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed as u64)
}

fn suite(name: &str, device: &Device, dtype: DType) -> Result<()> {
    let suite = Suite { name, device: device.clone().autodiff(), dtype };
    for n in LENGTHS {
        let [one, few, many] = [1, 5, (65_536 / n).clamp(9, 700) | 1];
        for (segments, batch) in [(1, many), (2, many), (3, few), (8, few), (2, one)] {
            suite.welch(WelchOptions::new(n, segments), batch)?;
        }
        let density = WelchOptions::new(n, 3).with_hop(n / 4 + 1).with_detrend(Detrend::Constant);
        suite.welch(density.with_scaling(Scaling::Density { sample_rate: 12_000.0 }), few)?;
        suite.welch(WelchOptions::new(n, 2).with_scaling(Scaling::Spectrum), few)?;
        for batch in [one, few, many] {
            suite.butterfly(n, batch)?;
        }
        if n <= MAX_GAINED_LENGTH {
            for (segments, batch) in [(1, many), (2, many), (3, few)] {
                suite.gained(WelchOptions::new(n, segments), batch)?;
            }
        }
    }
    Ok(())
}

impl Suite<'_> {
    /// Uniform values in [-1, 1).
    fn draw<const D: usize>(&self, random: &mut ChaCha8Rng, shape: [usize; D]) -> Tensor<D> {
        let uniform = |_| f64::from(random.next_u32() >> 8) / f64::from(1u32 << 23) - 1.0;
        let values: Vec<f64> = (0..shape.iter().product::<usize>()).map(uniform).collect();
        Tensor::from_data(TensorData::new(values, shape), (&self.device, self.dtype))
    }

    #[allow(clippy::print_stdout)]
    fn print(&self, case: &str, hash: &Fingerprint) {
        println!("{} {:?} {case} {:016x}", self.name, self.dtype, hash.0.finish());
    }

    /// Exact power and peaks, of plain frames and of frames with ties, constant rows and values that are not finite.
    fn welch(&self, options: WelchOptions, batch: usize) -> Result<()> {
        let n = options.n_fft;
        let shape = [batch, options.frame() + 3];
        let mut draws = random(n * 31 + options.segments * 7 + batch);
        let plain = self.draw(&mut draws, shape);
        let missing = self.draw(&mut draws, shape).greater_elem(0.98);
        let constant = Tensor::<1, Int>::arange(0..batch as i64, &self.device).remainder_scalar(3).equal_elem(0);
        let constant = constant.unsqueeze_dim::<2>(1).expand(shape);
        let hostile = (plain.clone() * 4.0).round().mask_fill(missing, f32::NAN).mask_fill(constant, 0.25);
        for (label, signal) in [("plain", plain), ("hostile", hostile)] {
            let case =
                format!("{label} n={n} s={} hop={} b={batch} {}", options.segments, options.hop, options.scaling);
            let ks = [1, 4, 5, 16, 17, 33, options.bins()].into_iter().filter(|&k| k <= options.bins());
            self.estimate(&case, signal, (Window::Hann, None), &options, ks)?;
        }
        Ok(())
    }

    /// Power and peaks with a gain, of all segments and of every second one.
    fn gained(&self, options: WelchOptions, batch: usize) -> Result<()> {
        let (n, bins) = (options.n_fft, options.bins());
        let mut draws = random(n * 13 + options.segments + batch);
        let signal = self.draw(&mut draws, [batch, options.frame()]);
        let every_second = SegmentSet::new((0..options.segments).step_by(2))?;
        for taps in [3, 5] {
            let gain = (self.draw(&mut draws, [bins, taps]) + 1.5) * 0.5;
            for (label, chosen) in [("all", None), ("every second", Some(every_second))] {
                let case = format!("{taps} factors {label} n={n} s={} b={batch}", options.segments);
                let (options, window) = (options.with_chosen(chosen), (Window::Hamming, Some(gain.clone())));
                self.estimate(&case, signal.clone(), window, &options, [5])?;
            }
        }
        Ok(())
    }

    /// Power and the peaks of each number `ks`, with their gradients.
    fn estimate(
        &self,
        case: &str,
        signal: Tensor<2>,
        (window, gain): (Window, Option<Tensor<2>>),
        options: &WelchOptions,
        ks: impl IntoIterator<Item = usize>,
    ) -> Result<()> {
        let window =
            window.tensor(options.n_fft, WindowSymmetry::Periodic, self.dtype.into(), &self.device).require_grad();
        let (signal, gain) = (signal.detach().require_grad(), gain.map(|gain| gain.detach().require_grad()));
        let weights = WelchWeights::new(window.clone()).with_gain(gain.clone());
        let print = |operation: String, found: Fingerprint, loss: Tensor<1>| {
            let gradients = loss.backward();
            let found = found.gradient(signal.grad(&gradients)).gradient(window.grad(&gradients));
            let found = found.gradient(gain.as_ref().and_then(|gain| gain.grad(&gradients)));
            self.print(&format!("{operation} {case}"), &found);
        };
        let power = welch_psd(signal.clone(), weights.clone(), options)?;
        let slope = self.draw(&mut random(options.n_fft), power.dims());
        print("welch_psd".into(), Fingerprint::default().float(power.clone()), (power * slope).sum());
        for k in ks {
            let found =
                welch_peaks(signal.clone(), weights.clone(), options, k).with_context(|| format!("{case} k={k}"))?;
            let loss = found.power.clone().sum() * 0.5;
            print(format!("welch_peaks k={k}"), Fingerprint::default().peaks(found), loss);
        }
        Ok(())
    }

    /// Butterfly transforms with exact and drawn twiddles, without gates and with open, soft and hard ones.
    fn butterfly(&self, n: usize, batch: usize) -> Result<()> {
        let stages = n.trailing_zeros() as usize;
        let mut draws = random(n * 17 + batch);
        let parts = [0; 2].map(|_| self.draw(&mut draws, [batch, n]));
        let exact = exact_twiddles(n, Direction::Forward, self.dtype.into(), &self.device)?;
        let inverse = exact_twiddles(n, Direction::Inverse, self.dtype.into(), &self.device)?;
        let drawn = self.draw(&mut draws, [stages, n / 2, 2]);
        let soft = (self.draw(&mut draws, [stages, n / 2]) + 1.0) * 0.5;
        let hard = soft.clone().greater_elem(0.4).float().cast(self.dtype);
        let cases = [
            ("exact", exact.clone(), None),
            ("inverse", inverse, None),
            ("drawn", drawn.clone(), None),
            ("exact open", exact.clone(), Some(Tensor::ones_like(&soft))),
            ("exact hard", exact, Some(hard.clone())),
            ("drawn soft", drawn.clone(), Some(soft)),
            ("drawn hard", drawn, Some(hard)),
        ];
        for (label, twiddles, gates) in cases {
            let [re, im] = parts.clone().map(Tensor::require_grad);
            let twiddles = twiddles.detach().require_grad();
            let gates = gates.map(|gates| gates.detach().require_grad());
            let rows = ComplexTensor::new(re.clone(), im.clone());
            let out = butterfly(rows, twiddles.clone(), gates.clone())?;
            let gradients = (out.re.clone() * parts[1].clone() + out.im.clone() * 0.5).sum().backward();
            let hash = Fingerprint::default()
                .float(out.re)
                .float(out.im)
                .gradient(re.grad(&gradients))
                .gradient(im.grad(&gradients))
                .gradient(twiddles.grad(&gradients))
                .gradient(gates.and_then(|gates| gates.grad(&gradients)));
            self.print(&format!("butterfly {label} n={n} b={batch}"), &hash);
        }
        Ok(())
    }
}
