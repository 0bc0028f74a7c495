//! `firefly-bench report`: reports as one page, in HTML or in Markdown.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, bail};
use firefly_app::files::{ensure_writable, write_atomically};

use super::ExitStatus;
use crate::report::page;
use crate::report::schema::AnyReport;

/// Options of `report`.
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
pub fn run(arguments: &ReportArgs, out: &mut dyn Write) -> anyhow::Result<ExitStatus> {
    let ReportArgs { files, markdown, out: out_path, title, notes } = arguments;
    let (option, path) = markdown.as_ref().map_or(("--out", out_path), |path| ("--markdown", path));
    ensure_writable(path).with_context(|| format!("{option} {}", path.display()))?;
    let same = |file: &&PathBuf| {
        fs::canonicalize(file).is_ok_and(|file| fs::canonicalize(path).is_ok_and(|path| path == file))
    };
    if let Some(input) = files.iter().chain(notes).find(same) {
        bail!("{option} {}: it is the input {}", path.display(), input.display());
    }
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
