//! A small page as a whole.

use super::chart::{AxisScale, Chart, ChartAxis, ChartSeries, Mark, Point, Range, Threshold};
use super::document::{Document, details, facts, nothing};
use super::figure::{Figure, grid};
use super::heat_map::HeatMap;
use super::html_table::{HtmlRow, HtmlTable};
use firefly_testing::{assert_self_contained, markup, specifications};

const HOSTILE: &str = "</script></pre><script>alert('x')</script> & \"quoted\" \u{0}\u{1b}[1m]]> <!-- \u{2028} NaN";

fn chart(scale: AxisScale, series: Vec<ChartSeries>) -> Chart {
    Chart {
        x: ChartAxis::new("step", AxisScale::Linear),
        y: ChartAxis::new("loss (no unit)", scale),
        series,
        threshold: None,
    }
}

/// Every kind of figure, with `name` wherever text from outside goes.
fn figures(name: &str) -> Vec<Figure> {
    let line = ChartSeries::line(name, 0, [(0.0, 3.0), (100.0, f64::NAN), (200.0, 0.25)]);
    let range = Point { range: Some(Range { low: 1.0, high: 2.5 }), ..Point::at(200.0, 2.0) };
    let marked = Point { label: Some(name.to_owned()), detail: Some(format!("{name}\n2")), ..Point::at(1_024.0, 0.5) };
    let bars = ChartSeries::new(name, 2, Mark::Bars, vec![Point::at(0.0, 1.0), Point::at(1.0, 0.25)]);
    let threshold = Some(Threshold { value: 0.5, label: name.to_owned() });
    let mut map = HeatMap::new(4, [name, "stage"], ["0 closed", "1 open"]);
    map.row("0".to_owned(), name.to_owned(), &[0.0, 0.5, 1.0, f32::NAN]);
    let mut heat_map = Figure::heat_map(name, &map, name);
    heat_map.caption = name.to_owned();
    vec![
        Figure::chart(
            name,
            chart(AxisScale::Linear, vec![line, ChartSeries::new("b", 1, Mark::Line, vec![range])]),
            "empty",
        ),
        Figure::chart(
            name,
            chart(AxisScale::Share, vec![ChartSeries::new(name, 1, Mark::Points, vec![marked])]),
            "empty",
        ),
        Figure::chart(name, Chart { threshold, ..chart(AxisScale::Share, vec![bars]) }, "empty"),
        heat_map,
    ]
}

fn page(name: &str) -> String {
    let mut page = Document::new(name, name);
    page.section("Facts", &facts([(name, name)]));
    page.section(name, &grid(&figures(name)));
    let row = HtmlRow { colour: Some(2), strong: true, ..HtmlRow::new(name, vec![name.to_owned()]) };
    page.section("Table", &HtmlTable { caption: name.into(), columns: vec![name.into(); 2], rows: vec![row] }.html());
    page.section("Rest", &(nothing(name) + &details(name, name)));
    page.html()
}

#[test]
fn small_page_looks_as_it_did() {
    insta::assert_snapshot!(markup(&page("a <b>")).replace("><", ">\n<"));
}

#[test]
fn outside_text_cannot_leave_its_place() {
    let page = page(HOSTILE);
    assert_self_contained(&page);
    assert_eq!(page.matches("</pre>").count(), 1);
    assert!(!page.contains('\u{1b}') && !page.contains('\0'));
    assert_eq!(specifications(&page)[0]["series"][0]["name"], HOSTILE);
}

#[test]
fn page_without_charts_has_no_script() {
    let page = Document::new("kind", "title").html();
    assert_self_contained(&page);
    assert!(!page.contains("<script"));
}

#[test]
fn chart_without_finite_points_is_a_note() {
    let gaps = ChartSeries::line("a", 0, [(0.0, f64::NAN), (1.0, f64::INFINITY), (2.0, f64::MAX)]);
    let html = Figure::chart("Loss", chart(AxisScale::Log, vec![gaps]), "Nothing was recorded.").html();
    assert!(html.contains("Nothing was recorded.") && !html.contains("<canvas"));
}

#[test]
fn values_without_a_logarithm_are_reported_as_missing() {
    let line = ChartSeries::line("a", 0, [(0.0, 3.0), (1.0, 0.0)]);
    assert!(Figure::chart("Loss", chart(AxisScale::Log, vec![line]), "").caption.contains("no place"));
}

#[test]
fn long_tables_are_folded() {
    let table = |rows| HtmlTable {
        caption: "Every case".into(),
        columns: vec!["case".into()],
        rows: (0..rows).map(|row: usize| HtmlRow::new(&row.to_string(), Vec::new())).collect(),
    };
    assert!(!table(24).html_folded_if_long().contains("<details"));
    assert!(table(25).html_folded_if_long().contains("<summary>Every case (25 rows)</summary>"));
}

#[test]
fn libraries_come_with_their_licenses() {
    let page = page("a");
    for notice in ["Chart.js Contributors", "Jukka Kurkela", "MIT License"] {
        assert!(page.contains(notice), "{notice}");
    }
}
