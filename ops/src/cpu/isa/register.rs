//! Registers of f32 lanes: the operations that kernels need of an instruction set.

use std::fmt::Debug;
use std::ops::{Add, Mul, Sub};

pub(in crate::cpu) const MAX_LANES: usize = 16;

/// Loads, stores and operations lane by lane.
///
/// A value proves that the processor has the instructions of its type. Only functions with an argument of the type's
/// [`Token`](Self::Token) make values, and only detection at run time makes tokens. Methods on values are therefore
/// safe.
///
/// Operations on keys treat the lanes' bits as unsigned integers.
///
/// # Safety
/// `Self` must be plain data without padding, made of `ROWS * LANES` f32 and nothing else, for which any bits are
/// valid. A `Token` must exist only where the processor has every instruction that the methods use.
pub(in crate::cpu) unsafe trait Lanewise:
    Copy + Debug + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + 'static
{
    /// Lanes of a row.
    const LANES: usize;
    /// Rows side by side, 1 or 2.
    const ROWS: usize = 1;
    /// The radix of the first pass over columns: 16 where there are 32 registers, or 4.
    const RADIX: usize;
    /// Proof that the processor has the instructions, without size.
    type Token: Copy + Debug;
    /// `[f32; LANES]`.
    type Array: Copy + Default + AsRef<[f32]> + AsMut<[f32]>;

    /// The token that this value proves.
    fn token(self) -> Self::Token;
    /// `values` cut into arrays; what is left over at the end is dropped.
    fn arrays(values: &[f32]) -> &[Self::Array];
    /// As [`Lanewise::arrays`].
    fn arrays_mut(values: &mut [f32]) -> &mut [Self::Array];
    /// `value` in every lane.
    fn splat(token: Self::Token, value: f32) -> Self;
    /// `values` in every row.
    fn load(token: Self::Token, values: &Self::Array) -> Self;
    /// The first row.
    fn store(self, into: &mut Self::Array);

    /// `self * factor + addend`.
    fn mul_add(self, factor: Self, addend: Self) -> Self;
    /// `self * factor - subtrahend`.
    fn mul_sub(self, factor: Self, subtrahend: Self) -> Self;
    /// `minuend - self * factor`.
    fn neg_mul_add(self, factor: Self, minuend: Self) -> Self;

    /// The unsigned integers `first`, `first - 1`, `first - 2`, … as the bits of every row's lanes; below 0 they wrap.
    fn descending(token: Self::Token, first: u32) -> Self;
    /// The lanes' bits with those of `mask` cleared, and those of `low` in their place.
    fn with_low_bits(self, mask: u32, low: Self) -> Self;
    /// The lanes' bits inverted, and those outside `mask` cleared.
    fn inverted_bits(self, mask: u32) -> Self;
    /// The lanes' bits as keys in the order of their values: those of negative values inverted, the sign of others set.
    fn ordered(self) -> Self;
    /// The greater key of each lane.
    fn key_max(self, other: Self) -> Self;
    /// The lesser key of each lane.
    fn key_min(self, other: Self) -> Self;
    /// Bit `i` is set if lane `i` of the first row of both agrees outside `mask`.
    fn equal_outside(self, other: Self, mask: u32) -> u32;

    /// Runs `kernel` in a function of its own that is compiled for this set.
    fn call_shared(token: Self::Token, kernel: impl SharedKernel);
}

/// Register of f32 lanes: one row, or two side by side.
///
/// A row's lanes are `LANES / 4` quads of 4 lanes. An operation does the same to every row, and moves nothing from one
/// row to the other. Methods on quads are by default those of registers with one quad.
pub(in crate::cpu) trait Register: Lanewise {
    /// The register with all lanes in one row, if there is one as wide.
    type OneRow: Register<Token = Self::Token>;

    /// Values of each row, of which only `ROWS` count.
    #[inline(always)]
    fn load_rows(token: Self::Token, [first, _]: [&Self::Array; 2]) -> Self {
        Self::load(token, first)
    }
    /// Stores each row, of which there are `ROWS`.
    #[inline(always)]
    fn store_rows(self, [first, _]: [&mut Self::Array; 2]) {
        self.store(first);
    }
    /// Quad `q` from `quads[q]`, of which only as many count as the register has quads.
    #[inline(always)]
    fn from_quads(token: Self::Token, [quad, ..]: [&[f32; 4]; 4]) -> Self {
        Self::load(token, &Self::arrays(quad)[0])
    }
    /// Quad `q` for each `q`; quads that the register does not have are 0.
    #[inline(always)]
    fn into_quads(self) -> [[f32; 4]; 4] {
        let mut quads = [[0.0; 4]; 4];
        self.store(&mut Self::arrays_mut(&mut quads[0])[0]);
        quads
    }

    /// The 4 x 4 matrices of each quad transposed: lane `4 q + i` of result `j` is lane `4 q + j` of `rows[i]`.
    fn transpose_quads(rows: [Self; 4]) -> [Self; 4];
    /// The square matrix of quads transposed, of which `rows` are `LANES / 16` or, with two quads, two: quad `i` of
    /// result `j` is quad `j` of `rows[i]`. With two quads, rows 0 and 1 are one matrix, and rows 2 and 3 another;
    /// with one, nothing moves.
    #[inline(always)]
    fn exchange_quads(rows: [Self; 4]) -> [Self; 4] {
        rows
    }
    /// The 4 x 4 matrices that quad `m` of the four rows makes, transposed, for each `m`: lane `4 q + i` of result `m` is
    /// lane `4 m + q` of `rows[i]`. Result 0 begins with lane 0 of each row, then lane 1 of each.
    ///
    /// Only registers of sixteen lanes have it.
    #[inline(always)]
    fn transpose_across_quads(_rows: [Self; 4]) -> [Self; 4] {
        unreachable!("a register of four quads")
    }
    /// The even and the odd lanes of `self` and `next` together, in order.
    fn deinterleave(self, next: Self) -> (Self, Self);
    /// The lanes from last to first.
    fn reverse(self) -> Self;
    /// Lane 0 of `next`, then the lanes of `self` from the last down to lane 1.
    fn mirror(self, next: Self) -> Self;
    /// The last lane of `before`, then the lanes of `self` but the last.
    fn shifted_up(self, before: Self) -> Self;
    /// The lanes of `self` but the first, then lane 0 of `after`.
    fn shifted_down(self, after: Self) -> Self;

    /// `values[i]` for the bits i of each lane of the first row as an unsigned integer, or 0 where there is no such value.
    #[inline(always)]
    fn gather(self, values: &[f32]) -> Self {
        gather_lane_by_lane(self, values)
    }

    /// Prefetches the cache line at `address`, which need not be valid.
    #[inline(always)]
    fn prefetch(address: *const f32) {
        let _ = address;
    }
}

/// [`Register::gather`], lane by lane.
#[inline(always)]
pub(in crate::cpu::isa) fn gather_lane_by_lane<V: Lanewise>(at: V, values: &[f32]) -> V {
    let mut lanes = V::Array::default();
    at.store(&mut lanes);
    for lane in lanes.as_mut() {
        let at = lane.to_bits() as usize;
        *lane = if at < values.len() { values[at] } else { 0.0 };
    }
    V::load(at.token(), &lanes)
}

/// As many values as a register has lanes, or fewer, the other lanes being 0.
#[inline(always)]
pub(in crate::cpu) fn load_some<V: Register>(token: V::Token, values: &[f32]) -> V {
    if let Some(all) = V::arrays(values).first() {
        return V::load(token, all);
    }
    let mut lanes = V::Array::default();
    for (lane, value) in lanes.as_mut().iter_mut().zip(values) {
        *lane = *value;
    }
    V::load(token, &lanes)
}

/// Stores as many lanes as there are values.
#[inline(always)]
pub(in crate::cpu) fn store_some<V: Register>(register: V, values: &mut [f32]) {
    if let Some(all) = V::arrays_mut(values).first_mut() {
        return register.store(all);
    }
    let mut lanes = V::Array::default();
    register.store(&mut lanes);
    for (value, lane) in values.iter_mut().zip(lanes.as_ref()) {
        *value = *lane;
    }
}

/// Part of a kernel that is compiled once for each register type and called from several kernels: see
/// [`Lanewise::call_shared`]. `run` and everything it calls must be inlined, as in a [`Kernel`](super::Kernel).
pub(in crate::cpu) trait SharedKernel {
    fn run(self);
}

/// Register of complex values. Its layout is that of two registers.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(in crate::cpu) struct Complex<V> {
    pub re: V,
    pub im: V,
}

impl<V: Register> Complex<V> {
    #[inline(always)]
    pub fn zero(token: V::Token) -> Self {
        Self { re: V::splat(token, 0.0), im: V::splat(token, 0.0) }
    }

    /// [`Register::transpose_quads`] of both parts.
    #[inline(always)]
    pub fn transpose_quads([a, b, c, d]: [Self; 4]) -> [Self; 4] {
        Self::of_parts(V::transpose_quads([a.re, b.re, c.re, d.re]), V::transpose_quads([a.im, b.im, c.im, d.im]))
    }

    /// [`Register::exchange_quads`] of both parts.
    #[inline(always)]
    pub fn exchange_quads([a, b, c, d]: [Self; 4]) -> [Self; 4] {
        Self::of_parts(V::exchange_quads([a.re, b.re, c.re, d.re]), V::exchange_quads([a.im, b.im, c.im, d.im]))
    }

    /// [`Register::transpose_across_quads`] of both parts.
    #[inline(always)]
    pub fn transpose_across_quads([a, b, c, d]: [Self; 4]) -> [Self; 4] {
        Self::of_parts(
            V::transpose_across_quads([a.re, b.re, c.re, d.re]),
            V::transpose_across_quads([a.im, b.im, c.im, d.im]),
        )
    }

    #[inline(always)]
    fn of_parts(re: [V; 4], im: [V; 4]) -> [Self; 4] {
        let [a, b, c, d] = re;
        let [a_im, b_im, c_im, d_im] = im;
        [Self { re: a, im: a_im }, Self { re: b, im: b_im }, Self { re: c, im: c_im }, Self { re: d, im: d_im }]
    }

    #[inline(always)]
    pub fn plus(self, other: Self) -> Self {
        Self { re: self.re + other.re, im: self.im + other.im }
    }

    #[inline(always)]
    pub fn minus(self, other: Self) -> Self {
        Self { re: self.re - other.re, im: self.im - other.im }
    }

    /// `self + i other`.
    #[inline(always)]
    pub fn plus_i(self, other: Self) -> Self {
        Self { re: self.re - other.im, im: self.im + other.re }
    }

    /// `self - i other`.
    #[inline(always)]
    pub fn minus_i(self, other: Self) -> Self {
        Self { re: self.re + other.im, im: self.im - other.re }
    }

    #[inline(always)]
    pub fn times(self, other: Self) -> Self {
        Self { re: self.re.mul_sub(other.re, self.im * other.im), im: self.re.mul_add(other.im, self.im * other.re) }
    }

    /// Re `self` `other`*.
    #[inline(always)]
    pub fn product(self, other: Self) -> V {
        self.im.mul_add(other.im, self.re * other.re)
    }

    /// Re `self` `other`* + `sum`.
    #[inline(always)]
    pub fn product_plus(self, other: Self, sum: V) -> V {
        self.im.mul_add(other.im, self.re.mul_add(other.re, sum))
    }

    /// `self + factor other`.
    #[inline(always)]
    pub fn plus_scaled(self, factor: V, other: Self) -> Self {
        Self { re: other.re.mul_add(factor, self.re), im: other.im.mul_add(factor, self.im) }
    }

    /// `self - factor other`.
    #[inline(always)]
    pub fn minus_scaled(self, factor: V, other: Self) -> Self {
        Self { re: other.re.neg_mul_add(factor, self.re), im: other.im.neg_mul_add(factor, self.im) }
    }

    /// `self + i factor other`.
    #[inline(always)]
    pub fn plus_i_scaled(self, factor: V, other: Self) -> Self {
        Self { re: other.im.neg_mul_add(factor, self.re), im: other.re.mul_add(factor, self.im) }
    }

    /// `self - i factor other`.
    #[inline(always)]
    pub fn minus_i_scaled(self, factor: V, other: Self) -> Self {
        Self { re: other.im.mul_add(factor, self.re), im: other.re.neg_mul_add(factor, self.im) }
    }
}
