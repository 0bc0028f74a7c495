//! The gated butterfly network, laid out for long inner loops.
//!
//! In bit-reversed order the first stages join neighbours, which leaves inner loops of one or two pairs. So the first
//! half of the stages runs on the vector in natural order, where the pairs of stage s lie n / 2^(s+1) apart; then the
//! vector is put in bit-reversed order, and the other stages run as defined, their pairs 2^s apart. No distance is
//! less than √n / 2, and every value goes through the same arithmetic as by the definition.

use std::sync::Arc;

use super::once::Once;
use super::real::Real;
use super::split::{Split, SplitMut};
use super::stage::{self, WeightSums, Weights};

/// A gated butterfly network of length `n`, a power of two that is at least 4.
///
/// Stage s, of log2 n, works on the vector in bit-reversed order. With half = 2^s, its pair p = block · half + j joins
/// a = v\[2 block half + j\] and b = v\[2 block half + j + half\]: with t = w b, a' = a + g t and
/// b' = g (a − t) + (1 − g) b. With g = 0 that is the identity, also of values that are not finite. The exact twiddle is
/// exp(−2πi j / (2 half)); with exact twiddles and open gates the network is the unnormalised forward DFT (Cooley and
/// Tukey, 1965).
#[derive(Debug, Clone, Copy)]
pub struct Network<'a, T> {
    /// Length of the transform.
    pub n: usize,
    /// w, as `[log2 n, n / 2, 2]`: real part, imaginary part.
    pub twiddles: &'a [T],
    /// g, as `[log2 n, n / 2]`; every gate is 1 if absent.
    pub gates: Option<&'a [T]>,
}

impl<'a, T: Real> Network<'a, T> {
    /// The network if it is of f32.
    pub(super) fn as_f32(&self) -> Option<Network<'a, f32>> {
        let gates = match self.gates {
            Some(gates) => Some(T::as_f32(gates)?),
            None => None,
        };
        Some(Network { n: self.n, twiddles: T::as_f32(self.twiddles)?, gates })
    }
}

/// A network as the rows of a call run it.
pub(super) struct Schedule<T> {
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
    pub fn new(network: &Network<'_, T>) -> Self {
        let n = network.n;
        let stages = n.ilog2() as usize;
        debug_assert!(n.is_power_of_two() && n >= 4);
        debug_assert_eq!(network.twiddles.len(), stages * n);
        debug_assert!(network.gates.is_none_or(|gates| gates.len() == stages * n / 2));
        let mut schedule =
            Self { n, stages, early: stages / 2, order: bit_reversal(n), twiddles: Vec::new(), gates: None };
        let mut twiddles = vec![T::zero(); stages * n];
        let (re, im) = twiddles.split_at_mut(stages * n / 2);
        schedule.for_pairs(|here, defined| {
            re[here] = network.twiddles[2 * defined];
            im[here] = network.twiddles[2 * defined + 1];
        });
        schedule.gates = network.gates.map(|gates| {
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

    fn weights(&self, stage: usize) -> Weights<'_, T> {
        let pairs = stage * self.pairs()..(stage + 1) * self.pairs();
        let twiddles = Split::of(&self.twiddles);
        Weights {
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

    /// The network's output. `work` has 4 n values.
    pub fn forward(&self, input: Split<'_, T>, work: &mut [T], output: SplitMut<'_, T>) {
        let (here, there) = work.split_at_mut(2 * self.n);
        let (mut here, mut there) = (SplitMut::of(here), SplitMut::of(there));
        self.stage(0, input, here.reborrow());
        for stage in 1..self.early {
            self.stage(stage, here.read(), there.reborrow());
            std::mem::swap(&mut here, &mut there);
        }
        self.reverse(here.read(), there.reborrow());
        std::mem::swap(&mut here, &mut there);
        for stage in self.early..self.stages - 1 {
            self.stage(stage, here.read(), there.reborrow());
            std::mem::swap(&mut here, &mut there);
        }
        self.stage(self.stages - 1, here.read(), output);
    }

    /// Values [`Self::forward_levels`] keeps.
    pub fn levels_len(&self) -> usize {
        self.stages * 2 * self.n
    }

    /// As [`Self::forward`], keeping the outputs of all stages: `levels` `[stages, 2, n]`, the network's output last.
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
    /// `sums`, if it is given. `levels` is what [`Self::forward_levels`] kept (not read without `sums`); `work` has 2 n
    /// values.
    pub fn backward(
        &self,
        input: Split<'_, T>,
        levels: &[T],
        mut grad: SplitMut<'_, T>,
        work: &mut [T],
        mut sums: Option<&mut ScheduleSums<'_, T>>,
    ) {
        for stage in (0..self.stages).rev() {
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

    /// Overwrites the gradients of a [`Network`]'s twiddles and gates, each if given, with `sums`.
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
pub(super) struct ScheduleSums<'a, T> {
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

/// `order[i]`: i with its log2 n bits reversed. Made once per process for each n.
pub(super) fn bit_reversal(n: usize) -> Arc<[u32]> {
    static ORDERS: Once<usize, [u32]> = Once::new();
    let shift = u32::BITS - n.ilog2();
    ORDERS.get(n, || (0..n as u32).map(|i| i.reverse_bits() >> shift).collect())
}
