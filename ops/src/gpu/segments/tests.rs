//! Layouts follow from options alone.

use super::plan::{CUBE_UNITS, SegmentLayout};

#[test]
fn an_odd_number_of_paired_segments_leaves_room_for_one_more() {
    let layout = SegmentLayout { n: 256, segments: 5, paired: true, detrend: false, units: 32 };
    assert_eq!((layout.transforms(), layout.slots(), layout.bins()), (3, 6, 129));
    let single = SegmentLayout { paired: false, ..layout };
    assert_eq!((single.transforms(), single.slots()), (5, 5));
    assert_eq!(layout.cube_segments() * layout.units, CUBE_UNITS);
}
