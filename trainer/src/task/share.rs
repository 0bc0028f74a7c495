//! Shares of a batch, one per device.

use std::ops::Range;

/// Rank of a device among those that train together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceRank {
    /// Index of the device.
    pub index: usize,
    /// Number of devices.
    pub devices: usize,
}

/// Share of a batch: the rows that one device takes.
///
/// Every draw is a function of the batch's number and of the row in it, so a batch does not depend on its division.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchShare {
    /// Number of the batch.
    pub number: usize,
    /// The rows, at least one.
    pub rows: Range<usize>,
}

impl DeviceRank {
    /// The rank of the only device.
    pub const ONLY: Self = Self { index: 0, devices: 1 };

    /// The share of batch `number`, which has `rows` rows, and the share's weight in the mean over the batch. A device
    /// for which no row is left takes the first with a weight of 0.
    ///
    /// ```
    /// use firefly_trainer::task::DeviceRank;
    ///
    /// let (share, weight) = DeviceRank { index: 1, devices: 2 }.share(7, 3);
    /// assert_eq!((share.number, share.rows, weight), (7, 1..3, 2.0 / 3.0));
    /// ```
    pub fn share(self, number: usize, rows: usize) -> (BatchShare, f64) {
        let bound = |index: usize| rows * index / self.devices;
        let own = bound(self.index)..bound(self.index + 1);
        let weight = own.len() as f64 / rows.max(1) as f64;
        (BatchShare { number, rows: if own.is_empty() { 0..1 } else { own } }, weight)
    }
}

impl BatchShare {
    /// The whole of batch `number`, which has `rows` rows.
    pub fn whole(number: usize, rows: usize) -> Self {
        Self { number, rows: 0..rows }
    }

    /// Number of the first row, counted from the first row of batch 0, where every batch before has `batch` rows.
    pub fn first(&self, batch: usize) -> u64 {
        (self.number * batch + self.rows.start) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_every_row_once_and_their_weights_sum_to_1() {
        for (rows, devices) in [(8, 2), (7, 3), (2, 3), (1, 1), (1, 4)] {
            let shares: Vec<_> = (0..devices).map(|index| DeviceRank { index, devices }.share(5, rows)).collect();
            let counted: Vec<usize> =
                shares.iter().filter(|(_, weight)| *weight > 0.0).flat_map(|(share, _)| share.rows.clone()).collect();
            assert_eq!(counted, (0..rows).collect::<Vec<_>>(), "{rows} rows on {devices} devices");
            assert!((shares.iter().map(|(_, weight)| weight).sum::<f64>() - 1.0).abs() < 1e-12);
            assert!(shares.iter().all(|(share, _)| !share.rows.is_empty() && share.rows.end <= rows));
        }
        assert_eq!(DeviceRank::ONLY.share(3, 8), (BatchShare::whole(3, 8), 1.0));
        assert_eq!(BatchShare { number: 3, rows: 2..4 }.first(10), 32);
    }
}
