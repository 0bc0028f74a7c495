//! Inputs of a problem: several sets of tensors, made from a seed, in host memory and on a device.

use std::collections::HashMap;
use std::convert::Infallible;
use std::f64::consts::TAU;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use burn::tensor::{Device, Tensor, TensorData};
use firefly_framework::graph::AnyTensor;
use firefly_ops::ArgumentError;
use rand::seq::index;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use rustfft::num_complex::Complex;

use super::ExpectedRow;

/// Rows of all input sets of a problem, where [`MAX_SETS`] allow: too many for a branch predictor to learn.
const ROWS: usize = 4096;
const MIN_SETS: usize = 4;
const MAX_SETS: usize = 256;
/// Bytes of all input sets of a problem, where two of them fit.
const SETS_BYTES: usize = 512 << 20;
/// Values of the first set that are compared with the reference, in whole rows.
const COMPARED_VALUES: usize = 1 << 20;
const MIN_COMPARED_ROWS: usize = 8;
const MAX_COMPARED_ROWS: usize = 1024;
const MAX_TONES: u32 = 6;
/// Units of 16 bits of a sample of 1: so many that the loudest tones fill them.
const QUANTUM: f32 = 1000.0;

/// Values of an input tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fill {
    /// Rows of one to six tones of any frequency and phase and an amplitude from 0.05 to 5, in white noise (uniform,
    /// standard deviation 1).
    Tones,
    /// Uniform noise from −1 to 1.
    Noise,
    /// Noise as the imaginary parts of half spectra of `n` points: 0 at the bins that are real.
    HalfSpectrum { n: usize },
    /// Ranks of the values of each row of noise, spread from −1 to 1. No two are equal: to which of equal values a
    /// gradient goes is not defined.
    Ranks,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorSpec {
    pub dims: Vec<usize>,
    pub fill: Fill,
    pub is_shared: bool,
}

impl TensorSpec {
    /// A tensor that differs from set to set.
    pub fn new(dims: impl Into<Vec<usize>>, fill: Fill) -> Self {
        Self { dims: dims.into(), fill, is_shared: false }
    }

    /// Noise that is the same in every set.
    pub fn shared(dims: impl Into<Vec<usize>>) -> Self {
        Self { is_shared: true, ..Self::new(dims, Fill::Noise) }
    }

    pub fn bytes(&self) -> usize {
        self.dims.iter().fold(size_of::<f32>(), |bytes, &dim| bytes.saturating_mul(dim))
    }

    /// Values per index of the first dimension; all of a vector.
    fn row(&self) -> usize {
        if let [n] = self.dims[..] { n } else { self.dims[1..].iter().product() }
    }

    /// Its values as part `part` of set `set`, the same for the same seed.
    fn generate(&self, seed: u64, set: usize, parts: usize, part: usize) -> Vec<f32> {
        let mut values = vec![0.0; self.dims.iter().product()];
        values.par_chunks_mut(self.row().max(1)).enumerate().for_each(|(row, values)| {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            random.set_stream(((set * parts + part) as u64) << 32 | row as u64);
            self.fill.fill(values, self.dims.last().copied().unwrap_or(1), &mut random);
        });
        values
    }
}

impl Fill {
    /// Fills a row whose last dimension has `last` values.
    fn fill(self, values: &mut [f32], last: usize, random: &mut ChaCha8Rng) {
        values.iter_mut().for_each(|value| *value = 2.0 * random.random::<f32>() - 1.0);
        match self {
            Self::Noise => (),
            Self::Tones => add_tones(values, random),
            Self::HalfSpectrum { n } => {
                let real = |at: usize| at.is_multiple_of(last) || 2 * (at % last) == n;
                values.iter_mut().enumerate().filter(|(at, _)| real(*at)).for_each(|(_, value)| *value = 0.0);
            }
            Self::Ranks => {
                for row in values.chunks_mut(last) {
                    let mut order: Vec<usize> = (0..last).collect();
                    order.sort_by(|&left, &right| row[left].total_cmp(&row[right]));
                    order.iter().enumerate().for_each(|(rank, &at)| row[at] = 2.0 * rank as f32 / last as f32 - 1.0);
                }
            }
        }
    }
}

fn add_tones(samples: &mut [f32], random: &mut ChaCha8Rng) {
    samples.iter_mut().for_each(|sample| *sample *= 3f32.sqrt());
    for _ in 0..random.random_range(1..=MAX_TONES) {
        let amplitude = 0.05 * 100f64.powf(random.random());
        let (step_im, step_re) = (0.5 * TAU * random.random::<f64>()).sin_cos();
        let (mut im, mut re) = (TAU * random.random::<f64>()).sin_cos();
        for sample in samples.iter_mut() {
            *sample += (amplitude * re) as f32;
            (re, im) = (re * step_re - im * step_im, re * step_im + im * step_re);
        }
    }
}

/// Input sets of a problem, used in turn by a measurement.
pub struct Inputs {
    specs: Vec<TensorSpec>,
    rows: usize,
    pub seed: u64,
    sets: Vec<Vec<Vec<f32>>>,
    /// The tensors that are the same in every set, in host memory.
    pub shared: Vec<Vec<f32>>,
    device: Device,
    made: Made,
    expected: Mutex<HashMap<String, Arc<Vec<ExpectedRow>>>>,
}

/// The sets in other places and forms, each made at its first use.
#[derive(Default)]
struct Made {
    tensors: OnceLock<Vec<Vec<Tensor<2>>>>,
    shared: OnceLock<Vec<AnyTensor>>,
    interleaved: OnceLock<Vec<Vec<Complex<f32>>>>,
}

impl Inputs {
    /// At most `most` sets of tensors of `specs`, for a problem of `rows` rows; the same for the same seed.
    pub fn generate(specs: Vec<TensorSpec>, rows: usize, seed: u64, most: usize, device: &Device) -> Self {
        let varied = specs.iter().filter(|spec| !spec.is_shared).count();
        let parts = specs.len();
        let part = |set: usize, at: usize| specs[at].generate(seed, set, parts, at);
        let sets = (0..set_count(&specs, rows, most)).map(|set| (0..varied).map(|at| part(set, at)).collect());
        let (sets, shared) = (sets.collect(), (varied..parts).map(|at| part(0, at)).collect());
        let (device, made, expected) = (device.clone(), Made::default(), Mutex::default());
        Self { specs, rows, seed, sets, shared, device, made, expected }
    }

    /// Bytes of the sets in memory: on the host, on the device, and interleaved where there are two parts.
    pub fn memory(specs: &[TensorSpec], rows: usize, most: usize) -> usize {
        let copies = if specs.len() == 2 { 3 } else { 2 };
        copies * set_count(specs, rows, most) * specs.iter().map(TensorSpec::bytes).sum::<usize>()
    }

    pub fn count(&self) -> usize {
        self.sets.len()
    }

    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The tensors of a set that differ from set to set, in host memory.
    pub fn host(&self, set: usize) -> &[Vec<f32>] {
        &self.sets[set]
    }

    /// Every tensor of a set in its shape on the device.
    pub fn operands(&self, set: usize) -> Result<Vec<AnyTensor>, ArgumentError> {
        let varied = self.tensors()[set].iter().zip(&self.specs);
        let shaped = |(tensor, spec): (&Tensor<2>, &TensorSpec)| {
            AnyTensor::from(tensor.clone()).try_reshape("firefly-bench", "input", spec.dims.clone())
        };
        let shared = self.made.shared.get_or_init(|| {
            let values = self.shared.iter().zip(&self.specs[self.sets[0].len()..]);
            let uploaded = values.map(|(values, spec)| TensorData::new(values.clone(), spec.dims.clone()));
            uploaded.map(|data| AnyTensor::from_data(data, &self.device)).collect()
        });
        varied.map(shaped).chain(shared.iter().cloned().map(Ok)).collect()
    }

    /// Every tensor of a set in its shape, in float64 on the host.
    pub fn wide_operands(&self, set: usize) -> Vec<AnyTensor> {
        let values = self.sets[set].iter().chain(&self.shared).zip(&self.specs);
        let data = values.map(|(values, spec)| TensorData::new(values.clone(), spec.dims.clone()).convert::<f64>());
        data.map(|data| AnyTensor::from_data(data, &Device::flex())).collect()
    }

    /// One row of every tensor of a set that has rows, in float64.
    pub fn row(&self, set: usize, row: usize) -> Vec<Vec<f64>> {
        let of = |(spec, values): (&TensorSpec, &Vec<f32>)| widened(&values[row * spec.row()..][..spec.row()]);
        self.specs.iter().zip(&self.sets[set]).map(of).collect()
    }

    /// The tensors of every set that differ from set to set, as `[rows, values]` on the device, transferred at the first
    /// call.
    pub fn tensors(&self) -> &[Vec<Tensor<2>>] {
        self.made.tensors.get_or_init(|| (0..self.count()).map(|set| self.uploaded(set)).collect())
    }

    /// New tensors `[rows, values]` of a set on the device.
    pub fn uploaded(&self, set: usize) -> Vec<Tensor<2>> {
        let upload = |(spec, values): (&TensorSpec, &Vec<f32>)| {
            let shape = [values.len() / spec.row().max(1), spec.row()];
            let mut data = TensorData::new(values.clone(), shape);
            self.device.staging(std::iter::once(&mut data));
            Tensor::from_data(data, &self.device)
        };
        self.specs.iter().zip(&self.sets[set]).map(upload).collect()
    }

    /// Every set of two parts as complex values, made at the first call; empty for other numbers of parts.
    pub fn interleaved(&self) -> &[Vec<Complex<f32>>] {
        let interleaved = |parts: &Vec<Vec<f32>>| match &parts[..] {
            [re, im] => re.iter().zip(im).map(|(&re, &im)| Complex { re, im }).collect(),
            _ => Vec::new(),
        };
        self.made.interleaved.get_or_init(|| self.sets.iter().map(interleaved).collect())
    }

    /// The same sets with samples as a sound card has them, whole numbers of 16 bits.
    pub fn quantized(&self) -> Self {
        let (min, max) = (i16::MIN.into(), i16::MAX.into());
        let quantized = |part: &Vec<f32>| part.iter().map(|&value| (QUANTUM * value).round().clamp(min, max)).collect();
        let sets = self.sets.iter().map(|set| set.iter().map(quantized).collect()).collect();
        let (specs, shared, device) = (self.specs.clone(), self.shared.clone(), self.device.clone());
        Self { specs, shared, device, sets, made: Made::default(), expected: Mutex::default(), ..*self }
    }

    /// The same inputs for another problem, whose expected values are not known; none if it has other tensors.
    pub fn for_another_problem(self, specs: &[TensorSpec], rows: usize) -> Option<Self> {
        (self.specs == specs && self.rows == rows).then(|| Self { expected: Mutex::default(), ..self })
    }

    /// Expected values called `name` of every row that is compared, computed once; `row` computes them from set and row.
    pub fn expected_rows(
        &self,
        name: &str,
        row: impl Fn(usize, usize) -> Vec<Vec<f64>> + Sync,
    ) -> Arc<Vec<ExpectedRow>> {
        let expected = |(set, at)| ExpectedRow { set, row: at, tensor: 0, parts: row(set, at) };
        let compute = || Ok::<_, Infallible>(self.compared_rows().into_par_iter().map(expected).collect());
        let Ok(rows) = self.expected_values(name, compute);
        rows
    }

    /// Expected values called `name`, as `compute` gives them, once.
    pub fn expected_values<E>(
        &self,
        name: &str,
        compute: impl FnOnce() -> Result<Vec<ExpectedRow>, E>,
    ) -> Result<Arc<Vec<ExpectedRow>>, E> {
        let known = || self.expected.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known().get(name) {
            return Ok(found.clone());
        }
        let computed = Arc::new(compute()?);
        known().insert(name.into(), computed.clone());
        Ok(computed)
    }

    /// Input sets and rows that are compared with the reference: all rows of the first set where they are few, a random
    /// sample with the first and the last row where they are many, and one row of each of the other sets.
    fn compared_rows(&self) -> Vec<(usize, usize)> {
        let values: usize = self.specs.iter().filter(|spec| !spec.is_shared).map(TensorSpec::row).sum();
        let most = (COMPARED_VALUES / values.max(1)).clamp(MIN_COMPARED_ROWS, MAX_COMPARED_ROWS);
        sampled_rows(self.rows, self.count(), most, self.seed)
    }
}

pub fn widened(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&value| value.into()).collect()
}

fn set_count(specs: &[TensorSpec], rows: usize, most: usize) -> usize {
    let bytes: usize = specs.iter().map(TensorSpec::bytes).sum();
    let useful = ROWS.div_ceil(rows).clamp(MIN_SETS, MAX_SETS);
    let affordable = (SETS_BYTES / bytes.max(1)).max(2);
    useful.min(affordable).min(most).max(1)
}

fn sampled_rows(batch: usize, sets: usize, most: usize, seed: u64) -> Vec<(usize, usize)> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut rows: Vec<(usize, usize)> = if batch <= most {
        (0..batch).map(|row| (0, row)).collect()
    } else {
        let inner = index::sample(&mut random, batch - 2, most - 2);
        inner.iter().map(|row| row + 1).chain([0, batch - 1]).map(|row| (0, row)).collect()
    };
    rows.extend((1..sets).map(|set| (set, random.random_range(0..batch))));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs(fill: Fill, seed: u64) -> Inputs {
        let specs = vec![TensorSpec::new([3, 96], fill), TensorSpec::new([3, 96], fill), TensorSpec::shared([4])];
        Inputs::generate(specs, 3, seed, 5, &Device::flex())
    }

    #[test]
    fn a_seed_gives_the_same_input_and_another_seed_another() {
        for fill in [Fill::Tones, Fill::Noise, Fill::Ranks, Fill::HalfSpectrum { n: 190 }] {
            assert_eq!(inputs(fill, 1).sets, inputs(fill, 1).sets);
            assert_ne!(inputs(fill, 1).sets, inputs(fill, 2).sets);
        }
    }

    #[test]
    fn rows_parts_and_sets_differ_and_are_finite() {
        let inputs = inputs(Fill::Tones, 1);
        assert_eq!((inputs.count(), inputs.sets[0].len(), inputs.shared[0].len()), (5, 2, 4));
        assert_ne!(inputs.row(0, 0)[0], inputs.row(0, 1)[0]);
        assert_ne!(inputs.row(0, 0)[0], inputs.row(0, 0)[1]);
        assert_ne!(inputs.row(0, 0)[0], inputs.row(1, 0)[0]);
        assert!(inputs.host(0)[0].iter().all(|sample| sample.is_finite() && sample.abs() < 40.0));
        assert!(inputs.host(0)[0].iter().any(|sample| sample.abs() > 1.0));
    }

    #[test]
    fn half_spectra_are_those_of_real_rows() {
        let spec = TensorSpec::new([3, 2, 3], Fill::HalfSpectrum { n: 4 });
        let row = &Inputs::generate(vec![spec], 3, 1, 1, &Device::flex()).row(0, 2)[0];
        assert!([0, 2, 3, 5].iter().all(|&at| row[at] == 0.0) && row[1] != 0.0 && row[4] != 0.0, "{row:?}");
    }

    #[test]
    fn ranks_are_distinct() {
        let inputs = inputs(Fill::Ranks, 1);
        let mut sorted = inputs.row(0, 1)[0].clone();
        sorted.sort_by(f64::total_cmp);
        sorted.dedup();
        assert_eq!(sorted.len(), 96);
    }

    #[test]
    fn tensors_hold_the_host_values() {
        let inputs = inputs(Fill::Noise, 1);
        assert_eq!(inputs.tensors()[4][1].clone().into_data().as_slice::<f32>().unwrap(), inputs.host(4)[1]);
        assert_eq!(inputs.interleaved()[1][17].im, inputs.host(1)[1][17]);
        let (operands, wide) = (inputs.operands(3).unwrap(), inputs.wide_operands(3));
        assert_eq!(operands[2].clone().into_data().as_slice::<f32>().unwrap(), inputs.shared[0]);
        assert_eq!((operands.len(), operands[1].dims(), wide[1].dims()), (3, vec![3, 96], vec![3, 96]));
        assert_eq!(wide[1].clone().into_data().as_slice::<f64>().unwrap()[95], f64::from(inputs.host(3)[1][95]));
    }

    #[test]
    fn expected_values_are_computed_once_per_name_and_problem() {
        let inputs = inputs(Fill::Noise, 1);
        let first = |inputs: &Inputs, value| inputs.expected_rows("value", |_, _| vec![vec![value]])[0].parts.clone();
        assert_eq!((first(&inputs, 1.0), first(&inputs, 2.0)), (vec![vec![1.0]], vec![vec![1.0]]));
        let specs = inputs.specs.clone();
        assert_eq!(first(&inputs.for_another_problem(&specs, 3).unwrap(), 3.0), [[3.0]]);
    }

    #[test]
    fn small_batches_get_many_sets_and_huge_ones_two() {
        let count = |rows: usize| set_count(&[TensorSpec::new([rows, 1152], Fill::Noise)], rows, usize::MAX);
        assert_eq!([count(1), count(32), count(1024), count(1 << 20)], [256, 128, 4, 2]);
        let one = [TensorSpec::new([1, 1], Fill::Noise)];
        assert_eq!((set_count(&one, 1, 3), set_count(&one, 1, 0)), (3, 1));
    }

    #[test]
    fn few_rows_are_all_compared_and_of_many_the_ends_are() {
        let few = sampled_rows(5, 3, 256, 1);
        assert_eq!(few[..5], [(0, 0), (0, 1), (0, 2), (0, 3), (0, 4)]);
        assert_eq!(few[5..].iter().map(|(set, _)| *set).collect::<Vec<_>>(), [1, 2]);
        let mut many = sampled_rows(10_000, 1, 256, 1);
        assert!(many.contains(&(0, 0)) && many.contains(&(0, 9_999)));
        many.sort_unstable();
        many.dedup();
        assert_eq!(many.len(), 256);
    }
}
