//! Which butterflies of a network have to run: those that are open, and whose outputs somebody reads.

/// What of a butterfly has to be computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cpu) enum Use {
    /// Nothing: it is closed, which is the identity, or nobody reads what comes of it.
    Nothing,
    /// a + w b alone.
    Upper,
    /// Both outputs. The lower one alone is so rarely all that is read that it counts as both.
    Both,
}

/// The use of every butterfly `[log2 n, n / 2]` of a network of length `n` of whose outputs the first `read` are read.
/// `is_open` says of a pair of a stage, as they are numbered there, whether it is more than the identity.
pub(in crate::cpu) fn uses(n: usize, read: usize, is_open: impl Fn(usize) -> bool) -> Vec<Use> {
    let (stages, pairs) = (n.ilog2() as usize, n / 2);
    let mut uses = vec![Use::Nothing; stages * pairs];
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
            uses[index] = if live[b] { Use::Both } else { Use::Upper };
            (live[a], live[b]) = (true, true);
        }
    }
    uses
}

/// The place of the upper value of a stage's pair.
fn upper_place(stage: usize, pair: usize) -> usize {
    let half = 1 << stage;
    2 * (pair & !(half - 1)) + (pair & (half - 1))
}

/// The pair of a stage whose upper value is at `place`: the inverse of [`upper_place`].
pub(in crate::cpu) fn pair_at(stage: usize, place: usize) -> usize {
    let half = 1 << stage;
    (place >> (stage + 1) << stage) | (place & (half - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: usize = 8;

    fn count(uses: &[Use], of: Use) -> usize {
        uses.iter().filter(|&&found| found == of).count()
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
        assert_eq!(uses(N, N, |_| true), [Use::Both; 12]);
    }

    #[test]
    fn closed_butterflies_do_not_run() {
        let uses = uses(N, N, |index| index != 5);
        assert_eq!((uses[5], count(&uses, Use::Both)), (Use::Nothing, 11));
    }

    #[test]
    fn half_a_spectrum_needs_half_of_the_last_stage() {
        // Outputs 0 to 4: pair 0 gives 0 and 4, the others only their upper output.
        let uses = uses(N, N / 2 + 1, |_| true);
        assert_eq!(uses[8..], [Use::Both, Use::Upper, Use::Upper, Use::Upper]);
        assert_eq!(uses[..8], [Use::Both; 8]);
    }

    #[test]
    fn what_only_unread_outputs_need_does_not_run() {
        // The last stage closed: of its inputs only 0 to 4 are read. Stage 1 joins (4, 6) and (5, 7): 5 and 7 are not
        // read, and 6 is not. Stage 0 joins (4, 5) and (6, 7), and all of 4 and 6 comes into 4.
        let uses = uses(N, N / 2 + 1, |index| index < 8);
        assert_eq!(uses[8..], [Use::Nothing; 4]);
        assert_eq!(uses[4..8], [Use::Both, Use::Both, Use::Upper, Use::Nothing]);
        assert_eq!(uses[..4], [Use::Both, Use::Both, Use::Upper, Use::Upper]);
    }

    #[test]
    fn one_output_needs_a_tree() {
        let uses = uses(N, 1, |_| true);
        assert_eq!(count(&uses, Use::Nothing), 12 - 7);
        assert_eq!(count(&uses, Use::Upper), 7);
    }
}
