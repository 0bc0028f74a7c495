//! The page as a whole: well-formed, self-contained, and honest about what failed.

use super::*;
use crate::harness::host::Host;
use crate::harness::outcome::{CaseRecord, Outcome};
use crate::harness::parameters::Parameters;
use crate::report::crossover::tests::case;
use crate::report::schema::Command;

fn report(cases: Vec<CaseRecord>) -> Report {
    let options = Parameters::default().with("batch", vec![1, 8]).with("note", "</pre><script>");
    let command = Command { name: "welch-peaks".into(), options };
    Report::new(Host::detect(), command, Parameters::default().with("scaling", "power"), cases)
}

fn cases() -> Vec<CaseRecord> {
    let failed = CaseRecord { outcome: Outcome::failed("<b>wrong</b> & \"bad\""), ..case("c", 1, [1; 3]) };
    vec![case("a", 1, [10; 3]), case("a", 8, [30; 3]), case("b", 1, [20; 3]), case("b", 8, [25; 3]), failed]
}

fn assert_well_formed(page: &str) {
    let (start, end) = (page.find("<script>").unwrap(), page.rfind("</script>").unwrap());
    let text = format!("{}<script>{}", &page[..start], &page[end..]);
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    let document = roxmltree::Document::parse_with_options(&text, options).expect("well-formed XML");
    let mut ids = std::collections::HashSet::new();
    for id in document.descendants().filter_map(|element| element.attribute("id")) {
        assert!(ids.insert(id), "id {id} used twice");
    }
}

#[test]
fn a_page_shows_curves_crossovers_and_failures() {
    let page = page("Two runs", &[("before.json".into(), report(cases())), ("after.json".into(), report(cases()))]);
    assert_well_formed(&page);
    assert_eq!(page.matches("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 460").count(), 2);
    for text in ["welch-peaks: before.json", "Fastest over batch", "FAILED: &lt;b&gt;wrong", "scaling", "n_fft 64"] {
        assert!(page.contains(text), "{text}");
    }
    assert_eq!(page.matches("<script>").count(), 1);
    let alone = page.replace("http://www.w3.org/2000/svg", "");
    assert!(["http:", "https:", " src=", "href=", "url("].iter().all(|loader| !alone.contains(loader)));
}

#[test]
fn a_report_without_cases_says_so() {
    assert!(page("Nothing", &[("none.json".into(), report(Vec::new()))]).contains("No case was asked for."));
}

#[test]
fn dates_are_those_of_the_calendar() {
    assert_eq!(date(0), "1970-01-01 00:00 UTC");
    assert_eq!(date(951_826_800), "2000-02-29 12:20 UTC");
    assert_eq!(date(1_798_761_599), "2026-12-31 23:59 UTC");
}
