//! Reports as one self-contained HTML page: machine and options, curves over sizes, the fastest strategies, and every
//! case.

mod charts;
mod tables;
#[cfg(test)]
mod tests;

use firefly_app::page::document::{self, Document, details, nothing};
use firefly_app::page::figure::grid;

use crate::harness::date::date;
use crate::report::any::AnyReport;
use crate::report::decision;
use crate::report::picker_report::PickerReport;
use crate::report::profile::ProfileReport;
use crate::report::schema::BenchReport;

/// The page of several reports, each with the name it is called by.
pub fn page(title: &str, reports: &[(String, AnyReport)]) -> String {
    let mut page = Document::new("Firefly measurements", title);
    for (name, report) in reports {
        let section = match report {
            AnyReport::Bench(report) => bench_section(report),
            AnyReport::Picker(report) => picker_section(report),
            AnyReport::Profile(report) => profile_section(report),
        };
        page.section(&format!("{}: {name}", report.command()), &section);
    }
    page.html()
}

fn picker_section(report: &PickerReport) -> String {
    let [quality, deciding] = report.summary();
    let measured = date(report.date);
    let facts = [
        ("machine", report.host.summary()),
        ("device", report.device.clone()),
        ("measured", measured),
        ("predictions", quality),
        ("decisions", deciding),
    ];
    let html = document::facts(facts.iter().map(|(name, value)| (*name, value.as_str())));
    let html = html + &tables::of_text("Every problem", &report.table());
    if report.left_out.is_empty() { html } else { html + &details("Left out", &report.left_out.join("\n")) }
}

fn profile_section(report: &ProfileReport) -> String {
    let ProfileReport { model, parameters, target, decisions, .. } = report;
    let [memory, predicted] = report.summary();
    let facts = [
        ("model", model.clone()),
        ("parameters", parameters.to_string()),
        ("costs of", target.name.clone()),
        ("memory", memory),
        ("time", predicted),
    ];
    let html = document::facts(facts.iter().map(|(name, value)| (*name, value.as_str())));
    let explained =
        decisions.iter().map(|decision| details("Decision on a rewrite", &decision::explain(decision, decision::PAGE)));
    html + &tables::of_text("Data movement of every node", &report.table()) + &explained.collect::<String>()
}

fn bench_section(report: &BenchReport) -> String {
    let mut html = facts(report);
    if !report.complete {
        html += &nothing("The measurement was not finished.");
    }
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
