//! Abstract values: elements of a tensor, spectra and their products with weights, power, or convolutions.

use super::axes::{Axes, AxisRole};
use super::bins::BinBlock;
use crate::graph::ValueId;

/// Segments cut from the last axis of a tensor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segments {
    pub source: ValueId,
    /// Number of axes of the tensor.
    pub rank: usize,
    /// First sample of each segment.
    pub starts: Vec<usize>,
    /// Samples per segment; along an axis that is longer, zeros follow.
    pub length: usize,
    /// The window they were multiplied by, with one element per sample.
    pub window: Option<ValueId>,
}

impl Segments {
    /// The role of samples, or of the bins of their spectra.
    pub const fn samples(&self) -> AxisRole {
        AxisRole::Own(self.rank.saturating_sub(1))
    }

    /// The first axis of the source that may be transformed: behind rows, or behind elements of a batch and channels.
    pub const fn first_dim(&self) -> usize {
        if self.rank > 2 { 2 } else { self.rank.saturating_sub(1) }
    }
}

/// Real part of a spectrum, imaginary part, or both: along an axis of parts, or as their sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpectrumPart {
    Real,
    Imaginary,
    Both,
}

/// Segments, and their real transform along the last axis of their source if there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transform {
    pub segments: Segments,
    /// Points along each axis of the source from [`Segments::first_dim`] on, more of which than there are samples are
    /// zeros; none of samples.
    pub points: Vec<usize>,
    /// Whether the spectrum is the lower half.
    pub is_half: bool,
    /// Outputs of the transforms that computed it: a real and an imaginary part for one or several segments each.
    pub outputs: Vec<ValueId>,
}

/// Content along a dimension of a transform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    Points,
    Bins,
    /// Points that the inverse transform has made of bins.
    Inverted,
}

/// One part of a spectrum, of which few bins may be kept, multiplied by weights or not; 0 outside its blocks.
#[derive(Debug, Clone, PartialEq)]
pub struct Spectrum {
    /// What runs along each dimension of the transform.
    pub stages: Vec<Stage>,
    pub blocks: Vec<BinBlock>,
}

/// Weighted power per bin: a weight times the sum over segments of the squared parts of their spectra. Along an axis of
/// segments, each element is the power of one of them.
#[derive(Debug, Clone, PartialEq)]
pub struct PowerSpectrum {
    /// The parts that are squared.
    pub part: SpectrumPart,
    /// The first bin along the axis of bins.
    pub first_bin: usize,
    /// Weight of each bin from there on.
    pub weights: Vec<f64>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Samples of segments, windowed or not.
    Samples,
    /// One part of a spectrum.
    Spectrum(Spectrum),
    /// Power per bin.
    Power(PowerSpectrum),
    /// Square root of the power per bin.
    Amplitude(PowerSpectrum),
    /// Circular convolutions with kernels of as many samples as the transform has points, or the first of them, times a
    /// factor. Kernels are given by both parts of their spectra, the outputs of a transform.
    Convolution { kernels: [ValueId; 2], factor: f64 },
}

/// Abstract value: what it follows from, its content, and what runs along each axis.
#[derive(Debug, Clone, PartialEq)]
pub struct AbstractValue {
    pub transform: Transform,
    pub content: Content,
    pub axes: Axes,
}

impl AbstractValue {
    /// The elements of a tensor itself.
    pub fn own(source: ValueId, shape: &[usize]) -> Self {
        let length = shape.last().copied().unwrap_or(1);
        let segments = Segments { source, rank: shape.len(), starts: vec![0], length, window: None };
        let transform = Transform { segments, points: Vec::new(), is_half: false, outputs: Vec::new() };
        Self { transform, content: Content::Samples, axes: Axes::own(shape) }
    }

    pub const fn spectrum(&self) -> Option<&Spectrum> {
        if let Content::Spectrum(spectrum) = &self.content { Some(spectrum) } else { None }
    }

    pub const fn power(&self) -> Option<&PowerSpectrum> {
        if let Content::Power(power) = &self.content { Some(power) } else { None }
    }

    pub fn samples(&self) -> Option<&Segments> {
        (self.content == Content::Samples).then_some(&self.transform.segments)
    }

    /// The role of samples, points or bins along the last axis of the source.
    pub const fn point_role(&self) -> AxisRole {
        self.transform.segments.samples()
    }

    /// The axis of samples or bins.
    pub fn point_axis(&self) -> Option<usize> {
        self.axes.position(self.point_role())
    }

    pub fn with_axes(&self, axes: Axes) -> Self {
        Self { axes, ..self.clone() }
    }

    pub fn with_content(&self, content: Content) -> Self {
        Self { transform: self.transform.clone(), content, axes: self.axes.clone() }
    }
}
