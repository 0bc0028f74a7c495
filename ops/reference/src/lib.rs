//! Naive float64 definitions of Firefly's operations.
//!
//! Kernels are tested against them, so they share no code with any kernel and prefer the formula as printed in the
//! definition over speed. The crate depends on nothing; options are plain numbers. Arrays are flat and row-major, with
//! the shapes that the operations use.
//!
//! | file | definition |
//! | --- | --- |
//! | [`dft`] | discrete Fourier transform as its sum, at all bins or at chosen ones; chirp-z transform, analytic signal |
//! | [`fast_dft`] | the same in O(n log n), for long rows |
//! | [`fft`] | transforms of complex and real rows, with length, direction and factors |
//! | [`fftn`] | transforms of shapes of several dimensions, and their gradients |
//! | [`dct`] | discrete cosine and sine transforms of types I to IV |
//! | [`window`] | the four windows, periodic and symmetric |
//! | [`welch`] | averaged one-sided power of rows |
//! | [`peaks`] | the K strongest bins of a row |
//! | [`peak_loss`] | losses of a row against target peaks |
//! | [`adam`] | steps of Adam and AdamW |
//! | [`local_maxima`] | local maxima of a row, with height, distance and prominence |
//! | [`long_conv`] | causal convolution with a kernel per channel, and its gradients |
//! | [`mel`] | power or amplitude of frames in mel bands, and their logarithms |
//! | [`spectral_conv`] | transform, product with weights per mode, inverse transform |
//! | [`butterfly`] | gated butterfly stages with any twiddles |
//! | [`butterfly_gradient`] | gradients of those stages |
//! | [`learned`] | Welch power through gated butterflies, then a gain per bin |
//!
//! Samples that are NaN or infinite are not treated apart: they go through the arithmetic of IEEE 754, so one NaN
//! sample makes every bin of its row NaN, and no bin of another row. Only [`peaks`] depends on finiteness, as its
//! definition does.
//!
//! Lengths that contradict each other are a mistake in the calling test and panic; each function names its conditions.

pub mod adam;
pub mod butterfly;
pub mod butterfly_gradient;
pub mod complex;
pub mod dct;
pub mod dft;
pub mod fast_dft;
pub mod fft;
pub mod fftn;
pub mod learned;
pub mod local_maxima;
pub mod long_conv;
pub mod mel;
pub mod peak_loss;
pub mod peaks;
pub mod spectral_conv;
pub mod welch;
pub mod window;

pub use complex::Complex;
