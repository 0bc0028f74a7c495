//! Abstract values: what is known of a value of a graph, in terms of a spectral convolution.

use super::axes::{Axes, Axis, Role};
use crate::graph::ValueId;
use crate::rewrite::abstract_value::Part;

/// Real transform of the rows of a tensor `[batch, in, n]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Transform {
    /// The tensor.
    pub source: ValueId,
    /// Points, n.
    pub points: usize,
    /// Factor of the bins, and of what was multiplied by numbers since.
    pub scale: f64,
    /// Outputs of the transform.
    pub spectra: [ValueId; 2],
}

/// One part of a spectrum times a tensor of weights `[in, out, modes]`, and a factor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Term {
    pub part: Part,
    pub weights: ValueId,
    pub factor: f64,
}

/// Kind of an abstract value.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// Elements of a tensor.
    Tensor(ValueId),
    /// One part of the lowest bins.
    Spectrum(Transform, Part),
    /// Sum of products of the spectrum by weights, of each input channel or of all of them together. Bins past those of
    /// the weights are 0.
    Product { transform: Transform, terms: Vec<Term>, is_summed: bool },
}

/// Abstract value: a kind, and the roles of each axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    pub kind: Kind,
    pub axes: Axes,
}

impl Value {
    /// The elements of a tensor.
    pub fn tensor(id: ValueId, shape: &[usize]) -> Self {
        Self { kind: Kind::Tensor(id), axes: Axes::own(shape) }
    }

    /// The same kind with other axes.
    pub fn with_axes(&self, axes: Axes) -> Self {
        Self { kind: self.kind.clone(), axes }
    }

    /// The value times a number.
    pub fn scaled(&self, factor: f64) -> Option<Self> {
        let kind = match &self.kind {
            Kind::Tensor(_) => return None,
            Kind::Spectrum(transform, part) => {
                Kind::Spectrum(Transform { scale: transform.scale * factor, ..transform.clone() }, *part)
            }
            Kind::Product { transform, terms, is_summed } => {
                let terms = terms.iter().map(|term| Term { factor: term.factor * factor, ..*term }).collect();
                Kind::Product { transform: transform.clone(), terms, is_summed: *is_summed }
            }
        };
        Some(Self { kind, axes: self.axes.clone() })
    }

    /// `self` + `sign`·`other`: of products by one transform.
    pub fn plus(&self, other: &Self, sign: f64) -> Option<Self> {
        let Kind::Product { transform, terms, is_summed } = &self.kind else { return None };
        let Kind::Product { transform: of_other, terms: added, is_summed: other_is_summed } = &other.kind else {
            return None;
        };
        if (transform, is_summed, &self.axes) != (of_other, other_is_summed, &other.axes) {
            return None;
        }
        let added = added.iter().map(|term| Term { factor: sign * term.factor, ..*term });
        let terms = terms.iter().copied().chain(added).collect();
        let kind = Kind::Product { transform: transform.clone(), terms, is_summed: *is_summed };
        Some(Self { kind, axes: self.axes.clone() })
    }

    /// The product of a spectrum and weights, element by element.
    pub fn times(&self, weights: &Self) -> Option<Self> {
        let joined = |(own, weights): (&Axis, &Axis)| match (&own[..], &weights[..]) {
            ([], []) => Some(Vec::new()),
            ([(Role::Batch, length)], []) => Some(vec![(Role::Batch, *length)]),
            ([(Role::Input, length)], [(Role::Own(0), same)]) if length == same => Some(own.clone()),
            ([(Role::Mode, length)], [(Role::Own(2), same)]) if length == same => Some(own.clone()),
            ([], [(Role::Own(1), length)]) => Some(vec![(Role::Output, *length)]),
            _ => None,
        };
        let axes: Option<Vec<_>> = self.axes.0.iter().zip(&weights.axes.0).map(joined).collect();
        self.product(weights, Axes(axes?), false)
    }

    /// The matrix product of a spectrum and weights along their last two axes, summed over input channels.
    pub fn matmul(&self, weights: &Self) -> Option<Self> {
        let (own, [.., rows, columns]) = self.axes.0.split_at_checked(self.axes.0.len().checked_sub(2)?)? else {
            return None;
        };
        let (of_weights, [.., inputs, outputs]) = weights.axes.0.split_at_checked(own.len())? else { return None };
        let ([(Role::Input, terms)], [(Role::Own(0), same)], [(Role::Own(1), length)]) =
            (&columns[..], &inputs[..], &outputs[..])
        else {
            return None;
        };
        let leading = own.iter().zip(of_weights).map(|(own, weights)| match (&own[..], &weights[..]) {
            ([], []) => Some(Vec::new()),
            ([(Role::Mode, length)], [(Role::Own(2), same)]) if length == same => Some(own.clone()),
            _ => None,
        });
        let mut axes = leading.collect::<Option<Vec<_>>>()?;
        axes.extend([rows.clone(), vec![(Role::Output, *length)]]);
        (terms == same && matches!(rows[..], [(Role::Batch, _)])).then(|| self.product(weights, Axes(axes), true))?
    }

    fn product(&self, weights: &Self, axes: Axes, is_summed: bool) -> Option<Self> {
        let (Kind::Spectrum(transform, part), Kind::Tensor(weights)) = (&self.kind, &weights.kind) else { return None };
        let has = |role| axes.0.iter().flatten().any(|(own, _)| *own == role);
        let terms = vec![Term { part: *part, weights: *weights, factor: 1.0 }];
        let kind = Kind::Product { transform: transform.clone(), terms, is_summed };
        (has(Role::Output) && has(Role::Mode)).then_some(Self { kind, axes })
    }

    /// The sum along `axis`, that of input channels.
    pub fn summed(&self, axis: usize) -> Option<Self> {
        let Kind::Product { transform, terms, is_summed: false } = &self.kind else { return None };
        let [(Role::Input, _)] = self.axes.0[axis][..] else { return None };
        let mut axes = self.axes.clone();
        axes.0[axis].clear();
        let kind = Kind::Product { transform: transform.clone(), terms: terms.clone(), is_summed: true };
        Some(Self { kind, axes })
    }
}
