//! Sums over rows: over the tiles of a block in every lane, then over the lanes, then over blocks.

use crate::cpu::butterfly::prepared::PreparedButterfly;
use crate::cpu::isa::register::Register;

/// The sum over lanes of each register.
#[inline(always)]
pub(in crate::cpu) fn sum_lanes<V: Register>(token: V::Token, registers: &[V], into: &mut [f32]) {
    for (registers, into) in registers.chunks(4).zip(into.chunks_mut(4)) {
        let mut four = [V::splat(token, 0.0); 4];
        four[..registers.len()].copy_from_slice(registers);
        // Transposed, lane i of each quad belongs to register i.
        let [a, b, c, d] = V::transpose_quads(four);
        let quads = ((a + b) + (c + d)).into_quads();
        for (i, into) in into.iter_mut().enumerate() {
            *into = quads.iter().take(V::LANES / 4).map(|quad| quad[i]).sum();
        }
    }
}

/// Overwrites the gradients of a transform's twiddles and gates, each if given, with the sums `[slots, sums_per_slot]`
/// of a program's slots. The gradient of a butterfly without a slot is 0.
pub(in crate::cpu) fn write_gradients(
    prepared: &PreparedButterfly<'_>,
    sums: &[f32],
    sums_per_slot: usize,
    mut twiddles: Option<&mut [f32]>,
    mut gates: Option<&mut [f32]>,
) {
    if let Some(twiddles) = &mut twiddles {
        twiddles.fill(0.0);
    }
    if let Some(gates) = &mut gates {
        gates.fill(0.0);
    }
    for (&pair, sums) in prepared.program.pairs.iter().zip(sums.chunks_exact(sums_per_slot)) {
        let pair = pair as usize;
        if let Some(twiddles) = &mut twiddles {
            twiddles[2 * pair..2 * pair + 2].copy_from_slice(&sums[..2]);
        }
        if let Some(gates) = &mut gates {
            gates[pair] = sums[2];
        }
    }
}
