//! Reports as pages, in Markdown and as self-contained HTML: a section each, with facts, command, tables and decisions.

use std::fmt::Write as _;

use firefly_app::page::chart::{AxisScale, Chart, ChartAxis, ChartSeries, Mark, Point, Range};
use firefly_app::page::document::{self, Document, nothing};
use firefly_app::page::figure::{Figure, grid};
use firefly_app::page::html_table::{HtmlRow, HtmlTable};
use firefly_app::table::{Align, TextTable};
use serde_json::Value;

use super::crossover::crossovers;
use super::profile::{PAGE, ProfileReport, explain};
use super::regret::Choices;
use super::schema::{AnyReport, BenchReport, Tool};
use super::{terminal, traffic};
use crate::harness::{CaseRecord, DERIVED, Measured, ParameterMap, date, day, distinct, grouped, shown};

struct Section {
    /// What was measured, and the day if it was.
    title: String,
    /// Machine, system, date and program.
    facts: Vec<(&'static str, String)>,
    command: String,
    lines: Vec<String>,
    figures: Vec<Figure>,
    tables: Vec<(String, TextTable)>,
    details: Vec<(&'static str, String)>,
}

impl Section {
    fn of(report: &AnyReport) -> Self {
        match report {
            AnyReport::Bench(report) => Self::of_bench(report),
            AnyReport::Profile(report) => Self::of_profile(report),
        }
    }

    fn of_bench(report: &BenchReport) -> Self {
        let BenchReport { tool, host, command, facts, cases, .. } = report;
        let notes = [
            (!report.complete).then(|| "The measurement was not finished.".to_string()),
            cases.is_empty().then(|| "The report has no cases.".to_string()),
            facts.iter().next().map(|_| format!("All cases: {facts}.")),
        ];
        let mut lines: Vec<String> = notes.into_iter().flatten().collect();
        // Every parameter that takes more than one value; the others are in the command.
        let names = distinct(cases.iter().flat_map(|case| case.problem.iter()).map(|(name, _)| name));
        let varies = |name: &&str| cases.iter().any(|case| case.problem.get(name) != cases[0].problem.get(name));
        let columns: Vec<&str> = names.into_iter().filter(|name| !DERIVED.contains(name)).filter(varies).collect();
        let mut tables = vec![("Every case".to_string(), terminal::table(cases, &columns))];
        if cases.iter().any(|case| case.measured().is_some_and(|measured| measured.traffic.is_some())) {
            tables.push(("Data movement per run".to_string(), traffic::table(cases, &columns)));
        }
        let choices = Choices::of(cases);
        if command.name == "picker" && !choices.is_empty() {
            lines.push(sentence(&choices.summary()));
            tables.extend(choices.table(true).map(|table| ("Every choice of the picker".to_string(), table)));
        }
        for over in ["batch", "k"] {
            for found in crossovers(cases, over) {
                let caption = format!("Median milliseconds over {over}: {}", found.common.without(&DERIVED));
                tables.push((caption, found.table(over)));
            }
        }
        Self {
            title: format!("{}, {}", command.name, day(report.date)),
            facts: vec![
                ("machine", host.summary()),
                ("system", format!("{} {}", host.os, host.arch)),
                ("measured", format!("{} by {}", date(report.date), by(tool))),
            ],
            command: command_line(&command.name, &command.options),
            lines,
            figures: figures(cases),
            tables,
            details: Vec::new(),
        }
    }

    fn of_profile(report: &ProfileReport) -> Self {
        let ProfileReport { tool, model, parameters, target, decisions, .. } = report;
        let options = parameters.clone().with("target", target.name.clone());
        let explained = decisions.iter().map(|decision| explain(decision, PAGE));
        Self {
            title: format!("profile of {model}"),
            facts: vec![("by", by(tool))],
            command: command_line(&format!("profile {model}"), &options),
            lines: report.summary().map(|line| sentence(&line)).into(),
            figures: Vec::new(),
            tables: vec![("Data movement of every node".to_string(), report.table())],
            details: explained.map(|text| ("Decision on a rewrite", text)).collect(),
        }
    }

    fn markdown(&self) -> String {
        let mut text = format!("## {}\n\n", self.title);
        text.extend(self.facts.iter().map(|(name, value)| format!("- {name}: {value}\n")));
        let _ = write!(text, "\n```text\n{}\n```\n", self.command);
        text.extend(self.lines.iter().map(|line| format!("\n{line}\n")));
        for (caption, table) in &self.tables {
            let _ = write!(text, "\n{caption}:\n\n{}", markdown_table(table));
        }
        for (caption, detail) in &self.details {
            let _ = write!(text, "\n{caption}:\n\n```text\n{}\n```\n", detail.trim_end());
        }
        text
    }

    fn html(&self) -> String {
        let mut html = document::facts(self.facts.iter().map(|(name, value)| (*name, value.as_str())));
        html.extend(self.lines.iter().map(|line| nothing(line)));
        if !self.figures.is_empty() {
            html += &grid(&self.figures);
        }
        html.extend(self.tables.iter().filter(|(_, table)| !table.cells().is_empty()).map(html_table));
        html.extend(self.details.iter().map(|(caption, text)| document::details(caption, text)));
        html + &document::details("Command", &self.command)
    }
}

/// Page in Markdown with a section per report, after `notes`, if there are any.
pub fn markdown(title: &str, notes: &str, reports: &[AnyReport]) -> String {
    let mut page = format!("# {title}\n");
    if !notes.trim().is_empty() {
        let _ = write!(page, "\n{}\n", notes.trim());
    }
    page.extend(reports.iter().map(|report| format!("\n{}", Section::of(report).markdown())));
    page
}

/// Self-contained HTML page of several reports, each with the name it is called by.
pub fn html(title: &str, reports: &[(String, AnyReport)]) -> String {
    let mut page = Document::new("Firefly measurements", title);
    for (name, report) in reports {
        page.section(&format!("{}: {name}", report.command()), &Section::of(report).html());
    }
    page.html()
}

fn by(tool: &Tool) -> String {
    format!("{} {}, {} build", tool.name, tool.version, tool.build)
}

fn command_line(command: &str, options: &ParameterMap) -> String {
    let given = options.iter().filter_map(|(name, value)| Some((name.replace('_', "-"), option(value)?)));
    let options = given.map(|(name, value)| format!(" --{name} {value}").trim_end().to_string());
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

fn sentence(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(characters).chain(['.']).collect()
}

fn markdown_table(table: &TextTable) -> String {
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

fn html_table((caption, table): &(String, TextTable)) -> String {
    let row = |cells: Vec<&str>| HtmlRow::new(cells[0], cells[1..].iter().map(|cell| (*cell).to_owned()).collect());
    let columns = table.titles().into_iter().map(str::to_owned).collect();
    let rows = table.cells().into_iter().map(row).collect();
    HtmlTable { caption: caption.clone(), columns, rows }.html_folded_if_long()
}

/// Sizes that are drawn from left to right, and what they count.
const SIZES: [(&str, &str); 4] = [
    ("batch", "batch (rows per call, logarithmic)"),
    ("k", "k (peaks per row, logarithmic)"),
    ("n_fft", "n_fft (samples per segment, logarithmic)"),
    ("n", "n (values per row, logarithmic)"),
];
const CAPTION: &str =
    "Both axes are logarithmic, as in every chart of this page. Band: 10th to 90th percentile of the iterations.";
/// Charts of a report at most; more are in its table only.
const MAX_CHARTS: usize = 24;

/// Time per row over each parameter that takes several sizes: a chart for every combination of the others.
fn figures(cases: &[CaseRecord]) -> Vec<Figure> {
    let charts =
        SIZES.iter().flat_map(|&(over, label)| of_size(cases, over).into_iter().map(move |group| (label, group)));
    let figure = |(label, (title, series)): (&str, (String, Vec<ChartSeries>))| {
        let x = ChartAxis::new(label, AxisScale::Log2);
        let y = ChartAxis::new("median time (ns per row, logarithmic)", AxisScale::Log);
        let mut figure = Figure::chart(&title, Chart { x, y, series, threshold: None }, "No case was measured.");
        figure.caption = CAPTION.to_owned();
        figure
    };
    charts.take(MAX_CHARTS).map(figure).collect()
}

/// Curves of charts with their titles.
fn of_size(cases: &[CaseRecord], over: &str) -> Vec<(String, Vec<ChartSeries>)> {
    let points = cases.iter().filter_map(|case| {
        let point = point(case.problem.count(over)? as f64, case.measured()?);
        let common = case.problem.without(&DERIVED).without(&[over]).with("threads", case.threads);
        let name = match &case.instruction_set {
            Some(set) => format!("{} ({set})", case.strategy),
            None => case.strategy.clone(),
        };
        Some((format!("{common} on {}", case.device), (name, point)))
    });
    let series = |(place, (name, mut points)): (usize, (String, Vec<Point>))| {
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        ChartSeries::new(&name, place, Mark::Line, points)
    };
    let charts = grouped(points).into_iter();
    let charts = charts.map(|(title, named)| (title, grouped(named).into_iter().enumerate().map(series).collect()));
    charts.filter(|(_, series): &(_, Vec<ChartSeries>)| series.iter().any(|series| series.points.len() > 1)).collect()
}

/// Median time per row at a size, with the percentiles as its range.
fn point(size: f64, measured: &Measured) -> Point {
    let time = &measured.time_ns;
    let per_row = measured.ns_per_row / time.median;
    let range = Range { low: time.p10 * per_row, high: time.p90 * per_row };
    Point { range: Some(range), ..Point::at(size, measured.ns_per_row) }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use firefly_testing::assert_self_contained;

    use super::*;
    use crate::harness::{CaseOutcome, MachineInfo};
    use crate::report::crossover::tests::case;
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

    fn parse(bytes: &[u8]) -> anyhow::Result<AnyReport> {
        AnyReport::parse(Path::new("report.json"), bytes)
    }

    #[test]
    fn a_page_has_notes_machine_date_command_and_table() {
        let reports = [AnyReport::Bench(Box::new(report()))];
        insta::assert_snapshot!(markdown("Welch peaks", "Beside another program: 1.5 s.\n", &reports));
    }

    #[test]
    fn reports_of_the_picker_become_pages() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/picker.json");
        let text = markdown("Picker", "", &[AnyReport::read(&path).unwrap()]);
        assert!(text.contains("firefly-bench picker") && text.contains("Regret of 16 choices"), "{text}");
    }

    fn report_of(cases: Vec<CaseRecord>) -> AnyReport {
        let options = ParameterMap::default().with("batch", vec![1, 8]).with("note", "</pre><script>");
        let command = CommandRecord { name: "welch-peaks".into(), options };
        let facts = ParameterMap::default().with("scaling", "power");
        AnyReport::Bench(Box::new(BenchReport::new(command, facts, cases)))
    }

    fn two_batches() -> Vec<CaseRecord> {
        let failed = CaseRecord { outcome: CaseOutcome::failed("<b>wrong</b> & \"bad\""), ..case("c", 1, [1; 3]) };
        vec![case("a", 1, [10; 3]), case("a", 8, [30; 3]), case("b", 1, [20; 3]), case("b", 8, [25; 3]), failed]
    }

    #[test]
    fn page_shows_curves_crossovers_and_failures() {
        let page = html(
            "Two runs",
            &[("before.json".into(), report_of(two_batches())), ("after.json".into(), report_of(two_batches()))],
        );
        assert_self_contained(&page);
        assert_eq!(page.matches("<canvas").count(), 2);
        for text in [
            "welch-peaks: before.json",
            "Median milliseconds over batch",
            "FAILED: &lt;b&gt;wrong",
            "scaling",
            "n_fft 64",
        ] {
            assert!(page.contains(text), "{text}");
        }
    }

    #[test]
    fn report_without_cases_says_so() {
        assert!(html("Nothing", &[("none.json".into(), report_of(Vec::new()))]).contains("The report has no cases."));
    }

    #[test]
    fn report_of_a_thousand_cases_stays_below_600_kilobytes() {
        let cases = (0..1000u64).map(|i| case(["a", "b", "c", "d"][i as usize % 4], 1 << (i / 4 % 20), [i + 10; 3]));
        let page = html("Many", &[("many.json".into(), report_of(cases.collect()))]);
        assert!(page.len() <= 600_000, "{} bytes", page.len());
    }

    #[test]
    fn reports_of_the_picker_become_sections() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/picker.json");
        let page = html("Picker", &[("picker.json".into(), AnyReport::read(&path).unwrap())]);
        assert_self_contained(&page);
        assert!(page.contains("picker: picker.json") && page.contains("regret"));
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
                    prop_assert!(markdown("Mutated", "", &[report]).starts_with("# Mutated"));
                }
            }
        }
    }
}
