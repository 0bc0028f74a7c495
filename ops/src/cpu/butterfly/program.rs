//! Program of a butterfly transform: its loops, in order, as plain data.
//!
//! Two stages at a time: the butterflies of stages s and s + 1 join four values, at distances d = 2^s, which stay in
//! registers. Of the four butterflies of such a quad any may be skipped, and quads that skip the same ones are
//! collected in one loop, which has no branch inside. Quads of which one stage is skipped are pairs.
//!
//! Stages whose quads lie within a block of values that the first-level cache holds run block by block.

use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

use crate::cache::Cache;
use crate::cpu::butterfly::ButterflyTransform;
use crate::cpu::runtime::with_vector;

/// Stages that run block by block: 256 values of eight lanes are 16 KiB.
const BLOCK_STAGES: usize = 8;

/// Kind of an element of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cpu) enum ElementKind {
    /// One butterfly, on the values at a place and `distance` further on.
    Pair,
    /// Up to four butterflies, on the values at a place and 1, 2 and 3 times `distance` further on.
    Quad {
        /// Bits 0 and 1: the butterflies of the first stage, on values (0, 1) and (2, 3). Bits 2 and 3: those of the
        /// second, on (0, 2) and (1, 3). Each stage has at least one.
        mask: u8,
    },
}

/// A loop over elements of one kind, which do not depend on each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cpu) struct Step {
    /// Index of the pass over all values that this is part of.
    pub pass: usize,
    pub kind: ElementKind,
    pub distance: usize,
    /// The elements' places, as a range of [`Program::places`].
    pub places: Range<usize>,
    /// The butterflies, as a range of [`Program::pairs`]: those of the first element, then of the second, and so on.
    pub slots: Range<usize>,
}

/// The loops of a transform of length `n`, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cpu) struct Program {
    pub n: usize,
    pub passes: usize,
    pub steps: Vec<Step>,
    pub places: Vec<u32>,
    /// Index in `[log2 n, n / 2]` of the butterfly of each slot.
    pub pairs: Vec<u32>,
    /// Whether every pass writes every value that is read.
    pub dense: bool,
}

/// Elements of one loop while they are collected.
#[derive(Debug, Default)]
struct Bucket {
    places: Vec<u32>,
    pairs: Vec<u32>,
}

/// Pairs of the first and of the second stage, then quads by mask.
const BUCKETS: usize = 2 + 16;

impl Program {
    /// The program of the butterflies, of `[log2 n, n / 2]`, that run.
    pub fn new(n: usize, runs: impl Fn(usize) -> bool) -> Self {
        let stages = n.ilog2() as usize;
        let mut program = Self {
            n,
            passes: stages.div_ceil(2),
            steps: Vec::new(),
            places: Vec::new(),
            pairs: Vec::new(),
            dense: true,
        };
        let mut buckets: [Bucket; BUCKETS] = std::array::from_fn(|_| Bucket::default());
        // Of an odd number of stages the first is a pass alone.
        let first_stage = |pass: usize| if pass == 0 { 0 } else { 2 * pass - stages % 2 };
        let end_stage = |pass: usize| 2 * (pass + 1) - stages % 2;
        // The passes that stay within blocks, block after block; then the others, one after another.
        let blocked = (0..program.passes).take_while(|&pass| end_stage(pass) <= BLOCK_STAGES).count();
        let block = 1 << end_stage(blocked - 1);
        let in_blocks =
            (0..n).step_by(block).flat_map(|start| (0..blocked).map(move |pass| (pass, start..start + block)));
        for (pass, values) in in_blocks.chain((blocked..program.passes).map(|pass| (pass, 0..n))) {
            let stage = first_stage(pass);
            if end_stage(pass) - stage == 1 {
                program.collect_pairs(stage, values, &runs, &mut buckets);
            } else {
                program.collect_quads(stage, values, &runs, &mut buckets);
            }
            program.add_steps(pass, stage, &mut buckets);
        }
        program
    }

    fn collect_pairs(
        &mut self,
        stage: usize,
        values: Range<usize>,
        runs: impl Fn(usize) -> bool,
        buckets: &mut [Bucket; BUCKETS],
    ) {
        let distance = 1 << stage;
        for place in values.filter(|place| place & distance == 0) {
            let pair = self.pair(stage, place);
            if runs(pair) {
                buckets[0].push(place, &[pair]);
            } else {
                self.dense = false;
            }
        }
    }

    /// Collects the quads of a stage and the next.
    fn collect_quads(
        &mut self,
        stage: usize,
        values: Range<usize>,
        runs: impl Fn(usize) -> bool,
        buckets: &mut [Bucket; BUCKETS],
    ) {
        let distance = 1 << stage;
        for place in values.filter(|place| place & (3 * distance) == 0) {
            let places = [place, place + 2 * distance, place, place + distance];
            let pairs: [usize; 4] = std::array::from_fn(|index| self.pair(stage + index / 2, places[index]));
            let runs = pairs.map(&runs);
            let mask = (0..4).filter(|&index| runs[index]).fold(0, |mask, index| mask | 1 << index);
            self.dense &= mask == 0b1111;
            // With one stage skipped, the other's butterflies are pairs.
            if mask & 0b0011 == 0 || mask & 0b1100 == 0 {
                for index in (0..4).filter(|&index| runs[index]) {
                    buckets[index / 2].push(places[index], &pairs[index..=index]);
                }
            } else {
                let bucket = &mut buckets[2 + mask];
                bucket.push(place, &[]);
                bucket.pairs.extend((0..4).filter(|&index| runs[index]).map(|index| pairs[index] as u32));
            }
        }
    }

    /// The butterfly of a stage whose upper value is at `place`.
    fn pair(&self, stage: usize, place: usize) -> usize {
        stage * self.n / 2 + pair_at(stage, place)
    }

    /// Adds a step for every bucket that is not empty, and empties them.
    fn add_steps(&mut self, pass: usize, stage: usize, buckets: &mut [Bucket; BUCKETS]) {
        for (index, bucket) in buckets.iter_mut().enumerate().filter(|(_, bucket)| !bucket.places.is_empty()) {
            let (kind, stage) = match index {
                0..2 => (ElementKind::Pair, stage + index),
                _ => (ElementKind::Quad { mask: (index - 2) as u8 }, stage),
            };
            let (places, slots) = (self.places.len(), self.pairs.len());
            self.places.append(&mut bucket.places);
            self.pairs.append(&mut bucket.pairs);
            self.steps.push(Step {
                pass,
                kind,
                distance: 1 << stage,
                places: places..self.places.len(),
                slots: slots..self.pairs.len(),
            });
        }
    }
}

impl Bucket {
    fn push(&mut self, place: usize, pairs: &[usize]) {
        self.places.push(place as u32);
        self.pairs.extend(pairs.iter().map(|&pair| pair as u32));
    }
}

/// The pair of a stage whose upper value has index `place` in the bit-reversed vector.
pub(in crate::cpu) fn pair_at(stage: usize, place: usize) -> usize {
    let half = 1 << stage;
    (place >> (stage + 1) << stage) | (place & (half - 1))
}

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
    static PROGRAMS: Cache<usize, Arc<Program>> = Cache::new();
    PROGRAMS.get(n, || Arc::new(Program::new(n, |_| true)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_and_places_are_those_of_the_definition() {
        for stage in 0..4 {
            let half = 1 << stage;
            let places = (0..16).filter(|place| place & half == 0);
            assert!(places.map(|place| pair_at(stage, place)).eq(0..8));
        }
    }

    /// Whether a butterfly runs, where every third is closed.
    fn sparse(index: usize) -> bool {
        !index.is_multiple_of(3)
    }

    #[test]
    #[cfg_attr(miri, ignore = "plain loops in safe code, too slow under Miri")]
    fn every_butterfly_that_runs_has_one_slot() {
        for n in (3..=11).map(|stages| 1 << stages) {
            for runs in [sparse as fn(usize) -> bool, |_| true, |_| false] {
                let mut pairs = Program::new(n, runs).pairs;
                pairs.sort_unstable();
                let expected = (0..n.ilog2() as usize * n / 2).filter(|&pair| runs(pair));
                assert!(pairs.into_iter().map(|pair| pair as usize).eq(expected), "n {n}");
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "plain loops in safe code, too slow under Miri")]
    fn stages_come_in_order_at_every_value() {
        for n in [8, 64, 512, 1024] {
            for runs in [sparse as fn(usize) -> bool, |_| true] {
                let program = Program::new(n, runs);
                let mut reached = vec![0; n];
                for step in &program.steps {
                    let places = &program.places[step.places.clone()];
                    let pairs = &program.pairs[step.slots.clone()];
                    for (&place, pairs) in places.iter().zip(pairs.chunks_exact(pairs.len() / places.len())) {
                        for &pair in pairs {
                            let (stage, pair) = (pair as usize / (n / 2), pair as usize % (n / 2));
                            let half = 1 << stage;
                            let a = 2 * (pair & !(half - 1)) + (pair & (half - 1));
                            let within = a - place as usize;
                            assert!(within.is_multiple_of(step.distance) && within / step.distance < 4);
                            for value in [a, a + half] {
                                assert!(reached[value] <= stage, "n {n}, value {value}");
                                reached[value] = stage + 1;
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_dense_program_is_full_quads() {
        let program = Program::new(64, |_| true);
        let quad = ElementKind::Quad { mask: 0b1111 };
        assert!(program.dense && program.passes == 3);
        assert!(program.steps.iter().all(|step| step.kind == quad && step.places.len() == 16));

        // Of an odd number of stages the first is alone.
        let program = Program::new(32, |_| true);
        let kinds: Vec<ElementKind> = program.steps.iter().map(|step| step.kind).collect();
        assert!(program.dense && program.passes == 3);
        assert_eq!(kinds, [ElementKind::Pair, quad, quad]);
    }

    #[test]
    fn quads_that_skip_the_same_butterflies_are_one_loop() {
        // Of stage 0, the first butterflies of quads 0 and 2 of four; of stage 2, all: stage 3 is then pairs.
        let program = Program::new(16, |index| ![0, 4].contains(&index) && !(16..24).contains(&index));
        assert!(!program.dense);
        let found: Vec<_> =
            program.steps.iter().map(|step| (step.pass, step.kind, step.distance, step.places.len())).collect();
        let quad = |mask| ElementKind::Quad { mask };
        let pair = ElementKind::Pair;
        assert_eq!(found, [(0, quad(0b1110), 1, 2), (0, quad(0b1111), 1, 2), (1, pair, 8, 8)]);
        assert_eq!(program.places, [0, 8, 4, 12, 0, 4, 1, 5, 2, 6, 3, 7]);
    }
}
