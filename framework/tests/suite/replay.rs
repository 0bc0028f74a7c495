//! Every operation recorded as a graph, and replayed on Flex.

mod fourier;

use burn::backend::{Dispatch, DispatchTensor, Flex};
use burn::tensor::{DType, Device, Int, IntDType, Tensor, TensorData};
use firefly_framework::graph::{CustomOperations, Graph, GraphError, Input, Outputs, Replay, capture};
use firefly_ops::fft::ComplexTensor;
use firefly_ops::op::{Needed, inputs};
use firefly_ops::options::{
    AdamOptions, Interpolation, LogGuard, LogUnit, Logarithm, MelBands, MelNorm, MelScale, PeakLossOptions, SegmentSet,
    SignalPadding, SpectrumKind, WeightDecay,
};
use firefly_ops::training::{AdamState, PeakTargets, adam_step, peak_loss};
use firefly_ops::{
    Detrend, LocalMaximaOptions, MelOptions, Scaling, StftOptions, WelchOptions, WelchWeights, butterfly, local_maxima,
    log_mel, mel, top_k, welch_peaks, welch_psd,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const ROWS: usize = 3;

/// No field at its default, so that a field that gets lost is seen.
const OPTIONS: WelchOptions = WelchOptions::new(16, 3)
    .with_hop(7)
    .with_scaling(Scaling::Density { sample_rate: 250.5 })
    .with_detrend(Detrend::Constant);

/// The gradients that are there.
fn gradients<const N: usize>(gradients: Vec<DispatchTensor>) -> [DispatchTensor; N] {
    gradients.try_into().unwrap()
}

/// Outputs of a model that can be read back.
trait Read: Outputs {
    fn read(self) -> Vec<TensorData>;
}

impl<const D: usize> Read for Tensor<D> {
    fn read(self) -> Vec<TensorData> {
        vec![self.into_data()]
    }
}

impl<const D: usize> Read for Tensor<D, Int> {
    fn read(self) -> Vec<TensorData> {
        // The capture device's integers, whatever the width of another's.
        vec![self.cast(IntDType::I64).into_data()]
    }
}

impl<A: Read, B: Read> Read for (A, B) {
    fn read(self) -> Vec<TensorData> {
        let mut data = self.0.read();
        data.extend(self.1.read());
        data
    }
}

/// Numbers from -1 to 1.
fn noise<const D: usize>(shape: [usize; D], seed: u64) -> TensorData {
    let mut random = StdRng::seed_from_u64(seed);
    let values = (0..shape.iter().product()).map(|_| random.random_range(-1.0f32..1.0)).collect::<Vec<_>>();
    TensorData::new(values, shape)
}

fn samples(rows: usize, seed: u64) -> TensorData {
    noise([rows, OPTIONS.frame()], seed)
}

/// Whether two runs gave the same bits, any NaN being the same as any other.
fn same(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()))
}

/// Parameters of the operations.
struct Parameters {
    window: Tensor<1>,
    gain: Tensor<2>,
    twiddles: Tensor<3>,
    gates: Tensor<2>,
}

/// Parameters away from the exact ones, gates in (0, 1).
fn parameters(device: &Device) -> Parameters {
    let (n, stages, bins) = (OPTIONS.n_fft, OPTIONS.stages(), OPTIONS.bins());
    Parameters {
        window: Tensor::from_data(noise([n], 1), device),
        gain: Tensor::from_data(noise([bins, 3], 5), device),
        twiddles: Tensor::from_data(noise([stages, n / 2, 2], 2), device),
        gates: Tensor::<2>::from_data(noise([stages, n / 2], 3), device) * 0.45 + 0.5,
    }
}

fn signal() -> [Input; 1] {
    [Input::new("signal", [ROWS, OPTIONS.frame()])]
}

fn recorded<O: Outputs>(model: impl Fn(Tensor<2>, &Device) -> O) -> Graph {
    capture(&signal(), model).unwrap()
}

/// Checks that a model's graph holds the custom operations `names` and replays as the model runs.
fn check<O: Read>(names: &[&str], model: impl Fn(Tensor<2>, &Device) -> O) {
    let graph = recorded(&model);
    assert_eq!(graph.custom_operations().collect::<Vec<_>>(), names);
    let mut replay = Replay::new(&graph, &Default::default(), &CustomOperations::<Flex>::spectral()).unwrap();
    let (flex, input) = (Device::flex(), samples(ROWS, 2));
    let expected = model(Tensor::from_data(input.clone(), &flex), &flex).read();
    let there = || Tensor::<2>::from_data(input.clone(), &flex).try_into_primitive::<Flex>().unwrap();
    // A replay must not use its graph up, wherever its inputs come from.
    for on_device in [false, true, false, true] {
        let run = if on_device { replay.run_on_device(vec![there()]) } else { replay.run(vec![input.clone()]) };
        let replayed = run.unwrap();
        assert_eq!(replayed.len(), expected.len(), "{names:?}");
        for (replayed, expected) in replayed.iter().zip(&expected) {
            assert_eq!((replayed.shape(), replayed.dtype()), (expected.shape(), expected.dtype()), "{names:?}");
            let [replayed, expected] = [replayed, expected].map(|data| data.try_to_vec_as::<f64>().unwrap());
            assert!(same(&replayed, &expected), "{names:?}: {replayed:?} is not {expected:?}");
        }
    }
}

#[test]
fn welch_operations_replay() {
    check(&["firefly::welch_psd"], |signal, device| welch_psd(signal, parameters(device).window, &OPTIONS).unwrap());
    check(&["firefly::welch_peaks"], |signal, device| {
        let peaks = welch_peaks(signal, parameters(device).window, &OPTIONS, 4).unwrap();
        (peaks.bins, peaks.power)
    });
    for scaling in [Scaling::Power, Scaling::Spectrum] {
        let options = OPTIONS.with_scaling(scaling).with_detrend(Detrend::None);
        check(&["firefly::welch_psd"], |signal, device| {
            welch_psd(signal, parameters(device).window, &options).unwrap()
        });
    }
}

#[test]
fn searches_replay() {
    check(&["firefly::top_k"], |signal, _| {
        let largest = top_k(signal, 4).unwrap();
        (largest.bins, largest.power)
    });
    check(&["firefly::top_k", "firefly::peak_loss"], |signal, _| {
        let power = signal + 1.5;
        let targets = PeakTargets::new(power.zeros_like(), power.clone() + 1.0, power.clone().mean_dim(1));
        let options = PeakLossOptions::new(3).with_temperature(0.5).with_offset(1e-3).with_weights([0.3, 2.0]);
        peak_loss(power, targets, &options).unwrap()
    });
    let any = LocalMaximaOptions::new();
    for options in [any, any.with_height(0.1).with_distance(3).with_prominence(0.2)] {
        check(&["firefly::local_maxima"], |signal, _| {
            // Power is positive, so that offsets are computed.
            let options = options.with_interpolation(Interpolation::Hann);
            let found = local_maxima(signal + 1.5, &options, 4).unwrap();
            ((found.bins, found.power), (found.prominence, found.offset))
        });
    }
}

#[test]
fn steps_of_adam_replay() {
    for decay in [WeightDecay::None, WeightDecay::Coupled(0.1), WeightDecay::Decoupled(0.2)] {
        check(&["firefly::adam_step"], |signal, _| {
            let state = AdamState::new(signal.clone(), signal.clone() * 0.5, signal.clone() + 1.5);
            let options = AdamOptions::new(0.1, 3).with_betas([0.8, 0.9]).with_weight_decay(decay);
            let AdamState { parameter, moment_1, moment_2, .. } = adam_step(state, signal, &options).unwrap();
            (parameter, (moment_1, moment_2))
        });
    }
}

#[test]
fn integers_of_any_width_replay() {
    check(&[], |signal, _| {
        let (power, places) = signal.topk_with_indices(3, 1);
        (places.cast(IntDType::I32).cast(IntDType::I64), power)
    });
}

#[test]
fn butterflies_replay() {
    for gated in [false, true] {
        check(&["firefly::butterfly"], |signal, device| {
            let rows = ComplexTensor::new(signal.clone().narrow(1, 0, 16), signal.narrow(1, 4, 16));
            let parameters = parameters(device);
            let out = butterfly(rows, parameters.twiddles, gated.then_some(parameters.gates)).unwrap();
            (out.re, out.im)
        });
    }
}

/// Window and gain, and the first and the last segment.
fn gained(device: &Device) -> (WelchWeights, WelchOptions) {
    let Parameters { window, gain, .. } = parameters(device);
    (WelchWeights::new(window).with_gain(Some(gain)), OPTIONS.with_chosen(Some(SegmentSet::new([0, 2]).unwrap())))
}

#[test]
fn gained_operations_replay() {
    check(&["firefly::welch_psd"], |signal, device| {
        let (weights, options) = gained(device);
        welch_psd(signal, weights, &options).unwrap()
    });
    check(&["firefly::welch_peaks"], |signal, device| {
        let (weights, options) = gained(device);
        let peaks = welch_peaks(signal, weights, &options, 4).unwrap();
        (peaks.bins, peaks.power)
    });
}

fn mel_options() -> MelOptions {
    let stft = StftOptions::new(14).with_hop(3).with_pad(SignalPadding::Constant(0.5)).with_normalized(true);
    let bands = MelBands::new(100.0, 5).with_f_min(1.0).with_f_max(45.0).with_scale(MelScale::Htk);
    MelOptions::new(stft, bands.with_norm(MelNorm::None)).with_kind(SpectrumKind::Amplitude)
}

const LOGARITHM: Logarithm = Logarithm::new(LogUnit::Decibel).with_guard(LogGuard::Offset(0.25));

#[test]
fn mel_spectra_replay() {
    let window = |device: &Device| parameters(device).window.narrow(0, 0, 14);
    check(&["firefly::mel"], |signal, device| mel::<2, 3, _>(signal, window(device), &mel_options()).unwrap());
    check(&["firefly::mel"], |signal, device| {
        log_mel::<2, 3, _>(signal, window(device), &mel_options(), &LOGARITHM).unwrap()
    });
    check(&["firefly::mel_backward"], |signal, device| {
        let frames = mel_options().stft.frames(OPTIONS.frame());
        let grad_bands = Tensor::<3>::ones([ROWS, 5, frames], device).into_dispatch();
        let (signal, window) = (signal.into_dispatch(), window(device).into_dispatch());
        let inputs = inputs::MelBackward { signal, window, grad_bands };
        let needed = Needed::of([true, true]);
        let [signal, window] = gradients(inputs.apply::<Dispatch>(mel_options(), Some(LOGARITHM), needed));
        (Tensor::<2>::from_dispatch(signal), Tensor::<1>::from_dispatch(window))
    });
}

#[test]
fn operations_replay_among_others() {
    check(&["firefly::welch_psd", "firefly::welch_psd"], |signal, device| {
        let exact = welch_psd(signal.clone() * 3.0, parameters(device).window, &OPTIONS).unwrap();
        let (weights, options) = gained(device);
        let gained = welch_psd(signal, weights, &options).unwrap();
        (exact.log().sum_dim(1), (gained.clone() + 1.0, gained.mean_dim(0)))
    });
}

/// Backward passes are recorded by lazy fusion alone, since Burn's capture takes no tape; but they are described as the
/// others are.
#[test]
fn backward_passes_replay() {
    check(&["firefly::welch_psd_backward"], |signal, device| {
        let window = parameters(device).window.into_dispatch();
        let grad_power = Tensor::<2>::ones([ROWS, 9], device).into_dispatch();
        let inputs = inputs::WelchPsdBackward { signal: signal.into_dispatch(), window, gain: None, grad_power };
        let [signal, window] = gradients(inputs.apply::<Dispatch>(OPTIONS, Needed::of([true, true])));
        (Tensor::<2>::from_dispatch(signal), Tensor::<1>::from_dispatch(window))
    });
    check(&["firefly::welch_psd_backward"], |signal, device| {
        let (WelchWeights { window, gain, .. }, options) = gained(device);
        let inputs = inputs::WelchPsdBackward {
            signal: signal.into_dispatch(),
            window: window.into_dispatch(),
            gain: gain.map(Tensor::into_dispatch),
            grad_power: Tensor::<2>::ones([ROWS, 9], device).into_dispatch(),
        };
        let [signal, gain] = gradients(inputs.apply::<Dispatch>(options, Needed::of([true, false, true])));
        (Tensor::<2>::from_dispatch(signal), Tensor::<2>::from_dispatch(gain))
    });
    let parts = |signal: Tensor<2>, device: &Device| {
        let twiddles = parameters(device).twiddles.into_dispatch();
        let [re, im, grad_re, grad_im] = [0, 4, 8, 12].map(|start| signal.clone().narrow(1, start, 16).into_dispatch());
        inputs::ButterflyBackward { re, im, twiddles, gates: None, grad_re, grad_im }
    };
    check(&["firefly::butterfly_backward"], |signal, device| {
        let needed = Needed::of([true; 3]);
        let [re, im, twiddles] = gradients(parts(signal, device).apply::<Dispatch>(needed));
        let complex = (Tensor::<2>::from_dispatch(re), Tensor::<2>::from_dispatch(im));
        (complex, Tensor::<3>::from_dispatch(twiddles))
    });
    check(&["firefly::butterfly_backward"], |signal, device| {
        let gates = Some(parameters(device).gates.into_dispatch());
        let inputs = inputs::ButterflyBackward { gates, ..parts(signal, device) };
        let [re, twiddles, gates] = gradients(inputs.apply::<Dispatch>(Needed::of([true, false, true, true])));
        let re = Tensor::<2>::from_dispatch(re);
        (re, (Tensor::<3>::from_dispatch(twiddles), Tensor::<2>::from_dispatch(gates)))
    });
}

#[test]
fn spectral_convolutions_replay() {
    let tensors = |signal: Tensor<2>, device: &Device| {
        let weights = |seed| Tensor::<3>::from_data(noise([2, 4, 5], seed), device).into_dispatch();
        let input = signal.reshape([ROWS, 2, 15]).into_dispatch();
        inputs::SpectralConv { input, weights_re: weights(6), weights_im: weights(7) }
    };
    check(&["firefly::spectral_conv"], |signal, device| {
        let [output] = tensors(signal, device).apply::<Dispatch>();
        Tensor::<3>::from_dispatch(output)
    });
    check(&["firefly::spectral_conv_backward"], |signal, device| {
        let grad_output = Tensor::<3>::from_data(noise([ROWS, 4, 15], 8), device).into_dispatch();
        let inputs::SpectralConv { input, weights_re, weights_im } = tensors(signal, device);
        let inputs = inputs::SpectralConvBackward { input, weights_re, weights_im, grad_output };
        let [input, weights_re, weights_im] = gradients(inputs.apply::<Dispatch>(Needed::of([true; 3])));
        let weights = (Tensor::<3>::from_dispatch(weights_re), Tensor::<3>::from_dispatch(weights_im));
        (Tensor::<3>::from_dispatch(input), weights)
    });
}

#[test]
fn unregistered_operations_are_named() {
    let graph = recorded(|signal, device| welch_psd(signal, parameters(device).window, &OPTIONS).unwrap());
    let replay = Replay::new(&graph, &Default::default(), &CustomOperations::<Flex>::default());
    assert_eq!(replay.err(), Some(GraphError::UnknownOperation("firefly::welch_psd".into())));
}

#[test]
fn tensors_of_another_device_are_errors() {
    let result = capture(&signal(), |_: Tensor<2>, _| Tensor::<1>::ones([3], &Device::flex()));
    assert_eq!(result.err(), Some(GraphError::ForeignTensor));
}

#[test]
fn inputs_that_do_not_fit_are_errors() {
    let graph = recorded(|signal, _| signal * 2.0);
    let mut replay = Replay::new(&graph, &Default::default(), &CustomOperations::<Flex>::spectral()).unwrap();
    let message = |result: Result<Vec<TensorData>, GraphError>| result.unwrap_err().to_string();
    let wrong = message(replay.run(vec![samples(ROWS + 1, 2)]));
    assert!(wrong.contains("`signal` is [4, 30] of F32, but the graph was captured with [3, 30] of F32"), "{wrong}");
    assert!(message(replay.run(Vec::new())).contains("the number of inputs is 0"));

    let two = capture(&signal(), |(signal, other): (Tensor<2>, Tensor<2>), _: &Device| signal + other);
    assert!(two.unwrap_err().to_string().contains("input 1: the model takes 2 axes of floats, but none is declared"));
    let inputs = [Input::new("a", [2]), Input::new("b", [2])];
    let one = capture(&inputs, |a: Tensor<1>, _: &Device| a);
    assert!(one.unwrap_err().to_string().contains("input 1: the model takes no more inputs, but `b` is declared"));
    let rank = capture(&signal(), |signal: Tensor<1>, _: &Device| signal);
    assert!(rank.unwrap_err().to_string().contains("takes 1 axes of floats, but `signal` is [3, 30] of F32"));
}

#[test]
fn several_inputs_and_outputs_keep_their_order() {
    let inputs = [Input::new("a", [2]), Input::new("unused", [3]), Input::new("places", [2]).with_dtype(DType::I64)];
    let model = |(a, (_, places)): (Tensor<1>, (Tensor<1>, Tensor<1, Int>)), _: &Device| {
        let unread = a.clone().exp();
        let doubled = a.clone() * 2.0;
        let _ = unread + 1.0;
        (doubled.clone() + places.float(), (doubled.clone(), doubled))
    };
    let graph = capture(&inputs, model).unwrap();
    let names: Vec<_> = graph.inputs().iter().map(|&id| graph.input_name(id).unwrap()).collect();
    assert_eq!(names, ["a", "unused", "places"]);
    assert!(graph.nodes().iter().all(|node| node.operation.name() != "Exp"), "{:?}", graph.nodes());
    let mut replay = Replay::new(&graph, &Default::default(), &CustomOperations::<Flex>::spectral()).unwrap();
    let data = [TensorData::from([1f32, 2.0]), TensorData::from([0f32; 3]), TensorData::from([10i64, 20])];
    let outputs = replay.run(data.to_vec()).unwrap();
    let expected = [[12f32, 24.0], [2.0, 4.0], [2.0, 4.0]].map(TensorData::from);
    assert_eq!(outputs, expected);
}

#[test]
fn unrecordable_operations_are_named() {
    let result = capture(&signal(), |signal: Tensor<2>, device: &Device| {
        let strongest = signal.clone().exp().max().into_data();
        signal * Tensor::<1>::from_data(strongest, device).unsqueeze()
    });
    let error = result.unwrap_err().to_string();
    assert!(error.starts_with("capture: reading the result of `Max` can't be recorded: "), "{error}");
    let result = capture(&signal(), |_: Tensor<2>, device: &Device| {
        device.seed(1);
        Tensor::<1>::random([3], burn::tensor::Distribution::Default, device)
    });
    let error = result.unwrap_err().to_string();
    assert!(error.contains("the first operation can't be recorded: seeding is not supported"), "{error}");
}
