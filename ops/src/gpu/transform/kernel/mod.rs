//! Device code of a launch: `source` loads the values of a `sequence`, `passes` transform them, with an exchange after
//! each, and `sink` or `fold` stores them.

mod fold;
mod passes;
mod sequence;
mod sink;
mod source;

use cubecl::prelude::*;

use crate::gpu::complex::{Complex, ComplexBuffers};
pub use fold::fold_spectra;
pub use passes::{KeptTwiddles, run_passes, transform_passes, transform_sequences, wait};
pub use sequence::{
    Sequence, has_short_transform, mirrored, own_sequence, padded, root, short_transform, write_exchange,
};

/// The rows that a launch reads: the variant is known when the kernel is compiled.
#[derive(CubeType, CubeLaunch)]
#[expect(dead_code, reason = "variants are constructed as the generated kernel arguments")]
pub enum TransformInput {
    /// Complex rows or half spectra; or real rows, whose imaginary parts are not read.
    Parts(ComplexBuffers),
    /// Complex rows or half spectra, both parts side by side; or real rows, two samples side by side.
    Pairs(Box<[Complex]>),
}

/// The rows that a launch writes: the variant is known when the kernel is compiled.
#[derive(CubeType, CubeLaunch)]
#[expect(dead_code, reason = "variants are constructed as the generated kernel arguments")]
pub enum TransformOutput {
    /// Complex rows, or half spectra.
    Complex(ComplexBuffers),
    /// Real rows, or coefficients of a cosine transform.
    Real(Box<[f32]>),
    /// Complex rows or half spectra, both parts side by side; or real rows, two samples side by side.
    Pairs(Box<[Complex]>),
}

#[derive(CubeType, CubeLaunch)]
pub struct TransformShape {
    pub rows: u32,
    /// Values, or pairs, from one row that is read to the next.
    pub input_stride: u32,
    /// Values, or pairs, from one row that is written to the next.
    pub output_stride: u32,
    /// Values, or pairs, of a row that is read, for padded rows.
    pub samples: u32,
    /// Values of a row that is written, for rows that are cut.
    pub kept: u32,
    /// Factor of every output.
    pub scale: f32,
    /// Factor of the bins of half spectra that stand for two bins of the whole; in a cosine transform, of the first
    /// coefficient.
    pub interior: f32,
}
