//! Tables as one JSON object per line.

use std::io::{self, BufWriter, Write};

use firefly_app::files::AtomicFile;
use serde::Serialize;

use super::{ColumnValues, TableColumn, TableWriter};

/// Writer of JSON lines. Numbers that are not finite are null.
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
        for row in 0..rows.first().map_or(0, |column| column.values.len()) {
            for (index, column) in rows.iter().enumerate() {
                self.out.write_all(if index > 0 { b"," } else { b"{" })?;
                write!(self.out, "\"{}\":", column.name)?;
                match &column.values {
                    ColumnValues::Text(text, _) => self.value(text.as_ref())?,
                    ColumnValues::Int32(values) => self.value(values[row])?,
                    ColumnValues::Int64(values) => self.value(values[row])?,
                    ColumnValues::Float(values) => self.value(values[row])?,
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
