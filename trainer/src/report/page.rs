//! The page: sections in order, style and script inline.

use std::fmt::Write;

use super::escape::escape;
use super::figure::Figure;
use super::{Report, evaluation, gates, parameters, training};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("hover.js");

/// The whole page. Its markup is XML as well as HTML, but for the document type and the script.
pub(super) fn render(report: &Report) -> String {
    let title = match report.title.trim() {
        "" => "Training report",
        title => title,
    };
    let mut page = format!(
        r#"<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta name="color-scheme" content="light dark"/>
<title>{title}</title>
<style>{STYLE}</style>
</head>
<body>
<header><p class="kind">Firefly training report</p><h1>{title}</h1></header>
<main>
"#,
        title = escape(title),
    );
    section(&mut page, "What was trained", &facts(&report.facts));
    section(&mut page, "Evaluation", &evaluation(report));
    section(&mut page, "Training", &training(report));
    section(&mut page, "Learned model", &learned(report));
    section(&mut page, "Configuration", &configuration(&report.config));
    let _ = write!(page, "</main>\n<script>{SCRIPT}</script>\n</body>\n</html>\n");
    page
}

fn section(page: &mut String, heading: &str, content: &str) {
    let _ = writeln!(page, "<section><h2>{heading}</h2>{content}</section>");
}

fn nothing(text: &str) -> String {
    format!(r#"<p class="nothing">{}</p>"#, escape(text))
}

fn facts(facts: &[(String, String)]) -> String {
    if facts.is_empty() {
        return nothing("Nothing was recorded about this run.");
    }
    let mut html = r#"<dl class="facts">"#.to_owned();
    for (name, value) in facts {
        let _ = write!(html, "<div><dt>{}</dt><dd>{}</dd></div>", escape(name), escape(value));
    }
    html.push_str("</dl>");
    html
}

fn evaluation(report: &Report) -> String {
    if report.rows.is_empty() {
        return nothing("No model was evaluated.");
    }
    let mut html = evaluation::tables(&report.rows).concat();
    html.push_str(&grid(&evaluation::figures(&report.rows)));
    html
}

fn training(report: &Report) -> String {
    if report.training.is_empty() {
        return nothing("No training history was recorded.");
    }
    grid(&training::figures(&report.training))
}

fn learned(report: &Report) -> String {
    let mut figures = gates::figures(&report.gates);
    figures.extend(parameters::figures(report));
    if figures.is_empty() {
        return nothing("This run has no learned model.");
    }
    grid(&figures)
}

fn configuration(config: &str) -> String {
    if config.trim().is_empty() {
        return nothing("No configuration was recorded.");
    }
    format!(
        "<details><summary>Resolved configuration (TOML)</summary><pre><code>{}</code></pre></details>",
        escape(config)
    )
}

fn grid(figures: &[Figure]) -> String {
    let figures: String = figures.iter().map(Figure::html).collect();
    format!(r#"<div class="grid">{figures}</div>"#)
}
