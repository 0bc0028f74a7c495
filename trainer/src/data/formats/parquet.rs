//! Apache Parquet files, with a row per sample and a column per channel.

use std::collections::VecDeque;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet2::deserialize::{DefLevelsDecoder, HybridEncoded, NativePageState};
use parquet2::error::Error;
use parquet2::metadata::FileMetaData;
use parquet2::page::{CompressedPage, DataPage, DictPage, Page};
use parquet2::read::{PageReader, decompress, get_page_iterator, read_metadata};
use parquet2::schema::types::PhysicalType;
use parquet2::types::{NativeType, decode};

use super::{Format, Layout, SampleReader};
use crate::data::error::RecordingProblem;

/// Largest page that is read.
const MOST_PAGE_BYTES: usize = 1 << 28;
/// Names of a column of times, which is not a channel.
const TIMES: [&str; 4] = ["time", "t", "time_s", "seconds"];

/// Table whose columns of floats and integers are channels. Columns of other types and of times are left out; a null is
/// NaN.
pub(super) struct ParquetReader {
    columns: Vec<Column>,
    layout: Layout,
}

/// A column, read page by page.
struct Column {
    path: PathBuf,
    metadata: Arc<FileMetaData>,
    column: usize,
    physical: PhysicalType,
    next_row_group: usize,
    pages: Option<PageReader<BufReader<File>>>,
    dictionary: Vec<f32>,
    values: VecDeque<f32>,
}

impl ParquetReader {
    pub(super) fn open(path: &Path) -> Result<Self, RecordingProblem> {
        let metadata = Arc::new(read_metadata(&mut File::open(path)?).map_err(problem)?);
        let mut columns = Vec::new();
        for (index, column) in metadata.schema_descr.columns().iter().enumerate() {
            let physical = column.descriptor.primitive_type.physical_type;
            let is_number = matches!(
                physical,
                PhysicalType::Int32 | PhysicalType::Int64 | PhysicalType::Float | PhysicalType::Double
            );
            let name = column.path_in_schema.join(".").to_ascii_lowercase();
            let is_flat = column.descriptor.max_rep_level == 0 && column.descriptor.max_def_level <= 1;
            if is_number && is_flat && !TIMES.contains(&name.as_str()) {
                columns.push(Column {
                    path: path.to_owned(),
                    metadata: metadata.clone(),
                    column: index,
                    physical,
                    next_row_group: 0,
                    pages: None,
                    dictionary: Vec::new(),
                    values: VecDeque::new(),
                });
            }
        }
        if columns.is_empty() {
            return Err(Format::Parquet.problem("it has no column of numbers"));
        }
        if metadata.num_rows == 0 {
            return Err(RecordingProblem::NoSamples);
        }
        let layout = Layout { channels: columns.len(), rate: None, length: Some(metadata.num_rows as u64) };
        Ok(Self { columns, layout })
    }
}

impl SampleReader for ParquetReader {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn read(&mut self, block: &mut Vec<f32>, count: usize) -> Result<usize, RecordingProblem> {
        for column in &mut self.columns {
            while column.values.len() < count && column.next_page().map_err(problem)? {}
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

impl Column {
    /// Appends the values of the next page; `false` after the last.
    fn next_page(&mut self) -> Result<bool, Error> {
        loop {
            let Some(pages) = &mut self.pages else {
                let Some(group) = self.metadata.row_groups.get(self.next_row_group) else { return Ok(false) };
                let chunk = &group.columns()[self.column];
                let file = BufReader::with_capacity(1 << 16, File::open(&self.path)?);
                self.pages = Some(get_page_iterator(chunk, file, None, Vec::new(), MOST_PAGE_BYTES)?);
                self.next_row_group += 1;
                continue;
            };
            let Some(page) = pages.next().transpose()? else {
                self.pages = None;
                continue;
            };
            match unpacked(page)? {
                Page::Dict(dictionary) => self.dictionary = self.entries(&dictionary),
                Page::Data(page) => {
                    match self.physical {
                        PhysicalType::Int32 => self.push::<i32>(&page, |value| value as f32),
                        PhysicalType::Int64 => self.push::<i64>(&page, |value| value as f32),
                        PhysicalType::Float => self.push::<f32>(&page, |value| value),
                        _ => self.push::<f64>(&page, |value| value as f32),
                    }?;
                    return Ok(true);
                }
            }
        }
    }

    /// Values of a dictionary.
    fn entries(&self, page: &DictPage) -> Vec<f32> {
        fn all<T: NativeType>(bytes: &[u8], number: impl Fn(T) -> f32) -> Vec<f32> {
            bytes.chunks_exact(size_of::<T>()).map(|value| number(decode::<T>(value))).collect()
        }
        match self.physical {
            PhysicalType::Int32 => all::<i32>(&page.buffer, |value| value as f32),
            PhysicalType::Int64 => all::<i64>(&page.buffer, |value| value as f32),
            PhysicalType::Float => all::<f32>(&page.buffer, |value| value),
            _ => all::<f64>(&page.buffer, |value| value as f32),
        }
    }

    fn push<T: NativeType>(&mut self, page: &DataPage, number: impl Fn(T) -> f32) -> Result<(), Error> {
        let dictionary = &self.dictionary;
        let entry = |index: Result<u32, Error>| {
            let entry = dictionary.get(index? as usize).copied();
            entry.ok_or_else(|| Error::OutOfSpec("an index beyond the dictionary".to_owned()))
        };
        match NativePageState::<T, ()>::try_new(page, (!dictionary.is_empty()).then_some(()))? {
            NativePageState::Required(values) => self.values.extend(values.map(number)),
            NativePageState::Optional(valid, mut values) => {
                for valid in validity(valid)? {
                    let value = if valid { values.next().map(&number) } else { None };
                    self.values.push_back(value.unwrap_or(f32::NAN));
                }
            }
            NativePageState::RequiredDictionary(encoded) => {
                for index in encoded.indexes {
                    self.values.push_back(entry(index)?);
                }
            }
            NativePageState::OptionalDictionary(valid, mut encoded) => {
                for valid in validity(valid)? {
                    let index = if valid { encoded.indexes.next() } else { None };
                    self.values.push_back(index.map_or(Ok(f32::NAN), entry)?);
                }
            }
        }
        Ok(())
    }
}

/// Whether each value of a page is there.
fn validity(levels: DefLevelsDecoder<'_>) -> Result<Vec<bool>, Error> {
    let mut valid = Vec::new();
    match levels {
        DefLevelsDecoder::Bitmap(runs) => {
            for run in runs {
                match run? {
                    HybridEncoded::Bitmap(bits, length) => {
                        valid.extend((0..length).map(|index| bits[index / 8] >> (index % 8) & 1 == 1));
                    }
                    HybridEncoded::Repeated(is_set, length) => valid.extend(std::iter::repeat_n(is_set, length)),
                }
            }
        }
        DefLevelsDecoder::Levels(levels, most) => {
            for level in levels {
                valid.push(level? == most);
            }
        }
    }
    Ok(valid)
}

fn unpacked(page: CompressedPage) -> Result<Page, Error> {
    decompress(page, &mut Vec::new())
}

fn problem(error: Error) -> RecordingProblem {
    Format::Parquet.problem(error.to_string())
}
