//! Rewriting of graphs: rules, the rewriter that applies them where a [cost model](crate::cost) predicts a gain, and what
//! Firefly's operations cost and can stand for.
//!
//! A model that computes Welch peaks with stock operations can be written in many ways. [`WelchPeaksRule`] does not compare
//! shapes of graphs: it derives, value by value from the signal forward ([`interpret`]), what each is in terms of a Welch
//! estimate ([`meaning`]). Wherever the strongest bins of a value are searched that turns out to be a Welch spectrum of the
//! [contract](firefly_ops), however it came about, `welch_peaks` takes its place.

mod constants;
mod costs;
mod elementwise;
mod interpret;
mod layout;
mod meaning;
mod peaks_rule;
mod rewriter;
mod spectral;

pub use costs::register_costs;
pub use peaks_rule::WelchPeaksRule;
pub use rewriter::{Outcome, Replacement, Rewriter, Rewritten, Rule};
