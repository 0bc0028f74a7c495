//! `firefly-bench report`: reports as one HTML page.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use firefly_app::files::{ensure_writable, write_atomically};

use super::Verdict;
use crate::report::html::page;
use crate::report::schema::Report;

/// The options of `report`.
#[derive(Debug, Clone, clap::Args)]
pub struct Arguments {
    /// JSON reports, each a section of the page
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Where the page goes
    #[arg(long, value_name = "PATH", default_value = "bench.html")]
    pub out: PathBuf,
    /// Its heading
    #[arg(long, default_value = "Measurements")]
    pub title: String,
}

/// Writes the page, whole or not at all, and says where it is.
///
/// # Errors
/// For files that are not reports, and a page that can't be written.
pub fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Verdict> {
    let path = &arguments.out;
    ensure_writable(path).with_context(|| format!("--out {}", path.display()))?;
    let named = |file: &PathBuf| {
        let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
        Report::read(file).map(|report| (name, report))
    };
    let reports = arguments.files.iter().map(named).collect::<anyhow::Result<Vec<_>>>()?;
    let html = page(&arguments.title, &reports);
    write_atomically(path, html.as_bytes()).with_context(|| format!("writing {}", path.display()))?;
    writeln!(out, "{}", path.display())?;
    Ok(Verdict::Passed)
}
