//! Liveness of butterflies: one has to run if it is open and some output that is read depends on it.

/// Outputs of a butterfly that have to be computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cpu) enum LiveOutputs {
    /// None: the butterfly is closed, which is the identity, or nothing that is read depends on it.
    None,
    /// a + w b alone.
    Upper,
    /// Both outputs. The lower one alone is needed so rarely that it counts as both.
    Both,
}

/// The needed outputs of every butterfly `[log2 n, n / 2]` of a transform of length `n` of whose outputs the first
/// `read` are read. `is_open` says of a butterfly, by its index, whether it is more than the identity.
pub(super) fn needed_outputs(n: usize, read: usize, is_open: impl Fn(usize) -> bool) -> Vec<LiveOutputs> {
    let (stages, pairs) = (n.ilog2() as usize, n / 2);
    let mut needed = vec![LiveOutputs::None; stages * pairs];
    // From the last stage to the first: `live` says which outputs of the stage are read.
    let mut live: Vec<bool> = (0..n).map(|output| output < read).collect();
    for stage in (0..stages).rev() {
        let half = 1 << stage;
        for pair in 0..pairs {
            let a = upper_place(stage, pair);
            let b = a + half;
            let index = stage * pairs + pair;
            if !is_open(index) || !(live[a] || live[b]) {
                continue;
            }
            needed[index] = if live[b] { LiveOutputs::Both } else { LiveOutputs::Upper };
            // Either output depends on both inputs.
            (live[a], live[b]) = (true, true);
        }
    }
    needed
}

/// Index, in the bit-reversed vector, of the upper value of a stage's pair.
fn upper_place(stage: usize, pair: usize) -> usize {
    let half = 1 << stage;
    2 * (pair & !(half - 1)) + (pair & (half - 1))
}

/// The pair of a stage whose upper value has index `place`: the inverse of [`upper_place`].
pub(in crate::cpu) fn pair_at(stage: usize, place: usize) -> usize {
    let half = 1 << stage;
    (place >> (stage + 1) << stage) | (place & (half - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: usize = 8;

    fn count(needed: &[LiveOutputs], of: LiveOutputs) -> usize {
        needed.iter().filter(|&&found| found == of).count()
    }

    #[test]
    fn pairs_and_places_are_those_of_the_definition() {
        for stage in 0..4 {
            let half = 1 << stage;
            let mut pair = 0;
            for block in 0..16 / (2 * half) {
                for j in 0..half {
                    assert_eq!(upper_place(stage, pair), 2 * block * half + j);
                    assert_eq!(pair_at(stage, 2 * block * half + j), pair);
                    pair += 1;
                }
            }
        }
    }

    #[test]
    fn everything_runs_if_all_is_open_and_read() {
        assert_eq!(needed_outputs(N, N, |_| true), [LiveOutputs::Both; 12]);
    }

    #[test]
    fn closed_butterflies_do_not_run() {
        let needed = needed_outputs(N, N, |index| index != 5);
        assert_eq!((needed[5], count(&needed, LiveOutputs::Both)), (LiveOutputs::None, 11));
    }

    #[test]
    fn half_a_spectrum_needs_half_of_the_last_stage() {
        // Outputs 0 to 4: pair 0 gives 0 and 4, the others only their upper output.
        let needed = needed_outputs(N, N / 2 + 1, |_| true);
        assert_eq!(needed[8..], [LiveOutputs::Both, LiveOutputs::Upper, LiveOutputs::Upper, LiveOutputs::Upper]);
        assert_eq!(needed[..8], [LiveOutputs::Both; 8]);
    }

    #[test]
    fn butterflies_that_only_unread_outputs_depend_on_do_not_run() {
        // The last stage closed: of its inputs only 0 to 4 are read. Stage 1 joins (4, 6) and (5, 7): 5 and 7 are not
        // read, and 6 is not. Stage 0 joins (4, 5) and (6, 7), and all of 4 and 6 comes into 4.
        let needed = needed_outputs(N, N / 2 + 1, |index| index < 8);
        assert_eq!(needed[8..], [LiveOutputs::None; 4]);
        assert_eq!(needed[4..8], [LiveOutputs::Both, LiveOutputs::Both, LiveOutputs::Upper, LiveOutputs::None]);
        assert_eq!(needed[..4], [LiveOutputs::Both, LiveOutputs::Both, LiveOutputs::Upper, LiveOutputs::Upper]);
    }

    #[test]
    fn one_output_needs_a_tree() {
        let needed = needed_outputs(N, 1, |_| true);
        assert_eq!(count(&needed, LiveOutputs::None), 12 - 7);
        assert_eq!(count(&needed, LiveOutputs::Upper), 7);
    }
}
