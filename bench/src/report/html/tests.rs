//! The page as a whole: well-formed, self-contained, and honest about what failed.

use firefly_app::page::check::assert_self_contained;

use super::*;
use crate::harness::machine::MachineInfo;
use crate::harness::outcome::{CaseOutcome, CaseRecord};
use crate::harness::parameters::ParameterMap;
use crate::report::any::AnyReport;
use crate::report::crossover::tests::case;
use crate::report::schema::CommandRecord;

fn report(cases: Vec<CaseRecord>) -> AnyReport {
    let options = ParameterMap::default().with("batch", vec![1, 8]).with("note", "</pre><script>");
    let command = CommandRecord { name: "welch-peaks".into(), options };
    let facts = ParameterMap::default().with("scaling", "power");
    AnyReport::Bench(Box::new(BenchReport::new(MachineInfo::detect(), command, facts, cases)))
}

fn cases() -> Vec<CaseRecord> {
    let failed = CaseRecord { outcome: CaseOutcome::failed("<b>wrong</b> & \"bad\""), ..case("c", 1, [1; 3]) };
    vec![case("a", 1, [10; 3]), case("a", 8, [30; 3]), case("b", 1, [20; 3]), case("b", 8, [25; 3]), failed]
}

#[test]
fn page_shows_curves_crossovers_and_failures() {
    let page = page("Two runs", &[("before.json".into(), report(cases())), ("after.json".into(), report(cases()))]);
    assert_self_contained(&page);
    assert_eq!(page.matches("<canvas").count(), 2);
    for text in
        ["welch-peaks: before.json", "Median milliseconds over batch", "FAILED: &lt;b&gt;wrong", "scaling", "n_fft 64"]
    {
        assert!(page.contains(text), "{text}");
    }
}

#[test]
fn report_without_cases_says_so() {
    assert!(page("Nothing", &[("none.json".into(), report(Vec::new()))]).contains("The report has no cases."));
}

#[test]
fn report_of_a_thousand_cases_stays_below_600_kilobytes() {
    let cases = (0..1000u64).map(|i| case(["a", "b", "c", "d"][i as usize % 4], 1 << (i / 4 % 20), [i + 10; 3]));
    let page = page("Many", &[("many.json".into(), report(cases.collect()))]);
    assert!(page.len() <= 600_000, "{} bytes", page.len());
}

#[test]
fn reports_of_the_picker_become_sections() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/picker.json");
    let page = page("Picker", &[("picker.json".into(), AnyReport::read(&path).unwrap())]);
    assert_self_contained(&page);
    assert!(page.contains("picker: picker.json") && page.contains("regret"));
}
