//! Figures: heading, drawing, caption, and the drawn values as a table.

use std::fmt::Write;

use serde::Serialize;

use super::chart::{AxisScale, Chart, ChartSeries, Point};
use super::document::{escape, json, nothing};
use super::heat_map::HeatMap;
use super::html_table::{HtmlRow, HtmlTable};
use crate::number::{fixed, significant};

/// Rows of a table of drawn values at most; of more points, as many are taken at equal distances.
const MAX_ROWS: usize = 32;

/// A drawing with what belongs around it.
pub struct Figure {
    title: String,
    /// HTML of the drawing.
    drawing: String,
    /// HTML of what follows the caption.
    values: String,
    /// A sentence below the drawing; may be empty.
    pub caption: String,
    /// Spans the page.
    pub wide: bool,
}

impl Figure {
    /// A chart with its values in a table below, or a note that says `empty` when no series has a point to draw.
    pub fn chart(title: &str, mut chart: Chart, empty: &str) -> Self {
        if !chart.series.iter().any(|series| series.is_drawable()) {
            return Self::note(title, empty);
        }
        chart.series.retain(|series| series.is_drawable());
        let points = || chart.series.iter().flat_map(|series| &series.points);
        let mut caption = Vec::new();
        if chart.series.iter().any(|series| series.is_thinned()) {
            caption.push("Line: mean of neighbouring points; band: their extremes.");
        }
        if matches!(chart.y.scale, AxisScale::Log | AxisScale::Log2) && points().any(|point| point.y <= 0.0) {
            caption.push("Values that are not positive have no place on a logarithmic axis.");
        }
        let labelled = points().any(|point| point.label.is_some());
        let values = folded(&if labelled { labelled_values(&chart) } else { values(&chart) });
        let description = format!("{} over {}", chart.y.label, chart.x.label);
        let drawing = drawing(&description, 300, &chart);
        Self { title: title.to_owned(), drawing, values, caption: caption.join(" "), wide: false }
    }

    /// A heat map over the width of the page, with the notes on its rows in a table below.
    pub fn heat_map(title: &str, map: &HeatMap, note: &str) -> Self {
        let [x, y] = [&map.x.label, &map.y.label];
        let mut drawing = drawing(&format!("{y} down, {x} across"), 22 * map.rows.len() + 90, map);
        let has_gaps = map.rows.iter().flat_map(|row| &row.values).any(Option::is_none);
        let _ = write!(
            drawing,
            r#"<p class="caption">{}<span class="ramp"></span>{}{}</p>"#,
            escape(&map.ends[0]),
            escape(&map.ends[1]),
            if has_gaps { r#"<span class="missing">■</span>n/a"# } else { "" },
        );
        let rows = map.rows.iter().map(|row| HtmlRow::new(&row.name, vec![row.note.clone()]));
        let table =
            HtmlTable { caption: title.to_owned(), columns: vec![y.to_owned(), note.to_owned()], rows: rows.collect() };
        Self { title: title.to_owned(), drawing, values: folded(&table), caption: String::new(), wide: true }
    }

    /// A figure that has nothing to draw and says why.
    pub fn note(title: &str, reason: &str) -> Self {
        let drawing = nothing(reason);
        Self { title: title.to_owned(), drawing, values: String::new(), caption: String::new(), wide: false }
    }

    /// The figure without the table of its values.
    pub fn without_values(mut self) -> Self {
        self.values.clear();
        self
    }

    /// The figure as HTML.
    pub fn html(&self) -> String {
        let class = if self.wide { r#" class="wide""# } else { "" };
        let mut html = format!("<figure{class}><figcaption><h3>{}</h3></figcaption>", escape(&self.title));
        html += &match self.wide {
            // What may scroll sideways is reachable by keyboard.
            true => format!(r#"<div class="across" tabindex="0">{}</div>"#, self.drawing),
            false => self.drawing.clone(),
        };
        if !self.caption.is_empty() {
            let _ = write!(html, r#"<p class="caption">{}</p>"#, escape(&self.caption));
        }
        html + &self.values + "</figure>"
    }
}

/// Figures side by side, as HTML.
pub fn grid(figures: &[Figure]) -> String {
    let figures: String = figures.iter().map(Figure::html).collect();
    format!(r#"<div class="grid">{figures}</div>"#)
}

/// A canvas with its specification.
fn drawing(description: &str, height: usize, specification: &impl Serialize) -> String {
    let script = format!(r#"<script type="application/json">{}</script>"#, json(specification));
    let canvas = format!(r#"<canvas role="img" aria-label="{}"></canvas>"#, escape(description));
    format!(r#"<div class="plot" style="height:{height}px">{canvas}{script}</div>"#)
}

/// The values of the series at every horizontal value that one of them has.
fn values(chart: &Chart) -> HtmlTable {
    let mut places: Vec<f64> =
        chart.series.iter().flat_map(|series| &series.points).map(|point| point.x).filter(|x| x.is_finite()).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let every = places.len().div_ceil(MAX_ROWS).max(1);
    let cell = |series: &ChartSeries, x: f64| match series.points.iter().find(|point| point.x == x) {
        None => String::new(),
        Some(Point { y, range: Some(range), .. }) if !series.is_thinned() => {
            format!("{} ({} – {})", significant(*y, 4), significant(range.low, 4), significant(range.high, 4))
        }
        Some(point) => significant(point.y, 4),
    };
    let rows = places.into_iter().step_by(every).map(|x| {
        let cells = chart.series.iter().map(|series| cell(series, x)).collect();
        HtmlRow::new(&place(x), cells)
    });
    let mut columns = vec![chart.x.label.clone()];
    columns.extend(chart.series.iter().map(|series| series.name.clone()));
    HtmlTable { caption: chart.y.label.clone(), columns, rows: rows.collect() }
}

fn labelled_values(chart: &Chart) -> HtmlTable {
    let rows = chart.series.iter().flat_map(|series| {
        series.points.iter().filter_map(|point| {
            let cells = vec![place(point.x), significant(point.y, 4)];
            Some(HtmlRow { colour: Some(series.colour), ..HtmlRow::new(point.label.as_ref()?, cells) })
        })
    });
    let columns = vec![String::new(), chart.x.label.clone(), chart.y.label.clone()];
    HtmlTable { caption: chart.y.label.clone(), columns, rows: rows.collect() }
}

/// A horizontal value: whole numbers in full.
fn place(x: f64) -> String {
    if x.fract() == 0.0 { fixed(x, 0) } else { significant(x, 5) }
}

fn folded(table: &HtmlTable) -> String {
    format!(r#"<details class="values" open=""><summary>Values</summary>{}</details>"#, table.html())
}
