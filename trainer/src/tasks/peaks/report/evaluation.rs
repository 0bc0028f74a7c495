//! The evaluation section: one table and two figures per data set.

use firefly_app::number::{fixed, percent, significant};
use firefly_app::page::figure::Figure;
use firefly_app::page::html_table::{HtmlRow, HtmlTable};

use super::recall;
use crate::tasks::peaks::evaluate::{ModelKind, PeaksRow, predicting_devices};

/// A table per data set, in order of first appearance.
pub(super) fn tables(rows: &[PeaksRow]) -> Vec<String> {
    by_data_set(rows).into_iter().map(|(data_set, rows)| table(data_set, &rows).html_folded_if_long()).collect()
}

/// Recall against time and against butterflies, per data set.
pub(super) fn figures(rows: &[PeaksRow]) -> Vec<Figure> {
    let of_data_set = |(data_set, rows): (&str, Vec<&PeaksRow>)| {
        [recall::against_time(data_set, &rows), recall::against_butterflies(data_set, &rows)]
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
    let predicted = |row: &PeaksRow, device: &&str| {
        row.predicted_microseconds_per_frame.get(*device).map_or("–".to_owned(), |time| significant(*time, 3))
    };
    HtmlTable {
        caption: data_set.to_owned(),
        columns,
        rows: rows
            .iter()
            .map(|row| HtmlRow {
                colour: Some(recall::colour(row.kind)),
                name: row.name.clone(),
                cells: [significant(row.median_microseconds_per_frame, 3)]
                    .into_iter()
                    .chain(devices.iter().map(|device| predicted(row, device)))
                    .chain([
                        fixed(row.recall, 3),
                        fixed(row.recall_within_one_bin, 3),
                        fixed(row.median_power_error_db, 2),
                        percent(row.active_share),
                        fixed(row.butterflies_per_frame, 0),
                    ])
                    .collect(),
                strong: row.kind == ModelKind::Learned,
            })
            .collect(),
    }
}
