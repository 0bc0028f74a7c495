//! The page as a whole: well-formed, self-contained, finite, small.

use super::{GateMap, Report};
use crate::evaluate::{EvaluationRow, ModelKind};
use crate::metrics::TrainingPoint;

const HOSTILE: &str = "</script></pre><script>alert('x')</script> & \"quoted\" \u{0}\u{1b}[1m]]> <!-- NaN";

fn row(name: &str, kind: ModelKind, recall: f64, butterflies: f64) -> EvaluationRow {
    EvaluationRow {
        name: name.to_owned(),
        kind,
        data_set: "bearing/test".to_owned(),
        recall,
        recall_within_one_bin: recall + 0.1,
        median_power_error_db: 0.8,
        active_share: 0.5,
        butterflies_per_frame: butterflies,
        median_microseconds_per_frame: 1.5,
    }
}

fn full(n_fft: usize, steps: usize) -> Report {
    let stages = n_fft.ilog2() as usize;
    let pairs = n_fft / 2;
    // A hash of the index: no two neighbours alike, the worst case of a drawing made of runs.
    let noise = |index: usize| (index as u32).wrapping_mul(2_654_435_761) as f32 / u32::MAX as f32;
    Report {
        title: "Run".to_owned(),
        facts: vec![("seed".to_owned(), "7".to_owned())],
        training: (0..steps)
            .map(|step| TrainingPoint {
                step,
                loss: 3.0 / (step + 1) as f64,
                ranking: 2.0 / (step + 1) as f64,
                log_power: 0.9 / (step + 1) as f64,
                price: 0.1 / (step + 1) as f64,
                active_share: f64::from(noise(step)),
                learning_rate: 1e-3,
                validation_recall: (step % 50 == 0).then_some(0.8),
                ..TrainingPoint::default()
            })
            .collect(),
        gates: GateMap {
            stages,
            pairs,
            values: (0..stages * pairs).map(noise).collect(),
            segments: vec![1.0, 0.75, 0.0],
        },
        taper: (0..n_fft).map(noise).collect(),
        window: (0..n_fft).map(noise).collect(),
        gain_db: [-30, 0, -20].map(|tap| (0..=pairs).map(|k| noise(k) + tap as f32).collect()),
        rows: vec![
            row("ultra", ModelKind::Exact, 0.741, 1_024.0),
            row("fast", ModelKind::Exact, 0.829, 2_048.0),
            row("learned", ModelKind::Learned, 0.77, 1_000.0),
        ],
        config: "seed = 7\n".to_owned(),
    }
}

/// Everything replaced by values that are not finite, and text by markup.
fn hostile() -> Report {
    let mut report = full(64, 40);
    report.title = HOSTILE.to_owned();
    report.facts = vec![(HOSTILE.to_owned(), HOSTILE.to_owned())];
    report.config = HOSTILE.to_owned();
    let bad = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, 1e-310];
    for (index, point) in report.training.iter_mut().enumerate() {
        let value = bad[index % bad.len()];
        if index % 7 != 0 {
            point.loss = value;
            point.ranking = value;
            point.price = -value;
            point.active_share = value;
            point.learning_rate = value;
            point.validation_recall = Some(value);
        }
    }
    let parts = [&mut report.gates.values, &mut report.gates.segments, &mut report.taper];
    for values in parts.into_iter().chain(&mut report.gain_db) {
        for (index, value) in values.iter_mut().enumerate() {
            if index % 3 != 1 {
                *value = bad[index % bad.len()] as f32;
            }
        }
    }
    for (index, value) in bad.into_iter().enumerate() {
        let mut row = row(HOSTILE, ModelKind::Learned, value, value);
        row.median_power_error_db = value;
        row.active_share = value;
        row.median_microseconds_per_frame = value;
        if index % 2 == 0 {
            row.data_set = HOSTILE.to_owned();
        }
        report.rows.push(row);
    }
    report
}

fn reports() -> Vec<Report> {
    let mut mismatched = full(64, 1);
    mismatched.gates.pairs = 31;
    let mut without_learned = full(64, 3);
    without_learned.gates = GateMap::default();
    without_learned.taper.clear();
    without_learned.gain_db = Default::default();
    without_learned.rows.truncate(2);
    let mut only_gaps = full(8, 5);
    only_gaps.taper.fill(f32::NAN);
    only_gaps.gates.values.fill(f32::NAN);
    vec![Report::default(), full(8, 0), full(256, 2_000), hostile(), mismatched, without_learned, only_gaps]
}

/// Parses `text` to its end: every element closed, every attribute unique and escaped. Every id is used once.
fn assert_well_formed(text: &str) {
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    let document = roxmltree::Document::parse_with_options(text, options).expect("well-formed XML");
    let mut ids = std::collections::HashSet::new();
    for id in document.descendants().filter_map(|element| element.attribute("id")) {
        assert!(ids.insert(id), "id {id} used twice");
    }
}

/// The page with the content of its script left out, which is not XML.
fn without_script(page: &str) -> String {
    let start = page.find("<script>").expect("one script");
    let end = page.rfind("</script>").expect("one script");
    format!("{}<script>{}", &page[..start], &page[end..])
}

fn drawings(page: &str) -> Vec<&str> {
    page.match_indices("<svg")
        .map(|(start, _)| {
            let length = page[start..].find("</svg>").expect("closed drawing") + "</svg>".len();
            &page[start..start + length]
        })
        .collect()
}

#[test]
fn page_and_every_drawing_are_well_formed() {
    for report in reports() {
        let page = report.render();
        assert_well_formed(&without_script(&page));
        for drawing in drawings(&page) {
            assert_well_formed(drawing);
        }
    }
    assert!(drawings(&full(256, 100).render()).len() >= 10);
}

#[test]
fn drawings_hold_no_value_that_is_not_finite() {
    for report in reports() {
        for drawing in drawings(&report.render()) {
            for word in ["NaN", "inf", "Inf"] {
                let outside_text =
                    drawing.split('<').filter_map(|piece| piece.split_once('>')).any(|(tag, _)| tag.contains(word));
                assert!(!outside_text, "{word} in an attribute of {drawing}");
            }
        }
    }
}

#[test]
fn outside_text_cannot_leave_its_place() {
    let page = hostile().render();
    assert_eq!(page.matches("<script>").count(), 1);
    assert_eq!(page.matches("</pre>").count(), 1);
    assert!(!page.contains('\u{1b}') && !page.contains('\0'));
    assert!(page.contains("n/a"));
}

#[test]
fn page_loads_nothing() {
    for report in reports() {
        let page = report.render().replace("http://www.w3.org/2000/svg", "");
        for loader in ["http:", "https:", " src=", "href=", "url(", "@import", "fetch("] {
            assert!(!page.contains(loader), "{loader}");
        }
    }
}

#[test]
fn missing_parts_are_said_to_be_missing() {
    let page = Report::default().render();
    for text in [
        "Training report",
        "No model was evaluated.",
        "No training history was recorded.",
        "This run has no learned model.",
        "No configuration was recorded.",
    ] {
        assert!(page.contains(text), "{text}");
    }
    assert!(drawings(&page).is_empty());
}

#[test]
fn largest_model_and_long_history_stay_below_one_megabyte() {
    let page = full(65_536, 100_000).render();
    assert!(page.len() < 1_000_000, "{} bytes", page.len());
    let long_curves =
        page.split(" d=\"").skip(1).filter_map(|piece| piece.split('"').next()).filter(|path| path.contains('L'));
    for path in long_curves {
        assert!(path.matches(['M', 'L']).count() <= 600, "a curve is too long");
    }
}

#[test]
fn figures_have_titles_and_descriptions() {
    for drawing in drawings(&full(256, 100).render()) {
        assert!(
            drawing.contains("aria-hidden") || drawing.contains("<title id") && drawing.contains("<desc id"),
            "{drawing}"
        );
    }
}

#[test]
fn same_report_renders_the_same_page() {
    assert_eq!(full(64, 200).render(), full(64, 200).render());
}
