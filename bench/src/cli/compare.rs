//! `firefly-bench compare`: changes from one report to another.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{bail, ensure};
use firefly_app::streams::printable;
use firefly_app::table::TableLayout;

use super::ExitStatus;
use crate::report::changes::{ReportChanges, differences};
use crate::report::schema::{AnyReport, BenchReport};

/// Options of `compare`.
#[derive(Debug, Clone, clap::Args)]
pub struct CompareArgs {
    /// Report before the change
    pub before: PathBuf,
    /// Report after the change
    pub after: PathBuf,
    /// Share by which a case may be slower without being a regression, from 0
    #[arg(long, value_name = "SHARE", default_value_t = 0.05)]
    pub threshold: f64,
    /// Show every column of the table, whatever the terminal's width
    #[arg(long)]
    pub wide: bool,
    /// Print changed cases only
    #[arg(long)]
    pub quiet: bool,
}

/// The report of strategies at `path`.
fn bench_report(path: &Path) -> anyhow::Result<BenchReport> {
    match AnyReport::read(path)? {
        AnyReport::Bench(report) => Ok(*report),
        other => bail!(
            "{} is a report of {}, which has no times to compare; `firefly-bench report` makes a page of it",
            path.display(),
            other.command()
        ),
    }
}

/// Compares two reports and prints the table to `out`. A case is a regression if its median is slower by more than the
/// threshold and the spreads, from p10 to p90, do not overlap; or if it is no longer measured, or gone.
///
/// # Errors For files that are not reports of the same command or share no case, and output that can't be written. A
/// regression is no error but a [`ExitStatus`].
pub fn run(arguments: &CompareArgs, out: &mut dyn Write) -> anyhow::Result<ExitStatus> {
    let threshold = arguments.threshold;
    ensure!(threshold >= 0.0, "--threshold is {threshold}, but must not be negative");
    let (before, after) = (bench_report(&arguments.before)?, bench_report(&arguments.after)?);
    let (first, second) = (&before.command.name, &after.command.name);
    ensure!(
        first == second,
        "{} and {} are reports of different commands, {first} and {second}",
        arguments.before.display(),
        arguments.after.display()
    );
    for difference in differences(&before, &after) {
        writeln!(out, "note: {}", printable(&difference))?;
    }
    let changes = ReportChanges::new(&before, &after, threshold, arguments.quiet);
    if changes.is_empty() {
        bail!("{} and {} have no case in common", arguments.before.display(), arguments.after.display());
    }
    write!(out, "{}", changes.table.render_with_remark(TableLayout::of_stdout(arguments.wide)))?;
    for (cases, path) in [(&changes.only_before, &arguments.before), (&changes.only_after, &arguments.after)] {
        for case in cases {
            writeln!(out, "only in {}: {}", path.display(), printable(case))?;
        }
    }
    writeln!(out, "{}", changes.summary())?;
    Ok(if changes.is_regression() { ExitStatus::Failed } else { ExitStatus::Passed })
}
