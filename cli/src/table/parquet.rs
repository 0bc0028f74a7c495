//! Tables as Apache Parquet.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use firefly_app::files::AtomicFile;
use parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, Type as PhysicalType};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use super::{ColumnValues, TableColumn, TableWriter};

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
    columns: Vec<GroupColumn>,
    rows: usize,
}

/// Values of a column of a row group.
enum GroupColumn {
    /// Texts, each with the number of rows that have it.
    Text(Vec<(Arc<str>, usize)>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Power(Vec<f64>),
    Double(Vec<f64>),
}

impl ParquetTable {
    pub(super) fn new(file: AtomicFile) -> Self {
        Self { out: Some(file), writer: None, columns: Vec::new(), rows: 0 }
    }

    fn start(&mut self, rows: &[TableColumn]) -> Result<(), ParquetError> {
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
        self.columns = rows.iter().map(|column| GroupColumn::of(&column.values)).collect();
        Ok(())
    }

    fn end_group(&mut self) -> Result<(), ParquetError> {
        let Some(writer) = self.writer.as_mut().filter(|_| self.rows > 0) else { return Ok(()) };
        self.rows = 0;
        let mut group = writer.next_row_group()?;
        for column in &mut self.columns {
            let Some(mut chunk) = group.next_column()? else { break };
            column.write(chunk.untyped())?;
            chunk.close()?;
        }
        group.close()?;
        Ok(())
    }
}

impl TableWriter for ParquetTable {
    fn write(&mut self, rows: &[TableColumn]) -> io::Result<()> {
        if self.writer.is_none() {
            self.start(rows).map_err(failed)?;
        }
        let count = rows.first().map_or(0, |column| column.values.len());
        let mut written = 0;
        while written < count {
            let end = count.min(written + GROUP_ROWS - self.rows);
            for (group, column) in self.columns.iter_mut().zip(rows) {
                group.extend(&column.values, written..end);
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
        let Some(writer) = self.writer else {
            return Err(io::Error::other("a table without columns can't be written as Parquet"));
        };
        writer.into_inner().map_err(failed)?.commit()
    }
}

impl GroupColumn {
    fn of(values: &ColumnValues) -> Self {
        match values {
            ColumnValues::Text(_) => Self::Text(Vec::new()),
            ColumnValues::Int32(_) => Self::Int32(Vec::new()),
            ColumnValues::Int64(_) => Self::Int64(Vec::new()),
            ColumnValues::Power(_) => Self::Power(Vec::new()),
            ColumnValues::Double(_) => Self::Double(Vec::new()),
        }
    }

    fn extend(&mut self, values: &ColumnValues, rows: Range<usize>) {
        match (self, values) {
            (Self::Text(group), ColumnValues::Text(runs)) => {
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
            (Self::Int32(group), ColumnValues::Int32(values)) => group.extend_from_slice(&values[rows]),
            (Self::Int64(group), ColumnValues::Int64(values)) => group.extend_from_slice(&values[rows]),
            (Self::Power(group), ColumnValues::Power(values)) => group.extend_from_slice(&values[rows]),
            (Self::Double(group), ColumnValues::Double(values)) => group.extend_from_slice(&values[rows]),
            _ => unreachable!("a column keeps its type"),
        }
    }

    /// Writes the values and empties the column.
    fn write(&mut self, chunk: &mut ColumnWriter<'_>) -> Result<(), ParquetError> {
        match (self, chunk) {
            (Self::Text(runs), ColumnWriter::ByteArrayColumnWriter(chunk)) => {
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
            }
            (Self::Int32(values), ColumnWriter::Int32ColumnWriter(chunk)) => {
                chunk.write_batch(values, None, None)?;
                values.clear();
            }
            (Self::Int64(values), ColumnWriter::Int64ColumnWriter(chunk)) => {
                chunk.write_batch(values, None, None)?;
                values.clear();
            }
            (Self::Power(values), ColumnWriter::DoubleColumnWriter(chunk)) => {
                chunk.write_batch(values, None, None)?;
                values.clear();
            }
            (Self::Double(values), ColumnWriter::DoubleColumnWriter(chunk)) => {
                chunk.write_batch(values, None, None)?;
                values.clear();
            }
            _ => unreachable!("the schema has the columns' types"),
        }
        Ok(())
    }
}

fn field(column: &TableColumn) -> Result<Arc<Type>, ParquetError> {
    let (physical, converted, logical) = match column.values {
        ColumnValues::Text(_) => (PhysicalType::BYTE_ARRAY, ConvertedType::UTF8, Some(LogicalType::String)),
        ColumnValues::Int32(_) => (PhysicalType::INT32, ConvertedType::NONE, None),
        ColumnValues::Int64(_) => (PhysicalType::INT64, ConvertedType::NONE, None),
        ColumnValues::Power(_) => (PhysicalType::DOUBLE, ConvertedType::NONE, None),
        ColumnValues::Double(_) => (PhysicalType::DOUBLE, ConvertedType::NONE, None),
    };
    let field = Type::primitive_type_builder(column.name, physical)
        .with_repetition(match column.values {
            ColumnValues::Text(_) => Repetition::OPTIONAL,
            _ => Repetition::REQUIRED,
        })
        .with_converted_type(converted)
        .with_logical_type(logical)
        .build()?;
    Ok(Arc::new(field))
}

fn failed(error: ParquetError) -> io::Error {
    io::Error::other(error)
}
