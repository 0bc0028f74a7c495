//! Symmetries of the square: reflections and exchanges of dimensions, under which a scalar problem on the unit square
//! or cube stays the same.

use crate::grid;

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
        let strides = grid::strides(points);
        for channel in field.chunks_exact(points.iter().product()) {
            out.extend((0..channel.len()).map(|index| channel[self.origin(index, points, &strides)]));
        }
    }

    /// Adds the field whose change is `changed` to `sum`.
    pub fn add_reverted(&self, changed: &[f32], points: &[usize], sum: &mut [f64]) {
        let (count, strides) = (points.iter().product(), grid::strides(points));
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
        grid::coordinates(index, points).map(of_dimension).sum()
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
}
