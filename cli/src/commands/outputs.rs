//! Output files of a command.

use std::path::PathBuf;

use anyhow::{Context, Result};
use firefly_app::files::ensure_writable;

use crate::plot::PlotFormat;
use crate::table::TableFormat;

/// The formats of the files of `--out` and `--plot`, after the check that both can be written.
///
/// # Errors
/// For an extension that names no format, and a file that can't be written.
pub fn formats(out: Option<&PathBuf>, plot: Option<&PathBuf>) -> Result<(Option<TableFormat>, Option<PlotFormat>)> {
    let table = out.map(|path| TableFormat::of(path)).transpose().context("--out")?;
    let drawing = plot.map(|path| PlotFormat::of(path)).transpose().context("--plot")?;
    for path in [out, plot].into_iter().flatten() {
        ensure_writable(path).with_context(|| path.display().to_string())?;
    }
    Ok((table, drawing))
}
