//! Segments of a frame that an exact estimate averages, as the options of a command give them.

use std::fmt;
use std::str::FromStr;

use anyhow::{Result, ensure};
use firefly_models::segments::segments_label;
use firefly_ops::options::{SegmentPlacement, SegmentSet};

/// Number of segments, and where they lie in a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameSegments {
    pub count: usize,
    /// Their placement; adjacent if `None`.
    pub placement: Option<SegmentPlacement>,
}

impl FrameSegments {
    pub const fn adjacent(count: usize) -> Self {
        Self { count, placement: None }
    }

    /// The same number of segments, spread evenly over a frame of `frame` segments. An error for segments that are
    /// listed, and where the frame has no room between them.
    pub fn spread(self, frame: usize) -> Result<Self> {
        ensure!(self.placement.is_none(), "--spread is for a number of segments, and --segments lists them");
        let (count, most) = (self.count, SegmentSet::MAX_SEGMENTS);
        ensure!(
            frame > count && frame <= most,
            "--spread is {frame}, but must be more segments than the {count} that are averaged, and at most {most}"
        );
        Ok(Self { placement: Some(SegmentPlacement::Spread(frame)), ..self })
    }
}

impl FromStr for FrameSegments {
    type Err = String;

    /// A number, or indices of segments with commas between them.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is neither a number of segments nor a list of indices, as in 0,2,5");
        let number = |text: &str| text.trim().parse::<usize>().map_err(|_| wrong());
        if !text.contains(',') {
            return number(text).map(Self::adjacent);
        }
        let indices = text.split(',').map(number).collect::<Result<Vec<_>, _>>()?;
        let set = SegmentSet::new(indices.iter().copied()).map_err(|error| error.to_string())?;
        if set.count() < indices.len() {
            return Err(format!("`{text}` has a segment twice"));
        }
        Ok(Self { count: set.count(), placement: Some(SegmentPlacement::Listed(set)) })
    }
}

impl fmt::Display for FrameSegments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.placement {
            Some(listed @ SegmentPlacement::Listed(_)) => write!(f, "segments {listed}"),
            Some(spread) => write!(f, "{}, {spread}", segments_label(self.count)),
            None => f.write_str(&segments_label(self.count)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_a_number_or_a_list() {
        let parsed = |text: &str| text.parse::<FrameSegments>();
        assert_eq!(parsed("3"), Ok(FrameSegments::adjacent(3)));
        let listed = parsed("5, 0,2").unwrap();
        assert_eq!((listed.count, listed.to_string()), (3, "segments 0, 2, 5".to_owned()));
        assert!(parsed("three").unwrap_err().contains("nor a list of indices"));
        assert!(parsed("0,2,").unwrap_err().contains("nor a list of indices"));
        assert!(parsed("0,2,0").unwrap_err().contains("a segment twice"));
        assert!(parsed("0,128").unwrap_err().contains("below 128"));
    }

    #[test]
    fn segments_are_spread_over_longer_frames_alone() {
        let spread = |frame| FrameSegments::adjacent(2).spread(frame);
        assert_eq!(spread(8).unwrap().to_string(), "fast, spread over 8");
        for frame in [0, 2, 129] {
            assert!(spread(frame).unwrap_err().to_string().contains("more segments than the 2 that are averaged"));
        }
        let listed: FrameSegments = "0,2".parse().unwrap();
        assert!(listed.spread(8).unwrap_err().to_string().contains("--segments lists them"));
    }
}
