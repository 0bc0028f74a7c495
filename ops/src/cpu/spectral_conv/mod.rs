//! Spectral convolutions: transforms that keep few modes, products per mode, and transforms back.
//!
//! A task takes batch elements in groups that are small enough for their spectra to stay in the cache, and large
//! enough to read the weights seldom. Results do not depend on the groups: every value is a sum in one order.

mod products;

use self::products::{ModeProduct, Strides, multiply};
use crate::cpu::real::Real;
use crate::cpu::runtime::take;
use crate::cpu::runtime::tasks::{Tasks, optional_chunks};
use crate::cpu::transform::{columns_to_modes, inverse_real_part, lowest_bins, modes_to_columns};
use crate::options::FftOptions;
use crate::spectral_shape::SpectralShape;

/// Values of the spectra of a group, about.
const GROUP_VALUES: usize = 1 << 18;
const TILE_ROWS: usize = 4;
/// Groups that a batch is cut into before they grow.
const GROUPS: usize = 8;

/// Gradients that the backward pass writes; absent ones are not computed.
pub struct SpectralConvGradients<'a, T> {
    /// `[batch, inputs, points…]`.
    pub input: Option<&'a mut [T]>,
    /// Real and imaginary parts, `[inputs, outputs, modes…]`.
    pub weights: Option<[&'a mut [T]; 2]>,
}

/// `input` `[batch, inputs, points…]` and weights `[inputs, outputs, modes…]`, real and imaginary parts → `output`
/// `[batch, outputs, points…]`.
pub(crate) fn spectral_conv<T: Real>(input: &[T], weights: [&[T]; 2], shape: &SpectralShape, output: &mut [T]) {
    let layer = SpectralLayer {
        shape,
        weights,
        product: ModeProduct {
            rows: 0,
            columns: shape.outputs,
            terms: shape.inputs,
            modes: shape.channel_modes(),
            left: rows_of(shape, shape.inputs),
            right: rows_of(shape, shape.outputs),
            product: rows_of(shape, shape.outputs),
            conjugates: false,
        },
        forward: shape.forward(),
        inverse: shape.inverse(),
    };
    layer.run(input, None, Some(output));
}

/// Gradients of the inputs of [`spectral_conv`] from the gradient `grad` `[batch, outputs, points…]` of its output.
/// `workspace` has [`workspace_len`] values; its contents are unspecified before and after.
pub(crate) fn spectral_conv_backward<T: Real>(
    input: &[T],
    weights: [&[T]; 2],
    shape: &SpectralShape,
    grad: &[T],
    gradients: SpectralConvGradients<'_, T>,
    workspace: &mut [T],
) {
    let SpectralConvGradients { input: of_input, weights: of_weights } = gradients;
    let modes = shape.channel_modes();
    // The spectra of the input and of the gradient, for the sum over the batch.
    let mut rest = workspace;
    let mut spectra = of_weights.is_some().then(|| {
        [shape.inputs, shape.outputs].map(|channels| [0; 2].map(|_| take(&mut rest, shape.batch * channels * modes)))
    });
    // The gradient of the input is a spectral convolution with the conjugates of the transposed weights.
    let adjoint = SpectralLayer {
        shape,
        weights,
        product: ModeProduct {
            rows: 0,
            columns: shape.inputs,
            terms: shape.outputs,
            modes,
            left: rows_of(shape, shape.outputs),
            right: Strides { row: modes, column: shape.outputs * modes },
            product: rows_of(shape, shape.inputs),
            conjugates: true,
        },
        forward: shape.inverse_adjoint(),
        inverse: shape.forward_adjoint(),
    };
    let kept = spectra.as_mut().map(|[_, of_grad]| of_grad.each_mut().map(|part| &mut **part));
    adjoint.run(grad, kept, of_input);
    let (Some([of_signal, of_grad]), Some(sums)) = (&mut spectra, of_weights) else { return };
    // The product with the input's spectrum is not computed: there is nothing to transform back.
    let forward = SpectralLayer {
        forward: shape.forward(),
        product: ModeProduct { terms: shape.inputs, ..adjoint.product },
        ..adjoint
    };
    forward.run(input, Some(of_signal.each_mut().map(|part| &mut **part)), None);
    sum_over_batch(shape, of_grad.each_ref().map(|part| &**part), of_signal.each_ref().map(|part| &**part), sums);
}

/// Values of the workspace of [`spectral_conv_backward`], with the gradients of weights or without.
pub(crate) fn workspace_len(shape: &SpectralShape, of_weights: bool) -> usize {
    if of_weights { 2 * shape.batch * (shape.inputs + shape.outputs) * shape.channel_modes() } else { 0 }
}

/// Gradients of the weights: Σ_b G\[b, o\] · X\[b, i\]*, from the spectra G of the gradient and X of the input.
fn sum_over_batch<T: Real>(shape: &SpectralShape, grad: [&[T]; 2], input: [&[T]; 2], [re, im]: [&mut [T]; 2]) {
    let modes = shape.channel_modes();
    let row = shape.outputs * modes;
    let tasks = Tasks::independent(shape.inputs, product_work(shape.batch * shape.outputs * modes));
    let outputs = re.chunks_mut(tasks.rows * row).zip(im.chunks_mut(tasks.rows * row));
    tasks.run(outputs.enumerate(), |(task, (re, im))| {
        let first = task * tasks.rows * modes;
        let product = ModeProduct {
            rows: shape.outputs,
            columns: re.len() / row,
            terms: shape.batch,
            modes,
            left: Strides { row: modes, column: row },
            right: Strides { row: shape.inputs * modes, column: modes },
            product: Strides { row: modes, column: row },
            conjugates: true,
        };
        // Channels of the input from the task's first one on; an empty batch has none.
        let input = input.map(|part| part.get(first..).unwrap_or_default());
        multiply(&product, grad, input, [re, im]);
    });
}

/// Rows of modes of one batch element, or of one input channel of the weights, after the other.
fn rows_of(shape: &SpectralShape, channels: usize) -> Strides {
    let modes = shape.channel_modes();
    Strides { row: channels * modes, column: modes }
}

/// Work of as many complex products, in the unit of [`Tasks`].
fn product_work(products: usize) -> usize {
    products / 8
}

/// A spectral convolution, or its adjoint in the input.
#[derive(Clone, Copy)]
struct SpectralLayer<'a, T> {
    shape: &'a SpectralShape,
    weights: [&'a [T]; 2],
    /// The product of the spectra of a batch element by the weights; the rows are those of a group.
    product: ModeProduct,
    /// Parameters of the transforms along the last dimension.
    forward: FftOptions,
    inverse: FftOptions,
}

impl<T: Real> SpectralLayer<'_, T> {
    /// The transforms of batch elements with `channels` channels each.
    fn transform<'b>(&'b self, options: &'b FftOptions, channels: usize) -> ChannelTransform<'b> {
        ChannelTransform { shape: self.shape, options, all_channels: self.shape.batch * channels }
    }

    /// Batch elements that are computed at once.
    fn group(&self) -> usize {
        let values = 2 * (self.product.terms + self.product.columns) * self.product.modes;
        let fits = (GROUP_VALUES / values).max(TILE_ROWS);
        self.shape.batch.max(1).div_ceil(GROUPS).next_multiple_of(TILE_ROWS).min(fits)
    }

    /// The spectra of `input` `[batch, terms, points…]`, into `spectra` if they are to be kept, and the `output`
    /// `[batch, columns, points…]`, if it is required.
    fn run(&self, input: &[T], spectra: Option<[&mut [T]; 2]>, output: Option<&mut [T]>) {
        let ModeProduct { columns, terms, modes, .. } = self.product;
        let samples = self.shape.samples();
        let group = self.group();
        let work = (terms + columns) * samples + product_work(terms * columns * modes);
        let tasks = Tasks::independent_groups(self.shape.batch, work, group);
        let [re, im] = spectra.map_or([None, None], |parts| parts.map(Some));
        let len = tasks.rows * terms * modes;
        let spectra = optional_chunks(re, len).zip(optional_chunks(im, len));
        let outputs = optional_chunks(output, tasks.rows * columns * samples);
        let inputs = input.chunks(tasks.rows * terms * samples);
        tasks.run(inputs.zip(spectra).zip(outputs), |((input, (re, im)), output)| {
            self.run_task(group, input, re.zip(im), output);
        });
    }

    /// The batch elements of a task, group by group.
    fn run_task(&self, group: usize, input: &[T], spectra: Option<(&mut [T], &mut [T])>, output: Option<&mut [T]>) {
        let ModeProduct { columns, terms, modes, .. } = self.product;
        let samples = self.shape.samples();
        let [from, to] = [terms, columns].map(|channels| group * channels * modes);
        T::with_scratch(|scratch| {
            let mut rest = scratch.real(2 * (from + to) + spare_len(self.shape));
            let [own_re, own_im] = [0; 2].map(|_| take(&mut rest, from));
            let [product_re, product_im] = [0; 2].map(|_| take(&mut rest, to));
            let (re, im) = spectra.unzip();
            let kept = optional_chunks(re, from).zip(optional_chunks(im, from));
            let outputs = optional_chunks(output, group * columns * samples);
            for ((input, kept), output) in input.chunks(group * terms * samples).zip(kept).zip(outputs) {
                let rows = input.len() / (terms * samples);
                // Modes of the input's spectra, in memory of the caller if they are kept.
                let [re, im] = match kept {
                    (Some(re), Some(im)) => [re, im],
                    _ => [&mut own_re[..rows * terms * modes], &mut own_im[..rows * terms * modes]],
                };
                self.transform(&self.forward, terms).forward(input, [&mut *re, &mut *im], rest);
                let Some(output) = output else { continue };
                // Products with the weights, mode by mode, and the transforms back.
                let product = [&mut product_re[..rows * columns * modes], &mut product_im[..rows * columns * modes]];
                let [product_re, product_im] = product;
                let product = ModeProduct { rows, ..self.product };
                multiply(&product, [re, im], self.weights, [&mut *product_re, &mut *product_im]);
                self.transform(&self.inverse, columns).inverse([product_re, product_im], output, rest);
            }
        });
    }
}

/// Values between the transforms of the channels that are transformed at once, about: they stay in the cache.
const BLOCK_VALUES: usize = 1 << 15;

/// The transforms of some channels of a call.
#[derive(Debug, Clone, Copy)]
struct ChannelTransform<'a> {
    pub shape: &'a SpectralShape,
    /// Parameters of the transforms along the last dimension.
    pub options: &'a FftOptions,
    /// Channels of the whole call.
    pub all_channels: usize,
}

/// Values of the memory that a transform of channels needs besides its arguments.
fn spare_len(shape: &SpectralShape) -> usize {
    // Real and imaginary parts, before and after a transform of a dimension that is neither the first nor the last.
    let buffers = if shape.last() > 1 { 4 } else { 2 };
    buffers * block(shape).1
}

/// Channels that are transformed at once, and the complex values between their transforms.
fn block(shape: &SpectralShape) -> (usize, usize) {
    let last = shape.last();
    if last == 0 {
        return (usize::MAX, 0);
    }
    let values = shape.values_between(last - 1);
    let channels = (BLOCK_VALUES / values).max(1);
    (channels, channels * values)
}

fn shared<'a, T>(parts: &'a [&mut [T]; 2]) -> [&'a [T]; 2] {
    parts.each_ref().map(|part| &**part)
}

fn exclusive<'a, T>(parts: &'a mut [&mut [T]; 2]) -> [&'a mut [T]; 2] {
    parts.each_mut().map(|part| &mut **part)
}

impl ChannelTransform<'_> {
    /// Rows of the last dimension in the whole call.
    fn all_rows(&self) -> usize {
        self.all_channels * self.shape.points[..self.shape.last()].iter().product::<usize>()
    }

    /// The kept modes of channels: `input` `[channels, points…]` → `output` `[channels, modes…]`.
    pub fn forward<T: Real>(&self, input: &[T], [out_re, out_im]: [&mut [T]; 2], spare: &mut [T]) {
        let Self { shape, options, .. } = *self;
        let (last, modes) = (shape.last(), shape.channel_modes());
        let (points, bins) = (shape.points[last], shape.modes[last]);
        if last == 0 {
            return lowest_bins(input, points, options, bins, self.all_rows(), [out_re, out_im]);
        }
        let (channels, _) = block(shape);
        let outputs = out_re.chunks_mut(channels * modes).zip(out_im.chunks_mut(channels * modes));
        for (input, (out_re, out_im)) in input.chunks(channels * shape.samples()).zip(outputs) {
            let count = out_re.len() / modes;
            let mut rest = &mut *spare;
            let mut parts = [0; 2].map(|_| take(&mut rest, count * shape.values_between(last - 1)));
            lowest_bins(input, points, options, bins, self.all_rows(), exclusive(&mut parts));
            for dim in (1..last).rev() {
                let mut next = [0; 2].map(|_| take(&mut rest, count * shape.values_between(dim - 1)));
                columns_to_modes(&shape.columns(dim), shared(&parts), exclusive(&mut next));
                parts = next;
            }
            columns_to_modes(&shape.columns(0), shared(&parts), [out_re, out_im]);
        }
    }

    /// Channels from their modes, other bins being 0: `input` `[channels, modes…]` → `output` `[channels, points…]`.
    pub fn inverse<T: Real>(&self, [re, im]: [&[T]; 2], output: &mut [T], spare: &mut [T]) {
        let Self { shape, options, .. } = *self;
        let (last, modes) = (shape.last(), shape.channel_modes());
        let bins = shape.modes[last];
        if last == 0 {
            return inverse_real_part([re, im], bins, options, self.all_rows(), output);
        }
        let (channels, _) = block(shape);
        let inputs = re.chunks(channels * modes).zip(im.chunks(channels * modes));
        for ((re, im), output) in inputs.zip(output.chunks_mut(channels * shape.samples())) {
            let count = re.len() / modes;
            let mut rest = &mut *spare;
            let mut parts = [0; 2].map(|_| take(&mut rest, count * shape.values_between(0)));
            modes_to_columns(&shape.columns(0), [re, im], exclusive(&mut parts));
            for dim in 1..last {
                let mut next = [0; 2].map(|_| take(&mut rest, count * shape.values_between(dim)));
                modes_to_columns(&shape.columns(dim), shared(&parts), exclusive(&mut next));
                parts = next;
            }
            inverse_real_part(shared(&parts), bins, options, self.all_rows(), output);
        }
    }
}
