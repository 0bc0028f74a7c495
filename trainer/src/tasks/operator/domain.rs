//! Domain of a problem: what its fields are at its end, and its symmetries, the reflections and exchanges of dimensions
//! under which a scalar problem on the unit square or cube stays the same; and places in row-major arrays.

use super::config::{Boundary, DataSection, Symmetries};

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
        let strides = strides(points);
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
        let places: Vec<usize> = places(points, &strides(&closed_points)).collect();
        let channels = closed.chunks_exact(closed_points.iter().product());
        channels.flat_map(|channel| places.iter().map(|place| channel[*place])).collect()
    }
}

/// Symmetry of the unit square or cube: an order of the dimensions, and reflections of some. There are as many points
/// along each dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DomainSymmetry {
    /// Dimension of the original that each dimension of the result is.
    order: Vec<usize>,
    /// Whether each dimension of the result runs backwards.
    reflected: Vec<bool>,
}

impl DomainSymmetry {
    /// All symmetries in `dims` dimensions, the identity first: 2, 8 or 48 in one to three.
    pub fn all(dims: usize) -> Vec<Self> {
        let reflections = |order: Vec<usize>| {
            (0..1usize << dims).map(move |bits| Self {
                order: order.clone(),
                reflected: (0..dims).map(|dim| bits >> dim & 1 == 1).collect(),
            })
        };
        orders(dims).into_iter().flat_map(reflections).collect()
    }

    /// Appends the changed field to `out`; `field` is `[channels, points…]`.
    pub fn apply(&self, field: &[f32], points: &[usize], out: &mut Vec<f32>) {
        let strides = strides(points);
        for channel in field.chunks_exact(points.iter().product()) {
            out.extend((0..channel.len()).map(|index| channel[self.origin(index, points, &strides)]));
        }
    }

    /// Adds the field whose change is `changed` to `sum`.
    pub fn add_reverted(&self, changed: &[f32], points: &[usize], sum: &mut [f64]) {
        let (count, strides) = (points.iter().product(), strides(points));
        for (changed, sum) in changed.chunks_exact(count).zip(sum.chunks_exact_mut(count)) {
            for (index, value) in changed.iter().enumerate() {
                sum[self.origin(index, points, &strides)] += f64::from(*value);
            }
        }
    }

    /// Place in the original of the point `index` of the result.
    fn origin(&self, index: usize, points: &[usize], strides: &[usize]) -> usize {
        let of_dimension = |(dim, point): (usize, usize)| {
            let point = if self.reflected[dim] { points[dim] - 1 - point } else { point };
            point * strides[self.order[dim]]
        };
        coordinates(index, points).map(of_dimension).sum()
    }
}

/// The orders of `dims` dimensions, the ascending one first.
fn orders(dims: usize) -> Vec<Vec<usize>> {
    (0..dims).fold(vec![Vec::new()], |orders, _| {
        let extended = |order: Vec<usize>| {
            let free: Vec<usize> = (0..dims).filter(|dim| !order.contains(dim)).collect();
            free.into_iter().map(move |dim| order.iter().copied().chain([dim]).collect())
        };
        orders.into_iter().flat_map(extended).collect()
    })
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

    /// Checks that fields of so many points have the symmetries. The error is the reason why they have not.
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

/// Dimensions of the point `index` of an array of this shape with its coordinates, from the last dimension to the
/// first.
pub fn coordinates(index: usize, shape: &[usize]) -> impl Iterator<Item = (usize, usize)> {
    let mut rest = index;
    shape.iter().enumerate().rev().map(move |(dim, size)| {
        let coordinate = rest % size;
        rest /= size;
        (dim, coordinate)
    })
}

/// Places of the points of an array of shape `points`, in order, in an array of these `strides`.
pub fn places(points: &[usize], strides: &[usize]) -> impl Iterator<Item = usize> {
    let place = |index| coordinates(index, points).map(|(dim, point)| point * strides[dim]).sum();
    (0..points.iter().product()).map(place)
}

/// Distance in memory between points next to each other along each dimension.
pub fn strides(shape: &[usize]) -> Vec<usize> {
    (0..shape.len()).map(|dim| shape[dim + 1..].iter().product()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(symmetry: &DomainSymmetry, field: &[f32], points: &[usize]) -> Vec<f32> {
        let mut out = Vec::new();
        symmetry.apply(field, points, &mut out);
        out
    }

    #[test]
    fn there_are_2_8_and_48_different_symmetries() {
        for (dims, count) in [(1, 2), (2, 8), (3, 48)] {
            let all = DomainSymmetry::all(dims);
            let points = vec![4; dims];
            let field: Vec<f32> = (0..4usize.pow(dims as u32)).map(|value| value as f32).collect();
            let mut images: Vec<Vec<f32>> = all.iter().map(|symmetry| applied(symmetry, &field, &points)).collect();
            assert!(images[0] == field && all.len() == count, "the first one changes nothing");
            images.sort_by(|a, b| a.partial_cmp(b).unwrap());
            images.dedup();
            assert_eq!(images.len(), count);
        }
    }

    #[test]
    fn a_reflection_runs_backwards_and_an_exchange_transposes() {
        let all = DomainSymmetry::all(2);
        let field = [0.0, 1.0, 2.0, 3.0];
        assert_eq!(applied(&all[1], &field, &[2, 2]), [2.0, 3.0, 0.0, 1.0]);
        assert_eq!(applied(&all[4], &field, &[2, 2]), [0.0, 2.0, 1.0, 3.0]);
    }

    #[test]
    fn a_changed_field_is_reverted_to_the_original() {
        let field: Vec<f32> = (0..2 * 27).map(|value| value as f32).collect();
        for symmetry in DomainSymmetry::all(3) {
            let changed = applied(&symmetry, &field, &[3, 3, 3]);
            let mut sum = vec![0.0; field.len()];
            symmetry.add_reverted(&changed, &[3, 3, 3], &mut sum);
            assert!(sum.iter().zip(&field).all(|(sum, value)| *sum == f64::from(*value)), "{symmetry:?}");
        }
    }

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

    #[test]
    fn a_place_is_the_sum_of_coordinates_times_strides() {
        let shape = [2, 3, 4];
        let strides = strides(&shape);
        assert_eq!(strides, [12, 4, 1]);
        assert_eq!(coordinates(17, &shape).collect::<Vec<_>>(), [(2, 1), (1, 1), (0, 1)]);
        assert!(places(&shape, &strides).eq(0..24));
        assert_eq!(places(&[2, 1, 2], &strides).collect::<Vec<_>>(), [0, 1, 12, 13]);
        for index in 0..24 {
            assert_eq!(coordinates(index, &shape).map(|(dim, place)| place * strides[dim]).sum::<usize>(), index);
        }
    }
}
