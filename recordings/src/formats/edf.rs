//! European Data Format (Kemp et al. 1992), EDF+, and BioSemi's 24-bit BDF.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

use super::gaps::{MOST_GAP, fill_gap, too_long};
use super::raw::{NumberFormat, SampleValue, decoded_reads, read_full};
use super::{Format, LATIN, RecordingLayout, SampleReader, utf8};
use crate::error::{RecordingProblem, Result};

/// Bytes of the fixed part of a header, and of what it has per signal.
const HEADER_BYTES: usize = 256;
/// Largest number of signals of a file.
const MOST_SIGNALS: usize = 4096;
/// Largest number of bytes of one record.
const MOST_RECORD_BYTES: usize = 1 << 28;
/// Labels of signals that hold text or triggers.
const NO_SIGNALS: [&str; 3] = ["EDF Annotations", "BDF Annotations", "Status"];
/// Most digits of a physical range that f32 holds beside the bits of a sample.
const WIDE_RATIO: f64 = 256.0;

/// Recording in records of equal duration, in physical units.
///
/// Its channels are the signals that the caller names, or those of the highest sample rate; annotations, triggers, signals
/// without a range and signals of other rates are left out. Samples in the gaps of a discontinuous file (EDF+D) are NaN.
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
    /// Start times of the records of a discontinuous file.
    onsets: Option<Onsets>,
    /// Samples that are missing before those of the current record.
    missing: u64,
}

/// Start times of records, which stand in their annotations.
struct Onsets {
    /// Place of the annotations in a record.
    place: Range<usize>,
    rate: f64,
    /// Time of the first record in seconds.
    first: Option<f64>,
    /// Samples up to the end of the last record.
    position: u64,
}

impl Onsets {
    /// Samples that are missing before a record of so many; none without a time, or for one that is too early.
    fn missing_before(&mut self, record: &[u8], samples: usize) -> u64 {
        // A time is followed by its duration, or by the annotation.
        let text = record[self.place.clone()].split(|byte| matches!(byte, 0x14 | 0x15)).next().unwrap_or_default();
        let onset = std::str::from_utf8(text).ok().and_then(|text| text.trim().parse::<f64>().ok());
        let missing = onset.map_or(0, |onset| {
            let first = *self.first.get_or_insert(onset);
            ((onset - first) * self.rate - self.position as f64).round().min(1e15) as u64
        });
        self.position += missing + samples as u64;
        missing
    }
}

/// A signal that is a channel.
struct EdfSignal {
    /// Position of its samples in a record, in bytes.
    start: usize,
    gain: f64,
    offset: f64,
}

impl EdfReader {
    /// Opens a file, and of its signals those of these labels, if there are any.
    pub(super) fn open(path: &Path, format: Format, wanted: &[String]) -> Result<Self> {
        let mut file = File::open(path)?;
        let file_bytes = file.metadata()?.len();
        let fixed = Text::read(&mut file, HEADER_BYTES, format)?;
        let starts_well = match format {
            Format::Bdf => fixed.bytes.starts_with(b"\xffBIOSEMI"),
            _ => fixed.text(0..8) == "0",
        };
        if !starts_well {
            return Err(format.problem("it does not begin with the format's version"));
        }
        let count = fixed.number(252..256, "number of signals")? as usize;
        let duration = fixed.number(244..252, "duration of a record")?;
        if !(1..=MOST_SIGNALS).contains(&count) || duration.is_nan() || duration < 0.0 {
            return Err(format.problem(format!("it has {count} signals in records of {duration} s")));
        }
        let table = SignalTable { text: Text::read(&mut file, HEADER_BYTES * count, format)?, count };
        let width = if format == Format::Bdf { 3 } else { 2 };
        let mut layout = RecordingLayout::default();
        let Channels { signals, samples_per_record, record_bytes, annotations } =
            table.channels(width, duration, wanted, &mut layout)?;
        if record_bytes > MOST_RECORD_BYTES {
            return Err(format.problem(format!("a record has {record_bytes} bytes, more than {MOST_RECORD_BYTES}")));
        }
        let reserved = fixed.text(192..236);
        let is_discontinuous = reserved.starts_with("EDF+D") || reserved.starts_with("BDF+D");
        let table_bytes = (HEADER_BYTES * (count + 1)) as u64;
        let header_bytes = match fixed.number(184..192, "number of bytes of the header") {
            Ok(bytes) if bytes as u64 > table_bytes && (bytes as u64) < file_bytes => {
                layout.remark(format!("its header is padded: its samples begin at byte {bytes}"));
                bytes as u64
            }
            _ => table_bytes,
        };
        file.seek(SeekFrom::Start(header_bytes))?;
        let sample_bytes = file_bytes.saturating_sub(header_bytes);
        let held = sample_bytes / record_bytes as u64;
        let is_cut = !sample_bytes.is_multiple_of(record_bytes as u64);
        let samples = |records: u64| records.saturating_mul(samples_per_record as u64);
        match fixed.number(236..244, "number of records")? {
            // A recording that was interrupted announces −1 records.
            announced if announced < 0.0 && is_cut => {
                layout.lost("truncated: it ends inside its last record, which is not read");
            }
            announced if announced < 0.0 => layout.remark("its header has no number of records: it is read to its end"),
            announced if announced as u64 > held => layout.truncated(samples(announced as u64), samples(held)),
            announced if (announced as u64) < held => {
                layout.remark(format!("its header announces {announced} records, all {held} of the file are read"));
            }
            _ if is_cut => layout.remark("bytes at its end are no whole record and are left out"),
            _ => {}
        }
        if held == 0 {
            return Err(RecordingProblem::NoSamples);
        }
        layout.rate = (duration > 0.0).then(|| samples_per_record as f64 / duration);
        let onsets = match (annotations.filter(|_| is_discontinuous), layout.rate) {
            (Some(place), Some(rate)) => Some(Onsets { place, rate, first: None, position: 0 }),
            _ => None,
        };
        // That of a discontinuous recording is known at its end.
        layout.length = onsets.is_none().then(|| samples(held));
        if is_discontinuous {
            layout.remark(match onsets {
                Some(_) => "its records may have gaps between them (EDF+D), whose samples are NaN",
                None => "its records have gaps between them (EDF+D) without times, which are closed",
            });
        }
        layout.is_wide = signals.iter().any(|signal| signal.is_wide(width));
        Ok(Self {
            file,
            format,
            numbers: NumberFormat::signed(width as u8),
            signals,
            samples_per_record,
            layout,
            record: vec![0; record_bytes],
            used: samples_per_record,
            records_left: held,
            onsets,
            missing: 0,
        })
    }

    /// Reads the next record; `false` after the last.
    fn next_record(&mut self) -> Result<bool> {
        if self.records_left == 0 {
            return Ok(false);
        }
        if read_full(&mut self.file, &mut self.record)? < self.record.len() {
            return Err(self.format.problem("it ends before its last record does"));
        }
        self.records_left -= 1;
        self.used = 0;
        if let Some(onsets) = &mut self.onsets {
            self.missing = onsets.missing_before(&self.record, self.samples_per_record);
            if self.missing > MOST_GAP as u64 {
                return Err(too_long(self.missing, &format!("before its last {} records", self.records_left + 1)));
            }
        }
        Ok(true)
    }

    fn read_as<T: SampleValue>(&mut self, block: &mut Vec<T>, count: usize) -> Result<usize> {
        let channels = self.signals.len();
        let width = self.numbers.bytes();
        let mut digital: Vec<f64> = Vec::new();
        let mut read = 0;
        while read < count {
            if self.used == self.samples_per_record && !self.next_record()? {
                break;
            }
            if self.missing > 0 {
                read += fill_gap(block, &mut self.missing, count - read, channels);
                continue;
            }
            let taken = (self.samples_per_record - self.used).min(count - read);
            let first = block.len();
            block.resize(first + taken * channels, T::default());
            for (index, signal) in self.signals.iter().enumerate() {
                let start = signal.start + self.used * width;
                digital.clear();
                self.numbers.decode(&self.record[start..start + taken * width], &mut digital);
                let samples = block[first..].iter_mut().skip(index).step_by(channels);
                for (sample, digital) in samples.zip(&digital) {
                    *sample = T::of_f64(*digital * signal.gain + signal.offset);
                }
            }
            self.used += taken;
            read += taken;
        }
        Ok(read)
    }
}

impl EdfSignal {
    /// Whether samples of so many bytes lie so far from 0 that f32 rounds them.
    fn is_wide(&self, bytes: usize) -> bool {
        let range = self.gain.abs() * 256f64.powi(bytes as i32);
        bytes > 2 && self.offset != 0.0 || self.offset.abs() > WIDE_RATIO * range
    }
}

impl SampleReader for EdfReader {
    decoded_reads!();

    fn skip(&mut self, count: u64) -> Result<u64> {
        let samples = self.samples_per_record as u64;
        let mut passed = 0;
        while passed < count {
            if self.used == self.samples_per_record {
                // Where a gap may be, each record has to be looked at.
                if self.onsets.is_none() {
                    let records = ((count - passed) / samples).min(self.records_left);
                    self.file.seek(SeekFrom::Current((records * self.record.len() as u64) as i64))?;
                    self.records_left -= records;
                    passed += records * samples;
                }
                if passed == count || !self.next_record()? {
                    break;
                }
            }
            let missing = self.missing.min(count - passed);
            self.missing -= missing;
            passed += missing;
            let in_record = (samples - self.used as u64).min(count - passed);
            self.used += in_record as usize;
            passed += in_record;
        }
        Ok(passed)
    }
}

/// Part of a header: text fields of fixed width.
struct Text {
    bytes: Vec<u8>,
    format: Format,
}

impl Text {
    fn read(file: &mut File, bytes: usize, format: Format) -> Result<Self> {
        let mut text = vec![0; bytes];
        match read_full(file, &mut text)? {
            read if read == bytes => Ok(Self { bytes: text, format }),
            _ => Err(RecordingProblem::TruncatedHeader),
        }
    }

    /// A field without the spaces, or the zeros of some programs, that it is filled up with.
    fn text(&self, field: Range<usize>) -> String {
        let (text, _) = utf8(self.bytes[field].to_vec());
        text.trim_matches(|letter: char| letter == '\0' || letter.is_whitespace()).to_owned()
    }

    fn number(&self, field: Range<usize>, name: &str) -> Result<f64> {
        let text = self.text(field);
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
        number.ok_or_else(|| self.format.problem(format!("its {name} is `{text}`, not a number")))
    }
}

/// Part of a header that describes the signals: its fields one after the other, each for all of them.
struct SignalTable {
    text: Text,
    count: usize,
}

/// Signals that are channels, their samples per record, and the bytes of a record.
struct Channels {
    signals: Vec<EdfSignal>,
    samples_per_record: usize,
    record_bytes: usize,
    /// Place of the annotations in a record.
    annotations: Option<Range<usize>>,
}

impl SignalTable {
    /// Place of a signal's field of so many bytes, which so many bytes of other fields stand before, per signal.
    fn field(&self, before: usize, bytes: usize, signal: usize) -> Range<usize> {
        let start = before * self.count + signal * bytes;
        start..start + bytes
    }

    fn label(&self, signal: usize) -> String {
        self.text.text(self.field(0, 16, signal))
    }

    fn samples_per_record(&self) -> Result<Vec<usize>> {
        let of = |signal| {
            let number = self.text.number(self.field(216, 8, signal), "number of samples of a signal")?;
            if !(0.0..=MOST_RECORD_BYTES as f64).contains(&number) {
                return Err(self.text.format.problem(format!("a signal has {number} samples in a record")));
            }
            Ok(number as usize)
        };
        (0..self.count).map(of).collect()
    }

    /// Channels; their labels, units and notes on omitted signals are added to the layout.
    fn channels(
        &self,
        width: usize,
        duration: f64,
        wanted: &[String],
        layout: &mut RecordingLayout,
    ) -> Result<Channels> {
        let samples = self.samples_per_record()?;
        let labels: Vec<String> = (0..self.count).map(|signal| self.label(signal)).collect();
        let is_signal = |signal: &usize| !NO_SIGNALS.contains(&labels[*signal].as_str()) && samples[*signal] > 0;
        // Numbers are those of the channels, which are chosen later.
        let by_label = wanted.iter().map(|name| labels.iter().position(|label| label == name));
        let by_label = by_label.collect::<Option<Vec<_>>>().filter(|chosen| !chosen.is_empty());
        let is_chosen = by_label.is_some();
        let chosen = by_label.unwrap_or_else(|| (0..self.count).filter(is_signal).collect());
        let others = (0..self.count).filter(|signal| !is_chosen && !is_signal(signal));
        let others = others.map(|signal| &labels[signal]);
        layout.left_out("signals of annotations, of states and without samples are", others);
        let mut signals = Vec::new();
        for &signal in &chosen {
            match self.signal(signal, layout)? {
                Some((gain, offset)) => {
                    let start = samples[..signal].iter().sum::<usize>() * width;
                    signals.push((signal, EdfSignal { start, gain, offset }));
                }
                None => layout.remark(format!("signal {} has no range and is left out", labels[signal])),
            }
        }
        let highest = signals.iter().map(|(signal, _)| samples[*signal]).max().unwrap_or(0);
        if highest == 0 {
            return Err(RecordingProblem::NoSamples);
        }
        let mut slower: Vec<String> = Vec::new();
        signals.retain(|(signal, _)| {
            let is_kept = samples[*signal] == highest;
            if !is_kept {
                let rate = if duration > 0.0 { samples[*signal] as f64 / duration } else { samples[*signal] as f64 };
                slower.push(format!("{} ({rate} Hz)", labels[*signal]));
            }
            is_kept
        });
        if !slower.is_empty() {
            let slower = slower.join(", ");
            if is_chosen {
                return Err(self.text.format.problem(format!("the channels have different rates: {slower}")));
            }
            layout.remark(format!("signals of lower rates are left out: {slower}; --channel NAME reads them"));
        }
        let is_latin = |field: Range<usize>| std::str::from_utf8(&self.text.bytes[field]).is_err();
        if signals.iter().any(|(at, _)| is_latin(self.field(0, 16, *at)) || is_latin(self.field(96, 8, *at))) {
            layout.remark(LATIN);
        }
        layout.channels = signals.len();
        layout.titles = signals.iter().map(|(signal, _)| labels[*signal].clone()).collect();
        layout.units = signals.iter().map(|(signal, _)| self.text.text(self.field(96, 8, *signal))).collect();
        let record_bytes = samples.iter().sum::<usize>() * width;
        let signals = signals.into_iter().map(|(_, signal)| signal).collect();
        let annotations = labels.iter().position(|label| label.ends_with(" Annotations")).map(|signal| {
            let start = samples[..signal].iter().sum::<usize>() * width;
            start..start + samples[signal] * width
        });
        Ok(Channels { signals, samples_per_record: highest, record_bytes, annotations })
    }

    /// Gain and offset of a signal; none if its digital range is empty. Where the physical one is, digital values count.
    fn signal(&self, signal: usize, layout: &mut RecordingLayout) -> Result<Option<(f64, f64)>> {
        let value = |before, name: &str| self.text.number(self.field(before, 8, signal), name);
        let digital = [value(120, "digital minimum")?, value(128, "digital maximum")?];
        if digital[0] == digital[1] {
            return Ok(None);
        }
        let physical = [value(104, "physical minimum")?, value(112, "physical maximum")?];
        if physical[0] == physical[1] {
            let label = self.label(signal);
            layout.remark(format!("signal {label} has no physical range: its samples are digital values"));
            return Ok(Some((1.0, 0.0)));
        }
        let gain = (physical[1] - physical[0]) / (digital[1] - digital[0]);
        Ok(Some((gain, physical[0] - digital[0] * gain)))
    }
}
