//! HDF5 files, and MATLAB files of version 7.3, which are HDF5.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Cursor, Read};
use std::path::Path;

use hdf5_pure::{
    AttrValue, Dataset, Datatype, DatatypeByteOrder, Error, File, FormatError, Group, ReadSeekSource, Source,
};

use super::named_arrays::is_rate;
use super::parts::{Calibration, Chunks, Part, PartsReader, array_titles};
use super::raw::{NumberFormat, positive};
use super::{Format, ReadOptions, RecordingLayout, open_file};
use crate::error::Result;
use crate::memory::SampleMemory;

/// Deepest group, and most groups and data sets, that are looked at.
const MAX_DEPTH: usize = 8;
const MAX_OBJECTS: usize = 4096;
const MAX_CHANNELS: u64 = 1 << 16;
/// Bytes of the rows that are read at a time.
const ROWS_BYTES: u64 = 1 << 18;
/// Names of the members of an enumeration that are bools.
const BOOLS: [&str; 2] = ["FALSE", "TRUE"];
/// Type of a soft link among the entries of a group of version 1.
const SOFT_LINK: [u8; 4] = [2, 0, 0, 0];
/// Header of an object without contents: version 1, no messages, one reference.
const EMPTY_OBJECT: [u8; 16] = [1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// File whose soft links lead to an object without contents behind its end. Those of groups of version 1 have no address,
/// where hdf5-pure (0.47) looks for an object all the same. What they are links to is read by its own name.
struct Linked(ReadSeekSource<fs::File>);

impl Linked {
    fn empty_object(&self, offset: u64, count: usize) -> Option<&'static [u8]> {
        let start = usize::try_from(offset.checked_sub(self.0.len())?).ok()?;
        EMPTY_OBJECT.get(start..start.checked_add(count)?)
    }
}

impl Source for Linked {
    fn len(&self) -> u64 {
        self.0.len()
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<(), FormatError> {
        let Some(object) = self.empty_object(offset, bytes.len()) else { return self.0.read_at(offset, bytes) };
        bytes.copy_from_slice(object);
        Ok(())
    }

    fn read_metadata_at(&self, offset: u64, count: usize) -> Result<Vec<u8>, FormatError> {
        if let Some(object) = self.empty_object(offset, count) {
            return Ok(object.to_vec());
        }
        let mut bytes = self.read_exact_at(offset, count)?;
        // Entries of a group: place of a name, address, type, and 20 more bytes.
        if bytes.starts_with(b"SNOD") {
            let entries = bytes.get_mut(8..).unwrap_or_default().as_chunks_mut::<40>().0;
            for entry in entries.iter_mut().filter(|entry| entry[16..20] == SOFT_LINK) {
                entry[8..16].copy_from_slice(&self.0.len().to_le_bytes());
            }
        }
        Ok(bytes)
    }
}

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
    /// Sample rate among its attributes.
    rate: Option<f64>,
}

/// Opens the longest data sets of a file, or of those that the caller names. Where time is the second dimension, the
/// numbers are held in memory.
pub(super) fn open(path: &Path, format: Format, options: &ReadOptions) -> Result<PartsReader> {
    let problem = |error: Error| format.problem(error.to_string());
    let source = ReadSeekSource::new(open_file(path)?).map_err(|error| problem(error.into()))?;
    let file = File::from_source(Linked(source)).map_err(problem)?;
    let mut found = Found { rate: rate_of(&file.root().attrs().map_err(problem)?), ..Found::default() };
    found.search(&file.root(), "", 0).map_err(problem)?;
    let Found { mut sets, rate, mut left_out, is_cut, .. } = found;
    let is_wanted = |set: &DataSet| {
        let rest =
            |name: &String| name.strip_prefix(&set.name).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
        options.channels.iter().any(rest)
    };
    if let Some(name) = &options.dataset {
        let found: Vec<String> = sets.iter().map(|set| set.name.clone()).collect();
        sets.retain(|set| set.name == name.trim_start_matches('/'));
        if sets.is_empty() {
            let found = if found.is_empty() { "none".into() } else { found.join(", ") };
            return Err(format.problem(format!("it has no data set of numbers `{name}`; --dataset takes {found}")));
        }
        left_out.clear();
    }
    let by_name = sets.iter().any(is_wanted);
    sets.retain(|set| !by_name || is_wanted(set));
    let length = sets.iter().map(|set| set.length).max().unwrap_or(0);
    let is_complex = sets.iter().find(|set| set.length == length).is_some_and(|set| set.numbers.is_complex());
    let is_longest = |set: &DataSet| set.length == length && set.numbers.is_complex() == is_complex;
    let own_rate = sets.iter().filter(|set| is_longest(set)).find_map(|set| set.rate);
    let is_kept = |set: &DataSet| is_longest(set) && set.rate.is_none_or(|rate| Some(rate) == own_rate);
    let (sets, others): (Vec<_>, Vec<_>) = sets.into_iter().partition(is_kept);
    let mut layout = RecordingLayout { rate: rate.or(own_rate), is_complex, ..RecordingLayout::default() };
    if is_cut {
        layout.remark(format!("groups below {MAX_DEPTH} others, or behind {MAX_OBJECTS}, are not looked at"));
    }
    let hint = if others.is_empty() { "" } else { "without --dataset, " };
    left_out.extend(others.into_iter().map(|set| set.name));
    layout.left_out(format!("{hint}data sets of other lengths, rates or types are"), &left_out);
    let channels = sets.iter().map(|set| set.channels).fold(0, u64::saturating_add);
    if length < 2 || channels > MAX_CHANNELS {
        let beside = if left_out.is_empty() { String::new() } else { format!(" beside {}", left_out.join(", ")) };
        let found = match length {
            1 if options.dataset.is_some() => "one number in this data set, no samples".into(),
            0 | 1 => format!("no data set of numbers{beside}; links to other files are not followed"),
            _ => format!("{channels} channels{beside}: --dataset chooses a data set"),
        };
        return Err(format.problem(format!("it has {found}")));
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
    fn parts(self, memory: &mut SampleMemory, format: Format) -> Result<Vec<Part>> {
        let parts = self.numbers.parts();
        let width = self.channels * (self.numbers.bytes() * parts) as u64;
        let part = |stream: Box<dyn Read + Send>, channels| {
            let channels = vec![Calibration::NONE; channels as usize * parts];
            Part { stream, numbers: self.numbers, channels }
        };
        if self.is_by_time {
            let (rows, mut next) = ((ROWS_BYTES / width).max(1), 0);
            let stream = Chunks::new(move || {
                let read = self.set.read_raw_rows(next, rows).map_err(io::Error::other)?;
                next += rows;
                Ok(read)
            });
            return Ok(vec![part(Box::new(stream), self.channels)]);
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
            Ok(part(Box::new(Cursor::new(bytes)), 1))
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
    /// Groups that were looked at, and whether there are others.
    groups: usize,
    is_cut: bool,
}

impl Found {
    /// Adds the data sets of a group and of those below it.
    fn search(&mut self, group: &Group, path: &str, depth: usize) -> Result<(), Error> {
        for (name, set) in group.iter_datasets()? {
            self.add(format!("{path}{name}"), set)?;
        }
        // MATLAB keeps the contents of cells in a group of this name.
        for (name, group) in group.iter_groups()?.filter(|(name, _)| name != "#refs#") {
            let looked_at = self.groups.max(self.sets.len() + self.left_out.len());
            if depth >= MAX_DEPTH || looked_at >= MAX_OBJECTS {
                self.is_cut = true;
                continue;
            }
            self.groups += 1;
            self.search(&group, &format!("{path}{name}/"), depth + 1)?;
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
        let kind = set.datatype()?;
        let Some(numbers) = number_format(&kind) else {
            self.left_out.push(format!("{name} ({kind})"));
            return Ok(());
        };
        // Characters of MATLAB are numbers, too.
        if length == 0 || channels == 0 || class == Some("char") {
            self.left_out.push(name);
            return Ok(());
        }
        if length == 1 && is_rate(name.rsplit('/').next().unwrap_or_default()) {
            self.rate = positive(numbers.first(&set.read_raw()?));
            return Ok(());
        }
        let rate = rate_of(&attributes);
        let unit = text("units").or_else(|| text("unit")).unwrap_or_default().to_owned();
        self.sets.push(DataSet { name, set, numbers, length, channels, is_by_time, unit, rate });
        Ok(())
    }
}

/// Format of the numbers of a data set; none for other values.
fn number_format(kind: &Datatype) -> Option<NumberFormat> {
    let (numbers, order) = match kind {
        Datatype::FixedPoint { size: size @ (1 | 2 | 4 | 8), byte_order, layout } => (
            if layout.signed { NumberFormat::signed(*size as u8) } else { NumberFormat::unsigned(*size as u8) },
            byte_order,
        ),
        Datatype::FloatingPoint { size: size @ (4 | 8), byte_order, .. } => {
            (NumberFormat::float(*size as u8), byte_order)
        }
        Datatype::FloatingPoint { size: 2, byte_order, layout } if layout.exponent_size == 5 => {
            (NumberFormat::float(2), byte_order)
        }
        // Bools of h5py.
        Datatype::Enumeration { base_type, members, .. } if members.iter().map(|member| &member.name[..]).eq(BOOLS) => {
            return number_format(base_type);
        }
        // Complex numbers of h5py and MATLAB.
        Datatype::Compound { size, members } => {
            let [real, imaginary] = &members[..] else { return None };
            let numbers = number_format(&real.datatype).filter(|numbers| !numbers.is_complex())?;
            let names = (real.name.as_str(), imaginary.name.as_str());
            let are_parts = matches!(names, ("r", "i") | ("re", "im") | ("real", "imag" | "imaginary"))
                && real.datatype == imaginary.datatype
                && (real.byte_offset, imaginary.byte_offset, *size)
                    == (0, numbers.bytes() as u64, 2 * numbers.bytes() as u32);
            return are_parts.then(|| numbers.complex());
        }
        _ => return None,
    };
    match order {
        DatatypeByteOrder::LittleEndian => Some(numbers),
        DatatypeByteOrder::BigEndian => Some(numbers.in_order(true)),
        DatatypeByteOrder::Vax => None,
    }
}

fn rate_of(attributes: &HashMap<String, AttrValue>) -> Option<f64> {
    let (_, value) = attributes.iter().find(|(name, _)| is_rate(name))?;
    let rate = value.as_f64().or_else(|| Some(value.as_i64()? as f64));
    rate.and_then(positive)
}

#[cfg(test)]
mod tests {
    use hdf5_pure::{CompoundTypeBuilder, EnumTypeBuilder, FileBuilder, FloatingPointLayout};

    use super::super::tests::{assert_holds, problem, values};
    use super::*;

    /// A file that `tests/fixtures/make_hdf5.py` wrote.
    fn fixture(name: &str) -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
    }

    fn layout(name: &str) -> RecordingLayout {
        layout_of(&fixture(name))
    }

    fn layout_of(path: &Path) -> RecordingLayout {
        super::super::open(path).unwrap().layout().clone()
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
        assert!(chunked.notes[0].to_string().contains("left out: note (string"), "{:?}", chunked.notes);
        assert!(layout("latest.h5").notes[0].to_string().ends_with("left out: short"));
        let matlab = layout("matlab.mat");
        assert_eq!((&matlab.titles[..], matlab.is_wide), (&["DE", "FE"].map(String::from)[..], true));
        assert!(matlab.notes[0].to_string().ends_with("left out: label"), "{:?}", matlab.notes);
        // A data set that is named is read, however short it is.
        let options = super::super::ReadOptions { channels: vec!["short".into()], ..Default::default() };
        assert_eq!(super::super::open_with(&fixture("latest.h5"), &options).unwrap().layout().length, Some(5));
    }

    #[test]
    fn a_soft_link_of_a_group_of_version_1_leads_to_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.h5");
        let mut file = fs::read(fixture("chunked.h5")).unwrap();
        // The entry of `note` is the second of the first group.
        let entry = file.windows(4).position(|name| name == b"SNOD").unwrap() + 8 + 40;
        file[entry + 8..entry + 16].fill(0xff);
        file[entry + 16..entry + 20].copy_from_slice(&SOFT_LINK);
        fs::write(&path, file).unwrap();
        assert_holds(&path, 2, Some(500.0), &values(120));
        assert!(layout_of(&path).notes.is_empty());
    }

    #[test]
    fn halves_bools_and_complex_numbers_are_read_and_others_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.h5");
        let all = values(120);
        let write = |kind: &Datatype, shape: &[u64], bytes: Vec<u8>| {
            let mut file = FileBuilder::new();
            file.create_dataset("x").with_raw_data(kind.clone(), bytes, shape.iter().product()).with_shape(shape);
            file.write(&path).unwrap();
        };
        let half = |exponent_size: u8| Datatype::FloatingPoint {
            size: 2,
            byte_order: DatatypeByteOrder::LittleEndian,
            layout: FloatingPointLayout {
                bit_offset: 0,
                bit_precision: 16,
                exponent_location: 15 - exponent_size,
                exponent_size,
                mantissa_location: 0,
                mantissa_size: 15 - exponent_size,
                exponent_bias: (1 << (exponent_size - 1)) - 1,
            },
        };
        write(&half(5), &[60, 2], all.iter().flat_map(|value| half::f16::from_f32(*value).to_le_bytes()).collect());
        assert_holds(&path, 2, None, &all);
        write(&half(8), &[120], vec![0; 240]);
        assert!(problem(&path).contains("no data set of numbers beside x (f16"), "{}", problem(&path));
        let bools = EnumTypeBuilder::u8_based().u8_value("FALSE", 0).u8_value("TRUE", 1).build().unwrap();
        write(&bools, &[3], vec![1, 0, 1]);
        assert_holds(&path, 1, None, &[1.0, 0.0, 1.0]);
        let complex = CompoundTypeBuilder::new().f32_field("r").f32_field("i").build().unwrap();
        let bytes: Vec<u8> = all.iter().flat_map(|value| value.to_le_bytes()).collect();
        write(&complex, &[30, 2], bytes.clone());
        assert_holds(&path, 4, None, &all);
        assert!(layout_of(&path).is_complex);
        // Channels one after the other.
        write(&complex, &[2, 30], bytes.clone());
        let rows = all[..60].chunks(2).zip(all[60..].chunks(2)).flat_map(|(a, b)| [a[0], a[1], b[0], b[1]]);
        assert_holds(&path, 4, None, &rows.collect::<Vec<_>>());
        for names in [["x", "y"], ["red", "ir"]] {
            let pairs = CompoundTypeBuilder::new().f32_field(names[0]).f32_field(names[1]).build().unwrap();
            write(&pairs, &[60], bytes.clone());
            assert!(problem(&path).contains("no data set of numbers beside x (compound"), "{}", problem(&path));
        }
    }

    #[test]
    fn a_data_set_that_is_named_is_read_alone() {
        let open = |file: &str, dataset: &str| {
            let options = ReadOptions { dataset: Some(dataset.into()), ..ReadOptions::default() };
            super::super::open_with(&fixture(file), &options).map(|reader| reader.layout().clone())
        };
        for (file, dataset, channels, length, rate) in [
            ("latest.h5", "short", 1, 5, 250.0),
            ("latest.h5", "x", 2, 60, 250.0),
            ("chunked.h5", "/g/x", 2, 60, 500.0),
            ("matlab.mat", "FE", 1, 60, 12_000.0),
        ] {
            let layout = open(file, dataset).unwrap();
            assert_eq!(
                (layout.channels, layout.length, layout.rate),
                (channels, Some(length), Some(rate)),
                "{dataset}"
            );
            assert!(layout.notes.is_empty(), "{:?}", layout.notes);
        }
        let error = open("matlab.mat", "DF").unwrap_err().to_string();
        assert!(error.ends_with("no data set of numbers `DF`; --dataset takes DE, FE"), "{error}");
        assert!(layout("latest.h5").notes[0].to_string().starts_with("without --dataset, data sets"));
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
