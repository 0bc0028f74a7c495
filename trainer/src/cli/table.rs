//! Tables on a terminal.

use firefly_trainer::evaluate::{BATCH, EvaluationRow};

/// Evaluation rows as a table per data set, with a legend.
pub fn evaluation(rows: &[EvaluationRow]) -> String {
    let mut text = format!(
        "active: open butterflies, counted per segment, as a share of the reference's\n\
         µs/frame: median, batches of {BATCH} on {} threads, read back\n\n",
        rayon::current_num_threads()
    );
    let mut data_set = None;
    for row in rows {
        if data_set != Some(&row.data_set) {
            text += &format!(
                "{}{}\n{:24} {:>8} {:>8} {:>9} {:>8} {:>12} {:>9}\n",
                if data_set.is_none() { "" } else { "\n" },
                row.data_set,
                "",
                "recall",
                "±1 bin",
                "error dB",
                "active",
                "butterflies",
                "µs/frame"
            );
            data_set = Some(&row.data_set);
        }
        text += &format!(
            "{:24} {:>8.3} {:>8.3} {:>9.2} {:>7.1}% {:>12.0} {:>9.3}\n",
            row.name,
            row.recall,
            row.recall_within_one_bin,
            row.median_power_error_db,
            100.0 * row.active_share,
            row.butterflies_per_frame,
            row.median_microseconds_per_frame,
        );
    }
    text
}
