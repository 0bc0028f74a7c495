//! Places for labels that cover neither marks, lines nor each other.

use firefly_app::page::chart::CHARACTER;

const HEIGHT: f64 = 13.0;

/// A rectangle in user units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rectangle {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

impl Rectangle {
    /// The square of half width `radius` around a point.
    pub fn around((x, y): (f64, f64), radius: f64) -> Self {
        Self { left: x - radius, top: y - radius, right: x + radius, bottom: y + radius }
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.left < other.right && other.left < self.right && self.top < other.bottom && other.top < self.bottom
    }

    fn inside(&self, other: &Self) -> bool {
        self.left >= other.left && self.right <= other.right && self.top >= other.top && self.bottom <= other.bottom
    }
}

/// Where a label goes when there is room, so that the labels of one kind of mark lie alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    UpperLeft,
    LowerRight,
}

/// Taken places within a plot.
pub(super) struct Labels {
    area: Rectangle,
    taken: Vec<Rectangle>,
}

impl Labels {
    pub fn new(area: Rectangle) -> Self {
        Self { area, taken: Vec::new() }
    }

    /// Keeps labels off `place`.
    pub fn avoid(&mut self, place: Rectangle) {
        self.taken.push(place);
    }

    /// Keeps labels off the straight line between two points.
    pub fn avoid_line(&mut self, from: (f64, f64), to: (f64, f64)) {
        let length = (to.0 - from.0).hypot(to.1 - from.1);
        let pieces = (length / 4.0).ceil().clamp(1.0, 500.0) as usize;
        for piece in 0..=pieces {
            let t = piece as f64 / pieces as f64;
            let point = (from.0 + t * (to.0 - from.0), from.1 + t * (to.1 - from.1));
            self.taken.push(Rectangle::around(point, 2.5));
        }
    }

    /// Finds a free place beside `point` for `text` and takes it: the left end of its baseline, or `None` when all are taken.
    pub fn place(&mut self, point: (f64, f64), text: &str, side: Side) -> Option<(f64, f64)> {
        let width = text.chars().count() as f64 * CHARACTER;
        let (x, y) = point;
        let (after, before, middle) = (x + 8.0, x - 8.0 - width, x - width / 2.0);
        let (above, level, below) = (y - 7.0 - HEIGHT, y - HEIGHT / 2.0, y + 7.0);
        let mut candidates = [
            (before, above),
            (before, level),
            (middle, above),
            (after, above),
            (after, level),
            (middle, below),
            (after, below),
            (before, below),
            (middle, above - HEIGHT),
            (middle, below + HEIGHT),
        ];
        if side == Side::LowerRight {
            candidates.swap(0, 6);
            candidates.swap(1, 4);
            candidates.swap(2, 5);
        }
        let place = candidates
            .into_iter()
            .map(|(left, top)| Rectangle { left, top, right: left + width, bottom: top + HEIGHT })
            .find(|place| place.inside(&self.area) && !self.taken.iter().any(|other| other.overlaps(place)))?;
        self.taken.push(place);
        Some((place.left, place.bottom - 3.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels() -> Labels {
        Labels::new(Rectangle { left: 0.0, top: 0.0, right: 400.0, bottom: 200.0 })
    }

    #[test]
    fn labels_keep_apart_and_inside() {
        let mut labels = labels();
        let first = labels.place((100.0, 100.0), "fast", Side::UpperLeft);
        let second = labels.place((100.0, 100.0), "fast", Side::UpperLeft);
        assert!(first.is_some() && second.is_some());
        assert_ne!(first, second);
        let at_the_edge = labels.place((396.0, 100.0), "reference", Side::LowerRight);
        assert!(at_the_edge.is_some_and(|(x, _)| x < 396.0));
    }

    #[test]
    fn lines_are_kept_clear() {
        let mut labels = labels();
        labels.avoid_line((0.0, 100.0), (400.0, 100.0));
        let place = labels.place((100.0, 100.0), "fast", Side::UpperLeft);
        assert!(place.is_some_and(|(_, baseline)| !(98.0..=112.0).contains(&baseline)));
    }

    #[test]
    fn crowded_label_is_dropped() {
        let mut labels = labels();
        labels.avoid(Rectangle::around((200.0, 100.0), 500.0));
        assert_eq!(labels.place((200.0, 100.0), "fast", Side::UpperLeft), None);
    }
}
