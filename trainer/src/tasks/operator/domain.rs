//! Domain of a problem: what its fields are at its end, and its symmetries.

use super::config::{Boundary, DataSection, Symmetries};
use super::symmetry::DomainSymmetry;
use crate::grid::{self, coordinates};

/// Continuation of a field at the end of its domain, where it has no point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closing {
    /// None: the field stays as it is.
    Open,
    /// One more point along each dimension, with the value of the nearest.
    Nearest,
    /// One more point along each dimension, with the value 0.
    Zero,
}

impl Closing {
    /// Points along each dimension of a closed field.
    pub fn points(self, points: &[usize]) -> Vec<usize> {
        let more = usize::from(self != Self::Open);
        points.iter().map(|count| count + more).collect()
    }

    /// The closed fields of fields `[…, points…]`.
    pub fn closed(self, fields: &[f32], points: &[usize]) -> Vec<f32> {
        if self == Self::Open {
            return fields.to_vec();
        }
        let closed_points = self.points(points);
        // Place in the field of each value of the closed one, none for zeros.
        let strides = grid::strides(points);
        let origin = |index: usize| {
            let is_end = coordinates(index, &closed_points).any(|(dim, coordinate)| coordinate == points[dim]);
            let nearest = |(dim, coordinate): (usize, usize)| coordinate.min(points[dim] - 1) * strides[dim];
            (!is_end || self == Self::Nearest).then(|| coordinates(index, &closed_points).map(nearest).sum::<usize>())
        };
        let origins: Vec<Option<usize>> = (0..closed_points.iter().product()).map(origin).collect();
        let channels = fields.chunks_exact(points.iter().product());
        channels.flat_map(|channel| origins.iter().map(|origin| origin.map_or(0.0, |place| channel[place]))).collect()
    }

    /// The fields `[…, points…]` whose closed fields are `closed`.
    pub fn opened(self, closed: &[f32], points: &[usize]) -> Vec<f32> {
        if self == Self::Open {
            return closed.to_vec();
        }
        let closed_points = self.points(points);
        let places: Vec<usize> = grid::places(points, &grid::strides(&closed_points)).collect();
        let channels = closed.chunks_exact(closed_points.iter().product());
        channels.flat_map(|channel| places.iter().map(|place| channel[*place])).collect()
    }
}

/// Boundary and symmetries of a problem.
#[derive(Debug, Clone, PartialEq)]
pub struct Domain {
    /// Continuation of the inputs.
    pub input: Closing,
    /// Continuation of the outputs.
    pub output: Closing,
    /// Symmetries of the problem, the identity first; empty if none are used.
    pub symmetries: Vec<DomainSymmetry>,
}

impl Domain {
    /// The domain of a section in `dims` dimensions.
    pub fn of(section: &DataSection, dims: usize) -> Self {
        let (input, output) = match section.boundary {
            Boundary::Open => (Closing::Open, Closing::Open),
            Boundary::Zero => (Closing::Nearest, Closing::Zero),
        };
        let symmetries = match section.symmetry {
            Symmetries::None => Vec::new(),
            Symmetries::Square => DomainSymmetry::all(dims),
        };
        Self { input, output, symmetries }
    }

    /// The same domain without symmetries.
    pub fn without_symmetries(&self) -> Self {
        Self { symmetries: Vec::new(), ..self.clone() }
    }

    /// Checks that fields of so many points have the symmetries.
    ///
    /// # Errors
    /// The reason why they have not.
    pub fn check(&self, points: &[usize]) -> Result<(), String> {
        if self.symmetries.is_empty() || points.iter().all(|count| *count == points[0]) {
            return Ok(());
        }
        let points: Vec<String> = points.iter().map(ToString::to_string).collect();
        let reason = "but data.symmetry = \"square\" needs as many along each dimension";
        Err(format!("fields of {} points, {reason}", points.join(" × ")))
    }

    /// Points along each dimension of the fields that a model of the domain sees.
    pub fn points(&self, points: &[usize]) -> Vec<usize> {
        self.input.points(points)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_fields_end_in_the_nearest_value_or_in_zero() {
        let field = [1.0, 2.0, 3.0, 4.0];
        let nearest = [1.0, 2.0, 2.0, 3.0, 4.0, 4.0, 3.0, 4.0, 4.0];
        assert_eq!(Closing::Nearest.closed(&field, &[2, 2]), nearest);
        let zero = [1.0, 2.0, 0.0, 3.0, 4.0, 0.0, 0.0, 0.0, 0.0];
        assert_eq!(Closing::Zero.closed(&field, &[2, 2]), zero);
        assert_eq!(Closing::Open.closed(&field, &[2, 2]), field);
        assert_eq!(Closing::Zero.points(&[2, 5]), [3, 6]);
    }

    #[test]
    fn symmetries_of_the_square_need_squares() {
        let square = Domain { input: Closing::Open, output: Closing::Open, symmetries: DomainSymmetry::all(2) };
        assert_eq!(square.check(&[5, 5]), Ok(()));
        let reason = "fields of 3 × 5 points, but data.symmetry = \"square\" needs as many along each dimension";
        assert_eq!(square.check(&[3, 5]), Err(reason.into()));
        assert_eq!(square.without_symmetries().check(&[3, 5]), Ok(()));
    }

    #[test]
    fn an_opened_field_is_the_one_that_was_closed() {
        let field: Vec<f32> = (0..2 * 3 * 4 * 5).map(|value| value as f32).collect();
        for closing in [Closing::Open, Closing::Nearest, Closing::Zero] {
            assert_eq!(closing.opened(&closing.closed(&field, &[3, 4, 5]), &[3, 4, 5]), field, "{closing:?}");
        }
    }
}
