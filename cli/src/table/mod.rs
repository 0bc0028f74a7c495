//! Tables as files: Parquet, CSV, JSON lines and NumPy arrays, written part by part.

mod npy;
mod parquet;
mod text;

use std::io;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use firefly_app::files::AtomicFile;

use crate::options::format_of;

/// A column of a part of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct TableColumn {
    /// Its title, with the unit.
    pub name: &'static str,
    /// Its values.
    pub values: ColumnValues,
}

/// Values of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum ColumnValues {
    /// Texts, each with the number of rows that have it. An empty one stands for none.
    Text(Vec<(Arc<str>, usize)>),
    /// 32-bit integers.
    Int32(Vec<i32>),
    /// 64-bit integers.
    Int64(Vec<i64>),
    /// Power in single precision, with the range of double precision.
    Power(Vec<f64>),
    /// Double precision.
    Double(Vec<f64>),
}

impl ColumnValues {
    /// The same text in so many rows.
    pub fn text(text: &Arc<str>, rows: usize) -> Self {
        Self::Text(vec![(text.clone(), rows)])
    }

    /// The text of each row; none for a column of numbers.
    fn texts(&self) -> Vec<&str> {
        let Self::Text(runs) = self else { return Vec::new() };
        runs.iter().flat_map(|(text, rows)| std::iter::repeat_n(&**text, *rows)).collect()
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Self::Text(runs) => runs.iter().map(|(_, rows)| rows).sum(),
            Self::Int32(values) => values.len(),
            Self::Int64(values) => values.len(),
            Self::Power(values) => values.len(),
            Self::Double(values) => values.len(),
        }
    }
}

/// Writer of a table.
pub trait TableWriter {
    /// Writes rows: columns of one length, the same ones each time.
    ///
    /// # Errors
    /// If the file can't be written.
    fn write(&mut self, rows: &[TableColumn]) -> io::Result<()>;

    /// Completes the file and moves it to its place.
    ///
    /// # Errors
    /// If the file can't be written.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

/// Format of a table's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableFormat {
    /// Apache Parquet, compressed with Snappy.
    Parquet,
    /// Text with a line of titles.
    Csv,
    /// One JSON object per line; numbers that are not finite are null.
    JsonLines,
    /// Structured NumPy array.
    Npy,
}

impl TableFormat {
    /// The format of a file by its extension.
    ///
    /// # Errors
    /// For an extension that names none.
    pub fn of(path: &Path) -> Result<Self> {
        let formats = [("parquet", Self::Parquet), ("csv", Self::Csv), ("jsonl", Self::JsonLines), ("npy", Self::Npy)];
        format_of(path, "tables", "parquet, csv, jsonl and npy", &formats)
    }

    /// A writer to a file. `texts` is the length of the longest text of its first column in bytes; `locked`: whether the caller holds a
    /// lock on the output, so that the file that a killed command leaves behind can be replaced.
    ///
    /// # Errors
    /// If the file can't be created.
    pub fn create(self, path: &Path, texts: usize, locked: bool) -> io::Result<Box<dyn TableWriter>> {
        let file = if locked { AtomicFile::create_locked(path)? } else { AtomicFile::create(path)? };
        Ok(match self {
            Self::Parquet => Box::new(parquet::ParquetTable::new(file)),
            Self::Csv => Box::new(text::CsvTable::new(file)),
            Self::JsonLines => Box::new(text::JsonLines::new(file)),
            Self::Npy => Box::new(npy::NpyTable::new(file, texts)),
        })
    }
}
