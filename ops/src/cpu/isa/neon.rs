//! Registers of four lanes: NEON.

use std::arch::aarch64::*;

use crate::cpu::isa::lanewise::{intrinsic, lanewise, token};
use crate::cpu::isa::register::Register;

token! {
    /// Proof that this processor has NEON.
    NeonToken, detected by std::arch::is_aarch64_feature_detected!("neon"), features "neon"
}

lanewise! {
    /// One row of four lanes.
    Neon(float32x4_t): 4 lanes, 1 rows, radix 4, NeonToken;
    load(from) = vld1q_f32(from);
    store(into, value) = vst1q_f32(into, value);
    splat(value) = vdupq_n_f32(value);
    add(a, b) = vaddq_f32(a, b);
    sub(a, b) = vsubq_f32(a, b);
    mul(a, b) = vmulq_f32(a, b);
    mul_add(a, b, c) = vfmaq_f32(c, a, b);
    mul_sub(a, b, c) = vfmaq_f32(vnegq_f32(c), a, b);
    neg_mul_add(a, b, c) = vfmsq_f32(c, a, b);
    keys vreinterpretq_u32_f32, vreinterpretq_f32_u32;
    descending(first) = {
        const LANES: [u32; 4] = [0, 1, 2, 3];
        vsubq_u32(vdupq_n_u32(first), vld1q_u32(LANES.as_ptr()))
    };
    with_low_bits(a, mask, low) = vorrq_u32(vbicq_u32(a, vdupq_n_u32(mask)), low);
    inverted_bits(a, mask) = vbicq_u32(vdupq_n_u32(mask), a);
    ordered(a) = {
        let sign = vreinterpretq_u32_s32(vshrq_n_s32::<31>(vreinterpretq_s32_u32(a)));
        veorq_u32(a, vorrq_u32(sign, vdupq_n_u32(1 << 31)))
    };
    key_max(a, b) = vmaxq_u32(a, b);
    key_min(a, b) = vminq_u32(a, b);
    equal_outside(a, b, mask) = {
        const LANES: [u32; 4] = [1, 2, 4, 8];
        let outside = vbicq_u32(veorq_u32(a, b), vdupq_n_u32(mask));
        vaddvq_u32(vandq_u32(vceqzq_u32(outside), vld1q_u32(LANES.as_ptr())))
    };
}

impl Register for Neon {
    type OneRow = Self;

    #[inline(always)]
    fn transpose_quads([a, b, c, d]: [Self; 4]) -> [Self; 4] {
        intrinsic!({
            // Pairs of lanes as one f64 each.
            let (ab_even, ab_odd) =
                (vreinterpretq_f64_f32(vtrn1q_f32(a.0, b.0)), vreinterpretq_f64_f32(vtrn2q_f32(a.0, b.0)));
            let (cd_even, cd_odd) =
                (vreinterpretq_f64_f32(vtrn1q_f32(c.0, d.0)), vreinterpretq_f64_f32(vtrn2q_f32(c.0, d.0)));
            [
                Self(vreinterpretq_f32_f64(vtrn1q_f64(ab_even, cd_even))),
                Self(vreinterpretq_f32_f64(vtrn1q_f64(ab_odd, cd_odd))),
                Self(vreinterpretq_f32_f64(vtrn2q_f64(ab_even, cd_even))),
                Self(vreinterpretq_f32_f64(vtrn2q_f64(ab_odd, cd_odd))),
            ]
        })
    }

    #[inline(always)]
    fn deinterleave(self, next: Self) -> (Self, Self) {
        intrinsic!((Self(vuzp1q_f32(self.0, next.0)), Self(vuzp2q_f32(self.0, next.0))))
    }

    #[inline(always)]
    fn reverse(self) -> Self {
        intrinsic!({
            let swapped = vrev64q_f32(self.0);
            Self(vextq_f32::<2>(swapped, swapped))
        })
    }

    #[inline(always)]
    fn mirror(self, next: Self) -> Self {
        Self(intrinsic!(vextq_f32::<3>(vdupq_laneq_f32::<0>(next.0), self.reverse().0)))
    }

    #[inline(always)]
    fn shifted_up(self, before: Self) -> Self {
        Self(intrinsic!(vextq_f32::<3>(before.0, self.0)))
    }

    #[inline(always)]
    fn shifted_down(self, after: Self) -> Self {
        Self(intrinsic!(vextq_f32::<1>(self.0, after.0)))
    }
}
