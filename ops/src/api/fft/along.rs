//! Transforms along one dimension: arguments checked, the dimension moved to the end, rows dispatched.

use burn::backend::Dispatch;
use burn::backend::ops::FloatTensorOps;
use burn::tensor::{AsIndex, Shape, Tensor};

use super::ComplexTensor;
use crate::api::check;
use crate::api::rows::Leading;
use crate::error::{ArgumentError, Result, ensure};
use crate::op::inputs;
use crate::options::{Direction, FftOptions, Norm};

/// One call of a public function, which its errors name.
#[derive(Debug, Clone, Copy)]
pub(in crate::api) struct FftCall {
    pub operation: &'static str,
    /// Whether the function is one of the forward transforms.
    pub forward: bool,
    pub norm: Norm,
}

impl FftCall {
    pub const fn forward(operation: &'static str) -> Self {
        Self { operation, forward: true, norm: Norm::Backward }
    }

    /// The dimension that `dim` names in a tensor of `rank` dimensions.
    pub fn dim(&self, dim: impl AsIndex, rank: usize) -> Result<usize> {
        let dim = dim.as_index();
        let named = if dim < 0 { dim.checked_add_unsigned(rank) } else { Some(dim) };
        let named = named.and_then(|dim| usize::try_from(dim).ok()).filter(|&dim| dim < rank);
        let expected = format_args!("from -{rank} to {} for a tensor of {rank} dimensions", rank as isize - 1);
        named.ok_or_else(|| ArgumentError::new(self.operation, "dim", dim, expected))
    }

    /// Complex to complex: `n` points, or as many as there are values.
    pub fn complex<const D: usize>(
        &self,
        input: ComplexTensor<D>,
        n: Option<usize>,
        dim: usize,
    ) -> Result<ComplexTensor<D>> {
        let points = input.dims()[dim];
        let n = n.unwrap_or(points);
        let options = self.options(n, self.direction())?;
        if dim + 1 < D && n == points {
            return self.complex_columns(input, options, dim);
        }
        let (leading, re, im) = self.rows(input, dim, n)?;
        let parts = inputs::ComplexFft { re, im }.apply::<Dispatch>(options);
        let [re, im] = parts.map(|part| back(leading.unflatten(part, n), dim));
        Ok(ComplexTensor { re, im })
    }

    /// Complex to complex along a dimension that is not the last, all of it.
    fn complex_columns<const D: usize>(
        &self,
        input: ComplexTensor<D>,
        options: FftOptions,
        dim: usize,
    ) -> Result<ComplexTensor<D>> {
        let dims = input.dims();
        let (re, im) = self.parts(input, dim, options.length)?;
        let matrices = Shape::from([dims[..dim].iter().product(), dims[dim], dims[dim + 1..].iter().product()]);
        // A graph that is being captured records no reshape that changes nothing.
        let is_view = matrices != Shape::from(dims);
        let reshaped = |part, shape: Shape| if is_view { Dispatch::float_reshape(part, shape) } else { part };
        let [re, im] = [re, im].map(|part| reshaped(part.into_dispatch(), matrices.clone()));
        let parts = inputs::ComplexFftColumns { re, im }.apply::<Dispatch>(options);
        let [re, im] = parts.map(|part| Tensor::from_dispatch(reshaped(part, Shape::from(dims))));
        Ok(ComplexTensor { re, im })
    }

    /// Real to the lower half of a spectrum.
    pub fn real<const D: usize>(&self, input: Tensor<D>, n: Option<usize>, dim: usize) -> Result<ComplexTensor<D>> {
        let n = n.unwrap_or(input.dims()[dim]);
        let options = self.options(n, self.direction())?;
        let (leading, signal) = self.real_rows(input, dim, n)?;
        let parts = inputs::RealFft { signal }.apply::<Dispatch>(options);
        let [re, im] = parts.map(|part| back(leading.unflatten(part, options.bins()), dim));
        Ok(ComplexTensor { re, im })
    }

    /// The lower half of a spectrum to real values, `n` or 2 (m − 1) for m bins.
    pub fn inverse_real<const D: usize>(&self, z: ComplexTensor<D>, n: Option<usize>, dim: usize) -> Result<Tensor<D>> {
        let bins = z.dims()[dim];
        let n = n.unwrap_or(2 * bins.saturating_sub(1));
        let options = self.options(n, self.direction())?;
        let (leading, re, im) = self.rows(z, dim, n)?;
        let [signal] = inputs::InverseRealFft { re, im }.apply::<Dispatch>(options);
        Ok(back(leading.unflatten(signal, n), dim))
    }

    /// Cosine or sine transform of type 2, 3 or 4.
    pub fn cosine<const D: usize>(&self, input: Tensor<D>, dim: usize, kind: usize, sines: bool) -> Result<Tensor<D>> {
        let n = input.dims()[dim];
        // The cosines are those of a transform of twice the length, or four times; type 3 takes half of the first
        // coefficient.
        let (leading, rows) = self.real_rows(input, dim, if kind == 4 { 4 * n } else { 2 * n })?;
        let scale = 2.0 * self.norm.factor(self.forward, 2 * n);
        let first = match (self.norm, kind) {
            (Norm::Ortho, 2 | 3) => 0.5f64.sqrt(),
            (_, 3) => 0.5,
            _ => 1.0,
        };
        let [transformed] = inputs::Dct { rows }.apply::<Dispatch>(kind, sines, scale, first);
        Ok(back(leading.unflatten(transformed, n), dim))
    }

    /// Direction of the transform, that is the sign of its exponent. `hfft` is a forward transform of a Hermitian
    /// signal and `ihfft` its inverse, though the former returns and the latter takes real values.
    fn direction(&self) -> Direction {
        if self.forward { Direction::Forward } else { Direction::Inverse }
    }

    fn options(&self, n: usize, direction: Direction) -> Result<FftOptions> {
        ensure(n >= 1, self.operation, "n", n, "at least 1 point")?;
        Ok(FftOptions::new(n, direction).with_scale(self.norm.factor(self.forward, n)))
    }

    /// Real rows along `dim`, in the type that is computed in, for a transform of `n` points.
    fn real_rows<const D: usize>(&self, input: Tensor<D>, dim: usize, n: usize) -> Result<(Leading<D>, DispatchRows)> {
        let inputs = check::InputCheck::of(self.operation, "input", &input)?;
        self.has_values(input.dims(), dim)?;
        inputs.fft("input", &input, dim, n)?;
        let input = inputs.first(input).swap_dims(dim, D - 1);
        let leading = Leading::of(&input).0;
        Ok((leading, leading.flatten(input)))
    }

    /// Both parts as rows along `dim`, in one type, for a transform of `n` points.
    fn rows<const D: usize>(
        &self,
        input: ComplexTensor<D>,
        dim: usize,
        n: usize,
    ) -> Result<(Leading<D>, DispatchRows, DispatchRows)> {
        let (re, im) = self.parts(input, dim, n)?;
        let [re, im] = [re, im].map(|part| part.swap_dims(dim, D - 1));
        let leading = Leading::of(&re).0;
        Ok((leading, leading.flatten(re), leading.flatten(im)))
    }

    /// Both parts, checked and in one type, for a transform of `n` points along `dim`.
    pub fn parts<const D: usize>(&self, z: ComplexTensor<D>, dim: usize, n: usize) -> Result<(Tensor<D>, Tensor<D>)> {
        let dims = z.dims();
        let mut inputs = check::InputCheck::of(self.operation, "input.re", &z.re)?;
        self.has_values(dims, dim)?;
        inputs.fft("input.re", &z.re, dim, n)?;
        let im = inputs.next("input.im", z.im, dims)?;
        Ok((inputs.first(z.re), im))
    }

    /// The dimension that `dim` names, and the input in the type that is computed in, which has values along it.
    pub fn real_input<const D: usize>(&self, input: Tensor<D>, dim: impl AsIndex) -> Result<(usize, Tensor<D>)> {
        let dim = self.dim(dim, D)?;
        self.has_values(input.dims(), dim)?;
        Ok((dim, check::InputCheck::of(self.operation, "input", &input)?.first(input)))
    }

    fn has_values<const D: usize>(&self, dims: [usize; D], dim: usize) -> Result<()> {
        let expected = format_args!("a tensor with at least 1 value along dimension {dim}");
        ensure(dims[dim] >= 1, self.operation, "input", format_args!("{dims:?}"), expected)
    }
}

/// Rows of a backend's tensor.
type DispatchRows = burn::backend::DispatchTensor;

/// The last dimension moved back to `dim`.
fn back<const D: usize>(tensor: Tensor<D>, dim: usize) -> Tensor<D> {
    tensor.swap_dims(dim, D - 1)
}
