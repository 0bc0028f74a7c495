//! Tables as Apache Parquet.

use std::io::{self, BufWriter};
use std::sync::Arc;

use firefly_app::files::AtomicFile;
use parquet2::compression::CompressionOptions;
use parquet2::encoding::Encoding;
use parquet2::error::Error;
use parquet2::metadata::SchemaDescriptor;
use parquet2::page::{DataPage, DataPageHeader, DataPageHeaderV1, Page};
use parquet2::schema::Repetition;
use parquet2::schema::types::{ParquetType, PhysicalType, PrimitiveConvertedType, PrimitiveLogicalType};
use parquet2::write::{Compressor, DynIter, DynStreamingIterator, FileWriter, Version, WriteOptions};

use super::{Column, TableWriter, Values};

/// Rows of a row group, which is held in memory.
const GROUP_ROWS: usize = 1 << 16;

/// Writer of a table without nulls. Row groups have the same rows however the rows come.
pub(super) struct ParquetTable {
    out: Option<BufWriter<AtomicFile>>,
    writer: Option<FileWriter<BufWriter<AtomicFile>>>,
    /// Encoded values of each column of the current row group, and its rows.
    columns: Vec<Vec<u8>>,
    rows: usize,
}

impl ParquetTable {
    pub(super) fn new(file: AtomicFile) -> Self {
        let out = Some(BufWriter::with_capacity(1 << 16, file));
        Self { out, writer: None, columns: Vec::new(), rows: 0 }
    }

    fn start(&mut self, rows: &[Column]) -> Result<(), Error> {
        let fields = rows.iter().map(field).collect::<Result<_, _>>()?;
        let schema = SchemaDescriptor::new("schema".to_owned(), fields);
        let options = WriteOptions { write_statistics: false, version: Version::V1 };
        let created_by = Some(concat!("firefly ", env!("CARGO_PKG_VERSION")).to_owned());
        self.writer = self.out.take().map(|out| FileWriter::new(out, schema, options, created_by));
        self.columns = vec![Vec::new(); rows.len()];
        Ok(())
    }

    fn end_group(&mut self) -> Result<(), Error> {
        let Some(writer) = self.writer.as_mut().filter(|_| self.rows > 0) else { return Ok(()) };
        let count = std::mem::take(&mut self.rows);
        let descriptors: Vec<_> = writer.schema().columns().iter().map(|column| column.descriptor.clone()).collect();
        let columns = self.columns.iter_mut().zip(descriptors).map(|(values, descriptor)| {
            let header = DataPageHeaderV1 {
                num_values: count as i32,
                encoding: Encoding::Plain.into(),
                definition_level_encoding: Encoding::Rle.into(),
                repetition_level_encoding: Encoding::Rle.into(),
                statistics: None,
            };
            let page = DataPage::new(DataPageHeader::V1(header), std::mem::take(values), descriptor, Some(count));
            let pages = DynIter::new(std::iter::once(Ok(Page::Data(page))));
            let pages = Compressor::new_from_vec(pages, CompressionOptions::Snappy, Vec::new());
            Ok::<_, Error>(DynStreamingIterator::new(pages))
        });
        let columns: Vec<_> = columns.collect();
        writer.write(DynIter::new(columns.into_iter()))
    }
}

impl TableWriter for ParquetTable {
    fn write(&mut self, rows: &[Column]) -> io::Result<()> {
        if self.writer.is_none() {
            self.start(rows).map_err(failed)?;
        }
        let count = rows.first().map_or(0, |column| column.values.len());
        let mut written = 0;
        while written < count {
            let end = count.min(written + GROUP_ROWS - self.rows);
            for (encoded, column) in self.columns.iter_mut().zip(rows) {
                encode(&column.values, written..end, encoded);
            }
            self.rows += end - written;
            written = end;
            if self.rows == GROUP_ROWS {
                self.end_group().map_err(failed)?;
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.end_group().map_err(failed)?;
        let Some(mut writer) = self.writer else {
            return Err(io::Error::other("a table without columns can't be written as Parquet"));
        };
        writer.end(None).map_err(failed)?;
        writer.into_inner().into_inner().map_err(io::IntoInnerError::into_error)?.commit()
    }
}

fn field(column: &Column) -> Result<ParquetType, Error> {
    let (physical, converted, logical) = match column.values {
        Values::Text(..) => {
            let (converted, logical) = (PrimitiveConvertedType::Utf8, PrimitiveLogicalType::String);
            (PhysicalType::ByteArray, Some(converted), Some(logical))
        }
        Values::Int32(_) => (PhysicalType::Int32, None, None),
        Values::Int64(_) => (PhysicalType::Int64, None, None),
        Values::Float(_) => (PhysicalType::Float, None, None),
        Values::Double(_) => (PhysicalType::Double, None, None),
    };
    let name = column.name.to_owned();
    ParquetType::try_from_primitive(name, physical, Repetition::Required, converted, logical, None)
}

/// Appends values in PLAIN encoding.
fn encode(values: &Values, rows: std::ops::Range<usize>, out: &mut Vec<u8>) {
    match values {
        Values::Text(text, _) => encode_text(text, rows.len(), out),
        Values::Int32(values) => out.extend(values[rows].iter().flat_map(|value| value.to_le_bytes())),
        Values::Int64(values) => out.extend(values[rows].iter().flat_map(|value| value.to_le_bytes())),
        Values::Float(values) => out.extend(values[rows].iter().flat_map(|value| value.to_le_bytes())),
        Values::Double(values) => out.extend(values[rows].iter().flat_map(|value| value.to_le_bytes())),
    }
}

fn encode_text(text: &Arc<str>, rows: usize, out: &mut Vec<u8>) {
    let mut value = (text.len() as u32).to_le_bytes().to_vec();
    value.extend(text.bytes());
    out.extend(value.repeat(rows));
}

fn failed(error: Error) -> io::Error {
    io::Error::other(error)
}
