//! `firefly-bench compare`, changes from one report to another, and `firefly-bench report`, reports as one page, in HTML or in
//! Markdown.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use firefly_app::files::{ensure_no_input, ensure_writable, write_atomically};
use firefly_app::streams::printable;
use firefly_app::table::TableLayout;

use super::ExitStatus;
use crate::report::changes::{ReportChanges, differences};
use crate::report::page;
use crate::report::schema::{AnyReport, BenchReport};

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

/// Compares two reports and prints the table to `out`. A case is a regression if its median is slower by more than the
/// threshold and the spreads, from p10 to p90, do not overlap; or if it is no longer measured, or gone. A regression is no
/// error but an [`ExitStatus`].
pub fn compare(arguments: &CompareArgs, out: &mut dyn Write) -> Result<ExitStatus> {
    let threshold = arguments.threshold;
    ensure!(threshold >= 0.0, "--threshold is {threshold}, but must not be negative");
    let (before, after) = (BenchReport::read(&arguments.before)?, BenchReport::read(&arguments.after)?);
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
    if changes.changes.is_empty() {
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

#[derive(Debug, Clone, clap::Args)]
pub struct ReportArgs {
    /// JSON reports of any command, each a section of the page
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Write a dated results page in Markdown to this file, with machine, command and tables
    #[arg(long, value_name = "PATH", conflicts_with = "out")]
    pub markdown: Option<PathBuf>,
    /// Write a self-contained HTML page to this file
    #[arg(long, value_name = "PATH", default_value = "bench.html")]
    pub out: PathBuf,
    /// Heading of the page
    #[arg(long, default_value = "Measurements")]
    pub title: String,
    /// Markdown that the results page has between its heading and the measurements: conditions, results of others
    #[arg(long, value_name = "FILE", requires = "markdown")]
    pub notes: Option<PathBuf>,
}

/// Writes the page, whole or not at all, and prints its path.
pub fn report(arguments: &ReportArgs, out: &mut dyn Write) -> Result<ExitStatus> {
    let ReportArgs { files, markdown, out: out_path, title, notes } = arguments;
    let (option, path) = markdown.as_ref().map_or(("--out", out_path), |path| ("--markdown", path));
    let inputs = files.iter().chain(notes).map(PathBuf::as_path);
    let checked = ensure_writable(path).and_then(|()| ensure_no_input(path, inputs));
    checked.with_context(|| format!("{option} {}", path.display()))?;
    let notes = match notes {
        Some(path) => fs::read_to_string(path).with_context(|| format!("--notes {}", path.display()))?,
        None => String::new(),
    };
    let reports = files.iter().map(|file| AnyReport::read(file)).collect::<Result<Vec<_>, _>>()?;
    let name = |file: &PathBuf| file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
    let content = match markdown {
        Some(_) => page::markdown(title, &notes, &reports),
        None => page::html(title, &files.iter().map(name).zip(reports).collect::<Vec<_>>()),
    };
    write_atomically(path, content.as_bytes()).with_context(|| format!("writing {}", path.display()))?;
    writeln!(out, "{}", path.display())?;
    Ok(ExitStatus::Passed)
}
