//! Results pages in Markdown: machine, date, command and table of each report.

use std::fmt::Write as _;

use firefly_app::table::{Align, TextTable};
use serde_json::Value;

use super::any::AnyReport;
use super::picker_report::PickerReport;
use super::profile::ProfileReport;
use super::schema::{BenchReport, Tool};
use super::{decision, terminal, traffic};
use crate::harness::date::{date, day};
use crate::harness::machine::MachineInfo;
use crate::harness::outcome::DERIVED;
use crate::harness::parameters::shown;

/// Page with a section per report, after `notes`, if there are any.
pub fn page(title: &str, notes: &str, reports: &[AnyReport]) -> String {
    let mut page = format!("# {title}\n");
    if !notes.trim().is_empty() {
        let _ = write!(page, "\n{}\n", notes.trim());
    }
    for report in reports {
        page += "\n";
        page += &match report {
            AnyReport::Bench(report) => bench_section(report),
            AnyReport::Picker(report) => picker_section(report),
            AnyReport::Profile(report) => profile_section(report),
        };
    }
    page
}

fn bench_section(report: &BenchReport) -> String {
    let BenchReport { tool, date, host, command, facts, cases, .. } = report;
    let options = command.options.iter().filter_map(|(name, value)| Some((name.to_string(), option(value)?)));
    let mut section = heading(&command.name, *date, host, tool, &command_line(&command.name, options));
    if !report.complete {
        section += "The measurement was not finished.\n\n";
    }
    if facts.iter().next().is_some() {
        let _ = write!(section, "All cases: {facts}.\n\n");
    }
    // Every parameter that takes more than one value; the others are in the command.
    let mut columns: Vec<&str> = Vec::new();
    for (name, value) in cases.iter().flat_map(|case| case.problem.iter()) {
        let varies = cases.iter().any(|case| case.problem.get(name) != Some(value));
        if varies && !columns.contains(&name) && !DERIVED.contains(&name) {
            columns.push(name);
        }
    }
    section += &table(&terminal::table(cases, &columns));
    if cases.iter().any(|case| case.measured().is_some_and(|measured| measured.traffic.is_some())) {
        section += "\nData movement per run:\n\n";
        section += &table(&traffic::table(cases, &columns));
    }
    section
}

fn picker_section(report: &PickerReport) -> String {
    let PickerReport { tool, date, host, device, cases, .. } = report;
    let mut lists: [(&str, Vec<String>); 4] = ["n-fft", "tier", "batch", "k"].map(|name| (name, Vec::new()));
    for case in cases {
        let values = [case.n_fft.to_string(), case.tier.clone(), case.batch.to_string(), case.k.to_string()];
        for ((_, list), value) in lists.iter_mut().zip(values) {
            if !list.contains(&value) {
                list.push(value);
            }
        }
    }
    let options = lists.into_iter().map(|(name, list)| (name.to_string(), list.join(",")));
    let options = options.chain([("device".to_string(), device.clone())]);
    let mut section = heading("picker", *date, host, tool, &command_line("picker", options));
    for line in report.summary() {
        let _ = write!(section, "{}.\n\n", capitalised(&line));
    }
    section += &table(&report.table());
    if !report.left_out.is_empty() {
        section += "\nLeft out:\n\n";
        section.extend(report.left_out.iter().map(|problem| format!("- {problem}\n")));
    }
    section
}

fn profile_section(report: &ProfileReport) -> String {
    let ProfileReport { tool, model, parameters, target, decisions, .. } = report;
    let options = parameters.iter().filter_map(|(name, value)| Some((name.to_string(), option(value)?)));
    let options = options.chain([("target".into(), target.name.clone())]);
    let command = command_line(&format!("profile {model}"), options);
    let mut section = format!(
        "## profile of {model}\n\n- by {} {}, {} build\n\n\
         ```text\n{command}\n```\n\n",
        tool.name, tool.version, tool.build
    );
    for line in report.summary() {
        let _ = write!(section, "{}.\n\n", capitalised(&line));
    }
    section += &table(&report.table());
    for decision in decisions {
        let _ = write!(section, "\n```text\n{}```\n", decision::explain(decision, decision::PAGE));
    }
    section
}

fn heading(command: &str, seconds: u64, machine: &MachineInfo, tool: &Tool, command_line: &str) -> String {
    let MachineInfo { os, arch, .. } = machine;
    format!(
        "## {command}, {}\n\n\
         - machine: {}\n\
         - system: {os} {arch}\n\
         - measured: {} by {} {}, {} build\n\n\
         ```text\n{command_line}\n```\n\n",
        day(seconds),
        machine.summary(),
        date(seconds),
        tool.name,
        tool.version,
        tool.build
    )
}

fn command_line(command: &str, options: impl Iterator<Item = (String, String)>) -> String {
    let options = options.map(|(name, value)| format!(" --{} {value}", name.replace('_', "-")).trim_end().to_string());
    format!("firefly-bench {command}{}", options.collect::<String>())
}

/// The value of an option as it is typed; none if it was not given.
fn option(value: &Value) -> Option<String> {
    match value {
        Value::Null | Value::Bool(false) => None,
        Value::Bool(true) => Some(String::new()),
        Value::Array(values) => Some(values.iter().map(shown).collect::<Vec<_>>().join(",")),
        value => Some(shown(value)),
    }
}

fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}

/// A table in Markdown.
fn table(table: &TextTable) -> String {
    let line = |cells: Vec<&str>| {
        let cells: Vec<String> = cells.into_iter().map(|cell| cell.replace('|', "\\|")).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let rules = table.alignments().into_iter().map(|align| match align {
        Align::Left => "---",
        Align::Right => "---:",
    });
    let mut text = line(table.titles()) + &line(rules.collect());
    text.extend(table.cells().into_iter().map(line));
    text
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;
    use crate::harness::outcome::{CaseOutcome, CaseRecord};
    use crate::harness::parameters::ParameterMap;
    use crate::report::crossover::tests::case;
    use crate::report::json::ReportError;
    use crate::report::schema::{CommandRecord, FORMAT};

    fn machine() -> MachineInfo {
        MachineInfo {
            cpu: Some("Abacus 3".into()),
            cores: 1,
            instruction_sets: vec!["beads".into()],
            os: "linux".into(),
            arch: "wood".into(),
        }
    }

    fn report() -> BenchReport {
        let failed = CaseRecord { outcome: CaseOutcome::failed("one | two"), ..case("b", 8, [1; 3]) };
        BenchReport {
            format: FORMAT,
            tool: Tool { name: "firefly-bench".into(), version: "0.1.0".into(), build: "release".into() },
            date: 1_798_761_599,
            host: machine(),
            command: CommandRecord {
                name: "welch-peaks".into(),
                options: ParameterMap::default()
                    .with("n_fft", vec![64])
                    .with("batch", vec![1, 8])
                    .with("train_steps", None::<u64>)
                    .with("device", "cpu"),
            },
            facts: ParameterMap::default().with("scaling", "power"),
            complete: true,
            cases: vec![case("a", 1, [1000, 1100, 1200]), case("a", 8, [4000; 3]), case("b", 1, [2000; 3]), failed],
        }
    }

    fn parse(bytes: &[u8]) -> Result<AnyReport, ReportError> {
        AnyReport::parse(Path::new("report.json"), bytes)
    }

    #[test]
    fn a_page_has_notes_machine_date_command_and_table() {
        let reports = [AnyReport::Bench(Box::new(report()))];
        insta::assert_snapshot!(page("Welch peaks", "Beside another program: 1.5 s.\n", &reports));
    }

    #[test]
    fn reports_of_the_picker_become_pages() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/picker.json");
        let text = page("Picker", "", &[AnyReport::read(&path).unwrap()]);
        assert!(text.contains("--n-fft 64,256") && text.contains("regret"), "{text}");
    }

    proptest! {
        #[test]
        fn a_mutated_report_is_read_or_refused(
            place in any::<prop::sample::Index>(),
            byte: u8,
            keep in any::<prop::sample::Index>(),
        ) {
            let mut bytes = serde_json::to_vec(&report()).unwrap();
            let length = bytes.len();
            bytes[place.index(length)] = byte;
            for bytes in [&bytes[..], &bytes[..keep.index(length)]] {
                if let Ok(report) = parse(bytes) {
                    prop_assert!(page("Mutated", "", &[report]).starts_with("# Mutated"));
                }
            }
        }
    }
}
