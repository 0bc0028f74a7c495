//! A page: sections in order, style and scripts inline, and text from outside made safe in both.

use std::fmt::Write;

use serde::Serialize;

const STYLE: &str = include_str!("page.css");
/// Chart.js and its matrix chart, with their licences: see `vendor/README.md`.
const LIBRARIES: [&str; 2] =
    [include_str!("vendor/chart.umd.min.js"), include_str!("vendor/chartjs-chart-matrix.min.js")];
const LICENSES: &str = include_str!("vendor/LICENSES.txt");
const SCRIPT: &str = include_str!("charts.js");
/// Content security policy: a browser may load nothing outside the page.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'";

/// A self-contained HTML page. Its markup is XML as well as HTML, but for the document type and the scripts.
pub struct Document<'a> {
    /// Kind of page, above its heading.
    pub kind: &'a str,
    /// The heading.
    pub title: &'a str,
    sections: String,
}

impl<'a> Document<'a> {
    /// A page without sections.
    pub fn new(kind: &'a str, title: &'a str) -> Self {
        Self { kind, title, sections: String::new() }
    }

    /// Adds a section; `content` is HTML. An empty heading is left out.
    pub fn section(&mut self, heading: &str, content: &str) {
        let heading = if heading.is_empty() { String::new() } else { format!("<h2>{}</h2>", escape(heading)) };
        let _ = writeln!(self.sections, "<section>{heading}{content}</section>");
    }

    /// The whole page. One without a chart has no scripts.
    pub fn html(&self) -> String {
        let scripts = if self.sections.contains("<canvas") {
            format!("<script>\n/*\n{LICENSES}*/\n{}\n{SCRIPT}</script>\n", LIBRARIES.join("\n"))
        } else {
            String::new()
        };
        format!(
            r#"<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta http-equiv="Content-Security-Policy" content="{POLICY}"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta name="color-scheme" content="light dark"/>
<title>{title}</title>
<style>{STYLE}</style>
</head>
<body>
<header><p class="kind">{kind}</p><h1>{title}</h1></header>
<main>
{sections}</main>
{scripts}</body>
</html>
"#,
            kind = escape(self.kind),
            title = escape(self.title),
            sections = self.sections,
        )
    }
}

/// A sentence that says what is missing.
pub fn nothing(text: &str) -> String {
    format!(r#"<p class="nothing">{}</p>"#, escape(text))
}

/// Names and values side by side.
pub fn facts<'a>(facts: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut html = r#"<dl class="facts">"#.to_owned();
    for (name, value) in facts {
        let _ = write!(html, "<div><dt>{}</dt><dd>{}</dd></div>", escape(name), escape(value));
    }
    html.push_str("</dl>");
    html
}

/// Text that is shown on demand, as it is.
pub fn details(summary: &str, text: &str) -> String {
    format!(
        r#"<details class="folded"><summary>{}</summary><pre><code>{}</code></pre></details>"#,
        escape(summary),
        escape(text)
    )
}

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
