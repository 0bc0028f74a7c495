//! The zoo: every variant through the registry, and each family against its definition in float64 and
//! against implementations elsewhere.

mod butterfly;
mod denoiser;
mod fits;
mod fno;
mod mel;
mod mel_classifier;
mod mixers;
mod parity;
mod ranks;
mod registry;
mod sequence;
