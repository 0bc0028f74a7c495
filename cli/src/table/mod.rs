//! Tables as files: Parquet, CSV, JSON lines and NumPy arrays, written part by part.

mod npy;
mod parquet;
mod text;

use std::io::{self, BufWriter};
use std::iter::repeat_n;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use firefly_app::files::AtomicFile;

use crate::options::format_of;
use crate::output_lock::OutputLock;

#[derive(Debug, Clone, PartialEq)]
pub struct TableColumn {
    /// Its title, with the unit.
    pub name: &'static str,
    pub values: ColumnValues,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ColumnValues {
    /// Texts, each with the number of rows that have it. An empty one stands for none.
    Text(Vec<(Arc<str>, usize)>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    /// Power in single precision, with the range of double precision.
    Power(Vec<f64>),
    Double(Vec<f64>),
}

impl ColumnValues {
    pub fn text(text: &Arc<str>, rows: usize) -> Self {
        Self::Text(vec![(text.clone(), rows)])
    }

    pub fn len(&self) -> usize {
        match self {
            Self::Text(runs) => runs.iter().map(|(_, rows)| rows).sum(),
            Self::Int32(values) => values.len(),
            Self::Int64(values) => values.len(),
            Self::Power(values) | Self::Double(values) => values.len(),
        }
    }
}

enum Cell<'a> {
    Text(&'a str),
    Int32(i32),
    Int64(i64),
    Power(f64),
    Double(f64),
}

/// Calls `write` with the place of each column and its value, row by row.
fn each_cell(rows: &[TableColumn], mut write: impl FnMut(usize, Cell<'_>) -> io::Result<()>) -> io::Result<()> {
    let texts = rows.iter().map(|column| match &column.values {
        ColumnValues::Text(runs) => runs.iter().flat_map(|(text, rows)| repeat_n(&**text, *rows)).collect(),
        _ => Vec::new(),
    });
    let texts: Vec<Vec<&str>> = texts.collect();
    for row in 0..row_count(rows) {
        for (place, column) in rows.iter().enumerate() {
            let cell = match &column.values {
                ColumnValues::Text(_) => Cell::Text(texts[place][row]),
                ColumnValues::Int32(values) => Cell::Int32(values[row]),
                ColumnValues::Int64(values) => Cell::Int64(values[row]),
                ColumnValues::Power(values) => Cell::Power(values[row]),
                ColumnValues::Double(values) => Cell::Double(values[row]),
            };
            write(place, cell)?;
        }
    }
    Ok(())
}

fn row_count(rows: &[TableColumn]) -> usize {
    rows.first().map_or(0, |column| column.values.len())
}

/// Writes what is buffered, and moves the file to its place.
pub fn commit(out: BufWriter<AtomicFile>) -> io::Result<()> {
    out.into_inner().map_err(io::IntoInnerError::into_error)?.commit()
}

pub type OutputTable = Box<dyn TableWriter>;

pub trait TableWriter {
    /// Writes rows: columns of one length, the same ones each time.
    fn write(&mut self, rows: &[TableColumn]) -> io::Result<()>;

    /// Completes the file and moves it to its place.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableFormat {
    Parquet,
    Csv,
    /// One JSON object per line; numbers that are not finite are null.
    JsonLines,
    Npy,
}

impl TableFormat {
    pub fn of(path: &Path) -> Result<Self> {
        let formats = [("parquet", Self::Parquet), ("csv", Self::Csv), ("jsonl", Self::JsonLines), ("npy", Self::Npy)];
        format_of(path, "tables", "parquet, csv, jsonl and npy", &formats)
    }

    /// A writer to the output of a lock, in place of the unfinished file that a killed command leaves behind. `texts` is the
    /// length of the longest text of its first column in bytes.
    pub fn create(self, lock: &OutputLock, texts: usize) -> io::Result<OutputTable> {
        let file = AtomicFile::create_locked(lock.output())?;
        let buffered = |file: AtomicFile| BufWriter::with_capacity(1 << 16, file);
        Ok(match self {
            Self::Parquet => Box::new(parquet::ParquetTable::new(file)),
            Self::Csv => Box::new(text::CsvTable { out: buffered(file), has_titles: false }),
            Self::JsonLines => Box::new(text::JsonLines { out: buffered(file) }),
            Self::Npy => Box::new(npy::NpyTable::new(buffered(file), texts)),
        })
    }
}
