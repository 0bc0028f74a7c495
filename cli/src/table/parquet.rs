//! Tables as Apache Parquet.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use firefly_app::files::AtomicFile;
use parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;

use super::{ColumnValues, TableColumn, TableWriter, row_count};

/// Rows of a row group, which is held in memory.
const GROUP_ROWS: usize = 1 << 16;
/// Bytes of a page: small enough for its buffers to come from memory that was used before.
const PAGE_BYTES: usize = 1 << 16;
/// Rows of a text that are written at once.
const TEXT_ROWS: usize = 1024;

/// Writer of a table whose only nulls are empty texts. Row groups have the same rows however the rows come.
pub(super) struct ParquetTable {
    out: Option<AtomicFile>,
    writer: Option<SerializedFileWriter<AtomicFile>>,
    /// Values of each column of the current row group, as they came, and its rows.
    columns: Vec<Vec<ColumnValues>>,
    rows: usize,
}

impl ParquetTable {
    pub(super) fn new(file: AtomicFile) -> Self {
        Self { out: Some(file), writer: None, columns: Vec::new(), rows: 0 }
    }

    fn start(&mut self, rows: &[TableColumn]) -> io::Result<()> {
        let fields = rows.iter().map(field).collect::<Result<_, _>>()?;
        let schema = Type::group_type_builder("schema").with_fields(fields).build()?;
        let mut properties = WriterProperties::builder()
            .set_created_by(concat!("firefly ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_compression(Compression::SNAPPY)
            .set_statistics_enabled(EnabledStatistics::None)
            .set_offset_index_disabled(true)
            .set_data_page_size_limit(PAGE_BYTES)
            .set_dictionary_enabled(false);
        // Names repeat, numbers hardly do; power is measured, which does not compress.
        for column in rows {
            properties = match column.values {
                ColumnValues::Text(_) => properties.set_column_dictionary_enabled(column.name.into(), true),
                ColumnValues::Power(_) => {
                    properties.set_column_compression(column.name.into(), Compression::UNCOMPRESSED)
                }
                _ => properties,
            };
        }
        if let Some(out) = self.out.take() {
            self.writer = Some(SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties.build()))?);
        }
        self.columns = vec![Vec::new(); rows.len()];
        Ok(())
    }

    fn end_group(&mut self) -> io::Result<()> {
        let Some(writer) = self.writer.as_mut().filter(|_| self.rows > 0) else { return Ok(()) };
        self.rows = 0;
        let mut group = writer.next_row_group()?;
        for column in &mut self.columns {
            let Some(mut chunk) = group.next_column()? else { break };
            column.drain(..).try_for_each(|values| write(&values, &mut chunk))?;
            chunk.close()?;
        }
        group.close()?;
        Ok(())
    }
}

impl TableWriter for ParquetTable {
    fn write(&mut self, rows: &[TableColumn]) -> io::Result<()> {
        if self.writer.is_none() {
            self.start(rows)?;
        }
        let count = row_count(rows);
        let mut written = 0;
        while written < count {
            let end = count.min(written + GROUP_ROWS - self.rows);
            for (group, column) in self.columns.iter_mut().zip(rows) {
                group.push(part(&column.values, written..end));
            }
            self.rows += end - written;
            written = end;
            if self.rows == GROUP_ROWS {
                self.end_group()?;
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.end_group()?;
        let Some(writer) = self.writer else {
            return Err(io::Error::other("a table without columns can't be written as Parquet"));
        };
        writer.into_inner()?.commit()
    }
}

fn part(values: &ColumnValues, rows: Range<usize>) -> ColumnValues {
    match values {
        ColumnValues::Text(runs) => {
            let mut end = 0;
            let parts = runs.iter().map(|(text, count)| {
                let start = rows.start.max(end);
                end += count;
                (text.clone(), end.min(rows.end).saturating_sub(start))
            });
            ColumnValues::Text(parts.filter(|(_, count)| *count > 0).collect())
        }
        ColumnValues::Int32(values) => ColumnValues::Int32(values[rows].to_vec()),
        ColumnValues::Int64(values) => ColumnValues::Int64(values[rows].to_vec()),
        ColumnValues::Power(values) => ColumnValues::Power(values[rows].to_vec()),
        ColumnValues::Double(values) => ColumnValues::Double(values[rows].to_vec()),
    }
}

/// Writes values of a column of a row group.
fn write(values: &ColumnValues, chunk: &mut SerializedColumnWriter<'_>) -> io::Result<()> {
    match values {
        ColumnValues::Text(runs) => {
            let chunk = chunk.typed::<ByteArrayType>();
            for (text, count) in runs {
                let most = TEXT_ROWS.min(*count);
                let values = if text.is_empty() { 0 } else { most };
                let rows = vec![ByteArray::from(text.as_bytes().to_vec()); values];
                let levels = vec![i16::from(values > 0); most];
                for first in (0..*count).step_by(TEXT_ROWS) {
                    let batch = most.min(count - first);
                    chunk.write_batch(&rows[..batch.min(values)], Some(&levels[..batch]), None)?;
                }
            }
        }
        ColumnValues::Int32(values) => _ = chunk.typed::<Int32Type>().write_batch(values, None, None)?,
        ColumnValues::Int64(values) => _ = chunk.typed::<Int64Type>().write_batch(values, None, None)?,
        ColumnValues::Power(values) | ColumnValues::Double(values) => {
            chunk.typed::<DoubleType>().write_batch(values, None, None)?;
        }
    }
    Ok(())
}

fn field(column: &TableColumn) -> Result<Arc<Type>, ParquetError> {
    let (physical, is_text) = match column.values {
        ColumnValues::Text(_) => (PhysicalType::BYTE_ARRAY, true),
        ColumnValues::Int32(_) => (PhysicalType::INT32, false),
        ColumnValues::Int64(_) => (PhysicalType::INT64, false),
        ColumnValues::Power(_) | ColumnValues::Double(_) => (PhysicalType::DOUBLE, false),
    };
    let field = Type::primitive_type_builder(column.name, physical)
        .with_repetition(if is_text { Repetition::OPTIONAL } else { Repetition::REQUIRED })
        .with_converted_type(if is_text { ConvertedType::UTF8 } else { ConvertedType::NONE })
        .with_logical_type(is_text.then_some(LogicalType::String));
    Ok(Arc::new(field.build()?))
}
