//! Tables as text with commas.

use std::io::{self, BufWriter, Write};

use firefly_app::csv::cell;
use firefly_app::files::AtomicFile;

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
        for row in 0..rows.first().map_or(0, |column| column.values.len()) {
            for (index, column) in rows.iter().enumerate() {
                if index > 0 {
                    self.out.write_all(b",")?;
                }
                match &column.values {
                    ColumnValues::Text(text, _) => self.out.write_all(cell(text).as_bytes())?,
                    ColumnValues::Int32(values) => write!(self.out, "{}", values[row])?,
                    ColumnValues::Int64(values) => write!(self.out, "{}", values[row])?,
                    ColumnValues::Float(values) if values[row].is_finite() => write!(self.out, "{}", values[row])?,
                    ColumnValues::Double(values) if values[row].is_finite() => write!(self.out, "{}", values[row])?,
                    ColumnValues::Float(_) | ColumnValues::Double(_) => {}
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
