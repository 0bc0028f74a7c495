//! Sums over rows: over the tiles of a block in every lane, then over the lanes, then over blocks.

use crate::cpu::butterfly::prepared::Prepared;
use crate::cpu::isa::register::Lanes;

/// The sum over lanes of each register.
#[inline(always)]
pub(in crate::cpu) fn over_lanes<V: Lanes>(registers: &[V], into: &mut [f32]) {
    for (registers, into) in registers.chunks(4).zip(into.chunks_mut(4)) {
        let mut four = [V::splat(0.0); 4];
        four[..registers.len()].copy_from_slice(registers);
        let [a, b, c, d] = V::transpose_quads(four);
        // Lane i of each quad now belongs to register i.
        let quads = ((a + b) + (c + d)).into_quads();
        for (i, into) in into.iter_mut().enumerate() {
            *into = quads.iter().take(V::COUNT / 4).map(|quad| quad[i]).sum();
        }
    }
}

/// Overwrites the gradients of a network's twiddles and gates, each if given, with the sums `[slots, sums_a_slot]` of a
/// program's slots. What no slot is for has no gradient.
pub(in crate::cpu) fn write_gradients(
    prepared: &Prepared,
    sums: &[f32],
    sums_a_slot: usize,
    mut twiddles: Option<&mut [f32]>,
    mut gates: Option<&mut [f32]>,
) {
    if let Some(twiddles) = &mut twiddles {
        twiddles.fill(0.0);
    }
    if let Some(gates) = &mut gates {
        gates.fill(0.0);
    }
    for (&pair, sums) in prepared.program.pairs.iter().zip(sums.chunks_exact(sums_a_slot)) {
        let pair = pair as usize;
        if let Some(twiddles) = &mut twiddles {
            twiddles[2 * pair..2 * pair + 2].copy_from_slice(&sums[..2]);
        }
        if let Some(gates) = &mut gates {
            gates[pair] = sums[2];
        }
    }
}
