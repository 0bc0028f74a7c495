//! Escaping of text for the languages of drawings.

/// Escapes inside a quoted string of the DOT language.
pub(super) const DOT: [(char, &str); 2] = [('\\', "\\\\"), ('"', "\\\"")];
/// Escapes of XML text.
pub(super) const XML: [(char, &str); 4] = [('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;"), ('"', "&quot;")];

/// `text` with every character that a language reserves replaced by its escape.
pub(super) fn escape(text: &str, escapes: &[(char, &str)]) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match escapes.iter().find(|(reserved, _)| *reserved == character) {
            Some((_, escape)) => escaped.push_str(escape),
            None => escaped.push(character),
        }
    }
    escaped
}
