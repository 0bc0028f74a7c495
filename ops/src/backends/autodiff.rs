//! Reverse-mode differentiation: each operation runs on the inner backend and leaves its backward pass on the tape.

use burn::backend::ops::FloatTensorOps;
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::backend::{Backend, TensorMetadata, get_device_settings};
use burn::tensor::{IndexingUpdateOp, IntDType, Slice};
use burn_autodiff::Autodiff;
use burn_autodiff::NodeId;
use burn_autodiff::checkpoint::base::Checkpointer;
use burn_autodiff::checkpoint::strategy::CheckpointStrategy;
use burn_autodiff::grads::Gradients;
use burn_autodiff::ops::{Backward, Ops, OpsKind};

use crate::ops::{LearnedTensors, SpectralOps};
use crate::options::WelchOptions;

/// An input that the backward pass needs, kept or recomputed as the checkpointing strategy decides.
fn retrieve<B: Backend>(checkpointer: &mut Checkpointer, node: NodeId) -> FloatTensor<B> {
    checkpointer.retrieve_node_output::<FloatTensor<B>>(node)
}

/// Adds each gradient to its parent, where the parent is tracked.
macro_rules! register {
    ($grads:expr, $parents:expr, $values:expr) => {
        for (parent, value) in $parents.into_iter().zip($values) {
            if let Some(parent) = parent {
                $grads.register::<B>(parent.id, value);
            }
        }
    };
}

#[derive(Debug)]
struct WelchPsd;

impl<B: Backend + SpectralOps> Backward<B, 2> for WelchPsd {
    type State = ([NodeId; 2], WelchOptions);

    fn backward(self, ops: Ops<Self::State, 2>, grads: &mut Gradients, checkpointer: &mut Checkpointer) {
        let ([signal, window], options) = ops.state;
        let grad = grads.consume::<B>(&ops.node);
        let (signal, window) = B::welch_psd_backward(
            retrieve::<B>(checkpointer, signal),
            retrieve::<B>(checkpointer, window),
            grad,
            options,
        );
        register!(grads, ops.parents, [signal, window]);
    }
}

#[derive(Debug)]
struct WelchPeaks;

impl<B: Backend + SpectralOps> Backward<B, 2> for WelchPeaks {
    type State = ([NodeId; 2], IntTensor<B>, WelchOptions);

    fn backward(self, ops: Ops<Self::State, 2>, grads: &mut Gradients, checkpointer: &mut Checkpointer) {
        let ([signal, window], bins, options) = ops.state;
        let grad = scatter::<B>(grads.consume::<B>(&ops.node), bins, options.bins());
        let (signal, window) = B::welch_psd_backward(
            retrieve::<B>(checkpointer, signal),
            retrieve::<B>(checkpointer, window),
            grad,
            options,
        );
        register!(grads, ops.parents, [signal, window]);
    }
}

#[derive(Debug)]
struct TopK;

impl<B: Backend + SpectralOps> Backward<B, 1> for TopK {
    type State = (IntTensor<B>, usize);

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _checkpointer: &mut Checkpointer) {
        let (bins, length) = ops.state;
        let grad = scatter::<B>(grads.consume::<B>(&ops.node), bins, length);
        register!(grads, ops.parents, [grad]);
    }
}

#[derive(Debug)]
struct Butterfly;

impl<B: Backend + SpectralOps> Backward<B, 3> for Butterfly {
    type State = [NodeId; 3];

    fn backward(self, ops: Ops<Self::State, 3>, grads: &mut Gradients, checkpointer: &mut Checkpointer) {
        let [re, im, twiddles] = ops.state.map(|node| retrieve::<B>(checkpointer, node));
        let (grad_re, grad_im) = unstack::<B>(grads.consume::<B>(&ops.node));
        let (re, im, twiddles) = B::butterfly_backward(re, im, twiddles, grad_re, grad_im);
        register!(grads, ops.parents, [re, im, twiddles]);
    }
}

#[derive(Debug)]
struct GatedButterfly;

impl<B: Backend + SpectralOps> Backward<B, 4> for GatedButterfly {
    type State = [NodeId; 4];

    fn backward(self, ops: Ops<Self::State, 4>, grads: &mut Gradients, checkpointer: &mut Checkpointer) {
        let [re, im, twiddles, gates] = ops.state.map(|node| retrieve::<B>(checkpointer, node));
        let (grad_re, grad_im) = unstack::<B>(grads.consume::<B>(&ops.node));
        let (re, im, twiddles, gates) = B::gated_butterfly_backward(re, im, twiddles, gates, grad_re, grad_im);
        register!(grads, ops.parents, [re, im, twiddles, gates]);
    }
}

#[derive(Debug)]
struct LearnedWelchPsd;

impl<B: Backend + SpectralOps> Backward<B, 6> for LearnedWelchPsd {
    type State = ([NodeId; 6], WelchOptions);

    fn backward(self, ops: Ops<Self::State, 6>, grads: &mut Gradients, checkpointer: &mut Checkpointer) {
        let (inputs, options) = ops.state;
        let tensors = LearnedTensors::from_array(inputs.map(|node| retrieve::<B>(checkpointer, node)));
        let grad = grads.consume::<B>(&ops.node);
        let wanted = ops.parents.each_ref().map(Option::is_some);
        let gradients = B::learned_welch_psd_backward(tensors, grad, options, wanted).into_array();
        register!(grads, ops.parents, gradients);
    }
}

#[derive(Debug)]
struct LearnedWelchPeaks;

impl<B: Backend + SpectralOps> Backward<B, 6> for LearnedWelchPeaks {
    type State = ([NodeId; 6], IntTensor<B>, WelchOptions);

    fn backward(self, ops: Ops<Self::State, 6>, grads: &mut Gradients, checkpointer: &mut Checkpointer) {
        let (inputs, bins, options) = ops.state;
        let tensors = LearnedTensors::from_array(inputs.map(|node| retrieve::<B>(checkpointer, node)));
        let grad = scatter::<B>(grads.consume::<B>(&ops.node), bins, options.bins());
        let wanted = ops.parents.each_ref().map(Option::is_some);
        let gradients = B::learned_welch_psd_backward(tensors, grad, options, wanted).into_array();
        register!(grads, ops.parents, gradients);
    }
}

/// The gradient of the peaks' power `[batch, k]` as one of all power `[batch, bins]`: zero where there is no peak.
fn scatter<B: Backend>(grad: FloatTensor<B>, bins: IntTensor<B>, length: usize) -> FloatTensor<B> {
    let device = grad.device();
    let bool_dtype = get_device_settings::<B>(&device).bool_dtype;
    let missing = B::int_lower_elem(bins.clone(), 0.into(), bool_dtype);
    let grad = B::float_mask_fill(grad, missing, 0.0.into());
    let zeros = B::float_zeros([grad.shape()[0], length].into(), &device, grad.dtype().into());
    B::float_scatter(1, zeros, B::int_clamp_min(bins, 0.into()), grad, IndexingUpdateOp::Add)
}

/// Two tensors `[batch, n]` as one `[2 * batch, n]`: the tape takes one output an operation.
fn stack<B: Backend>(re: FloatTensor<B>, im: FloatTensor<B>) -> FloatTensor<B> {
    B::float_cat(vec![re, im], 0)
}

/// Where each half of a stacked tensor lies.
fn halves(rows: usize, length: usize) -> [[Slice; 2]; 2] {
    [0..rows / 2, rows / 2..rows].map(|half| [Slice::from(half), Slice::from(0..length)])
}

fn unstack<B: Backend>(stacked: FloatTensor<B>) -> (FloatTensor<B>, FloatTensor<B>) {
    let [re, im] = halves(stacked.shape()[0], stacked.shape()[1]);
    (B::float_slice(stacked.clone(), &re), B::float_slice(stacked, &im))
}

impl<B: Backend + SpectralOps, C: CheckpointStrategy> SpectralOps for Autodiff<B, C> {
    fn welch_psd(signal: FloatTensor<Self>, window: FloatTensor<Self>, options: WelchOptions) -> FloatTensor<Self> {
        let nodes = [signal.node(), window.node()];
        match WelchPsd.prepare::<C>(nodes).compute_bound().stateful() {
            OpsKind::Tracked(mut prep) => {
                let state = [prep.checkpoint(&signal), prep.checkpoint(&window)];
                let power = B::welch_psd(signal.into_primitive(), window.into_primitive(), options);
                prep.finish((state, options), power)
            }
            OpsKind::UnTracked(prep) => {
                prep.finish(B::welch_psd(signal.into_primitive(), window.into_primitive(), options))
            }
        }
    }

    fn welch_psd_backward(
        _signal: FloatTensor<Self>,
        _window: FloatTensor<Self>,
        _grad_power: FloatTensor<Self>,
        _options: WelchOptions,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        second_order("welch_psd")
    }

    fn welch_peaks(
        signal: FloatTensor<Self>,
        window: FloatTensor<Self>,
        options: WelchOptions,
        k: usize,
        bins: IntDType,
    ) -> (IntTensor<Self>, FloatTensor<Self>) {
        let nodes = [signal.node(), window.node()];
        match WelchPeaks.prepare::<C>(nodes).compute_bound().stateful() {
            OpsKind::Tracked(mut prep) => {
                let state = [prep.checkpoint(&signal), prep.checkpoint(&window)];
                let (bins, power) = B::welch_peaks(signal.into_primitive(), window.into_primitive(), options, k, bins);
                (bins.clone(), prep.finish((state, bins, options), power))
            }
            OpsKind::UnTracked(prep) => {
                let (bins, power) = B::welch_peaks(signal.into_primitive(), window.into_primitive(), options, k, bins);
                (bins, prep.finish(power))
            }
        }
    }

    fn top_k(values: FloatTensor<Self>, k: usize, bins: IntDType) -> (IntTensor<Self>, FloatTensor<Self>) {
        let length = values.shape()[1];
        match TopK.prepare::<C>([values.node()]).compute_bound().stateful() {
            OpsKind::Tracked(prep) => {
                let (bins, largest) = B::top_k(values.into_primitive(), k, bins);
                (bins.clone(), prep.finish((bins, length), largest))
            }
            OpsKind::UnTracked(prep) => {
                let (bins, largest) = B::top_k(values.into_primitive(), k, bins);
                (bins, prep.finish(largest))
            }
        }
    }

    fn butterfly(
        re: FloatTensor<Self>,
        im: FloatTensor<Self>,
        twiddles: FloatTensor<Self>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let [slice_re, slice_im] = halves(2 * re.shape()[0], re.shape()[1]);
        let run = |re: FloatTensor<Self>, im: FloatTensor<Self>, twiddles: FloatTensor<Self>| {
            let (re, im) = B::butterfly(re.into_primitive(), im.into_primitive(), twiddles.into_primitive());
            stack::<B>(re, im)
        };
        let stacked = match Butterfly.prepare::<C>([re.node(), im.node(), twiddles.node()]).compute_bound().stateful() {
            OpsKind::Tracked(mut prep) => {
                let state = [prep.checkpoint(&re), prep.checkpoint(&im), prep.checkpoint(&twiddles)];
                prep.finish(state, run(re, im, twiddles))
            }
            OpsKind::UnTracked(prep) => prep.finish(run(re, im, twiddles)),
        };
        (Self::float_slice(stacked.clone(), &slice_re), Self::float_slice(stacked, &slice_im))
    }

    fn gated_butterfly(
        re: FloatTensor<Self>,
        im: FloatTensor<Self>,
        twiddles: FloatTensor<Self>,
        gates: FloatTensor<Self>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let [slice_re, slice_im] = halves(2 * re.shape()[0], re.shape()[1]);
        let run = |inputs: [FloatTensor<Self>; 4]| {
            let [re, im, twiddles, gates] = inputs.map(|input| input.into_primitive());
            let (re, im) = B::gated_butterfly(re, im, twiddles, gates);
            stack::<B>(re, im)
        };
        let nodes = [re.node(), im.node(), twiddles.node(), gates.node()];
        let inputs = [re, im, twiddles, gates];
        let stacked = match GatedButterfly.prepare::<C>(nodes).compute_bound().stateful() {
            OpsKind::Tracked(mut prep) => {
                let state = inputs.each_ref().map(|input| prep.checkpoint(input));
                prep.finish(state, run(inputs))
            }
            OpsKind::UnTracked(prep) => prep.finish(run(inputs)),
        };
        (Self::float_slice(stacked.clone(), &slice_re), Self::float_slice(stacked, &slice_im))
    }

    fn butterfly_backward(
        _re: FloatTensor<Self>,
        _im: FloatTensor<Self>,
        _twiddles: FloatTensor<Self>,
        _grad_re: FloatTensor<Self>,
        _grad_im: FloatTensor<Self>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
        second_order("butterfly")
    }

    fn gated_butterfly_backward(
        _re: FloatTensor<Self>,
        _im: FloatTensor<Self>,
        _twiddles: FloatTensor<Self>,
        _gates: FloatTensor<Self>,
        _grad_re: FloatTensor<Self>,
        _grad_im: FloatTensor<Self>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
        second_order("gated_butterfly")
    }

    fn learned_welch_psd(tensors: LearnedTensors<Self>, options: WelchOptions) -> FloatTensor<Self> {
        let inputs = tensors.into_array();
        let run = |inputs: [FloatTensor<Self>; 6]| {
            let inputs = inputs.map(|input| input.into_primitive());
            B::learned_welch_psd(LearnedTensors::from_array(inputs), options)
        };
        match LearnedWelchPsd.prepare::<C>(inputs.each_ref().map(|input| input.node())).compute_bound().stateful() {
            OpsKind::Tracked(mut prep) => {
                let state = inputs.each_ref().map(|input| prep.checkpoint(input));
                prep.finish((state, options), run(inputs))
            }
            OpsKind::UnTracked(prep) => prep.finish(run(inputs)),
        }
    }

    fn learned_welch_psd_backward(
        _tensors: LearnedTensors<Self>,
        _grad_power: FloatTensor<Self>,
        _options: WelchOptions,
        _wanted: [bool; 6],
    ) -> LearnedTensors<Self> {
        second_order("learned_welch_psd")
    }

    fn learned_welch_peaks(
        tensors: LearnedTensors<Self>,
        options: WelchOptions,
        k: usize,
        bins: IntDType,
    ) -> (IntTensor<Self>, FloatTensor<Self>) {
        let inputs = tensors.into_array();
        let run = |inputs: [FloatTensor<Self>; 6]| {
            let inputs = inputs.map(|input| input.into_primitive());
            B::learned_welch_peaks(LearnedTensors::from_array(inputs), options, k, bins)
        };
        match LearnedWelchPeaks.prepare::<C>(inputs.each_ref().map(|input| input.node())).compute_bound().stateful() {
            OpsKind::Tracked(mut prep) => {
                let state = inputs.each_ref().map(|input| prep.checkpoint(input));
                let (bins, power) = run(inputs);
                (bins.clone(), prep.finish((state, bins, options), power))
            }
            OpsKind::UnTracked(prep) => {
                let (bins, power) = run(inputs);
                (bins, prep.finish(power))
            }
        }
    }
}

/// Backward passes run on the inner backend; only a tape of a tape could call them here.
fn second_order(operation: &str) -> ! {
    panic!("{operation}: second derivatives are not supported")
}
