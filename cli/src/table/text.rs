//! Tables as text: CSV, and one JSON object per line.

use std::fmt;
use std::io::{self, BufWriter, Write};

use firefly_app::files::{AtomicFile, csv_cell};
use serde::Serialize;

use super::{Cell, TableColumn, TableWriter, commit, each_cell};

/// Writer of CSV after RFC 4180, with line feeds. Numbers that are not finite are empty.
pub(super) struct CsvTable {
    pub(super) out: BufWriter<AtomicFile>,
    pub(super) has_titles: bool,
}

impl TableWriter for CsvTable {
    fn write(&mut self, rows: &[TableColumn]) -> io::Result<()> {
        let out = &mut self.out;
        if !self.has_titles {
            let titles: Vec<&str> = rows.iter().map(|column| column.name).collect();
            writeln!(out, "{}", titles.join(","))?;
            self.has_titles = true;
        }
        each_cell(rows, |place, cell| {
            match cell {
                Cell::Text(text) => out.write_all(csv_cell(text).as_bytes())?,
                Cell::Int32(value) => write!(out, "{value}")?,
                Cell::Int64(value) => write!(out, "{value}")?,
                Cell::Power(value) if value.is_finite() => write!(out, "{}", PowerText(value))?,
                Cell::Double(value) if value.is_finite() => write!(out, "{value}")?,
                Cell::Power(_) | Cell::Double(_) => {}
            }
            out.write_all(if place + 1 == rows.len() { b"\n" } else { b"," })
        })
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        commit(self.out)
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
    pub(super) out: BufWriter<AtomicFile>,
}

impl JsonLines {
    fn value(&mut self, value: impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, &value).map_err(io::Error::from)
    }
}

impl TableWriter for JsonLines {
    fn write(&mut self, rows: &[TableColumn]) -> io::Result<()> {
        each_cell(rows, |place, cell| {
            write!(self.out, "{}\"{}\":", if place > 0 { "," } else { "{" }, rows[place].name)?;
            match cell {
                Cell::Text(text) => self.value(Some(text).filter(|text| !text.is_empty()))?,
                Cell::Int32(value) => self.value(value)?,
                Cell::Int64(value) => self.value(value)?,
                Cell::Power(value) if value.is_finite() => write!(self.out, "{}", PowerText(value))?,
                Cell::Power(value) | Cell::Double(value) => self.value(value)?,
            }
            if place + 1 == rows.len() { self.out.write_all(b"}\n") } else { Ok(()) }
        })
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        commit(self.out)
    }
}
