//! What this crate's operations bring to graph analysis: what they cost, and what they can stand for.
//!
//! A model that computes Welch peaks with stock operations can be written in many ways. The rule does not compare shapes of
//! graphs: it works out, value by value, what each is in terms of a Welch estimate ([`meaning`]), from the signal forward
//! ([`interpret`]). Wherever the strongest bins of a value are sought that turns out to be a Welch spectrum of the
//! [contract](crate), however it came about, `welch_peaks` takes its place.

mod constants;
mod costs;
mod elementwise;
mod interpret;
mod layout;
mod meaning;
mod peaks_rule;

pub use costs::register_costs;
pub use peaks_rule::WelchPeaksRule;
