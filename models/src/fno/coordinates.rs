//! Coordinates of the points of a field.

use burn::tensor::{Tensor, TensorData};

/// A field `[batch, channels, n…]` with the coordinates of its points, from 0 to 1 along each dimension, as further
/// channels.
pub fn with_coordinates<const D: usize>(field: Tensor<D>) -> Tensor<D> {
    let dims = field.dims();
    let mut one_channel = dims;
    one_channel[1] = 1;
    let coordinate = |dim: usize| {
        let step = (dims[dim].max(2) - 1) as f32;
        let values: Vec<f32> = (0..dims[dim]).map(|point| point as f32 / step).collect();
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
    fn the_first_point_is_at_0_and_the_last_at_1() {
        let field = with_coordinates(Tensor::<4>::zeros([2, 1, 3, 2], &Device::flex()));
        let values: Vec<f32> = field.clone().narrow(0, 1, 1).into_data().iter().collect();
        assert_eq!(field.dims(), [2, 3, 3, 2]);
        assert_eq!(values[6..], [0.0, 0.0, 0.5, 0.5, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0]);
    }
}
