//! Cells of CSV files.

use std::borrow::Cow;

/// A text as a cell by RFC 4180: in quotation marks where it has to be.
///
/// ```
/// use firefly_app::csv::cell;
///
/// assert_eq!((cell("a"), cell("a,b"), cell("\"a\"")), ("a".into(), "\"a,b\"".into(), "\"\"\"a\"\"\"".into()));
/// ```
pub fn cell(text: &str) -> Cow<'_, str> {
    if text.contains([',', '"', '\n', '\r']) {
        Cow::Owned(format!("\"{}\"", text.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(text)
    }
}
