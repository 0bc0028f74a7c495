//! Tables in Apache Parquet and Arrow files (Feather version 2), with a row per sample and a column per channel.

use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Decimal32Type, Decimal64Type, Decimal128Type, Float16Type, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{ArrowError, DataType, Schema, TimeUnit};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::raw::{SampleValue, decoded_reads, read_full};
use super::table::TableColumns;
use super::times::Times;
use super::{Format, ReadOptions, RecordingLayout, SampleReader};
use crate::error::{RecordingProblem, Result};

/// Rows that are decoded at once.
const BATCH: usize = 1 << 14;
/// Rows that decide which columns are times.
const FIRST_ROWS: usize = 1024;
/// Name that pandas gives an index without one.
const INDEX: &str = "__index_level_";
/// First bytes of an Arrow file; a stream has others.
const ARROW_MAGIC: &[u8; 6] = b"ARROW1";
/// First bytes of a file of Feather version 1.
const FEATHER_1: &[u8; 4] = b"FEA1";

type Batches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>;

/// Table whose columns of numbers are channels, by their logical types. Times, dates, flags, texts and pandas' index are
/// left out; a null is NaN.
pub(super) struct TableReader {
    format: Format,
    batches: Batches,
    batch: Option<RecordBatch>,
    /// Rows of the batch that were read.
    used: usize,
    /// Columns of a batch that are channels.
    columns: Vec<usize>,
    pub(super) times: Option<Times>,
    layout: RecordingLayout,
}

impl TableReader {
    pub(super) fn open(path: &Path, format: Format, options: &ReadOptions) -> Result<Self> {
        let mut magic = [0; FEATHER_1.len()];
        read_full(&mut File::open(path)?, &mut magic)?;
        if &magic == FEATHER_1 {
            let reason =
                "it is Feather of version 1, which is not read: pyarrow.feather.write_feather writes version 2";
            return Err(format.problem(reason));
        }
        let mut layout = RecordingLayout::default();
        let (schema, batches) = parsed(format, || match format {
            Format::Parquet => of_parquet(path, None, &mut layout),
            _ => of_arrow(path, &mut layout),
        })?;
        if layout.length == Some(0) {
            return Err(RecordingProblem::NoSamples);
        }
        let mut reader = Self { format, batches, batch: None, used: 0, columns: Vec::new(), times: None, layout };
        if !reader.next_batch()? {
            return Err(RecordingProblem::NoSamples);
        }
        reader.choose_columns(path, &schema, options)?;
        Ok(reader)
    }

    /// Decides from the schema and the first rows what the columns are.
    fn choose_columns(&mut self, path: &Path, schema: &Schema, options: &ReadOptions) -> Result<()> {
        let Some(batch) = self.batch.as_ref() else { return Ok(()) };
        let first = batch.slice(0, batch.num_rows().min(FIRST_ROWS));
        let titles: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
        let types = || schema.fields().iter().map(|field| field.data_type());
        let numeric: Vec<usize> =
            types().enumerate().filter(|(_, kind)| is_number(kind)).map(|(place, _)| place).collect();
        let index: Vec<usize> = pandas_index(schema).into_iter().filter(|place| numeric.contains(place)).collect();
        self.layout.left_out("pandas' index is", index.iter().map(|place| &titles[*place]));
        let table = TableColumns {
            format: self.format,
            titles: &titles,
            units: &[],
            given_unit: options.units,
            numeric: &numeric,
            left_out: &index,
        };
        if numeric.is_empty() {
            return Err(self.format.problem("it has no column of numbers"));
        }
        let values = |column: usize| {
            let mut values = vec![0.0; first.num_rows()];
            fill(first.column(column).as_ref(), values.iter_mut());
            values
        };
        let (channels, times) = table.axis(values, options, &mut self.layout)?;
        self.times = times;
        let mut timed = types().enumerate().filter_map(|(place, kind)| Some((place, seconds_of(kind)?)));
        if let Some((column, unit)) = timed.next() {
            if self.layout.rate.is_none() && options.rate.is_none() && !options.ignores_times {
                let (base, values) = times_of(first.column(column).as_ref(), None);
                let times = Times::of(column, &titles[column], &values, unit);
                let mut times = times.map_err(|reason| self.format.problem(reason))?;
                times.base = base;
                self.layout.rate = times.rate();
                self.times = Some(times);
            } else {
                self.layout.remark(format!("column `{}` holds times and is left out", titles[column]));
            }
        }
        self.layout.left_out("further columns of times are", timed.map(|(place, _)| &titles[place]));
        if let Some(times) = &mut self.times {
            if self.format == Format::Parquet {
                self.layout.length = Some(length_by_times(path, times.clone())?);
            }
            check_rows(times, batch).map_err(|reason| self.format.problem(reason))?;
        }
        let is_wide = |column: &usize| {
            let kind = kind_of_values(schema.field(*column).data_type());
            *kind != DataType::Float32 && kind.primitive_width().is_none_or(|bytes| bytes > 2)
        };
        self.layout.is_wide = channels.iter().any(is_wide);
        self.layout.channels = channels.len();
        self.layout.titles = channels.iter().map(|column| titles[*column].clone()).collect();
        self.columns = channels;
        Ok(())
    }

    /// Decodes the next batch with rows; `false` at the end.
    fn next_batch(&mut self) -> Result<bool> {
        self.used = 0;
        loop {
            self.batch = parsed(self.format, || self.batches.next().transpose())?;
            match &self.batch {
                None => {
                    let note = self.times.as_mut().and_then(Times::note);
                    note.into_iter().for_each(|note| self.layout.remark(note));
                    return Ok(false);
                }
                Some(batch) if batch.num_rows() == 0 => {}
                Some(batch) => {
                    let checked = self.times.as_mut().map_or(Ok(()), |times| check_rows(times, batch));
                    return checked.map(|()| true).map_err(|reason| self.format.problem(reason));
                }
            }
        }
    }

    fn read_as<T: SampleValue>(&mut self, block: &mut Vec<T>, count: usize) -> Result<usize> {
        let channels = self.columns.len();
        let mut read = 0;
        while read < count {
            let rows = self.batch.as_ref().map_or(0, RecordBatch::num_rows);
            if self.used == rows && !self.next_batch()? {
                break;
            }
            let Some(batch) = &self.batch else { break };
            let taken = (batch.num_rows() - self.used).min(count - read);
            let first = block.len();
            block.resize(first + taken * channels, T::default());
            for (place, column) in self.columns.iter().enumerate() {
                let values = batch.column(*column).slice(self.used, taken);
                fill(values.as_ref(), block[first..].iter_mut().skip(place).step_by(channels));
            }
            self.used += taken;
            read += taken;
        }
        Ok(read)
    }
}

impl SampleReader for TableReader {
    decoded_reads!();
}

/// Adds the times of the rows of a batch.
fn check_rows(times: &mut Times, batch: &RecordBatch) -> Result<(), String> {
    let column = batch.column(times.column);
    let values = if is_number(column.data_type()) {
        let mut values = vec![0.0; column.len()];
        fill(column.as_ref(), values.iter_mut());
        values
    } else {
        times_of(column.as_ref(), Some(times.base)).1
    };
    values.into_iter().try_for_each(|value| times.push(value))
}

/// Rows of a Parquet file, those that are missing by its times among them.
fn length_by_times(path: &Path, mut times: Times) -> Result<u64> {
    let format = Format::Parquet;
    let column = times.column;
    let (_, mut batches) = parsed(format, || of_parquet(path, Some(column), &mut RecordingLayout::default()))?;
    times.column = 0;
    while let Some(batch) = parsed(format, || batches.next().transpose())? {
        check_rows(&mut times, &batch).map_err(|reason| format.problem(reason))?;
    }
    Ok(times.rows)
}

/// Schema and batches of the columns of numbers and times of a Parquet file, or of one; its rows go to the layout.
fn of_parquet(path: &Path, only: Option<usize>, layout: &mut RecordingLayout) -> Result<(Schema, Batches), ArrowError> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path)?)?;
    let schema = builder.schema().clone();
    layout.length = Some(u64::try_from(builder.metadata().file_metadata().num_rows()).unwrap_or(0));
    let columns = columns_that_count(&schema, layout);
    let columns = only.map_or_else(|| columns.clone(), |place| vec![columns[place]]);
    let mask = ProjectionMask::roots(builder.parquet_schema(), columns.iter().copied());
    let batches = builder.with_projection(mask).with_batch_size(BATCH).build()?;
    Ok((schema.project(&columns)?, Box::new(batches)))
}

/// Schema and batches of the columns of numbers and times of an Arrow file or stream.
fn of_arrow(path: &Path, layout: &mut RecordingLayout) -> Result<(Schema, Batches), ArrowError> {
    let mut file = BufReader::new(File::open(path)?);
    let mut magic = [0; 6];
    let is_file = file.read_exact(&mut magic).is_ok() && &magic == ARROW_MAGIC;
    file.rewind()?;
    if is_file {
        let schema = arrow_ipc::reader::FileReader::try_new(&mut file, None)?.schema();
        let columns = columns_that_count(&schema, layout);
        let reader = arrow_ipc::reader::FileReader::try_new(file, Some(columns.clone()))?;
        return Ok((schema.project(&columns)?, Box::new(reader)));
    }
    let schema = arrow_ipc::reader::StreamReader::try_new(&mut file, None)?.schema();
    let columns = columns_that_count(&schema, layout);
    file.rewind()?;
    let reader = arrow_ipc::reader::StreamReader::try_new(file, Some(columns.clone()))?;
    Ok((schema.project(&columns)?, Box::new(reader)))
}

/// Columns of numbers and times; the others are noted.
fn columns_that_count(schema: &Schema, layout: &mut RecordingLayout) -> Vec<usize> {
    let counts = |place: &usize| {
        let kind = schema.field(*place).data_type();
        is_number(kind) || seconds_of(kind).is_some()
    };
    let (kept, others): (Vec<usize>, Vec<usize>) = (0..schema.fields().len()).partition(counts);
    let name = |place: &usize| format!("`{}` ({})", schema.field(*place).name(), schema.field(*place).data_type());
    layout.left_out("columns that are no numbers are", others.iter().map(name));
    kept
}

/// Columns that pandas saved an index in.
fn pandas_index(schema: &Schema) -> Vec<usize> {
    let metadata =
        schema.metadata().get("pandas").and_then(|text| serde_json::from_str::<serde_json::Value>(text).ok());
    let listed = metadata.as_ref().and_then(|metadata| metadata.get("index_columns")?.as_array());
    let is_index = |name: &String| {
        let is_listed = listed.is_some_and(|names| names.iter().any(|listed| listed.as_str() == Some(name)));
        is_listed || name.starts_with(INDEX)
    };
    let fields = schema.fields().iter().enumerate();
    fields.filter(|(_, field)| is_index(field.name())).map(|(place, _)| place).collect()
}

fn is_number(kind: &DataType) -> bool {
    let kind = kind_of_values(kind);
    kind.is_numeric() && !matches!(kind, DataType::Decimal256(..))
}

/// Type of the values of a column, which may be encoded with a dictionary.
fn kind_of_values(kind: &DataType) -> &DataType {
    if let DataType::Dictionary(_, values) = kind { values } else { kind }
}

/// Seconds of the unit of a type of times.
fn seconds_of(kind: &DataType) -> Option<f64> {
    Some(match kind {
        DataType::Timestamp(unit, _) | DataType::Time32(unit) | DataType::Time64(unit) | DataType::Duration(unit) => {
            match unit {
                TimeUnit::Second => 1.0,
                TimeUnit::Millisecond => 1e-3,
                TimeUnit::Microsecond => 1e-6,
                TimeUnit::Nanosecond => 1e-9,
            }
        }
        DataType::Date32 => 86_400.0,
        DataType::Date64 => 1e-3,
        _ => return None,
    })
}

/// Writes a column of numbers to samples.
fn fill<'a, T: SampleValue + 'a>(column: &dyn Array, out: impl Iterator<Item = &'a mut T>) {
    match column.data_type() {
        DataType::Int8 => each::<Int8Type, T>(column, exact, out),
        DataType::Int16 => each::<Int16Type, T>(column, exact, out),
        DataType::Int32 => each::<Int32Type, T>(column, exact, out),
        DataType::Int64 => each::<Int64Type, T>(column, T::of_i64, out),
        DataType::UInt8 => each::<UInt8Type, T>(column, exact, out),
        DataType::UInt16 => each::<UInt16Type, T>(column, exact, out),
        DataType::UInt32 => each::<UInt32Type, T>(column, exact, out),
        DataType::UInt64 => each::<UInt64Type, T>(column, T::of_u64, out),
        DataType::Float16 => each::<Float16Type, T>(column, exact, out),
        DataType::Float32 => each::<Float32Type, T>(column, exact, out),
        DataType::Float64 => each::<Float64Type, T>(column, T::of_f64, out),
        DataType::Decimal32(_, scale) => {
            each::<Decimal32Type, T>(column, |value| decimal(f64::from(value), *scale), out);
        }
        DataType::Decimal64(_, scale) => each::<Decimal64Type, T>(column, |value| decimal(value as f64, *scale), out),
        DataType::Decimal128(_, scale) => {
            each::<Decimal128Type, T>(column, |value| decimal(value as f64, *scale), out);
        }
        DataType::Dictionary(..) => {
            let (column, missing) = (column.as_any_dictionary(), T::of_f64(f64::NAN));
            let mut values = vec![missing; column.values().len()];
            fill(column.values().as_ref(), values.iter_mut());
            let keys = if values.is_empty() { Vec::new() } else { column.normalized_keys() };
            for (row, sample) in out.take(column.len()).enumerate() {
                let key = keys.get(row).filter(|_| column.is_valid(row));
                *sample = key.map_or(missing, |key| values[*key]);
            }
        }
        _ => {}
    }
}

/// A number that f64 holds.
fn exact<T: SampleValue>(value: impl Into<f64>) -> T {
    T::of_f64(value.into())
}

/// The number of a decimal of this scale.
fn decimal<T: SampleValue>(value: f64, scale: i8) -> T {
    let power = 10f64.powi(i32::from(scale).abs());
    T::of_f64(if scale < 0 { value * power } else { value / power })
}

/// Writes the values of a column as numbers; a null is NaN.
fn each<'a, A: ArrowPrimitiveType, T: SampleValue + 'a>(
    column: &dyn Array,
    number: impl Fn(A::Native) -> T,
    out: impl Iterator<Item = &'a mut T>,
) {
    let values = column.as_primitive::<A>();
    if values.null_count() == 0 {
        out.zip(values.values()).for_each(|(sample, value)| *sample = number(*value));
    } else {
        let missing = T::of_f64(f64::NAN);
        out.zip(values).for_each(|(sample, value)| *sample = value.map_or(missing, &number));
    }
}

/// The base of a column of times, the first of them unless given, and the times relative to it.
fn times_of(column: &dyn Array, base: Option<i64>) -> (i64, Vec<f64>) {
    let data = column.to_data();
    // Times are integers of 32 or 64 bits.
    let numbers: Vec<i64> = match column.data_type().primitive_width() {
        Some(4) => data.buffer::<i32>(0).iter().copied().map(i64::from).collect(),
        _ => data.buffer::<i64>(0).to_vec(),
    };
    let values = || (0..data.len()).map(|row| data.is_valid(row).then(|| numbers[row]));
    let base = base.or_else(|| values().flatten().next()).unwrap_or(0);
    let relative = |value: Option<i64>| value.map_or(f64::NAN, |value| value.wrapping_sub(base) as f64);
    (base, values().map(relative).collect())
}

/// The result of a call of the parser, which panics at some damaged files and returns errors for others.
fn parsed<R>(format: Format, call: impl FnOnce() -> Result<R, ArrowError>) -> Result<R> {
    let problem = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(result)) => return Ok(result),
        Ok(Err(error)) => error.to_string(),
        Err(panic) => match (panic.downcast_ref::<String>(), panic.downcast_ref::<&str>()) {
            (Some(message), _) => message.clone(),
            (_, Some(message)) => (*message).to_owned(),
            _ => "its parser panicked".to_owned(),
        },
    };
    Err(format.problem(problem))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::path::PathBuf;
    use std::sync::Arc;

    use super::*;
    use crate::read_recording;
    use arrow_array::{
        ArrayRef, Date32Array, Decimal128Array, DictionaryArray, DurationNanosecondArray, Float16Array, Float32Array,
        Float64Array, Int8Array, Int16Array, Int64Array, StringArray, Time64NanosecondArray, TimestampNanosecondArray,
        UInt32Array,
    };
    use arrow_ipc::writer::FileWriter;
    use parquet::arrow::ArrowWriter;
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

    /// Writes a table as Parquet and as Arrow files, and returns their paths.
    fn written(folder: &Path, columns: Vec<(&str, ArrayRef)>, metadata: Option<&str>) -> [PathBuf; 2] {
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let metadata: HashMap<String, String> =
            metadata.map(|text| ("pandas".to_owned(), text.to_owned())).into_iter().collect();
        let schema = Arc::new(batch.schema().as_ref().clone().with_metadata(metadata));
        let batch = batch.with_schema(schema.clone()).unwrap();
        let paths = ["x.parquet", "x.feather"].map(|name| folder.join(name));
        let mut writer = ArrowWriter::try_new(File::create(&paths[0]).unwrap(), schema.clone(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        let mut writer = FileWriter::try_new(File::create(&paths[1]).unwrap(), &schema).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        paths
    }

    /// Samples, layout and notes of a file.
    fn read(path: &Path, options: &ReadOptions) -> Result<(Vec<f64>, RecordingLayout)> {
        let mut reader = crate::open_with(path, options)?;
        let mut block = Vec::new();
        while reader.read_wide(&mut block, 7)? > 0 {}
        Ok((block, reader.layout().clone()))
    }

    #[test]
    fn columns_are_read_by_their_logical_types() {
        let folder = tempfile::tempdir().unwrap();
        let ramp = |step: i64| -> Vec<i64> { (0..40).map(|row| 1_577_836_800_000_000_000 + row * step).collect() };
        let x: ArrayRef = Arc::new(Float64Array::from_iter_values((0..40).map(|row| f64::from(row * row))));
        let expected: Vec<f64> = (0..40).map(|row| f64::from(row * row)).collect();
        let times: [ArrayRef; 3] = [
            Arc::new(TimestampNanosecondArray::from(ramp(10_000_000))),
            Arc::new(DurationNanosecondArray::from(ramp(10_000_000))),
            Arc::new(Time64NanosecondArray::from((0..40).map(|row| row * 10_000_000).collect::<Vec<_>>())),
        ];
        for time in times {
            for path in written(folder.path(), vec![("when", time.clone()), ("x", x.clone())], None) {
                let (samples, layout) = read(&path, &ReadOptions::default()).unwrap();
                assert_eq!((samples, &layout.titles[..]), (expected.clone(), &["x".to_owned()][..]));
                assert!((layout.rate.unwrap() - 100.0).abs() < 1e-9, "{:?}", layout.rate);
            }
        }
        let time: ArrayRef = Arc::new(TimestampNanosecondArray::from(ramp(10_000_000)));
        let columns = vec![("when", time.clone()), ("then", time), ("x", x.clone())];
        for path in written(folder.path(), columns, None) {
            let notes = read(&path, &ReadOptions::default()).unwrap().1.notes;
            assert_eq!(notes[0].to_string(), "further columns of times are left out: then");
        }
        let dates: ArrayRef = Arc::new(Date32Array::from_iter_values([0, 1, 5, 6]));
        let y: ArrayRef = Arc::new(UInt32Array::from_iter_values([4_000_000_000, 1, 2, 3]));
        let h: ArrayRef = Arc::new(Float16Array::from_iter([Some(half::f16::from_f32(0.5)), None, None, None]));
        let cents = Decimal128Array::from_iter_values([125, -250, 0, 1]).with_precision_and_scale(9, 2).unwrap();
        let text: ArrayRef = Arc::new(StringArray::from(vec!["a", "b", "c", "d"]));
        let columns = vec![("day", dates), ("y", y), ("h", h), ("cents", Arc::new(cents) as ArrayRef), ("name", text)];
        for path in written(folder.path(), columns, None) {
            let (samples, layout) = read(&path, &ReadOptions::default()).unwrap();
            assert_eq!((samples.len(), samples[..6].iter().filter(|value| value.is_nan()).count()), (7 * 3, 1));
            assert!(samples[6..15].iter().all(|value| value.is_nan()) && samples[15] == 2.0, "{samples:?}");
            // That of Parquet is in the file.
            assert!(layout.length.is_none_or(|length| length == 7), "{layout:?}");
            assert!(layout.notes.iter().any(|note| note.to_string().contains("gaps of 3 rows")), "{:?}", layout.notes);
            let (samples, layout) = read(&path, &ReadOptions { rate: Some(5.0), ..ReadOptions::default() }).unwrap();
            assert_eq!(samples[..3], [4e9, 0.5, 1.25]);
            assert_eq!((samples[3], samples[4].is_nan(), samples[5]), (1.0, true, -2.5));
            let notes: Vec<String> = layout.notes.iter().map(ToString::to_string).collect();
            assert!(notes.iter().any(|note| note.contains("`name` (Utf8)")), "{notes:?}");
            assert!(notes.iter().any(|note| note.contains("`day` holds times")), "{notes:?}");
        }
        // Numbers that are encoded with a dictionary, of which one is null, or with an empty one.
        let keys = || Int8Array::from(vec![Some(1), None, Some(0), Some(2)]);
        let levels = DictionaryArray::new(keys(), Arc::new(Float64Array::from(vec![Some(0.25), Some(-7.5), None])));
        let narrow = DictionaryArray::new(keys(), Arc::new(Int16Array::from(vec![5, 6, 7])));
        let empty = DictionaryArray::new(Int8Array::new_null(4), Arc::new(Int16Array::from(Vec::<i16>::new())));
        let columns: [ArrayRef; 3] = [Arc::new(levels), Arc::new(narrow), Arc::new(empty)];
        for path in written(folder.path(), ["levels", "narrow", "empty"].into_iter().zip(columns).collect(), None) {
            let (samples, layout) = read(&path, &ReadOptions::default()).unwrap();
            assert_eq!(
                (layout.titles, samples[0], samples[1]),
                (vec!["levels".into(), "narrow".into(), "empty".into()], -7.5, 6.0)
            );
            assert!([2, 3, 4, 5, 8, 9, 11].iter().all(|at| samples[*at].is_nan()), "{samples:?}");
            assert_eq!((samples[6], samples[7], samples[10]), (0.25, 5.0, 7.0));
        }
        // Another meaning of a title of times, and an index that pandas saved.
        let other: ArrayRef = Arc::new(Float32Array::from_iter_values((0..40).map(|row| (row % 5) as f32)));
        let index: ArrayRef = Arc::new(Int64Array::from_iter_values(100..140));
        let columns = vec![("t", other), ("id", index), ("x", x)];
        for path in written(folder.path(), columns, Some("{\"index_columns\": [\"id\"]}")) {
            let (samples, layout) = read(&path, &ReadOptions::default()).unwrap();
            assert_eq!((layout.titles, samples[2..4].to_vec()), (vec!["t".to_owned(), "x".into()], vec![1.0, 1.0]));
        }
    }

    #[test]
    fn gaps_behind_the_first_batch_are_in_the_length_and_backward_times_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let table = |jump: i64| {
            let times =
                (0..40_000).map(|row| 1_577_836_800_000_000_000 + 1_000_000 * (row + jump * i64::from(row >= 30_000)));
            let time: ArrayRef = Arc::new(TimestampNanosecondArray::from_iter_values(times));
            let x: ArrayRef = Arc::new(Float32Array::from_iter_values((0..40_000).map(|row| row as f32)));
            written(folder.path(), vec![("when", time), ("x", x)], None)
        };
        for path in table(500) {
            assert!(crate::open(&path).unwrap().layout().length.is_none_or(|length| length == 40_500));
            let (samples, layout) = read(&path, &ReadOptions::default()).unwrap();
            assert!((layout.rate.unwrap() - 1000.0).abs() < 1e-9 && samples.len() == 40_500);
            let right = |(row, value): (usize, &f64)| match row {
                30_000..30_500 => value.is_nan(),
                30_500.. => *value == row as f64 - 500.0,
                _ => *value == row as f64,
            };
            assert!(samples.iter().enumerate().all(right));
            let units = ReadOptions { units: Some(1e-3), ..ReadOptions::default() };
            assert!(crate::open_with(&path, &units).err().unwrap().to_string().contains("--units is for columns"));
        }
        for path in table(-500) {
            let problem = read(&path, &ReadOptions::default()).unwrap_err().to_string();
            assert!(problem.contains("from row 30000 to 30001"), "{problem}");
        }
    }

    #[test]
    fn damaged_files_are_read_or_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.feather");
        std::fs::write(&path, b"FEA1\0\0\0\0").unwrap();
        let problem = read(&path, &ReadOptions::default()).unwrap_err().to_string();
        assert!(problem.contains("it is Feather of version 1"), "{problem}");
        let x: ArrayRef = Arc::new(Int16Array::from_iter((0..40).map(|row| (row % 9 > 0).then_some(row))));
        let [_, arrow] = written(folder.path(), vec![("x", x)], None);
        let arrow = std::fs::read(arrow).unwrap();
        for (name, valid) in [("x.parquet", file()), ("x.arrow", arrow)] {
            let path = folder.path().join(name);
            let mut refused = 0;
            for at in 0..valid.len() {
                for byte in [0, 0xff, valid[at] ^ 2] {
                    let mut damaged = valid.clone();
                    damaged[at] = byte;
                    std::fs::write(&path, damaged).unwrap();
                    refused += usize::from(read_recording(&path).is_err());
                }
            }
            assert!(refused > valid.len() / 4, "{name}: {refused} of {} files", 3 * valid.len());
        }
    }
}
