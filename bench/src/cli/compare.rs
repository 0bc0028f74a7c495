//! `firefly-bench compare`: what got slower, and what got faster, from one report to another.

use std::io::Write;
use std::path::PathBuf;

use anyhow::ensure;

use super::Verdict;
use crate::harness::format::{digits, duration};
use crate::harness::outcome::{CaseRecord, Outcome};
use crate::harness::statistics::Spread;
use crate::report::schema::Report;
use crate::report::table::{Side, Table};

/// The options of `compare`.
#[derive(Debug, Clone, clap::Args)]
pub struct Arguments {
    /// The report before
    pub before: PathBuf,
    /// The report after
    pub after: PathBuf,
    /// Share by which a case may be slower before it counts as a regression
    #[arg(long, value_name = "SHARE", default_value_t = 0.05)]
    pub threshold: f64,
    /// Print changes only, not what stayed the same
    #[arg(long)]
    pub quiet: bool,
}

/// What became of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    /// Its time is longer than before, beyond the spread of both, and by more than the threshold.
    Slower,
    /// It was measured before, and fails or is refused now.
    Lost,
    /// Its time is shorter than before, beyond the spread of both.
    Faster,
    /// It is measured now, and was not before.
    Won,
    /// It is as it was, as far as the spread tells.
    Same,
    /// Neither was measured.
    Neither,
}

/// Compares two reports and prints the table to `out`. A case is a regression if its median is slower by more than the
/// threshold and the spreads, from p10 to p90, do not overlap; or if it is no longer measured.
///
/// # Errors
/// For files that are not reports of the same command, and output that can't be written. A regression is no error but a
/// [`Verdict`].
pub fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Verdict> {
    let threshold = arguments.threshold;
    ensure!(threshold >= 0.0, "--threshold is {threshold}, but must not be negative");
    let [before, after] = [&arguments.before, &arguments.after].map(|path| Report::read(path));
    let (before, after) = (before?, after?);
    let names = [&before.command.name, &after.command.name];
    ensure!(
        names[0] == names[1],
        "{} and {} are reports of different commands, {} and {}",
        arguments.before.display(),
        arguments.after.display(),
        names[0],
        names[1]
    );
    for difference in differences(&before, &after) {
        writeln!(out, "note: {difference}")?;
    }

    let mut table = Table::default()
        .column("case", Side::Left)
        .column("before", Side::Right)
        .column("after", Side::Right)
        .column("after / before", Side::Right)
        .column("change", Side::Left);
    let mut counts = Counts::default();
    for case in &after.cases {
        let Some(earlier) = before.cases.iter().find(|other| other.has_key_of(case)) else { continue };
        let change = change(&earlier.outcome, &case.outcome, threshold);
        counts.add(change);
        if !arguments.quiet || !matches!(change, Change::Same | Change::Neither) {
            table.row(row(case, earlier, change));
        }
    }
    write!(out, "{}", table.render())?;
    for (cases, others, name) in
        [(&before.cases, &after.cases, &arguments.before), (&after.cases, &before.cases, &arguments.after)]
    {
        for case in cases.iter().filter(|case| !others.iter().any(|other| case.has_key_of(other))) {
            counts.unmatched += 1;
            writeln!(out, "only in {}: {}", name.display(), case.label())?;
        }
    }
    writeln!(out, "{}", counts.sentence(threshold))?;
    Ok(if counts.slower + counts.lost == 0 { Verdict::Passed } else { Verdict::Failed })
}

fn change(before: &Outcome, after: &Outcome, threshold: f64) -> Change {
    match (before, after) {
        (Outcome::Measured(before), Outcome::Measured(after)) => {
            let (before, after): (&Spread, &Spread) = (&before.time_ns, &after.time_ns);
            if after.p10 > before.p90 && after.median > (1.0 + threshold) * before.median {
                Change::Slower
            } else if after.p90 < before.p10 {
                Change::Faster
            } else {
                Change::Same
            }
        }
        (Outcome::Measured(_), _) => Change::Lost,
        (_, Outcome::Measured(_)) => Change::Won,
        _ => Change::Neither,
    }
}

fn row(case: &CaseRecord, earlier: &CaseRecord, change: Change) -> [String; 5] {
    let time = |case: &CaseRecord| match &case.outcome {
        Outcome::Measured(measured) => {
            let Spread { median, p10, p90, .. } = measured.time_ns;
            format!("{} ({} – {})", duration(median), duration(p10), duration(p90))
        }
        Outcome::Bounded(limit) => limit.batch.to_string(),
        Outcome::Failed { .. } => "failed".into(),
        Outcome::Unsupported { .. } => "unsupported".into(),
    };
    let ratio = earlier.measured().zip(case.measured());
    let ratio = ratio.map(|(before, after)| digits(after.time_ns.median / before.time_ns.median));
    let change = match change {
        Change::Slower => "SLOWER",
        Change::Lost => "LOST",
        Change::Faster => "faster",
        Change::Won => "won",
        Change::Same | Change::Neither => "",
    };
    [case.label(), time(earlier), time(case), ratio.unwrap_or_default(), change.into()]
}

/// What makes times incomparable.
fn differences(before: &Report, after: &Report) -> Vec<String> {
    let mut notes = Vec::new();
    if before.host != after.host {
        notes.push(format!("measured on {} before, on {} after", before.host.summary(), after.host.summary()));
    }
    if before.tool.build != after.tool.build {
        notes.push(format!("a {} build before, a {} build after", before.tool.build, after.tool.build));
    }
    if before.facts != after.facts {
        notes.push(format!("{} before, {} after", before.facts, after.facts));
    }
    notes
}

#[derive(Default)]
struct Counts {
    slower: usize,
    lost: usize,
    faster: usize,
    won: usize,
    same: usize,
    neither: usize,
    unmatched: usize,
}

impl Counts {
    fn add(&mut self, change: Change) {
        *match change {
            Change::Slower => &mut self.slower,
            Change::Lost => &mut self.lost,
            Change::Faster => &mut self.faster,
            Change::Won => &mut self.won,
            Change::Same => &mut self.same,
            Change::Neither => &mut self.neither,
        } += 1;
    }

    fn sentence(&self, threshold: f64) -> String {
        let Self { slower, lost, faster, won, same, neither, unmatched } = self;
        format!(
            "{slower} slower by more than {} %, {lost} lost, {faster} faster, {won} won, {same} the same, {neither} in neither, \
             {unmatched} unmatched",
            100.0 * threshold
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::crossover::tests::case;

    #[test]
    fn a_change_within_the_spread_is_none() {
        let time = |nanoseconds| case("a", 1, nanoseconds).outcome;
        let of = |before, after| change(&time(before), &time(after), 0.05);
        assert_eq!(of([100, 101, 102], [120, 121, 122]), Change::Slower);
        assert_eq!(of([100, 101, 102], [103, 104, 105]), Change::Same);
        assert_eq!(of([100, 101, 150], [120, 121, 122]), Change::Same);
        assert_eq!(of([120, 121, 122], [100, 101, 102]), Change::Faster);
        let failed = Outcome::failed("wrong");
        assert_eq!(change(&time([1; 3]), &failed, 0.05), Change::Lost);
        assert_eq!(change(&failed, &time([1; 3]), 0.05), Change::Won);
        assert_eq!(change(&failed, &failed, 0.05), Change::Neither);
    }
}
