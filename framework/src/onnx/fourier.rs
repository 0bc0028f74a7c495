//! Fourier transforms as operators, along axes that are counted from the last one, −1.

use std::f64::consts::PI;

use firefly_ops::Direction;
use firefly_ops::options::FftOptions;
use serde_json::{Value, json};

use super::exporter::{ABSENT, Exporter, Slot};

/// Real and imaginary parts.
pub type Complex = [Slot; 2];

impl Exporter<'_> {
    /// One value per point along an axis, of a shape that broadcasts.
    fn per_point(&mut self, values: impl Iterator<Item = f64>, axis: i64) -> Slot {
        let values: Vec<f64> = values.collect();
        let mut shape = vec![1; axis.unsigned_abs() as usize];
        shape[0] = values.len();
        self.values(values, &shape)
    }

    /// The transform of complex values of `options.length` points.
    pub fn fft(&mut self, values: Complex, axis: i64, options: &FftOptions) -> Complex {
        let (n, is_inverse) = (options.length, options.direction == Direction::Inverse);
        if !n.is_power_of_two() {
            return self
                .chirp_transform(&values, axis, [n, n], is_inverse)
                .map(|part| self.scaled(part, options.scale));
        }
        // The operator divides by n.
        let scale = if is_inverse { options.scale * n as f64 } else { options.scale };
        self.dft(&values, axis, is_inverse).map(|part| self.scaled(part, scale))
    }

    /// The lower bins of the transform of real values of `options.length` points.
    pub fn real_fft(&mut self, signal: Slot, axis: i64, options: &FftOptions) -> Complex {
        let n = options.length;
        let [re, mut im] = if n.is_power_of_two() {
            self.dft(&[signal], axis, false)
        } else {
            self.chirp_transform(&[signal], axis, [n, options.bins()], false)
        };
        if options.direction == Direction::Inverse {
            im = self.op("Neg", &[im]);
        }
        [re, im].map(|part| self.weighted(part, axis, options, options.interior))
    }

    /// Real values whose spectrum has these lower bins, `count` of them: the real part of the transform of the bins, of
    /// which the interior ones count twice.
    pub fn inverse_real_fft(&mut self, bins: Complex, count: usize, axis: i64, options: &FftOptions) -> Slot {
        let spectrum = bins.map(|part| {
            let part = self.resized(part, axis, count, options.bins());
            let part = self.weighted(part, axis, options, 2.0 * options.interior);
            self.resized(part, axis, options.bins(), options.length)
        });
        self.fft(spectrum, axis, &FftOptions::new(options.length, options.direction))[0]
    }

    /// The bins of one side of a spectrum times the scale, and the interior ones times `interior`.
    fn weighted(&mut self, part: Slot, axis: i64, options: &FftOptions, interior: f64) -> Slot {
        if interior == 1.0 {
            return self.scaled(part, options.scale);
        }
        let weight = |bin| options.scale * if options.interior_bins().contains(&bin) { interior } else { 1.0 };
        let weights = self.per_point((0..options.bins()).map(weight), axis);
        self.op("Mul", &[part, weights])
    }

    /// The operator `DFT`: of one part, real values, the lower bins, of two all.
    fn dft(&mut self, parts: &[Slot], axis: i64, is_inverse: bool) -> Complex {
        let stacked: Vec<Slot> = parts.iter().map(|part| self.unsqueeze(*part, -1)).collect();
        // The parts are the last axis.
        let (values, axis) = (self.concat(&stacked, -1), self.int(axis - 1));
        let attributes = json!({"inverse": is_inverse, "onesided": parts.len() == 1});
        let spectrum = self.op_with("DFT", &[values, ABSENT, axis], attributes);
        [0, 1].map(|part| self.part(spectrum, part, -1))
    }

    /// The first `count` points of the transform of `n`, by the algorithm of L. I. Bluestein ("A linear filtering
    /// approach to the computation of discrete Fourier transform", IEEE Trans. Audio Electroacoust. AU-18, 1970): with
    /// 2jk = j² + k² − (k − j)² it is a convolution with a chirp, which transforms of a power of two compute.
    fn chirp_transform(&mut self, parts: &[Slot], axis: i64, [n, count]: [usize; 2], is_inverse: bool) -> Complex {
        let (length, sign) = ((2 * n - 1).next_power_of_two(), if is_inverse { 1.0 } else { -1.0 });
        // j² modulo the period keeps the angle exact.
        let angle = |j: usize| PI * ((j as u128 * j as u128) % (2 * n as u128)) as f64 / n as f64;
        let [before, after] = [n, count].map(|points| {
            let re = self.per_point((0..points).map(|j| angle(j).cos()), axis);
            [re, self.per_point((0..points).map(|j| sign * angle(j).sin()), axis)]
        });
        let tap = |j: usize, wave: fn(f64) -> f64| if j < n { wave(angle(j)) } else { 0.0 };
        let distances = (0..length).map(|tap| tap.min(length - tap));
        let re = self.per_point(distances.clone().map(|j| tap(j, f64::cos)), axis);
        let filter = [re, self.per_point(distances.map(|j| -sign * tap(j, f64::sin)), axis)];
        let modulated = match *parts {
            [re, im] => self.product([re, im], before),
            _ => before.map(|chirp| self.op("Mul", &[parts[0], chirp])),
        };
        let padded = modulated.map(|part| self.resized(part, axis, n, length));
        let [spectrum, filter] = [padded, filter].map(|values| self.dft(&values, axis, false));
        let spectrum = self.product(spectrum, filter);
        let convolved = self.dft(&spectrum, axis, true).map(|part| self.resized(part, axis, length, count));
        self.product(convolved, after)
    }

    pub fn product(&mut self, a: Complex, b: Complex) -> Complex {
        self.product_by("Mul", &Value::Null, a, b)
    }

    /// The product of complex values by an operator that multiplies real ones.
    pub fn product_by(&mut self, kind: &'static str, attributes: &Value, a: Complex, b: Complex) -> Complex {
        let pairs = [[a[0], b[0]], [a[1], b[1]], [a[0], b[1]], [a[1], b[0]]];
        let [re, less, im, more] = pairs.map(|pair| self.op_with(kind, &pair, attributes.clone()));
        [self.op("Sub", &[re, less]), self.op("Add", &[im, more])]
    }
}
