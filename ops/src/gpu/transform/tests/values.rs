//! Transforms on the devices that are present, against the definition in float64.

use std::f64::consts::PI;

use firefly_reference::Complex;
use firefly_reference::dft::dft_bins;

use crate::gpu::complex::ComplexRows;
use crate::gpu::device::{GpuDevice, empty};
use crate::gpu::tests::devices::{accelerators, bits, noise, read, small, upload};
use crate::gpu::transform::launch::{StridedRows, TransformCall, is_padded, transform};
use crate::gpu::transform::plan::{TransformKind, TransformPlan, TransformProblem};

/// Bins that are compared per row, at most: the definition takes n operations for each.
const BINS: usize = 400;
const SCALE: f32 = 0.5;
const INTERIOR: f32 = 2.0;

/// A transform of `rows` rows of `len` values, `gap` more values apart.
#[derive(Debug, Clone, Copy)]
struct Case {
    kind: TransformKind,
    points: usize,
    rows: usize,
    len: usize,
    gap: usize,
    conjugates: bool,
}

impl Case {
    /// Rows of the length that the transform takes, without gaps.
    fn new(kind: TransformKind, points: usize, rows: usize) -> Self {
        let len = if kind == TransformKind::RealInverse { points / 2 + 1 } else { points };
        Self { kind, points, rows, len, gap: 0, conjugates: false }
    }

    /// The whole complex row that a row stands for.
    fn extended(&self, row: &[Complex]) -> Vec<Complex> {
        let value = |i: usize| if i < self.len { row[i] } else { Complex::ZERO };
        let n = self.points;
        (0..n)
            .map(|i| match self.kind {
                TransformKind::Complex => value(i),
                TransformKind::RealForward | TransformKind::LowestBins => Complex::new(value(i).re, 0.0),
                TransformKind::Columns(_)
                | TransformKind::ColumnsToModes(_)
                | TransformKind::ModesToColumns(_)
                | TransformKind::Pairs
                | TransformKind::Cosine
                | TransformKind::CosineTransposed => unreachable!("tested elsewhere"),
                TransformKind::RealInverse => {
                    let bin = i.min(n - i);
                    let sign = if (2 * i > n) == self.conjugates { 1.0 } else { -1.0 };
                    // The inverse sum is the forward sum of the conjugate.
                    match value(bin) {
                        value if bin == 0 || 2 * bin == n => Complex::new(value.re, 0.0),
                        value => Complex::new(f64::from(INTERIOR) * value.re, sign * f64::from(INTERIOR) * value.im),
                    }
                }
            })
            .collect()
    }

    fn problem(&self) -> TransformProblem {
        let is_padded = is_padded(self.kind, self.len, self.points);
        TransformProblem { points: self.points, kind: self.kind, is_padded, conjugates: self.conjugates }
    }

    /// Values of an output row.
    fn outputs(&self) -> usize {
        match self.kind {
            TransformKind::RealForward => self.points / 2 + 1,
            TransformKind::LowestBins => self.points / 3 + 1,
            _ => self.points,
        }
    }

    /// Output `k` of a row from that of its complex row.
    fn finished(&self, k: usize, value: Complex) -> Complex {
        let scale = f64::from(SCALE);
        let is_forward = matches!(self.kind, TransformKind::RealForward | TransformKind::LowestBins);
        let interior = is_forward && k > 0 && 2 * k != self.points;
        let scale = if interior { scale * f64::from(INTERIOR) } else { scale };
        let sign = if is_forward && self.conjugates { -1.0 } else { 1.0 };
        Complex::new(scale * value.re, sign * scale * value.im)
    }
}

/// The lengths `all`, or on a device that may be a program, where it takes seconds to compile a kernel, `few` of them.
fn lengths<'a>(device: &GpuDevice, all: &'a [usize], few: &'a [usize]) -> &'a [usize] {
    if device.limits.processors.is_some() { all } else { few }
}

/// A device with memory for half of the columns of a row of some thousand values.
fn medium(device: &GpuDevice) -> GpuDevice {
    let mut medium = device.clone();
    (medium.limits.shared, medium.limits.units) = (16 << 10, 256);
    medium
}

/// The parts of the output rows of a case whose input rows have the parts `values`.
fn outputs(device: &GpuDevice, case: Case, values: &[Vec<f32>; 2]) -> [Vec<f32>; 2] {
    let stride = case.len + case.gap;
    let [re, im] = values.each_ref().map(|part| upload(device, part));
    let input = StridedRows::new(ComplexRows::new(re, im), stride, case.len);
    let outputs = case.outputs();
    let output = match case.kind {
        TransformKind::RealInverse => ComplexRows { re: empty(&device.client, case.rows * outputs), im: None },
        _ => ComplexRows::empty(&device.client, case.rows * outputs),
    };
    let into = StridedRows::contiguous(output.clone(), outputs);
    let call = TransformCall { problem: case.problem(), rows: case.rows, scale: SCALE, interior: INTERIOR };
    transform(device, &call, &input, &into).unwrap();
    [&output.re, output.imaginary()].map(|part| read(device, part))
}

/// Computes a case on a device and compares some bins of some rows with the definition.
fn assert_right(device: &GpuDevice, case: Case) {
    let (kind, outputs, stride) = (case.kind, case.outputs(), case.len + case.gap);
    let values = [1, 2].map(|seed| noise(case.rows * stride, seed * 7919 + case.points as u32));
    let found = self::outputs(device, case, &values);

    let bins: Vec<usize> = (0..outputs).step_by(outputs.div_ceil(BINS)).chain([outputs - 1, outputs / 2]).collect();
    for row in [0, case.rows / 2, case.rows - 1] {
        let at =
            |i: usize| Complex::new(f64::from(values[0][row * stride + i]), f64::from(values[1][row * stride + i]));
        let given: Vec<Complex> = (0..case.len).map(at).collect();
        let expected = dft_bins(&case.extended(&given), &bins);
        let expected: Vec<Complex> = bins.iter().zip(expected).map(|(&k, value)| case.finished(k, value)).collect();
        let largest = expected.iter().fold(0f64, |most, value| most.max(value.norm_sqr())).sqrt();
        // Twice the tolerance of transforms without a convolution where there is one.
        let plan = TransformPlan::of(case.problem(), &device.limits).unwrap();
        let convolved = plan.launches.iter().any(|launch| launch.is_filtered());
        let tolerance = (2e-6 + 5e-7 * (case.points as f64).log10()) * if convolved { 2.0 } else { 1.0 };
        for (&k, expected) in bins.iter().zip(expected) {
            let [re, im] = found.each_ref().map(|part| f64::from(part[row * outputs + k]));
            let im = if kind == TransformKind::RealInverse { 0.0 } else { im - expected.im };
            let error = Complex::new(re - expected.re, im).norm_sqr().sqrt();
            assert!(
                error <= tolerance * largest,
                "{case:?}, row {row}, bin {k}: {re}, expected {expected:?}, error {:e} of {largest}",
                error / largest
            );
        }
    }
}

const KINDS: [TransformKind; 3] = [TransformKind::Complex, TransformKind::RealForward, TransformKind::RealInverse];

/// Outputs of every kernel of transforms: of one launch, of a convolution, of two launches, and of three and a fold.
pub fn outputs_of_kernels(device: &GpuDevice) -> Vec<Vec<f32>> {
    let (small, medium) = (small(device), medium(device));
    let in_one = lengths(device, &[30, 256, 67, 4095], &[45]).iter();
    let in_one = in_one.flat_map(|&points| KINDS.map(|kind| (device, Case::new(kind, points, 5))));
    let folded = [(&small, 1200), (&small, 1018), (&medium, 4608)];
    let folded = folded.map(|(device, points)| (device, Case::new(TransformKind::LowestBins, points, 5)));
    let outputs = in_one.chain(folded).flat_map(|(device, case)| {
        outputs(device, case, &[1, 2].map(|seed| noise(case.rows * (case.len + case.gap), seed)))
    });
    outputs.collect()
}

#[test]
#[ignore = "needs a device; run with --include-ignored"]
fn short_lengths_are_right() {
    for device in accelerators() {
        let all: Vec<usize> = (1..=64).collect();
        for &points in lengths(&device, &all, &[1, 2, 3, 30, 37]) {
            KINDS.iter().for_each(|&kind| assert_right(&device, Case::new(kind, points, 5)));
        }
    }
}

#[test]
#[ignore = "needs a device; run with --include-ignored"]
fn lengths_of_small_factors_are_right() {
    for device in accelerators() {
        let all = [100, 128, 243, 256, 360, 456, 512, 1000, 1024, 1080, 1920, 2048, 4095];
        for &points in lengths(&device, &all, &[360, 1024]) {
            KINDS.iter().for_each(|&kind| assert_right(&device, Case::new(kind, points, 7)));
        }
    }
}

#[test]
#[ignore = "needs a device; run with --include-ignored"]
fn primes_are_right() {
    for device in accelerators() {
        for &points in lengths(&device, &[67, 251, 502, 1009, 2011], &[251, 502]) {
            KINDS.iter().for_each(|&kind| assert_right(&device, Case::new(kind, points, 7)));
        }
    }
}

#[test]
#[ignore = "needs a device; run with --include-ignored"]
fn long_lengths_are_right() {
    for device in accelerators() {
        for &points in lengths(&device, &[8192, 10_000, 10_007, 16_384, 65_536], &[10_000]) {
            KINDS.iter().for_each(|&kind| assert_right(&device, Case::new(kind, points, 3)));
        }
        for &points in lengths(&device, &[1 << 20], &[]) {
            assert_right(&device, Case::new(TransformKind::Complex, points, 1));
        }
    }
}

#[test]
#[ignore = "needs a device; run with --include-ignored"]
fn lengths_that_a_smaller_device_splits_are_right() {
    for device in accelerators().iter().map(small) {
        for &points in lengths(&device, &[510, 1024, 1155, 2000, 2430, 509, 1018], &[1155, 2000, 509, 1018]) {
            KINDS.iter().for_each(|&kind| assert_right(&device, Case::new(kind, points, 6)));
        }
    }
}

#[test]
#[ignore = "needs a device; run with --include-ignored"]
fn half_spectra_are_folded_by_cubes_of_columns_and_their_mirror_images() {
    for device in accelerators().iter().map(medium) {
        // Odd and even numbers of columns and of values in one, in one pass and in several.
        for &points in lengths(&device, &[4394, 4500, 4608, 4998], &[4394, 4608]) {
            for kind in [TransformKind::RealForward, TransformKind::LowestBins] {
                let case = Case::new(kind, points, 5);
                let plan = TransformPlan::of(case.problem(), &device.limits).unwrap();
                assert!(plan.launches.len() == 2 && plan.fold.is_none(), "{plan:?}");
                assert_right(&device, case);
                assert_right(&device, Case { conjugates: true, gap: 3, ..case });
            }
        }
    }
}

/// Compares some coefficients of both cosine transforms of rows with a gap between them with the definition.
fn assert_cosines_right(device: &GpuDevice, n: usize) {
    let (rows, stride) = (3, n + 2);
    let values = noise(rows * stride, n as u32);
    let input = StridedRows::new(ComplexRows::real(upload(device, &values)), stride, n);
    let cosine = |k: usize, j: usize| (PI * (k * (2 * j + 1) % (4 * n)) as f64 / (2 * n) as f64).cos();
    for (kind, is_transposed) in [(TransformKind::Cosine, false), (TransformKind::CosineTransposed, true)] {
        let output = ComplexRows::real(empty(&device.client, rows * n));
        let call = TransformCall { problem: TransformProblem::new(n, kind), rows, scale: SCALE, interior: INTERIOR };
        transform(device, &call, &input, &StridedRows::contiguous(output.clone(), n)).unwrap();
        let found = read(device, &output.re);
        let factor = |k: usize| f64::from(SCALE) * if k == 0 { f64::from(INTERIOR) } else { 1.0 };
        let places: Vec<usize> = (0..n).step_by(n.div_ceil(BINS)).chain([n - 1, n / 2]).collect();
        for row in [0, rows - 1] {
            let value = |i: usize| f64::from(values[row * stride + i]);
            let expected: Vec<f64> = places
                .iter()
                .map(|&at| match is_transposed {
                    true => (0..n).map(|k| factor(k) * value(k) * cosine(k, at)).sum(),
                    false => factor(at) * (0..n).map(|j| value(j) * cosine(at, j)).sum::<f64>(),
                })
                .collect();
            let largest = expected.iter().fold(0f64, |most, value| most.max(value.abs()));
            for (&at, expected) in places.iter().zip(expected) {
                let found = f64::from(found[row * n + at]);
                let error = (found - expected).abs() / largest;
                assert!(error <= 8e-6, "{kind:?} of {n}, row {row}, {at}: {found}, expected {expected}, {error:e}");
            }
        }
    }
}

#[test]
#[ignore = "needs a device; run with --include-ignored"]
fn cosine_transforms_are_right() {
    for device in accelerators() {
        // In one launch, as a convolution, in two launches, and with a fold of its own.
        for &n in lengths(&device, &[2, 4, 6, 30, 64, 250, 1000, 4096, 1018, 10_006, 40_000, 1 << 20], &[2, 6, 60, 134])
        {
            assert_cosines_right(&device, n);
        }
        for &n in lengths(&device, &[1018, 1200, 4608], &[1018, 1200]) {
            assert_cosines_right(&small(&device), n);
        }
        assert_cosines_right(&medium(&device), 4608);
    }
}

#[test]
#[ignore = "needs a device; run with --include-ignored"]
fn rows_are_padded_truncated_and_read_at_their_stride() {
    for device in accelerators() {
        // In one launch, as a convolution, and in two launches.
        let small = small(&device);
        for (device, points) in [(&device, 60), (&device, 67), (&small, 600)]
            .into_iter()
            .take(if device.limits.processors.is_some() { 3 } else { 1 })
        {
            for kind in KINDS {
                for (len, gap) in [(points / 3, 0), (points / 3, 5), (points + 9, 0), (points, 64 - points % 64)] {
                    let case = Case { len, gap, ..Case::new(kind, points, 9) };
                    assert_right(device, case);
                    assert_right(device, Case { conjugates: kind != TransformKind::Complex, ..case });
                }
            }
        }
    }
}

#[test]
#[ignore = "needs a device; run with --include-ignored"]
fn parts_side_by_side_give_the_same_bits() {
    for device in accelerators() {
        let (small, medium) = (small(&device), medium(&device));
        // In one launch, as a convolution, in two launches, and with a fold in the second one and after it.
        let cases = [(&device, 30), (&device, 45), (&device, 67), (&small, 1200), (&small, 1018), (&medium, 4608)];
        let few = if device.limits.processors.is_some() { cases.len() } else { 2 };
        for (device, points) in cases.into_iter().take(few) {
            for (kind, conjugates) in KINDS.into_iter().flat_map(|kind| [(kind, false), (kind, true)]) {
                let case = Case { conjugates, ..Case::new(kind, points, 5) };
                let values = [1, 2].map(|seed| noise(case.rows * case.len, seed));
                let mut expected = outputs(device, case, &values);
                let pairs = |[re, im]: [&[f32]; 2]| re.iter().zip(im).flat_map(|(&re, &im)| [re, im]).collect();
                let (reads, writes) = (kind != TransformKind::RealForward, kind != TransformKind::RealInverse);
                let given: Vec<f32> = if reads { pairs([&values[0], &values[1]]) } else { values[0].clone() };
                let rows = |handle, len, is_complex| match is_complex {
                    true => StridedRows::interleaved(handle, len),
                    false => StridedRows::contiguous(ComplexRows::real(handle), len),
                };
                let output = empty(&device.client, case.rows * case.outputs() * if writes { 2 } else { 1 });
                let call = TransformCall { problem: case.problem(), rows: 5, scale: SCALE, interior: INTERIOR };
                let from = rows(upload(device, &given), case.len, reads);
                transform(device, &call, &from, &rows(output.clone(), case.outputs(), writes)).unwrap();
                if writes {
                    expected[0] = pairs([&expected[0], &expected[1]]);
                }
                assert_eq!(bits(&read(device, &output)), bits(&expected[0]), "{case:?}");
            }
        }
    }
}

#[test]
#[ignore = "needs a device; run with --include-ignored"]
fn the_lowest_bins_alone_are_written() {
    for device in accelerators() {
        // An even and an odd length in one launch, and as a convolution.
        for &points in lengths(&device, &[1, 2, 30, 45, 67, 134, 1024], &[30, 45, 134]) {
            let case = Case::new(TransformKind::LowestBins, points, 7);
            assert_right(&device, case);
            assert_right(&device, Case { conjugates: true, ..case });
        }
        // With a fold of two launches and of a convolution.
        for points in [1200, 1018] {
            assert_right(&small(&device), Case::new(TransformKind::LowestBins, points, 5));
        }
    }
}

#[test]
#[ignore = "needs a device; run with --include-ignored"]
fn every_row_of_a_large_batch_is_right() {
    for device in accelerators() {
        for &points in lengths(&device, &[5, 16, 256, 360], &[5]) {
            KINDS.iter().for_each(|&kind| assert_right(&device, Case::new(kind, points, 131)));
        }
    }
}

#[test]
#[ignore = "needs a device; run with --include-ignored"]
fn a_row_does_not_depend_on_its_neighbours() {
    for device in accelerators() {
        for (kind, points) in KINDS.into_iter().flat_map(|kind| [(kind, 60), (kind, 67), (kind, 45)]) {
            let case = Case::new(kind, points, 5);
            let values = [1, 2].map(|seed| noise(case.rows * case.len, seed));
            let whole = outputs(&device, case, &values);
            // The second row alone, and between rows that are not finite.
            let mut disturbed = values.clone();
            for part in &mut disturbed {
                part[..case.len].fill(f32::NAN);
                part[2 * case.len..].fill(f32::INFINITY);
            }
            let disturbed = outputs(&device, case, &disturbed);
            let alone =
                outputs(&device, Case { rows: 1, ..case }, &values.map(|part| part[case.len..2 * case.len].to_vec()));
            let second = case.outputs()..2 * case.outputs();
            for ((whole, disturbed), alone) in whole.iter().zip(&disturbed).zip(&alone) {
                assert_eq!(bits(&whole[second.clone()]), bits(alone), "{case:?}");
                assert_eq!(bits(&whole[second.clone()]), bits(&disturbed[second.clone()]), "{case:?}");
            }
        }
    }
}
