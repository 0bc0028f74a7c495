//! Text files with a row per sample and a column per channel.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use super::reader::{RecordingLayout, SampleReader, TIMES};
use crate::data::error::RecordingProblem;
use crate::data::format::Format;

/// Rows whose times the sample rate is computed from.
const RATE_ROWS: usize = 1024;
/// Longest line that is read.
const MOST_LINE_BYTES: usize = 1 << 20;

/// Table of numbers with or without a line of titles, separated by commas, semicolons or tabs.
///
/// A column whose first value is not a number, such as a date, is left out, and so is a first column that alone has no
/// title, an index. A column of times in seconds gives the sample rate. An empty cell is NaN.
pub(super) struct CsvReader {
    input: BufReader<File>,
    separator: u8,
    /// Columns that are channels.
    columns: Vec<usize>,
    layout: RecordingLayout,
    /// Rows read in advance.
    ahead: Vec<f32>,
    used: usize,
    line: Vec<u8>,
    line_number: u64,
    /// The line after the current one, if it was read already.
    next: Option<Vec<u8>>,
    /// Cells of the first row.
    cells: usize,
}

impl CsvReader {
    pub(super) fn open(path: &Path) -> Result<Self, RecordingProblem> {
        let mut reader = Self {
            input: BufReader::with_capacity(1 << 16, File::open(path)?),
            separator: b',',
            columns: Vec::new(),
            layout: RecordingLayout { channels: 0, rate: None, length: None, titles: Vec::new() },
            ahead: Vec::new(),
            used: 0,
            line: Vec::new(),
            line_number: 0,
            next: None,
            cells: 0,
        };
        if !reader.next_line()? {
            return Err(RecordingProblem::NoSamples);
        }
        let separates = |byte: &u8| split_cells(&reader.line, *byte).nth(1).is_some();
        reader.separator = [b'\t', b';', b','].into_iter().find(separates).unwrap_or(b',');
        let titles = reader.titles()?;
        let is_time = |column: &usize| {
            let title = titles.as_ref().and_then(|titles| titles.get(*column));
            title.is_some_and(|title| TIMES.contains(&title.to_ascii_lowercase().as_str()))
        };
        let values = reader.cells();
        reader.cells = values.len();
        // It would be left out as text, unlike what was meant.
        let has_decimal_comma =
            |cell: &&String| number(cell).is_none() && number(&cell.replacen(',', ".", 1)).is_some();
        if let Some(cell) = values.iter().find(has_decimal_comma) {
            let reason = format!("line {}: `{cell}` has a decimal comma; accepted are points", reader.line_number);
            return Err(Format::Csv.problem(reason));
        }
        let is_number = |column: &usize| number(&values[*column]).is_some();
        let times = (0..values.len()).filter(is_number).find(is_time);
        let has_index = titles.as_ref().is_some_and(|titles| titles.len() > 1 && titles[0].is_empty());
        let channels = (usize::from(has_index)..values.len()).filter(|column| Some(*column) != times);
        reader.columns = channels.filter(is_number).collect();
        reader.layout.channels = reader.columns.len();
        let title = |titles: Vec<String>| reader.columns.iter().map(|column| titles.get(*column).cloned()).collect();
        // A line of titles may be shorter than the rows.
        reader.layout.titles = titles.and_then(title).unwrap_or_default();
        if reader.columns.is_empty() {
            return Err(Format::Csv.problem("its first row of values has no number"));
        }
        reader.read_ahead(times)?;
        Ok(reader)
    }

    /// Titles of the columns, if the current line, the first, has them: it has no number, or text above a number. Then
    /// the next line is the current one.
    fn titles(&mut self) -> Result<Option<Vec<String>>, RecordingProblem> {
        let (line, first) = (self.line.clone(), self.cells());
        let is_text = |cell: &String| !cell.is_empty() && number(cell).is_none();
        let has_numbers = first.iter().any(|cell| !cell.is_empty() && number(cell).is_some());
        if !has_numbers && !first.iter().any(is_text) {
            return Ok(None);
        }
        let has_second = self.next_line()?;
        let second = if has_second { self.cells() } else { Vec::new() };
        let above_number = |(above, below): (&String, &String)| is_text(above) && !below.is_empty() && !is_text(below);
        if !has_numbers || first.iter().zip(&second).any(above_number) {
            return if has_second { Ok(Some(first)) } else { Err(RecordingProblem::NoSamples) };
        }
        // A row of values: what follows it is read again.
        let second = std::mem::replace(&mut self.line, line);
        if has_second {
            (self.next, self.line_number) = (Some(second), self.line_number - 1);
        }
        Ok(None)
    }

    /// Reads the first rows, and the sample rate from their times.
    fn read_ahead(&mut self, times: Option<usize>) -> Result<(), RecordingProblem> {
        let mut ahead = Vec::new();
        let mut seconds = Vec::new();
        loop {
            if let Some(column) = times {
                seconds.push(self.cells().get(column).and_then(|cell| cell.trim().parse::<f64>().ok()));
            }
            self.push_row(&mut ahead)?;
            if ahead.len() >= RATE_ROWS * self.columns.len() || !self.next_line()? {
                break;
            }
        }
        if let (Some(Some(first)), Some(Some(last))) = (seconds.first(), seconds.last()) {
            let rate = (seconds.len() - 1) as f64 / (last - first);
            self.layout.rate = (rate.is_finite() && rate > 0.0).then_some(rate);
        }
        self.ahead = ahead;
        Ok(())
    }

    /// Reads the next line that is not empty; `false` at the end of the file.
    fn next_line(&mut self) -> Result<bool, RecordingProblem> {
        if let Some(line) = self.next.take() {
            (self.line, self.line_number) = (line, self.line_number + 1);
            return Ok(true);
        }
        loop {
            self.line.clear();
            let limit = MOST_LINE_BYTES as u64 + 1;
            let read = std::io::Read::take(&mut self.input, limit).read_until(b'\n', &mut self.line)?;
            if read == 0 {
                return Ok(false);
            }
            self.line_number += 1;
            if read > MOST_LINE_BYTES {
                return Err(Format::Csv.problem(format!("line {} is longer than 1 MiB", self.line_number)));
            }
            if self.line_number == 1 && self.line.starts_with(b"\xef\xbb\xbf") {
                self.line.drain(..3);
            }
            self.line.truncate(self.line.trim_ascii_end().len());
            if !self.line.is_empty() {
                return Ok(true);
            }
        }
    }

    /// Cells of the current line, without quotation marks around them.
    fn cells(&self) -> Vec<String> {
        let text = |cell: &[u8]| String::from_utf8_lossy(cell.trim_ascii()).trim_matches('"').to_owned();
        split_cells(&self.line, self.separator).map(text).collect()
    }

    /// Appends the channels of the current line.
    fn push_row(&self, block: &mut Vec<f32>) -> Result<(), RecordingProblem> {
        let mut wanted = self.columns.iter().copied().peekable();
        for (column, cell) in split_cells(&self.line, self.separator).enumerate() {
            if column >= self.cells && !cell.trim_ascii().is_empty() {
                let reason = format!("line {} has more than {} columns", self.line_number, self.cells);
                return Err(Format::Csv.problem(reason));
            }
            if wanted.next_if_eq(&column).is_none() {
                continue;
            }
            let cell = std::str::from_utf8(cell).unwrap_or("?").trim().trim_matches('"');
            let value = number(cell).ok_or_else(|| {
                let reason = format!("line {}: `{cell}` in column {} is not a number", self.line_number, column + 1);
                Format::Csv.problem(reason)
            })?;
            block.push(value);
        }
        match wanted.next() {
            None => Ok(()),
            Some(column) => Err(Format::Csv.problem(format!("line {} has no column {}", self.line_number, column + 1))),
        }
    }
}

impl SampleReader for CsvReader {
    fn layout(&self) -> &RecordingLayout {
        &self.layout
    }

    fn read(&mut self, block: &mut Vec<f32>, count: usize) -> Result<usize, RecordingProblem> {
        let channels = self.columns.len();
        let mut read = ((self.ahead.len() - self.used) / channels).min(count);
        block.extend_from_slice(&self.ahead[self.used..self.used + read * channels]);
        self.used += read * channels;
        while read < count && self.next_line()? {
            self.push_row(block)?;
            read += 1;
        }
        Ok(read)
    }
}

/// The cells of a line. A separator between the quotation marks of a cell that begins with one belongs to the cell.
fn split_cells(line: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    let (mut is_quoted, mut is_start, mut previous) = (false, true, separator);
    line.split(move |&byte| {
        let ends = byte == separator && !is_quoted;
        // Two marks within quotation marks stand for one.
        if byte == b'"' && (is_quoted || is_start || previous == b'"') {
            is_quoted = !is_quoted;
        }
        is_start = ends || (is_start && byte == b' ');
        previous = byte;
        ends
    })
}

/// The number in a cell; NaN for an empty one.
fn number(cell: &str) -> Option<f32> {
    if cell.is_empty() { Some(f32::NAN) } else { cell.parse().ok() }
}
