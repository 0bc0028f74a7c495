//! Spectra of real frames in f32 with a frame per lane, and their adjoint, for operations that go on with them.

use std::sync::Arc;

use super::OneSidedFactors;
use super::lanes::{TileRows, complex_points};
use super::passes::passes;
use super::plan::MixedRadixPlan;
use super::transposition::store_columns;
use crate::cpu::isa::lines::{Line, lines_for, take_complexes, take_values};
use crate::cpu::isa::register::{Complex, MAX_LANES, Register};

/// A tile in which frames are transformed, as many as a register has lanes.
pub(in crate::cpu) struct FrameSpectra<'a, V: Register> {
    rows: TileRows<'a, V>,
    /// Pairs that a pass with the largest radix forms.
    pairs: &'a mut [[Complex<V>; 2]],
}

impl<'a, V: Register> FrameSpectra<'a, V> {
    /// Frames of `n` samples. `memory` has [`lines_of_frames`] lines, of which these are taken.
    #[inline(always)]
    pub fn new(token: V::Token, plan: &'a MixedRadixPlan, n: usize, memory: &mut &'a mut [Line]) -> Self {
        let tile = take_complexes::<V>(token, memory, plan.points + 1);
        let pairs = take_complexes::<V>(token, memory, plan.largest_radix).as_chunks_mut::<2>().0;
        let spare = take_values(memory, V::LANES * n);
        Self { rows: TileRows { token, n, width: n, plan, tile, spare }, pairs }
    }

    /// The lower bins, n/2 + 1, of frames that start `stride` values from each other in `frames`, each column of
    /// samples with `change` applied to it. Where there are fewer than a register has lanes, they do not overlap.
    #[inline(always)]
    pub fn transform(&mut self, frames: &[f32], stride: usize, change: impl Fn(usize, V) -> V) -> &mut [Complex<V>] {
        self.rows.width = stride;
        let TileRows { token, n, plan, .. } = self.rows;
        self.rows.load_real(frames, n, change);
        passes(token, plan, &mut self.rows.tile[..plan.points], self.pairs);
        self.rows.unpack(OneSidedFactors { ends: 1.0, interior: [1.0; 2] });
        &mut self.rows.tile[..n / 2 + 1]
    }

    /// The real rows `[lanes, n]` whose spectra have the lower bins `bins`: the unnormalised sum over all n of them.
    /// The imaginary parts of DC and Nyquist must be 0.
    #[inline(always)]
    pub fn inverse(&mut self, bins: &[Complex<V>], rows: &mut [f32]) {
        let TileRows { token, plan, .. } = self.rows;
        self.rows.pack(bins);
        passes(token, plan, &mut self.rows.tile[..plan.points], self.pairs);
        self.rows.store_real(rows);
    }

    /// Stores the columns that `get` gives, at most `n`, to rows of `length` values, at most as many as a register has
    /// lanes.
    #[inline(always)]
    pub fn store(&mut self, rows: &mut [f32], length: usize, get: impl Fn(usize) -> V) {
        store_columns(self.rows.token, rows, length, self.rows.spare, get);
    }
}

/// Lines of memory that [`FrameSpectra`] takes, for any registers.
pub(in crate::cpu) fn lines_of_frames(plan: &MixedRadixPlan, n: usize) -> usize {
    2 * (plan.points + 1 + plan.largest_radix) * MAX_LANES / Line::LEN + lines_for(MAX_LANES * n)
}

/// The plan of real frames of `n` samples, `count` of them, if a frame per lane is the faster way.
pub(in crate::cpu) fn plan_of_frames(n: usize, count: usize) -> Option<Arc<MixedRadixPlan>> {
    MixedRadixPlan::of(complex_points(n), count)
}

/// The plan of real frames of `n` samples, however many there are.
pub(in crate::cpu) fn frame_plan(n: usize) -> Arc<MixedRadixPlan> {
    MixedRadixPlan::of_points(complex_points(n))
}
