//! What a value of a graph is, in terms of a Welch estimate.

use crate::graph::ValueId;

/// What runs along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Frames of the signal.
    Row,
    /// Segments of a frame.
    Segment,
    /// All segments of the first frame, then of the next.
    RowSegment,
    /// Samples of a segment, or bins of its spectrum.
    Line,
    /// Nothing: the axis has length 1.
    One,
}

/// Parts of rows of a signal `[rows, samples]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segments {
    /// The signal.
    pub source: ValueId,
    /// The first sample of each segment.
    pub starts: Vec<usize>,
    /// Samples of each segment.
    pub length: usize,
    /// What they were multiplied by, with as many elements.
    pub window: Option<ValueId>,
}

/// The real or the imaginary part of a spectrum, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Real,
    Imaginary,
    Both,
}

/// Squared magnitude: for each bin, its weight times the sum over segments of the squared parts of their spectra. Along an
/// axis of segments, each element is of one of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Energy {
    /// The segments.
    pub segments: Segments,
    /// Which parts are squared.
    pub part: Part,
    /// The bin that the line starts at.
    pub first_bin: usize,
    /// The weight of each bin of the line.
    pub weights: Vec<f64>,
    /// The values that transforms gave.
    pub spectra: Vec<ValueId>,
}

/// What a value holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Samples, windowed or not.
    Samples(Segments),
    /// One part of the spectra of segments, and the value that the transform gave.
    Spectrum(Segments, Part, Vec<ValueId>),
    /// Squared magnitudes.
    Energy(Energy),
}

impl Content {
    pub const fn segments(&self) -> &Segments {
        match self {
            Self::Samples(segments) | Self::Spectrum(segments, ..) => segments,
            Self::Energy(energy) => &energy.segments,
        }
    }
}

/// What a value is: what it holds, and what runs along each of its axes.
#[derive(Debug, Clone, PartialEq)]
pub struct Meaning {
    pub content: Content,
    pub roles: Vec<Role>,
}

impl Meaning {
    /// Any matrix may be a signal.
    pub fn signal(source: ValueId, samples: usize) -> Self {
        let segments = Segments { source, starts: vec![0], length: samples, window: None };
        Self { content: Content::Samples(segments), roles: vec![Role::Row, Role::Line] }
    }

    /// Whether segments are still apart, along an axis of their own or within the rows.
    pub fn is_split(&self) -> bool {
        self.roles.iter().any(|role| matches!(role, Role::Segment | Role::RowSegment))
    }

    /// The axis along which samples or bins run.
    pub fn line(&self) -> Option<usize> {
        self.roles.iter().position(|role| *role == Role::Line)
    }
}

/// A value that varies along one axis only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vector {
    /// The value that holds the elements, with no others.
    pub source: ValueId,
    /// The axis along which they run.
    pub axis: usize,
}
