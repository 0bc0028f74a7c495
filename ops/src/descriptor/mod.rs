//! Operations as data: one table of names and scalar arguments, the output shapes, and how each operation is run.
//!
//! Differentiation, lazy fusion, graph capture and replay share this file, so that they cannot differ.

mod argument;

use burn::backend::Backend;
use burn::backend::ir::{BackendIr, CustomOpIr, HandleContainer, ScalarIr, TensorId, TensorIr};
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::tensor::{DType, IntDType, Shape};
#[cfg(feature = "router")]
use burn_router::CustomOpRegistry;

use self::argument::Argument;
use crate::ops::{ButterflyTensors, LearnedTensors, SpectralOps, WelchTensors};
use crate::options::WelchOptions;

/// Declares the operations: a constant with the name of each, the enum of all of them with their scalar arguments, and
/// both ways between that enum and recorded operations.
macro_rules! operations {
    ($(
        $(#[$doc:meta])*
        $constant:ident = $name:literal: $operation:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty),* $(,)? }
    )*) => {
        $(
            #[doc = concat!("Name of [`OpDescriptor::", stringify!($operation), "`].")]
            pub const $constant: &str = $name;
        )*

        /// Names of all operations, as they stand in recorded graphs.
        pub const NAMES: &[&str] = &[$($constant),*];

        /// One operation with its arguments that are not tensors.
        ///
        /// The variants are the methods of [`SpectralOps`]; their tensors are the inputs of a [`CustomOpIr`], in the
        /// order of the method's arguments and of the fields of structs.
        #[derive(Debug, Clone, Copy, PartialEq)]
        #[non_exhaustive]
        pub enum OpDescriptor {
            $($(#[$doc])* $operation { $($(#[$field_doc])* $field: $type),* }),*
        }

        impl OpDescriptor {
            /// The operation's name, as it stands in recorded graphs.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$operation { .. } => $constant),*
                }
            }

            /// The arguments that are not tensors, encoded.
            pub fn scalars(&self) -> Vec<ScalarIr> {
                let mut scalars = Vec::new();
                match self {
                    $(Self::$operation { $($field),* } => { $($field.encode(&mut scalars);)* })*
                }
                scalars
            }

            /// The operation called `name` with the scalars that [`scalars`](Self::scalars) encodes; `None` for any
            /// other.
            pub fn parse(name: &str, scalars: &[ScalarIr]) -> Option<Self> {
                let mut scalars = scalars.iter();
                let operation = match name {
                    $($constant => Self::$operation { $($field: Argument::decode(&mut scalars)?),* },)*
                    _ => return None,
                };
                scalars.next().is_none().then_some(operation)
            }
        }
    };
}

operations! {
    /// Welch power.
    WELCH_PSD = "firefly::welch_psd": WelchPsd {
        /// Parameters of the estimate.
        options: WelchOptions,
    }
    /// Gradients of [`WelchPsd`](Self::WelchPsd).
    WELCH_PSD_BACKWARD = "firefly::welch_psd_backward": WelchPsdBackward {
        /// Parameters of the estimate.
        options: WelchOptions,
    }
    /// Strongest bins of Welch power.
    WELCH_PEAKS = "firefly::welch_peaks": WelchPeaks {
        /// Parameters of the estimate.
        options: WelchOptions,
        /// Peaks per row.
        k: usize,
        /// Type of bin numbers.
        bins: IntDType,
    }
    /// Largest values of rows.
    TOP_K = "firefly::top_k": TopK {
        /// Values per row.
        k: usize,
        /// Type of positions.
        bins: IntDType,
    }
    /// Butterfly transform.
    BUTTERFLY = "firefly::butterfly": Butterfly {
        /// Whether there is a gate per butterfly; all are open otherwise.
        gated: bool,
    }
    /// Gradients of [`Butterfly`](Self::Butterfly).
    BUTTERFLY_BACKWARD = "firefly::butterfly_backward": ButterflyBackward {
        /// Whether there is a gate per butterfly; all are open otherwise.
        gated: bool,
    }
    /// Welch power through learned parameters.
    LEARNED_WELCH_PSD = "firefly::learned_welch_psd": LearnedWelchPsd {
        /// Parameters of the estimate.
        options: WelchOptions,
    }
    /// Gradients of [`LearnedWelchPsd`](Self::LearnedWelchPsd).
    LEARNED_WELCH_PSD_BACKWARD = "firefly::learned_welch_psd_backward": LearnedWelchPsdBackward {
        /// Parameters of the estimate.
        options: WelchOptions,
        /// Which inputs' gradients are computed, in the order of the fields of [`LearnedTensors`].
        wanted: [bool; 6],
    }
    /// Strongest bins of Welch power through learned parameters.
    LEARNED_WELCH_PEAKS = "firefly::learned_welch_peaks": LearnedWelchPeaks {
        /// Parameters of the estimate.
        options: WelchOptions,
        /// Peaks per row.
        k: usize,
        /// Type of bin numbers.
        bins: IntDType,
    }
}

impl OpDescriptor {
    /// Parameters of the Welch estimate that the operation computes, if it computes one.
    pub fn welch_options(&self) -> Option<WelchOptions> {
        match *self {
            Self::WelchPsd { options }
            | Self::WelchPeaks { options, .. }
            | Self::LearnedWelchPsd { options }
            | Self::LearnedWelchPeaks { options, .. } => Some(options),
            _ => None,
        }
    }

    /// Shapes and types of the outputs.
    fn outputs(&self, inputs: &[TensorIr]) -> Vec<(Shape, DType)> {
        let like = |index: usize| (inputs[index].shape.clone(), inputs[index].dtype);
        let row = |length: usize| Shape::from([inputs[0].shape[0], length]);
        let float = inputs[0].dtype;
        match *self {
            Self::WelchPsd { options } | Self::LearnedWelchPsd { options } => vec![(row(options.bins()), float)],
            Self::WelchPeaks { k, bins, .. } | Self::TopK { k, bins } | Self::LearnedWelchPeaks { k, bins, .. } => {
                vec![(row(k), bins.into()), (row(k), float)]
            }
            Self::Butterfly { .. } | Self::WelchPsdBackward { .. } => vec![like(0), like(1)],
            Self::ButterflyBackward { gated } => (0..3 + usize::from(gated)).map(like).collect(),
            Self::LearnedWelchPsdBackward { .. } => (0..6).map(like).collect(),
        }
    }

    /// The record of the operation applied to `inputs`; `new_id` yields the identifiers of its outputs.
    pub(crate) fn record(self, inputs: &[TensorIr], mut new_id: impl FnMut() -> TensorId) -> CustomOpIr {
        let outputs: Vec<TensorIr> =
            self.outputs(inputs).into_iter().map(|(shape, dtype)| TensorIr::uninit(new_id(), shape, dtype)).collect();
        CustomOpIr::with_scalars(self.name(), inputs, &outputs, self.scalars())
    }

    /// Whether the outputs are bin numbers and power.
    pub(crate) fn selects(&self) -> bool {
        matches!(self, Self::WelchPeaks { .. } | Self::TopK { .. } | Self::LearnedWelchPeaks { .. })
    }

    /// Runs the operation on tensors of backend `B`.
    pub(crate) fn run<B: SpectralOps>(self, inputs: Vec<FloatTensor<B>>) -> Outputs<B> {
        let mut inputs = inputs.into_iter();
        let inputs = &mut inputs;
        match self {
            Self::WelchPsd { options } => Outputs::Floats(vec![B::welch_psd(WelchTensors::take(inputs), options)]),
            Self::WelchPsdBackward { options } => {
                let estimate = WelchTensors::take(inputs);
                Outputs::Floats(B::welch_psd_backward(estimate, take(inputs), options).into_vec())
            }
            Self::WelchPeaks { options, k, bins } => {
                Outputs::peaks(B::welch_peaks(WelchTensors::take(inputs), options, k, bins))
            }
            Self::TopK { k, bins } => Outputs::peaks(B::top_k(take(inputs), k, bins)),
            Self::Butterfly { gated } => {
                let (re, im) = B::butterfly(ButterflyTensors::take(inputs, gated));
                Outputs::Floats(vec![re, im])
            }
            Self::ButterflyBackward { gated } => {
                let transform = ButterflyTensors::take(inputs, gated);
                Outputs::Floats(B::butterfly_backward(transform, take(inputs), take(inputs)).into_vec())
            }
            Self::LearnedWelchPsd { options } => {
                Outputs::Floats(vec![B::learned_welch_psd(LearnedTensors::take(inputs), options)])
            }
            Self::LearnedWelchPsdBackward { options, wanted } => {
                let estimate = LearnedTensors::take(inputs);
                Outputs::Floats(B::learned_welch_psd_backward(estimate, take(inputs), options, wanted).into_vec())
            }
            Self::LearnedWelchPeaks { options, k, bins } => {
                Outputs::peaks(B::learned_welch_peaks(LearnedTensors::take(inputs), options, k, bins))
            }
        }
    }
}

/// Outputs of any operation.
#[derive(Debug)]
pub(crate) enum Outputs<B: Backend> {
    /// Float tensors alone.
    Floats(Vec<FloatTensor<B>>),
    /// Bin numbers and power.
    Peaks(IntTensor<B>, FloatTensor<B>),
}

impl<B: Backend> Outputs<B> {
    fn peaks((bins, power): (IntTensor<B>, FloatTensor<B>)) -> Self {
        Self::Peaks(bins, power)
    }

    /// The outputs of an operation that selects nothing.
    pub fn into_floats(self) -> std::vec::IntoIter<FloatTensor<B>> {
        match self {
            Self::Floats(floats) => floats.into_iter(),
            Self::Peaks(..) => unreachable!("the operation has no bins"),
        }
    }

    /// The outputs of an operation that selects.
    pub fn into_peaks(self) -> (IntTensor<B>, FloatTensor<B>) {
        match self {
            Self::Peaks(bins, power) => (bins, power),
            Self::Floats(_) => unreachable!("the operation has bins"),
        }
    }
}

/// The next tensor.
pub(crate) fn take<T>(tensors: &mut impl Iterator<Item = T>) -> T {
    tensors.next().expect("an operation has all of its tensors")
}

/// Registers every operation of this crate in `registry`, for remote servers and interpreters that replay recorded
/// graphs on backend `B`.
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
    let inputs = operation.inputs.iter().map(|input| handles.get_float_tensor::<B>(input)).collect();
    let mut outputs = operation.outputs.iter().map(|output| &output.id);
    match descriptor.run::<B>(inputs) {
        Outputs::Floats(floats) => {
            for (id, float) in outputs.zip(floats) {
                handles.register_float_tensor::<B>(id, float);
            }
        }
        Outputs::Peaks(bins, power) => {
            handles.register_int_tensor::<B>(take(&mut outputs), bins);
            handles.register_float_tensor::<B>(take(&mut outputs), power);
        }
    }
}

#[cfg(all(test, feature = "flex", feature = "router"))]
mod tests {
    use burn::backend::Flex;
    use burn::backend::ir::{OperationIr, TensorStatus};
    use burn::tensor::{TensorData, try_read_sync};
    use burn_router::TensorInterpreter;

    use super::*;
    use crate::options::{Detrend, Scaling};

    #[test]
    fn every_operation_is_parsed_from_its_name_and_scalars() {
        let (k, bins, wanted) = (7, IntDType::I32, [true, false, true, true, false, false]);
        for scaling in [Scaling::Power, Scaling::Spectrum, Scaling::Density { sample_rate: 2.5 }] {
            let options = WelchOptions { hop: 100, scaling, detrend: Detrend::Constant, ..WelchOptions::new(256, 3) };
            let operations = [
                OpDescriptor::WelchPsd { options },
                OpDescriptor::WelchPsdBackward { options },
                OpDescriptor::WelchPeaks { options, k, bins },
                OpDescriptor::TopK { k, bins },
                OpDescriptor::Butterfly { gated: true },
                OpDescriptor::ButterflyBackward { gated: false },
                OpDescriptor::LearnedWelchPsd { options },
                OpDescriptor::LearnedWelchPsdBackward { options, wanted },
                OpDescriptor::LearnedWelchPeaks { options, k, bins },
            ];
            assert_eq!(operations.map(|operation| operation.name())[..], *NAMES);
            for operation in operations {
                assert_eq!(OpDescriptor::parse(operation.name(), &operation.scalars()), Some(operation));
                assert_eq!(OpDescriptor::parse(operation.name(), &[ScalarIr::Int(0)]), None);
            }
        }
        assert_eq!(OpDescriptor::parse("signal::rfft", &[]), None);
    }

    #[test]
    fn a_registered_operation_runs_from_its_record() {
        let mut registry = CustomOpRegistry::<Flex>::new();
        register_spectral_ops(&mut registry);
        let mut interpreter = TensorInterpreter::with_custom_ops(Default::default(), registry);
        let values =
            interpreter.register_tensor_data_desc(TensorData::from([[1.0f32, 3.0, 2.0], [f32::NAN, 0.0, 5.0]]));
        let mut id = 1_000_000;
        let operation = OpDescriptor::TopK { k: 2, bins: IntDType::I64 }.record(&[values], || {
            id += 1;
            TensorId::new(id)
        });
        let outputs = operation.outputs.clone();
        interpreter.register_op(OperationIr::Custom(operation));
        let mut read = |index: usize| {
            let output = TensorIr { status: TensorStatus::ReadWrite, ..outputs[index].clone() };
            try_read_sync(interpreter.read_tensor_async(output)).unwrap().unwrap()
        };
        assert_eq!(read(0).as_slice::<i64>().unwrap(), [1, 2, 2, 1]);
        assert_eq!(read(1).as_slice::<f32>().unwrap(), [3.0, 2.0, 5.0, 0.0]);
    }
}
