//! HDF5 files, and MATLAB files of version 7.3, which are HDF5.

use std::collections::HashMap;
use std::io::{self, Cursor, Read};
use std::path::Path;

use hdf5_pure::{AttrValue, Dataset, Datatype, DatatypeByteOrder, Error, File, Group};

use super::named_arrays::is_rate;
use super::parts::{Calibration, Chunks, Part, PartsReader, array_titles};
use super::raw::{NumberFormat, positive};
use super::{Format, RecordingLayout, open_file};
use crate::error::RecordingProblem;
use crate::memory::SampleMemory;

/// Deepest group, and most data sets, that are looked at.
const MAX_DEPTH: usize = 8;
const MAX_SETS: usize = 4096;
/// Most channels.
const MAX_CHANNELS: u64 = 1 << 16;
/// Bytes of the rows that are read at a time.
const ROWS_BYTES: u64 = 1 << 18;

/// A data set of numbers of one or two dimensions, of which the longer is time.
struct DataSet {
    name: String,
    set: Dataset,
    numbers: NumberFormat,
    length: u64,
    channels: u64,
    /// Whether time is the first dimension.
    is_by_time: bool,
    unit: String,
}

/// Opens the longest data sets of a file, or of those that the caller names. Where time is the second dimension, the
/// numbers are held in memory.
pub(super) fn open(path: &Path, format: Format, wanted: &[String]) -> Result<PartsReader, RecordingProblem> {
    let problem = |error: Error| format.problem(error.to_string());
    open_file(path)?;
    let file = File::open_streaming(path).map_err(problem)?;
    let mut found = Found { rate: rate_of(&file.root().attrs().map_err(problem)?), ..Found::default() };
    found.search(&file.root(), "", 0).map_err(problem)?;
    let Found { mut sets, rate, mut left_out } = found;
    let is_wanted = |set: &DataSet| {
        let rest =
            |name: &String| name.strip_prefix(&set.name).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
        wanted.iter().any(rest)
    };
    let by_name = sets.iter().any(is_wanted);
    sets.retain(|set| !by_name || is_wanted(set));
    let length = sets.iter().map(|set| set.length).max().unwrap_or(0);
    let (sets, others): (Vec<_>, Vec<_>) = sets.into_iter().partition(|set| set.length == length);
    left_out.extend(others.into_iter().map(|set| set.name));
    let mut layout = RecordingLayout { rate, ..RecordingLayout::default() };
    if !left_out.is_empty() {
        layout.remark(format!("data sets of other lengths or types are left out: {}", left_out.join(", ")));
    }
    let channels = sets.iter().map(|set| set.channels).fold(0, u64::saturating_add);
    if length < 2 || channels > MAX_CHANNELS {
        let count = if length < 2 { "no data set of numbers".into() } else { format!("{channels} channels") };
        return Err(format.problem(format!("it has {count} beside {}", left_out.join(", "))));
    }
    let (mut parts, mut memory) = (Vec::new(), SampleMemory::default());
    for set in sets {
        layout.titles.extend(array_titles(&set.name, set.channels));
        layout.units.extend((0..set.channels).map(|_| set.unit.clone()));
        parts.extend(set.parts(&mut memory, format)?);
    }
    PartsReader::new(format, parts, length, layout)
}

impl DataSet {
    /// Streams of its numbers.
    fn parts(self, memory: &mut SampleMemory, format: Format) -> Result<Vec<Part>, RecordingProblem> {
        let width = self.channels * self.numbers.bytes() as u64;
        let part = |stream: Box<dyn Read + Send>, channels| Part { stream, numbers: self.numbers, channels };
        if self.is_by_time {
            let (rows, mut next) = ((ROWS_BYTES / width).max(1), 0);
            let stream = Chunks::new(move || {
                let read = self.set.read_raw_rows(next, rows).map_err(io::Error::other)?;
                next += rows;
                Ok(read)
            });
            return Ok(vec![part(Box::new(stream), vec![Calibration::NONE; self.channels as usize])]);
        }
        // Memory is counted in samples of 32 bits.
        if !memory.take(self.length.saturating_mul(width) / 4) {
            return Err(format.problem(format!(
                "the channels of {} stand one after the other and do not fit into memory: save it transposed",
                self.name
            )));
        }
        let row = |channel| {
            let bytes = self
                .set
                .read_raw_rows(channel, 1)
                .map_err(|error| format.problem(format!("{}: {error}", self.name)))?;
            Ok(part(Box::new(Cursor::new(bytes)), vec![Calibration::NONE]))
        };
        (0..self.channels).map(row).collect()
    }
}

/// Data sets that were found, the sample rate, and the names of those that are no channels.
#[derive(Default)]
struct Found {
    sets: Vec<DataSet>,
    rate: Option<f64>,
    left_out: Vec<String>,
}

impl Found {
    /// Adds the data sets of a group and of those below it.
    fn search(&mut self, group: &Group, path: &str, depth: usize) -> Result<(), Error> {
        for (name, set) in group.iter_datasets()? {
            self.add(format!("{path}{name}"), set)?;
        }
        // MATLAB keeps the contents of cells in a group of this name.
        for (name, group) in group.iter_groups()?.filter(|(name, _)| name != "#refs#") {
            if depth < MAX_DEPTH && self.sets.len() + self.left_out.len() < MAX_SETS {
                self.search(&group, &format!("{path}{name}/"), depth + 1)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, name: String, set: Dataset) -> Result<(), Error> {
        let attributes = set.attrs()?;
        let text = |name: &str| attributes.get(name).and_then(AttrValue::as_str);
        let class = text("MATLAB_class");
        let (length, channels, is_by_time) = match set.shape()?[..] {
            [] => (1, 1, true),
            [length] => (length, 1, true),
            // Dimensions of MATLAB are those of the file in reverse.
            [rows, columns] if class.is_some() => (rows.max(columns), rows.min(columns), rows > columns),
            [rows, columns] => (rows.max(columns), rows.min(columns), rows >= columns),
            _ => (0, 0, true),
        };
        // Characters of MATLAB are numbers, too.
        let numbers = number_format(&set)?.filter(|_| length > 0 && channels > 0 && class != Some("char"));
        let Some(numbers) = numbers else {
            self.left_out.push(name);
            return Ok(());
        };
        if length == 1 && is_rate(name.rsplit('/').next().unwrap_or_default()) {
            self.rate = positive(numbers.first(&set.read_raw()?));
            return Ok(());
        }
        self.rate = self.rate.or_else(|| rate_of(&attributes));
        let unit = text("units").or_else(|| text("unit")).unwrap_or_default().to_owned();
        self.sets.push(DataSet { name, set, numbers, length, channels, is_by_time, unit });
        Ok(())
    }
}

/// Format of the numbers of a data set; none for other values.
fn number_format(set: &Dataset) -> Result<Option<NumberFormat>, Error> {
    let (numbers, order) = match set.datatype()? {
        Datatype::FixedPoint { size: size @ (1 | 2 | 4 | 8), byte_order, layout } => (
            if layout.signed { NumberFormat::signed(size as u8) } else { NumberFormat::unsigned(size as u8) },
            byte_order,
        ),
        Datatype::FloatingPoint { size: size @ (4 | 8), byte_order, .. } => {
            (NumberFormat::float(size as u8), byte_order)
        }
        _ => return Ok(None),
    };
    Ok(match order {
        DatatypeByteOrder::LittleEndian => Some(numbers),
        DatatypeByteOrder::BigEndian => Some(numbers.in_order(true)),
        DatatypeByteOrder::Vax => None,
    })
}

/// The sample rate among attributes.
fn rate_of(attributes: &HashMap<String, AttrValue>) -> Option<f64> {
    let (_, value) = attributes.iter().find(|(name, _)| is_rate(name))?;
    let rate = value.as_f64().or_else(|| Some(value.as_i64()? as f64));
    rate.and_then(positive)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::tests::{assert_holds, problem, values};
    use super::*;

    /// A file that `tests/fixtures/make_hdf5.py` wrote.
    fn fixture(name: &str) -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
    }

    fn layout(name: &str) -> RecordingLayout {
        super::super::open(&fixture(name)).unwrap().layout().clone()
    }

    #[test]
    fn files_of_h5py_and_of_matlab_are_read() {
        for (name, rate) in [("chunked.h5", 500.0), ("latest.h5", 250.0), ("matlab.mat", 12_000.0)] {
            assert_holds(&fixture(name), 2, Some(rate), &values(120));
        }
        let chunked = layout("chunked.h5");
        assert_eq!(
            (&chunked.titles[..], &chunked.units[..]),
            (&["g/x 0", "g/x 1"].map(String::from)[..], &["mV", "mV"].map(String::from)[..])
        );
        assert!(chunked.notes[0].to_string().ends_with("left out: note"), "{:?}", chunked.notes);
        assert!(layout("latest.h5").notes[0].to_string().ends_with("left out: short"));
        let matlab = layout("matlab.mat");
        assert_eq!((&matlab.titles[..], matlab.is_wide), (&["DE", "FE"].map(String::from)[..], true));
        assert!(matlab.notes[0].to_string().ends_with("left out: label"), "{:?}", matlab.notes);
        // A data set that is named is read, however short it is.
        let options = super::super::ReadOptions { channels: vec!["short".into()], ..Default::default() };
        assert_eq!(super::super::open_with(&fixture("latest.h5"), &options).unwrap().layout().length, Some(5));
    }

    #[test]
    fn damaged_files_are_read_or_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.h5");
        fs::write(&path, "no file of this format").unwrap();
        assert!(problem(&path).contains("HDF5 file: "), "{}", problem(&path));
        let valid = fs::read(fixture("latest.h5")).unwrap();
        fs::write(&path, &valid[..valid.len() - 300]).unwrap();
        assert!(!problem(&path).is_empty());
        for at in (0..valid.len()).step_by(3) {
            let mut damaged = valid.clone();
            damaged[at] ^= 0x55;
            fs::write(&path, damaged).unwrap();
            // Samples or an error, never a panic.
            let _ = crate::read_recording(&path);
        }
    }
}
