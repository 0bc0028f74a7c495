//! Segments that an estimate averages, where they are not all of a frame's, and where they lie.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::welch::WelchOptions;
use crate::error::{ArgumentError, Result, ensure};

/// Set of segments of a frame, by their indices: from 0 to 127. Serialised as the list of them.
///
/// ```
/// use firefly_ops::options::SegmentSet;
///
/// let set = SegmentSet::new([6, 1])?;
/// assert_eq!((set.count(), set.indices().collect::<Vec<_>>()), (2, vec![1, 6]));
/// assert!(SegmentSet::new([128]).is_err());
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Vec<usize>", into = "Vec<usize>")]
pub struct SegmentSet(u128);

impl SegmentSet {
    /// Number of segments that a set can name.
    pub const MAX_SEGMENTS: usize = u128::BITS as usize;

    /// The set of the segments with these indices.
    ///
    /// # Errors
    /// [`ArgumentError`] for an index of 128 or more.
    pub fn new(indices: impl IntoIterator<Item = usize>) -> Result<Self> {
        let mut set = 0;
        for index in indices {
            let expected = format_args!("below {}", Self::MAX_SEGMENTS);
            ensure(index < Self::MAX_SEGMENTS, "SegmentSet::new", "indices", index, expected)?;
            set |= 1 << index;
        }
        Ok(Self(set))
    }

    /// `count` of `all` segments, spread evenly: the first of each of `count` equal parts, ⌊i · all / count⌋ for i from 0
    /// on. Where `count` divides `all`, distances are equal.
    ///
    /// ```
    /// use firefly_ops::options::SegmentSet;
    ///
    /// assert_eq!(Vec::from(SegmentSet::spread(4, 8)?), [0, 2, 4, 6]);
    /// assert_eq!(Vec::from(SegmentSet::spread(3, 8)?), [0, 2, 5]);
    /// # Ok::<(), firefly_ops::ArgumentError>(())
    /// ```
    ///
    /// # Errors
    /// [`ArgumentError`] if `count` is not from 1 to `all`, or for an index of 128 or more.
    pub fn spread(count: usize, all: usize) -> Result<Self> {
        let expected = format_args!("from 1 to those of a frame, {all}");
        ensure((1..=all).contains(&count), "SegmentSet::spread", "count", count, expected)?;
        // An index is below 128 or refused: the product of a longer frame does not matter.
        Self::new((0..count).map(|index| index.saturating_mul(all) / count))
    }

    /// Number of segments.
    pub const fn count(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Their indices, ascending.
    pub fn indices(self) -> impl Iterator<Item = usize> {
        (0..Self::MAX_SEGMENTS).filter(move |index| self.0 >> index & 1 == 1)
    }

    /// The first index, the distance from one to the next and the number of segments, if all distances are equal.
    #[cfg_attr(not(feature = "cube"), allow(dead_code, reason = "plans of GPU kernels take even distances"))]
    pub(crate) fn evenly_spaced(self) -> Option<[usize; 3]> {
        let (first, count) = (self.0.trailing_zeros() as usize, self.count());
        let step = self.indices().nth(1).map_or(1, |second| second - first);
        let is_even = self.indices().enumerate().all(|(at, index)| index == first + at * step);
        (count > 0 && is_even).then_some([first, step, count])
    }

    /// The lower and the upper half of the bits, bit i for segment i.
    pub(crate) const fn into_bits(self) -> [u64; 2] {
        [self.0 as u64, (self.0 >> 64) as u64]
    }

    /// The set with these [bits](Self::into_bits).
    pub(crate) const fn from_bits([lower, upper]: [u64; 2]) -> Self {
        Self((upper as u128) << 64 | lower as u128)
    }

    /// Checks that the set is not empty and within `segments` segments; errors name `operation`.
    pub(super) fn validate(self, operation: &'static str, segments: usize) -> Result<()> {
        ensure(self.count() > 0, operation, "chosen", "empty", "at least one segment")?;
        let last = self.indices().last().unwrap_or(0);
        ensure(last < segments, operation, "chosen", last, format_args!("segments below {segments}"))
    }
}

impl TryFrom<Vec<usize>> for SegmentSet {
    type Error = ArgumentError;

    fn try_from(indices: Vec<usize>) -> Result<Self> {
        Self::new(indices)
    }
}

impl From<SegmentSet> for Vec<usize> {
    fn from(set: SegmentSet) -> Self {
        set.indices().collect()
    }
}

/// Placement of the segments of an exact estimate in a frame, other than one after the other from its start.
///
/// ```
/// use firefly_ops::WelchOptions;
/// use firefly_ops::options::{SegmentPlacement, SegmentSet};
///
/// // Four segments, over a frame of eight: 0, 2, 4 and 6.
/// let options = WelchOptions::new(256, 4).with_placement(Some(SegmentPlacement::Spread(8)))?;
/// assert_eq!((options.averaged(), options.frame()), (4, 256 + 7 * 128));
/// assert_eq!(options.chosen, Some(SegmentSet::new([0, 2, 4, 6])?));
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SegmentPlacement {
    /// Spread evenly over a frame of so many segments, as [`SegmentSet::spread`] does. Of a frame that has no more than
    /// are averaged, all are.
    Spread(usize),
    /// These, as many as are averaged; a frame ends with the last.
    Listed(SegmentSet),
}

impl SegmentPlacement {
    /// The options of an estimate whose segments lie like this.
    pub(super) fn place(self, options: WelchOptions) -> Result<WelchOptions> {
        const NAME: &str = "WelchOptions";
        let averaged = options.segments;
        let (all, chosen) = match self {
            Self::Spread(all) => {
                let most = SegmentSet::MAX_SEGMENTS;
                let expected = format_args!("over {averaged} (those averaged) to {most} segments");
                ensure((averaged..=most).contains(&all), NAME, "placement", self, expected)?;
                (all, (averaged < all).then(|| SegmentSet::spread(averaged, all)).transpose()?)
            }
            Self::Listed(set) => {
                let expected = format_args!("the number of those listed ({self}), {}", set.count());
                ensure(set.count() == averaged, NAME, "segments", averaged, expected)?;
                let all = set.indices().last().map_or(0, |last| last + 1);
                set.validate(NAME, all)?;
                (all, Some(set))
            }
        };
        Ok(options.with_segments(all).with_chosen(chosen))
    }
}

impl fmt::Display for SegmentPlacement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Spread(all) => write!(f, "spread over {all}"),
            Self::Listed(set) => {
                let indices: Vec<String> = set.indices().map(|index| index.to_string()).collect();
                f.write_str(&indices.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_its_bits_and_even_distances() {
        let set = |indices: &[usize]| SegmentSet::new(indices.iter().copied()).unwrap();
        for indices in [&[0, 5, 63][..], &[64, 127], &[]] {
            assert_eq!(SegmentSet::from_bits(set(indices).into_bits()), set(indices));
            assert_eq!(Vec::from(set(indices)), indices);
        }
        assert_eq!(set(&[1, 6]).evenly_spaced(), Some([1, 5, 2]));
        assert_eq!(set(&[2]).evenly_spaced(), Some([2, 1, 1]));
        assert_eq!(set(&[0, 2, 4]).evenly_spaced(), Some([0, 2, 3]));
        assert_eq!([set(&[0, 1, 3]), set(&[])].map(SegmentSet::evenly_spaced), [None, None]);
        let invalid = |indices, segments| set(indices).validate("welch_psd", segments).is_err();
        assert!(invalid(&[], 3) && invalid(&[3], 3) && !invalid(&[2], 3));
    }

    #[test]
    fn segments_are_spread_over_a_frame_or_listed() {
        let spread = |count, all| SegmentSet::spread(count, all).map(Vec::from);
        for (count, expected) in
            [(1, &[0][..]), (2, &[0, 4]), (3, &[0, 2, 5]), (4, &[0, 2, 4, 6]), (8, &[0, 1, 2, 3, 4, 5, 6, 7])]
        {
            assert_eq!(spread(count, 8), Ok(expected.to_vec()));
        }
        assert_eq!(spread(2, 128), Ok(vec![0, 64]));
        for (count, all) in [(0, 8), (9, 8), (2, 257), (3, usize::MAX)] {
            assert!(spread(count, all).is_err(), "{count} of {all}");
        }
        let placed = |segments, placement| WelchOptions::new(16, segments).with_placement(Some(placement));
        let listed = SegmentPlacement::Listed(SegmentSet::new([1, 5]).unwrap());
        let options = placed(2, listed).unwrap();
        assert_eq!((options.segments, options.averaged(), listed.to_string()), (6, 2, "1, 5".into()));
        let all = placed(4, SegmentPlacement::Spread(4)).unwrap();
        assert_eq!((all, all.chosen), (WelchOptions::new(16, 4), None));
        let message = |segments, placement| placed(segments, placement).unwrap_err().to_string();
        assert_eq!(
            message(4, SegmentPlacement::Spread(3)),
            "WelchOptions: `placement` is spread over 3, but must be over 4 (those averaged) to 128 segments"
        );
        assert!(message(4, SegmentPlacement::Spread(129)).contains("`placement` is spread over 129"));
        assert!(message(3, listed).contains("`segments` is 3, but must be the number of those listed (1, 5), 2"));
        assert!(message(0, SegmentPlacement::Listed(SegmentSet::new([]).unwrap())).contains("`chosen` is empty"));
    }

    #[test]
    fn placements_are_one_key_in_a_configuration() {
        for (placement, text) in [
            (SegmentPlacement::Spread(8), r#"{"spread":8}"#),
            (SegmentPlacement::Listed(SegmentSet::new([0, 2, 5]).unwrap()), r#"{"listed":[0,2,5]}"#),
        ] {
            assert_eq!(serde_json::to_string(&placement).unwrap(), text);
            assert_eq!(serde_json::from_str::<SegmentPlacement>(text).unwrap(), placement);
        }
    }
}
