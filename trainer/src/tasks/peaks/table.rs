//! Tables on a terminal.

use firefly_app::table::{Align, TextTable};

use super::evaluate::{PeaksRow, predicting_devices};
use super::found_peaks::BATCH;

/// Evaluation rows as a table per data set under a legend, wrapped to the terminal's width.
pub fn evaluation(rows: &[PeaksRow]) -> String {
    evaluation_with(rows, rayon::current_num_threads(), TextTable::render)
}

fn evaluation_with(rows: &[PeaksRow], threads: usize, render: impl Fn(&TextTable) -> String) -> String {
    let mut text = format!(
        "active: open butterflies, counted per segment, as a share of the reference's\n\
         µs/frame: median, batches of {BATCH} on {threads} threads, read back\n"
    );
    if !predicting_devices(rows).is_empty() {
        text += "predicted: µs/frame by the calibrated profile of each device\n";
    }
    for rows in rows.chunk_by(|a, b| a.data_set == b.data_set) {
        text += &format!("\n{}\n{}", rows[0].data_set, render(&data_set_table(rows)));
    }
    text
}

fn data_set_table(rows: &[PeaksRow]) -> TextTable {
    let devices = predicting_devices(rows);
    let timed = TextTable::default().column("model", Align::Left).column("µs/frame", Align::Right);
    let mut table = devices
        .iter()
        .fold(timed, |table, device| table.column(format!("predicted {device}"), Align::Right))
        .columns(["recall", "±1 bin", "error dB", "active", "butterflies"], Align::Right);
    for row in rows {
        let predicted = |device: &&str| row.predicted_microseconds_per_frame.get(*device);
        let mut cells = vec![row.name.clone(), format!("{:.3}", row.median_microseconds_per_frame)];
        cells.extend(devices.iter().map(|device| predicted(device).map_or("–".into(), |time| format!("{time:.3}"))));
        cells.extend([
            format!("{:.3}", row.recall),
            format!("{:.3}", row.recall_within_one_bin),
            format!("{:.2}", row.median_power_error_db),
            format!("{:.1}%", 100.0 * row.active_share),
            format!("{:.0}", row.butterflies_per_frame),
        ]);
        table.row(cells);
    }
    table
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::evaluate::ModelKind;
    use insta::assert_snapshot;

    use super::*;

    fn row(data_set: &str, name: &str, recall: f64, butterflies: f64) -> PeaksRow {
        PeaksRow {
            name: name.into(),
            kind: if name.starts_with("learned") { ModelKind::Learned } else { ModelKind::Exact },
            data_set: data_set.into(),
            recall,
            recall_within_one_bin: (recall + 0.1).min(1.0),
            median_power_error_db: 1.234,
            active_share: butterflies / 8192.0,
            butterflies_per_frame: butterflies,
            median_microseconds_per_frame: butterflies / 4000.0,
            predicted_microseconds_per_frame: BTreeMap::new(),
        }
    }

    fn rows() -> Vec<PeaksRow> {
        vec![
            row("bearing/test", "ultra", 0.741, 1024.0),
            row("bearing/test", "fast", 0.829, 2048.0),
            row("bearing/test", "reference", 1.0, 8192.0),
            row("bearing/test", "learned at price 0.1 with a name that needs most of a terminal's width", 0.85, 951.0),
            PeaksRow { median_power_error_db: f64::NAN, ..row("noise", "ultra", 0.0, 1024.0) },
            row("noise", "learned", 0.5, 0.0),
        ]
    }

    #[test]
    fn evaluation_at_80_columns() {
        assert_snapshot!(evaluation_with(&rows(), 4, |table| table.render_to(Some(80))));
    }

    #[test]
    fn evaluation_with_predicted_times() {
        let mut rows = rows();
        for row in rows.iter_mut().filter(|row| row.kind == ModelKind::Exact && row.data_set == "bearing/test") {
            row.predicted_microseconds_per_frame =
                [("cpu", 0.25), ("cuda", 0.001)].map(|(device, time)| (device.into(), time)).into();
        }
        assert_snapshot!(evaluation_with(&rows, 4, |table| table.render_to(Some(160))));
    }

    #[test]
    fn evaluation_at_160_columns() {
        assert_snapshot!(evaluation_with(&rows(), 4, |table| table.render_to(Some(160))));
    }
}
