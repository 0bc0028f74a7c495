//! The evaluation section: one table and one figure per data set.

use super::scatter;
use crate::evaluate::{EvaluationRow, ModelKind};
use firefly_app::page::figure::{Figure, Swatch};
use firefly_app::page::number::{fixed, percent, significant};
use firefly_app::page::table::{Row, Table};

/// A table per data set, in order of first appearance.
pub(super) fn tables(rows: &[EvaluationRow]) -> Vec<String> {
    by_data_set(rows).into_iter().map(|(data_set, rows)| table(data_set, &rows).html()).collect()
}

/// A figure of recall against compute per data set.
pub(super) fn figures(rows: &[EvaluationRow]) -> Vec<Figure> {
    by_data_set(rows)
        .into_iter()
        .enumerate()
        .map(|(index, (data_set, rows))| scatter::figure(&format!("recall-{index}"), data_set, &rows))
        .collect()
}

fn by_data_set(rows: &[EvaluationRow]) -> Vec<(&str, Vec<&EvaluationRow>)> {
    let mut groups: Vec<(&str, Vec<&EvaluationRow>)> = Vec::new();
    for row in rows {
        match groups.iter_mut().find(|(name, _)| *name == row.data_set) {
            Some((_, group)) => group.push(row),
            None => groups.push((&row.data_set, vec![row])),
        }
    }
    groups
}

fn table(data_set: &str, rows: &[&EvaluationRow]) -> Table {
    Table {
        caption: data_set.to_owned(),
        columns: [
            "model",
            "recall, exact bin",
            "recall, ±1 bin",
            "power error, median dB",
            "active butterflies",
            "butterflies per frame",
            "median µs per frame",
        ]
        .map(str::to_owned)
        .into(),
        rows: rows
            .iter()
            .map(|row| Row {
                swatch: match row.kind {
                    ModelKind::Exact => Swatch::Exact.svg(),
                    ModelKind::Learned => Swatch::Learned.svg(),
                },
                name: row.name.clone(),
                cells: vec![
                    fixed(row.recall, 3),
                    fixed(row.recall_within_one_bin, 3),
                    fixed(row.median_power_error_db, 2),
                    percent(row.active_share),
                    fixed(row.butterflies_per_frame, 0),
                    significant(row.median_microseconds_per_frame, 3),
                ],
                strong: row.kind == ModelKind::Learned,
            })
            .collect(),
    }
}
