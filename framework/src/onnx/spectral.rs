//! Translation of Firefly's operations, by their definition, and of Burn's Fourier transforms.

use std::f64::consts::LOG10_E;

use burn::backend::ir::{CustomOpIr, ScalarIr, TensorIr};
use burn::tensor::{DType, IntDType};
use firefly_ops::op::OpDescriptor;
use firefly_ops::options::{
    Detrend, FftOptions, LogGuard, LogUnit, Logarithm, MelOptions, Scaling, SignalPadding, SpectrumKind, mel_filters,
};
use firefly_ops::{Direction, WelchOptions};
use serde_json::json;

use super::OnnxError;
use super::burn_operations::Translated;
use super::exporter::{Exporter, Slot};
use super::fourier::Complex;

const fn forward(n: usize) -> FftOptions {
    FftOptions::new(n, Direction::Forward)
}

/// An inverse transform of `n` points, divided by `divisor`.
const fn inverse(n: usize, divisor: f64) -> FftOptions {
    FftOptions::new(n, Direction::Inverse).with_scale(1.0 / divisor)
}

impl Exporter<'_> {
    /// Appends what computes an operation of an extension, if it has a translation.
    pub fn custom(&mut self, operation: &CustomOpIr, inputs: &[Slot]) -> Translated {
        let tensors = operation.inputs.as_slice();
        match (OpDescriptor::parse(&operation.id, &operation.scalars), inputs) {
            (Some(OpDescriptor::ComplexFft { options }), [re, im]) => {
                let length = self.length(&tensors[0], 1)?;
                let parts = [re, im].map(|part| self.resized(*part, -1, length, options.length));
                Ok(self.fft(parts, -1, &options).into())
            }
            (Some(OpDescriptor::ComplexFftColumns { options }), [re, im]) => {
                Ok(self.fft([*re, *im], -2, &options).into())
            }
            (Some(OpDescriptor::RealFft { options }), [signal]) => {
                let signal = self.resized(*signal, -1, self.length(&tensors[0], 1)?, options.length);
                Ok(self.real_fft(signal, -1, &options).into())
            }
            (Some(OpDescriptor::InverseRealFft { options }), [re, im]) => {
                let count = self.length(&tensors[0], 1)?;
                Ok(vec![self.inverse_real_fft([*re, *im], count, -1, &options)])
            }
            (Some(OpDescriptor::WelchPsd { options }), _) => Ok(vec![self.welch(tensors, inputs, &options)?]),
            (Some(OpDescriptor::WelchPeaks { options, k, bins }), _) => {
                let (power, searched) = (self.welch(tensors, inputs, &options)?, options.searched());
                let power = self.slice(power, 1, [searched.start as i64, searched.end as i64, 1]);
                Ok(self.strongest(power, k, searched.start, bins))
            }
            (Some(OpDescriptor::TopK { k, bins }), [values]) => Ok(self.strongest(*values, k, 0, bins)),
            (Some(OpDescriptor::Mel { options, logarithm }), _) => self.mel(tensors, inputs, &options, logarithm),
            (Some(OpDescriptor::Butterfly {}), [re, im, rest @ ..]) => {
                Ok(self.butterfly([*re, *im], rest, self.length(&tensors[0], 1)?).into())
            }
            (Some(OpDescriptor::SpectralConv {}), [input, re, im]) => {
                self.spectral_conv(*input, [*re, *im], [&tensors[0], &tensors[1]])
            }
            (Some(OpDescriptor::LongConv {}), [signal, kernel, gate @ ..]) => {
                let (n, taps) = (self.length(&tensors[0], 2)?, self.length(&tensors[1], 1)?);
                let convolved = self.long_conv(*signal, *kernel, [n, taps]);
                Ok(vec![gate.iter().fold(convolved, |product, gate| self.op("Mul", &[product, *gate]))])
            }
            (None, _) => self.burn_fourier(operation, inputs),
            _ => Ok(Vec::new()),
        }
    }

    /// The transforms of `burn::signal`, along any dimension.
    fn burn_fourier(&mut self, operation: &CustomOpIr, inputs: &[Slot]) -> Translated {
        let [ScalarIr::UInt(dim), ScalarIr::Bool(has_length), ScalarIr::UInt(length)] = *operation.scalars else {
            return Ok(Vec::new());
        };
        let input = &operation.inputs[0];
        let (given, axis) = (self.length(input, dim as usize)?, dim as i64 - input.shape.len() as i64);
        let n = |natural| if has_length { length as usize } else { natural };
        match (operation.id.as_str(), inputs) {
            ("signal::rfft", [signal]) => {
                let signal = self.resized(*signal, axis, given, n(given));
                Ok(self.real_fft(signal, axis, &forward(n(given))).into())
            }
            ("signal::irfft", [re, im]) => {
                let n = n(2 * (given - 1));
                Ok(vec![self.inverse_real_fft([*re, *im], given, axis, &inverse(n, n as f64))])
            }
            _ => Ok(Vec::new()),
        }
    }

    /// Squared magnitude.
    fn power(&mut self, spectrum: Complex) -> Slot {
        let squares = spectrum.map(|part| self.op("Mul", &[part, part]));
        self.op("Add", &squares)
    }

    /// Welch power `[rows, bins]`.
    fn welch(&mut self, tensors: &[TensorIr], inputs: &[Slot], options: &WelchOptions) -> Result<Slot, OnnxError> {
        let (window, transform) = (inputs[1], forward(options.n_fft));
        let signal = self.cast(inputs[0], [tensors[0].dtype, tensors[1].dtype]);
        let starts = options.indices().into_iter().map(|segment| segment * options.hop);
        let mut segments = self.windows(signal, starts, options.n_fft, 1);
        if options.detrend == Detrend::Constant {
            let mean = self.reduce("ReduceMean", segments, 2, true);
            segments = self.op("Sub", &[segments, mean]);
        }
        let tapered = self.op("Mul", &[segments, window]);
        let spectrum = self.real_fft(tapered, -1, &transform);
        let power = self.power(spectrum);
        let power = self.reduce("ReduceMean", power, 1, false);
        let side = |bin: usize| if transform.interior_bins().contains(&bin) { 2.0 } else { 1.0 };
        let sides = self.values((0..options.bins()).map(side).collect(), &[options.bins()]);
        let mut power = self.op("Mul", &[power, sides]);
        if let (Some(gain), Some(tensor)) = (inputs.get(2), tensors.get(2)) {
            power = self.with_gain(power, spectrum, *gain, [self.length(tensor, 1)?, options.bins()]);
        }
        let divisor = match options.scaling {
            Scaling::Power => return Ok(power),
            Scaling::Spectrum => {
                let sum = self.reduce("ReduceSum", window, 0, false);
                self.op("Mul", &[sum, sum])
            }
            Scaling::Density { sample_rate } => {
                let squares = self.op("Mul", &[window, window]);
                let sum = self.reduce("ReduceSum", squares, 0, false);
                self.scaled(sum, sample_rate)
            }
        };
        Ok(self.op("Div", &[power, divisor]))
    }

    /// The bin below, the bin itself and the bin above, mirrored at the ends, times the gain's first three factors, and,
    /// if it has five, twice Re(conj(X_k) X_{k+1}) below and above times the others.
    fn with_gain(&mut self, power: Slot, spectrum: Complex, gain: Slot, [taps, bins]: [usize; 2]) -> Slot {
        let last = bins as i64 - 1;
        let below = self.gathered(power, (0..=last).map(|bin| (bin - 1).abs()), 1);
        let above = self.gathered(power, (0..=last).map(|bin| last - (last - bin - 1).abs()), 1);
        let mut terms = vec![below, power, above];
        if taps > terms.len() {
            let products = spectrum.map(|part| {
                let neighbours = [[0, last, 1], [1, last + 1, 1]].map(|bounds| self.slice(part, 2, bounds));
                self.op("Mul", &neighbours)
            });
            let products = self.op("Add", &products);
            let products = self.reduce("ReduceMean", products, 1, false);
            let products = self.scaled(products, 2.0);
            terms.push(self.gathered(products, (0..=last).map(|bin| (bin - 1).max(0)), 1));
            terms.push(self.gathered(products, (0..=last).map(|bin| bin.min(last - 1)), 1));
        }
        for (tap, term) in terms.iter_mut().enumerate() {
            let factors = self.part(gain, tap, 1);
            *term = self.op("Mul", &[*term, factors]);
        }
        self.op("Sum", &terms)
    }

    /// Positions, from `first` on, and values of the `k` greatest finite values of each row: −1 and NaN where there are
    /// fewer. Of equal values `TopK` takes the lower one.
    fn strongest(&mut self, values: Slot, k: usize, first: usize, bins: IntDType) -> Vec<Slot> {
        let excluded = ["IsNaN", "IsInf"].map(|kind| self.op(kind, &[values]));
        let excluded = self.op("Or", &excluded);
        let [lowest, absent] = [f64::NEG_INFINITY, f64::NAN].map(|value| self.scalar(value));
        let [first, no_bin] = [first as i64, -1].map(|bin| self.int(bin));
        let ranked = self.op("Where", &[excluded, lowest, values]);
        let [power, positions] = self.ordered(ranked, 1, true, k);
        let is_missing = self.op("IsInf", &[power]);
        let positions = self.op("Add", &[positions, first]);
        let positions = self.op("Where", &[is_missing, no_bin, positions]);
        let power = self.op("Where", &[is_missing, absent, power]);
        vec![self.cast(positions, [DType::I64, bins.into()]), power]
    }

    /// Mel spectra `[rows, bands, frames]`, or their logarithms.
    fn mel(
        &mut self,
        tensors: &[TensorIr],
        inputs: &[Slot],
        options: &MelOptions,
        log: Option<Logarithm>,
    ) -> Translated {
        let MelOptions { stft, bands, kind, .. } = options;
        let (n, samples) = (stft.n_fft, self.length(&tensors[0], 1)?);
        let mut signal = self.cast(inputs[0], [tensors[0].dtype, tensors[1].dtype]);
        if stft.center {
            let (mode, value) = match stft.pad {
                SignalPadding::Constant(value) => ("constant", f64::from(value)),
                SignalPadding::Reflect => ("reflect", 0.0),
                SignalPadding::Edge => ("edge", 0.0),
                SignalPadding::Circular => ("wrap", 0.0),
            };
            let (pads, value, axes) = (self.ints([n as i64 / 2; 2]), self.scalar(value), self.ints([1]));
            signal = self.op_with("Pad", &[signal, pads, value, axes], json!({"mode": mode}));
        }
        let frames = self.windows(signal, (0..stft.frames(samples)).map(|frame| frame * stft.hop), n, 1);
        let frames = self.op("Mul", &[frames, inputs[1]]);
        let spectrum = self.real_fft(frames, -1, &forward(n));
        let power = self.power(spectrum);
        let mut values = self.scaled(power, if stft.normalized { 1.0 / n as f64 } else { 1.0 });
        if *kind == SpectrumKind::Amplitude {
            values = self.op("Sqrt", &[values]);
        }
        let filters = mel_filters(n, bands).map_err(|error| OnnxError::Operation(error.to_string()))?;
        let shape = [n / 2 + 1, bands.count];
        let filters = (0..shape[0]).flat_map(|bin| filters.iter().map(move |filter| filter[bin])).collect();
        let filters = self.values(filters, &shape);
        values = self.op("MatMul", &[values, filters]);
        values = self.op_with("Transpose", &[values], json!({"perm": [0, 2, 1]}));
        let Some(Logarithm { unit, guard, .. }) = log else { return Ok(vec![values]) };
        let least = self.scalar(guard.value());
        let guarded = self.op(if matches!(guard, LogGuard::Offset(_)) { "Add" } else { "Max" }, &[values, least]);
        let values = self.op("Log", &[guarded]);
        let factor = match unit {
            LogUnit::Natural => 1.0,
            LogUnit::Ten => LOG10_E,
            LogUnit::Decibel if *kind == SpectrumKind::Power => 10.0 * LOG10_E,
            LogUnit::Decibel => 20.0 * LOG10_E,
        };
        Ok(vec![self.scaled(values, factor)])
    }

    /// Butterfly transform of rows of `n` values, stage by stage, by twiddles and perhaps gates.
    fn butterfly(&mut self, values: Complex, weights: &[Slot], n: usize) -> Complex {
        let stages = n.trailing_zeros();
        let reversed = |index: usize| (index.reverse_bits() >> (usize::BITS - stages)) as i64;
        let mut values = values.map(|part| self.gathered(part, (0..n).map(reversed), 1));
        for stage in 0..stages as usize {
            let half = 1i64 << stage;
            let blocks = n as i64 / (2 * half);
            let pairs = self.ints([blocks, half]);
            let [rows, row] = [vec![-1, blocks, 2, half], vec![-1, n as i64]].map(|shape| self.ints(shape));
            let of_stage = self.part(weights[0], stage, 0);
            let twiddles = [0, 1].map(|part| self.part(of_stage, part, 1));
            let twiddles = twiddles.map(|part| self.op("Reshape", &[part, pairs]));
            let gates = weights.get(1).map(|gates| self.part(*gates, stage, 0));
            let gates = gates.map(|gates| self.op("Reshape", &[gates, pairs]));
            let blocks = values.map(|part| self.op("Reshape", &[part, rows]));
            let [upper, lower] = [0, 1].map(|place| blocks.map(|part| self.part(part, place, 2)));
            let turned = self.product(twiddles, lower);
            values = [0, 1].map(|part| {
                let [a, b, t] = [upper[part], lower[part], turned[part]];
                let mut results = ["Add", "Sub"].map(|kind| self.op(kind, &[a, t]));
                if let Some(gate) = gates {
                    // The gate g mixes the butterfly with the identity: a + g t, and b + g (a − t − b).
                    let rest = self.op("Sub", &[results[1], b]);
                    results = [[a, t], [b, rest]].map(|[kept, change]| {
                        let change = self.op("Mul", &[gate, change]);
                        self.op("Add", &[kept, change])
                    });
                }
                let results = results.map(|result| self.unsqueeze(result, 2));
                let stacked = self.concat(&results, 2);
                self.op("Reshape", &[stacked, row])
            });
        }
        values
    }

    /// Spectral convolution: the kept modes, their product with the weights, zeros around them, and the inverse
    /// transform.
    fn spectral_conv(&mut self, input: Slot, weights: Complex, tensors: [&TensorIr; 2]) -> Translated {
        let dims = tensors[0].shape.len() - 2;
        let lengths = |tensor| (2..dims + 2).map(|axis| self.length(tensor, axis)).collect::<Result<Vec<_>, _>>();
        let (points, modes) = (lengths(tensors[0])?, lengths(tensors[1])?);
        let (n, kept) = (points[dims - 1], modes[dims - 1]);
        let mut values = self.real_fft(input, -1, &forward(n));
        values = values.map(|part| self.resized(part, -1, n / 2 + 1, kept));
        let others = (0..dims - 1).map(|dim| (dim as i64 - dims as i64, points[dim], modes[dim]));
        for (axis, n, kept) in others.clone() {
            values = self.fft(values, axis, &forward(n));
            // The lower half of the modes, and the last bins for the others.
            let bins = (0..kept.div_ceil(2)).chain(n - kept / 2..n).map(|bin| bin as i64);
            values = values.map(|part| self.gathered(part, bins.clone(), axis));
        }
        let letters = &"xyz"[..dims];
        let equation = json!({"equation": format!("bi{letters},io{letters}->bo{letters}")});
        values = self.product_by("Einsum", &equation, values, weights);
        for (axis, n, kept) in others {
            let lower = kept.div_ceil(2);
            values = values.map(|part| {
                let head = self.slice(part, axis, [0, lower as i64, 1]);
                let head = self.resized(head, axis, lower, n - kept / 2);
                let tail = self.slice(part, axis, [lower as i64, kept as i64, 1]);
                self.concat(&[head, tail], axis)
            });
            values = self.fft(values, axis, &inverse(n, 1.0));
        }
        let all = points.iter().map(|n| *n as f64).product();
        Ok(vec![self.inverse_real_fft(values, kept, -1, &inverse(n, all))])
    }

    /// Causal convolutions of `n` samples with kernels of `taps`, by transforms of a power of two of points, so many that
    /// the end does not come round.
    fn long_conv(&mut self, signal: Slot, kernel: Slot, [n, taps]: [usize; 2]) -> Slot {
        // Taps behind the first n ones meet no sample.
        let used = taps.min(n);
        let length = (n + used - 1).next_power_of_two();
        let signal = self.resized(signal, -1, n, length);
        let kernel = self.resized(kernel, -1, taps, used);
        let kernel = self.resized(kernel, -1, used, length);
        let [signal, kernel] = [signal, kernel].map(|values| self.real_fft(values, -1, &forward(length)));
        let product = self.product(signal, kernel);
        let convolved = self.inverse_real_fft(product, length / 2 + 1, -1, &inverse(length, length as f64));
        self.resized(convolved, -1, length, n)
    }
}
