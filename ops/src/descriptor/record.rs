//! Records of operations in graphs and queues: output shapes, and execution from a record.

use burn::backend::ir::{BackendIr, CustomOpIr, HandleContainer, TensorId, TensorIr};
use burn::tensor::{DType, Shape};
#[cfg(feature = "router")]
use burn_router::CustomOpRegistry;

#[cfg(feature = "router")]
use super::NAMES;
use super::{OpDescriptor, OperationOutputs, take};
use crate::ops::SpectralOps;

impl OpDescriptor {
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
            Self::LocalMaxima { k, bins, .. } => vec![(row(k), bins.into()), (row(k), bins.into())],
            Self::Butterfly { .. } | Self::WelchPsdBackward { .. } | Self::ComplexFftColumns { .. } => {
                vec![like(0), like(1)]
            }
            Self::ButterflyBackward { gated } => (0..3 + usize::from(gated)).map(like).collect(),
            Self::LearnedWelchPsdBackward { .. } => (0..6).map(like).collect(),
            Self::ComplexFft { options } => vec![(row(options.length), float); 2],
            Self::RealFft { options } => vec![(row(options.bins()), float); 2],
            Self::InverseRealFft { options } => vec![(row(options.length), float)],
            Self::Mel { options, .. } => {
                let [rows, samples] = [inputs[0].shape[0], inputs[0].shape[1]];
                vec![(Shape::from([rows, options.bands.count, options.stft.frames(samples)]), float)]
            }
            Self::MelBackward { .. } => vec![like(0), like(1)],
            Self::PeakLoss { .. } => vec![(row(2), float)],
            Self::PeakLossBackward { .. } => vec![like(0)],
            Self::AdamStep { .. } => (0..3).map(like).collect(),
            Self::SpectralConv {} => {
                let mut shape = inputs[0].shape.clone();
                shape[1] = inputs[1].shape[1];
                vec![(shape, float)]
            }
            Self::SpectralConvBackward { .. } => (0..3).map(like).collect(),
            Self::LongConv { .. } => vec![like(0)],
            Self::LongConvBackward { gated, .. } => (0..2 + usize::from(gated)).map(like).collect(),
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

    /// Whether the outputs are bin numbers alone.
    pub(crate) fn locates(&self) -> bool {
        matches!(self, Self::LocalMaxima { .. })
    }
}

/// Registers every operation of this crate in `registry`, for remote servers and interpreters that replay recorded
/// graphs on backend `B`.
///
/// ```
/// use burn::backend::Flex;
/// use burn_router::CustomOpRegistry;
/// use firefly_ops::register_spectral_ops;
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
    let inputs = operation.inputs.iter().map(|input| handles.get_float_tensor::<B>(input)).collect();
    let mut outputs = operation.outputs.iter().map(|output| &output.id);
    match descriptor.run::<B>(inputs) {
        OperationOutputs::Floats(floats) => {
            for (id, float) in outputs.zip(floats) {
                handles.register_float_tensor::<B>(id, float);
            }
        }
        OperationOutputs::Peaks(bins, power) => {
            handles.register_int_tensor::<B>(take(&mut outputs), bins);
            handles.register_float_tensor::<B>(take(&mut outputs), power);
        }
        OperationOutputs::Bins(bins) => {
            for (id, bins) in outputs.zip(bins) {
                handles.register_int_tensor::<B>(id, bins);
            }
        }
    }
}
