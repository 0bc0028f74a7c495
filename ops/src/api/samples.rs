//! Signals of any type of samples.

use burn::backend::DispatchTensor;
use burn::tensor::kind::Basic;
use burn::tensor::{DType, Float, Int, Tensor};

use super::leading_dimensions::Leading;

/// Kinds of tensors that a signal may be: floats, or integers, which count as the numbers that they are.
///
/// On a CPU (Flex) and on GPUs, kernels of [`welch_psd`](crate::welch_psd), [`welch_peaks`](crate::welch_peaks),
/// [`power_spectrum`](crate::power_spectrum), [`mel`](crate::mel) and [`log_mel`](crate::log_mel) read samples of f16, bf16,
/// i8, u8, i16, u16 and i32 where they are and compute in f32: results have the bits that they have of a signal converted
/// to f32, which is not made. A signal is converted where it is differentiated or captured, and on other devices.
///
/// ```
/// use burn::tensor::{DType, Device, Int, Tensor, TensorData};
/// use firefly_ops::{WelchOptions, welch_peaks};
///
/// // An impulse as a sound card records it.
/// let device = Device::flex();
/// let samples = TensorData::from([1i16 << 14, 0, 0, 0, 0, 0, 0, 0]);
/// let signal = Tensor::<1, Int>::from_data(samples, (&device, DType::I16));
/// let peaks = welch_peaks(signal, Tensor::<1>::ones([8], &device), &WelchOptions::new(8, 1), 4)?;
/// assert_eq!(peaks.bins.into_data().iter::<i64>().collect::<Vec<_>>(), [1, 2, 3, 0]);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
pub trait SampleKind: Basic + sealed::Sealed {
    /// Rows of a signal: as they are, or converted.
    #[doc(hidden)]
    fn rows<const D: usize>(signal: Tensor<D, Self>, converted: Option<DType>) -> DispatchTensor;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for burn::tensor::Float {}
    impl Sealed for burn::tensor::Int {}
}

impl SampleKind for Float {
    fn rows<const D: usize>(signal: Tensor<D>, converted: Option<DType>) -> DispatchTensor {
        Leading::of(&signal).0.flatten(match converted {
            Some(dtype) => signal.cast(dtype),
            None => signal,
        })
    }
}

impl SampleKind for Int {
    fn rows<const D: usize>(signal: Tensor<D, Int>, converted: Option<DType>) -> DispatchTensor {
        let leading = Leading::of(&signal).0;
        match converted {
            Some(dtype) => leading.flatten(signal.float().cast(dtype)),
            None => leading.flatten_integers(signal),
        }
    }
}
