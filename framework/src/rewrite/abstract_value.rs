//! Abstract values: what is known of a value of a graph, in terms of a Welch estimate.

use crate::graph::ValueId;

/// Dimension of a Welch estimate that runs along an axis of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AxisRole {
    /// Frames of the signal.
    Frame,
    /// Segments of a frame.
    Segment,
    /// All segments of the first frame, then of the next.
    FrameSegment,
    /// Samples of a segment, or bins of its spectrum.
    Point,
    /// Real part, then imaginary part: of a spectrum or, squared, of its power.
    Part,
    /// None: the axis has length 1.
    Unit,
}

/// Segments cut from the rows of a signal `[frames, samples]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segments {
    /// The signal.
    pub source: ValueId,
    /// First sample of each segment.
    pub starts: Vec<usize>,
    /// Samples per segment.
    pub length: usize,
    /// The window they were multiplied by, with one element per sample.
    pub window: Option<ValueId>,
}

/// Real part of a spectrum, imaginary part, or both: along an axis of parts, or as their sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpectrumPart {
    Real,
    Imaginary,
    Both,
}

/// Weighted power per bin: a weight times the sum over segments of the squared parts of their spectra. Along an axis of
/// segments, each element is the power of one of them.
#[derive(Debug, Clone, PartialEq)]
pub struct PowerSpectrum {
    /// The segments.
    pub segments: Segments,
    /// The parts that are squared.
    pub part: SpectrumPart,
    /// The first bin along the axis of bins.
    pub first_bin: usize,
    /// Weight of each bin from there on.
    pub weights: Vec<f64>,
    /// Outputs of the transforms that the power was computed from.
    pub spectra: Vec<ValueId>,
}

/// Kind of an abstract value.
#[derive(Debug, Clone, PartialEq)]
pub enum ValueKind {
    /// Samples of segments, windowed or not.
    Samples(Segments),
    /// One part of the spectra of segments, and the outputs of the transforms.
    Spectrum(Segments, SpectrumPart, Vec<ValueId>),
    /// Power per bin.
    Power(PowerSpectrum),
    /// Square root of the power per bin.
    Amplitude(PowerSpectrum),
}

impl ValueKind {
    pub const fn segments(&self) -> &Segments {
        match self {
            Self::Samples(segments) | Self::Spectrum(segments, ..) => segments,
            Self::Power(power) | Self::Amplitude(power) => &power.segments,
        }
    }

    pub const fn segments_mut(&mut self) -> &mut Segments {
        match self {
            Self::Samples(segments) | Self::Spectrum(segments, ..) => segments,
            Self::Power(power) | Self::Amplitude(power) => &mut power.segments,
        }
    }
}

/// Abstract value: a kind, and the role of each axis.
#[derive(Debug, Clone, PartialEq)]
pub struct AbstractValue {
    pub kind: ValueKind,
    pub roles: Vec<AxisRole>,
}

impl AbstractValue {
    /// A matrix as a signal: one segment per row.
    pub fn signal(source: ValueId, samples: usize) -> Self {
        let segments = Segments { source, starts: vec![0], length: samples, window: None };
        Self { kind: ValueKind::Samples(segments), roles: vec![AxisRole::Frame, AxisRole::Point] }
    }

    /// Whether segments are still separate, along an axis of their own or among the rows.
    pub fn has_separate_segments(&self) -> bool {
        self.roles.iter().any(|role| matches!(role, AxisRole::Segment | AxisRole::FrameSegment))
    }

    /// The axis of samples or bins.
    pub fn point_axis(&self) -> Option<usize> {
        self.roles.iter().position(|role| *role == AxisRole::Point)
    }

    /// Whether the axes are frames and points, as of the power that `welch_peaks` searches.
    pub fn is_frames_by_points(&self) -> bool {
        self.roles == [AxisRole::Frame, AxisRole::Point]
    }
}

/// A value that varies along one axis only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vector {
    /// The value that holds exactly its elements.
    pub source: ValueId,
    /// The axis along which it varies.
    pub axis: usize,
}
