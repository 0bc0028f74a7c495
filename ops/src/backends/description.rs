//! An operation as data: its name, its arguments, its outputs, and how to run it from them.
//!
//! Lazy fusion, capture and replay share this file, so that they can't differ.

use burn::backend::fusion::custom::CustomOpIr;
use burn::backend::ir::{BackendIr, HandleContainer, ScalarIr, TensorId, TensorIr};
use burn::tensor::{DType, IntDType, Shape};
use firefly_framework::graph::CustomOperations;

use crate::contract::{LearnedTensors, SpectralOps};
use crate::welch::{Detrend, Scaling, WelchOptions};

/// One of the operations, with its arguments that are not tensors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Description {
    WelchPsd(WelchOptions),
    WelchPsdBackward(WelchOptions),
    WelchPeaks(WelchOptions, usize, IntDType),
    Butterfly,
    GatedButterfly,
    ButterflyBackward,
    GatedButterflyBackward,
    LearnedWelchPsd(WelchOptions),
    LearnedWelchPsdBackward(WelchOptions, [bool; 6]),
    LearnedWelchPeaks(WelchOptions, usize, IntDType),
}

pub(super) const WELCH_PSD: &str = "firefly::welch_psd";
const WELCH_PSD_BACKWARD: &str = "firefly::welch_psd_backward";
pub(super) const WELCH_PEAKS: &str = "firefly::welch_peaks";
pub(super) const BUTTERFLY: &str = "firefly::butterfly";
const GATED_BUTTERFLY: &str = "firefly::gated_butterfly";
const BUTTERFLY_BACKWARD: &str = "firefly::butterfly_backward";
const GATED_BUTTERFLY_BACKWARD: &str = "firefly::gated_butterfly_backward";
pub(super) const LEARNED_WELCH_PSD: &str = "firefly::learned_welch_psd";
const LEARNED_WELCH_PSD_BACKWARD: &str = "firefly::learned_welch_psd_backward";
pub(super) const LEARNED_WELCH_PEAKS: &str = "firefly::learned_welch_peaks";

const NAMES: [&str; 10] = [
    WELCH_PSD,
    WELCH_PSD_BACKWARD,
    WELCH_PEAKS,
    BUTTERFLY,
    GATED_BUTTERFLY,
    BUTTERFLY_BACKWARD,
    GATED_BUTTERFLY_BACKWARD,
    LEARNED_WELCH_PSD,
    LEARNED_WELCH_PSD_BACKWARD,
    LEARNED_WELCH_PEAKS,
];

/// Adds every operation of this crate to what a replay knows to run on backend `B`.
pub fn register<B: BackendIr + SpectralOps>(operations: &mut CustomOperations<B>) {
    for name in NAMES {
        operations.register(name, execute::<B>);
    }
}

impl Description {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::WelchPsd(_) => WELCH_PSD,
            Self::WelchPsdBackward(_) => WELCH_PSD_BACKWARD,
            Self::WelchPeaks(..) => WELCH_PEAKS,
            Self::Butterfly => BUTTERFLY,
            Self::GatedButterfly => GATED_BUTTERFLY,
            Self::ButterflyBackward => BUTTERFLY_BACKWARD,
            Self::GatedButterflyBackward => GATED_BUTTERFLY_BACKWARD,
            Self::LearnedWelchPsd(_) => LEARNED_WELCH_PSD,
            Self::LearnedWelchPsdBackward(..) => LEARNED_WELCH_PSD_BACKWARD,
            Self::LearnedWelchPeaks(..) => LEARNED_WELCH_PEAKS,
        }
    }

    /// The operation applied to `inputs`, its outputs described and named by `new_id`.
    pub(super) fn apply(self, inputs: &[TensorIr], mut new_id: impl FnMut() -> TensorId) -> CustomOpIr {
        let outputs: Vec<TensorIr> =
            self.outputs(inputs).into_iter().map(|(shape, dtype)| TensorIr::uninit(new_id(), shape, dtype)).collect();
        CustomOpIr::with_scalars(self.name(), inputs, &outputs, self.scalars())
    }

    fn outputs(&self, inputs: &[TensorIr]) -> Vec<(Shape, DType)> {
        let like = |index: usize| (inputs[index].shape.clone(), inputs[index].dtype);
        let row = |length: usize| Shape::from([inputs[0].shape[0], length]);
        let float = inputs[0].dtype;
        match *self {
            Self::WelchPsd(options) | Self::LearnedWelchPsd(options) => vec![(row(options.bins()), float)],
            Self::WelchPeaks(_, k, bins) | Self::LearnedWelchPeaks(_, k, bins) => {
                vec![(row(k), bins.into()), (row(k), float)]
            }
            Self::Butterfly | Self::GatedButterfly | Self::WelchPsdBackward(_) => vec![like(0), like(1)],
            Self::ButterflyBackward => (0..3).map(like).collect(),
            Self::GatedButterflyBackward => (0..4).map(like).collect(),
            Self::LearnedWelchPsdBackward(..) => (0..6).map(like).collect(),
        }
    }

    pub(super) fn scalars(&self) -> Vec<ScalarIr> {
        match *self {
            Self::Butterfly | Self::GatedButterfly | Self::ButterflyBackward | Self::GatedButterflyBackward => vec![],
            Self::WelchPsd(options) | Self::WelchPsdBackward(options) | Self::LearnedWelchPsd(options) => {
                encode(options)
            }
            Self::LearnedWelchPsdBackward(options, wanted) => {
                let mut scalars = encode(options);
                scalars.extend(wanted.map(ScalarIr::Bool));
                scalars
            }
            Self::WelchPeaks(options, k, bins) | Self::LearnedWelchPeaks(options, k, bins) => {
                let mut scalars = encode(options);
                scalars.extend([ScalarIr::UInt(k as u64), ScalarIr::UInt(code(bins))]);
                scalars
            }
        }
    }

    fn parse(operation: &CustomOpIr) -> Option<Self> {
        let scalars = operation.scalars.as_slice();
        let peaks = || match scalars {
            [options @ .., ScalarIr::UInt(k), ScalarIr::UInt(bins)] => {
                Some((decode(options)?, *k as usize, *INT_TYPES.get(*bins as usize)?))
            }
            _ => None,
        };
        Some(match operation.id.as_str() {
            WELCH_PSD => Self::WelchPsd(decode(scalars)?),
            WELCH_PSD_BACKWARD => Self::WelchPsdBackward(decode(scalars)?),
            WELCH_PEAKS => peaks().map(|(options, k, bins)| Self::WelchPeaks(options, k, bins))?,
            BUTTERFLY => Self::Butterfly,
            GATED_BUTTERFLY => Self::GatedButterfly,
            BUTTERFLY_BACKWARD => Self::ButterflyBackward,
            GATED_BUTTERFLY_BACKWARD => Self::GatedButterflyBackward,
            LEARNED_WELCH_PSD => Self::LearnedWelchPsd(decode(scalars)?),
            LEARNED_WELCH_PSD_BACKWARD => {
                let (options, wanted) = scalars.split_at_checked(scalars.len().checked_sub(6)?)?;
                let wanted: Option<Vec<bool>> = wanted.iter().map(as_bool).collect();
                Self::LearnedWelchPsdBackward(decode(options)?, wanted?.try_into().ok()?)
            }
            LEARNED_WELCH_PEAKS => peaks().map(|(options, k, bins)| Self::LearnedWelchPeaks(options, k, bins))?,
            _ => return None,
        })
    }
}

/// Runs a described operation: its inputs are taken from the handles, its outputs registered there.
///
/// # Panics
/// If the description was not made by [`Description::apply`].
pub(super) fn execute<B: BackendIr + SpectralOps>(handles: &mut HandleContainer<B::Handle>, operation: &CustomOpIr) {
    let description =
        Description::parse(operation).unwrap_or_else(|| panic!("malformed custom operation {operation:?}"));
    let inputs: Vec<_> = operation.inputs.iter().map(|input| handles.get_float_tensor::<B>(input)).collect();
    let mut inputs = inputs.into_iter();
    let mut next = || inputs.next().expect("a described operation has all its inputs");
    let (bins, floats) = match description {
        Description::WelchPsd(options) => (None, vec![B::welch_psd(next(), next(), options)]),
        Description::WelchPsdBackward(options) => {
            let (signal, window) = B::welch_psd_backward(next(), next(), next(), options);
            (None, vec![signal, window])
        }
        Description::WelchPeaks(options, k, dtype) => {
            let (bins, power) = B::welch_peaks(next(), next(), options, k, dtype);
            (Some(bins), vec![power])
        }
        Description::Butterfly => {
            let (re, im) = B::butterfly(next(), next(), next());
            (None, vec![re, im])
        }
        Description::GatedButterfly => {
            let (re, im) = B::gated_butterfly(next(), next(), next(), next());
            (None, vec![re, im])
        }
        Description::ButterflyBackward => {
            let (re, im, twiddles) = B::butterfly_backward(next(), next(), next(), next(), next());
            (None, vec![re, im, twiddles])
        }
        Description::GatedButterflyBackward => {
            let (re, im, twiddles, gates) = B::gated_butterfly_backward(next(), next(), next(), next(), next(), next());
            (None, vec![re, im, twiddles, gates])
        }
        Description::LearnedWelchPsd(options) => {
            (None, vec![B::learned_welch_psd(LearnedTensors::from_fn(next), options)])
        }
        Description::LearnedWelchPsdBackward(options, wanted) => {
            let tensors = LearnedTensors::from_fn(&mut next);
            (None, B::learned_welch_psd_backward(tensors, next(), options, wanted).into_array().into())
        }
        Description::LearnedWelchPeaks(options, k, dtype) => {
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

pub(super) fn decode(scalars: &[ScalarIr]) -> Option<WelchOptions> {
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

/// The methods of [`SpectralOps`] for a backend that records: each is `record(description, inputs)`.
macro_rules! record_operations {
    ($record:path) => {
        fn welch_psd(signal: FloatTensor<Self>, window: FloatTensor<Self>, options: WelchOptions) -> FloatTensor<Self> {
            let [power] = $record(Description::WelchPsd(options), [signal, window]);
            power
        }

        fn welch_psd_backward(
            signal: FloatTensor<Self>,
            window: FloatTensor<Self>,
            grad_power: FloatTensor<Self>,
            options: WelchOptions,
        ) -> (FloatTensor<Self>, FloatTensor<Self>) {
            let [signal, window] = $record(Description::WelchPsdBackward(options), [signal, window, grad_power]);
            (signal, window)
        }

        fn welch_peaks(
            signal: FloatTensor<Self>,
            window: FloatTensor<Self>,
            options: WelchOptions,
            k: usize,
            bins: IntDType,
        ) -> (IntTensor<Self>, FloatTensor<Self>) {
            let [bins, power] = $record(Description::WelchPeaks(options, k, bins), [signal, window]);
            (bins, power)
        }

        fn butterfly(
            re: FloatTensor<Self>,
            im: FloatTensor<Self>,
            twiddles: FloatTensor<Self>,
        ) -> (FloatTensor<Self>, FloatTensor<Self>) {
            let [re, im] = $record(Description::Butterfly, [re, im, twiddles]);
            (re, im)
        }

        fn gated_butterfly(
            re: FloatTensor<Self>,
            im: FloatTensor<Self>,
            twiddles: FloatTensor<Self>,
            gates: FloatTensor<Self>,
        ) -> (FloatTensor<Self>, FloatTensor<Self>) {
            let [re, im] = $record(Description::GatedButterfly, [re, im, twiddles, gates]);
            (re, im)
        }

        fn butterfly_backward(
            re: FloatTensor<Self>,
            im: FloatTensor<Self>,
            twiddles: FloatTensor<Self>,
            grad_re: FloatTensor<Self>,
            grad_im: FloatTensor<Self>,
        ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
            let [re, im, twiddles] = $record(Description::ButterflyBackward, [re, im, twiddles, grad_re, grad_im]);
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
            let [re, im, twiddles, gates] = $record(Description::GatedButterflyBackward, inputs);
            (re, im, twiddles, gates)
        }

        fn learned_welch_psd(tensors: LearnedTensors<Self>, options: WelchOptions) -> FloatTensor<Self> {
            let [power] = $record(Description::LearnedWelchPsd(options), tensors.into_array());
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
            LearnedTensors::from_array($record(Description::LearnedWelchPsdBackward(options, wanted), inputs))
        }

        fn learned_welch_peaks(
            tensors: LearnedTensors<Self>,
            options: WelchOptions,
            k: usize,
            bins: IntDType,
        ) -> (IntTensor<Self>, FloatTensor<Self>) {
            let [bins, power] = $record(Description::LearnedWelchPeaks(options, k, bins), tensors.into_array());
            (bins, power)
        }
    };
}
pub(super) use record_operations;
