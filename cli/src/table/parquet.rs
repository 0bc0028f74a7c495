//! Tables as Apache Parquet.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use firefly_app::files::AtomicFile;
use parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
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
    /// Values of each column of the current row group, and its rows.
    columns: Vec<ColumnValues>,
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
        self.columns = rows.iter().map(|column| empty(&column.values)).collect();
        Ok(())
    }

    fn end_group(&mut self) -> io::Result<()> {
        let Some(writer) = self.writer.as_mut().filter(|_| self.rows > 0) else { return Ok(()) };
        self.rows = 0;
        let mut group = writer.next_row_group()?;
        for column in &mut self.columns {
            let Some(mut chunk) = group.next_column()? else { break };
            write(column, &mut chunk)?;
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
                extend(group, &column.values, written..end);
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

/// A column without values, of the type of another.
fn empty(values: &ColumnValues) -> ColumnValues {
    match values {
        ColumnValues::Text(_) => ColumnValues::Text(Vec::new()),
        ColumnValues::Int32(_) => ColumnValues::Int32(Vec::new()),
        ColumnValues::Int64(_) => ColumnValues::Int64(Vec::new()),
        ColumnValues::Power(_) => ColumnValues::Power(Vec::new()),
        ColumnValues::Double(_) => ColumnValues::Double(Vec::new()),
    }
}

/// Adds the values of rows to a column of a row group.
fn extend(group: &mut ColumnValues, values: &ColumnValues, rows: Range<usize>) {
    match (group, values) {
        (ColumnValues::Text(group), ColumnValues::Text(runs)) => {
            let mut end = 0;
            for (text, count) in runs {
                let start = end.max(rows.start);
                end += count;
                let taken = end.min(rows.end).saturating_sub(start);
                match group.last_mut().filter(|(last, _)| last == text) {
                    Some((_, count)) => *count += taken,
                    None if taken > 0 => group.push((text.clone(), taken)),
                    None => {}
                }
            }
        }
        (ColumnValues::Int32(group), ColumnValues::Int32(values)) => group.extend_from_slice(&values[rows]),
        (ColumnValues::Int64(group), ColumnValues::Int64(values)) => group.extend_from_slice(&values[rows]),
        (ColumnValues::Power(group), ColumnValues::Power(values)) => group.extend_from_slice(&values[rows]),
        (ColumnValues::Double(group), ColumnValues::Double(values)) => group.extend_from_slice(&values[rows]),
        _ => unreachable!("a column keeps its type"),
    }
}

/// Writes the values of a column of a row group, and empties it.
fn write(column: &mut ColumnValues, chunk: &mut SerializedColumnWriter<'_>) -> io::Result<()> {
    match column {
        ColumnValues::Text(runs) => {
            let chunk = chunk.typed::<ByteArrayType>();
            for (text, count) in runs.drain(..) {
                let most = count.min(TEXT_ROWS);
                let values = if text.is_empty() { 0 } else { most };
                let rows = vec![ByteArray::from(text.as_bytes().to_vec()); values];
                let levels = vec![i16::from(values > 0); most];
                for first in (0..count).step_by(TEXT_ROWS) {
                    let batch = most.min(count - first);
                    chunk.write_batch(&rows[..batch.min(values)], Some(&levels[..batch]), None)?;
                }
            }
            Ok(())
        }
        ColumnValues::Int32(values) => write_numbers::<Int32Type>(values, chunk),
        ColumnValues::Int64(values) => write_numbers::<Int64Type>(values, chunk),
        ColumnValues::Power(values) | ColumnValues::Double(values) => write_numbers::<DoubleType>(values, chunk),
    }
}

fn write_numbers<T: DataType>(values: &mut Vec<T::T>, chunk: &mut SerializedColumnWriter<'_>) -> io::Result<()> {
    chunk.typed::<T>().write_batch(values, None, None)?;
    values.clear();
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
