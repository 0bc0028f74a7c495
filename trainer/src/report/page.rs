//! The page: its sections in order.

use firefly_app::page::document::{self, Document, details, nothing};
use firefly_app::page::figure::grid;

use super::{Report, evaluation, gates, parameters, training};

/// Rules for what only this page draws.
const STYLE: &str = include_str!("gates.css");

/// The whole page.
pub(super) fn render(report: &Report) -> String {
    let title = match report.title.trim() {
        "" => "Training report",
        title => title,
    };
    let mut page = Document::new("Firefly training report", title);
    page.style = STYLE;
    page.section("What was trained", &facts(&report.facts));
    page.section("Evaluation", &evaluation(report));
    page.section("Training", &training(report));
    page.section("Learned model", &learned(report));
    page.section("Configuration", &configuration(&report.config));
    page.html()
}

fn facts(facts: &[(String, String)]) -> String {
    if facts.is_empty() {
        return nothing("Nothing was recorded about this run.");
    }
    document::facts(facts.iter().map(|(name, value)| (name.as_str(), value.as_str())))
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
    details("Resolved configuration (TOML)", config)
}
