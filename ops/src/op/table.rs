//! The table of operations: a row each.

use burn::backend::Backend;
use burn::backend::ir::ScalarIr;
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::tensor::IntDType;

#[cfg(feature = "autodiff")]
use super::Gradient::{self, Adjoint, Backward, Discrete, Selected, Unsupported};
use super::argument::Argument;
#[cfg(any(feature = "fusion", feature = "router"))]
use super::record::TensorSpec;
use super::{Needed, SpectralOps, TensorList};
use crate::options::{
    AdamOptions, FftForm, FftOptions, LocalMaximaOptions, Logarithm, MelOptions, PeakLossOptions, WelchOptions,
};

/// The type of an input: a tensor, or one that may be left out.
macro_rules! input {
    ($T:ident) => { $T };
    ($T:ident optional) => { Option<$T> };
}

/// Whether an input may be left out.
macro_rules! is_optional {
    () => {
        false
    };
    (optional) => {
        true
    };
}

/// The next of the inputs that a list has been found to hold.
macro_rules! next_input {
    ($next:ident) => {
        $next(false).expect("the list has every input that may not be left out")
    };
    ($next:ident optional) => {
        $next(true)
    };
}

/// A function of an input, or of one that may be left out.
#[cfg(any(feature = "flex", feature = "ndarray", feature = "cube"))]
macro_rules! mapped {
    ($f:ident, $input:expr;) => {
        $f($input)
    };
    ($f:ident, $input:expr; optional) => {
        $input.map(&mut $f)
    };
}

/// The outputs of a row: their kind and type, and the way into and out of a list.
macro_rules! outputs {
    (kind floats $count:literal) => { OutputKind::Floats($count) };
    (kind gradients) => { OutputKind::Gradients };
    (kind peaks) => { OutputKind::Peaks };
    (kind bins) => { OutputKind::Bins };
    (type $B:ident: floats $count:literal) => { [FloatTensor<$B>; $count] };
    (type $B:ident: gradients) => { Vec<FloatTensor<$B>> };
    (type $B:ident: peaks) => { (IntTensor<$B>, FloatTensor<$B>) };
    (type $B:ident: bins) => { [IntTensor<$B>; 2] };
    (put floats, $outputs:expr) => { TensorList::of_floats($outputs.into()) };
    (put gradients, $outputs:expr) => { TensorList::of_floats($outputs) };
    (put peaks, $outputs:expr) => {{
        let (bins, power) = $outputs;
        TensorList { ints: vec![bins], floats: vec![power] }
    }};
    (put bins, $outputs:expr) => { TensorList { ints: $outputs.into(), floats: Vec::new() } };
    (take floats, $list:expr) => { $list.into_floats() };
    (take gradients, $list:expr) => { $list.floats };
    (take peaks, $list:expr) => { $list.into_peaks() };
    (take bins, $list:expr) => { $list.into_bins() };
}

/// One operation of the table.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Its name in recorded graphs.
    pub name: &'static str,
    /// Names of its inputs.
    pub inputs: &'static [&'static str],
    /// Position of the input that may be left out.
    pub optional: Option<usize>,
    /// Kind of its outputs.
    pub outputs: OutputKind,
}

/// Kind of an operation's outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputKind {
    /// As many floats.
    Floats(usize),
    /// Gradients of those inputs of the forward operation that are [`Needed`], which is the last option.
    Gradients,
    /// Bin numbers, then their power.
    Peaks,
    /// Two sets of bin numbers.
    Bins,
}

/// Position of the first input that may be left out.
const fn optional_input(inputs: &[bool]) -> Option<usize> {
    let mut input = 0;
    while input < inputs.len() {
        if inputs[input] {
            return Some(input);
        }
        input += 1;
    }
    None
}

/// Declares the operations, a row each:
///
/// ```text
/// NAME = function: Variant { options } (inputs) -> outputs = their shapes, gradient;
/// ```
///
/// An input that may be left out is `name: optional`; a row has one at most. Outputs are `floats N`, `peaks` (bin
/// numbers and power), `bins` (two sets of bin numbers) or `gradients` (those of the inputs that are `needed`). Shapes
/// are [`TensorSpec`]s in terms of the inputs' and the options. The [`Gradient`] is in terms of the options, of
/// `needed`, and of `width`, the number of values per row of the first input.
macro_rules! operations {
    ($needed:ident, $width:ident; $(
        $(#[$doc:meta])*
        $constant:ident = $function:ident: $name:ident { $($option:ident: $type:ty),* }
            ($($input:ident $(: $optional:ident)?),*)
            -> $outputs:ident $($count:literal)? = $shapes:expr, $gradient:expr;
    )*) => {
        $(
            #[doc = concat!("Name of [`OpDescriptor::", stringify!($name), "`].")]
            pub const $constant: &str = concat!("firefly::", stringify!($function));
        )*

        /// Names of all operations, as they stand in recorded graphs.
        pub const NAMES: &[&str] = &[$($constant),*];

        /// The table: names, inputs and kind of outputs of every operation.
        ///
        /// ```
        /// use firefly_ops::op::{LONG_CONV, ROWS};
        ///
        /// let row = ROWS.iter().find(|row| row.name == LONG_CONV).expect("the table has it");
        /// assert_eq!((row.inputs, row.optional), (&["signal", "kernel", "gate"][..], Some(2)));
        /// ```
        pub const ROWS: &[Row] = &[$(Row {
            name: $constant,
            inputs: &[$(stringify!($input)),*],
            optional: optional_input(&[$(is_optional!($($optional)?)),*]),
            outputs: outputs!(kind $outputs $($count)?),
        }),*];

        /// One operation with its arguments that are not tensors.
        ///
        /// Its tensors are the inputs of a [`CustomOpIr`](burn::backend::ir::CustomOpIr), in the order of the fields of
        /// its [`inputs`], without the one that is left out.
        ///
        /// ```
        /// use firefly_ops::WelchOptions;
        /// use firefly_ops::op::{OpDescriptor, WELCH_PSD};
        ///
        /// let options = WelchOptions::new(256, 2);
        /// let operation = OpDescriptor::WelchPsd { options };
        /// assert_eq!((operation.name(), operation.welch_options()), (WELCH_PSD, Some(options)));
        /// assert_eq!(OpDescriptor::parse(operation.name(), &operation.scalars()), Some(operation));
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq)]
        #[non_exhaustive]
        #[allow(missing_docs, reason = "the variant's text explains its options")]
        pub enum OpDescriptor {
            $($(#[$doc])* $name { $($option: $type),* }),*
        }

        /// Inputs of the operations by name.
        ///
        /// The types of their tensors are those of any backend, so that one struct serves the function that applies an
        /// operation and every backend's kernels.
        #[allow(missing_docs, reason = "the operation's text explains its inputs")]
        pub mod inputs {
            use super::*;

            $(
                $(#[$doc])*
                pub struct $name<T> {
                    $(pub $input: input!(T $($optional)?)),*
                }

                impl<T> $name<T> {
                    /// The outputs of the operation, which its text describes.
                    pub fn apply<B>(self, $($option: $type),*) -> outputs!(type B: $outputs $($count)?)
                    where
                        B: SpectralOps<FloatTensorPrimitive = T>,
                    {
                        let mut floats = Vec::with_capacity([$(stringify!($input)),*].len());
                        $(floats.extend(Option::<T>::from(self.$input));)*
                        let operation = OpDescriptor::$name { $($option),* };
                        outputs!(take $outputs, B::apply(operation, TensorList::of_floats(floats)))
                    }

                    /// The inputs that `f` makes of these.
                    #[allow(dead_code, reason = "not every operation's inputs are all taken in one way")]
                    #[cfg(any(feature = "flex", feature = "ndarray", feature = "cube"))]
                    pub(crate) fn map<U>(self, mut f: impl FnMut(T) -> U) -> $name<U> {
                        $name { $($input: mapped!(f, self.$input; $($optional)?)),* }
                    }

                    /// The tensors of a list, in the order of the fields.
                    ///
                    /// # Panics
                    /// If there are too few or too many.
                    #[allow(dead_code, reason = "not every set of features has kernels or records")]
                    pub(super) fn of(tensors: Vec<T>) -> Self {
                        const OPTIONAL: &[bool] = &[$(is_optional!($($optional)?)),*];
                        let (got, all) = (tensors.len(), OPTIONAL.len());
                        let required = OPTIONAL.iter().filter(|is_optional| !**is_optional).count();
                        assert!((required..=all).contains(&got), "{}: {got} tensors", stringify!($name));
                        let mut tensors = tensors.into_iter();
                        let mut next = |is_optional: bool| if is_optional && got < all { None } else { tensors.next() };
                        Self { $($input: next_input!(next $($optional)?)),* }
                    }
                }
            )*
        }

        /// The functions of a backend that computes, one per operation.
        #[cfg(any(feature = "flex", feature = "ndarray", feature = "cube"))]
        pub(crate) trait Kernels: Backend {
            /// Integers as the samples of a signal: an input in the place of floats, which kernels read by its type.
            fn samples(integers: IntTensor<Self>) -> FloatTensor<Self>;

            $(
                $(#[$doc])*
                fn $function(
                    inputs: inputs::$name<FloatTensor<Self>>,
                    $($option: $type),*
                ) -> outputs!(type Self: $outputs $($count)?);
            )*
        }

        impl OpDescriptor {
            /// The operation's name, as it stands in recorded graphs.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$name { .. } => $constant),*
                }
            }

            /// The arguments that are not tensors, encoded.
            pub fn scalars(&self) -> Vec<ScalarIr> {
                let mut scalars = Vec::new();
                match self {
                    $(Self::$name { $($option),* } => { $($option.encode(&mut scalars);)* })*
                }
                scalars
            }

            /// The operation called `name` with the scalars that [`scalars`](Self::scalars) encodes; `None` for any
            /// other.
            pub fn parse(name: &str, scalars: &[ScalarIr]) -> Option<Self> {
                let mut scalars = scalars.iter();
                let operation = match name {
                    $($constant => Self::$name { $($option: Argument::decode(&mut scalars)?),* },)*
                    _ => return None,
                };
                scalars.next().is_none().then_some(operation)
            }

            /// Runs the operation's function of a backend that computes.
            #[cfg(any(feature = "flex", feature = "ndarray", feature = "cube"))]
            pub(super) fn run<B: Kernels>(self, tensors: TensorList<B>) -> TensorList<B> {
                match self {
                    $(Self::$name { $($option),* } => {
                        outputs!(put $outputs, B::$function(inputs::$name::of(tensors.into_inputs()), $($option),*))
                    })*
                }
            }

            /// Shapes and types of the outputs.
            #[cfg(any(feature = "fusion", feature = "router"))]
            #[allow(unused_variables, reason = "rarely do all inputs and options make a shape")]
            ///
            /// # Panics
            /// For inputs that [`check`](Self::check) refuses.
            pub fn outputs(self, tensors: Vec<TensorSpec>) -> Vec<TensorSpec> {
                match self {
                    $(Self::$name { $($option),* } => {
                        let inputs::$name { $($input),* } = inputs::$name::of(tensors);
                        Vec::from($shapes)
                    })*
                }
            }

            /// How gradients go back through the operation, to those of its inputs that are needed; the first input has
            /// `width` values per row.
            #[cfg(feature = "autodiff")]
            #[allow(unused_variables, reason = "rarely do all options make a gradient")]
            pub fn gradient(self, $needed: Needed, $width: usize) -> Gradient {
                match self {
                    $(Self::$name { $($option),* } => $gradient,)*
                }
            }
        }
    };
}

operations! { needed, width;
    /// Welch power `[rows, bins]` of `signal` `[rows, frame]`, of any type of samples, with `window` `[n_fft]` and perhaps
    /// a `gain`, the factors of the bin below, the bin itself and the bin above, `[bins, 3]`, and of the products with both neighbours, `[bins, 5]`.
    WELCH_PSD = welch_psd: WelchPsd { options: WelchOptions } (signal, window, gain: optional)
        -> floats 1 = [signal.rows_of(options.bins()).in_type_of(&window)],
        Backward(OpDescriptor::WelchPsdBackward { options, needed });

    /// Gradients of the inputs of [`OpDescriptor::WelchPsd`].
    WELCH_PSD_BACKWARD = welch_psd_backward: WelchPsdBackward { options: WelchOptions, needed: Needed }
        (signal, window, gain: optional, grad_power)
        -> gradients = needed.select([Some(signal), Some(window), gain]), Unsupported;

    /// Numbers (of type `bins`) and power of the `k` strongest bins of [`OpDescriptor::WelchPsd`], both `[rows, k]`.
    WELCH_PEAKS = welch_peaks: WelchPeaks { options: WelchOptions, k: usize, bins: IntDType }
        (signal, window, gain: optional)
        -> peaks = [signal.rows_of(k).of_bins(bins), signal.rows_of(k).in_type_of(&window)],
        Selected { length: options.bins(), backward: Some(OpDescriptor::WelchPsdBackward { options, needed }) };

    /// Positions (of type `bins`) and values of the `k` largest of `values` `[rows, length]`, both `[rows, k]`.
    TOP_K = top_k: TopK { k: usize, bins: IntDType } (values)
        -> peaks = [values.rows_of(k).of_bins(bins), values.rows_of(k)], Selected { length: width, backward: None };

    /// Numbers (of type `bins`) of the `k` strongest local maxima of `values` `[rows, length]` that meet the options,
    /// and of the bases that their prominence is measured from, both `[rows, k]`, −1 where there are fewer. Offsets are
    /// not part of the operation.
    LOCAL_MAXIMA = local_maxima: LocalMaxima { options: LocalMaximaOptions, k: usize, bins: IntDType } (values)
        -> bins = [0; 2].map(|_| values.rows_of(k).of_bins(bins)), Discrete;

    /// Butterfly transform of `re` and `im` `[rows, n]` to real and imaginary parts of that shape, with `twiddles`
    /// `[log2 n, n/2, 2]`, and `gates` `[log2 n, n/2]`, all open where they are left out.
    BUTTERFLY = butterfly: Butterfly {} (re, im, twiddles, gates: optional)
        -> floats 2 = [re, im], Backward(OpDescriptor::ButterflyBackward { needed });

    /// Gradients of the inputs of [`OpDescriptor::Butterfly`].
    BUTTERFLY_BACKWARD = butterfly_backward: ButterflyBackward { needed: Needed }
        (re, im, twiddles, gates: optional, grad_re, grad_im)
        -> gradients = needed.select([Some(re), Some(im), Some(twiddles), gates]), Unsupported;

    /// Transforms of complex rows, `re` and `im` `[rows, m]`, cut or padded with zeros to n values: real and imaginary
    /// parts `[rows, n]` of `scale` Σ_j x_j exp(∓2πi jk/n), minus in the forward direction.
    COMPLEX_FFT = complex_fft: ComplexFft { options: FftOptions } (re, im)
        -> floats 2 = [re, im].map(|part| part.rows_of(options.length)),
        // Σ_k Re(conj(g_k) Σ_j x_j w^jk) = Σ_j Re(conj(Σ_k g_k w^-jk) x_j).
        Adjoint(OpDescriptor::ComplexFft { options: options.reversed(1.0) });

    /// Transforms of the columns of complex matrices, `re` and `im` `[matrices, n, width]`, as
    /// [`OpDescriptor::ComplexFft`] transforms rows of n values: both results have the inputs' shape.
    COMPLEX_FFT_COLUMNS = complex_fft_columns: ComplexFftColumns { options: FftOptions } (re, im)
        -> floats 2 = [re, im], Adjoint(OpDescriptor::ComplexFftColumns { options: options.reversed(1.0) });

    /// The lower n/2 + 1 bins of [`OpDescriptor::ComplexFft`] of real rows, `signal` `[rows, m]`, the interior ones
    /// times `interior`.
    REAL_FFT = real_fft: RealFft { options: FftOptions } (signal)
        -> floats 2 = [0; 2].map(|_| signal.rows_of(options.bins())),
        // The sum over one side of the spectrum counts an interior bin once; the Hermitian sum counts it twice.
        Adjoint(OpDescriptor::InverseRealFft { options: options.reversed(0.5) });

    /// Real rows `[rows, n]` whose spectrum has the lower bins `re` + i `im`, `[rows, m]` each, cut or padded with
    /// zeros to n/2 + 1 bins: [`OpDescriptor::ComplexFft`] of the Hermitian spectrum, once interior bins are multiplied
    /// by `interior`. The imaginary parts of DC and Nyquist do not count.
    INVERSE_REAL_FFT = inverse_real_fft: InverseRealFft { options: FftOptions } (re, im)
        -> floats 1 = [re.rows_of(options.length)],
        Adjoint(OpDescriptor::RealFft { options: options.reversed(2.0) });

    /// One of the transforms above of `values` and to values whose real and imaginary parts are side by side, in the
    /// shapes of the [`FftForm`].
    INTERLEAVED_FFT = interleaved_fft: InterleavedFft { form: FftForm, options: FftOptions } (values)
        -> floats 1 = [TensorSpec { shape: form.output(&values.shape, &options).into(), ..values }],
        Adjoint({
            let (form, interior) = form.adjoint();
            OpDescriptor::InterleavedFft { form, options: options.reversed(interior) }
        });

    /// Cosine transform of `rows` `[rows, n]` of type 2, y_k = `scale` Σ_j x_j cos(πk(2j + 1)/2n), times `first` for
    /// k = 0; of type 3, its transpose, x_j = `scale` Σ_k y_k cos(πk(2j + 1)/2n), with `first` times y_0; or of type 4,
    /// y_k = `scale` Σ_j x_j cos(π(2j + 1)(2k + 1)/4n). `sines`, with k + 1 for k in types 2 and 3, are the cosines of
    /// x_j times (−1)ʲ, with the y_k in reverse.
    DCT = dct: Dct { kind: usize, sines: bool, scale: f64, first: f64 } (rows)
        -> floats 1 = [rows],
        Adjoint(OpDescriptor::Dct { kind: if kind == 4 { 4 } else { 5 - kind }, sines, scale, first });

    /// Products of spectra of channels, `first` `[batch, m, segments, bins]` and `second` `[batch, n, segments, bins]`:
    /// real and imaginary parts `[batch, m, n, bins]` of Σ_s first_i* second_j at each bin. If `is_hermitian`, both have
    /// the same values.
    CROSS_SPECTRA = cross_spectra: CrossSpectra { is_hermitian: bool } (first_re, first_im, second_re, second_im)
        -> floats 2 = [0; 2].map(|_| first_re.clone().with(2, second_re.shape[1])),
        Backward(OpDescriptor::CrossSpectraBackward { needed });

    /// Gradients of the inputs of [`OpDescriptor::CrossSpectra`].
    CROSS_SPECTRA_BACKWARD = cross_spectra_backward: CrossSpectraBackward { needed: Needed }
        (first_re, first_im, second_re, second_im, grad_re, grad_im)
        -> gradients = needed.select([first_re, first_im, second_re, second_im].map(Some)), Unsupported;

    /// Mel spectra `[rows, bands, frames]`, or their logarithms, of `signal` `[rows, samples]`, of any type of samples,
    /// with `window` `[n_fft]`.
    MEL = mel: Mel { options: MelOptions, logarithm: Option<Logarithm> } (signal, window)
        -> floats 1 = {
            let [rows, samples] = signal.shape.dims();
            [TensorSpec { shape: [rows, options.bands.count, options.stft.frames(samples)].into(), ..window }]
        },
        Backward(OpDescriptor::MelBackward { options, logarithm, needed });

    /// Gradients of the inputs of [`OpDescriptor::Mel`].
    MEL_BACKWARD = mel_backward: MelBackward { options: MelOptions, logarithm: Option<Logarithm>, needed: Needed }
        (signal, window, grad_bands) -> gradients = needed.select([Some(signal), Some(window)]), Unsupported;

    /// Ranking loss and power loss of each row, `[rows, 2]`: of `power` `[rows, bins]`, whose ranks k and k + 1 have
    /// the power `strongest` `[rows, 2]`, or rank k alone `[rows, 1]`; `reference_power` `[rows, 1]` is the unit of
    /// relative power, `peaks` `[rows, bins]` is 1 at the target peaks and 0 at all other bins, and `target_power`
    /// `[rows, bins]` is the power of the targets.
    PEAK_LOSS = peak_loss: PeakLoss { options: PeakLossOptions }
        (power, strongest, reference_power, peaks, target_power)
        -> floats 1 = [power.rows_of(2)], Backward(OpDescriptor::PeakLossBackward { options, needed });

    /// Gradient in the power of [`OpDescriptor::PeakLoss`], whose targets have none.
    PEAK_LOSS_BACKWARD = peak_loss_backward: PeakLossBackward { options: PeakLossOptions, needed: Needed }
        (power, strongest, reference_power, peaks, target_power, grad_losses)
        -> gradients = needed.select([Some(power)]), Unsupported;

    /// A `parameter` and the decaying means `moment_1` of its gradients and `moment_2` of their squares, all of one
    /// shape, after a step of Adam or AdamW with `gradient`.
    ADAM_STEP = adam_step: AdamStep { options: AdamOptions } (parameter, moment_1, moment_2, gradient)
        -> floats 3 = [parameter, moment_1, moment_2], Unsupported;

    /// Spectral convolution `[batch, out, n…]`, of one to three dimensions n: the transform of `input`
    /// `[batch, in, n…]`, of which the modes of the weights are kept, multiplied mode by mode by `weights_re` + i
    /// `weights_im` `[in, out, modes…]`, summed over `in`, and transformed back.
    SPECTRAL_CONV = spectral_conv: SpectralConv {} (input, weights_re, weights_im)
        -> floats 1 = [input.with(1, weights_re.shape[1])], Backward(OpDescriptor::SpectralConvBackward { needed });

    /// Gradients of the inputs of [`OpDescriptor::SpectralConv`].
    SPECTRAL_CONV_BACKWARD = spectral_conv_backward: SpectralConvBackward { needed: Needed }
        (input, weights_re, weights_im, grad_output)
        -> gradients = needed.select([input, weights_re, weights_im].map(Some)), Unsupported;

    /// Causal convolutions of `signal` `[batch, channels, n]` with `kernel` `[channels, k]`, times `gate`
    /// `[batch, channels, n]` where it is given: `[batch, channels, n]`.
    LONG_CONV = long_conv: LongConv {} (signal, kernel, gate: optional)
        -> floats 1 = [signal], Backward(OpDescriptor::LongConvBackward { needed });

    /// Gradients of the inputs of [`OpDescriptor::LongConv`].
    LONG_CONV_BACKWARD = long_conv_backward: LongConvBackward { needed: Needed }
        (signal, kernel, gate: optional, grad_output)
        -> gradients = needed.select([Some(signal), Some(kernel), gate]), Unsupported;
}

#[cfg(feature = "autodiff")]
impl FftOptions {
    /// The other direction, with `interior` times the factor on interior bins.
    fn reversed(self, interior: f64) -> Self {
        Self { direction: self.direction.opposite(), interior: interior * self.interior, ..self }
    }
}
