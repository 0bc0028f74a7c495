//! A page: sections in order, style and scripts inline.

use std::fmt::Write;

use super::escape::escape;

const STYLE: &str = include_str!("page.css");
/// Chart.js and its matrix chart, with their licences: see `vendor/README.md`.
const LIBRARIES: [&str; 2] =
    [include_str!("vendor/chart.umd.min.js"), include_str!("vendor/chartjs-chart-matrix.min.js")];
const LICENSES: &str = include_str!("vendor/LICENSES.txt");
const SCRIPT: &str = include_str!("charts.js");
/// Content security policy: a browser may load nothing outside the page.
pub(super) const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'";

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
{body}{scripts}</body>
</html>
"#,
            title = escape(self.title),
            body = self.body(),
        )
    }

    /// Heading and sections.
    fn body(&self) -> String {
        format!(
            "<header><p class=\"kind\">{}</p><h1>{}</h1></header>\n<main>\n{}</main>\n",
            escape(self.kind),
            escape(self.title),
            self.sections
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
    format!(
        r#"<details class="folded"><summary>{}</summary><pre><code>{}</code></pre></details>"#,
        escape(summary),
        escape(text)
    )
}
