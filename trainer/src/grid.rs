//! Places in row-major arrays.

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
