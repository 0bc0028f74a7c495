//! Blocks of bins that a learned gain leaves open: only they are searched for peaks.

use std::ops::Range;

/// The fewest bins of a block: as many as a register or the units of a row take at once.
pub(crate) const SHORTEST_BLOCK: usize = 16;
/// The most blocks of a row.
const MOST_BLOCKS: usize = u128::BITS as usize;

/// Bins of a block where `bins` are searched: 16, or the least power of two that makes no more than 128 blocks.
#[inline(always)]
pub(crate) const fn block_len(bins: usize) -> usize {
    let mut len = SHORTEST_BLOCK;
    while bins / len > MOST_BLOCKS {
        len *= 2;
    }
    len
}

/// Number of blocks where `bins` are searched. The bins that are left behind whole blocks belong to the last.
#[inline(always)]
pub(crate) const fn blocks(bins: usize) -> usize {
    let whole = bins / block_len(bins);
    if whole > 0 { whole } else { 1 }
}

/// A bit for each block of the bins that are searched: whether it is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct OpenBlocks(u128);

impl OpenBlocks {
    /// Every block is open.
    pub const ALL: Self = Self(u128::MAX);

    /// The blocks of the bins `searched` with a gain `[bins, taps]` that is not 0 throughout; all of them if they had
    /// fewer than `k` bins.
    pub fn of_gain<T: num_traits::Zero>(gain: &[T], taps: usize, searched: Range<usize>, k: usize) -> Self {
        let bins = searched.len();
        let gain = &gain[searched.start * taps..searched.end * taps];
        let mut open = Self(0);
        let mut open_bins = 0;
        for block in 0..blocks(bins) {
            let bins = block_range(block, bins);
            if gain[bins.start * taps..bins.end * taps].iter().any(|factor| !factor.is_zero()) {
                open.0 |= 1 << block;
                open_bins += bins.len();
            }
        }
        let is_all = open_bins == bins || open_bins < k;
        if is_all { Self::ALL } else { open }
    }

    /// Whether every block is open.
    pub const fn is_all(self) -> bool {
        self.0 == u128::MAX
    }

    /// The bits of the first 32 blocks.
    #[cfg(feature = "cube")]
    pub const fn low_bits(self) -> u32 {
        self.0 as u32
    }

    /// Whether the block is open.
    #[inline(always)]
    pub const fn contains(self, block: usize) -> bool {
        self.0 >> block & 1 == 1
    }

    /// The closed blocks of `bins` that are searched, as ranges of these bins.
    pub fn closed(self, bins: usize) -> impl Iterator<Item = Range<usize>> {
        let count = if self.is_all() { 0 } else { blocks(bins) };
        (0..count).filter(move |&block| !self.contains(block)).map(move |block| block_range(block, bins))
    }

    /// The columns of `lanes` bins, of the first `columns`, that no open block of the bins `searched` has a bin in: a bit
    /// for each, or none where there are more than bits.
    #[cfg(any(feature = "flex", feature = "ndarray"))]
    #[inline(always)]
    pub fn closed_columns(self, searched: Range<usize>, lanes: usize, columns: usize) -> u64 {
        if columns > u64::BITS as usize {
            return 0;
        }
        let mut closed = u64::MAX >> (u64::BITS as usize - columns);
        for block in (0..blocks(searched.len())).filter(|&block| self.contains(block)) {
            let bins = block_range(block, searched.len());
            let (first, end) = (searched.start + bins.start, searched.start + bins.end);
            for column in first / lanes..columns.min(end.div_ceil(lanes)) {
                closed &= !(1 << column);
            }
        }
        closed
    }

    /// One bit per block of sixteen bins, set where it is searched, of a row of `bins`. Two or more bins after the last
    /// whole block form one more block, which is searched with that one.
    #[inline(always)]
    pub const fn bits_of_sixteens(self, bins: usize) -> u128 {
        let (whole, rest) = (bins / SHORTEST_BLOCK, bins % SHORTEST_BLOCK);
        let bits = if whole == 0 { 0 } else { self.0 & u128::MAX >> (MOST_BLOCKS - whole) };
        let has_rest = rest > 1 && (whole == 0 || self.contains(whole - 1));
        if has_rest { bits | 1 << whole } else { bits }
    }
}

/// The bins of a block where `bins` are searched, counted from the first of them.
#[inline(always)]
fn block_range(block: usize, bins: usize) -> Range<usize> {
    let len = block_len(bins);
    let end = if block + 1 == blocks(bins) { bins } else { (block + 1) * len };
    block * len..end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_at_most_128_blocks() {
        let blocks_of = |bins| (block_len(bins), blocks(bins));
        assert_eq!([1, 15, 16, 31].map(blocks_of), [(16, 1); 4]);
        assert_eq!([32, 129, 2049].map(blocks_of), [(16, 2), (16, 8), (16, 128)]);
        assert_eq!([4097, 32_769].map(blocks_of), [(32, 128), (256, 128)]);
    }

    #[test]
    fn a_block_without_gain_is_closed_as_long_as_others_have_the_peaks() {
        let gain = |closed: Range<usize>| -> Vec<f32> {
            (0..129 * 3).map(|at| if closed.contains(&(at / 3)) { 0.0 } else { 0.5 }).collect()
        };
        let of = |closed, searched, k| OpenBlocks::of_gain(&gain(closed), 3, searched, k);
        let closed = |open: OpenBlocks, bins| open.closed(bins).collect::<Vec<_>>();
        // Whole blocks only, and the bin behind them with the last.
        assert!(of(16..31, 0..129, 16).is_all() && of(112..128, 0..129, 16).is_all());
        assert_eq!(closed(of(16..49, 0..129, 16), 129), [16..32, 32..48]);
        assert_eq!(closed(of(112..129, 0..129, 16), 129), [Range { start: 112, end: 129 }]);
        // Blocks are counted from the first bin of a band.
        assert_eq!(closed(of(20..36, 4..100, 16), 96), [Range { start: 16, end: 32 }]);
        // Everything is searched if the open blocks have too few bins.
        assert_eq!(of(16..129, 0..129, 16).bits_of_sixteens(129), 1);
        assert!(of(16..129, 0..129, 17).is_all() && of(0..129, 0..129, 1).is_all());
    }

    #[test]
    fn blocks_of_sixteen_have_what_is_left_behind_them() {
        let open = |bits| OpenBlocks(bits);
        assert_eq!(OpenBlocks::ALL.bits_of_sixteens(128), 0b1111_1111);
        assert_eq!(OpenBlocks::ALL.bits_of_sixteens(129), 0b1111_1111);
        assert_eq!(OpenBlocks::ALL.bits_of_sixteens(130), 0b1_1111_1111);
        assert_eq!(OpenBlocks::ALL.bits_of_sixteens(9), 1);
        assert_eq!(OpenBlocks::ALL.bits_of_sixteens(2049), u128::MAX);
        assert_eq!(open(0b0111).bits_of_sixteens(70), 0b0111);
        assert_eq!(open(0b1010).bits_of_sixteens(70), 0b1_1010);
    }

    #[test]
    #[cfg(any(feature = "flex", feature = "ndarray"))]
    fn a_register_of_closed_bins_only_is_closed() {
        let open = OpenBlocks(0b0101);
        // Bins 0..16 and 32..48 of 64 are open.
        assert_eq!(open.closed_columns(0..65, 16, 4), 0b1010);
        assert_eq!(open.closed_columns(0..65, 8, 8), 0b1100_1100);
        // From bin 8 on: 8..24 and 40..56.
        assert_eq!(open.closed_columns(8..73, 16, 8), 0b1111_0000);
        assert_eq!(OpenBlocks::ALL.closed_columns(20..40, 8, 8), 0b1110_0011);
        assert_eq!(OpenBlocks::ALL.closed_columns(0..4097, 4, 1024), 0);
    }
}
