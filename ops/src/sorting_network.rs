//! Sorting network of 16 values, shared by the top-k kernels of the CPU and the GPU engine.

/// Declares the comparators once, as data and as straight code.
macro_rules! comparators {
    ($(($a:literal, $b:literal))*) => {
        /// The 60 comparators of M. W. Green's network of 16 values, in 10 layers (D. E. Knuth, The Art of Computer
        /// Programming, vol. 3, 5.3.4). Each (i, j) puts the value that sorts first at i.
        #[allow(dead_code, reason = "only the GPU engine, a feature, loops over them")]
        pub(crate) const GREEN_16: [(usize, usize); 60] = [$(($a, $b)),*];

        /// Calls `compare` with the indices of each of [`GREEN_16`], in order and without a loop: the indices are
        /// constants once the call is inlined.
        #[allow(dead_code, reason = "only the CPU engine, a feature, has straight code")]
        #[inline(always)]
        pub(crate) fn for_each_comparator(mut compare: impl FnMut(usize, usize)) {
            $(compare($a, $b);)*
        }
    };
}

comparators! {
    (0, 1) (2, 3) (4, 5) (6, 7) (8, 9) (10, 11) (12, 13) (14, 15)
    (0, 2) (1, 3) (4, 6) (5, 7) (8, 10) (9, 11) (12, 14) (13, 15)
    (0, 4) (1, 5) (2, 6) (3, 7) (8, 12) (9, 13) (10, 14) (11, 15)
    (0, 8) (1, 9) (2, 10) (3, 11) (4, 12) (5, 13) (6, 14) (7, 15)
    (5, 10) (6, 9) (3, 12) (13, 14) (4, 8) (7, 11) (1, 2)
    (1, 4) (7, 13) (2, 8) (11, 14)
    (2, 4) (5, 6) (9, 10) (11, 13) (3, 8) (7, 12)
    (6, 8) (10, 12) (3, 5) (7, 9)
    (3, 4) (5, 6) (7, 8) (9, 10) (11, 12)
    (6, 7) (8, 9)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the zero-one principle a network that sorts every sequence of zeros and ones sorts every sequence.
    #[test]
    fn green_16_sorts_every_sequence_of_zeros_and_ones() {
        for bits in 0u32..1 << 16 {
            let mut values: [u32; 16] = std::array::from_fn(|i| bits >> i & 1);
            let mut unrolled = values;
            for (i, j) in GREEN_16 {
                (values[i], values[j]) = (values[i].max(values[j]), values[i].min(values[j]));
            }
            for_each_comparator(|i, j| {
                (unrolled[i], unrolled[j]) = (unrolled[i].max(unrolled[j]), unrolled[i].min(unrolled[j]));
            });
            assert!(values.is_sorted_by(|a, b| a >= b), "{bits:016b}");
            assert_eq!(unrolled, values);
        }
    }
}
