//! Memory that a run needs, compared with what is there before any of it is allocated.

use firefly_app::number::bytes;

use super::ConfigError;

/// One of the amounts of memory that a run needs.
#[derive(Debug, Clone)]
pub(crate) struct Need {
    /// Key that sets it.
    pub key: &'static str,
    /// Value of the key.
    pub value: String,
    /// Bytes.
    pub bytes: u128,
}

impl Need {
    /// An amount of `values` numbers of f32.
    pub fn of_values(key: &'static str, value: impl ToString, values: u128) -> Self {
        Self { key, value: value.to_string(), bytes: values.saturating_mul(size_of::<f32>() as u128) }
    }
}

/// Amounts that do not fit into the memory that is there.
pub(crate) struct Shortage<'a> {
    /// The greatest of them.
    pub largest: &'a Need,
    available: u64,
    total: u128,
}

impl<'a> Shortage<'a> {
    /// The shortage of `available` bytes; none if all amounts fit.
    pub fn of(needs: &'a [Need], available: u64) -> Option<Self> {
        let total = needs.iter().fold(0, |total: u128, need| total.saturating_add(need.bytes));
        let largest = needs.iter().max_by_key(|need| need.bytes)?;
        (total > u128::from(available)).then_some(Self { largest, available, total })
    }

    /// Accepted value of the key with the largest amount.
    pub fn expected(&self) -> String {
        let text = |count: u128| bytes(u64::try_from(count).unwrap_or(u64::MAX));
        let (available, total, largest) = (bytes(self.available), text(self.total), text(self.largest.bytes));
        format!("small enough for {available} of memory: the run needs {total}, of which this takes {largest}")
    }
}

/// Checks that amounts fit into `available` bytes together.
///
/// # Errors
/// [`ConfigError::Value`] naming the key of the greatest.
pub(crate) fn ensure_fits(needs: &[Need], available: u64) -> Result<(), ConfigError> {
    Shortage::of(needs, available).map_or(Ok(()), |shortage| {
        let Need { key, value, .. } = shortage.largest;
        Err(ConfigError::Value { key: (*key).into(), got: value.clone(), expected: shortage.expected() })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_count_together_and_the_greatest_is_named() {
        let needs = [Need::of_values("training.batch", 32, 1 << 20), Need::of_values("data.samples", 9, 2 << 20)];
        assert!(ensure_fits(&needs, 12 << 20).is_ok());
        let message = ensure_fits(&needs, (12 << 20) - 1).unwrap_err().to_string();
        assert_eq!(
            message,
            "data.samples is 9, but must be small enough for 12.0 MiB of memory: the run needs 12.0 MiB, of which this \
             takes 8.00 MiB"
        );
        let huge = [Need::of_values("a", 1, u128::MAX), Need::of_values("b", 1, u128::MAX)];
        assert!(ensure_fits(&huge, u64::MAX).is_err());
        assert!(ensure_fits(&[], 0).is_ok());
    }
}
