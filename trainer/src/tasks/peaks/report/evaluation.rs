//! The evaluation section: a table per data set, and recall against time per frame and against open butterflies.

use firefly_app::number::{fixed, percent, significant};
use firefly_app::page::chart::{AxisScale, ChartSeries, Mark, Point};
use firefly_app::page::figure::Figure;
use firefly_app::page::html_table::{HtmlRow, HtmlTable};

use crate::report::chart;
use crate::tasks::peaks::evaluate::{ModelKind, PeaksRow, predicting_devices};

/// Longest label beside a mark, in characters; the full name is in its tooltip and in the table.
const LONGEST_LABEL: usize = 26;
/// Models beyond which some labels are likely to have no room.
const MANY: usize = 8;

/// A table per data set, in order of first appearance.
pub(super) fn tables(rows: &[PeaksRow]) -> Vec<String> {
    by_data_set(rows).into_iter().map(|(data_set, rows)| table(data_set, &rows).html_folded_if_long()).collect()
}

/// Recall against time and against butterflies, per data set.
pub(super) fn figures(rows: &[PeaksRow]) -> Vec<Figure> {
    let of_data_set = |(data_set, rows): (&str, Vec<&PeaksRow>)| {
        [against_time(data_set, &rows), against_butterflies(data_set, &rows)]
    };
    by_data_set(rows).into_iter().flat_map(of_data_set).collect()
}

fn by_data_set(rows: &[PeaksRow]) -> Vec<(&str, Vec<&PeaksRow>)> {
    let mut groups: Vec<(&str, Vec<&PeaksRow>)> = Vec::new();
    for row in rows {
        match groups.iter_mut().find(|(name, _)| *name == row.data_set) {
            Some((_, group)) => group.push(row),
            None => groups.push((&row.data_set, vec![row])),
        }
    }
    groups
}

fn table(data_set: &str, rows: &[&PeaksRow]) -> HtmlTable {
    let devices = predicting_devices(rows.iter().copied());
    let mut columns: Vec<String> = ["model", "median µs per frame"].map(str::to_owned).into();
    columns.extend(devices.iter().map(|device| format!("predicted µs per frame, {device}")));
    let rest = [
        "recall, exact bin",
        "recall, ±1 bin",
        "power error, median dB",
        "active butterflies",
        "butterflies per frame",
    ];
    columns.extend(rest.map(str::to_owned));
    let cells = |row: &PeaksRow| {
        let predicted = |device: &&str| row.predicted_microseconds_per_frame.get(*device);
        let predicted = |device| predicted(device).map_or("–".to_owned(), |time| significant(*time, 3));
        let rest = [
            fixed(row.recall, 3),
            fixed(row.recall_within_one_bin, 3),
            fixed(row.median_power_error_db, 2),
            percent(row.active_share),
            fixed(row.butterflies_per_frame, 0),
        ];
        let time = significant(row.median_microseconds_per_frame, 3);
        [time].into_iter().chain(devices.iter().map(predicted)).chain(rest).collect()
    };
    let row = |row: &&PeaksRow| {
        let (colour, strong) = (Some(colour(row.kind)), row.kind == ModelKind::Learned);
        HtmlRow { colour, name: row.name.clone(), cells: cells(row), strong }
    };
    HtmlTable { caption: data_set.to_owned(), columns, rows: rows.iter().map(row).collect() }
}

/// Recall of the rows of one data set against their open butterflies, with the best learned model set beside the exact
/// estimate of no more butterflies.
fn against_butterflies(data_set: &str, rows: &[&PeaksRow]) -> Figure {
    figure(
        &format!("Recall against compute: {data_set}"),
        "open butterflies per frame",
        rows,
        |row| row.butterflies_per_frame,
        |count| format!("with {} butterflies", fixed(count, 0)),
        "No model has both a recall and a count of butterflies.",
    )
}

/// Recall of the rows of one data set against their median time per frame, with the best learned model set beside the
/// exact estimate that takes no longer.
pub fn against_time(data_set: &str, rows: &[&PeaksRow]) -> Figure {
    let mut time = figure(
        &format!("Recall against time: {data_set}"),
        "median time per frame (µs)",
        rows,
        |row| row.median_microseconds_per_frame,
        |microseconds| format!("in {} µs", significant(microseconds, 3)),
        "No model has both a recall and a time.",
    );
    if rows.len() > MANY {
        let unnamed = "Marks without room for a name are named on hover and in the table.";
        time.caption = format!("{} {unnamed}", time.caption).trim_start().to_owned();
    }
    time
}

/// Exact estimates joined by a line for each placement of their segments, and learned models as points, over what `of`
/// says a frame costs, with their [`comparison`] as caption.
fn figure(
    title: &str,
    cost: &str,
    all: &[&PeaksRow],
    of: impl Fn(&PeaksRow) -> f64,
    words: impl Fn(f64) -> String,
    empty: &str,
) -> Figure {
    let mut rows: Vec<&PeaksRow> =
        all.iter().copied().filter(|row| row.recall.is_finite() && of(row).is_finite()).collect();
    rows.sort_by(|a, b| of(a).total_cmp(&of(b)));
    let scale = if rows.iter().all(|row| of(row) > 0.0) { AxisScale::Log } else { AxisScale::Linear };
    let prefix = common_prefix(&rows);
    let points = |kind: ModelKind| -> Vec<Point> {
        let of_kind = rows.iter().filter(|row| row.kind == kind);
        of_kind
            .map(|row| Point {
                label: Some(short_name(row, &prefix)),
                detail: Some(detail(row)),
                ..Point::at(of(row), row.recall)
            })
            .collect()
    };
    let learned = if prefix.is_empty() { "learned models".to_owned() } else { format!("{prefix}…") };
    let series = |name: &str, mark, kind| ChartSeries::new(name, colour(kind), mark, points(kind));
    let series = vec![
        series("exact, adjacent segments", Mark::Line, ModelKind::Exact),
        series("exact, spread segments", Mark::Line, ModelKind::Spread),
        series(&learned, Mark::Points, ModelKind::Learned),
    ];
    let axes = [(cost, scale), ("recall of the reference peaks (exact bin)", AxisScale::Share)];
    let mut figure = Figure::chart(title, chart(axes, series), empty);
    figure.caption = comparison(all, of, words);
    figure
}

/// Index of the colour and shape that stand for a kind of model.
fn colour(kind: ModelKind) -> usize {
    match kind {
        ModelKind::Exact => 1,
        ModelKind::Learned => 2,
        ModelKind::Spread => 3,
    }
}

/// Lines of the tooltip.
fn detail(row: &PeaksRow) -> String {
    format!(
        "{}\nrecall {} (within one bin {})\n{} butterflies per frame, {} active\n{} µs per frame",
        row.name,
        fixed(row.recall, 3),
        fixed(row.recall_within_one_bin, 3),
        fixed(row.butterflies_per_frame, 0),
        percent(row.active_share),
        significant(row.median_microseconds_per_frame, 3),
    )
}

/// The words that all learned models' names begin with, when each name has more words than that.
fn common_prefix(rows: &[&PeaksRow]) -> String {
    let learned = rows.iter().filter(|row| row.kind == ModelKind::Learned);
    let names: Vec<Vec<&str>> = learned.map(|row| row.name.split_whitespace().collect()).collect();
    let [first, _, ..] = &names[..] else { return String::new() };
    let is_shared = |index: &usize| names.iter().all(|name| name.get(*index) == first.get(*index));
    let shared = (0..first.len()).take_while(is_shared).count();
    if shared == 0 || names.iter().any(|name| name.len() == shared) {
        return String::new();
    }
    first[..shared].join(" ") + " "
}

fn short_name(row: &PeaksRow, prefix: &str) -> String {
    let name = match row.kind {
        ModelKind::Learned => row.name.strip_prefix(prefix).unwrap_or(&row.name),
        ModelKind::Exact | ModelKind::Spread => &row.name,
    };
    if name.chars().count() <= LONGEST_LABEL {
        return name.to_owned();
    }
    name.chars().take(LONGEST_LABEL - 1).chain(['…']).collect()
}

/// The best exact estimate that costs no more than the best learned model, in whichever placement of its segments, and
/// then that model. `of` is what a row costs, and `words` say so.
fn comparison(rows: &[&PeaksRow], of: impl Fn(&PeaksRow) -> f64, words: impl Fn(f64) -> String) -> String {
    let best = |is_learned: bool, budget: f64| {
        let is_of = |row: &&&PeaksRow| (row.kind == ModelKind::Learned) == is_learned && of(row) <= budget;
        rows.iter().filter(is_of).max_by(|a, b| a.recall.total_cmp(&b.recall))
    };
    let Some(learned) = best(true, f64::INFINITY) else {
        return String::new();
    };
    let reached = |row: &PeaksRow| format!("{} reaches {} {}", row.name, fixed(row.recall, 3), words(of(row)));
    match best(false, of(learned)) {
        Some(exact) => format!("Of exact estimates that cost no more, {}; {}.", reached(exact), reached(learned)),
        None if rows.iter().any(|row| row.kind != ModelKind::Learned) => {
            format!("{}, less than any exact estimate.", reached(learned))
        }
        None => format!("{}.", reached(learned)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, kind: ModelKind, recall: f64, butterflies: f64) -> PeaksRow {
        PeaksRow { name: name.to_owned(), kind, recall, butterflies_per_frame: butterflies, ..PeaksRow::default() }
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
    fn learned_is_compared_at_equal_cost() {
        let comparison = |rows: &[&PeaksRow]| {
            comparison(rows, |row| row.butterflies_per_frame, |count| format!("with {} butterflies", fixed(count, 0)))
        };
        let rows = [
            row("ultra", ModelKind::Exact, 0.741, 1_024.0),
            row("fast", ModelKind::Exact, 0.829, 2_048.0),
            row("learned", ModelKind::Learned, 0.77, 1_000.0),
        ];
        let rows: Vec<_> = rows.iter().collect();
        assert!(comparison(&rows).ends_with("1,000 butterflies, less than any exact estimate."));
        let wider = row("learned", ModelKind::Learned, 0.84, 1_100.0);
        assert_eq!(
            comparison(&[rows[0], rows[1], &wider]),
            "Of exact estimates that cost no more, ultra reaches 0.741 with 1,024 butterflies; learned reaches 0.840 with \
             1,100 butterflies."
        );
        let spread = row("fast, spread", ModelKind::Spread, 0.85, 1_100.0);
        assert!(comparison(&[rows[0], &spread, &wider]).contains("no more, fast, spread reaches 0.850 with 1,100"));
    }

    #[test]
    fn a_model_with_no_open_butterfly_is_drawn() {
        let rows = [row("ultra", ModelKind::Exact, 0.741, 1_024.0), row("learned", ModelKind::Learned, 0.6, 0.0)];
        let rows: Vec<_> = rows.iter().collect();
        let html = against_butterflies("d", &rows).html();
        assert!(html.contains(r#"{"x":0,"y":0.6,"label":"learned""#) && html.contains(r#""scale":"linear""#), "{html}");
    }
}
