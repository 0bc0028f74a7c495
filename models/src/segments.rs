//! Numbers of segments of an exact estimate, and their names.

pub use firefly_framework::published::{SEGMENT_NAMES, segments_label};
use firefly_ops::ArgumentError;

/// The number of segments that a text names: a number from 1, or one of [`SEGMENT_NAMES`].
///
/// ```
/// use firefly_models::segments::segments_named;
///
/// assert_eq!((segments_named("reference"), segments_named("3")), (Ok(8), Ok(3)));
/// assert!(segments_named("0").unwrap_err().to_string().contains("a number from 1, ultra, fast or reference"));
/// ```
///
/// # Errors
/// [`ArgumentError`] for any other text.
pub fn segments_named(text: &str) -> Result<usize, ArgumentError> {
    let named = SEGMENT_NAMES.iter().find(|(name, _)| *name == text).map(|(_, segments)| *segments);
    named.or_else(|| text.parse().ok().filter(|segments| *segments >= 1)).ok_or_else(|| {
        let got = format_args!("`{text}`");
        ArgumentError::new("segments", "segments", got, "a number from 1, ultra, fast or reference")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for (name, segments) in SEGMENT_NAMES {
            assert_eq!((segments_named(name), segments_label(segments)), (Ok(segments), name.to_owned()));
        }
        assert!(segments_named("turbo").is_err());
    }
}
