//! A page: sections in order, style and script inline.

use std::fmt::Write;

use super::escape::escape;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("hover.js");

/// A self-contained HTML page. Its markup is XML as well as HTML, but for the document type and the script.
pub struct Document<'a> {
    /// What kind of page it is, above its heading.
    pub kind: &'a str,
    /// The heading.
    pub title: &'a str,
    /// Style rules besides the shared ones.
    pub style: &'a str,
    sections: String,
}

impl<'a> Document<'a> {
    /// A page without sections.
    pub fn new(kind: &'a str, title: &'a str) -> Self {
        Self { kind, title, style: "", sections: String::new() }
    }

    /// Adds a section; `content` is HTML.
    pub fn section(&mut self, heading: &str, content: &str) {
        let _ = writeln!(self.sections, "<section><h2>{}</h2>{content}</section>", escape(heading));
    }

    /// The whole page.
    pub fn html(&self) -> String {
        format!(
            r#"<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta name="color-scheme" content="light dark"/>
<title>{title}</title>
<style>{STYLE}{style}</style>
</head>
<body>
<header><p class="kind">{kind}</p><h1>{title}</h1></header>
<main>
{sections}</main>
<script>{SCRIPT}</script>
</body>
</html>
"#,
            title = escape(self.title),
            kind = escape(self.kind),
            style = self.style,
            sections = self.sections,
        )
    }
}

/// A sentence in place of something that is missing.
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
    format!("<details><summary>{}</summary><pre><code>{}</code></pre></details>", escape(summary), escape(text))
}
