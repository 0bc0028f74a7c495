//! Complex tensors as pairs of real ones.

use std::ops::{Add, Mul, Neg, Sub};

use burn::tensor::{FloatDType, Int, Tensor};

/// Complex tensor: a real and an imaginary part of the same shape, type and device.
///
/// Operations on two tensors broadcast and panic as Burn's own do. What is done to both parts alike, such as a change
/// of shape, is a [`map`](Self::map).
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::fft::ComplexTensor;
///
/// let device = Device::flex();
/// let z = ComplexTensor::<1>::new(Tensor::from_floats([3.0, 0.0], &device), Tensor::from_floats([4.0, 1.0], &device));
/// assert_eq!(z.clone().abs().into_data().iter::<f32>().collect::<Vec<_>>(), [5.0, 1.0]);
/// let square = z.clone() * z;
/// assert_eq!(square.re.into_data().iter::<f32>().collect::<Vec<_>>(), [-7.0, -1.0]);
/// let column = square.im.reshape([2, 1]);
/// assert_eq!(column.into_data().iter::<f32>().collect::<Vec<_>>(), [24.0, 0.0]);
/// ```
#[derive(Debug, Clone)]
pub struct ComplexTensor<const D: usize> {
    /// Real part.
    pub re: Tensor<D>,
    /// Imaginary part.
    pub im: Tensor<D>,
}

impl<const D: usize> ComplexTensor<D> {
    /// `re` + i `im`.
    pub fn new(re: Tensor<D>, im: Tensor<D>) -> Self {
        Self { re, im }
    }

    /// `magnitude` exp(i `phase`), `phase` in radians.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use firefly_ops::fft::ComplexTensor;
    ///
    /// let device = Device::flex();
    /// let phase = Tensor::<1>::from_floats([std::f32::consts::FRAC_PI_2], &device);
    /// let z = ComplexTensor::from_polar(Tensor::<1>::from_floats([2.0], &device), phase.clone());
    /// assert!((z.im.clone() - 2.0).into_scalar::<f32>().abs() < 1e-6); // 2i
    /// assert!((z.arg() - phase).into_scalar::<f32>().abs() < 1e-6);
    /// ```
    pub fn from_polar(magnitude: Tensor<D>, phase: Tensor<D>) -> Self {
        Self { re: magnitude.clone() * phase.clone().cos(), im: magnitude * phase.sin() }
    }

    /// The lengths of the dimensions.
    pub fn dims(&self) -> [usize; D] {
        self.re.dims()
    }

    /// `change` applied to each part.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use firefly_ops::fft::ComplexTensor;
    ///
    /// let z = ComplexTensor::from(Tensor::<2>::ones([2, 6], &Device::flex()));
    /// assert_eq!(z.clone().map(|part| part.swap_dims(0, 1)).dims(), [6, 2]);
    /// assert_eq!(z.clone().map(|part| part.reshape([2, 3, 2])).dims(), [2, 3, 2]);
    /// assert_eq!(z.map(|part| part.narrow(1, 0, 4)).dims(), [2, 4]);
    /// ```
    pub fn map<const E: usize>(self, change: impl Fn(Tensor<D>) -> Tensor<E>) -> ComplexTensor<E> {
        ComplexTensor { re: change(self.re), im: change(self.im) }
    }

    /// Complex conjugate.
    pub fn conj(self) -> Self {
        Self { re: self.re, im: -self.im }
    }

    /// The product with real values.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use firefly_ops::fft::ComplexTensor;
    ///
    /// let device = Device::flex();
    /// let part = |values: [f32; 2]| Tensor::<1>::from_floats(values, &device);
    /// let z = ComplexTensor::new(part([1.0, 2.0]), part([3.0, 4.0]));
    /// let masked = z.scale(Tensor::from_floats([1.0, 0.0], &device)).scale_scalar(2.0).conj();
    /// assert_eq!(masked.re.into_data().iter::<f32>().collect::<Vec<_>>(), [2.0, 0.0]);
    /// assert_eq!(masked.im.into_data().iter::<f32>().collect::<Vec<_>>(), [-6.0, 0.0]);
    /// ```
    pub fn scale(self, factor: Tensor<D>) -> Self {
        Self { re: self.re * factor.clone(), im: self.im * factor }
    }

    /// The product with a real number.
    pub fn scale_scalar(self, factor: f64) -> Self {
        self.map(|part| part * factor)
    }

    /// Magnitude; its gradient at 0 is not finite.
    pub fn abs(self) -> Tensor<D> {
        self.abs_squared().sqrt()
    }

    /// Squared magnitude.
    pub fn abs_squared(self) -> Tensor<D> {
        self.re.square() + self.im.square()
    }

    /// Angle in radians, from −π to π.
    pub fn arg(self) -> Tensor<D> {
        self.im.atan2(self.re)
    }

    /// Matrix product over the last two dimensions.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use firefly_ops::fft::ComplexTensor;
    ///
    /// // (1 + i)(1 − i) + 2i · i = 0.
    /// let device = Device::flex();
    /// let part = |values: [f32; 2], shape: [usize; 2]| Tensor::<1>::from_floats(values, &device).reshape(shape);
    /// let row = ComplexTensor::<2>::new(part([1.0, 0.0], [1, 2]), part([1.0, 2.0], [1, 2]));
    /// let column = ComplexTensor::<2>::new(part([1.0, 0.0], [2, 1]), part([-1.0, 1.0], [2, 1]));
    /// let product = row.matmul(column);
    /// assert_eq!((product.re.into_scalar::<f32>(), product.im.into_scalar::<f32>()), (0.0, 0.0));
    /// ```
    pub fn matmul(self, other: Self) -> Self {
        let product = |a: &Tensor<D>, b: &Tensor<D>| a.clone().matmul(b.clone());
        Self {
            re: product(&self.re, &other.re) - product(&self.im, &other.im),
            im: product(&self.re, &other.im) + product(&self.im, &other.re),
        }
    }
}

/// Real values with imaginary parts of 0.
impl<const D: usize> From<Tensor<D>> for ComplexTensor<D> {
    fn from(re: Tensor<D>) -> Self {
        Self { im: re.zeros_like(), re }
    }
}

/// A real and an imaginary part of integers, which count as the numbers that they are, in f32.
impl<const D: usize> From<[Tensor<D, Int>; 2]> for ComplexTensor<D> {
    fn from(parts: [Tensor<D, Int>; 2]) -> Self {
        let [re, im] = parts.map(|part| part.cast(FloatDType::F32));
        Self { re, im }
    }
}

impl<const D: usize> Add for ComplexTensor<D> {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { re: self.re + other.re, im: self.im + other.im }
    }
}

impl<const D: usize> Sub for ComplexTensor<D> {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self { re: self.re - other.re, im: self.im - other.im }
    }
}

impl<const D: usize> Mul for ComplexTensor<D> {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        Self {
            re: self.re.clone() * other.re.clone() - self.im.clone() * other.im.clone(),
            im: self.re * other.im + self.im * other.re,
        }
    }
}

impl<const D: usize> Neg for ComplexTensor<D> {
    type Output = Self;

    fn neg(self) -> Self {
        self.map(|part| -part)
    }
}
