//! `firefly-bench report`: reports as one page, in HTML or in Markdown.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use firefly_app::files::{ensure_writable, write_atomically};

use super::ExitStatus;
use crate::report::html;
use crate::report::markdown::{self, AnyReport};
use crate::report::schema::BenchReport;

/// Options of `report`.
#[derive(Debug, Clone, clap::Args)]
pub struct ReportArgs {
    /// JSON reports, each a section of the page
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Write a dated results page in Markdown, with machine, command and tables; also of the picker's reports
    #[arg(long)]
    pub markdown: bool,
    /// File of the page; bench.html, or bench.md with --markdown, unless given
    #[arg(long, value_name = "PATH")]
    pub out: Option<PathBuf>,
    /// Heading of the page
    #[arg(long, default_value = "Measurements")]
    pub title: String,
}

/// Writes the page, whole or not at all, and prints its path.
///
/// # Errors
/// For files that are not reports, and a page that can't be written.
pub fn run(arguments: &ReportArgs, out: &mut dyn Write) -> anyhow::Result<ExitStatus> {
    let ReportArgs { files, markdown, out: path, title } = arguments;
    let default = Path::new(if *markdown { "bench.md" } else { "bench.html" });
    let path = path.as_deref().unwrap_or(default);
    ensure_writable(path).with_context(|| format!("--out {}", path.display()))?;
    let page = if *markdown {
        let reports = files.iter().map(|file| AnyReport::read(file)).collect::<Result<Vec<_>, _>>()?;
        markdown::page(title, &reports)
    } else {
        let named = |file: &PathBuf| {
            let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
            BenchReport::read(file).map(|report| (name, report))
        };
        html::page(title, &files.iter().map(named).collect::<Result<Vec<_>, _>>()?)
    };
    write_atomically(path, page.as_bytes()).with_context(|| format!("writing {}", path.display()))?;
    writeln!(out, "{}", path.display())?;
    Ok(ExitStatus::Passed)
}
