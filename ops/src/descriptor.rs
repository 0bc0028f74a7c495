//! Operations as data: name, scalar arguments and output shapes of each, and how it is run from them.
//!
//! Lazy fusion, graph capture and replay share this table, so that they cannot differ.

use burn::backend::fusion::custom::CustomOpIr;
use burn::backend::ir::{BackendIr, HandleContainer, ScalarIr, TensorId, TensorIr};
use burn::tensor::{DType, IntDType, Shape};
use burn_router::CustomOpRegistry;

use crate::ops::{LearnedTensors, SpectralOps};
use crate::options::{Detrend, Scaling, WelchOptions};

/// One operation with its arguments that are not tensors.
///
/// The variants are the methods of [`SpectralOps`]; their tensors are the inputs of a [`CustomOpIr`], in the order of
/// the method's arguments.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum OpDescriptor {
    /// Welch power.
    WelchPsd {
        /// Parameters of the estimate.
        options: WelchOptions,
    },
    /// Gradients of [`WelchPsd`](Self::WelchPsd).
    WelchPsdBackward {
        /// Parameters of the estimate.
        options: WelchOptions,
    },
    /// Strongest bins of Welch power.
    WelchPeaks {
        /// Parameters of the estimate.
        options: WelchOptions,
        /// Peaks per row.
        k: usize,
        /// Type of bin numbers.
        bins: IntDType,
    },
    /// Largest values of rows.
    TopK {
        /// Values per row.
        k: usize,
        /// Type of positions.
        bins: IntDType,
    },
    /// Butterfly transform.
    Butterfly {
        /// Whether there is a gate per butterfly; all are open otherwise.
        gated: bool,
    },
    /// Gradients of [`Butterfly`](Self::Butterfly).
    ButterflyBackward {
        /// Whether there is a gate per butterfly; all are open otherwise.
        gated: bool,
    },
    /// Welch power through learned parameters.
    LearnedWelchPsd {
        /// Parameters of the estimate.
        options: WelchOptions,
    },
    /// Gradients of [`LearnedWelchPsd`](Self::LearnedWelchPsd).
    LearnedWelchPsdBackward {
        /// Parameters of the estimate.
        options: WelchOptions,
        /// Which inputs' gradients are computed, in the order of the fields of [`LearnedTensors`].
        wanted: [bool; 6],
    },
    /// Strongest bins of Welch power through learned parameters.
    LearnedWelchPeaks {
        /// Parameters of the estimate.
        options: WelchOptions,
        /// Peaks per row.
        k: usize,
        /// Type of bin numbers.
        bins: IntDType,
    },
}

/// Name of [`OpDescriptor::WelchPsd`].
pub const WELCH_PSD: &str = "firefly::welch_psd";
const WELCH_PSD_BACKWARD: &str = "firefly::welch_psd_backward";
/// Name of [`OpDescriptor::WelchPeaks`].
pub const WELCH_PEAKS: &str = "firefly::welch_peaks";
/// Name of [`OpDescriptor::TopK`].
pub const TOP_K: &str = "firefly::top_k";
/// Name of [`OpDescriptor::Butterfly`].
pub const BUTTERFLY: &str = "firefly::butterfly";
const BUTTERFLY_BACKWARD: &str = "firefly::butterfly_backward";
/// Name of [`OpDescriptor::LearnedWelchPsd`].
pub const LEARNED_WELCH_PSD: &str = "firefly::learned_welch_psd";
const LEARNED_WELCH_PSD_BACKWARD: &str = "firefly::learned_welch_psd_backward";
/// Name of [`OpDescriptor::LearnedWelchPeaks`].
pub const LEARNED_WELCH_PEAKS: &str = "firefly::learned_welch_peaks";

/// Names of all operations, as they stand in recorded graphs.
pub const NAMES: [&str; 9] = [
    WELCH_PSD,
    WELCH_PSD_BACKWARD,
    WELCH_PEAKS,
    TOP_K,
    BUTTERFLY,
    BUTTERFLY_BACKWARD,
    LEARNED_WELCH_PSD,
    LEARNED_WELCH_PSD_BACKWARD,
    LEARNED_WELCH_PEAKS,
];

/// Registers every operation of this crate in `registry`, for remote servers and interpreters that replay recorded
/// graphs on backend `B`.
pub fn register_spectral_ops<B: BackendIr + SpectralOps>(registry: &mut CustomOpRegistry<B>) {
    for name in NAMES {
        registry.register(name, |handles, operation, _device| execute::<B>(handles, operation));
    }
}

impl OpDescriptor {
    /// The operation's name, as it stands in recorded graphs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::WelchPsd { .. } => WELCH_PSD,
            Self::WelchPsdBackward { .. } => WELCH_PSD_BACKWARD,
            Self::WelchPeaks { .. } => WELCH_PEAKS,
            Self::TopK { .. } => TOP_K,
            Self::Butterfly { .. } => BUTTERFLY,
            Self::ButterflyBackward { .. } => BUTTERFLY_BACKWARD,
            Self::LearnedWelchPsd { .. } => LEARNED_WELCH_PSD,
            Self::LearnedWelchPsdBackward { .. } => LEARNED_WELCH_PSD_BACKWARD,
            Self::LearnedWelchPeaks { .. } => LEARNED_WELCH_PEAKS,
        }
    }

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

    /// The operation applied to `inputs`; `new_id` yields the identifiers of its outputs.
    pub(crate) fn apply(self, inputs: &[TensorIr], mut new_id: impl FnMut() -> TensorId) -> CustomOpIr {
        let outputs: Vec<TensorIr> =
            self.outputs(inputs).into_iter().map(|(shape, dtype)| TensorIr::uninit(new_id(), shape, dtype)).collect();
        CustomOpIr::with_scalars(self.name(), inputs, &outputs, self.scalars())
    }

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
            Self::ButterflyBackward { gated } => (0..if gated { 4 } else { 3 }).map(like).collect(),
            Self::LearnedWelchPsdBackward { .. } => (0..6).map(like).collect(),
        }
    }

    /// The arguments that are not tensors, encoded.
    pub fn scalars(&self) -> Vec<ScalarIr> {
        match *self {
            Self::Butterfly { gated } | Self::ButterflyBackward { gated } => vec![ScalarIr::Bool(gated)],
            Self::TopK { k, bins } => vec![ScalarIr::UInt(k as u64), ScalarIr::UInt(code(bins))],
            Self::WelchPsd { options } | Self::WelchPsdBackward { options } | Self::LearnedWelchPsd { options } => {
                encode(options)
            }
            Self::LearnedWelchPsdBackward { options, wanted } => {
                let mut scalars = encode(options);
                scalars.extend(wanted.map(ScalarIr::Bool));
                scalars
            }
            Self::WelchPeaks { options, k, bins } | Self::LearnedWelchPeaks { options, k, bins } => {
                let mut scalars = encode(options);
                scalars.extend([ScalarIr::UInt(k as u64), ScalarIr::UInt(code(bins))]);
                scalars
            }
        }
    }

    /// The operation called `name` with the scalars that [`scalars`](Self::scalars) encodes; `None` for any other.
    pub fn parse(name: &str, scalars: &[ScalarIr]) -> Option<Self> {
        let peaks = || match scalars {
            [options @ .., ScalarIr::UInt(k), ScalarIr::UInt(bins)] => {
                Some((decode(options)?, *k as usize, *INT_TYPES.get(*bins as usize)?))
            }
            _ => None,
        };
        let gated = || if let [ScalarIr::Bool(gated)] = scalars { Some(*gated) } else { None };
        Some(match name {
            WELCH_PSD => Self::WelchPsd { options: decode(scalars)? },
            WELCH_PSD_BACKWARD => Self::WelchPsdBackward { options: decode(scalars)? },
            WELCH_PEAKS => peaks().map(|(options, k, bins)| Self::WelchPeaks { options, k, bins })?,
            TOP_K => match *scalars {
                [ScalarIr::UInt(k), ScalarIr::UInt(bins)] => {
                    Self::TopK { k: k as usize, bins: *INT_TYPES.get(bins as usize)? }
                }
                _ => return None,
            },
            BUTTERFLY => Self::Butterfly { gated: gated()? },
            BUTTERFLY_BACKWARD => Self::ButterflyBackward { gated: gated()? },
            LEARNED_WELCH_PSD => Self::LearnedWelchPsd { options: decode(scalars)? },
            LEARNED_WELCH_PSD_BACKWARD => {
                let (options, wanted) = scalars.split_at_checked(scalars.len().checked_sub(6)?)?;
                let wanted: Option<Vec<bool>> = wanted.iter().map(as_bool).collect();
                Self::LearnedWelchPsdBackward { options: decode(options)?, wanted: wanted?.try_into().ok()? }
            }
            LEARNED_WELCH_PEAKS => peaks().map(|(options, k, bins)| Self::LearnedWelchPeaks { options, k, bins })?,
            _ => return None,
        })
    }
}

/// Runs a recorded operation: takes its inputs from `handles` and registers its outputs there.
///
/// # Panics
/// If the operation was not made by [`OpDescriptor::apply`].
pub(crate) fn execute<B: BackendIr + SpectralOps>(handles: &mut HandleContainer<B::Handle>, operation: &CustomOpIr) {
    let descriptor = OpDescriptor::parse(operation.id.as_str(), &operation.scalars)
        .unwrap_or_else(|| panic!("malformed custom operation {operation:?}"));
    let inputs: Vec<_> = operation.inputs.iter().map(|input| handles.get_float_tensor::<B>(input)).collect();
    let mut inputs = inputs.into_iter();
    let mut next = || inputs.next().expect("a recorded operation has all its inputs");
    let (bins, floats) = match descriptor {
        OpDescriptor::WelchPsd { options } => (None, vec![B::welch_psd(next(), next(), options)]),
        OpDescriptor::WelchPsdBackward { options } => {
            let (signal, window) = B::welch_psd_backward(next(), next(), next(), options);
            (None, vec![signal, window])
        }
        OpDescriptor::WelchPeaks { options, k, bins: dtype } => {
            let (bins, power) = B::welch_peaks(next(), next(), options, k, dtype);
            (Some(bins), vec![power])
        }
        OpDescriptor::TopK { k, bins: dtype } => {
            let (bins, largest) = B::top_k(next(), k, dtype);
            (Some(bins), vec![largest])
        }
        OpDescriptor::Butterfly { gated: false } => {
            let (re, im) = B::butterfly(next(), next(), next());
            (None, vec![re, im])
        }
        OpDescriptor::Butterfly { gated: true } => {
            let (re, im) = B::gated_butterfly(next(), next(), next(), next());
            (None, vec![re, im])
        }
        OpDescriptor::ButterflyBackward { gated: false } => {
            let (re, im, twiddles) = B::butterfly_backward(next(), next(), next(), next(), next());
            (None, vec![re, im, twiddles])
        }
        OpDescriptor::ButterflyBackward { gated: true } => {
            let (re, im, twiddles, gates) = B::gated_butterfly_backward(next(), next(), next(), next(), next(), next());
            (None, vec![re, im, twiddles, gates])
        }
        OpDescriptor::LearnedWelchPsd { options } => {
            (None, vec![B::learned_welch_psd(LearnedTensors::from_fn(next), options)])
        }
        OpDescriptor::LearnedWelchPsdBackward { options, wanted } => {
            let tensors = LearnedTensors::from_fn(&mut next);
            (None, B::learned_welch_psd_backward(tensors, next(), options, wanted).into_array().into())
        }
        OpDescriptor::LearnedWelchPeaks { options, k, bins: dtype } => {
            let (bins, power) = B::learned_welch_peaks(LearnedTensors::from_fn(next), options, k, dtype);
            (Some(bins), vec![power])
        }
    };
    let mut outputs = operation.outputs.iter();
    if let Some(bins) = bins {
        let output = outputs.next().expect("peaks have bins and power");
        handles.register_int_tensor::<B>(&output.id, bins);
    }
    for (float, output) in floats.into_iter().zip(outputs) {
        handles.register_float_tensor::<B>(&output.id, float);
    }
}

const INT_TYPES: [IntDType; 8] = [
    IntDType::I64,
    IntDType::I32,
    IntDType::I16,
    IntDType::I8,
    IntDType::U64,
    IntDType::U32,
    IntDType::U16,
    IntDType::U8,
];

fn code(dtype: IntDType) -> u64 {
    INT_TYPES.iter().position(|candidate| *candidate == dtype).expect("every integer type is listed") as u64
}

fn as_bool(scalar: &ScalarIr) -> Option<bool> {
    if let ScalarIr::Bool(value) = scalar { Some(*value) } else { None }
}

fn encode(options: WelchOptions) -> Vec<ScalarIr> {
    let (scaling, sample_rate) = match options.scaling {
        Scaling::Power => (0, 0.0),
        Scaling::Spectrum => (1, 0.0),
        Scaling::Density { sample_rate } => (2, sample_rate),
    };
    vec![
        ScalarIr::UInt(options.n_fft as u64),
        ScalarIr::UInt(options.hop as u64),
        ScalarIr::UInt(options.segments as u64),
        ScalarIr::UInt(scaling),
        ScalarIr::Float(sample_rate),
        ScalarIr::Bool(options.detrend == Detrend::Constant),
    ]
}

fn decode(scalars: &[ScalarIr]) -> Option<WelchOptions> {
    let [
        ScalarIr::UInt(n_fft),
        ScalarIr::UInt(hop),
        ScalarIr::UInt(segments),
        ScalarIr::UInt(scaling),
        ScalarIr::Float(sample_rate),
        ScalarIr::Bool(constant),
    ] = *scalars
    else {
        return None;
    };
    let scaling = match scaling {
        0 => Scaling::Power,
        1 => Scaling::Spectrum,
        2 => Scaling::Density { sample_rate },
        _ => return None,
    };
    let detrend = if constant { Detrend::Constant } else { Detrend::None };
    Some(WelchOptions { n_fft: n_fft as usize, hop: hop as usize, segments: segments as usize, scaling, detrend })
}

/// The methods of [`SpectralOps`] for a backend that records: each is `record(descriptor, inputs)`.
macro_rules! record_operations {
    ($record:path) => {
        fn welch_psd(signal: FloatTensor<Self>, window: FloatTensor<Self>, options: WelchOptions) -> FloatTensor<Self> {
            let [power] = $record(OpDescriptor::WelchPsd { options }, [signal, window]);
            power
        }

        fn welch_psd_backward(
            signal: FloatTensor<Self>,
            window: FloatTensor<Self>,
            grad_power: FloatTensor<Self>,
            options: WelchOptions,
        ) -> (FloatTensor<Self>, FloatTensor<Self>) {
            let [signal, window] = $record(OpDescriptor::WelchPsdBackward { options }, [signal, window, grad_power]);
            (signal, window)
        }

        fn welch_peaks(
            signal: FloatTensor<Self>,
            window: FloatTensor<Self>,
            options: WelchOptions,
            k: usize,
            bins: IntDType,
        ) -> (IntTensor<Self>, FloatTensor<Self>) {
            let [bins, power] = $record(OpDescriptor::WelchPeaks { options, k, bins }, [signal, window]);
            (bins, power)
        }

        fn top_k(values: FloatTensor<Self>, k: usize, bins: IntDType) -> (IntTensor<Self>, FloatTensor<Self>) {
            let [bins, largest] = $record(OpDescriptor::TopK { k, bins }, [values]);
            (bins, largest)
        }

        fn butterfly(
            re: FloatTensor<Self>,
            im: FloatTensor<Self>,
            twiddles: FloatTensor<Self>,
        ) -> (FloatTensor<Self>, FloatTensor<Self>) {
            let [re, im] = $record(OpDescriptor::Butterfly { gated: false }, [re, im, twiddles]);
            (re, im)
        }

        fn gated_butterfly(
            re: FloatTensor<Self>,
            im: FloatTensor<Self>,
            twiddles: FloatTensor<Self>,
            gates: FloatTensor<Self>,
        ) -> (FloatTensor<Self>, FloatTensor<Self>) {
            let [re, im] = $record(OpDescriptor::Butterfly { gated: true }, [re, im, twiddles, gates]);
            (re, im)
        }

        fn butterfly_backward(
            re: FloatTensor<Self>,
            im: FloatTensor<Self>,
            twiddles: FloatTensor<Self>,
            grad_re: FloatTensor<Self>,
            grad_im: FloatTensor<Self>,
        ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
            let [re, im, twiddles] =
                $record(OpDescriptor::ButterflyBackward { gated: false }, [re, im, twiddles, grad_re, grad_im]);
            (re, im, twiddles)
        }

        fn gated_butterfly_backward(
            re: FloatTensor<Self>,
            im: FloatTensor<Self>,
            twiddles: FloatTensor<Self>,
            gates: FloatTensor<Self>,
            grad_re: FloatTensor<Self>,
            grad_im: FloatTensor<Self>,
        ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
            let inputs = [re, im, twiddles, gates, grad_re, grad_im];
            let [re, im, twiddles, gates] = $record(OpDescriptor::ButterflyBackward { gated: true }, inputs);
            (re, im, twiddles, gates)
        }

        fn learned_welch_psd(tensors: LearnedTensors<Self>, options: WelchOptions) -> FloatTensor<Self> {
            let [power] = $record(OpDescriptor::LearnedWelchPsd { options }, tensors.into_array());
            power
        }

        fn learned_welch_psd_backward(
            tensors: LearnedTensors<Self>,
            grad_power: FloatTensor<Self>,
            options: WelchOptions,
            wanted: [bool; 6],
        ) -> LearnedTensors<Self> {
            let [signal, window, twiddles, gates, weights, gain] = tensors.into_array();
            let inputs = [signal, window, twiddles, gates, weights, gain, grad_power];
            LearnedTensors::from_array($record(OpDescriptor::LearnedWelchPsdBackward { options, wanted }, inputs))
        }

        fn learned_welch_peaks(
            tensors: LearnedTensors<Self>,
            options: WelchOptions,
            k: usize,
            bins: IntDType,
        ) -> (IntTensor<Self>, FloatTensor<Self>) {
            let [bins, power] = $record(OpDescriptor::LearnedWelchPeaks { options, k, bins }, tensors.into_array());
            (bins, power)
        }
    };
}
pub(crate) use record_operations;

#[cfg(test)]
mod tests {
    use burn::backend::Flex;
    use burn::backend::ir::{OperationIr, TensorStatus};
    use burn::tensor::{TensorData, try_read_sync};
    use burn_router::TensorInterpreter;

    use super::*;

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
            assert_eq!(operations.map(|operation| operation.name()), NAMES);
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
        let operation = OpDescriptor::TopK { k: 2, bins: IntDType::I64 }.apply(&[values], || {
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
