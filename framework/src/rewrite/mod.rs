//! Rewriting of graphs: rules, and the rewriter that applies them where the [fusion gate](crate::cost) passes.
//!
//! A model that computes Welch peaks with stock operations can be written in many ways. Rules do not match patterns of
//! nodes: one abstract interpretation derives for all of them, node by node from the inputs forward, what each value is in
//! terms of segments, spectra, power and convolutions. Wherever the strongest bins of a value are searched that is a Welch
//! spectrum by the [contract](firefly_ops), `welch_peaks` replaces the search. The other [rules](Rule) do the same for
//! power, mel spectra, spectral and long convolutions, and complex transforms.
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

mod complex_fft;
mod constants;
mod edit;
mod interpretation;
mod long_conv;
mod mel;
mod rewriter;
mod spectral_conv;
mod welch;

pub use rewriter::{Replacement, ReplacementOutcome, Rewriter, Rewritten, Rule};
