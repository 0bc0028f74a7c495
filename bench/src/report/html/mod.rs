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
    for (index, (name, report)) in reports.iter().enumerate() {
        page.section(&format!("{}: {name}", report.command.name), &section(index, report));
    }
    page.html()
}

fn section(index: usize, report: &Report) -> String {
    let mut html = facts(report);
    if report.cases.is_empty() {
        return html + &nothing("No case was asked for.");
    }
    let figures = charts::figures(&format!("report-{index}"), &report.cases);
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

/// Seconds since 1970 as a date and time, UTC, in the proleptic Gregorian calendar.
fn date(seconds: u64) -> String {
    let (mut days, time) = (seconds / 86_400, seconds % 86_400);
    let is_leap = |year: u64| year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    let mut year = 1970;
    loop {
        let length = if is_leap(year) { 366 } else { 365 };
        if days < length {
            break;
        }
        days -= length;
        year += 1;
    }
    let february = if is_leap(year) { 29 } else { 28 };
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    format!("{year}-{month:02}-{:02} {:02}:{:02} UTC", days + 1, time / 3600, time % 3600 / 60)
}
