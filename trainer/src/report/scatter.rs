//! Recall against open butterflies per frame.

use std::fmt::Write;

use super::labels::{Labels, Rectangle, Side};
use crate::evaluate::{EvaluationRow, ModelKind};
use firefly_app::page::axis::Axis;
use firefly_app::page::chart::Chart;
use firefly_app::page::escape::escape;
use firefly_app::page::figure::{Figure, Swatch};
use firefly_app::page::number::{Pixel, fixed, percent, significant};

/// Longest label beside a mark, in characters; the full name is in its tooltip and in the table.
const LONGEST_LABEL: usize = 26;

struct Mark<'a> {
    row: &'a EvaluationRow,
    at: (f64, f64),
}

/// Scatter of the rows of one data set: exact tiers joined by a line, learned models as diamonds.
pub(super) fn figure(id: &str, data_set: &str, rows: &[&EvaluationRow]) -> Figure {
    let title = format!("Recall against compute: {data_set}");
    let mut rows: Vec<&EvaluationRow> =
        rows.iter().copied().filter(|row| row.recall.is_finite() && row.butterflies_per_frame.is_finite()).collect();
    if rows.is_empty() {
        return Figure::note(&title, "No model has both a recall and a count of butterflies.");
    }
    rows.sort_by(|a, b| a.butterflies_per_frame.total_cmp(&b.butterflies_per_frame));
    let butterflies = || rows.iter().map(|row| row.butterflies_per_frame);
    let x = if butterflies().all(|count| count > 0.0) {
        Axis::logarithmic(butterflies(), 1.45)
    } else {
        Axis::rounded(butterflies())
    };
    let description = description(&rows);
    let chart = Chart {
        id,
        title: &title,
        description: &description,
        x,
        y: Axis::share(rows.iter().map(|row| row.recall)),
        x_label: "open butterflies per frame",
        y_label: "recall of the reference peaks (exact bin)",
    };
    let marks: Vec<Mark> = rows
        .iter()
        .filter_map(|row| {
            let at = (chart.x(row.butterflies_per_frame)?, chart.y(row.recall)?);
            Some(Mark { row, at })
        })
        .collect();
    let prefix = common_prefix(&rows);
    let (drawing, unlabelled) = draw(&chart, &marks, &prefix);
    let mut figure = Figure::new(&title, chart.svg(&drawing));
    figure.legend = legend(&rows, &prefix);
    figure.caption = comparison(&rows);
    if unlabelled > 0 {
        figure.caption.push_str(" Marks without room for a name are named on hover and in the table.");
    }
    figure
}

fn draw(chart: &Chart, marks: &[Mark], prefix: &str) -> (String, usize) {
    let mut labels = Labels::new(Rectangle {
        left: chart.left() + 2.0,
        // Above the plot there is room up to the name of the vertical axis.
        top: chart.top() - 22.0,
        right: chart.right() + 18.0,
        bottom: chart.bottom() - 2.0,
    });
    let exact = || marks.iter().filter(|mark| mark.row.kind == ModelKind::Exact);
    let mut drawing = String::new();
    let mut path = String::new();
    for (from, to) in exact().zip(exact().skip(1)) {
        labels.avoid_line(from.at, to.at);
    }
    for (index, mark) in exact().enumerate() {
        let command = if index == 0 { 'M' } else { 'L' };
        let _ = write!(path, "{command}{} {}", Pixel(mark.at.0), Pixel(mark.at.1));
    }
    if !path.is_empty() {
        let _ = write!(drawing, r#"<path class="line exact" d="{path}"/>"#);
    }
    for mark in marks {
        labels.avoid(Rectangle::around(mark.at, 6.0));
        write_mark(&mut drawing, mark);
    }
    let mut unlabelled = 0;
    for mark in marks {
        let text = short_name(mark.row, prefix);
        let side = match mark.row.kind {
            ModelKind::Exact => Side::LowerRight,
            ModelKind::Learned => Side::UpperLeft,
        };
        match labels.place(mark.at, &text, side) {
            Some((x, y)) => {
                let _ = write!(
                    drawing,
                    r#"<text class="label" x="{}" y="{}">{}</text>"#,
                    Pixel(x),
                    Pixel(y),
                    escape(&text),
                );
            }
            None => unlabelled += 1,
        }
    }
    (drawing, unlabelled)
}

fn write_mark(drawing: &mut String, mark: &Mark) {
    let (x, y) = mark.at;
    let row = mark.row;
    let _ = write!(
        drawing,
        "<g><title>{}: recall {} (within one bin {}), {} butterflies per frame, {} active, {} µs per frame</title>",
        escape(&row.name),
        fixed(row.recall, 3),
        fixed(row.recall_within_one_bin, 3),
        fixed(row.butterflies_per_frame, 0),
        percent(row.active_share),
        significant(row.median_microseconds_per_frame, 3),
    );
    let _ = match row.kind {
        ModelKind::Exact => {
            write!(drawing, r#"<circle class="point exact" cx="{}" cy="{}" r="4.5"/></g>"#, Pixel(x), Pixel(y))
        }
        ModelKind::Learned => {
            write!(drawing, r#"<path class="point learned" d="M{} {}l6 6l-6 6l-6 -6z"/></g>"#, Pixel(x), Pixel(y - 6.0))
        }
    };
}

fn legend(rows: &[&EvaluationRow], prefix: &str) -> Vec<(Swatch, String)> {
    let has = |kind| rows.iter().any(|row| row.kind == kind);
    let mut legend = Vec::new();
    if has(ModelKind::Exact) {
        legend.push((Swatch::Exact, "exact tiers".to_owned()));
    }
    if has(ModelKind::Learned) {
        let name = if prefix.is_empty() { "learned models".to_owned() } else { format!("{}…", prefix) };
        legend.push((Swatch::Learned, name));
    }
    legend
}

/// The words that all learned models' names begin with, when each name has more words than that.
fn common_prefix(rows: &[&EvaluationRow]) -> String {
    let names: Vec<Vec<&str>> = rows
        .iter()
        .filter(|row| row.kind == ModelKind::Learned)
        .map(|row| row.name.split_whitespace().collect())
        .collect();
    let Some(first) = names.first() else {
        return String::new();
    };
    if names.len() < 2 {
        return String::new();
    }
    let shared =
        (0..first.len()).take_while(|&index| names.iter().all(|name| name.get(index) == first.get(index))).count();
    if shared == 0 || names.iter().any(|name| name.len() == shared) {
        return String::new();
    }
    first[..shared].join(" ") + " "
}

fn short_name(row: &EvaluationRow, prefix: &str) -> String {
    let name = match row.kind {
        ModelKind::Learned => row.name.strip_prefix(prefix).unwrap_or(&row.name),
        ModelKind::Exact => &row.name,
    };
    if name.chars().count() <= LONGEST_LABEL {
        return name.to_owned();
    }
    let mut short: String = name.chars().take(LONGEST_LABEL - 1).collect();
    short.push('…');
    short
}

fn description(rows: &[&EvaluationRow]) -> String {
    let mut text = "Recall at exact bins over open butterflies per frame.".to_owned();
    for row in rows {
        let _ = write!(text, " {}: {} with {}.", row.name, fixed(row.recall, 3), fixed(row.butterflies_per_frame, 0));
    }
    text
}

/// The best learned model beside the best exact tier that has no more open butterflies.
fn comparison(rows: &[&EvaluationRow]) -> String {
    let best = |kind, budget: f64| {
        rows.iter()
            .filter(|row| row.kind == kind && row.butterflies_per_frame <= budget)
            .max_by(|a, b| a.recall.total_cmp(&b.recall))
    };
    let Some(learned) = best(ModelKind::Learned, f64::INFINITY) else {
        return String::new();
    };
    let begin = format!(
        "{} reaches {} with {} butterflies",
        learned.name,
        fixed(learned.recall, 3),
        fixed(learned.butterflies_per_frame, 0)
    );
    match best(ModelKind::Exact, learned.butterflies_per_frame) {
        Some(exact) => format!(
            "{begin}; the best exact tier within that compute, {}, reaches {} with {}.",
            exact.name,
            fixed(exact.recall, 3),
            fixed(exact.butterflies_per_frame, 0)
        ),
        None if rows.iter().any(|row| row.kind == ModelKind::Exact) => {
            format!("{begin}, fewer than any exact tier.")
        }
        None => format!("{begin}."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, kind: ModelKind, recall: f64, butterflies: f64) -> EvaluationRow {
        EvaluationRow {
            name: name.to_owned(),
            kind,
            recall,
            butterflies_per_frame: butterflies,
            ..EvaluationRow::default()
        }
    }

    #[test]
    fn shared_words_are_named_once() {
        let rows = [
            row("learned at price 0", ModelKind::Learned, 0.8, 1.0),
            row("learned at price 0.1", ModelKind::Learned, 0.7, 1.0),
            row("fast", ModelKind::Exact, 0.8, 1.0),
        ];
        let rows: Vec<_> = rows.iter().collect();
        let prefix = common_prefix(&rows);
        assert_eq!(prefix, "learned at price ");
        assert_eq!(short_name(rows[1], &prefix), "0.1");
        let plain = row("learned", ModelKind::Learned, 0.8, 1.0);
        assert_eq!(common_prefix(&[rows[0], &plain]), "");
    }

    #[test]
    fn learned_is_compared_at_equal_compute() {
        let rows = [
            row("ultra", ModelKind::Exact, 0.741, 1_024.0),
            row("fast", ModelKind::Exact, 0.829, 2_048.0),
            row("learned", ModelKind::Learned, 0.77, 1_000.0),
        ];
        let rows: Vec<_> = rows.iter().collect();
        assert!(comparison(&rows).ends_with("1,000 butterflies, fewer than any exact tier."));
        let wider = row("learned", ModelKind::Learned, 0.84, 1_100.0);
        assert!(comparison(&[rows[0], rows[1], &wider]).contains("ultra, reaches 0.741 with 1,024"));
    }

    #[test]
    fn a_model_with_no_open_butterfly_is_drawn() {
        let rows = [row("ultra", ModelKind::Exact, 0.741, 1_024.0), row("learned", ModelKind::Learned, 0.6, 0.0)];
        let rows: Vec<_> = rows.iter().collect();
        let html = figure("f", "d", &rows).html();
        assert_eq!(html.matches("point learned").count(), 2);
    }
}
