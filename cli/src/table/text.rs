//! Tables as text: CSV, and one JSON object per line.

use std::fmt;
use std::io::{self, BufWriter, Write};

use firefly_app::files::{AtomicFile, csv_cell};
use serde::Serialize;

use super::{ColumnValues, TableColumn, TableWriter};

/// Writer of CSV after RFC 4180, with line feeds. Numbers that are not finite are empty.
pub(super) struct CsvTable {
    out: BufWriter<AtomicFile>,
    has_titles: bool,
}

impl CsvTable {
    pub(super) fn new(file: AtomicFile) -> Self {
        Self { out: BufWriter::with_capacity(1 << 16, file), has_titles: false }
    }
}

impl TableWriter for CsvTable {
    fn write(&mut self, rows: &[TableColumn]) -> io::Result<()> {
        if !self.has_titles {
            let titles: Vec<&str> = rows.iter().map(|column| column.name).collect();
            writeln!(self.out, "{}", titles.join(","))?;
            self.has_titles = true;
        }
        let texts: Vec<Vec<&str>> = rows.iter().map(|column| column.values.texts()).collect();
        for row in 0..rows.first().map_or(0, |column| column.values.len()) {
            for (index, column) in rows.iter().enumerate() {
                if index > 0 {
                    self.out.write_all(b",")?;
                }
                match &column.values {
                    ColumnValues::Text(_) => self.out.write_all(csv_cell(texts[index][row]).as_bytes())?,
                    ColumnValues::Int32(values) => write!(self.out, "{}", values[row])?,
                    ColumnValues::Int64(values) => write!(self.out, "{}", values[row])?,
                    ColumnValues::Power(values) if values[row].is_finite() => {
                        write!(self.out, "{}", PowerText(values[row]))?;
                    }
                    ColumnValues::Double(values) if values[row].is_finite() => write!(self.out, "{}", values[row])?,
                    ColumnValues::Power(_) | ColumnValues::Double(_) => {}
                }
            }
            self.out.write_all(b"\n")?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        self.out.into_inner().map_err(io::IntoInnerError::into_error)?.commit()
    }
}

/// Power as text: the digits of single precision, with which it was computed, beyond its range those of a double.
struct PowerText(f64);

impl fmt::Display for PowerText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let narrow = self.0 as f32;
        if narrow.is_normal() || self.0 == 0.0 { narrow.fmt(f) } else { write!(f, "{:e}", self.0) }
    }
}

/// Writer of JSON lines. Numbers that are not finite, and texts that are empty, are null.
pub(super) struct JsonLines {
    out: BufWriter<AtomicFile>,
}

impl JsonLines {
    pub(super) fn new(file: AtomicFile) -> Self {
        Self { out: BufWriter::with_capacity(1 << 16, file) }
    }

    fn value(&mut self, value: impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, &value).map_err(io::Error::from)
    }
}

impl TableWriter for JsonLines {
    fn write(&mut self, rows: &[TableColumn]) -> io::Result<()> {
        let texts: Vec<Vec<&str>> = rows.iter().map(|column| column.values.texts()).collect();
        for row in 0..rows.first().map_or(0, |column| column.values.len()) {
            for (index, column) in rows.iter().enumerate() {
                self.out.write_all(if index > 0 { b"," } else { b"{" })?;
                write!(self.out, "\"{}\":", column.name)?;
                match &column.values {
                    ColumnValues::Text(_) => self.value(Some(texts[index][row]).filter(|text| !text.is_empty()))?,
                    ColumnValues::Int32(values) => self.value(values[row])?,
                    ColumnValues::Int64(values) => self.value(values[row])?,
                    ColumnValues::Power(values) if values[row].is_finite() => {
                        write!(self.out, "{}", PowerText(values[row]))?;
                    }
                    ColumnValues::Power(_) => self.out.write_all(b"null")?,
                    ColumnValues::Double(values) => self.value(values[row])?,
                }
            }
            self.out.write_all(b"}\n")?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        self.out.into_inner().map_err(io::IntoInnerError::into_error)?.commit()
    }
}
