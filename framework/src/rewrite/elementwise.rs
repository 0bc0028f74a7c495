//! Arithmetic: windows, squares, sums and scales.

use super::meaning::{Content, Energy, Meaning, Part, Role};
use crate::graph::ValueId;

/// Samples times a window that `vector` holds, with one element a sample.
pub fn windowed(meaning: &Meaning, vector: ValueId) -> Option<Meaning> {
    let Content::Samples(segments) = &meaning.content else { return None };
    if segments.window.is_some() {
        return None;
    }
    let mut segments = segments.clone();
    segments.window = Some(vector);
    Some(Meaning { content: Content::Samples(segments), roles: meaning.roles.clone() })
}

/// Energy times a weight for each bin.
pub fn weighted(meaning: &Meaning, weights: &[f64]) -> Option<Meaning> {
    let Content::Energy(energy) = &meaning.content else { return None };
    if energy.weights.len() != weights.len() {
        return None;
    }
    let weights = energy.weights.iter().zip(weights).map(|(have, weight)| have * weight).collect();
    Some(Meaning { content: Content::Energy(Energy { weights, ..energy.clone() }), roles: meaning.roles.clone() })
}

/// Energy times one factor.
pub fn scaled(meaning: &Meaning, factor: f64) -> Option<Meaning> {
    let Content::Energy(energy) = &meaning.content else { return None };
    weighted(meaning, &vec![factor; energy.weights.len()])
}

/// A part of a spectrum of `bins` bins, squared.
pub fn squared(meaning: &Meaning, bins: usize) -> Option<Meaning> {
    let Content::Spectrum(segments, part, spectra) = &meaning.content else { return None };
    let energy = Energy {
        part: *part,
        first_bin: 0,
        weights: vec![1.0; bins],
        spectra: spectra.clone(),
        segments: segments.clone(),
    };
    Some(Meaning { content: Content::Energy(energy), roles: meaning.roles.clone() })
}

/// The sum of two energies: real and imaginary parts of the same segments, or different segments whose own sums are done.
pub fn sum(left: &Meaning, right: &Meaning) -> Option<Meaning> {
    let (Content::Energy(a), Content::Energy(b)) = (&left.content, &right.content) else { return None };
    if left.roles != right.roles || a.first_bin != b.first_bin || a.weights != b.weights {
        return None;
    }
    let mut together = a.clone();
    together.spectra.extend(b.spectra.iter().filter(|value| !a.spectra.contains(value)));
    let parts = matches!((a.part, b.part), (Part::Real, Part::Imaginary) | (Part::Imaginary, Part::Real));
    if parts && a.segments == b.segments {
        together.part = Part::Both;
    } else if a.part == b.part && !left.is_split() {
        let (x, y) = (&a.segments, &b.segments);
        if (x.source, x.length, x.window) != (y.source, y.length, y.window) {
            return None;
        }
        together.segments.starts.extend(&y.starts);
    } else {
        return None;
    }
    Some(Meaning { content: Content::Energy(together), roles: left.roles.clone() })
}

/// The sum along `axis`, divided by `divisor`.
pub fn reduced(meaning: &Meaning, axis: usize, divisor: f64) -> Option<Meaning> {
    let mut reduced = scaled(meaning, 1.0 / divisor)?;
    match reduced.roles[axis] {
        Role::Segment => reduced.roles[axis] = Role::One,
        Role::One => {}
        _ => return None,
    }
    Some(reduced)
}
