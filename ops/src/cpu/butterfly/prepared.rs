//! A butterfly transform prepared for the rows of a call: its program, and weights in the program's order.

use std::cell::Cell;
use std::sync::Arc;

use crate::cpu::butterfly::ButterflyTransform;
use crate::cpu::butterfly::program::Program;
use crate::cpu::runtime::{KeyedCache, with_vector};

/// A transform in the form that the kernels run.
#[derive(Debug)]
pub(in crate::cpu) struct PreparedButterfly<'a> {
    pub program: Arc<Program>,
    /// Whether weights include their gates, because some gate that runs may not be 1.
    pub soft: bool,
    weights: &'a [f32],
}

/// Treatment of butterflies whose gate is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cpu) enum ClosedGates {
    /// They do not run: they are the identity.
    Skip,
    /// They run, and every weight includes its gate.
    Compute,
}

/// Form of the weights of a butterfly with twiddle w and gate g.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cpu) enum WeightForm {
    /// w; or g w, 1 + g, 1 − g.
    Forward,
    /// w; or w, g, 1 − g.
    Backward,
}

impl PreparedButterfly<'_> {
    /// Weights of every slot: 2 values if the transform is not [soft](Self::soft), and 4 if it is.
    pub fn weights<const W: usize>(&self) -> &[[f32; W]] {
        debug_assert_eq!(W, if self.soft { 4 } else { 2 });
        self.weights.as_chunks().0
    }
}

/// Runs `body` with `transform` prepared.
pub(in crate::cpu) fn with_prepared<R>(
    transform: &ButterflyTransform<'_, f32>,
    closed: ClosedGates,
    form: WeightForm,
    body: impl FnOnce(&PreparedButterfly<'_>) -> R,
) -> R {
    let gates = transform.gates.unwrap_or_default();
    let program = if closed == ClosedGates::Skip && gates.contains(&0.0) {
        sparse_program(transform.n, gates)
    } else {
        dense_program(transform.n)
    };
    let soft = gates.iter().any(|&gate| gate != 1.0 && (gate != 0.0 || closed == ClosedGates::Compute));
    with_vector(|weights| {
        let twiddles = transform.twiddles.as_chunks::<2>().0;
        if soft {
            weights.extend(program.pairs.iter().flat_map(|&pair| {
                let ([re, im], gate) = (twiddles[pair as usize], gates[pair as usize]);
                match form {
                    WeightForm::Forward => [gate * re, gate * im, 1.0 + gate, 1.0 - gate],
                    WeightForm::Backward => [re, im, gate, 1.0 - gate],
                }
            }));
        } else {
            weights.extend(program.pairs.iter().flat_map(|&pair| twiddles[pair as usize]));
        }
        body(&PreparedButterfly { program, soft, weights })
    })
}

/// Cache entry: the program of the last transform with closed gates on this thread, and its key (length, open gates).
struct SparseProgram {
    n: usize,
    open: Vec<bool>,
    program: Arc<Program>,
}

/// The program of a transform with closed gates: the last one on this thread, if it was for the same gates.
fn sparse_program(n: usize, gates: &[f32]) -> Arc<Program> {
    thread_local! {
        static LAST: Cell<Option<SparseProgram>> = const { Cell::new(None) };
    }
    let is_for_gates = |last: &SparseProgram| {
        (last.n, last.open.len()) == (n, gates.len())
            && last.open.iter().zip(gates).all(|(&open, &gate)| open == (gate != 0.0))
    };
    let last = LAST.take().filter(is_for_gates).unwrap_or_else(|| {
        let open: Vec<bool> = gates.iter().map(|&gate| gate != 0.0).collect();
        let program = Arc::new(Program::new(n, |pair| open[pair]));
        SparseProgram { n, open, program }
    });
    let program = Arc::clone(&last.program);
    LAST.set(Some(last));
    program
}

/// The program of a transform without closed gates. Computed once per process for each length.
fn dense_program(n: usize) -> Arc<Program> {
    static PROGRAMS: KeyedCache<usize, Program> = KeyedCache::new();
    PROGRAMS.get(n, || Arc::new(Program::new(n, |_| true)))
}
