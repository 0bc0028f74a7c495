//! Text files with a row per sample and a column per channel.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use super::raw::{SampleValue, decoded_reads};
use super::table::TableColumns;
use super::times::Times;
use super::{Format, LATIN, ReadOptions, RecordingLayout, SampleReader, utf8};
use crate::error::{RecordingProblem, Result};

/// Rows that decide what the columns are.
const FIRST_ROWS: usize = 1024;
const MOST_LINE_BYTES: usize = 1 << 20;
/// Cells that stand for a value that is missing, in lower case.
const MISSING: [&str; 9] = ["", "na", "n/a", "#n/a", "null", "none", "-", "--", "?"];

/// Table of numbers with or without a line of titles, separated by commas, semicolons, tabs, bars or spaces.
///
/// The first rows decide which columns are numbers; columns of text, empty ones, numbers of rows and times are left out.
/// Times give the sample rate. A missing value is NaN, as are damaged lines if the caller wants them repaired.
pub(super) struct CsvReader {
    lines: Lines,
    separator: u8,
    /// Columns that are channels.
    columns: Vec<usize>,
    /// Columns that were empty in the first rows.
    blank: Vec<usize>,
    pub(super) times: Option<Times>,
    layout: RecordingLayout,
    /// Rows read in advance.
    ahead: Vec<f64>,
    used: usize,
    missing: u64,
    /// Cells of the first row.
    cells: usize,
    /// Error of the row behind those that were read.
    failed: Option<RecordingProblem>,
    is_repaired: bool,
    /// Lines that are damaged so far, and the first of them.
    damaged: (u64, Option<String>),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Cell {
    Number(f64),
    Missing,
    Text,
}

impl Cell {
    /// The number; NaN if there is none.
    fn value(self) -> f64 {
        match self {
            Self::Number(value) => value,
            Self::Missing | Self::Text => f64::NAN,
        }
    }
}

impl CsvReader {
    pub(super) fn open(path: &Path, options: &ReadOptions) -> Result<Self> {
        let mut lines = Lines::open(path)?;
        for _ in 0..options.skip_rows {
            if lines.next()?.is_none() {
                return Err(RecordingProblem::NoSamples);
            }
        }
        let (separator, comments) = lines.preface()?;
        let separator = match separator {
            Some(separator) => separator,
            None => lines.separator()?,
        };
        let mut layout = RecordingLayout { is_wide: true, ..RecordingLayout::default() };
        let head = Head::read(&mut lines, separator, &comments, &mut layout)?;
        let mut reader = Self {
            lines,
            separator,
            columns: Vec::new(),
            blank: Vec::new(),
            times: None,
            layout,
            ahead: Vec::new(),
            used: 0,
            missing: 0,
            cells: 0,
            failed: None,
            is_repaired: options.repair,
            damaged: Default::default(),
        };
        reader.read_first_rows(&head, options)?;
        Ok(reader)
    }

    /// Reads the first rows, and decides from them what the columns are.
    fn read_first_rows(&mut self, head: &Head, options: &ReadOptions) -> Result<()> {
        let (mut lines, mut rows) = (Vec::new(), Vec::new());
        while rows.len() < FIRST_ROWS {
            let Some(line) = self.lines.next()? else { break };
            rows.push(texts(&line.text, self.separator).iter().map(|text| cell(text)).collect::<Vec<Cell>>());
            lines.push(line);
        }
        let Some(first) = lines.first() else { return Err(RecordingProblem::NoSamples) };
        let first_texts = texts(&first.text, self.separator);
        let problem = |reason: String| Format::Csv.problem(reason);
        if let Some(text) = first_texts.iter().find(|text| has_decimal_comma(text)) {
            return Err(problem(format!("line {}: `{text}` has a decimal comma; accepted are points", first.number)));
        }
        let count = first_texts.len();
        let at = |row: &Vec<Cell>, column: usize| row.get(column).copied().unwrap_or(Cell::Missing);
        let kind = |column| rows.iter().map(|row| at(row, column)).find(|cell| *cell != Cell::Missing);
        let kinds: Vec<Option<Cell>> = (0..count).map(kind).collect();
        let values = |column: usize| {
            let values = rows.iter().map(|row| at(row, column).value());
            values.filter(|value| !options.repair || value.is_finite()).collect::<Vec<f64>>()
        };
        let numeric: Vec<usize> = (0..count).filter(|column| matches!(kinds[*column], Some(Cell::Number(_)))).collect();
        if numeric.is_empty() {
            let shown: String = String::from_utf8_lossy(&first.text).chars().take(60).collect();
            let reason = "has no number: --skip-rows N leaves out lines before the table";
            return Err(problem(format!("its first row of values, line {} (`{shown}`), {reason}", first.number)));
        }
        let titles = head.titles_of(count, first.number, kinds[0], || values(0))?;
        let is_index = |title: &String| title.is_empty() || title.starts_with("Unnamed: ");
        let has_index = titles.len() > 1 && is_index(&titles[0]) && numeric.contains(&0) && numeric.len() > 1;
        let index = [0];
        let table = TableColumns {
            format: Format::Csv,
            titles: &titles,
            units: &head.units,
            given_unit: options.units,
            numeric: &numeric,
            left_out: if has_index { &index } else { &[] },
        };
        // Such as `Fs,100` above a table without titles.
        let above = rows.iter().take_while(|row| at(row, 0) == Cell::Text).count();
        let below = &rows[above..];
        if above > 0 && !below.is_empty() && below.iter().all(|row| matches!(at(row, 0), Cell::Number(_))) {
            let (first, last) = (lines[0].number, lines[above - 1].number);
            self.layout.remark(format!(
                "lines {first} to {last} begin with text, unlike those below, and are taken for values; --skip-rows \
                 leaves lines out"
            ));
        }
        let named = |columns: Vec<usize>| columns.into_iter().map(|column| table.name(column)).collect::<Vec<_>>();
        let text = named((0..count).filter(|column| kinds[*column] == Some(Cell::Text)).collect());
        self.blank = (0..count).filter(|column| kinds[*column].is_none()).collect();
        // A separator at the end of lines makes no column.
        let is_column =
            |column: &usize| column + 1 < count || titles.get(*column).is_some_and(|title| !title.is_empty());
        let blank = named(self.blank.iter().copied().filter(is_column).collect());
        let index = named(index[..usize::from(has_index)].to_vec());
        for (columns, what) in [(text, "text"), (blank, "nothing"), (index, "numbers of rows")] {
            self.layout.left_out(format!("columns of {what} are"), columns);
        }
        let (channels, times) = table.axis(values, options, &mut self.layout)?;
        self.layout.channels = channels.len();
        let pick = |texts: &[String]| match texts {
            [] => Vec::new(),
            texts => channels.iter().map(|column| texts.get(*column).cloned().unwrap_or_default()).collect(),
        };
        (self.layout.titles, self.layout.units) = (pick(&titles), pick(&head.units));
        (self.cells, self.columns, self.times) = (count, channels, times);
        let mut ahead = Vec::with_capacity(rows.len() * self.columns.len());
        for line in &lines {
            self.push_row(line, &mut ahead)?;
        }
        self.ahead = ahead;
        Ok(())
    }

    /// Appends the channels of a row. Those of a damaged one that is repaired are NaN, or left to a gap if it has no time.
    fn push_row(&mut self, line: &Line, out: &mut Vec<f64>) -> Result<()> {
        let (first, cells) = (out.len(), texts(&line.text, self.separator));
        let (mut reason, mut rows) = (self.push_cells(&cells, out).err(), 1);
        if let Some(times) = self.times.as_mut().filter(|_| reason.is_none() || self.is_repaired)
            && let Err(uneven) = times.push(cells.get(times.column).map_or(f64::NAN, |text| cell(text).value()))
        {
            reason.get_or_insert(format!(": {uneven}"));
            rows = 0;
        }
        let Some(reason) = reason.map(|reason| format!("line {}{reason}", line.number)) else { return Ok(()) };
        if !self.is_repaired {
            return Err(Format::Csv.problem(reason + "; --repair makes it NaN"));
        }
        self.damaged.0 += 1;
        self.damaged.1.get_or_insert(reason);
        out.truncate(first);
        out.resize(first + rows * self.columns.len(), f64::NAN);
        Ok(())
    }

    /// Appends the channels of the cells of a line, or returns what is wrong with it, behind its number.
    fn push_cells(&mut self, cells: &[&str], out: &mut Vec<f64>) -> Result<(), String> {
        if cells.iter().skip(self.cells).any(|text| cell(text) != Cell::Missing) {
            return Err(format!(" has more than {} columns", self.cells));
        }
        let holds = |column: &&usize| cells.get(**column).is_some_and(|text| cell(text) != Cell::Missing);
        if let Some(column) = self.blank.iter().find(holds) {
            return Err(format!(": column {} was empty in the first {FIRST_ROWS} rows", column + 1));
        }
        for &column in &self.columns {
            let Some(text) = cells.get(column) else { return Err(format!(" has no column {}", column + 1)) };
            match cell(text) {
                Cell::Text => return Err(format!(": `{text}` in column {} is not a number", column + 1)),
                cell => {
                    self.missing += u64::from(cell == Cell::Missing);
                    out.push(cell.value());
                }
            }
        }
        Ok(())
    }

    fn read_as<T: SampleValue>(&mut self, block: &mut Vec<T>, count: usize) -> Result<usize> {
        let channels = self.columns.len();
        let mut read = ((self.ahead.len() - self.used) / channels).min(count);
        block.extend(self.ahead[self.used..self.used + read * channels].iter().map(|value| T::of_f64(*value)));
        self.used += read * channels;
        let mut values = Vec::new();
        while read < count && self.failed.is_none() {
            values.clear();
            match self.next_row(&mut values) {
                Ok(true) => {
                    block.extend(values.iter().map(|value| T::of_f64(*value)));
                    read += values.len() / channels;
                }
                Ok(false) => break,
                Err(problem) => self.failed = Some(problem),
            }
        }
        // The rows before a bad one come first.
        if read == 0 { self.failed.take().map_or(Ok(0), Err) } else { Ok(read) }
    }

    /// Appends the channels of the next row; `false` at the end.
    fn next_row(&mut self, out: &mut Vec<f64>) -> Result<bool> {
        if let Some(line) = self.lines.next()? {
            return self.push_row(&line, out).map(|()| true);
        }
        let missing = std::mem::take(&mut self.missing);
        if missing > 0 {
            self.layout.remark(format!("{missing} cells have no value, and are NaN"));
        }
        if let Some(note) = self.times.as_mut().and_then(Times::note) {
            self.layout.remark(note);
        }
        if let (count, Some(first)) = std::mem::take(&mut self.damaged) {
            self.layout
                .lost(format!("damaged: {count} lines are no rows, and their samples are NaN; the first: {first}"));
        }
        Ok(false)
    }
}

impl SampleReader for CsvReader {
    decoded_reads!();
}

/// Lines above the values.
struct Head {
    titles: Vec<String>,
    units: Vec<String>,
    /// Cells of the first row of values, up to the last that has one.
    cells: usize,
}

impl Head {
    /// Reads the line of titles and the one of units, if they are there.
    fn read(lines: &mut Lines, separator: u8, comments: &[String], layout: &mut RecordingLayout) -> Result<Self> {
        let mut rows: [Vec<String>; 3] = Default::default();
        for (place, row) in rows.iter_mut().enumerate() {
            if let Some(line) = lines.peek(place)? {
                *row = unquoted(&line.text, separator);
            }
        }
        if lines.is_latin {
            layout.remark(LATIN);
        }
        let [first, second, third] = rows;
        if first.is_empty() {
            return Err(RecordingProblem::NoSamples);
        }
        let (mut titles, mut units) = (Vec::new(), Vec::new());
        let comment = comments.last().map(|comment| comment.trim_start_matches(['#', '%', ' ']));
        let comment = comment.map(|comment| unquoted(comment.as_bytes(), separator));
        let has_titles = |comment: &Vec<String>| comment.len() == first.len() && is_titles(comment, &first);
        let mut skipped = comments.len();
        let mut values = &first;
        if is_titles(&first, &second) {
            if second.is_empty() {
                return Err(RecordingProblem::NoSamples);
            }
            lines.next()?;
            (titles, values) = (first.clone(), &second);
            if !has_number(&second) && second.iter().any(|text| cell(text) == Cell::Text) && has_number(&third) {
                lines.next()?;
                (units, values) = (second.clone(), &third);
            }
        } else if let Some(comment) = comment.filter(has_titles) {
            // NumPy's savetxt writes titles as a comment.
            titles = comment;
            skipped -= 1;
        } else if is_counted(&first) {
            let line = first.join(",");
            layout.remark(format!("its first line, {line}, is taken for values; --skip-rows 1 leaves it out"));
        }
        if skipped > 0 {
            layout.remark(format!("{skipped} lines of comments are left out"));
        }
        let cells = values.iter().rposition(|text| cell(text) != Cell::Missing).map_or(0, |last| last + 1);
        let units = units.iter().map(|unit| unit.trim_matches(['(', ')', '[', ']']).to_owned()).collect();
        Ok(Self { titles, units, cells })
    }

    /// Titles of so many columns, or none.
    fn titles_of(
        &self,
        columns: usize,
        line: u64,
        first: Option<Cell>,
        values: impl Fn() -> Vec<f64>,
    ) -> Result<Vec<String>> {
        let mut titles = self.titles.clone();
        if titles.is_empty() {
            return Ok(titles);
        }
        let used = titles.iter().rposition(|title| !title.is_empty()).map_or(0, |last| last + 1);
        if used + 1 == self.cells {
            // R gives the names of rows no title.
            let numbers = values();
            let counts = || numbers.windows(2).all(|pair| pair[1] - pair[0] == 1.0) && [0.0, 1.0].contains(&numbers[0]);
            if first == Some(Cell::Text) || counts() {
                titles.insert(0, String::new());
            }
        }
        if titles.len() < self.cells || used > columns {
            let reason = format!(
                "line {line} has {columns} cells, and its line of titles {}: if a comma stands in numbers, write points",
                titles.len()
            );
            return Err(Format::Csv.problem(reason));
        }
        titles.truncate(columns);
        Ok(titles)
    }
}

/// Whether a line has titles: text and no number, text above a number, or numbers of columns above other numbers.
fn is_titles(first: &[String], second: &[String]) -> bool {
    let is_text = |text: &String| cell(text) == Cell::Text;
    let is_number = |text: &String| matches!(cell(text), Cell::Number(_));
    let is_above_number = first.iter().zip(second).any(|(above, below)| is_text(above) && is_number(below));
    let are_text = !has_number(first) && first.iter().any(is_text);
    are_text
        || is_above_number
        || is_counted(first) && second.iter().any(|text| is_number(text) && text.contains(['.', 'e']))
}

/// Whether cells are the numbers from 0 on, behind an empty one or not: the titles that pandas gives.
fn is_counted(cells: &[String]) -> bool {
    let cells = if cells.first().is_some_and(String::is_empty) { &cells[1..] } else { cells };
    cells.len() > 1 && cells.iter().enumerate().all(|(number, text)| *text == number.to_string())
}

fn has_number(cells: &[String]) -> bool {
    cells.iter().any(|text| matches!(cell(text), Cell::Number(_)))
}

/// Lines of a file that are not empty, with their numbers.
struct Lines {
    input: BufReader<File>,
    number: u64,
    /// Lines that were looked at, but not taken.
    ahead: VecDeque<Line>,
    /// Whether a line was not UTF-8.
    is_latin: bool,
}

/// A line without the characters at its end.
#[derive(Debug, Clone)]
struct Line {
    number: u64,
    text: Vec<u8>,
}

impl Lines {
    fn open(path: &Path) -> Result<Self> {
        let mut input = BufReader::with_capacity(1 << 16, File::open(path)?);
        let start = input.fill_buf()?;
        if start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff") {
            return Err(Format::Csv.problem("its text is UTF-16; accepted is UTF-8 (iconv -f UTF-16 -t UTF-8)"));
        }
        if start.starts_with(b"\xef\xbb\xbf") {
            input.consume(3);
        }
        Ok(Self { input, number: 0, ahead: VecDeque::new(), is_latin: false })
    }

    fn next(&mut self) -> Result<Option<Line>> {
        match self.ahead.pop_front() {
            Some(line) => Ok(Some(line)),
            None => self.read(),
        }
    }

    /// The line that so many lines stand before.
    fn peek(&mut self, place: usize) -> Result<Option<&Line>> {
        while self.ahead.len() <= place {
            let Some(line) = self.read()? else { return Ok(None) };
            self.ahead.push_back(line);
        }
        Ok(self.ahead.get(place))
    }

    fn read(&mut self) -> Result<Option<Line>> {
        let mut text = Vec::new();
        loop {
            text.clear();
            let read = (&mut self.input).take(MOST_LINE_BYTES as u64 + 1).read_until(b'\n', &mut text)?;
            if read == 0 {
                return Ok(None);
            }
            self.number += 1;
            let end = text.len() - text.iter().rev().take_while(|byte| b" \r\n".contains(byte)).count();
            if text[..end].contains(&b'\r') {
                return Err(Format::Csv.problem("its lines end in CR alone; accepted are LF and CR LF"));
            }
            if read > MOST_LINE_BYTES {
                return Err(Format::Csv.problem(format!("line {} is longer than 1 MiB", self.number)));
            }
            text.truncate(end);
            if !text.is_empty() {
                let (text, is_latin) = utf8(text);
                self.is_latin |= is_latin;
                return Ok(Some(Line { number: self.number, text: text.into_bytes() }));
            }
        }
    }

    /// Takes what Excel and instruments write before a table: the separator, and lines of comments.
    fn preface(&mut self) -> Result<(Option<u8>, Vec<String>)> {
        let (mut separator, mut comments) = (None, Vec::new());
        while let Some(line) = self.peek(0)? {
            match line.text[..] {
                [b's', b'e', b'p', b'=', byte] => separator = Some(byte),
                [b'#' | b'%', ..] => comments.push(String::from_utf8_lossy(&line.text).into_owned()),
                _ => break,
            }
            self.next()?;
        }
        Ok((separator, comments))
    }

    /// Separator of the cells of the next line; spaces separate numbers only.
    fn separator(&mut self) -> Result<u8> {
        let Some(first) = self.peek(0)? else { return Ok(b',') };
        let separates = |byte: &u8| split_cells(&first.text, *byte).nth(1).is_some();
        if let Some(separator) = [b'\t', b';', b',', b'|'].into_iter().find(separates) {
            return Ok(separator);
        }
        let place = usize::from(self.peek(1)?.is_some());
        let row = self.peek(place)?.map_or(Vec::new(), |line| line.text.clone());
        let cells = texts(&row, b' ');
        Ok(if cells.len() > 1 && cells.iter().all(|text| cell(text) != Cell::Text) { b' ' } else { b',' })
    }
}

/// The cells of a line, without quotation marks around them.
fn texts(line: &[u8], separator: u8) -> Vec<&str> {
    let text = |cell| {
        let text = std::str::from_utf8(cell).unwrap_or("\u{fffd}").trim();
        let quoted = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        quoted.unwrap_or_else(|| text.trim_matches('"'))
    };
    let cells = split_cells(line, separator).map(text);
    // Any number of spaces separates.
    if separator == b' ' { cells.filter(|cell| !cell.is_empty()).collect() } else { cells.collect() }
}

/// The cells of a line as they were before two quotation marks stood for one.
fn unquoted(line: &[u8], separator: u8) -> Vec<String> {
    texts(line, separator).into_iter().map(|text| text.replace("\"\"", "\"")).collect()
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

/// What a cell holds. Fortran writes exponents with a D.
fn cell(text: &str) -> Cell {
    let text = text.trim_matches('"');
    if let Ok(value) = text.parse() {
        return Cell::Number(value);
    }
    if MISSING.contains(&text.to_ascii_lowercase().as_str()) {
        return Cell::Missing;
    }
    let is_fortran =
        text.contains(['D', 'd']) && text.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first));
    match text.replace(['D', 'd'], "e").parse() {
        Ok(value) if is_fortran => Cell::Number(value),
        _ => Cell::Text,
    }
}

/// Whether a number is written with a decimal comma: it would be left out as text, unlike what was meant.
fn has_decimal_comma(text: &str) -> bool {
    cell(text) == Cell::Text && matches!(cell(&text.replacen(',', ".", 1)), Cell::Number(_))
}
