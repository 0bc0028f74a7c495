//! Kernels of diagonal state spaces.

use std::f64::consts::{LN_10, PI};

use burn::module::{Module, Param};
use burn::tensor::{Device, Distribution, Tensor, TensorData};
use firefly_ops::ArgumentError;
use firefly_ops::fft::ComplexTensor;

use super::causal::convolve;
use crate::expect_valid;

/// Logarithms of the least and greatest time step at first, 0.001 and 0.1.
const LOG_STEPS: [f64; 2] = [-3.0 * LN_10, -LN_10];

/// Causal convolution with the impulse response of a diagonal state space per channel.
///
/// With states A_n, time step Δ and weights C_n, the kernel is K_t = 2 Re Σ_n C_n (exp(ΔA_n) − 1)/A_n · exp(ΔA_n t):
/// the response of x' = Ax + u, y = Cx, held over each step. States start as −½ + iπn (S4D-Lin), time steps log-uniform
/// from 0.001 to 0.1, weights normal.
///
/// After A. Gu et al., "On the Parameterization and Initialization of Diagonal State Space Models" (2022).
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_models::DiagonalStateSpace;
///
/// let device = Device::flex();
/// let spaces = DiagonalStateSpace::new(3, 16, &device); // three channels, 16 states each
/// assert_eq!(spaces.kernel(200).dims(), [3, 200]);
/// assert_eq!(spaces.forward(Tensor::<3>::ones([2, 3, 200], &device)).dims(), [2, 3, 200]);
/// ```
#[derive(Module, Debug)]
pub struct DiagonalStateSpace {
    /// Natural logarithm of the time step, `[channels]`.
    pub log_step: Param<Tensor<1>>,
    /// Natural logarithm of the negative real part of the states, `[channels, states]`.
    pub log_decay: Param<Tensor<2>>,
    /// Imaginary part of the states.
    pub frequency: Param<Tensor<2>>,
    /// Real part of the weights.
    pub weight_re: Param<Tensor<2>>,
    /// Imaginary part of the weights.
    pub weight_im: Param<Tensor<2>>,
    /// Weight of the sample itself, `[channels]`.
    pub skip: Param<Tensor<1>>,
}

impl DiagonalStateSpace {
    /// The untrained state spaces of `channels`, of `states` each.
    pub fn new(channels: usize, states: usize, device: &Device) -> Self {
        let shape = [channels, states];
        let normal = |deviation| Tensor::<2>::random(shape, Distribution::Normal(0.0, deviation), device);
        let frequencies: Vec<f32> = (0..states).map(|state| (PI * state as f64) as f32).collect();
        let frequencies =
            Tensor::<2>::from_data(TensorData::new(frequencies, [1, states]), device).repeat_dim(0, channels);
        let [least, greatest] = LOG_STEPS;
        Self {
            log_step: Param::from_tensor(Tensor::random([channels], Distribution::Uniform(least, greatest), device)),
            log_decay: Param::from_tensor(Tensor::full(shape, 0.5f64.ln(), device)),
            frequency: Param::from_tensor(frequencies),
            // Both parts of a complex normal variable of variance 1.
            weight_re: Param::from_tensor(normal(0.5f64.sqrt())),
            weight_im: Param::from_tensor(normal(0.5f64.sqrt())),
            skip: Param::from_tensor(Tensor::random([channels], Distribution::Normal(0.0, 1.0), device)),
        }
    }

    /// The first `length` taps of every kernel, `[channels, length]`.
    pub fn kernel(&self, length: usize) -> Tensor<2> {
        let step = self.log_step.val().exp().unsqueeze_dim::<2>(1);
        let states = ComplexTensor::new(-self.log_decay.val().exp(), self.frequency.val());
        let exponents = states.clone().map(|part| part * step.clone());
        let weights = self.held_weights(states, &exponents);

        // exp(ΔA(s + Sb)) is a product of two powers: kernels are matrix products over states.
        let short = (length as f64).sqrt().ceil() as usize;
        let blocks = length.div_ceil(short);
        let [channels, states] = exponents.dims();
        let fine = powers(&exponents, short, 1);
        let coarse = powers(&exponents, blocks, short) * weights.map(|part| part.reshape([channels, states, 1]));
        let coarse = coarse.map(|part| part.swap_dims(1, 2));
        let kernel = coarse.re.matmul(fine.re) - coarse.im.matmul(fine.im);
        kernel.reshape([channels, blocks * short]).narrow(1, 0, length) * 2.0
    }

    /// C (exp(ΔA) − 1)/A: the weights of an input that is held over each step.
    fn held_weights(&self, states: ComplexTensor<2>, exponents: &ComplexTensor<2>) -> ComplexTensor<2> {
        let ComplexTensor { re, im } = exponents.clone();
        let grown = ComplexTensor::from_polar(re.exp(), im);
        let grown = ComplexTensor::new(grown.re - 1.0, grown.im);
        let inverse = states.clone().abs_squared().recip();
        ComplexTensor::new(self.weight_re.val(), self.weight_im.val()) * grown * states.conj().scale(inverse)
    }

    /// Convolution of a signal `[batch, channels, n]`, of any length.
    ///
    /// # Panics
    /// With the message of [`try_forward`](Self::try_forward)'s error.
    #[track_caller]
    pub fn forward(&self, signal: Tensor<3>) -> Tensor<3> {
        expect_valid(self.try_forward(signal))
    }

    /// Convolution of a signal, as [`forward`](Self::forward).
    ///
    /// # Errors
    /// As [`long_conv`](firefly_ops::long_conv).
    pub fn try_forward(&self, signal: Tensor<3>) -> Result<Tensor<3>, ArgumentError> {
        let [_, _, length] = signal.dims();
        convolve(signal, self.kernel(length), self.skip.val(), None)
    }
}

/// exp(z · stride · p) for p from 0 to `count` − 1 on a new last dimension.
fn powers(exponents: &ComplexTensor<2>, count: usize, stride: usize) -> ComplexTensor<3> {
    let [channels, states] = exponents.dims();
    let steps: Vec<f32> = (0..count).map(|power| (power * stride) as f32).collect();
    let options = (&exponents.re.device(), exponents.re.dtype());
    let steps = Tensor::<3>::from_data(TensorData::new(steps, [1, 1, count]), options);
    let ComplexTensor { re, im } = exponents.clone().map(|part| part.reshape([channels, states, 1]) * steps.clone());
    ComplexTensor::from_polar(re.exp(), im)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_those_of_the_definition() {
        let (channels, states, length) = (3, 4, 50);
        let spaces = DiagonalStateSpace::new(channels, states, &Device::flex());
        let values = |tensor: Tensor<2>| tensor.into_data().try_to_vec_as::<f64>().unwrap();
        let step = values(spaces.log_step.val().unsqueeze());
        let [decay, frequency] = [&spaces.log_decay, &spaces.frequency].map(|part| values(part.val()));
        let [re, im] = [&spaces.weight_re, &spaces.weight_im].map(|part| values(part.val()));
        let kernel = values(spaces.kernel(length));
        for channel in 0..channels {
            let dt = step[channel].exp();
            for tap in 0..length {
                let of_state = |state: usize| {
                    let at = channel * states + state;
                    let (a, b) = (-decay[at].exp(), frequency[at]);
                    let exponential =
                        |t: f64| ((a * dt * t).exp() * (b * dt * t).cos(), (a * dt * t).exp() * (b * dt * t).sin());
                    let times = |x: (f64, f64), y: (f64, f64)| (x.0 * y.0 - x.1 * y.1, x.0 * y.1 + x.1 * y.0);
                    let grown = exponential(1.0);
                    let size = a * a + b * b;
                    let held = times((grown.0 - 1.0, grown.1), (a / size, -b / size));
                    2.0 * times(times((re[at], im[at]), held), exponential(tap as f64)).0
                };
                let expected: f64 = (0..states).map(of_state).sum();
                let got = kernel[channel * length + tap];
                assert!((got - expected).abs() < 1e-5, "tap {tap} of channel {channel}: {got}, not {expected}");
            }
        }
    }
}
