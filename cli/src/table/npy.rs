//! Tables as structured NumPy arrays (NEP 1).

use std::io::{self, BufWriter, Seek, SeekFrom, Write};

use firefly_app::files::AtomicFile;
use firefly_app::npy::header;

use super::{ColumnValues, TableColumn, TableWriter};

/// Bytes of the header: room for every column and for the number of rows, which is written last.
const HEADER_BYTES: usize = 1024;

/// Writer of a one-dimensional structured array. Texts are UTF-8 bytes of fixed length, padded with zeros.
pub(super) struct NpyTable {
    out: BufWriter<AtomicFile>,
    texts: usize,
    rows: u64,
    types: Vec<String>,
}

impl NpyTable {
    pub(super) fn new(file: AtomicFile, texts: usize) -> Self {
        Self { out: BufWriter::with_capacity(1 << 16, file), texts: texts.max(1), rows: 0, types: Vec::new() }
    }

    fn header(&self) -> Vec<u8> {
        header(&format!("[{}]", self.types.join(", ")), &[self.rows], HEADER_BYTES)
    }
}

impl TableWriter for NpyTable {
    fn write(&mut self, rows: &[TableColumn]) -> io::Result<()> {
        if self.types.is_empty() {
            let kind = |values: &ColumnValues| match values {
                ColumnValues::Text(..) => format!("|S{}", self.texts),
                ColumnValues::Int32(_) => "<i4".to_owned(),
                ColumnValues::Int64(_) => "<i8".to_owned(),
                ColumnValues::Float(_) => "<f4".to_owned(),
                ColumnValues::Double(_) => "<f8".to_owned(),
            };
            self.types = rows.iter().map(|column| format!("('{}', '{}')", column.name, kind(&column.values))).collect();
            self.out.write_all(&self.header())?;
        }
        let count = rows.first().map_or(0, |column| column.values.len());
        for row in 0..count {
            for column in rows {
                match &column.values {
                    ColumnValues::Text(text, _) => {
                        let mut padded = text.as_bytes().to_vec();
                        padded.resize(self.texts, 0);
                        self.out.write_all(&padded)?;
                    }
                    ColumnValues::Int32(values) => self.out.write_all(&values[row].to_le_bytes())?,
                    ColumnValues::Int64(values) => self.out.write_all(&values[row].to_le_bytes())?,
                    ColumnValues::Float(values) => self.out.write_all(&values[row].to_le_bytes())?,
                    ColumnValues::Double(values) => self.out.write_all(&values[row].to_le_bytes())?,
                }
            }
        }
        self.rows += count as u64;
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.out.seek(SeekFrom::Start(0))?;
        let header = self.header();
        self.out.write_all(&header)?;
        self.out.into_inner().map_err(io::IntoInnerError::into_error)?.commit()
    }
}
