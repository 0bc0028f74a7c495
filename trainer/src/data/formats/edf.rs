//! European Data Format (Kemp et al. 1992), EDF+, and BioSemi's 24-bit BDF.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::Path;

use super::number::NumberFormat;
use super::raw::read_full;
use super::reader::{RecordingLayout, SampleReader};
use crate::data::error::RecordingProblem;
use crate::data::format::Format;

/// Bytes of the fixed part of a header, and of what it has per signal.
const HEADER_BYTES: usize = 256;
/// Largest number of signals of a file.
const MOST_SIGNALS: usize = 4096;
/// Largest number of bytes of one record.
const MOST_RECORD_BYTES: usize = 1 << 28;
/// Labels of signals that hold text.
const ANNOTATIONS: [&str; 2] = ["EDF Annotations", "BDF Annotations"];

/// Recording in records of equal duration, in physical units.
///
/// Its channels are the signals of the highest sample rate; annotations and signals of other rates are left out.
/// The records of a discontinuous file (EDF+D) are read as if they followed each other.
pub(super) struct EdfReader {
    file: File,
    format: Format,
    numbers: NumberFormat,
    signals: Vec<EdfSignal>,
    samples_per_record: usize,
    layout: RecordingLayout,
    /// Bytes of the current record, and its samples that have been read.
    record: Vec<u8>,
    used: usize,
    records_left: u64,
    channel: Vec<f32>,
}

/// A signal that is a channel.
struct EdfSignal {
    /// Position of its samples in a record, in bytes.
    start: usize,
    gain: f64,
    offset: f64,
}

impl EdfReader {
    pub(super) fn open(path: &Path, format: Format) -> Result<Self, RecordingProblem> {
        let mut file = File::open(path)?;
        let file_bytes = file.metadata()?.len();
        let fixed = Text::read(&mut file, HEADER_BYTES, format)?;
        let starts_well = match format {
            Format::Bdf => fixed.bytes.starts_with(b"\xffBIOSEMI"),
            _ => fixed.bytes.starts_with(b"0       "),
        };
        if !starts_well {
            return Err(format.problem("it does not begin with the format's version"));
        }
        let count = fixed.number(252..256, "number of signals")? as usize;
        let duration = fixed.number(244..252, "duration of a record")?;
        if !(1..=MOST_SIGNALS).contains(&count) || duration.is_nan() || duration < 0.0 {
            return Err(format.problem(format!("it has {count} signals in records of {duration} s")));
        }
        let table = Text::read(&mut file, HEADER_BYTES * count, format)?;
        let width = if format == Format::Bdf { 3 } else { 2 };
        let (signals, samples_per_record, record_bytes) = channels(&table, count, width)?;
        if record_bytes > MOST_RECORD_BYTES {
            return Err(format.problem(format!("a record has {record_bytes} bytes, more than {MOST_RECORD_BYTES}")));
        }
        let header_bytes = (HEADER_BYTES * (count + 1)) as u64;
        let held = file_bytes.saturating_sub(header_bytes) / record_bytes as u64;
        // A recording that was interrupted announces −1 records.
        let records = match fixed.number(236..244, "number of records")? {
            announced if announced < 0.0 => held,
            announced if announced as u64 > held => {
                let samples = |records: u64| usize::try_from(records).unwrap_or(usize::MAX) * samples_per_record;
                return Err(RecordingProblem::Truncated { expected: samples(announced as u64), found: samples(held) });
            }
            announced => announced as u64,
        };
        if records == 0 {
            return Err(RecordingProblem::NoSamples);
        }
        let rate = (duration > 0.0).then(|| samples_per_record as f64 / duration);
        let length = Some(records * samples_per_record as u64);
        let layout = RecordingLayout { channels: signals.len(), rate, length, titles: Vec::new() };
        Ok(Self {
            file,
            format,
            numbers: NumberFormat::signed(width as u8),
            signals,
            samples_per_record,
            layout,
            record: vec![0; record_bytes],
            used: samples_per_record,
            records_left: records,
            channel: Vec::new(),
        })
    }

    /// Reads the next record; `false` after the last.
    fn next_record(&mut self) -> Result<bool, RecordingProblem> {
        if self.records_left == 0 {
            return Ok(false);
        }
        if read_full(&mut self.file, &mut self.record)? < self.record.len() {
            return Err(self.format.problem("it ends before its last record does"));
        }
        self.records_left -= 1;
        self.used = 0;
        Ok(true)
    }
}

impl SampleReader for EdfReader {
    fn layout(&self) -> &RecordingLayout {
        &self.layout
    }

    fn read(&mut self, block: &mut Vec<f32>, count: usize) -> Result<usize, RecordingProblem> {
        let channels = self.signals.len();
        let width = self.numbers.bytes();
        let mut read = 0;
        while read < count {
            if self.used == self.samples_per_record && !self.next_record()? {
                break;
            }
            let taken = (self.samples_per_record - self.used).min(count - read);
            let first = block.len();
            block.resize(first + taken * channels, 0.0);
            for (index, signal) in self.signals.iter().enumerate() {
                let start = signal.start + self.used * width;
                self.channel.clear();
                self.numbers.decode(&self.record[start..start + taken * width], &mut self.channel);
                let samples = block[first..].iter_mut().skip(index).step_by(channels);
                for (sample, digital) in samples.zip(&self.channel) {
                    *sample = (f64::from(*digital) * signal.gain + signal.offset) as f32;
                }
            }
            self.used += taken;
            read += taken;
        }
        Ok(read)
    }

    fn skip(&mut self, count: u64) -> Result<u64, RecordingProblem> {
        let in_record = ((self.samples_per_record - self.used) as u64).min(count);
        self.used += in_record as usize;
        let records = ((count - in_record) / self.samples_per_record as u64).min(self.records_left);
        self.file.seek(SeekFrom::Current((records * self.record.len() as u64) as i64))?;
        self.records_left -= records;
        let mut skipped = in_record + records * self.samples_per_record as u64;
        if skipped < count && self.next_record()? {
            let rest = (count - skipped).min(self.samples_per_record as u64);
            self.used = rest as usize;
            skipped += rest;
        }
        Ok(skipped)
    }
}

/// Part of a header: text fields of fixed width.
struct Text {
    bytes: Vec<u8>,
    format: Format,
}

impl Text {
    fn read(file: &mut File, bytes: usize, format: Format) -> Result<Self, RecordingProblem> {
        let mut text = vec![0; bytes];
        match read_full(file, &mut text)? {
            read if read == bytes => Ok(Self { bytes: text, format }),
            _ => Err(RecordingProblem::TruncatedHeader),
        }
    }

    fn text(&self, field: std::ops::Range<usize>) -> String {
        String::from_utf8_lossy(&self.bytes[field]).trim().to_owned()
    }

    fn number(&self, field: std::ops::Range<usize>, name: &str) -> Result<f64, RecordingProblem> {
        let text = self.text(field);
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
        number.ok_or_else(|| self.format.problem(format!("its {name} is `{text}`, not a number")))
    }
}

/// Channels of a file, their samples per record, and the bytes of a record.
fn channels(table: &Text, count: usize, width: usize) -> Result<(Vec<EdfSignal>, usize, usize), RecordingProblem> {
    // The table has the fields one after the other, each for all signals.
    let field = |before: usize, bytes: usize, signal: usize| {
        let start = before * count + signal * bytes;
        start..start + bytes
    };
    let mut samples = Vec::with_capacity(count);
    for signal in 0..count {
        let number = table.number(field(216, 8, signal), "number of samples of a signal")?;
        if !(0.0..=MOST_RECORD_BYTES as f64).contains(&number) {
            return Err(table.format.problem(format!("a signal has {number} samples in a record")));
        }
        samples.push(number as usize);
    }
    let is_text = |signal: &usize| ANNOTATIONS.contains(&table.text(field(0, 16, *signal)).as_str());
    let numeric: Vec<usize> = (0..count).filter(|signal| !is_text(signal)).collect();
    let highest = numeric.iter().map(|signal| samples[*signal]).max().unwrap_or(0);
    if highest == 0 {
        return Err(RecordingProblem::NoSamples);
    }
    let mut channels = Vec::new();
    for &signal in numeric.iter().filter(|signal| samples[**signal] == highest) {
        let value = |before, name: &str| table.number(field(before, 8, signal), name);
        let physical = [value(104, "physical minimum")?, value(112, "physical maximum")?];
        let digital = [value(120, "digital minimum")?, value(128, "digital maximum")?];
        if digital[0] == digital[1] {
            let label = table.text(field(0, 16, signal));
            return Err(table.format.problem(format!("the digital range of signal {label} is empty")));
        }
        let gain = (physical[1] - physical[0]) / (digital[1] - digital[0]);
        let start = samples[..signal].iter().sum::<usize>() * width;
        channels.push(EdfSignal { start, gain, offset: physical[0] - digital[0] * gain });
    }
    Ok((channels, highest, samples.iter().sum::<usize>() * width))
}
