//! Reports as one self-contained HTML page: what was measured where, curves over sizes, who is fastest, and every case.

mod charts;
mod tables;
#[cfg(test)]
mod tests;

use firefly_app::page::document::{self, Document, details, nothing};
use firefly_app::page::figure::grid;

use crate::report::schema::Report;

/// The page of several reports, each with the name it is called by.
pub fn page(title: &str, reports: &[(String, Report)]) -> String {
    let mut page = Document::new("Firefly measurements", title);
    for (name, report) in reports {
        page.section(&format!("{}: {name}", report.command.name), &section(report));
    }
    page.html()
}

fn section(report: &Report) -> String {
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

fn facts(report: &Report) -> String {
    let mut facts = vec![
        ("machine", report.host.summary()),
        ("system", format!("{} {}", report.host.os, report.host.arch)),
        ("measured", date(report.date)),
        ("by", format!("{} {}, {} build", report.tool.name, report.tool.version, report.tool.build)),
    ];
    facts.extend(report.facts.iter().map(|(name, value)| (name, crate::harness::parameters::shown(value))));
    document::facts(facts.iter().map(|(name, value)| (*name, value.as_str())))
}

/// Seconds since 1970 as a date and time, UTC.
fn date(seconds: u64) -> String {
    let timestamp = i64::try_from(seconds).ok().and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    match timestamp {
        Some(timestamp) => timestamp.strftime("%Y-%m-%d %H:%M UTC").to_string(),
        None => format!("{seconds} s after 1970-01-01"),
    }
}
