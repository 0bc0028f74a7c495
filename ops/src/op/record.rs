//! Records of operations in graphs and queues: output shapes, the check of inputs, and execution from a record.

use burn::backend::ir::{BackendIr, CustomOpIr, HandleContainer, TensorId, TensorIr};
use burn::tensor::{DType, IntDType, Shape};
#[cfg(feature = "router")]
use burn_router::CustomOpRegistry;

#[cfg(feature = "router")]
use super::NAMES;
use super::{OpDescriptor, ROWS, SpectralOps, TensorList};
use crate::api::{check_spectral_conv, validate_selection};
use crate::error::{ArgumentError, Result, ensure};
use crate::options::{FftForm, FftOptions, POWER_TAPS, PRODUCT_TAPS, WelchOptions, validate_n_fft};

/// Shape and type of a tensor.
#[derive(Debug, Clone, PartialEq)]
pub struct TensorSpec {
    /// Its shape.
    pub shape: Shape,
    /// Type of its values.
    pub dtype: DType,
}

impl TensorSpec {
    /// As many rows as this tensor has, of `length` values each.
    pub(super) fn rows_of(&self, length: usize) -> Self {
        Self { shape: Shape::from([self.shape[0], length]), dtype: self.dtype }
    }

    /// The tensor's shape, in the type of another tensor.
    pub fn in_type_of(self, other: &Self) -> Self {
        Self { dtype: other.dtype, ..self }
    }

    /// The tensor's shape, of bin numbers.
    pub(super) fn of_bins(self, dtype: IntDType) -> Self {
        Self { dtype: dtype.into(), ..self }
    }

    /// The tensor with another size of a dimension.
    pub(super) fn with(mut self, dim: usize, size: usize) -> Self {
        self.shape[dim] = size;
        self
    }
}

impl OpDescriptor {
    /// The record of the operation applied to `inputs`; `new_id` yields the identifiers of its outputs.
    pub(crate) fn record(self, inputs: &[TensorIr], mut new_id: impl FnMut() -> TensorId) -> CustomOpIr {
        let specs = inputs.iter().map(|input| TensorSpec { shape: input.shape.clone(), dtype: input.dtype });
        let outputs = self.outputs(specs.collect());
        let outputs: Vec<TensorIr> =
            outputs.into_iter().map(|spec| TensorIr::uninit(new_id(), spec.shape, spec.dtype)).collect();
        CustomOpIr::with_scalars(self.name(), inputs, &outputs, self.scalars())
    }
}

/// Registers every operation of this crate in `registry`, for remote servers and interpreters that replay recorded
/// graphs on backend `B`.
///
/// ```
/// use burn::backend::Flex;
/// use burn_router::CustomOpRegistry;
/// use firefly_ops::op::register_spectral_ops;
///
/// let mut registry = CustomOpRegistry::<Flex>::new();
/// register_spectral_ops(&mut registry);
/// ```
#[cfg(feature = "router")]
pub fn register_spectral_ops<B: BackendIr + SpectralOps>(registry: &mut CustomOpRegistry<B>) {
    for name in NAMES {
        registry.register(name, |handles, operation, _device| execute::<B>(handles, operation));
    }
}

/// Runs a recorded operation: takes its inputs from `handles` and registers its outputs there.
///
/// # Panics
/// If the operation was not made by [`OpDescriptor::record`].
pub(crate) fn execute<B: BackendIr + SpectralOps>(handles: &mut HandleContainer<B::Handle>, operation: &CustomOpIr) {
    let descriptor = OpDescriptor::parse(operation.id.as_str(), &operation.scalars)
        .unwrap_or_else(|| panic!("malformed custom operation {operation:?}"));
    let (of_floats, of_ints): (Vec<_>, Vec<_>) = operation.inputs.iter().partition(|input| input.dtype.is_float());
    let inputs = TensorList {
        ints: of_ints.into_iter().map(|input| handles.get_int_tensor::<B>(input)).collect(),
        floats: of_floats.into_iter().map(|input| handles.get_float_tensor::<B>(input)).collect(),
    };
    let TensorList { ints, floats } = B::apply(descriptor, inputs);
    let (of_ints, of_floats) = operation.outputs.split_at(ints.len());
    for (output, tensor) in of_ints.iter().zip(ints) {
        handles.register_int_tensor::<B>(&output.id, tensor);
    }
    for (output, tensor) in of_floats.iter().zip(floats) {
        handles.register_float_tensor::<B>(&output.id, tensor);
    }
}

impl OpDescriptor {
    /// Checks options, and number, types and shapes of the inputs: kernels neither read nor write beyond tensors that
    /// pass.
    ///
    /// ```
    /// use burn::tensor::{DType, IntDType, Shape};
    /// use firefly_ops::op::{OpDescriptor, TensorSpec};
    ///
    /// let values = TensorSpec { shape: Shape::from([8, 129]), dtype: DType::F32 };
    /// let top_k = |k| OpDescriptor::TopK { k, bins: IntDType::I64 };
    /// assert!(top_k(5).check(std::slice::from_ref(&values)).is_ok());
    /// assert_eq!(top_k(200).check(&[values]).map_err(|error| error.argument), Err("k"));
    /// ```
    ///
    /// # Errors
    /// [`ArgumentError`] that names the operation and the input or option.
    pub fn check(self, inputs: &[TensorSpec]) -> Result<()> {
        let call = CheckedCall::new(self.name(), inputs)?;
        match self {
            Self::WelchPsd { options } => call.welch(&options),
            Self::WelchPeaks { options, k, bins } => {
                call.welch(&options)?;
                options.validate_k(call.operation, k)?;
                call.bins(bins)
            }
            Self::TopK { k, bins } => call.selected(k, bins),
            Self::LocalMaxima { options, k, bins } => {
                options.validate(call.operation)?;
                call.selected(k, bins)
            }
            Self::Butterfly {} => call.butterfly(),
            Self::ComplexFft { options } | Self::InverseRealFft { options } => {
                let [rows, values] = call.dims(0)?;
                call.fft(&options)?;
                call.has(1, &[rows, values])
            }
            Self::RealFft { options } => call.fft(&options),
            Self::ComplexFftColumns { options } => {
                let [matrices, values, width] = call.dims(0)?;
                call.length("length", options.length, values)?;
                call.has(1, &[matrices, values, width])
            }
            Self::InterleavedFft { form, options } => {
                let shape = call.shape(0);
                let rank = [3, 4, 2, 3][form as usize];
                let is_complex = form == FftForm::Real || shape.last() == Some(&2);
                let expected = format_args!("of rank {rank}, two parts per complex value");
                let fits = shape.len() == rank && is_complex;
                ensure(fits, call.operation, "values", format_args!("{shape:?}"), expected)?;
                ensure(shape[1] >= 1, call.operation, "values", "without values", "rows of at least 1 value")?;
                match form {
                    FftForm::Columns => call.length("length", options.length, shape[1]),
                    _ => ensure(options.length >= 1, call.operation, "length", options.length, "at least 1"),
                }
            }
            Self::Dct { kind, .. } => {
                let [_, n] = call.dims(0)?;
                ensure((2..=4).contains(&kind), call.operation, "kind", kind, "from 2 to 4")?;
                ensure(n >= 1, call.operation, "rows", "without values", "rows of at least 1 value")
            }
            Self::CrossSpectra { is_hermitian } => {
                let ([batch, m, segments, bins], [_, n, _, _]) = (call.dims(0)?, call.dims(2)?);
                let n = if is_hermitian { m } else { n };
                call.has(1, &[batch, m, segments, bins])?;
                [2, 3].into_iter().try_for_each(|input| call.has(input, &[batch, n, segments, bins]))
            }
            Self::Mel { options, logarithm } => {
                options.validate(call.operation)?;
                logarithm.map_or(Ok(()), |logarithm| logarithm.validate(call.operation))?;
                let [_, samples] = call.dims(0)?;
                options.stft.validate_signal(call.operation, samples)?;
                call.length("window_length", options.stft.window_samples(), options.stft.n_fft)?;
                call.has(1, &[options.stft.n_fft])
            }
            Self::PeakLoss { options } => {
                let [rows, bins] = call.dims(0)?;
                options.validate(call.operation, bins)?;
                call.has(1, &[rows, if options.k < bins { 2 } else { 1 }])?;
                [(2, 1), (3, bins), (4, bins)]
                    .into_iter()
                    .try_for_each(|(input, width)| call.has(input, &[rows, width]))
            }
            Self::AdamStep { .. } => (1..4).try_for_each(|input| call.has(input, call.shape(0))),
            Self::SpectralConv {} => {
                let (input, weights) = (call.shape(0), call.shape(1));
                let rank = input.len();
                let fits = (3..=5).contains(&rank) && weights.len() == rank;
                let expected = format_args!("of rank 3 to 5, the input's, which is {rank}");
                ensure(fits, call.operation, "weights", format_args!("{weights:?}"), expected)?;
                check_spectral_conv(input, weights)?;
                call.has(2, weights)
            }
            Self::LongConv {} => {
                let ([batch, channels, n], [_, taps]) = (call.dims(0)?, call.dims(1)?);
                ensure(n >= 1, call.operation, "signal", "without samples", "of at least 1 sample")?;
                ensure(taps >= 1, call.operation, "kernel", "without taps", "of at least 1 tap")?;
                call.has(1, &[channels, taps])?;
                if inputs.len() > 2 { call.has(2, &[batch, channels, n]) } else { Ok(()) }
            }
            Self::WelchPsdBackward { options, .. } => call.backward(Self::WelchPsd { options }, inputs),
            Self::ButterflyBackward { .. } => call.backward(Self::Butterfly {}, inputs),
            Self::CrossSpectraBackward { .. } => call.backward(Self::CrossSpectra { is_hermitian: false }, inputs),
            Self::MelBackward { options, logarithm, .. } => call.backward(Self::Mel { options, logarithm }, inputs),
            Self::PeakLossBackward { options, .. } => call.backward(Self::PeakLoss { options }, inputs),
            Self::SpectralConvBackward { .. } => call.backward(Self::SpectralConv {}, inputs),
            Self::LongConvBackward { .. } => call.backward(Self::LongConv {}, inputs),
        }
    }
}

/// Inputs of a call by name.
struct CheckedCall<'a> {
    operation: &'static str,
    inputs: Vec<(&'static str, &'a [usize])>,
}

impl<'a> CheckedCall<'a> {
    /// The call of an operation, once number and types of its inputs are checked.
    fn new(name: &'static str, inputs: &'a [TensorSpec]) -> Result<Self> {
        let row = ROWS.iter().find(|row| row.name == name).expect("the table has every operation");
        let operation = name.trim_start_matches("firefly::");
        let is_whole = inputs.len() == row.inputs.len();
        let names = row.inputs.iter().enumerate().filter(|(input, _)| is_whole || Some(*input) != row.optional);
        let names: Vec<_> = names.map(|(_, name)| *name).collect();
        let (got, expected) = (inputs.len(), names.join(", "));
        ensure(names.len() == got, operation, "inputs", format_args!("{got} tensors"), expected)?;
        for (name, input) in names.iter().zip(inputs) {
            let (got, first) = (input.dtype, inputs[0].dtype);
            let expected = format_args!("{first:?} as the first input, and a float");
            ensure(got == first && got.is_float(), operation, name, format_args!("{got:?}"), expected)?;
        }
        let shapes = inputs.iter().map(|input| -> &[usize] { &input.shape });
        Ok(Self { operation, inputs: names.into_iter().zip(shapes).collect() })
    }

    fn shape(&self, input: usize) -> &'a [usize] {
        self.inputs[input].1
    }

    /// The lengths of an input of `D` dimensions.
    fn dims<const D: usize>(&self, input: usize) -> Result<[usize; D]> {
        let (name, shape) = self.inputs[input];
        let error = || ArgumentError::new(self.operation, name, format_args!("{shape:?}"), format_args!("of rank {D}"));
        shape.try_into().map_err(|_| error())
    }

    /// Checks the shape of an input.
    fn has(&self, input: usize, expected: &[usize]) -> Result<()> {
        let (name, shape) = self.inputs[input];
        let got = format_args!("{shape:?}");
        ensure(shape == expected, self.operation, name, got, format_args!("{expected:?}"))
    }

    fn length(&self, option: &'static str, got: usize, expected: usize) -> Result<()> {
        ensure(got == expected, self.operation, option, got, expected)
    }

    fn welch(&self, options: &WelchOptions) -> Result<()> {
        options.validate(self.operation)?;
        options.validate_for_kernels(self.operation)?;
        let [_, frame] = self.dims(0)?;
        let least = options.frame();
        let expected = format_args!("at least {least}, the samples of a frame");
        ensure(frame >= least, self.operation, "signal", format_args!("{frame} samples per row"), expected)?;
        self.has(1, &[options.n_fft])?;
        if self.inputs.len() == 2 {
            return Ok(());
        }
        let [_, taps] = self.dims(2)?;
        self.has(2, &[options.bins(), if taps == PRODUCT_TAPS { PRODUCT_TAPS } else { POWER_TAPS }])
    }

    fn selected(&self, k: usize, bins: IntDType) -> Result<()> {
        let [_, length] = self.dims(0)?;
        let (name, _) = self.inputs[0];
        validate_selection(self.operation, name, length, k)?;
        self.bins(bins)
    }

    fn bins(&self, dtype: IntDType) -> Result<()> {
        let holds = matches!(dtype, IntDType::I64 | IntDType::I32);
        ensure(holds, self.operation, "bins", format_args!("{dtype:?}"), "I64 or I32")
    }

    fn butterfly(&self) -> Result<()> {
        let [rows, n] = self.dims(0)?;
        validate_n_fft(self.operation, "re", n)?;
        let stages = n.trailing_zeros() as usize;
        self.has(1, &[rows, n])?;
        self.has(2, &[stages, n / 2, 2])?;
        if self.inputs.len() > 3 { self.has(3, &[stages, n / 2]) } else { Ok(()) }
    }

    fn fft(&self, options: &FftOptions) -> Result<()> {
        let [_, values] = self.dims(0)?;
        let (name, _) = self.inputs[0];
        ensure(values >= 1, self.operation, name, "without values", "rows of at least 1 value")?;
        ensure(options.length >= 1, self.operation, "length", options.length, "at least 1")
    }

    /// Checks the inputs of the forward operation, and that gradients have the shapes of its outputs.
    fn backward(&self, forward: OpDescriptor, inputs: &[TensorSpec]) -> Result<()> {
        let gradients = self.inputs.iter().filter(|(name, _)| name.starts_with("grad_")).count();
        let first = inputs.len() - gradients;
        forward.check(&inputs[..first])?;
        let outputs = forward.outputs(inputs[..first].to_vec());
        outputs.iter().enumerate().try_for_each(|(output, spec)| self.has(first + output, &spec.shape))
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, Shape};

    use super::*;
    use crate::op::Needed;
    use crate::options::Detrend;

    fn specs<const N: usize>(shapes: [&[usize]; N]) -> [TensorSpec; N] {
        shapes.map(|shape| TensorSpec { shape: Shape::from(shape.to_vec()), dtype: DType::F32 })
    }

    fn fault(operation: OpDescriptor, inputs: &[TensorSpec]) -> Option<&'static str> {
        operation.check(inputs).err().map(|error| error.argument)
    }

    #[test]
    fn shapes_that_kernels_would_read_beyond_are_refused() {
        let psd = OpDescriptor::WelchPsd { options: WelchOptions::new(16, 2) };
        assert_eq!(fault(psd, &specs([&[3, 24], &[16]])), None);
        assert_eq!(fault(psd, &specs([&[3, 24], &[16], &[9, 3]])), None);
        let linear = WelchOptions::new(16, 2).with_detrend(Detrend::Linear);
        assert_eq!(fault(OpDescriptor::WelchPsd { options: linear }, &specs([&[3, 24], &[16]])), Some("detrend"));
        assert_eq!(fault(psd, &specs([&[3, 23], &[16]])), Some("signal"));
        assert_eq!(fault(psd, &specs([&[3, 24], &[15]])), Some("window"));
        assert_eq!(fault(psd, &specs([&[3, 24], &[16], &[9, 4]])), Some("gain"));
        assert_eq!(fault(psd, &specs([&[24], &[16]])), Some("signal"));
        assert_eq!(fault(psd, &specs([&[3, 24]])), Some("inputs"));
        let convolution = OpDescriptor::LongConv {};
        assert_eq!(fault(convolution, &specs([&[2, 3, 8], &[3, 20]])), None);
        assert_eq!(fault(convolution, &specs([&[2, 3, 8], &[4, 20]])), Some("kernel"));
        assert_eq!(fault(convolution, &specs([&[2, 3, 8], &[3, 20], &[2, 3, 7]])), Some("gate"));
        let modes = OpDescriptor::SpectralConv {};
        assert_eq!(fault(modes, &specs([&[2, 3, 8, 8], &[3, 4, 8, 5], &[3, 4, 8, 5]])), None);
        assert_eq!(fault(modes, &specs([&[2, 3, 8, 8], &[3, 4, 8, 6], &[3, 4, 8, 6]])), Some("weights"));
        assert_eq!(fault(modes, &specs([&[2, 3, 8, 8], &[3, 4, 8, 5], &[3, 4, 8, 4]])), Some("weights_im"));
        let mut mixed = specs([&[2, 8], &[2, 8]]);
        let fft = OpDescriptor::ComplexFft { options: FftOptions::new(8, Default::default()) };
        assert_eq!(fault(fft, &mixed), None);
        mixed[1].dtype = DType::F64;
        assert_eq!(fault(fft, &mixed), Some("im"));
    }

    #[test]
    fn gradients_have_the_shapes_of_outputs() {
        let needed = Needed::of([true, true]);
        let backward = OpDescriptor::LongConvBackward { needed };
        assert_eq!(fault(backward, &specs([&[2, 3, 8], &[3, 20], &[2, 3, 8]])), None);
        assert_eq!(fault(backward, &specs([&[2, 3, 8], &[3, 20], &[2, 3, 9]])), Some("grad_output"));
        assert_eq!(fault(backward, &specs([&[2, 3, 8], &[3, 20], &[2, 3, 8], &[2, 3, 8]])), None);
        let backward = OpDescriptor::WelchPsdBackward { options: WelchOptions::new(16, 2), needed };
        assert_eq!(fault(backward, &specs([&[3, 24], &[16], &[3, 9]])), None);
        assert_eq!(fault(backward, &specs([&[3, 24], &[16], &[3, 8]])), Some("grad_power"));
    }
}
