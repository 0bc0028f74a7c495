//! Reports compared and made into pages: `compare` and `report` as a user runs them.

use std::path::Path;

use firefly_bench::harness::{CaseOutcome, Measured};
use firefly_bench::report::schema::{BenchReport, write};

use crate::common::{output_of, text};

/// A small measured report at `path`.
fn measured(path: &Path) -> BenchReport {
    let grid =
        ["welch-peaks", "--n-fft", "64", "--batch", "2,8", "--k", "3", "--strategy", "firefly,rustfft", "--quiet"];
    let rest = ["--device", "cpu", "--threads", "1", "--iters", "5", "--json", path.to_str().unwrap()];
    assert!(output_of(&[&grid[..], &rest].concat()).status.success());
    BenchReport::read(path).unwrap()
}

/// The same case with every sample times `factor`.
fn scaled(measured: &Measured, rows: usize, factor: f64) -> CaseOutcome {
    let samples = measured.samples_ns.iter().map(|&sample| (sample as f64 * factor) as u64).collect();
    CaseOutcome::Measured(Box::new(
        Measured::new([rows, 1], measured.verification, measured.input_sets, samples).unwrap(),
    ))
}

#[test]
fn regressions_lost_and_unmatched_cases_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let [before, after] = ["before.json", "after.json"].map(|name| folder.path().join(name));
    let mut report = measured(&before);
    let compare = |rest: &[&str]| {
        let output = output_of(&[&["compare", before.to_str().unwrap(), after.to_str().unwrap()], rest].concat());
        (output.status.code(), text(&output.stdout))
    };

    write(&report, &after).unwrap();
    let (code, shown) = compare(&[]);
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("0 slower by more than 5 %, 0 lost, 0 gone, 0 faster, 0 won, 4 the same"), "{shown}");
    assert_eq!(compare(&["--quiet"]).1.lines().count(), 4);

    // Far beyond any spread of five samples.
    let times = report.cases[0].measured().unwrap().clone();
    report.cases[0].outcome = scaled(&times, 2, 1000.0);
    report.cases[1].outcome = CaseOutcome::failed("power is wrong");
    report.cases[3].threads = 7;
    write(&report, &after).unwrap();
    let (code, shown) = compare(&[]);
    assert_eq!(code, Some(1), "{shown}");
    assert!(shown.contains("SLOWER") && shown.contains("LOST"), "{shown}");
    assert!(shown.contains("1 slower by more than 5 %, 1 lost, 1 gone, 0 faster, 0 won, 1 the same"), "{shown}");
    assert!(shown.contains("1 new") && shown.matches("only in ").count() == 2, "{shown}");

    // Lost remains; what is slower is within the threshold.
    assert!(compare(&["--threshold", "2000"]).1.contains("0 slower by more than 200000 %, 1 lost"));
    report.cases[1].outcome = scaled(&times, 2, 1.0);
    write(&report, &after).unwrap();
    assert_eq!(compare(&["--threshold", "2000"]).0, Some(1), "a case is gone");
    report.cases[3].threads = 1;
    write(&report, &after).unwrap();
    assert_eq!(compare(&["--threshold", "2000"]).0, Some(0));

    // What compares nothing doesn't pass.
    report.cases.iter_mut().for_each(|case| case.threads = 9);
    write(&report, &after).unwrap();
    assert_eq!(compare(&[]).0, Some(2));
    report.cases.clear();
    write(&report, &after).unwrap();
    assert_eq!(compare(&[]).0, Some(2));
}

#[test]
fn times_and_keys_that_can_not_be_measured_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.json");
    let report = measured(&path);
    let refused = |change: fn(&mut BenchReport)| {
        let mut report = report.clone();
        change(&mut report);
        write(&report, &path).unwrap();
        let path = path.to_str().unwrap();
        let output = output_of(&["compare", path, path]);
        assert_eq!(output.status.code(), Some(2));
        text(&output.stderr)
    };
    fn times(report: &mut BenchReport) -> &mut Measured {
        let CaseOutcome::Measured(measured) = &mut report.cases[0].outcome else { panic!() };
        measured
    }
    assert!(refused(|report| times(report).time_ns.min = -5.0).contains("times that can't have been measured"));
    assert!(refused(|report| times(report).time_ns.p10 = 1e9).contains("times that can't have been measured"));
    assert!(refused(|report| times(report).time_ns.max = 1e300).contains("times that can't have been measured"));
    assert!(refused(|report| report.cases[1] = report.cases[0].clone()).contains("is there twice"));
    // What steers a terminal comes out as text.
    let [plain, steering] = ["plain.json", "steering.json"].map(|name| folder.path().join(name));
    write(&report, &plain).unwrap();
    let mut other = report.clone();
    (other.host.cpu, other.cases[0].strategy) = (Some("\u{1b}[2Jred".into()), "\u{1b}[31mfirefly".into());
    write(&other, &steering).unwrap();
    let output = output_of(&["compare", plain.to_str().unwrap(), steering.to_str().unwrap()]);
    assert!(
        !text(&output.stdout).contains('\u{1b}') && text(&output.stdout).contains("red"),
        "{}",
        text(&output.stdout)
    );
    let output = output_of(&["compare", "/dev/zero", "/dev/zero"]);
    assert!(text(&output.stderr).contains("reading /dev/zero: it is not a file"), "{}", text(&output.stderr));
}

#[test]
fn reports_become_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let (json, page) = (folder.path().join("peaks.json"), folder.path().join("deep/page.html"));
    measured(&json);
    let [json, path] = [&json, &page].map(|path| path.to_str().unwrap());
    let output = output_of(&["report", json, json, "--out", path, "--title", "Peaks & more"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout).trim(), path);
    let page = std::fs::read_to_string(&page).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("<h1>Peaks &amp; more</h1>"));
    assert_eq!(page.matches("welch-peaks: peaks.json").count(), 2);
    assert!(page.contains("Median milliseconds over batch"));
}

#[test]
fn reports_become_a_results_page() {
    let folder = tempfile::tempdir().unwrap();
    let [json, notes, page] =
        ["peaks.json", "notes.md", "docs/2026-01-01-peaks.md"].map(|name| folder.path().join(name));
    measured(&json);
    std::fs::write(&notes, "Nothing else ran.\n").unwrap();
    let picker = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/picker.json");
    let notes = ["--notes", notes.to_str().unwrap()];
    let page_option = ["--markdown", page.to_str().unwrap()];
    let output = output_of(&[&["report", json.to_str().unwrap(), picker][..], &page_option, &notes].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let page = std::fs::read_to_string(&page).unwrap();
    assert!(page.starts_with("# Measurements\n\nNothing else ran.\n\n## welch-peaks, "), "{page}");
    assert!(page.contains("firefly-bench welch-peaks --n-fft 64 --k 3 --segments 2 --batch 2,8"), "{page}");
    assert!(page.contains("## picker, 2026-11-21") && page.contains("| batch | strategy |"), "{page}");
}

#[test]
fn reports_of_every_command_become_a_page_and_only_times_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let [profile, page] = ["profile.json", "page.html"].map(|name| folder.path().join(name).display().to_string());
    assert!(output_of(&["profile", "stock-loop", "--rewrite", "--json", &profile]).status.success());
    let picker = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/picker.json");
    let output = output_of(&["report", &profile, picker, "--out", &page]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let html = std::fs::read_to_string(&page).unwrap();
    for section in ["profile: profile.json", "picker: picker.json", "Data movement of every node", "Every choice"] {
        assert!(html.contains(section), "{section}");
    }
    let markdown = folder.path().join("page.md");
    assert!(output_of(&["report", &profile, "--markdown", markdown.to_str().unwrap()]).status.success());
    assert!(std::fs::read_to_string(markdown).unwrap().contains("## profile of stock-loop"));
    assert!(output_of(&["compare", picker, picker]).status.success());
    let output = output_of(&["compare", &profile, &profile]);
    assert_eq!(output.status.code(), Some(2));
    let error = text(&output.stderr);
    assert!(error.contains(&format!("{profile} is a report of profile, which has no times to compare")), "{error}");
    let output = output_of(&["report", &profile, "--out", &profile]);
    assert!(output.status.code() == Some(2) && text(&output.stderr).contains("it is an input"));
}

#[test]
fn files_that_are_no_report_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("other.json");
    std::fs::write(&file, "{\"format\": 99}").unwrap();
    let file = file.to_str().unwrap();
    let output = output_of(&["compare", file, file]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("has format 99, and this version reads 4"), "{}", text(&output.stderr));
    let page = folder.path().join("page.html");
    let output = output_of(&["report", file, "--out", page.to_str().unwrap()]);
    assert!(output.status.code() == Some(2) && !page.exists());
}
