//! Coordinates of the points of a field.

use burn::tensor::{Tensor, TensorData};

/// A field `[batch, channels, n…]` with the coordinates of its points along each dimension as further channels: k/(n −
/// 1) with an `endpoint`, k/n without.
pub fn with_coordinates<const D: usize>(field: Tensor<D>, endpoint: bool) -> Tensor<D> {
    let dims = field.dims();
    let mut one_channel = dims;
    one_channel[1] = 1;
    let coordinate = |dim: usize| {
        let intervals = if endpoint { dims[dim].max(2) - 1 } else { dims[dim] } as f32;
        let values: Vec<f32> = (0..dims[dim]).map(|point| point as f32 / intervals).collect();
        let mut line = [1; D];
        line[dim] = dims[dim];
        let line = Tensor::<D>::from_data(TensorData::new(values, line), (&field.device(), field.dtype()));
        line.expand(one_channel)
    };
    let coordinates = (2..D).map(coordinate);
    Tensor::cat(std::iter::once(field.clone()).chain(coordinates).collect(), 1)
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    #[test]
    fn without_an_endpoint_points_are_shares_of_their_number() {
        let field = with_coordinates(Tensor::<3>::zeros([1, 1, 4], &Device::flex()), false);
        let values: Vec<f32> = field.into_data().iter().collect();
        assert_eq!(values[4..], [0.0, 0.25, 0.5, 0.75]);
    }

    #[test]
    fn the_first_point_is_at_0_and_the_last_at_1() {
        let field = with_coordinates(Tensor::<4>::zeros([2, 1, 3, 2], &Device::flex()), true);
        let values: Vec<f32> = field.clone().narrow(0, 1, 1).into_data().iter().collect();
        assert_eq!(field.dims(), [2, 3, 3, 2]);
        assert_eq!(values[6..], [0.0, 0.0, 0.5, 0.5, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0]);
    }
}
