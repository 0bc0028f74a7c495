//! Rewriting of graphs: rules, and the rewriter that applies them where the [fusion gate](crate::cost) passes.
//!
//! A model that computes Welch peaks with stock operations can be written in many ways. [`WelchPeaksRule`] does not
//! match patterns of nodes: an abstract interpretation derives, node by node from the inputs forward, what each value
//! is in terms of a Welch estimate. Wherever the strongest bins of a value are searched that is a Welch spectrum by the
//! [contract](firefly_ops), `welch_peaks` replaces the search; where something else reads the power, [`WelchPsdRule`]
//! puts `welch_psd` in its place. [`MelRule`] does the same where the power of frames is multiplied by mel filters.
//! [`SpectralConvRule`] finds the layer of a Fourier neural operator in the same way.
//!
//! [`LongConvRule`] does the same for products of spectra that make a causal convolution: `long_conv` replaces them.
//! [`ComplexFftRule`] replaces a complex transform that consists of two real ones, as Burn's does; the other rules then
//! find it.
//!
//! ```
//! use burn::tensor::{Device, Tensor};
//! use firefly_framework::graph::{Input, capture};
//! use firefly_framework::profile::Preset;
//! use firefly_framework::rewrite::Rewriter;
//!
//! let graph = capture(&[Input::new("signal", [32, 64])], |signal: Tensor<2>, device: &Device| {
//!     let (re, im) = burn::signal::rfft(signal, 1, None);
//!     let sides: Vec<f32> = (0..33).map(|bin| if bin % 32 == 0 { 1.0 } else { 2.0 }).collect();
//!     let sides = Tensor::<1>::from_data(sides.as_slice(), device).unsqueeze();
//!     ((re.powi_scalar(2) + im.powi_scalar(2)) * sides).topk_with_indices(4, 1)
//! })?;
//! let rewritten = Rewriter::spectral().run(&graph, &Preset::Cpu.profile());
//! assert_eq!(rewritten.graph.custom_operations().collect::<Vec<_>>(), ["firefly::welch_peaks"]);
//! # Ok::<_, firefly_framework::graph::GraphError>(())
//! ```

mod abstract_value;
mod complex_fft_rule;
mod constants;
mod convolution_values;
mod elementwise;
mod interpretation;
mod layout;
mod long_conv_rule;
mod mel_bands;
mod mel_rule;
mod mirrored_spectrum;
mod operands;
mod operation_costs;
mod power_estimate;
mod rewrite_rule;
mod rewriter;
mod spectral_conv;
mod spectral_nodes;
mod welch_peaks_rule;
mod welch_psd_rule;

pub use complex_fft_rule::ComplexFftRule;
pub use long_conv_rule::LongConvRule;
pub use mel_rule::MelRule;
pub use operation_costs::register_costs;
pub use rewrite_rule::{Replacement, Rule};
pub use rewriter::{ReplacementOutcome, Rewriter, Rewritten};
pub use spectral_conv::SpectralConvRule;
pub use welch_peaks_rule::WelchPeaksRule;
pub use welch_psd_rule::WelchPsdRule;
