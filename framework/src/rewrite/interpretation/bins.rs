//! Boxes of bins: which bins of a spectrum lie where along the axes of a value, and what they were multiplied by.

use super::abstract_value::SpectrumPart;
use crate::graph::ValueId;

/// Adjacent bins along one dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bins {
    /// Place of the first one along its axis.
    pub place: usize,
    pub count: usize,
    /// The first one, in the order of the transform.
    pub first: usize,
    /// Place in the weights that the first one was multiplied by.
    pub weight: usize,
}

impl Bins {
    /// All bins of a transform.
    pub const fn all(count: usize) -> Self {
        Self { place: 0, count, first: 0, weight: 0 }
    }

    /// The bins between two places, with the first of these as the new start; `None` if there are none.
    fn cut(self, start: usize, end: usize) -> Option<Self> {
        let (from, to) = (self.place.max(start), (self.place + self.count).min(end));
        let skipped = from - self.place;
        let cut =
            |count| Self { place: from - start, count, first: self.first + skipped, weight: self.weight + skipped };
        to.checked_sub(from).filter(|count| *count > 0).map(cut)
    }

    const fn overlap(&self, other: &Self) -> bool {
        self.place < other.place + other.count && other.place < self.place + self.count
    }
}

/// One part of a spectrum, times a part of weights `[in, out, modes…]` or of the spectra of kernels, and a factor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Term {
    pub part: SpectrumPart,
    pub weights: Option<ValueId>,
    pub factor: f64,
}

/// Box of bins, and the terms whose sum its values are.
#[derive(Debug, Clone, PartialEq)]
pub struct BinBlock {
    /// The bins along each dimension.
    pub bins: Vec<Bins>,
    pub terms: Vec<Term>,
}

impl BinBlock {
    /// The part between two places along a dimension.
    pub fn cut(&self, dim: usize, start: usize, end: usize) -> Option<Self> {
        let mut block = self.clone();
        block.bins[dim] = self.bins[dim].cut(start, end)?;
        Some(block)
    }

    /// The same bins at later places along a dimension.
    pub fn moved(&self, dim: usize, places: usize) -> Self {
        let mut block = self.clone();
        block.bins[dim].place += places;
        block
    }

    pub fn scaled(&self, factor: f64) -> Self {
        let terms = self.terms.iter().map(|term| Term { factor: term.factor * factor, ..*term }).collect();
        Self { bins: self.bins.clone(), terms }
    }

    /// The bins times weights in the same places; `None` if they were multiplied before.
    pub fn weighted(&self, weights: ValueId) -> Option<Self> {
        let bins = self.bins.iter().map(|bins| Bins { weight: bins.place, ..*bins }).collect();
        let weighted = |term: &Term| term.weights.is_none().then_some(Term { weights: Some(weights), ..*term });
        Some(Self { bins, terms: self.terms.iter().map(weighted).collect::<Option<_>>()? })
    }

    /// Whether bins along a dimension lie in the order of the transform.
    pub fn is_in_place(&self, dim: usize) -> bool {
        self.bins[dim].place == self.bins[dim].first
    }

    fn overlap(&self, other: &Self) -> bool {
        self.bins.iter().zip(&other.bins).all(|(own, other)| own.overlap(other))
    }

    /// Factor and weights of the block whose real part has the terms of `self`, and its imaginary part those of `im`;
    /// no weights if it was not multiplied.
    pub fn complex_with(&self, im: &Self) -> Option<(f64, Option<[ValueId; 2]>)> {
        if self.bins != im.bins {
            return None;
        }
        if let ([a], [b]) = (&self.terms[..], &im.terms[..]) {
            let is_plain = (a.part, b.part) == (SpectrumPart::Real, SpectrumPart::Imaginary)
                && (a.weights, b.weights) == (None, None);
            return (is_plain && a.factor == b.factor).then_some((a.factor, None));
        }
        // (x + iy)(u + iv) = xu − yv + i (xv + yu).
        let ([a, b], [c, d]) = (parts(&self.terms)?, parts(&im.terms)?);
        let factor = a.factor;
        let is_complex = a.weights == d.weights && b.weights == c.weights && a.weights != b.weights;
        let has_one_factor = [-b.factor, c.factor, d.factor].iter().all(|other| *other == factor);
        (is_complex && has_one_factor).then_some((factor, Some([a.weights?, b.weights?])))
    }
}

/// The term of the real part of the spectrum, and that of the imaginary part.
fn parts(terms: &[Term]) -> Option<[Term; 2]> {
    match terms {
        [real @ Term { part: SpectrumPart::Real, .. }, imaginary @ Term { part: SpectrumPart::Imaginary, .. }]
        | [imaginary @ Term { part: SpectrumPart::Imaginary, .. }, real @ Term { part: SpectrumPart::Real, .. }] => {
            Some([*real, *imaginary])
        }
        _ => None,
    }
}

/// The sum of values with these blocks; `None` where two of them overlap in part.
pub fn sum(mut blocks: Vec<BinBlock>, others: &[BinBlock]) -> Option<Vec<BinBlock>> {
    for other in others {
        match blocks.iter_mut().find(|block| block.overlap(other)) {
            None => blocks.push(other.clone()),
            Some(same) if same.bins == other.bins => same.terms.extend(&other.terms),
            Some(_) => return None,
        }
    }
    Some(blocks)
}
