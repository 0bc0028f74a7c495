//! A network made ready for the rows of a call: its program, and weights in the program's order.

use std::cell::Cell;
use std::sync::Arc;

use crate::cpu::ButterflyTransform;
use crate::cpu::butterfly::liveness::uses;
use crate::cpu::butterfly::program::Program;
use crate::cpu::runtime::keyed_cache::KeyedCache;

/// A network as the kernels run it.
#[derive(Debug)]
pub(in crate::cpu) struct Prepared {
    pub program: Arc<Program>,
    /// Whether weights come with their gates, because some gate that runs may not be 1.
    pub soft: bool,
    weights: Vec<f32>,
}

/// What becomes of closed butterflies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cpu) enum Closed {
    /// They are left out: they are the identity.
    LeftOut,
    /// They run, and every weight comes with its gate.
    Run,
}

/// Whether some gate is neither closed nor fully open.
fn is_soft(gates: &[f32]) -> bool {
    gates.iter().any(|&gate| gate != 0.0 && gate != 1.0)
}

/// What of a butterfly the weights are made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cpu) enum Pass {
    /// w; or g w, 1 + g, 1 − g.
    Forward,
    /// w; or w, g, 1 − g.
    Backward,
}

impl Prepared {
    /// Weights of every slot: 2 if the network is not [soft](Self::soft), and 4 if it is.
    pub fn weights<const W: usize>(&self) -> &[[f32; W]] {
        debug_assert_eq!(W, if self.soft { 4 } else { 2 });
        self.weights.as_chunks().0
    }
}

/// What a thread keeps from one call to the next, so that calls with networks alike allocate nothing.
#[derive(Default)]
struct Kept {
    sparse: Option<(usize, usize, Vec<bool>, Arc<Program>)>,
    buffers: Vec<Vec<f32>>,
}

thread_local! {
    static KEPT: Cell<Kept> = Cell::default();
}

/// Runs `body` with `network` made ready, of whose outputs the first `read` are read.
pub(in crate::cpu) fn with_prepared<R>(
    network: &ButterflyTransform<'_, f32>,
    read: usize,
    closed: Closed,
    pass: Pass,
    body: impl FnOnce(&Prepared) -> R,
) -> R {
    let mut kept = KEPT.take();
    let gates = network.gates.unwrap_or_default();
    let program = if closed == Closed::LeftOut && gates.contains(&0.0) {
        kept.sparse_program(network.n, read, gates)
    } else {
        dense_program(network.n, read)
    };
    let soft = match closed {
        Closed::LeftOut => is_soft(gates),
        Closed::Run => gates.iter().any(|&gate| gate != 1.0),
    };
    let mut weights = kept.buffers.pop().unwrap_or_default();
    weights.clear();
    let twiddles = network.twiddles.as_chunks::<2>().0;
    if soft {
        weights.extend(program.pairs.iter().flat_map(|&pair| {
            let ([re, im], gate) = (twiddles[pair as usize], gates[pair as usize]);
            match pass {
                Pass::Forward => [gate * re, gate * im, 1.0 + gate, 1.0 - gate],
                Pass::Backward => [re, im, gate, 1.0 - gate],
            }
        }));
    } else {
        weights.extend(program.pairs.iter().flat_map(|&pair| twiddles[pair as usize]));
    }
    KEPT.set(kept);
    let prepared = Prepared { program, soft, weights };
    let result = body(&prepared);
    let mut kept = KEPT.take();
    kept.buffers.push(prepared.weights);
    KEPT.set(kept);
    result
}

/// Runs `body` with `len` values that this thread keeps, all 0.
pub(in crate::cpu) fn with_buffer<R>(len: usize, body: impl FnOnce(&mut [f32]) -> R) -> R {
    let mut kept = KEPT.take();
    let mut buffer = kept.buffers.pop().unwrap_or_default();
    KEPT.set(kept);
    buffer.clear();
    buffer.resize(len, 0.0);
    let result = body(&mut buffer);
    let mut kept = KEPT.take();
    kept.buffers.push(buffer);
    KEPT.set(kept);
    result
}

impl Kept {
    /// The program of a network with closed gates: the last one, if it was for the same.
    fn sparse_program(&mut self, n: usize, read: usize, gates: &[f32]) -> Arc<Program> {
        let alike = |open: &[bool]| open.len() == gates.len() && open.iter().zip(gates).all(|(&o, &g)| o == (g != 0.0));
        if let Some((for_n, for_read, open, program)) = &self.sparse
            && (*for_n, *for_read) == (n, read)
            && alike(open)
        {
            return Arc::clone(program);
        }
        let open: Vec<bool> = gates.iter().map(|&gate| gate != 0.0).collect();
        let program = Arc::new(Program::new(n, &uses(n, read, |pair| open[pair])));
        self.sparse = Some((n, read, open, Arc::clone(&program)));
        program
    }
}

/// The program of a network without closed gates. Made once per process for each length.
fn dense_program(n: usize, read: usize) -> Arc<Program> {
    static PROGRAMS: KeyedCache<(usize, usize), Program> = KeyedCache::new();
    PROGRAMS.get((n, read), || Arc::new(Program::new(n, &uses(n, read, |_| true))))
}
