//! Reports as one self-contained HTML page: machine and options, curves over sizes, the fastest strategies, and every
//! case.

mod charts;
mod tables;
#[cfg(test)]
mod tests;

use firefly_app::page::document::{self, Document, details, nothing};
use firefly_app::page::figure::grid;

use crate::harness::format::date;
use crate::report::schema::BenchReport;

/// The page of several reports, each with the name it is called by.
pub fn page(title: &str, reports: &[(String, BenchReport)]) -> String {
    let mut page = Document::new("Firefly measurements", title);
    for (name, report) in reports {
        page.section(&format!("{}: {name}", report.command.name), &section(report));
    }
    page.html()
}

fn section(report: &BenchReport) -> String {
    let mut html = facts(report);
    if report.cases.is_empty() {
        return html + &nothing("The report has no cases.");
    }
    let figures = charts::figures(&report.cases);
    if !figures.is_empty() {
        html += &grid(&figures);
    }
    html += &tables::crossovers(&report.cases);
    html += &tables::cases(report);
    let options: Vec<String> = report.command.options.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    html + &details("Options", &options.join("\n"))
}

fn facts(report: &BenchReport) -> String {
    let mut facts = vec![
        ("machine", report.host.summary()),
        ("system", format!("{} {}", report.host.os, report.host.arch)),
        ("measured", date(report.date)),
        ("by", format!("{} {}, {} build", report.tool.name, report.tool.version, report.tool.build)),
    ];
    facts.extend(report.facts.iter().map(|(name, value)| (name, crate::harness::parameters::shown(value))));
    document::facts(facts.iter().map(|(name, value)| (*name, value.as_str())))
}
