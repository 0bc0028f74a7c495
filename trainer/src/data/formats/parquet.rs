//! Apache Parquet files, with a row per sample and a column per channel.

use std::collections::VecDeque;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use firefly_app::guard::guarded;
use parquet::basic::Type as PhysicalType;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};

use super::reader::{RecordingLayout, SampleReader, TIMES};
use crate::data::error::RecordingProblem;
use crate::data::format::Format;

/// Values that are decoded at once.
const BLOCK: usize = 1 << 14;

/// Table whose columns of floats and integers are channels. Columns of other types and of times are left out; a null is
/// NaN.
pub(super) struct ParquetReader {
    columns: Vec<ParquetColumn>,
    layout: RecordingLayout,
}

/// A column, read block by block.
struct ParquetColumn {
    file: Arc<SerializedFileReader<File>>,
    column: usize,
    next_row_group: usize,
    reader: Option<ColumnReader>,
    values: VecDeque<f32>,
}

impl ParquetReader {
    pub(super) fn open(path: &Path) -> Result<Self, RecordingProblem> {
        let file = File::open(path)?;
        let file = Arc::new(parsed(|| SerializedFileReader::new(file))?);
        let metadata = file.metadata().file_metadata();
        let (mut columns, mut titles) = (Vec::new(), Vec::new());
        for (index, column) in metadata.schema_descr().columns().iter().enumerate() {
            let is_number = matches!(
                column.physical_type(),
                PhysicalType::INT32 | PhysicalType::INT64 | PhysicalType::FLOAT | PhysicalType::DOUBLE
            );
            let name = column.path().string();
            let is_flat = column.max_rep_level() == 0 && column.max_def_level() <= 1;
            if is_number && is_flat && !TIMES.contains(&name.to_ascii_lowercase().as_str()) {
                titles.push(name);
                columns.push(ParquetColumn {
                    file: file.clone(),
                    column: index,
                    next_row_group: 0,
                    reader: None,
                    values: VecDeque::new(),
                });
            }
        }
        if columns.is_empty() {
            return Err(Format::Parquet.problem("it has no column of numbers"));
        }
        let Some(rows) = u64::try_from(metadata.num_rows()).ok().filter(|rows| *rows > 0) else {
            return Err(RecordingProblem::NoSamples);
        };
        let layout = RecordingLayout { channels: columns.len(), rate: None, length: Some(rows), titles };
        Ok(Self { columns, layout })
    }
}

impl SampleReader for ParquetReader {
    fn layout(&self) -> &RecordingLayout {
        &self.layout
    }

    fn read(&mut self, block: &mut Vec<f32>, count: usize) -> Result<usize, RecordingProblem> {
        for column in &mut self.columns {
            while column.values.len() < count && parsed(|| column.decode())? {}
        }
        let channels = self.columns.len();
        let held = || self.columns.iter().map(|column| column.values.len());
        let read = held().min().unwrap_or(0).min(count);
        if read < count && held().any(|values| values > read) {
            return Err(Format::Parquet.problem("its columns have different lengths"));
        }
        let first = block.len();
        block.resize(first + read * channels, 0.0);
        for (index, column) in self.columns.iter_mut().enumerate() {
            let samples = block[first..].iter_mut().skip(index).step_by(channels);
            samples.zip(column.values.drain(..read)).for_each(|(sample, value)| *sample = value);
        }
        Ok(read)
    }
}

impl ParquetColumn {
    /// Appends the next values; `false` after the last.
    fn decode(&mut self) -> Result<bool, ParquetError> {
        loop {
            let Some(reader) = &mut self.reader else {
                if self.next_row_group == self.file.num_row_groups() {
                    return Ok(false);
                }
                let group = self.file.get_row_group(self.next_row_group)?;
                self.reader = Some(group.get_column_reader(self.column)?);
                self.next_row_group += 1;
                continue;
            };
            let values = &mut self.values;
            let decoded = match reader {
                ColumnReader::Int32ColumnReader(reader) => append(reader, |value| value as f32, values)?,
                ColumnReader::Int64ColumnReader(reader) => append(reader, |value| value as f32, values)?,
                ColumnReader::FloatColumnReader(reader) => append(reader, |value| value, values)?,
                ColumnReader::DoubleColumnReader(reader) => append(reader, |value| value as f32, values)?,
                _ => return Err(ParquetError::General("a column of numbers has another type in a row group".into())),
            };
            if decoded > 0 {
                return Ok(true);
            }
            self.reader = None;
        }
    }
}

/// Appends the next values of a row group and returns their number. A value that is not there is NaN.
fn append<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    number: impl Fn(T::T) -> f32,
    values: &mut VecDeque<f32>,
) -> Result<usize, ParquetError> {
    let (mut present, mut levels) = (Vec::new(), Vec::new());
    let (records, ..) = reader.read_records(BLOCK, Some(&mut levels), None, &mut present)?;
    let mut present = present.into_iter().map(number);
    // A column without nulls has no levels.
    if levels.is_empty() {
        values.extend(present);
    } else {
        values.extend(levels.iter().map(|level| if *level > 0 { present.next() } else { None }.unwrap_or(f32::NAN)));
    }
    Ok(records)
}

/// The result of a call of the parser, which panics at some damaged files and returns errors for others.
fn parsed<R>(call: impl FnOnce() -> Result<R, ParquetError>) -> Result<R, RecordingProblem> {
    let problem = match guarded(call) {
        Ok(Ok(result)) => return Ok(result),
        Ok(Err(error)) => error.to_string(),
        Err(panic) => panic,
    };
    Err(Format::Parquet.problem(problem))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::read_recording;
    use parquet::column::writer::ColumnWriter;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    /// 16 rows of a column that is encoded with a dictionary.
    fn file() -> Vec<u8> {
        let schema = Arc::new(parse_message_type("message rows { REQUIRED FLOAT x; }").unwrap());
        let mut file = Vec::new();
        let mut writer = SerializedFileWriter::new(&mut file, schema, Arc::default()).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let ColumnWriter::FloatColumnWriter(values) = column.untyped() else { panic!("the column is of floats") };
        values.write_batch(&[0.5, 0.25].repeat(8), None, None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        writer.close().unwrap();
        file
    }

    #[test]
    fn damaged_files_are_read_or_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.parquet");
        let valid = file();
        let mut refused = 0;
        for at in 0..valid.len() {
            for byte in [0, 0xff, valid[at] ^ 2] {
                let mut damaged = valid.clone();
                damaged[at] = byte;
                std::fs::write(&path, damaged).unwrap();
                refused += usize::from(read_recording(&path).is_err());
            }
        }
        assert!(refused > valid.len(), "{refused} of {} files", 3 * valid.len());
    }
}
