//! Welch power, its peaks and its gradients on rows of tensors.

use burn::backend::ops::FloatTensorOps;
use burn::tensor::{DType, IntDType, Slice};
use burn_cubecl::CubeBackend;
use burn_cubecl::kernel::cast;
use burn_cubecl::tensor::CubeTensor;

use super::{
    contiguous, device, gradient_if, handle, launched, output, peak_buffers, peak_outputs, signal_rows, size, widened,
    zeros,
};
use crate::gpu::DeviceFrames;
use crate::gpu::welch::{self, DeviceEstimate, FusedWelchPlan, RowGain, WelchGradients};
use crate::op::{Needed, inputs};
use crate::options::{SegmentSet, WelchOptions, gain_taps};

/// Power `[rows, bins]`.
pub(super) fn psd(inputs: inputs::WelchPsd<CubeTensor>, options: WelchOptions) -> CubeTensor {
    let inputs::WelchPsd { signal, window, gain } = inputs;
    let call = WelchCall::new(signal, window, gain, options, 0);
    let rows = call.frames.rows;
    let power = output(&call.signal, [rows, options.bins()], DType::F32, rows);
    if rows > 0 {
        let device = device(&call.signal);
        launched(welch::welch_psd(&device, &call.frames, &call.estimate(), call.plan, &power.handle));
    }
    power
}

/// Bins and power of the `k` strongest bins, `[rows, k]`.
pub(super) fn peaks(
    inputs: inputs::WelchPeaks<CubeTensor>,
    options: WelchOptions,
    k: usize,
    bins: IntDType,
) -> (CubeTensor, CubeTensor) {
    let inputs::WelchPeaks { signal, window, gain } = inputs;
    let call = WelchCall::new(signal, window, gain, options, k);
    let rows = call.frames.rows;
    let (found, power) = peak_outputs(&call.signal, rows, k);
    if rows > 0 {
        let into = peak_buffers(&found, &power, k);
        let device = device(&call.signal);
        launched(welch::welch_peaks(&device, &call.frames, &call.estimate(), call.plan, &into));
    }
    (cast(found, bins.into()), power)
}

/// Gradients of the inputs that are needed.
pub(super) fn psd_backward(
    inputs: inputs::WelchPsdBackward<CubeTensor>,
    options: WelchOptions,
    needed: Needed,
) -> Vec<CubeTensor> {
    let [rows, frame] = size(&inputs.signal);
    let inputs::WelchPsdBackward { signal, window, gain, grad_power } = inputs;
    let call = WelchCall::by_steps(signal, window, gain, options);
    let grad = contiguous(grad_power);
    let of_signal = gradient_if(needed.has(0), &call.signal, rows);
    let of_window = gradient_if(needed.has(1), &call.window, rows);
    let of_gain = call.gain.as_ref().and_then(|(gain, _)| gradient_if(needed.has(2), gain, rows));
    if rows > 0 {
        let into = WelchGradients {
            signal: handle(of_signal.as_ref()),
            window: handle(of_window.as_ref()),
            gain: of_gain.as_ref().map(row_gain),
        };
        let (device, estimate) = (device(&call.signal), call.estimate());
        launched(welch::welch_psd_backward(&device, &call.frames, &estimate, &grad.handle, &into));
    }
    let of_signal = of_signal.map(|grad| match options.chosen {
        Some(chosen) => scattered(grad, &options, chosen, frame),
        None => grad,
    });
    [of_signal, of_window, of_gain].into_iter().flatten().collect()
}

/// A Welch estimate of segments that are evenly spaced.
struct WelchCall {
    signal: CubeTensor,
    frames: DeviceFrames,
    window: CubeTensor,
    gain: Option<(CubeTensor, RowGain)>,
    /// Samples of a frame before the first segment.
    first: usize,
    options: WelchOptions,
    /// The plan of one launch; `None` where each step is one.
    plan: Option<FusedWelchPlan>,
}

impl WelchCall {
    /// The call for `k` peaks, or for power where `k` is 0. One launch reads evenly spaced segments where they are.
    fn new(signal: CubeTensor, window: CubeTensor, gain: Option<CubeTensor>, options: WelchOptions, k: usize) -> Self {
        let taps = gain.as_ref().map_or(0, |gain| gain_taps(gain.meta.shape()));
        if let Some((first, even)) = evenly_spaced(&options) {
            let (signal, frames) = signal_rows(signal.clone());
            let plan = welch::fused_plan(&device(&signal), &frames, &even, k, taps);
            if plan.is_some() {
                return Self { first, plan, ..Self::of_rows((signal, frames), window, gain, even) };
            }
        }
        Self::by_steps(signal, window, gain, options)
    }

    /// The call for launches per step, which take all segments of a frame: chosen ones are copied one after the other.
    fn by_steps(signal: CubeTensor, window: CubeTensor, gain: Option<CubeTensor>, options: WelchOptions) -> Self {
        let signal = widened(signal);
        let (signal, options) = match options.chosen {
            Some(chosen) => {
                let all = options.with_chosen(None).with_segments(chosen.count()).with_hop(options.n_fft);
                (gathered(signal, &options, chosen), all)
            }
            None => (signal, options),
        };
        Self::of_rows(signal_rows(signal), window, gain, options)
    }

    fn of_rows(
        (signal, frames): (CubeTensor, DeviceFrames),
        window: CubeTensor,
        gain: Option<CubeTensor>,
        options: WelchOptions,
    ) -> Self {
        options.validate_for_kernels("welch_psd").expect("kernels are given estimates that they compute");
        let gain = gain.map(contiguous).map(|gain| {
            let row_gain = row_gain(&gain);
            (gain, row_gain)
        });
        Self { signal, frames, window: contiguous(window), gain, first: 0, options, plan: None }
    }

    fn estimate(&self) -> DeviceEstimate<'_> {
        let gain = self.gain.as_ref().map(|(_, gain)| gain);
        DeviceEstimate { window: &self.window.handle, gain, first: self.first, options: &self.options }
    }
}

/// A gain, or its gradient, in contiguous memory.
fn row_gain(gain: &CubeTensor) -> RowGain {
    RowGain { factors: gain.handle.clone(), taps: gain_taps(gain.meta.shape()) }
}

/// Samples before the first segment that is averaged, and the estimate from there on, if distances are even.
fn evenly_spaced(options: &WelchOptions) -> Option<(usize, WelchOptions)> {
    let Some(chosen) = options.chosen else { return Some((0, *options)) };
    let [first, step, count] = chosen.evenly_spaced()?;
    let even = options.with_chosen(None).with_segments(count).with_hop(step * options.hop);
    Some((first * options.hop, even))
}

/// The chosen segments of each row, one after the other: `[rows, count · n_fft]`. Burn's own `cat` takes memory of the
/// device's runtime, which need not be that of the signal.
fn gathered(signal: CubeTensor, options: &WelchOptions, chosen: SegmentSet) -> CubeTensor {
    let ([rows, _], n) = (size(&signal), options.n_fft);
    let part = |first: usize| [Slice::from(0..rows), Slice::from(first..first + n)];
    let all = output(&signal, [rows, chosen.count() * n], signal.dtype, rows);
    chosen.indices().enumerate().fold(all, |all, (at, index)| {
        let segment = CubeBackend::float_slice(signal.clone(), &part(index * options.hop));
        CubeBackend::float_slice_assign(all, &part(at * n), segment)
    })
}

/// The adjoint of [`gathered`]: the gradient of rows of `frame` samples.
fn scattered(grad: CubeTensor, options: &WelchOptions, chosen: SegmentSet, frame: usize) -> CubeTensor {
    let ([rows, _], n) = (size(&grad), options.n_fft);
    let mut whole = zeros(&grad, [rows, frame]);
    for (at, index) in chosen.indices().enumerate() {
        let part = |first: usize| [Slice::from(0..rows), Slice::from(first..first + n)];
        let (from, into) = (part(at * n), part(index * options.hop));
        let own = CubeBackend::float_slice(grad.clone(), &from);
        let sum = CubeBackend::float_add(CubeBackend::float_slice(whole.clone(), &into), own);
        whole = CubeBackend::float_slice_assign(whole, &into, sum);
    }
    whole
}
