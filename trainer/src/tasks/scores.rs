//! Evaluation rows of tasks whose results are a few numbers per model.

use firefly_app::number::significant;
use firefly_app::page::html_table::{HtmlRow, HtmlTable};
use firefly_app::table::{Align, TextTable};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::metrics::{Metric, MetricValue};
use crate::task::{EvaluationRow, ReportParts};

/// Scores of one model on one data set.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoreRow {
    /// Name of the model.
    pub name: String,
    /// Whether the model was trained, or else is what trained ones are compared with.
    pub is_learned: bool,
    /// Name of the data set.
    pub data_set: String,
    /// The scores, the same for every row of a data set.
    pub scores: Vec<Metric>,
}

impl ScoreRow {
    /// The score of this name.
    pub fn score(&self, name: &str) -> Option<f64> {
        self.scores.iter().find(|score| score.name == name).map(|score| score.value.as_f64())
    }
}

/// As an object: `name`, `kind`, `data_set`, and the scores.
impl Serialize for ScoreRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &self.name)?;
        map.serialize_entry("kind", if self.is_learned { "learned" } else { "baseline" })?;
        map.serialize_entry("data_set", &self.data_set)?;
        for score in &self.scores {
            map.serialize_entry(&score.name, &score.value)?;
        }
        map.end()
    }
}

impl EvaluationRow for ScoreRow {
    fn terminal(rows: &[Self]) -> String {
        let mut text = String::new();
        for rows in rows.chunk_by(|a, b| a.data_set == b.data_set) {
            let mut table = TextTable::default().column("model", Align::Left);
            for title in titles(rows) {
                table = table.columns([title.as_str()], Align::Right);
            }
            for row in rows {
                table.row([row.name.clone()].into_iter().chain(row.scores.iter().map(cell)));
            }
            text += &format!("{}{}\n{}", if text.is_empty() { "" } else { "\n" }, rows[0].data_set, table.render());
        }
        text
    }
}

/// The parts of a run's page: what identifies the run, and the tables.
pub fn report<const N: usize>(data_set: String, facts: [(&str, String); N], rows: &[ScoreRow]) -> ReportParts {
    let facts = facts.map(|(name, value)| (name.to_string(), value)).into();
    ReportParts { data_set, facts, tables: tables(rows), ..ReportParts::default() }
}

/// A table per data set as HTML.
fn tables(rows: &[ScoreRow]) -> Vec<String> {
    let of_set = |rows: &[ScoreRow]| {
        let row = |ScoreRow { name, is_learned, scores, .. }: &ScoreRow| HtmlRow {
            colour: Some(usize::from(!is_learned)),
            strong: *is_learned,
            ..HtmlRow::new(name, scores.iter().map(cell).collect())
        };
        let columns = [String::from("model")].into_iter().chain(titles(rows)).collect();
        let table = HtmlTable { caption: rows[0].data_set.clone(), columns, rows: rows.iter().map(row).collect() };
        table.html_folded_if_long()
    };
    rows.chunk_by(|a, b| a.data_set == b.data_set).map(of_set).collect()
}

fn titles(rows: &[ScoreRow]) -> Vec<String> {
    rows.first().map(|row| row.scores.iter().map(|score| score.name.replace('_', " ")).collect()).unwrap_or_default()
}

fn cell(score: &Metric) -> String {
    match score.value {
        MetricValue::Whole(count) => count.to_string(),
        MetricValue::Real(number) => significant(number, 4),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_an_object_with_its_scores() {
        let row = ScoreRow {
            name: "learned".into(),
            is_learned: true,
            data_set: "ETTh1".into(),
            scores: vec![Metric::real("mse", 0.375), Metric::whole("windows", 2785)],
        };
        let json = serde_json::to_string(&row).unwrap();
        let expected =
            "{\"name\":\"learned\",\"kind\":\"learned\",\"data_set\":\"ETTh1\",\"mse\":0.375,\"windows\":2785}";
        assert_eq!(json, expected);
        assert_eq!(row.score("mse"), Some(0.375));
        assert!(ScoreRow::terminal(&[row]).contains("0.3750"));
    }
}
