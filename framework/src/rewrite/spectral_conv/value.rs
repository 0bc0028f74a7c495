//! Abstract values: what is known of a value of a graph, in terms of a spectral convolution.

use super::axes::{AxisRole, AxisRoles, ValueAxes};
use super::bins::{BinBlock, Bins, Term, sum};
use crate::graph::{AxisSlice, ValueId};
use crate::rewrite::abstract_value::SpectrumPart;

/// Real transform of a tensor `[batch, in, n…]` along its last dimensions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RealTransform {
    /// The tensor.
    pub source: ValueId,
    /// Points along each dimension.
    pub points: Vec<usize>,
    /// Outputs of the transform of real rows.
    pub spectra: [ValueId; 2],
}

/// Content along a dimension of a transform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Points of the tensor.
    Points,
    /// Bins.
    Bins,
    /// Points that the inverse transform has made of bins.
    Inverted,
}

/// A tensor whose elements a value has, and where they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    pub source: ValueId,
    pub axes: ValueAxes,
}

/// One part of a spectrum, of which few bins may be kept, multiplied by weights or not; 0 outside its blocks.
#[derive(Debug, Clone, PartialEq)]
pub struct Spectrum {
    pub transform: RealTransform,
    pub stages: Vec<Stage>,
    pub axes: ValueAxes,
    pub blocks: Vec<BinBlock>,
}

/// Abstract value of a graph's value.
#[derive(Debug, Clone, PartialEq)]
pub enum SpectralConvValue {
    /// Elements of tensors, the one of the value itself first, then those it is a view of.
    Tensor(Vec<View>),
    /// One part of a spectrum.
    Spectrum(Spectrum),
}

impl SpectralConvValue {
    /// The elements of a tensor.
    pub fn tensor(source: ValueId, shape: &[usize]) -> Self {
        Self::Tensor(vec![View { source, axes: ValueAxes::own(shape) }])
    }

    pub const fn spectrum(&self) -> Option<&Spectrum> {
        match self {
            Self::Spectrum(spectrum) => Some(spectrum),
            Self::Tensor(_) => None,
        }
    }

    pub fn views(&self) -> &[View] {
        match self {
            Self::Tensor(views) => views,
            Self::Spectrum(_) => &[],
        }
    }
}

impl Spectrum {
    /// One part of the transform along the last dimension; the roles of `axes` are those of the source.
    pub fn of_real(transform: RealTransform, axes: &ValueAxes, axis: usize, scale: f64, part: SpectrumPart) -> Self {
        let dims = transform.points.len();
        let axes = axes.renamed(|role| match role {
            AxisRole::Own(0) => AxisRole::Batch,
            AxisRole::Own(1) => AxisRole::Input,
            AxisRole::Own(axis) => AxisRole::Mode(axis - 2),
            other => other,
        });
        let half = transform.points[dims - 1] / 2 + 1;
        let mut bins: Vec<Bins> = transform.points.iter().map(|points| Bins::all(*points)).collect();
        let mut stages = vec![Stage::Points; dims];
        (bins[dims - 1], stages[dims - 1]) = (Bins::all(half), Stage::Bins);
        let blocks = vec![BinBlock { bins, terms: vec![Term { part, weights: None, factor: scale }] }];
        Self { transform, stages, axes: axes.with_modes(axis, dims - 1, half), blocks }
    }

    /// The same values with other axes.
    pub fn with_axes(&self, axes: ValueAxes) -> Self {
        Self { axes, ..self.clone() }
    }

    /// The same bins, each block changed.
    pub fn with_blocks(&self, change: impl Fn(&BinBlock) -> BinBlock) -> Self {
        Self { blocks: self.blocks.iter().map(change).collect(), ..self.clone() }
    }

    /// The dimension that runs along an axis, and nothing else. Along an axis of length 1, it is the only dimension of
    /// which no more than a bin is left, if there is one.
    pub fn dim_along(&self, axis: usize) -> Option<usize> {
        let roles = self.axes.roles();
        let mut single = (0..self.stages.len()).filter(|dim| !roles.contains(&AxisRole::Mode(*dim)));
        let only = single.next().filter(|_| self.axes.0[axis].is_empty() && single.next().is_none());
        self.axes.mode_along(axis).or(only)
    }

    /// The dimension whose bins run along an axis, and nothing else.
    pub fn bins_along(&self, axis: usize) -> Option<usize> {
        self.dim_along(axis).filter(|dim| self.stages[*dim] == Stage::Bins)
    }

    /// The bins that slices select, which make `from` the shape `to`.
    pub fn cut(&self, slices: &[AxisSlice], from: &[usize], to: &[usize]) -> Option<Self> {
        let mut part = self.clone();
        for (axis, slice) in slices.iter().enumerate() {
            let (start, length) = (slice.start, to[axis]);
            if slice.stride != 1 {
                return None;
            }
            if length != from[axis] {
                let dim = self.bins_along(axis)?;
                part.blocks = part.blocks.iter().filter_map(|block| block.cut(dim, start, start + length)).collect();
                part.axes = part.axes.with_modes(axis, dim, length);
            }
        }
        Some(part)
    }

    /// The bins from `place` on along an axis of `length`, and zeros around them.
    pub fn moved(&self, axis: usize, place: usize, length: usize) -> Option<Self> {
        let dim = self.bins_along(axis)?;
        let moved = self.with_blocks(|block| block.moved(dim, place));
        Some(moved.with_axes(self.axes.with_modes(axis, dim, length)))
    }

    /// The sum with another part of the same transform.
    pub fn plus(&self, other: &Self) -> Option<Self> {
        if (&self.transform, &self.stages, &self.axes) != (&other.transform, &other.stages, &other.axes) {
            return None;
        }
        Some(Self { blocks: sum(self.blocks.clone(), &other.blocks)?, ..self.clone() })
    }

    /// The product with weights, element by element.
    pub fn times(&self, weights: &View) -> Option<Self> {
        let axes = self.axes.0.iter().zip(&weights.axes.0).map(|(own, weights)| joined(own, weights));
        let axes = ValueAxes(axes.collect::<Option<_>>()?);
        self.weighted(weights.source, axes)
    }

    /// The matrix product with weights along the last two axes, summed over input channels.
    pub fn matmul(&self, weights: &View) -> Option<Self> {
        let (own, [rows, columns]) = self.axes.0.split_last_chunk()?;
        let (of_weights, [inputs, outputs]) = weights.axes.0.split_last_chunk()?;
        let is_sum = match (&columns[..], &inputs[..]) {
            ([], []) => true,
            ([(AxisRole::Input, length)], [(AxisRole::Own(0), same)]) => length == same,
            _ => false,
        };
        let leading = own.iter().zip(of_weights).map(|(own, weights)| joined(own, weights));
        let mut axes = leading.collect::<Option<Vec<_>>>()?;
        axes.extend([joined(rows, &Vec::new())?, joined(&Vec::new(), outputs)?]);
        (is_sum && own.len() == of_weights.len()).then(|| self.weighted(weights.source, ValueAxes(axes)))?
    }

    fn weighted(&self, weights: ValueId, axes: ValueAxes) -> Option<Self> {
        let is_spectrum = self.stages.iter().all(|stage| *stage == Stage::Bins);
        let blocks = self.blocks.iter().map(|block| block.weighted(weights)).collect::<Option<_>>()?;
        is_spectrum.then(|| Self { axes, blocks, ..self.clone() })
    }

    /// The sum along `axis`: of input channels.
    pub fn summed(&self, axis: usize, length: usize) -> Option<Self> {
        if length == 1 {
            return Some(self.clone());
        }
        let [(AxisRole::Input, _)] = self.axes.0[axis][..] else { return None };
        let mut axes = self.axes.clone();
        axes.0[axis].clear();
        Some(self.with_axes(axes))
    }
}

/// The roles along an axis of a product of a spectrum with weights.
fn joined(own: &AxisRoles, weights: &AxisRoles) -> Option<AxisRoles> {
    let is_pair =
        |((role, length), (of_weights, same)): (&(AxisRole, usize), &(AxisRole, usize))| match (role, of_weights) {
            (AxisRole::Input, AxisRole::Own(0)) => length == same,
            (AxisRole::Mode(dim), AxisRole::Own(axis)) => dim + 2 == *axis && length == same,
            _ => false,
        };
    match (&own[..], &weights[..]) {
        ([], &[(AxisRole::Own(1), length)]) => Some(vec![(AxisRole::Output, length)]),
        (own, []) => own.iter().all(|(role, _)| *role == AxisRole::Batch).then(|| own.to_vec()),
        (own, weights) => (own.len() == weights.len() && own.iter().zip(weights).all(is_pair)).then(|| own.to_vec()),
    }
}
