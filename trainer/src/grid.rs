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
        for index in 0..24 {
            assert_eq!(coordinates(index, &shape).map(|(dim, place)| place * strides[dim]).sum::<usize>(), index);
        }
    }
}
