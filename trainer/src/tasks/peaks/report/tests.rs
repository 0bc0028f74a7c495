//! The page as a whole: well-formed, self-contained, finite, small.

use firefly_testing::{MAX_BYTES, assert_self_contained, markup, specifications};
use serde_json::Value;

use super::{GateMap, open_share};
use crate::metrics::{Metric, TrainingPoint, Validation};
use crate::report;
use crate::task::Task;
use crate::tasks::peaks::PeaksTask;
use crate::tasks::peaks::evaluate::{ModelKind, PeaksRow};

const HOSTILE: &str = "</script></pre><script>alert('x')</script> & \"quoted\" \u{0}\u{1b}[1m]]> <!-- NaN";

fn row(name: &str, kind: ModelKind, recall: f64, butterflies: f64) -> PeaksRow {
    PeaksRow {
        name: name.to_owned(),
        kind,
        data_set: "bearing/test".to_owned(),
        recall,
        recall_within_one_bin: recall + 0.1,
        median_power_error_db: 0.8,
        active_share: 0.5,
        butterflies_per_frame: butterflies,
        median_microseconds_per_frame: 1.5,
        predicted_microseconds_per_frame: Default::default(),
    }
}

/// A page before it is rendered, with the parts of the task as data.
#[derive(Clone, Default)]
struct PeaksPage {
    title: String,
    facts: Vec<(String, String)>,
    training: Vec<TrainingPoint>,
    own: super::PeaksReport,
    config: String,
}

impl PeaksPage {
    fn render(&self) -> String {
        let page = report::Report {
            title: self.title.clone(),
            facts: self.facts.clone(),
            training: self.training.clone(),
            terms: PeaksTask::TERMS,
            curves: PeaksTask::CURVES,
            parts: self.own.parts(),
            config: self.config.clone(),
        };
        page.render()
    }
}

/// A point with the metrics of the task.
fn point(step: usize, loss: [f64; 4], active_share: f64, recall: Option<f64>) -> TrainingPoint {
    let [loss, ranking, log_power, price] = loss;
    let validation = |recall| Validation { loss: f64::NAN, metrics: vec![Metric::real("recall", recall)] };
    TrainingPoint {
        step,
        loss,
        metrics: vec![
            Metric::real("ranking", ranking),
            Metric::real("log_power", log_power),
            Metric::real("price", price),
            Metric::real("active_share", active_share),
        ],
        learning_rate: 1e-3,
        validation: recall.map(validation),
        step_milliseconds: 0.0,
    }
}

fn full(n_fft: usize, steps: usize) -> PeaksPage {
    let stages = n_fft.ilog2() as usize;
    let pairs = n_fft / 2;
    // A hash of the index: no two neighbours alike, the worst case of a drawing made of runs.
    let noise = |index: usize| (index as u32).wrapping_mul(2_654_435_761) as f32 / u32::MAX as f32;
    PeaksPage {
        title: "Run".to_owned(),
        facts: vec![("seed".to_owned(), "7".to_owned())],
        training: (0..steps)
            .map(|step| {
                let loss = [3.0, 2.0, 0.9, 0.1].map(|term| term / (step + 1) as f64);
                point(step, loss, f64::from(noise(step)), (step % 50 == 0).then_some(0.8))
            })
            .collect(),
        own: super::PeaksReport {
            facts: Vec::new(),
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
                PeaksRow {
                    predicted_microseconds_per_frame: [("cpu".to_owned(), 0.25)].into(),
                    ..row("ultra", ModelKind::Exact, 0.741, 1_024.0)
                },
                row("fast", ModelKind::Exact, 0.829, 2_048.0),
                row("learned", ModelKind::Learned, 0.77, 1_000.0),
            ],
        },
        config: "seed = 7\n".to_owned(),
    }
}

/// A report whose numbers are not finite and whose text is markup.
fn page_of_markup_and_non_finite_values() -> PeaksPage {
    let mut report = full(64, 40);
    report.title = HOSTILE.to_owned();
    report.facts = vec![(HOSTILE.to_owned(), HOSTILE.to_owned())];
    report.config = HOSTILE.to_owned();
    let bad = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, 1e-310];
    for (index, point) in report.training.iter_mut().enumerate() {
        let value = bad[index % bad.len()];
        if index % 7 != 0 {
            *point = self::point(point.step, [value, value, 0.9, -value], value, Some(value));
            point.learning_rate = value;
        }
    }
    let parts = [&mut report.own.gates.values, &mut report.own.gates.segments, &mut report.own.taper];
    for values in parts.into_iter().chain(&mut report.own.gain_db) {
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
        report.own.rows.push(row);
    }
    report
}

fn reports() -> Vec<PeaksPage> {
    let mut mismatched = full(64, 1);
    mismatched.own.gates.pairs = 31;
    let mut without_learned = full(64, 3);
    without_learned.own.gates = GateMap::default();
    without_learned.own.taper.clear();
    without_learned.own.gain_db = Default::default();
    without_learned.own.rows.truncate(2);
    let mut only_gaps = full(8, 5);
    only_gaps.own.taper.fill(f32::NAN);
    only_gaps.own.gates.values.fill(f32::NAN);
    vec![
        PeaksPage::default(),
        full(8, 0),
        full(256, 2_000),
        page_of_markup_and_non_finite_values(),
        mismatched,
        without_learned,
        only_gaps,
    ]
}

#[test]
fn pages_are_self_contained() {
    for report in reports() {
        assert_self_contained(&report.render());
    }
    assert_eq!(specifications(&full(256, 100).render()).len(), 10);
}

#[test]
fn charts_hold_no_value_that_cannot_be_drawn() {
    fn numbers(value: &Value) -> Vec<f64> {
        match value {
            Value::Number(number) => number.as_f64().into_iter().collect(),
            Value::Array(values) => values.iter().flat_map(numbers).collect(),
            Value::Object(fields) => fields.values().flat_map(numbers).collect(),
            _ => Vec::new(),
        }
    }
    for report in reports() {
        let specifications = specifications(&report.render());
        assert!(specifications.iter().flat_map(numbers).all(|number| number.abs() < 1e150));
    }
}

#[test]
fn outside_text_cannot_leave_its_place() {
    let page = page_of_markup_and_non_finite_values().render();
    assert_eq!(page.matches("<script>").count(), 1);
    assert_eq!(page.matches("</pre>").count(), 1);
    assert!(!page.contains('\u{1b}') && !page.contains('\0'));
    assert!(page.contains("n/a"));
}

#[test]
fn missing_parts_are_reported_as_missing() {
    let page = PeaksPage::default().render();
    for text in [
        "Training report",
        "No model was evaluated.",
        "No training history was recorded.",
        "This run has no learned model.",
        "No configuration was recorded.",
    ] {
        assert!(page.contains(text), "{text}");
    }
    assert!(specifications(&page).is_empty());
}

#[test]
fn largest_model_and_long_history_stay_within_the_limit() {
    let page = full(65_536, 100_000).render();
    assert!(page.len() <= MAX_BYTES, "{} bytes", page.len());
    for series in specifications(&page).iter().filter_map(|chart| chart["series"].as_array()).flatten() {
        assert!(series["points"].as_array().is_some_and(|points| points.len() <= 400), "{series}");
    }
}

#[test]
fn figures_have_titles_and_descriptions() {
    let page = full(256, 100).render();
    for figure in page.split("<figure").skip(1) {
        assert!(figure.contains("<h3>") && figure.contains(r#"role="img" aria-label=""#), "{figure}");
    }
}

#[test]
fn small_report_looks_as_it_did() {
    insta::assert_snapshot!(markup(&full(8, 3).render()).replace("><", ">\n<"));
}

#[test]
fn same_report_renders_the_same_page() {
    assert_eq!(full(64, 200).render(), full(64, 200).render());
}

#[test]
fn gates_that_are_not_finite_are_closed() {
    assert_eq!(open_share(&[f32::NAN, 0.5, 0.49, 1.0]), 0.5);
}
