//! Report sections: tables, and recall over the number of segments.

use firefly_app::page::chart::{AxisScale, Chart, ChartAxis, ChartSeries, Mark, Point};
use firefly_app::page::figure::Figure;
use firefly_models::zoo::ZooModel;

use super::Estimation;
use super::comparison::{RECALL, SEGMENTS};
use crate::config::Resolved;
use crate::task::ReportParts;
use crate::tasks::scores::{self, ScoreRow};

/// The parts of a run's page.
pub(super) fn parts(
    resolved: &Resolved<Estimation>,
    data_set: String,
    model: &ZooModel,
    rows: &[ScoreRow],
) -> ReportParts {
    let config = &resolved.config;
    let facts = [
        ("model", config.model.name.clone()),
        ("settings", model.settings().to_string()),
        ("price", config.loss.price.to_string()),
    ];
    ReportParts {
        data_set,
        facts: facts.map(|(name, value)| (name.to_string(), value)).into(),
        tables: scores::tables(rows),
        figures: rows.chunk_by(|a, b| a.data_set == b.data_set).filter_map(recall).collect(),
        ..ReportParts::default()
    }
}

/// Recall of estimates over their mean number of segments; none where estimates have no segments.
fn recall(rows: &[ScoreRow]) -> Option<Figure> {
    rows.first()?.score(SEGMENTS)?;
    let points = |is_learned: bool| {
        let of_kind = rows.iter().filter(|row| row.is_learned == is_learned);
        of_kind.filter_map(|row| Some(Point::at(row.score(SEGMENTS)?, row.score(RECALL)?))).collect()
    };
    let chart = Chart {
        x: ChartAxis::new("segments per frame, mean", AxisScale::Linear),
        y: ChartAxis::new("recall of the reference peaks (exact bin)", AxisScale::Share),
        series: vec![
            ChartSeries::new("learned", 0, Mark::Points, points(true)),
            ChartSeries::new("fixed number of segments", 1, Mark::Line, points(false)),
        ],
        threshold: None,
    };
    Some(Figure::chart(&format!("Recall over segments: {}", rows.first()?.data_set), chart, "Nothing was evaluated."))
}
