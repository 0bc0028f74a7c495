//! Comparison of two reports of a command: which cases got slower or faster.

use std::collections::HashMap;

use firefly_app::table::TextTable;

use super::schema::BenchReport;
use super::terminal::{Columns, of};
use crate::harness::{CaseOutcome, CaseRecord, DERIVED, Percentiles};
use firefly_app::number::{duration, duration_range, significant, whole};

/// Change of a case: of its time beyond the spread, or of whether it is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CaseChange {
    Slower,
    Lost,
    Faster,
    Won,
    Same,
    Neither,
}

/// Changes of all cases that two reports share.
pub struct ReportChanges {
    /// Table with a row per case.
    pub table: TextTable,
    pub(crate) only_before: Vec<String>,
    pub(crate) only_after: Vec<String>,
    pub(crate) changes: Vec<CaseChange>,
    threshold: f64,
}

impl ReportChanges {
    /// Compares two reports. A case is slower if its median is by more than the share `threshold` and the spreads, from
    /// p10 to p90, don't overlap. `changed_only` leaves unchanged cases out of the table.
    pub fn new(before: &BenchReport, after: &BenchReport, threshold: f64, changed_only: bool) -> Self {
        // Keys as text are unique in a report.
        let [earlier, later] = [before, after].map(|report| {
            report.cases.iter().map(|case| (case.label(), case)).collect::<HashMap<String, &CaseRecord>>()
        });
        let both = after.cases.iter().filter_map(|case| {
            let earlier = *earlier.get(&case.label())?;
            Some((change(&earlier.outcome, &case.outcome, threshold), earlier, case))
        });
        let both: Vec<_> = both.collect();
        let is_shown = |change| !(changed_only && matches!(change, CaseChange::Same | CaseChange::Neither));
        let only = |report: &BenchReport, others: &HashMap<String, &CaseRecord>| -> Vec<String> {
            report.cases.iter().map(CaseRecord::label).filter(|label| !others.contains_key(label)).collect()
        };
        Self {
            table: table(both.iter().filter(|(change, ..)| is_shown(*change))),
            only_before: only(before, &later),
            only_after: only(after, &earlier),
            changes: both.iter().map(|(change, ..)| *change).collect(),
            threshold,
        }
    }

    /// Whether a case got slower or is no longer measured.
    pub fn is_regression(&self) -> bool {
        self.count(CaseChange::Slower) + self.count(CaseChange::Lost) + self.only_before.len() > 0
    }

    fn count(&self, change: CaseChange) -> usize {
        self.changes.iter().filter(|other| **other == change).count()
    }

    /// Number of cases of each change as a line of text.
    pub fn summary(&self) -> String {
        use CaseChange::{Faster, Lost, Neither, Same, Slower, Won};
        let [slower, lost, faster, won, same, neither] =
            [Slower, Lost, Faster, Won, Same, Neither].map(|change| self.count(change));
        let percent = match 100.0 * self.threshold {
            percent if percent < 1e9 => percent.to_string(),
            percent => significant(percent, 3),
        };
        format!(
            "{slower} slower by more than {percent} %, {lost} lost, {} gone, {faster} faster, {won} won, {same} the same, \
             {neither} in neither, {} new",
            self.only_before.len(),
            self.only_after.len()
        )
    }
}

fn change(before: &CaseOutcome, after: &CaseOutcome, threshold: f64) -> CaseChange {
    match (before, after) {
        (CaseOutcome::Measured(before), CaseOutcome::Measured(after)) => {
            let (before, after): (&Percentiles, &Percentiles) = (&before.time_ns, &after.time_ns);
            if after.p10 > before.p90 && after.median > (1.0 + threshold) * before.median {
                CaseChange::Slower
            } else if after.p90 < before.p10 {
                CaseChange::Faster
            } else {
                CaseChange::Same
            }
        }
        (CaseOutcome::Measured(_), _) => CaseChange::Lost,
        (_, CaseOutcome::Measured(_)) => CaseChange::Won,
        _ => CaseChange::Neither,
    }
}

/// Table with a row per change from an earlier to a later case.
fn table<'a>(changes: impl Iterator<Item = &'a (CaseChange, &'a CaseRecord, &'a CaseRecord)>) -> TextTable {
    let time = |case: &CaseRecord| match &case.outcome {
        CaseOutcome::Measured(measured) => duration(measured.time_ns.median),
        CaseOutcome::Bounded(limit) => whole(limit.batch),
        CaseOutcome::Failed { .. } => "failed".into(),
        CaseOutcome::Unsupported { .. } => "unsupported".into(),
    };
    let spread = of(|found| Some(duration_range(found.time_ns.p10, found.time_ns.p90)));
    let ratio = |earlier: &CaseRecord, case: &CaseRecord| {
        Some(significant(case.measured()?.time_ns.median / earlier.measured()?.time_ns.median, 3))
    };
    Columns::<(CaseChange, &CaseRecord, &CaseRecord)>::new()
        .word("", |(.., case)| case.problem.without(&DERIVED).to_string())
        .grouped()
        .word("case", |(.., case)| case.configuration())
        .number("before", |(_, earlier, _)| time(earlier))
        .wide("before: p10 – p90", |(_, earlier, _)| spread(earlier))
        .number("after", |(.., case)| time(case))
        .wide("after: p10 – p90", |(.., case)| spread(case))
        .optional("after / before", 1, |(_, earlier, case)| ratio(earlier, case).unwrap_or_default())
        .word("change", |(change, ..)| match change {
            CaseChange::Slower => "SLOWER".into(),
            CaseChange::Lost => "LOST".into(),
            CaseChange::Faster => "faster".into(),
            CaseChange::Won => "won".into(),
            CaseChange::Same | CaseChange::Neither => String::new(),
        })
        .table(changes)
}

/// Differences that make times incomparable.
pub fn differences(before: &BenchReport, after: &BenchReport) -> Vec<String> {
    let mut notes = Vec::new();
    if before.host != after.host {
        notes.push(format!("measured on {} before, on {} after", before.host.summary(), after.host.summary()));
    }
    for (report, name) in [(before, "first"), (after, "second")] {
        if !report.complete {
            notes.push(format!("the {name} report is of a measurement that was not finished"));
        }
    }
    if before.tool.build != after.tool.build {
        notes.push(format!("a {} build before, a {} build after", before.tool.build, after.tool.build));
    }
    if before.facts != after.facts {
        notes.push(format!("{} before, {} after", before.facts, after.facts));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::crossover::tests::case;

    #[test]
    fn a_change_within_the_spread_is_none() {
        let time = |nanoseconds| case("a", 1, nanoseconds).outcome;
        let of = |before, after| change(&time(before), &time(after), 0.05);
        assert_eq!(of([100, 101, 102], [120, 121, 122]), CaseChange::Slower);
        assert_eq!(of([100, 101, 102], [103, 104, 105]), CaseChange::Same);
        assert_eq!(of([100, 101, 150], [120, 121, 122]), CaseChange::Same);
        assert_eq!(of([120, 121, 122], [100, 101, 102]), CaseChange::Faster);
        let failed = CaseOutcome::failed("wrong");
        assert_eq!(change(&time([1; 3]), &failed, 0.05), CaseChange::Lost);
        assert_eq!(change(&failed, &time([1; 3]), 0.05), CaseChange::Won);
        assert_eq!(change(&failed, &failed, 0.05), CaseChange::Neither);
    }
}
