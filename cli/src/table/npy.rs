//! Tables as structured NumPy arrays (NEP 1).

use std::io::{self, BufWriter, Seek, SeekFrom, Write};

use firefly_app::files::AtomicFile;
use firefly_recordings::npy_header;

use super::{Cell, ColumnValues, TableColumn, TableWriter, commit, each_cell, row_count};

/// Bytes of the header: room for every column and for the number of rows, which is written last.
const HEADER_BYTES: usize = 1024;
/// Least bytes of a text that is not of the first column.
const MIN_TEXT: usize = 16;

/// Writer of a one-dimensional structured array. Texts are UTF-8 bytes of fixed length, padded with zeros: those of the
/// first column of a length that is known, others of the longest among the first rows. Longer ones are cut.
pub(super) struct NpyTable {
    out: BufWriter<AtomicFile>,
    texts: usize,
    /// Bytes of the texts of each column.
    widths: Vec<usize>,
    rows: u64,
    types: Vec<String>,
}

impl NpyTable {
    pub(super) fn new(out: BufWriter<AtomicFile>, texts: usize) -> Self {
        Self { out, texts: texts.max(1), widths: Vec::new(), rows: 0, types: Vec::new() }
    }

    fn header(&self) -> Vec<u8> {
        npy_header(&format!("[{}]", self.types.join(", ")), &[self.rows], HEADER_BYTES)
    }
}

impl TableWriter for NpyTable {
    fn write(&mut self, rows: &[TableColumn]) -> io::Result<()> {
        if self.types.is_empty() {
            let width = |(place, column): (usize, &TableColumn)| match (place, &column.values) {
                (0, _) => self.texts,
                (_, ColumnValues::Text(runs)) => runs.iter().fold(MIN_TEXT, |most, (text, _)| most.max(text.len())),
                _ => 0,
            };
            self.widths = rows.iter().enumerate().map(width).collect();
            let kind = |values: &ColumnValues, width: usize| match values {
                ColumnValues::Text(_) => format!("|S{width}"),
                ColumnValues::Int32(_) => "<i4".to_owned(),
                ColumnValues::Int64(_) => "<i8".to_owned(),
                ColumnValues::Power(_) | ColumnValues::Double(_) => "<f8".to_owned(),
            };
            let columns = rows.iter().zip(&self.widths);
            let name = |(column, width): (&TableColumn, &usize)| (column.name, kind(&column.values, *width));
            self.types = columns.map(name).map(|(name, kind)| format!("('{name}', '{kind}')")).collect();
            self.out.write_all(&self.header())?;
        }
        each_cell(rows, |place, cell| match cell {
            Cell::Text(text) => {
                let width = self.widths[place];
                let mut padded = text.as_bytes()[..text.floor_char_boundary(width)].to_vec();
                padded.resize(width, 0);
                self.out.write_all(&padded)
            }
            Cell::Int32(value) => self.out.write_all(&value.to_le_bytes()),
            Cell::Int64(value) => self.out.write_all(&value.to_le_bytes()),
            Cell::Power(value) | Cell::Double(value) => self.out.write_all(&value.to_le_bytes()),
        })?;
        self.rows += row_count(rows) as u64;
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.out.seek(SeekFrom::Start(0))?;
        let header = self.header();
        self.out.write_all(&header)?;
        commit(self.out)
    }
}
