//! Layouts of a complex spectrum in one tensor of floats.

use crate::prelude::*;

/// Order of the real and imaginary parts of a complex spectrum in one tensor of floats, `[.., 2n]`.
///
/// A [`ComplexTensor`] keeps the two parts in tensors of their own; other libraries expect one of these.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_models::SpectrumLayout;
/// use firefly_ops::fft::ComplexTensor;
///
/// let device = Device::flex();
/// let part = |values: [f32; 2]| Tensor::<1>::from_floats(values, &device);
/// let spectrum = ComplexTensor::new(part([1.0, 2.0]), part([3.0, 4.0]));
/// let values = |spectrum: Tensor<1>| spectrum.into_data().iter::<f32>().collect::<Vec<_>>();
/// let blocks = SpectrumLayout::Blocks.join(spectrum)?;
/// assert_eq!(values(blocks.clone()), [1.0, 2.0, 3.0, 4.0]);
/// let interleaved = SpectrumLayout::Blocks.convert(blocks, SpectrumLayout::Interleaved)?;
/// assert_eq!(values(interleaved), [1.0, 3.0, 2.0, 4.0]);
/// # Ok::<(), firefly_models::ArgumentError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SpectrumLayout {
    /// All real parts of a spectrum, then all imaginary parts.
    Blocks,
    /// The real and the imaginary part of one bin after the other, as complex numbers of C and NumPy.
    Interleaved,
}

impl SpectrumLayout {
    /// A spectrum `[.., n]` in one tensor `[.., 2n]`.
    ///
    /// # Errors
    /// [`ArgumentError`] if the parts differ in shape.
    pub fn join<const D: usize>(self, spectrum: ComplexTensor<D>) -> Result<Tensor<D>> {
        let ComplexTensor { re, im } = spectrum;
        let mut shape = re.dims();
        let (found, expected) = (im.dims(), format!("of the shape of the real part, {shape:?}"));
        ensure(found == shape, "SpectrumLayout", "im", format_args!("{found:?}"), expected)?;
        match self {
            Self::Blocks => Ok(Tensor::cat(vec![re, im], D - 1)),
            Self::Interleaved => {
                let values: usize = shape.iter().product();
                let pairs: Tensor<2> = Tensor::stack(vec![re.reshape([values]), im.reshape([values])], 1);
                shape[D - 1] *= 2;
                Ok(pairs.reshape(shape))
            }
        }
    }

    /// The spectrum `[.., n]` of a tensor `[.., 2n]` in this layout.
    ///
    /// # Errors
    /// [`ArgumentError`] if the last dimension is odd.
    pub fn split<const D: usize>(self, spectrum: Tensor<D>) -> Result<ComplexTensor<D>> {
        let mut shape = spectrum.dims();
        let length = shape[D - 1];
        let got = format!("{length} values along its last dimension");
        ensure(length.is_multiple_of(2), "SpectrumLayout", "spectrum", got, "of an even number of them")?;
        shape[D - 1] = length / 2;
        Ok(match self {
            Self::Blocks => {
                let part = |start| spectrum.clone().narrow(D - 1, start, length / 2);
                ComplexTensor::new(part(0), part(length / 2))
            }
            Self::Interleaved => {
                let pairs: Tensor<2> = spectrum.reshape([shape.iter().product::<usize>(), 2]);
                let part = |index| pairs.clone().narrow(1, index, 1).reshape(shape);
                ComplexTensor::new(part(0), part(1))
            }
        })
    }

    /// A spectrum `[.., 2n]` of this layout in another one.
    ///
    /// # Errors
    /// As [`split`](Self::split).
    pub fn convert<const D: usize>(self, spectrum: Tensor<D>, layout: Self) -> Result<Tensor<D>> {
        layout.join(self.split(spectrum)?)
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    const LAYOUTS: [SpectrumLayout; 2] = [SpectrumLayout::Blocks, SpectrumLayout::Interleaved];

    fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
        tensor.into_data().iter().collect()
    }

    #[test]
    fn rows_keep_their_parts_in_the_order_of_the_layout() {
        let device = Device::flex();
        let re = Tensor::<2>::from_floats([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], &device);
        let im = re.clone() * 10.0;
        let [blocks, interleaved] =
            LAYOUTS.map(|layout| layout.join(ComplexTensor::new(re.clone(), im.clone())).unwrap());
        assert_eq!((blocks.dims(), interleaved.dims()), ([2, 6], [2, 6]));
        assert_eq!(values(blocks)[..6], [1.0, 2.0, 3.0, 10.0, 20.0, 30.0]);
        assert_eq!(values(interleaved)[..6], [1.0, 10.0, 2.0, 20.0, 3.0, 30.0]);
    }

    #[test]
    fn layouts_are_exact_inverses_of_each_other() {
        let device = Device::flex();
        let re = Tensor::<3>::from_floats([[[1.0, f32::MIN_POSITIVE]], [[-0.0, 3.0]]], &device);
        let im = re.clone() + 0.5;
        for from in LAYOUTS {
            let joined = from.join(ComplexTensor::new(re.clone(), im.clone())).unwrap();
            let split = from.split(joined.clone()).unwrap();
            assert_eq!((values(split.re), values(split.im)), (values(re.clone()), values(im.clone())));
            for to in LAYOUTS {
                let there = from.convert(joined.clone(), to).unwrap();
                assert_eq!(values(to.convert(there, from).unwrap()), values(joined.clone()));
            }
        }
    }

    #[test]
    fn shapes_that_do_not_fit_are_errors() {
        let device = Device::flex();
        let uneven = ComplexTensor::new(Tensor::<1>::ones([2], &device), Tensor::ones([3], &device));
        let error = SpectrumLayout::Blocks.join(uneven);
        let text = error.unwrap_err().to_string();
        assert!(text.contains("`im` is [3], but must be of the shape of the real part, [2]"), "{text}");
        assert!(SpectrumLayout::Interleaved.split(Tensor::<2>::ones([4, 3], &device)).is_err());
    }
}
