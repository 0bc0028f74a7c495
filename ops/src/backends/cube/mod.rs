//! CubeCL's backend: CUDA, Vulkan, WebGPU and Metal.

mod welch;

use burn::backend::TensorMetadata;
use burn::backend::ops::FloatTensorOps;
use burn::tensor::{DType, IntDType, Shape};
use burn_cubecl::CubeBackend;
use burn_cubecl::kernel::{cast, into_contiguous};
use burn_cubecl::ops::numeric::zeros_client;
use burn_cubecl::tensor::CubeTensor;
use cubecl::server::Handle;

use crate::backends::composed::{self, columns_as_rows, dct};
use crate::gpu::butterfly::{BackwardRows, ButterflyGradients, ButterflyTransform};
use crate::gpu::long_conv::{ConvolutionGradients, ConvolutionInputs, ConvolutionShape, long_conv, long_conv_backward};
use crate::gpu::mel::{self, MelCall};
use crate::gpu::spectral_conv::{BatchPlan, SpectralConv, SpectralConvGradients};
use crate::gpu::transform::{
    ALIGNED_VALUES, StridedRows, TransformCall, TransformKind, TransformProblem, is_padded, planned, transform,
};
use crate::gpu::{
    self, ComplexRows, CrossShape, DeviceFrames, GpuDevice, MAX_ELEMENTS, MaximaBuffers, PeakBuffers, PeakLossBuffers,
    SearchedRows, from_word, local_maxima, top_k,
};
use crate::op::{Kernels, Needed, inputs};
use crate::options::{
    AdamOptions, Direction, FftForm, FftOptions, LocalMaximaOptions, Logarithm, MelOptions, PeakLossOptions,
    WelchOptions,
};
use crate::sample_type::SampleType;
use crate::spectral_shape::SpectralShape;

fn contiguous(tensor: CubeTensor) -> CubeTensor {
    debug_assert_eq!(tensor.dtype, DType::F32, "the public functions pass f32 to a device");
    into_contiguous(tensor)
}

/// A new tensor on the device of `like`: uninitialised, or zeros where there are no rows to compute it from.
fn output(like: &CubeTensor, shape: impl Into<Shape>, dtype: DType, rows: usize) -> CubeTensor {
    let (shape, client, device) = (shape.into(), like.client.clone(), like.device.clone());
    if rows == 0 || shape.num_elements() == 0 {
        return zeros_client(client, device, shape, dtype);
    }
    let handle = client.empty(shape.num_elements() * dtype.size());
    CubeTensor::new_contiguous(client, device, shape, handle, dtype)
}

/// Zeros on the device of `like`, contiguous: the runtime pads rows of a new tensor of several dimensions on CUDA.
fn zeros(like: &CubeTensor, shape: impl Into<Shape>) -> CubeTensor {
    let (shape, client, device) = (shape.into(), like.client.clone(), like.device.clone());
    let flat = zeros_client(client.clone(), device.clone(), Shape::from([shape.num_elements()]), DType::F32);
    CubeTensor::new_contiguous(client, device, shape, flat.handle, DType::F32)
}

/// Panics with the message of a device's limit. The public functions return it as an error before they dispatch, so
/// that it can only occur here when a graph captured elsewhere is replayed on a device with less.
fn launched<T>(result: gpu::Result<T>) -> T {
    result.unwrap_or_else(|error| panic!("{error}"))
}

fn device(tensor: &CubeTensor) -> GpuDevice {
    GpuDevice::of(&tensor.client)
}

/// A signal, and its rows as kernels read them, in the type that its samples have.
fn signal_rows(signal: CubeTensor) -> (CubeTensor, DeviceFrames) {
    let samples = SampleType::of(signal.dtype).expect("the public functions pass samples that kernels read");
    let ([signal], RowLayout { rows, len, stride }) = evenly_spaced([signal]);
    let (handle, skipped) = from_word(signal.handle.clone(), samples);
    (signal, DeviceFrames { signal: handle, samples, skipped, rows, len, stride })
}

/// A signal with samples of f32.
fn widened(signal: CubeTensor) -> CubeTensor {
    if signal.dtype == DType::F32 {
        return signal;
    }
    let (signal, frames) = signal_rows(signal);
    if frames.rows == 0 {
        return output(&signal, signal.shape(), DType::F32, 0);
    }
    let handle = frames.widened(&device(&signal)).signal;
    CubeTensor::new_contiguous(signal.client.clone(), signal.device.clone(), signal.shape(), handle, DType::F32)
}

/// A tensor, and its real rows along the last dimension as kernels read them.
fn real_rows(tensor: CubeTensor) -> (CubeTensor, StridedRows) {
    debug_assert_eq!(tensor.dtype, DType::F32, "the public functions pass f32 to a device");
    let ([tensor], RowLayout { len, stride, .. }) = evenly_spaced([tensor]);
    let values = ComplexRows::real(tensor.handle.clone());
    (tensor, StridedRows::new(values, stride, len))
}

/// Number and length of rows.
fn size(tensor: &CubeTensor) -> [usize; 2] {
    let shape = tensor.shape();
    [shape[0], shape[1]]
}

/// New tensors for peaks: bins and power, `[rows, k]`.
fn peak_outputs(like: &CubeTensor, rows: usize, k: usize) -> (CubeTensor, CubeTensor) {
    (output(like, [rows, k], DType::I32, rows), output(like, [rows, k], DType::F32, rows))
}

fn peak_buffers(bins: &CubeTensor, power: &CubeTensor, k: usize) -> PeakBuffers {
    PeakBuffers { bins: bins.handle.clone(), power: power.handle.clone(), k }
}

/// A new tensor for the gradient of an input, if it is needed.
fn gradient_if(is_needed: bool, input: &CubeTensor, rows: usize) -> Option<CubeTensor> {
    is_needed.then(|| output(input, input.shape(), DType::F32, rows))
}

fn handle(tensor: Option<&CubeTensor>) -> Option<Handle> {
    tensor.map(|tensor| tensor.handle.clone())
}

/// The tensor in contiguous memory that nothing else holds: its own, or a copy.
fn unique(tensor: CubeTensor) -> CubeTensor {
    let tensor = contiguous(tensor);
    // Rows of a copy may be padded, on CUDA for one.
    if tensor.can_mut() { tensor } else { contiguous(tensor.copy()) }
}

/// The power, and the arguments of the losses as the kernels take them.
fn peak_loss_buffers(inputs: inputs::PeakLoss<CubeTensor>) -> (CubeTensor, PeakLossBuffers) {
    let inputs = inputs.map(contiguous);
    let ([rows, bins], [_, ranks]) = (size(&inputs.power), size(&inputs.strongest));
    let buffers = PeakLossBuffers {
        power: inputs.power.handle.clone(),
        strongest: inputs.strongest.handle,
        reference_power: inputs.reference_power.handle,
        peaks: inputs.peaks.handle,
        target_power: inputs.target_power.handle,
        rows,
        bins,
        ranks,
    };
    (inputs.power, buffers)
}

impl Kernels for CubeBackend {
    fn samples(integers: CubeTensor) -> CubeTensor {
        integers
    }

    fn welch_psd(inputs: inputs::WelchPsd<CubeTensor>, options: WelchOptions) -> [CubeTensor; 1] {
        [welch::psd(inputs, options)]
    }

    fn welch_psd_backward(
        inputs: inputs::WelchPsdBackward<CubeTensor>,
        options: WelchOptions,
        needed: Needed,
    ) -> Vec<CubeTensor> {
        welch::psd_backward(inputs, options, needed)
    }

    fn welch_peaks(
        inputs: inputs::WelchPeaks<CubeTensor>,
        options: WelchOptions,
        k: usize,
        bins: IntDType,
    ) -> (CubeTensor, CubeTensor) {
        welch::peaks(inputs, options, k, bins)
    }

    fn top_k(inputs: inputs::TopK<CubeTensor>, k: usize, bins: IntDType) -> (CubeTensor, CubeTensor) {
        let values = contiguous(inputs.values);
        let [rows, length] = size(&values);
        let (found, largest) = peak_outputs(&values, rows, k);
        if rows > 0 {
            let search = SearchedRows::whole(&values.handle, rows, length);
            top_k(&device(&values), &search, &peak_buffers(&found, &largest, k));
        }
        (cast(found, bins.into()), largest)
    }

    fn local_maxima(
        inputs: inputs::LocalMaxima<CubeTensor>,
        options: LocalMaximaOptions,
        k: usize,
        bins: IntDType,
    ) -> [CubeTensor; 2] {
        let values = contiguous(inputs.values);
        let [rows, length] = size(&values);
        let [maxima, bases] = [0; 2].map(|_| output(&values, [rows, k], DType::I32, rows));
        if rows > 0 {
            let into = MaximaBuffers { maxima: maxima.handle.clone(), bases: bases.handle.clone(), k };
            local_maxima(&device(&values), &values.handle, &options, &into, rows, length);
        }
        [maxima, bases].map(|found| cast(found, bins.into()))
    }

    fn butterfly(inputs: inputs::Butterfly<CubeTensor>) -> [CubeTensor; 2] {
        let inputs::Butterfly { re, im, twiddles, gates } = inputs.map(contiguous);
        let [rows, n] = size(&re);
        let [out_re, out_im] = [&re, &im].map(|input| output(input, [rows, n], DType::F32, rows));
        if rows > 0 {
            let transform = ButterflyTransform::new(n, twiddles.handle, gates.map(|gates| gates.handle));
            let (input, output) = (complex(&re, &im), complex(&out_re, &out_im));
            launched(transform.forward(&device(&re), &input, &output, rows));
        }
        [out_re, out_im]
    }

    fn butterfly_backward(inputs: inputs::ButterflyBackward<CubeTensor>, needed: Needed) -> Vec<CubeTensor> {
        let inputs::ButterflyBackward { re, im, twiddles, gates, grad_re, grad_im } = inputs.map(contiguous);
        let [rows, n] = size(&re);
        // The gradients of both parts of the rows are computed together.
        let of_rows = needed.has(0) || needed.has(1);
        let [of_re, of_im] = [&re, &im].map(|part| gradient_if(of_rows, part, rows));
        let of_twiddles = gradient_if(needed.has(2), &twiddles, rows);
        let of_gates = gates.as_ref().and_then(|gates| gradient_if(needed.has(3), gates, rows));
        if rows > 0 {
            let transform = ButterflyTransform::new(n, twiddles.handle, gates.map(|gates| gates.handle));
            let sums = ButterflyGradients { twiddles: handle(of_twiddles.as_ref()), gates: handle(of_gates.as_ref()) };
            let input_grad = of_re.as_ref().zip(of_im.as_ref()).map(|(re, im)| complex(re, im));
            let batch = BackwardRows { input: complex(&re, &im), grad: complex(&grad_re, &grad_im), input_grad, rows };
            launched(transform.backward(&device(&re), &batch, &sums, false));
        }
        let of_rows = [(0, of_re), (1, of_im)].into_iter().filter_map(|(input, of)| of.filter(|_| needed.has(input)));
        of_rows.chain(of_twiddles).chain(of_gates).collect()
    }

    fn complex_fft(inputs: inputs::ComplexFft<CubeTensor>, options: FftOptions) -> [CubeTensor; 2] {
        transformed([inputs.re, inputs.im], TransformKind::Complex, &options, options.length)
    }

    fn complex_fft_columns(inputs: inputs::ComplexFftColumns<CubeTensor>, options: FftOptions) -> [CubeTensor; 2] {
        let [matrices, points, width] = inputs.re.shape().dims();
        let (kind, row) = (TransformKind::Columns(width as u32), points * width);
        if !has_plan(&inputs.re, problem(kind, &options, row), row) {
            return columns_as_rows::<Self>(inputs, options);
        }
        let inputs = [inputs.re, inputs.im].map(contiguous);
        let outputs = [0; 2].map(|_| output(&inputs[0], [matrices, points, width], DType::F32, matrices));
        if matrices * width > 0 {
            let [from, into] = [&inputs, &outputs].map(|tensors| StridedRows::contiguous(parts(tensors), row));
            transform_rows(&inputs[0], problem(kind, &options, row), &options, matrices, [&from, &into]);
        }
        outputs
    }

    fn interleaved_fft(
        inputs: inputs::InterleavedFft<CubeTensor>,
        form: FftForm,
        options: FftOptions,
    ) -> [CubeTensor; 1] {
        let inputs::InterleavedFft { values } = inputs;
        let shape = values.shape();
        let (kind, row) = match form {
            FftForm::Complex => (TransformKind::Complex, shape[1]),
            FftForm::Columns => (TransformKind::Columns(shape[2] as u32), shape[1] * shape[2]),
            FftForm::Real => (TransformKind::RealForward, shape[1]),
            FftForm::InverseReal => (TransformKind::RealInverse, shape[1]),
        };
        let problem = problem(kind, &options, row);
        if form == FftForm::Columns && !has_plan(&values, problem, row) {
            // The columns are rows of the transposed matrices.
            let columns = Self::float_swap_dims(values, 1, 2);
            let shape = columns.shape();
            let rows = [shape[0] * shape[1], shape[2], 2];
            let inputs = inputs::InterleavedFft { values: Self::float_reshape(columns, rows.into()) };
            let [rows] = Self::interleaved_fft(inputs, FftForm::Complex, options);
            return [Self::float_swap_dims(Self::float_reshape(rows, shape), 1, 2)];
        }
        let (values, from) = if form == FftForm::Real { real_rows(values) } else { interleaved_rows(values, row) };
        let rows = if values.meta.num_elements() == 0 { 0 } else { shape[0] };
        let found = output(&values, form.output(&shape, &options), DType::F32, rows);
        if rows > 0 {
            let transformed = if form == FftForm::Columns { row } else { found.shape()[1] };
            let into = match form {
                FftForm::InverseReal => StridedRows::contiguous(ComplexRows::real(found.handle.clone()), transformed),
                _ => StridedRows::interleaved(found.handle.clone(), transformed),
            };
            transform_rows(&values, problem, &options, rows, [&from, &into]);
        }
        [found]
    }

    fn real_fft(inputs: inputs::RealFft<CubeTensor>, options: FftOptions) -> [CubeTensor; 2] {
        transformed([inputs.signal], TransformKind::RealForward, &options, options.bins())
    }

    fn inverse_real_fft(inputs: inputs::InverseRealFft<CubeTensor>, options: FftOptions) -> [CubeTensor; 1] {
        transformed([inputs.re, inputs.im], TransformKind::RealInverse, &options, options.length)
    }

    fn dct(inputs: inputs::Dct<CubeTensor>, kind: usize, sines: bool, scale: f64, first: f64) -> [CubeTensor; 1] {
        let n = size(&inputs.rows)[1];
        if n.is_multiple_of(2) && kind < 4 && !sines {
            let kind = if kind == 2 { TransformKind::Cosine } else { TransformKind::CosineTransposed };
            let options = FftOptions::new(n, Direction::Forward).with_scale(scale).with_interior(first);
            return transformed([inputs.rows], kind, &options, n);
        }
        let (client, device) = (inputs.rows.client.clone(), inputs.rows.device.clone());
        dct::<Self>(inputs, (kind, sines), [scale, first], |factors| {
            // By the client of the rows, which may record launches for another runtime.
            let factors: Vec<f32> = factors.into_iter().map(|factor| factor as f32).collect();
            let handle = client.create_from_slice(bytemuck::cast_slice(&factors));
            let shape = Shape::from([1, factors.len()]);
            CubeTensor::new_contiguous(client.clone(), device.clone(), shape, handle, DType::F32)
        })
    }

    fn cross_spectra(inputs: inputs::CrossSpectra<CubeTensor>, is_hermitian: bool) -> [CubeTensor; 2] {
        let shape = CrossShape::of(&inputs.first_re, &inputs.second_re);
        if !shape.is_counted() {
            return composed::cross_spectra::<Self>(inputs);
        }
        let inputs::CrossSpectra { first_re, first_im, second_re, second_im } = inputs.map(contiguous);
        let ([m, n], values) = (shape.channels, shape.values());
        let outputs = [0; 2].map(|_| output(&first_re, [shape.batch, m, n, shape.bins], DType::F32, values));
        if values > 0 {
            let (first, second) = (complex(&first_re, &first_im), complex(&second_re, &second_im));
            let into = complex(&outputs[0], &outputs[1]);
            gpu::cross_spectra(&device(&first_re), &shape, [&first, &second], is_hermitian, &into);
        }
        outputs
    }

    fn cross_spectra_backward(inputs: inputs::CrossSpectraBackward<CubeTensor>, needed: Needed) -> Vec<CubeTensor> {
        let shape = CrossShape::of(&inputs.first_re, &inputs.second_re);
        if !shape.is_counted() {
            return composed::cross_spectra_backward::<Self>(inputs, needed);
        }
        let inputs = inputs.map(contiguous);
        let (first, second) = ([&inputs.first_re, &inputs.first_im], [&inputs.second_re, &inputs.second_im]);
        // The gradients of both parts are computed together.
        let [of_first, of_second] = [(0, first), (2, second)].map(|(input, parts)| {
            parts.map(|part| gradient_if(needed.has(input) || needed.has(input + 1), part, shape.values()))
        });
        if shape.values() > 0 {
            let [first, second, grad] =
                [first, second, [&inputs.grad_re, &inputs.grad_im]].map(|[re, im]| complex(re, im));
            let into = [&of_first, &of_second].map(|[re, im]| Some(complex(re.as_ref()?, im.as_ref()?)));
            let into = into.each_ref().map(Option::as_ref);
            gpu::cross_spectra_backward(&device(&inputs.first_re), &shape, [&first, &second], &grad, into);
        }
        let gradients = of_first.into_iter().chain(of_second).enumerate();
        gradients.filter_map(|(input, of)| of.filter(|_| needed.has(input))).collect()
    }

    fn mel(inputs: inputs::Mel<CubeTensor>, options: MelOptions, logarithm: Option<Logarithm>) -> [CubeTensor; 1] {
        let ((signal, rows), window) = (signal_rows(inputs.signal), contiguous(inputs.window));
        let shape = [rows.rows, options.bands.count, options.stft.frames(rows.len)];
        let bands = output(&signal, shape, DType::F32, rows.rows);
        if rows.rows > 0 {
            let call = MelCall { rows, window: &window.handle, options: &options, logarithm: logarithm.as_ref() };
            launched(mel::mel(&device(&signal), &call, &bands.handle));
        }
        [bands]
    }

    fn mel_backward(
        inputs: inputs::MelBackward<CubeTensor>,
        options: MelOptions,
        logarithm: Option<Logarithm>,
        needed: Needed,
    ) -> Vec<CubeTensor> {
        let (signal, rows) = signal_rows(widened(inputs.signal));
        let [window, grad] = [inputs.window, inputs.grad_bands].map(contiguous);
        let of_signal = needed.has(0).then(|| zeros(&signal, signal.shape()));
        let of_window = gradient_if(needed.has(1), &window, rows.rows);
        if rows.rows > 0 {
            let into = [&of_signal, &of_window].map(|grad| handle(grad.as_ref()));
            let call = MelCall { rows, window: &window.handle, options: &options, logarithm: logarithm.as_ref() };
            launched(mel::mel_backward(&device(&signal), &call, &grad.handle, into));
        }
        of_signal.into_iter().chain(of_window).collect()
    }

    fn peak_loss(inputs: inputs::PeakLoss<CubeTensor>, options: PeakLossOptions) -> [CubeTensor; 1] {
        let (power, buffers) = peak_loss_buffers(inputs);
        let losses = output(&power, [buffers.rows, 2], DType::F32, buffers.rows);
        if buffers.rows > 0 {
            gpu::peak_loss(&device(&power), &buffers, &options, &losses.handle);
        }
        [losses]
    }

    fn peak_loss_backward(
        inputs: inputs::PeakLossBackward<CubeTensor>,
        options: PeakLossOptions,
        needed: Needed,
    ) -> Vec<CubeTensor> {
        if !needed.has(0) {
            return Vec::new();
        }
        let (inputs, grad_losses) = inputs.split();
        let (power, buffers) = peak_loss_buffers(inputs);
        let grad = contiguous(grad_losses);
        let of_power = output(&power, [buffers.rows, buffers.bins], DType::F32, buffers.rows);
        if buffers.rows > 0 {
            gpu::peak_loss_backward(&device(&power), &buffers, &grad.handle, &options, &of_power.handle);
        }
        vec![of_power]
    }

    /// The state after a step, where it was if nothing else holds it.
    fn adam_step(inputs: inputs::AdamStep<CubeTensor>, options: AdamOptions) -> [CubeTensor; 3] {
        let state = [inputs.parameter, inputs.moment_1, inputs.moment_2].map(unique);
        let (gradient, elements) = (contiguous(inputs.gradient), state[0].meta.num_elements());
        if elements > 0 {
            let handles = state.each_ref().map(|tensor| tensor.handle.clone());
            gpu::adam_step(&device(&state[0]), handles, &gradient.handle, elements, &options);
        }
        state
    }

    fn spectral_conv(inputs: inputs::SpectralConv<CubeTensor>) -> [CubeTensor; 1] {
        let inputs::SpectralConv { input, weights_re, weights_im } = inputs;
        let sizes = SpectralShape::of(&input.shape(), &weights_re.shape());
        let mut shape = input.shape();
        shape[1] = sizes.outputs;
        let result = output(&input, shape, DType::F32, sizes.batch);
        if sizes.batch > 0 {
            let [weights_re, weights_im] = [weights_re, weights_im].map(contiguous);
            let device = device(&input);
            let layer = SpectralConv { device: &device, shape: &sizes, weights: complex(&weights_re, &weights_im) };
            let [(_input, rows)] = counted_rows([input], &sizes);
            launched(layer.forward(&rows, &contiguous_rows(&result, &sizes)));
        }
        [result]
    }

    fn spectral_conv_backward(inputs: inputs::SpectralConvBackward<CubeTensor>, needed: Needed) -> Vec<CubeTensor> {
        let inputs::SpectralConvBackward { input, weights_re, weights_im, grad_output } = inputs;
        let sizes = SpectralShape::of(&input.shape(), &weights_re.shape());
        // The gradients of both parts of the weights are computed together.
        let of_weights = needed.has(1) || needed.has(2);
        let of_input = gradient_if(needed.has(0), &input, sizes.batch);
        let [of_re, of_im] = [&weights_re, &weights_im].map(|weights| gradient_if(of_weights, weights, sizes.batch));
        if sizes.batch > 0 {
            let into = SpectralConvGradients {
                input: of_input.as_ref().map(|gradient| contiguous_rows(gradient, &sizes)),
                weights: of_re.as_ref().zip(of_im.as_ref()).map(|(re, im)| complex(re, im)),
            };
            let [weights_re, weights_im] = [weights_re, weights_im].map(contiguous);
            let device = device(&input);
            let layer = SpectralConv { device: &device, shape: &sizes, weights: complex(&weights_re, &weights_im) };
            let [(_input, rows), (_grad, grad_rows)] = counted_rows([input, grad_output], &sizes);
            launched(layer.backward(&rows, &grad_rows, &into));
        }
        let of_weights =
            [(1, of_re), (2, of_im)].into_iter().filter_map(|(input, of)| of.filter(|_| needed.has(input)));
        of_input.into_iter().chain(of_weights).collect()
    }

    fn long_conv(inputs: inputs::LongConv<CubeTensor>) -> [CubeTensor; 1] {
        let (shape, kernel) = (convolution_shape(&inputs.signal, &inputs.kernel), contiguous(inputs.kernel));
        let (signal, rows) = real_rows(inputs.signal);
        let convolved = output(&signal, signal.shape(), DType::F32, shape.batch * shape.channels);
        if shape.batch * shape.channels > 0 {
            // Tensors own the memory that launches read.
            let gate = inputs.gate.map(real_rows);
            let gate = gate.as_ref().map(|(_, rows)| rows);
            launched(long_conv(&device(&signal), &shape, &rows, &kernel.handle, gate, &convolved.handle));
        }
        [convolved]
    }

    fn long_conv_backward(inputs: inputs::LongConvBackward<CubeTensor>, needed: Needed) -> Vec<CubeTensor> {
        let (shape, kernel) = (convolution_shape(&inputs.signal, &inputs.kernel), contiguous(inputs.kernel));
        let (signal, signal_rows) = real_rows(inputs.signal);
        let count = shape.batch * shape.channels;
        let of_signal = gradient_if(needed.has(0), &signal, count);
        let of_kernel = gradient_if(needed.has(1), &kernel, count);
        let of_gate = inputs.gate.as_ref().and_then(|gate| gradient_if(needed.has(2), gate, count));
        if count > 0 {
            let [of_signal, of_kernel, of_gate] = [&of_signal, &of_kernel, &of_gate].map(|of| handle(of.as_ref()));
            let into = ConvolutionGradients { signal: of_signal, kernel: of_kernel, gate: of_gate };
            // Tensors own the memory that launches read.
            let (gate, grad) = (inputs.gate.map(real_rows), real_rows(inputs.grad_output));
            let inputs = ConvolutionInputs {
                signal: signal_rows,
                kernel: kernel.handle.clone(),
                gate: gate.as_ref().map(|(_, rows)| rows.clone()),
                grad: grad.1.clone(),
            };
            launched(long_conv_backward(&device(&signal), &shape, &inputs, &into));
        }
        [of_signal, of_kernel, of_gate].into_iter().flatten().collect()
    }
}

fn complex(re: &CubeTensor, im: &CubeTensor) -> ComplexRows {
    ComplexRows::new(re.handle.clone(), im.handle.clone())
}

/// The transforms of rows `[…, m]`, of `len` values each: one tensor of real rows, two of complex ones, in and out.
///
/// A real inverse transform is the sum over all bins, of which the interior ones are multiplied by `interior` and those
/// above the middle are the conjugates of their mirror images. Imaginary parts of the first bin, and of the middle one
/// of an even length, are ignored.
fn transformed<const PARTS: usize, const OUT: usize>(
    tensors: [CubeTensor; PARTS],
    kind: TransformKind,
    options: &FftOptions,
    len: usize,
) -> [CubeTensor; OUT] {
    let (inputs, layout) = evenly_spaced(tensors);
    let mut shape = inputs[0].shape();
    if let Some(last) = shape.last_mut() {
        *last = len;
    }
    let outputs: [CubeTensor; OUT] =
        std::array::from_fn(|_| output(&inputs[0], shape.clone(), DType::F32, layout.rows));
    if layout.rows > 0 {
        let from = StridedRows::new(parts(&inputs), layout.stride, layout.len);
        let into = StridedRows::contiguous(parts(&outputs), len);
        transform_rows(&inputs[0], problem(kind, options, layout.len), options, layout.rows, [&from, &into]);
    }
    outputs
}

/// A transform of rows of `len` values.
fn problem(kind: TransformKind, options: &FftOptions, len: usize) -> TransformProblem {
    TransformProblem {
        points: options.length,
        kind,
        is_padded: is_padded(kind, len, options.length),
        conjugates: options.direction == Direction::Inverse,
    }
}

/// Whether a transform of the columns of matrices of `row` values has a plan on the device of `like`, whose launches count
/// as many matrices as start at aligned addresses.
fn has_plan(like: &CubeTensor, problem: TransformProblem, row: usize) -> bool {
    row <= MAX_ELEMENTS / ALIGNED_VALUES && planned(&device(like).limits, problem).is_ok()
}

/// Transforms rows on the device of `like`.
fn transform_rows(
    like: &CubeTensor,
    problem: TransformProblem,
    options: &FftOptions,
    rows: usize,
    [from, into]: [&StridedRows; 2],
) {
    let (scale, interior) = (options.scale as f32, options.interior as f32);
    launched(transform(&device(like), &TransformCall { problem, rows, scale, interior }, from, into));
}

/// A tensor, and its rows of `len` complex values with both parts side by side, which are read at their alignment.
fn interleaved_rows(tensor: CubeTensor, len: usize) -> (CubeTensor, StridedRows) {
    let tensor = contiguous(tensor);
    let is_aligned = tensor.handle.offset_start.unwrap_or(0).is_multiple_of(size_of::<[f32; 2]>() as u64);
    let tensor = if is_aligned { tensor } else { contiguous(tensor.copy()) };
    let rows = StridedRows::interleaved(tensor.handle.clone(), len);
    (tensor, rows)
}

/// Tensors, and their real rows along the last dimension, copied where launches count no rows so far apart.
fn counted_rows<const N: usize>(tensors: [CubeTensor; N], shape: &SpectralShape) -> [(CubeTensor, StridedRows); N] {
    let rows = tensors.map(real_rows);
    let strides: Vec<usize> = rows.iter().map(|(_, rows)| rows.stride).chain([shape.points[shape.last()]]).collect();
    if BatchPlan::of(shape, &strides).is_ok() {
        return rows;
    }
    rows.map(|(tensor, _)| real_rows(into_contiguous(tensor)))
}

/// The real rows of a tensor in contiguous memory.
fn contiguous_rows(tensor: &CubeTensor, shape: &SpectralShape) -> StridedRows {
    StridedRows::contiguous(ComplexRows::real(tensor.handle.clone()), shape.points[shape.last()])
}

/// The sizes of a convolution of `[batch, channels, n]` with `[channels, taps]`.
fn convolution_shape(signal: &CubeTensor, kernel: &CubeTensor) -> ConvolutionShape {
    let (signal, kernel) = (signal.shape(), kernel.shape());
    ConvolutionShape { batch: signal[0], channels: signal[1], n: signal[2], taps: kernel[1] }
}

impl CrossShape {
    fn of(first: &CubeTensor, second: &CubeTensor) -> Self {
        let [batch, m, segments, bins] = first.shape().dims();
        Self { batch, channels: [m, second.shape()[1]], segments, bins }
    }

    /// Products of values, 0 if there is nothing to compute.
    fn values(&self) -> usize {
        self.batch * self.channels[0] * self.channels[1] * self.segments * self.bins
    }
}

/// The memory of real rows, or of both parts of complex ones.
fn parts(tensors: &[CubeTensor]) -> ComplexRows {
    ComplexRows { re: tensors[0].handle.clone(), im: tensors.get(1).map(|tensor| tensor.handle.clone()) }
}

/// Evenly spaced rows of consecutive values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RowLayout {
    pub rows: usize,
    /// Values of a row.
    pub len: usize,
    /// Values from the start of one row to the start of the next.
    pub stride: usize,
}

impl RowLayout {
    /// The rows along the last dimension; none where their values are not consecutive or their spacing is not even.
    fn of(tensor: &CubeTensor) -> Option<Self> {
        if tensor.meta.is_tiled() || tensor.qparams.is_some() {
            return None;
        }
        let (shape, strides) = (tensor.meta.shape(), tensor.meta.strides());
        let (&len, outer) = shape.split_last()?;
        let (&value_stride, outer_strides) = strides.split_last()?;
        if len > 1 && value_stride != 1 {
            return None;
        }
        let mut rows = 1;
        let mut stride = None;
        for (&count, &own) in outer.iter().zip(outer_strides).rev().filter(|&(&count, _)| count != 1) {
            match stride {
                None if own > 0 => stride = Some(own),
                Some(stride) if own == stride * rows => {}
                _ => return None,
            }
            rows *= count;
        }
        Some(Self { rows, len, stride: stride.unwrap_or(len) })
    }
}

/// Tensors of one shape as evenly spaced rows, copied only where they do not share a layout of such rows, or gaps
/// between rows would make kernels count past [`MAX_ELEMENTS`]: neither what a device pads on upload nor what `unfold`
/// cuts out of a recording is.
fn evenly_spaced<const N: usize>(tensors: [CubeTensor; N]) -> ([CubeTensor; N], RowLayout) {
    let layouts = tensors.each_ref().map(RowLayout::of);
    let is_counted =
        |layout: &RowLayout| layout.stride <= layout.len || layout.rows.saturating_mul(layout.stride) <= MAX_ELEMENTS;
    let shared = layouts[0].filter(|_| layouts.iter().all(|layout| *layout == layouts[0]));
    if let Some(layout) = shared.filter(is_counted) {
        return (tensors, layout);
    }
    let tensors = tensors.map(into_contiguous);
    let shape = tensors[0].shape();
    let len = shape.last().copied().unwrap_or(1);
    (tensors, RowLayout { rows: shape.num_elements() / len.max(1), len, stride: len })
}
