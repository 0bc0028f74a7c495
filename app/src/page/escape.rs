//! Text from outside, made safe inside HTML and scripts.

use std::fmt::Write;

use serde::Serialize;

/// Escapes `text` for element content and for quoted attributes. Control characters, which XML forbids, become U+FFFD.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + text.len() / 8);
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\t' | '\n' => escaped.push(character),
            '\r' => {}
            _ if is_forbidden(character) => escaped.push('\u{FFFD}'),
            _ => escaped.push(character),
        }
    }
    escaped
}

/// `value` as JSON for the content of a `<script>`: no character of it can end the element or begin markup.
pub(super) fn json(value: &impl Serialize) -> String {
    // Specifications are structs of numbers and strings, which JSON can always hold; null is drawn as nothing.
    let plain = serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned());
    let mut escaped = String::with_capacity(plain.len());
    for character in plain.chars() {
        match character {
            // Outside strings JSON has none of these, and inside it reads them as \u.
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(escaped, "\\u{:04x}", u32::from(character));
            }
            _ if is_forbidden(character) => escaped.push('\u{FFFD}'),
            _ => escaped.push(character),
        }
    }
    escaped
}

/// Whether XML forbids or discourages `character`.
fn is_forbidden(character: char) -> bool {
    character.is_control() || matches!(character, '\u{FFFE}' | '\u{FFFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_becomes_text() {
        assert_eq!(
            escape(r#"<script>alert("1" & '2')</script>"#),
            "&lt;script&gt;alert(&quot;1&quot; &amp; &#39;2&#39;)&lt;/script&gt;"
        );
    }

    #[test]
    fn control_characters_are_replaced_and_lines_kept() {
        assert_eq!(escape("a\r\nb\0\u{1b}[1m\u{85}"), "a\nb\u{FFFD}\u{FFFD}[1m\u{FFFD}");
    }

    #[test]
    fn json_cannot_end_its_script_and_reads_back() {
        let text = "</script><!-- <script> & \u{2028} \"quoted\" \\ \0";
        let written = json(&text);
        assert!(!written.contains(['<', '>', '&', '\u{2028}', '\0']));
        assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text);
    }
}
