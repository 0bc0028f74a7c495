//! Gated butterfly transform in plain loops, laid out for long inner loops.
//!
//! In bit-reversed order the first stages join neighbours, which leaves inner loops of one or two pairs. So the first
//! half of the stages runs on the vector in natural order, where the pairs of stage s lie n / 2^(s+1) apart; then the
//! vector is put in bit-reversed order, and the other stages run as defined, their pairs 2^s apart. No distance is
//! less than √n / 2, and every value goes through the same arithmetic as by the definition.

use std::sync::Arc;

use crate::cpu::butterfly::arguments::ButterflyTransform;
use crate::cpu::butterfly::bit_reversal::bit_reversal;
use crate::cpu::real::Real;
use crate::cpu::runtime::tasks::Tasks;
use crate::cpu::scalar::split::{Split, SplitMut};
use crate::cpu::scalar::stage::{self, StageWeights, WeightSums};

/// As [`butterfly`](crate::cpu::butterfly()).
pub(in crate::cpu) fn butterfly<T: Real>(
    re: &[T],
    im: &[T],
    transform: &ButterflyTransform<'_, T>,
    out_re: &mut [T],
    out_im: &mut [T],
) {
    let n = transform.n;
    let schedule = Schedule::new(transform);
    let tasks = Tasks::independent(re.len() / n, schedule.work());
    let len = tasks.rows * n;
    let pieces = (re.chunks(len).zip(im.chunks(len))).zip(out_re.chunks_mut(len).zip(out_im.chunks_mut(len)));
    tasks.run(pieces, |((re, im), (out_re, out_im))| {
        T::with_scratch(|scratch| {
            let work = scratch.real(4 * n);
            let inputs = re.chunks_exact(n).zip(im.chunks_exact(n));
            let outputs = out_re.chunks_exact_mut(n).zip(out_im.chunks_exact_mut(n));
            for ((re, im), (out_re, out_im)) in inputs.zip(outputs) {
                schedule.forward(Split { re, im }, work, SplitMut { re: out_re, im: out_im });
            }
        });
    });
}

/// Order of a transform's stages and pairs, with weights in that order, shared by every row of a call.
pub(in crate::cpu) struct Schedule<T> {
    pub n: usize,
    pub stages: usize,
    /// Stages that run in natural order.
    early: usize,
    order: Arc<[u32]>,
    /// Twiddles in the order of the schedule's pairs: `[stages, n / 2]` real parts, then imaginary parts.
    twiddles: Vec<T>,
    gates: Option<Vec<T>>,
}

impl<T: Real> Schedule<T> {
    pub fn new(transform: &ButterflyTransform<'_, T>) -> Self {
        let n = transform.n;
        let stages = n.ilog2() as usize;
        debug_assert!(n.is_power_of_two() && n >= 4);
        debug_assert_eq!(transform.twiddles.len(), stages * n);
        debug_assert!(transform.gates.is_none_or(|gates| gates.len() == stages * n / 2));
        let mut schedule =
            Self { n, stages, early: stages / 2, order: bit_reversal(n), twiddles: Vec::new(), gates: None };
        let mut twiddles = vec![T::zero(); stages * n];
        let (re, im) = twiddles.split_at_mut(stages * n / 2);
        schedule.for_pairs(|here, defined| {
            re[here] = transform.twiddles[2 * defined];
            im[here] = transform.twiddles[2 * defined + 1];
        });
        schedule.gates = transform.gates.map(|gates| {
            let mut ordered = gates.to_vec();
            schedule.for_pairs(|here, defined| ordered[here] = gates[defined]);
            ordered
        });
        schedule.twiddles = twiddles;
        schedule
    }

    /// Butterflies of one transform.
    pub fn work(&self) -> usize {
        self.stages * self.pairs()
    }

    /// Pairs of a stage.
    fn pairs(&self) -> usize {
        self.n / 2
    }

    fn distance(&self, stage: usize) -> usize {
        if stage < self.early { self.n >> (stage + 1) } else { 1 << stage }
    }

    fn weights(&self, stage: usize) -> StageWeights<'_, T> {
        let pairs = stage * self.pairs()..(stage + 1) * self.pairs();
        let twiddles = Split::of(&self.twiddles);
        StageWeights {
            twiddle: Split { re: &twiddles.re[pairs.clone()], im: &twiddles.im[pairs.clone()] },
            gates: self.gates.as_deref().map(|gates| &gates[pairs]),
        }
    }

    /// Calls `body` with the index of every pair in the schedule's order and in the definition's.
    ///
    /// An early stage's pair m is, whatever the stage, the bit reversal of m in log2 n − 1 bits.
    fn for_pairs(&self, mut body: impl FnMut(usize, usize)) {
        let pairs = self.pairs();
        for first in (0..self.early).map(|stage| stage * pairs) {
            for (pair, &reversed) in self.order[..pairs].iter().enumerate() {
                body(first + pair, first + reversed as usize / 2);
            }
        }
        for pair in self.early * pairs..self.stages * pairs {
            body(pair, pair);
        }
    }

    /// Puts a vector in bit-reversed order. Doing it twice changes nothing.
    fn reverse(&self, input: Split<'_, T>, output: SplitMut<'_, T>) {
        let input = Split { re: &input.re[..self.n], im: &input.im[..self.n] };
        for ((re, im), &from) in output.re.iter_mut().zip(output.im).zip(&*self.order) {
            *re = input.re[from as usize];
            *im = input.im[from as usize];
        }
    }

    fn stage(&self, stage: usize, input: Split<'_, T>, output: SplitMut<'_, T>) {
        stage::forward(self.distance(stage), self.weights(stage), input, output);
    }

    /// The transform's output. `work` has 4 n values.
    pub fn forward(&self, input: Split<'_, T>, work: &mut [T], output: SplitMut<'_, T>) {
        // The early stages, in natural order.
        let (here, there) = work.split_at_mut(2 * self.n);
        let (mut here, mut there) = (SplitMut::of(here), SplitMut::of(there));
        self.stage(0, input, here.reborrow());
        for stage in 1..self.early {
            self.stage(stage, here.read(), there.reborrow());
            std::mem::swap(&mut here, &mut there);
        }
        // The others, in bit-reversed order; the last one writes the output.
        self.reverse(here.read(), there.reborrow());
        std::mem::swap(&mut here, &mut there);
        for stage in self.early..self.stages - 1 {
            self.stage(stage, here.read(), there.reborrow());
            std::mem::swap(&mut here, &mut there);
        }
        self.stage(self.stages - 1, here.read(), output);
    }

    /// Values that [`Self::forward_levels`] stores.
    pub fn levels_len(&self) -> usize {
        self.stages * 2 * self.n
    }

    /// As [`Self::forward`], storing the outputs of all stages: `levels` `[stages, 2, n]`, the transform's output last.
    /// `work` has 2 n values.
    pub fn forward_levels(&self, input: Split<'_, T>, levels: &mut [T], work: &mut [T]) {
        for stage in 0..self.stages {
            let (before, level) = levels.split_at_mut(stage * 2 * self.n);
            let input = self.stage_input(stage, input, before);
            let level = SplitMut::of(&mut level[..2 * self.n]);
            if stage + 1 == self.early {
                let mut natural = SplitMut::of(work);
                self.stage(stage, input, natural.reborrow());
                self.reverse(natural.read(), level);
            } else {
                self.stage(stage, input, level);
            }
        }
    }

    fn stage_input<'v>(&self, stage: usize, input: Split<'v, T>, levels: &'v [T]) -> Split<'v, T> {
        match stage.checked_sub(1) {
            None => input,
            Some(before) => Split::of(&levels[before * 2 * self.n..stage * 2 * self.n]),
        }
    }

    /// Turns `grad`, the gradient of the output, into the gradient of `input`, and adds those of twiddles and gates to
    /// `sums`, if it is given. `levels` is the output of [`Self::forward_levels`] (not read without `sums`); `work` has
    /// 2 n values.
    pub fn backward(
        &self,
        input: Split<'_, T>,
        levels: &[T],
        mut grad: SplitMut<'_, T>,
        work: &mut [T],
        mut sums: Option<&mut ScheduleSums<'_, T>>,
    ) {
        for stage in (0..self.stages).rev() {
            // Between the two halves the gradient goes back from bit-reversed to natural order.
            if stage + 1 == self.early {
                let mut natural = SplitMut::of(work);
                self.reverse(grad.read(), natural.reborrow());
                grad.re.copy_from_slice(natural.re);
                grad.im.copy_from_slice(natural.im);
            }
            let (distance, weights) = (self.distance(stage), self.weights(stage));
            match &mut sums {
                None => stage::backward(distance, weights, grad.reborrow()),
                Some(sums) => {
                    let input = self.stage_input(stage, input, levels);
                    let sums = sums.stage(stage, self.pairs());
                    stage::backward_with_sums(distance, weights, input, grad.reborrow(), sums);
                }
            }
        }
    }

    /// Values in [`ScheduleSums`].
    pub fn sums_len(&self) -> usize {
        self.stages * self.n + self.gates.as_ref().map_or(0, Vec::len)
    }

    /// Overwrites the gradients of a [`ButterflyTransform`]'s twiddles and gates, each if given, with `sums`.
    pub fn write_gradients(&self, sums: &[T], twiddles: Option<&mut [T]>, gates: Option<&mut [T]>) {
        let (twiddle_sums, gate_sums) = sums.split_at(self.stages * self.n);
        if let Some(twiddles) = twiddles {
            let sums = Split::of(twiddle_sums);
            self.for_pairs(|here, defined| {
                twiddles[2 * defined] = sums.re[here];
                twiddles[2 * defined + 1] = sums.im[here];
            });
        }
        if let Some(gates) = gates {
            self.for_pairs(|here, defined| gates[defined] = gate_sums[here]);
        }
    }
}

/// Sums for the gradients of twiddles and gates, in a schedule's order of pairs.
pub(in crate::cpu) struct ScheduleSums<'a, T> {
    twiddle: SplitMut<'a, T>,
    gates: &'a mut [T],
}

impl<'a, T: Real> ScheduleSums<'a, T> {
    /// Cuts a buffer of [`Schedule::sums_len`] values.
    pub fn of(schedule: &Schedule<T>, buffer: &'a mut [T]) -> Self {
        let (twiddle, gates) = buffer.split_at_mut(schedule.stages * schedule.n);
        Self { twiddle: SplitMut::of(twiddle), gates }
    }

    fn stage(&mut self, stage: usize, pairs: usize) -> WeightSums<'_, T> {
        let range = stage * pairs..(stage + 1) * pairs;
        WeightSums {
            twiddle: SplitMut { re: &mut self.twiddle.re[range.clone()], im: &mut self.twiddle.im[range.clone()] },
            gates: self.gates.get_mut(range).unwrap_or_default(),
        }
    }
}
