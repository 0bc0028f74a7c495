//! TDMS files of LabVIEW and DIAdem (National Instruments, "TDMS File Format Internal Structure").

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use super::parts::{Calibration, Part, PartsReader, Ranges};
use super::raw::{NumberFormat, little_endian, positive, read_full};
use super::{Format, RecordingLayout, open_file};
use crate::error::Result;

/// Bytes of a segment's head: a tag, contents, version, and the positions of the next segment and of the numbers.
const HEAD_BYTES: u64 = 28;
/// Bits of a segment's contents.
const NEW_LIST: u32 = 1 << 2;
const RAW_DATA: u32 = 1 << 3;
const INTERLEAVED: u32 = 1 << 5;
const BIG_ENDIAN: u32 = 1 << 6;
const DAQMX: u32 = 1 << 7;
/// Index of an object without numbers in a segment.
const NO_DATA: u32 = u32::MAX;
/// Types of values: text, a byte that is true or false, and a time of 16 bytes.
const TEXT: u32 = 0x20;
const FLAG: u32 = 0x21;
const TIME: u32 = 0x44;
/// Longest text, in bytes, and most objects, properties and segments: more are damage.
const MOST_BYTES: u32 = 1 << 20;
const MOST_ITEMS: u32 = 1 << 20;

/// Opens the longest channels of one rate of a file.
pub(super) fn open(path: &Path) -> Result<PartsReader> {
    let problem = |reason: String| Format::Tdms.problem(reason);
    let mut scan =
        Scan { objects: Vec::new(), order: Vec::new(), numbers: HashMap::new(), layout: RecordingLayout::default() };
    scan.run(open_file(path)?)?;
    let Scan { objects, mut layout, .. } = scan;
    let channels: Vec<Object> = objects.into_iter().filter(|object| object.length > 0).collect();
    let longest = channels.iter().filter(|object| object.numbers().is_some()).max_by_key(|object| object.length);
    let (length, rate) = longest.map_or((0, None), |object| (object.length, object.rate()));
    let is_kept = |object: &&Object| object.length == length && object.rate() == rate && object.numbers().is_some();
    let (kept, others): (Vec<_>, Vec<_>) = channels.iter().partition(is_kept);
    // Channels of several groups may have one name.
    let are_distinct = channels.iter().map(Object::name).collect::<HashSet<_>>().len() == channels.len();
    let name = |object: &Object| if are_distinct { object.name() } else { object.full_name() };
    let names = |objects: &[&Object]| objects.iter().map(|object| name(object)).collect::<Vec<_>>().join(", ");
    layout.left_out("channels of other lengths, rates, types or scales are", others.iter().map(|object| name(object)));
    if kept.is_empty() {
        return Err(problem(format!("it has no channel of numbers but {}", names(&others))));
    }
    layout.rate = rate;
    let file = Arc::new(open_file(path)?);
    let mut parts = Vec::new();
    for object in kept {
        let Some((numbers, calibration)) = object.numbers() else { continue };
        let ranges = Ranges::new(file.clone(), object.ranges.clone());
        let stream = Box::new(BufReader::with_capacity(1 << 16, ranges));
        parts.push(Part { stream, numbers, channels: vec![calibration] });
        layout.titles.push(name(object));
        layout.units.push(object.texts.get("unit_string").cloned().unwrap_or_default());
    }
    PartsReader::new(Format::Tdms, parts, length, layout)
}

/// Format of numbers of a type; none of other values.
fn number_format(kind: u32) -> Option<NumberFormat> {
    Some(match kind {
        1..=4 => NumberFormat::signed(1 << (kind - 1)),
        5..=8 => NumberFormat::unsigned(1 << (kind - 5)),
        9 | 0x19 => NumberFormat::float(4),
        10 | 0x1a => NumberFormat::float(8),
        _ => return None,
    })
}

/// Object of a file: a channel, a group, or the file itself.
#[derive(Debug, Clone, Default)]
struct Object {
    path: String,
    /// Type of its values, how many it has in a chunk of the current segment, their bytes, and whether it has any there.
    kind: u32,
    count: u64,
    bytes: u64,
    is_here: bool,
    is_big_endian: bool,
    /// Ranges of the file with its numbers, and the number of those.
    ranges: Vec<(u64, u64)>,
    length: u64,
    texts: HashMap<String, String>,
    values: HashMap<String, f64>,
}

impl Object {
    /// Format of its numbers and their scale; none of those that are not read.
    fn numbers(&self) -> Option<(NumberFormat, Calibration)> {
        number_format(self.kind).map(|numbers| numbers.in_order(self.is_big_endian)).zip(self.calibration())
    }

    /// Bytes of a value; none for text.
    fn width(&self) -> Option<u64> {
        match self.kind {
            FLAG => Some(1),
            TIME => Some(16),
            kind => number_format(kind).map(|numbers| numbers.bytes() as u64),
        }
    }

    /// Samples per second, by the time from one to the next.
    fn rate(&self) -> Option<f64> {
        let step = self.values.get("wf_increment").copied().and_then(positive);
        step.map(|step| 1.0 / step)
            .map(|rate| if (rate - rate.round()).abs() < 1e-9 * rate { rate.round() } else { rate })
    }

    /// Linear scale of numbers that are not scaled; none for other scales.
    fn calibration(&self) -> Option<Calibration> {
        let count = self.values.get("NI_Number_Of_Scales").copied().unwrap_or(0.0);
        let is_scaled = self.texts.get("NI_Scaling_Status").is_none_or(|status| status == "scaled");
        if count == 0.0 || is_scaled {
            return Some(Calibration::NONE);
        }
        let is_linear = count == 1.0 && self.texts.get("NI_Scale[0]_Scale_Type").is_some_and(|kind| kind == "Linear");
        let value = |name: &str| self.values.get(&format!("NI_Scale[0]_Linear_{name}")).copied();
        let (gain, offset) = (value("Slope")?, value("Y_Intercept")?);
        is_linear.then_some(Calibration { gain, offset, missing: None })
    }

    /// Last part of the path `/'group'/'channel'`.
    fn name(&self) -> String {
        let last = self.path.rsplit("/'").next().unwrap_or_default();
        last.trim_end_matches('\'').replace("''", "'")
    }

    /// Names of its group and of itself.
    fn full_name(&self) -> String {
        let path = self.path.trim_start_matches("/'").trim_end_matches('\'');
        path.replace("'/'", "/").replace("''", "'")
    }
}

/// Objects of the segments that were read.
struct Scan {
    objects: Vec<Object>,
    /// Places of the objects of the current segment, in the order of their numbers.
    order: Vec<usize>,
    /// Places of objects by their path.
    numbers: HashMap<String, usize>,
    layout: RecordingLayout,
}

impl Scan {
    fn run(&mut self, mut file: File) -> Result<()> {
        let problem = |reason: &str| Format::Tdms.problem(reason);
        let bytes = file.metadata()?.len();
        let mut at = 0;
        while at + HEAD_BYTES <= bytes {
            file.seek(SeekFrom::Start(at))?;
            let mut head = [0; HEAD_BYTES as usize];
            file.read_exact(&mut head)?;
            if !head.starts_with(b"TDSm") {
                return Err(problem("a segment does not begin with the format's tag"));
            }
            let mut words = Words { input: &mut &head[4..], big_endian: false };
            let contents = words.u32()?;
            words.big_endian = contents & BIG_ENDIAN > 0;
            let _version = words.u32()?;
            let [next, raw] = [words.u64()?, words.u64()?];
            if contents & DAQMX > 0 {
                return Err(problem("it has raw data of DAQmx: convert it with scaled values"));
            }
            let start = at + HEAD_BYTES;
            // A program that stopped while it wrote leaves the last segment without its length.
            let end = if next == u64::MAX { Some(bytes) } else { start.checked_add(next) };
            let (Some(end), Some(numbers)) = (end, start.checked_add(raw)) else {
                return Err(problem("a segment is longer than a file"));
            };
            let is_cut = end > bytes || next == u64::MAX;
            if is_cut {
                self.layout.lost("truncated: it ends inside its last segment");
            }
            if contents & NEW_LIST > 0 {
                self.order.clear();
            }
            let mut input = BufReader::new((&mut file).take(raw));
            if raw > 0 {
                let described = self.metadata(&mut Words { input: &mut input, big_endian: contents & BIG_ENDIAN > 0 });
                // The segments before a description that is cut are read.
                match described {
                    Err(_) if is_cut && self.objects.iter().any(|object| object.length > 0) => return Ok(()),
                    described => described?,
                }
            }
            if contents & RAW_DATA > 0 {
                self.data(numbers, end.min(bytes), contents)?;
            }
            at = end;
        }
        if at < bytes {
            self.layout.lost("truncated: it ends inside the head of its last segment");
        }
        Ok(())
    }

    /// Reads the objects of a segment.
    fn metadata(&mut self, words: &mut Words<'_>) -> Result<()> {
        for _ in 0..words.count()? {
            let path = words.text()?;
            let place = *self.numbers.entry(path.clone()).or_insert(self.objects.len());
            if place == self.objects.len() {
                self.objects.push(Object { path, ..Object::default() });
            }
            let object = &mut self.objects[place];
            match words.u32()? {
                NO_DATA => object.is_here = false,
                // As in the segment before.
                0 => object.is_here = true,
                20 | 28 => {
                    let (kind, _dimensions, count) = (words.u32()?, words.u32()?, words.u64()?);
                    let text_bytes = if kind == TEXT { words.u64()? } else { 0 };
                    if object.length > 0 && object.kind != kind {
                        return Err(Format::Tdms.problem(format!("the type of channel {} changes", object.name())));
                    }
                    (object.kind, object.count, object.is_here) = (kind, count, true);
                    object.bytes = match (kind, object.width()) {
                        (TEXT, _) => text_bytes,
                        (_, Some(width)) => count.saturating_mul(width),
                        (_, None) => return Err(Format::Tdms.problem(format!("a channel has values of type {kind}"))),
                    };
                }
                other => return Err(Format::Tdms.problem(format!("a channel has an index of {other} bytes"))),
            }
            for _ in 0..words.count()? {
                let name = words.text()?;
                match words.u32()? {
                    TEXT => _ = object.texts.insert(name, words.text()?),
                    kind => _ = object.values.insert(name, words.number(kind)?),
                }
            }
            if !self.order.contains(&place) {
                self.order.push(place);
            }
        }
        Ok(())
    }

    /// Adds the ranges of the values of a segment, which are chunks of all its channels.
    fn data(&mut self, start: u64, end: u64, contents: u32) -> Result<()> {
        let here: Vec<usize> = self.order.iter().copied().filter(|place| self.objects[*place].is_here).collect();
        let chunk = here.iter().map(|place| self.objects[*place].bytes).fold(0, u64::saturating_add);
        if contents & INTERLEAVED > 0 && here.len() > 1 {
            return Err(Format::Tdms.problem("its channels are interleaved: save it with contiguous ones"));
        }
        let is_big_endian = contents & BIG_ENDIAN > 0;
        let mut at = start;
        while at < end && chunk > 0 {
            // Of several channels, all have the values of a chunk that is whole.
            let rest = end - at;
            if rest < chunk && here.len() > 1 {
                break;
            }
            let mut from = at;
            for place in &here {
                let object = &mut self.objects[*place];
                let Some(width) = object.width() else {
                    from = from.saturating_add(object.bytes);
                    continue;
                };
                if object.length > 0 && object.is_big_endian != is_big_endian {
                    return Err(Format::Tdms.problem(format!("the byte order of {} changes", object.name())));
                }
                object.is_big_endian = is_big_endian;
                let whole = object.count.min(rest / width);
                if whole > 0 {
                    object.length += whole;
                    let to = from + whole * width;
                    match object.ranges.last_mut().filter(|(_, last)| *last == from) {
                        Some((_, last)) => *last = to,
                        None => object.ranges.push((from, to)),
                    }
                }
                from = from.saturating_add(object.bytes);
            }
            at = at.saturating_add(chunk);
        }
        Ok(())
    }
}

/// Values of metadata.
struct Words<'a> {
    input: &'a mut dyn Read,
    big_endian: bool,
}

impl Words<'_> {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<()> {
        match read_full(&mut self.input, bytes)? {
            read if read == bytes.len() => Ok(()),
            _ => Err(Format::Tdms.problem("it ends inside the description of a segment")),
        }
    }

    fn u32(&mut self) -> Result<u32> {
        let mut bytes = [0; 4];
        self.fill(&mut bytes)?;
        Ok(u32::from_le_bytes(little_endian(bytes, self.big_endian)))
    }

    fn u64(&mut self) -> Result<u64> {
        let mut bytes = [0; 8];
        self.fill(&mut bytes)?;
        Ok(u64::from_le_bytes(little_endian(bytes, self.big_endian)))
    }

    /// A number of items.
    fn count(&mut self) -> Result<u32> {
        let count = self.u32()?;
        if count > MOST_ITEMS {
            return Err(Format::Tdms.problem(format!("a segment describes {count} items")));
        }
        Ok(count)
    }

    fn text(&mut self) -> Result<String> {
        let count = self.u32()?;
        let mut bytes = Vec::new();
        if count > MOST_BYTES || (&mut *self.input).take(count.into()).read_to_end(&mut bytes)? < count as usize {
            return Err(Format::Tdms.problem(format!("a text has {count} bytes")));
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// A value of a type as a number; 0 for a time.
    fn number(&mut self, kind: u32) -> Result<f64> {
        let numbers = match kind {
            FLAG => NumberFormat::unsigned(1),
            TIME => return self.fill(&mut [0; 16]).map(|()| 0.0),
            _ => number_format(kind).ok_or_else(|| Format::Tdms.problem(format!("a property has type {kind}")))?,
        };
        let mut bytes = vec![0; numbers.bytes()];
        self.fill(&mut bytes)?;
        Ok(numbers.in_order(self.big_endian).first(&bytes))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::SampleReader;
    use super::super::tests::{assert_holds, problem, values};
    use super::*;

    fn text(text: &str) -> Vec<u8> {
        [&(text.len() as u32).to_le_bytes(), text.as_bytes()].concat()
    }

    /// An object of doubles, its number of values, and properties: an increment of time, and a unit.
    fn object(path: &str, count: u64, step: f64) -> Vec<u8> {
        let index =
            [&20u32.to_le_bytes()[..], &10u32.to_le_bytes(), &1u32.to_le_bytes(), &count.to_le_bytes()].concat();
        let step = [text("wf_increment"), 10u32.to_le_bytes().to_vec(), step.to_le_bytes().to_vec()].concat();
        let unit = [text("unit_string"), TEXT.to_le_bytes().to_vec(), text("g")].concat();
        [text(path), index, 2u32.to_le_bytes().to_vec(), step, unit].concat()
    }

    /// A segment of objects and doubles.
    fn segment(contents: u32, objects: &[Vec<u8>], numbers: impl Iterator<Item = f32>) -> Vec<u8> {
        let metadata = match objects {
            [] => Vec::new(),
            objects => [&(objects.len() as u32).to_le_bytes()[..], &objects.concat()].concat(),
        };
        let data: Vec<u8> = numbers.flat_map(|value| f64::from(value).to_le_bytes()).collect();
        let mut bytes = b"TDSm".to_vec();
        bytes.extend((contents | RAW_DATA | if objects.is_empty() { 0 } else { 2 }).to_le_bytes());
        bytes.extend(4713u32.to_le_bytes());
        bytes.extend([(metadata.len() + data.len()) as u64, metadata.len() as u64].map(u64::to_le_bytes).concat());
        [bytes, metadata, data].concat()
    }

    #[test]
    fn channels_of_several_segments_and_chunks_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.tdms");
        let all = values(240);
        let channel =
            |channel: usize, from: usize, to: usize| all[2 * from..2 * to].iter().copied().skip(channel).step_by(2);
        let (a, b) = (object("/'g'/'a'", 20, 0.001), object("/'g'/'it''s'", 20, 0.001));
        // Three chunks of 20 values in the first segment, and two in the second, which has no description.
        let chunks = |from: usize, count: usize| {
            let chunk = move |index: usize| (from + 20 * index, from + 20 * index + 20);
            (0..count)
                .map(chunk)
                .flat_map(|(from, to)| channel(0, from, to).chain(channel(1, from, to)))
                .collect::<Vec<_>>()
        };
        let file = [
            segment(NEW_LIST, &[a.clone(), b.clone()], chunks(0, 3).into_iter()),
            segment(0, &[], chunks(60, 2).into_iter()),
            segment(NEW_LIST, &[a.clone(), b.clone()], chunks(100, 1).into_iter()),
        ]
        .concat();
        fs::write(&path, &file).unwrap();
        assert_holds(&path, 2, Some(1000.0), &all);
        let layout = open(&path).unwrap().layout().clone();
        assert_eq!(
            (&layout.titles[..], &layout.units[..]),
            (&["a".into(), "it's".into()][..], &["g".into(), "g".into()][..])
        );
        // Inside the head and the description of the last segment.
        let last = segment(NEW_LIST, &[a.clone(), b.clone()], chunks(100, 1).into_iter()).len();
        for held in [1, 20, 40, 200] {
            fs::write(&path, &file[..file.len() - last + held]).unwrap();
            let layout = open(&path).unwrap().layout().clone();
            assert!(layout.notes[0].to_string().contains("truncated") && layout.length == Some(100), "{layout:?}");
        }
        let other = object("/'h'/'a'", 20, 0.001);
        let groups = [a.clone(), other, object("/'h'/'c'", 20, 0.001)];
        fs::write(&path, segment(NEW_LIST, &groups, all[..60].iter().copied())).unwrap();
        assert_eq!(open(&path).unwrap().layout().titles, ["g/a", "h/a", "h/c"]);
        let interleaved = segment(NEW_LIST | INTERLEAVED, &[a.clone(), b.clone()], all.iter().copied());
        fs::write(&path, interleaved).unwrap();
        assert!(problem(&path).contains("channels are interleaved"));
        // A part of the last chunk, of a program that stopped.
        fs::write(&path, &file[..file.len() - 8]).unwrap();
        let layout = open(&path).unwrap().layout().clone();
        assert!(layout.notes[0].to_string().contains("truncated") && layout.length == Some(100), "{layout:?}");
        let slow = object("/'g'/'slow'", 20, 0.1);
        let two = segment(NEW_LIST, &[a, slow], chunks(0, 1).into_iter());
        fs::write(&path, &two).unwrap();
        let layout = open(&path).unwrap().layout().clone();
        assert_eq!((layout.channels, layout.rate), (1, Some(10.0)));
        assert!(layout.notes[0].to_string().contains("left out: a"), "{layout:?}");
        fs::write(&path, [&two[..4], &DAQMX.to_le_bytes(), &two[8..]].concat()).unwrap();
        assert!(problem(&path).contains("raw data of DAQmx"));
    }

    #[test]
    fn damaged_files_are_read_or_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.tdms");
        let valid = segment(NEW_LIST, &[object("/'g'/'a'", 20, 0.001)], values(20).into_iter());
        for at in 0..valid.len() {
            for byte in [0, 0xff, valid[at] ^ 2] {
                let mut damaged = valid.clone();
                damaged[at] = byte;
                fs::write(&path, damaged).unwrap();
                // Samples or an error, never a panic.
                let _ = crate::read_recording(&path);
            }
        }
    }
}
