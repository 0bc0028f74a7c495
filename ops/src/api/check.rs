//! The checks that every operation shares.

use burn::backend::{DispatchDevice, DispatchTensor};
#[cfg(feature = "autodiff")]
use burn::tensor::GradientCheckpointingStrategy;
use burn::tensor::kind::Basic;
use burn::tensor::{DType, Device, IntDType, Tensor};
#[cfg(feature = "cube")]
use burn_cubecl::CubeDevice;

use super::rows::{Leading, SampleKind};
use crate::error::{ArgumentError, Result, ensure};
#[cfg(feature = "cube")]
use crate::gpu::{self, DeviceLimit, DeviceLimitError, Requirement};
use crate::options::{MelOptions, WelchOptions};
use crate::sample_type::SampleType;
#[cfg(feature = "cube")]
use crate::spectral_shape::SpectralShape;

/// No device has a strategy where nothing is differentiable.
#[cfg(not(feature = "autodiff"))]
type GradientCheckpointingStrategy = std::convert::Infallible;

/// Properties that the inputs of one call must share: each input is checked against the first one.
pub(super) struct InputCheck {
    operation: &'static str,
    device: Device,
    dtype: DType,
    checkpointing: Option<GradientCheckpointingStrategy>,
}

impl InputCheck {
    /// The operation runs where `first` is, in f64 for f64 and in f32 for every smaller float.
    pub fn of<const D: usize, K: Basic>(
        operation: &'static str,
        argument: &'static str,
        first: &Tensor<D, K>,
    ) -> Result<Self> {
        let device = first.device();
        let plain = device.clone().inner();
        let got = format_args!("on {device:?}");
        ensure(adapter(&plain).is_some(), operation, argument, got, "on a device Firefly has kernels for")?;
        let dtype = if first.dtype() == DType::F64 { DType::F64 } else { DType::F32 };
        let computes = dtype == DType::F32 || !has_only_f32(&plain);
        ensure(computes, operation, argument, "f64", "f32, f16 or bf16 on this device")?;
        Ok(Self { operation, checkpointing: checkpointing(&device), device, dtype })
    }
}

/// Limits of devices. The CPU has none.
#[cfg_attr(not(feature = "cube"), allow(unused_variables, reason = "only CubeCL's devices have limits"))]
impl InputCheck {
    /// Checks that the device can run the kernels of `n`-point transforms over the rows of `first`, forward and
    /// backward.
    ///
    /// `arguments` are the names of `first` and of the argument that `n` is taken from; `per_row` is the number of
    /// transforms per row, and `gated` says of butterflies whether they have gates; `None` is an exact transform.
    pub fn transforms<const D: usize, K: Basic>(
        &self,
        arguments: [&'static str; 2],
        first: &Tensor<D, K>,
        [n, per_row]: [usize; 2],
        gated: Option<bool>,
    ) -> Result<()> {
        #[cfg(feature = "cube")]
        self.within_limits(arguments, first, n, |device, dims| {
            let (rows, row_len) = (dims[..D - 1].iter().product(), dims[D - 1]);
            gpu::check(device, &Requirement { n, gated, rows, row_len, transforms: per_row })
        })?;
        Ok(())
    }

    /// Checks that the device can transform the rows of `first` along `dim` to `n` points; `argument` is its name.
    pub fn fft<const D: usize>(&self, argument: &'static str, first: &Tensor<D>, dim: usize, n: usize) -> Result<()> {
        #[cfg(feature = "cube")]
        self.within_limits([argument, "n"], first, n, |device, dims| {
            let rows = dims.iter().product::<usize>() / dims[dim].max(1);
            gpu::check_fft(device, n, rows, dims[dim])
        })?;
        Ok(())
    }

    /// Checks that the device can compute the bands of `frames` frames of every row of `signal`.
    pub fn mel<const D: usize, K: Basic>(
        &self,
        signal: &Tensor<D, K>,
        options: &MelOptions,
        frames: usize,
    ) -> Result<()> {
        #[cfg(feature = "cube")]
        self.within_limits(["signal", "n_fft"], signal, options.stft.n_fft, |device, dims| {
            let rows = [dims[..D - 1].iter().product(), dims[D - 1]];
            gpu::check_mel(device, rows, [options.stft.n_fft, frames, options.bands.count])
        })?;
        Ok(())
    }

    /// Checks that the device can compute spectral convolutions of `input` with weights of the shape `weights`.
    pub fn spectral_conv<const D: usize>(&self, input: &Tensor<D>, weights: [usize; D]) -> Result<()> {
        #[cfg(feature = "cube")]
        self.within_limits(["input", "n"], input, input.dims()[D - 1], |device, dims| {
            // An empty batch launches nothing.
            let shape = SpectralShape { batch: dims[0].max(1), ..SpectralShape::of(&dims, &weights) };
            gpu::check_spectral_conv(device, &shape)
        })?;
        Ok(())
    }

    /// Checks that the device can convolve the rows of `signal` with kernels of `taps` taps.
    pub fn long_conv(&self, signal: &Tensor<3>, taps: usize) -> Result<()> {
        #[cfg(feature = "cube")]
        self.within_limits(["signal", "kernel"], signal, taps, |device, dims| {
            gpu::check_long_conv(device, dims, taps)
        })?;
        Ok(())
    }

    /// Runs a check where kernels of CubeCL run: `arguments` are the names of `first` and of its length `n`.
    #[cfg(feature = "cube")]
    fn within_limits<const D: usize, K: Basic>(
        &self,
        arguments: [&'static str; 2],
        first: &Tensor<D, K>,
        n: usize,
        check: impl FnOnce(&CubeDevice, [usize; D]) -> gpu::Result<()>,
    ) -> Result<()> {
        let plain = self.device.clone().inner();
        let Some(device) = cube_device(&plain) else { return Ok(()) };
        let dims = first.dims();
        check(device, dims).map_err(|error| self.limit(arguments, dims, n, error))
    }

    /// The error of a device's limit: `arguments` are the names of a tensor of shape `dims` and of its length `n`.
    #[cfg(feature = "cube")]
    fn limit<const D: usize>(
        &self,
        arguments: [&'static str; 2],
        dims: [usize; D],
        n: usize,
        error: DeviceLimitError,
    ) -> ArgumentError {
        match error.limit {
            DeviceLimit::LaunchElements => {
                let expected = format_args!("rows that the device's kernels can count: {error}");
                ArgumentError::new(self.operation, arguments[0], format_args!("{dims:?}"), expected)
            }
            DeviceLimit::SharedMemory | DeviceLimit::UnitsPerCube => {
                let expected = format_args!("a length that the device can transform: {error}");
                ArgumentError::new(self.operation, arguments[1], n, expected)
            }
        }
    }
}

impl InputCheck {
    /// Checks that autodiff tracks none of the inputs so far, for an operation that is not differentiable.
    pub fn untracked(&self, argument: &'static str) -> Result<()> {
        let expected = "inner tensors: the operation is not differentiable";
        ensure(self.checkpointing.is_none(), self.operation, argument, "on a device with autodiff", expected)
    }

    /// The first input in the type the operation computes in.
    pub fn first<const D: usize>(&self, tensor: Tensor<D>) -> Tensor<D> {
        tensor.cast(self.dtype)
    }

    /// The rows of a signal, the first input, in a type that kernels read.
    pub fn samples<const D: usize, K: SampleKind>(&self, signal: Tensor<D, K>) -> DispatchTensor {
        let reads = self.checkpointing.is_none() && adapter(&self.device) == Some(Adapter::AnySamples);
        let is_read = reads && SampleType::of(signal.dtype()).is_some();
        K::rows(signal, (!is_read).then_some(self.dtype))
    }

    /// The rows of a signal, the first input, in the type that the operation computes in.
    pub fn rows<const D: usize, K: SampleKind>(&self, signal: Tensor<D, K>) -> Tensor<2> {
        Tensor::from_dispatch(K::rows(signal, Some(self.dtype)))
    }

    /// Ones in the type that the operation computes in.
    pub fn ones<const D: usize>(&self, shape: [usize; D]) -> Tensor<D> {
        Tensor::ones(shape, (&self.device.clone().inner(), self.dtype))
    }

    /// Checks another input's shape and device, and converts it.
    pub fn next<const D: usize>(
        &mut self,
        argument: &'static str,
        tensor: Tensor<D>,
        shape: [usize; D],
    ) -> Result<Tensor<D>> {
        let (operation, dims) = (self.operation, tensor.dims());
        ensure(dims == shape, operation, argument, format_args!("{dims:?}"), format_args!("{shape:?}"))?;
        let (got, expected) = (tensor.device().inner(), self.device.clone().inner());
        ensure(got == expected, operation, argument, format_args!("on {got:?}"), format_args!("on {expected:?}"))?;
        // Whether gradients are tracked may differ from input to input; how they are, may not.
        let checkpointing = checkpointing(&tensor.device());
        if let (Some(got), Some(expected)) = (checkpointing, self.checkpointing) {
            let describe = |strategy| format!("tracked with {strategy:?} gradient checkpointing");
            ensure(got == expected, operation, argument, describe(got), describe(expected))?;
        }
        self.checkpointing = self.checkpointing.or(checkpointing);
        Ok(tensor.cast(self.dtype))
    }
}

/// The gradient checkpointing strategy of a device that tracks gradients.
fn checkpointing(device: &Device) -> Option<GradientCheckpointingStrategy> {
    #[cfg(feature = "autodiff")]
    return device.gradient_checkpointing_strategy();
    #[cfg(not(feature = "autodiff"))]
    {
        let _ = device;
        None
    }
}

/// Samples of a signal that an adapter reads.
#[derive(PartialEq)]
#[allow(dead_code, reason = "which adapters there are depends on features")]
enum Adapter {
    /// Also in another type than kernels compute in.
    AnySamples,
    ComputedSamples,
}

/// This build's adapter for a device without autodiff; the generated dispatch panics where there is none.
fn adapter(device: &Device) -> Option<Adapter> {
    match device.as_dispatch() {
        #[cfg(feature = "flex")]
        DispatchDevice::Flex(_) => Some(Adapter::AnySamples),
        #[cfg(feature = "capture")]
        DispatchDevice::Capture(_) => Some(Adapter::ComputedSamples),
        #[cfg(feature = "remote")]
        DispatchDevice::Remote(_) => Some(Adapter::ComputedSamples),
        #[cfg(feature = "ndarray")]
        DispatchDevice::NdArray(_) => Some(Adapter::ComputedSamples),
        #[cfg(feature = "cube")]
        DispatchDevice::Cube(_) => Some(Adapter::AnySamples),
        #[allow(unreachable_patterns, reason = "which others there are depends on Burn's features")]
        _ => None,
    }
}

/// The device that CubeCL's kernels run on, if it is one.
#[cfg(feature = "cube")]
fn cube_device(device: &Device) -> Option<&CubeDevice> {
    match device.as_dispatch() {
        DispatchDevice::Cube(device) => Some(device),
        #[allow(unreachable_patterns, reason = "which others there are depends on Burn's features")]
        _ => None,
    }
}

/// Whether the kernels for a device compute in f32 alone.
pub(super) fn has_only_f32(device: &Device) -> bool {
    #[cfg(feature = "cube")]
    return cube_device(device).is_some();
    #[cfg(not(feature = "cube"))]
    {
        let _ = device;
        false
    }
}

/// Checks the options, and that a frame of `signal`, the argument of that name, holds their segments.
pub(super) fn signal<const D: usize, K: Basic>(
    operation: &'static str,
    argument: &'static str,
    signal: &Tensor<D, K>,
    options: &WelchOptions,
) -> Result<()> {
    options.validate(operation)?;
    let (_, frame) = Leading::of(signal);
    let (needed, &WelchOptions { segments, n_fft, hop, .. }) = (options.frame(), options);
    let expected = format_args!("at least {needed}: {segments} segments of {n_fft} samples, {hop} apart");
    ensure(frame >= needed, operation, argument, format_args!("{frame} samples per row"), expected)
}

/// The type of the numbers of `bins` bins: the device's integers, where they hold −1 and every bin.
pub(super) fn bin_dtype(device: &Device, bins: usize) -> IntDType {
    let (dtype, last) = (device.settings().int_dtype, bins - 1);
    let holds = match dtype {
        IntDType::I64 | IntDType::I32 => true,
        IntDType::I16 => last <= i16::MAX as usize,
        IntDType::I8 => last <= i8::MAX as usize,
        _ => false,
    };
    if holds { dtype } else { IntDType::I64 }
}

/// The numbers of an argument on the host, row-major.
pub(super) fn read<const D: usize>(
    operation: &'static str,
    argument: &'static str,
    tensor: Tensor<D>,
) -> Result<Vec<f64>> {
    let read = tensor.try_into_vec_as();
    read.map_err(|error| ArgumentError::new(operation, argument, error, "a tensor whose values can be read"))
}
