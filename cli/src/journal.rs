//! Journal of a command's results, from which a killed command continues.
//!
//! The journal of the output `NAME` is `NAME.journal`. Its first line states the job: version, options and files. Then
//! follow the values of one block each, with a checksum of all entries so far, which an entry that is lost, doubled or
//! moved breaks. A command that is started again with the same job takes those from it and continues behind them, so
//! that the output has the bytes of an uninterrupted run. A journal of another job is replaced; any other file is
//! refused.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};

use anyhow::{Context, Result};
use crc32fast::Hasher;
use firefly_recordings::Block;

use crate::output_lock::{HEADER, OutputLock};
use crate::pipeline::OpenRecording;

/// Largest entry that is read: a block's values are smaller than its samples, or one spectrum per channel.
const MAX_ENTRY_BYTES: usize = 1 << 30;

/// Values that a journal holds.
pub trait Payload: Sized {
    fn encode(&self, out: &mut Vec<u8>);

    /// The values; `None` if the bytes are none.
    fn decode(bytes: &[u8]) -> Option<Self>;
}

/// Entry of a journal, which the threads of the pipeline pass on.
#[derive(Debug, Clone, PartialEq)]
pub enum JournalEntry<T> {
    /// Samples of a block of a recording, or the values computed from them.
    Block(OpenRecording, Block<T>),
    /// End of a recording, with the reason if it is an error; one that could not be opened has no channels.
    End(OpenRecording, Option<String>),
}

/// Journal of a job, in the file of the lock on its output.
pub struct Journal<'a> {
    out: BufWriter<&'a File>,
    /// Checksum of the payloads so far.
    checksum: Hasher,
}

impl<'a> Journal<'a> {
    /// The journal of a job. Hands the entries of the same job to `replay`, in order, until it returns false for one that
    /// it can't continue from; that one, those behind it, and entries of another job are dropped.
    pub fn replay<T: Payload>(
        lock: &'a OutputLock,
        job: &str,
        mut replay: impl FnMut(JournalEntry<T>) -> Result<bool>,
    ) -> Result<Self> {
        lock.keep_journal();
        let statement = format!("{HEADER}{job}\n");
        let mut file = lock.file();
        file.rewind()?;
        let mut input = BufReader::with_capacity(1 << 16, file);
        let mut line = Vec::new();
        input.by_ref().take(statement.len() as u64).read_until(b'\n', &mut line)?;
        let (mut length, mut checksum) = (0, Hasher::new());
        if line == statement.as_bytes() {
            length = line.len() as u64;
            while let Some((entry, bytes, with_entry)) = read_entry(&mut input, &checksum)? {
                if !replay(entry)? {
                    break;
                }
                (length, checksum) = (length + bytes, with_entry);
            }
        }
        // What follows the last whole entry was being written when the command was killed.
        let mut continued = || -> io::Result<BufWriter<&'a File>> {
            file.set_len(length)?;
            file.seek(SeekFrom::End(0))?;
            let mut out = BufWriter::new(file);
            if length == 0 {
                out.write_all(statement.as_bytes())?;
                out.flush()?;
            }
            Ok(out)
        };
        let out = continued().with_context(|| format!("writing the journal {}", lock.journal().display()))?;
        Ok(Self { out, checksum })
    }

    pub fn append<T: Payload>(&mut self, entry: &JournalEntry<T>) -> io::Result<()> {
        let mut payload = Vec::new();
        encode(entry, &mut payload);
        self.checksum.update(&payload);
        self.out.write_all(&(payload.len() as u32).to_le_bytes())?;
        self.out.write_all(&self.checksum.clone().finalize().to_le_bytes())?;
        self.out.write_all(&payload)?;
        self.out.flush()
    }
}

fn encode<T: Payload>(entry: &JournalEntry<T>, bytes: &mut Vec<u8>) {
    let (recording, kind) = match entry {
        JournalEntry::Block(recording, _) => (recording, 0u8),
        JournalEntry::End(recording, None) => (recording, 1),
        JournalEntry::End(recording, Some(_)) => (recording, 2),
    };
    bytes.push(kind);
    bytes.extend((recording.source as u64).to_le_bytes());
    bytes.extend((recording.channels as u64).to_le_bytes());
    bytes.extend(recording.rate.to_le_bytes());
    bytes.extend(recording.centre.unwrap_or(f64::NAN).to_le_bytes());
    match entry {
        JournalEntry::Block(_, block) => {
            bytes.extend(block.first.to_le_bytes());
            bytes.extend((block.count as u64).to_le_bytes());
            block.values.encode(bytes);
        }
        JournalEntry::End(_, Some(reason)) => bytes.extend(reason.bytes()),
        JournalEntry::End(_, None) => {}
    }
}

/// The next entry, its bytes in the file, and the checksum with it; `None` at the end, or where an entry is not whole or
/// does not follow those that `checksum` is of.
fn read_entry<T: Payload>(input: &mut impl Read, checksum: &Hasher) -> Result<Option<(JournalEntry<T>, u64, Hasher)>> {
    let mut head = [0; 8];
    if input.read_exact(&mut head).is_err() {
        return Ok(None);
    }
    let [a, b, c, d, crc @ ..] = head;
    let length = u32::from_le_bytes([a, b, c, d]) as usize;
    if length > MAX_ENTRY_BYTES {
        return Ok(None);
    }
    let mut payload = Vec::new();
    input.take(length as u64).read_to_end(&mut payload)?;
    let mut checksum = checksum.clone();
    checksum.update(&payload);
    if payload.len() < length || checksum.clone().finalize() != u32::from_le_bytes(crc) {
        return Ok(None);
    }
    Ok(decode(&payload).map(|entry| (entry, (head.len() + length) as u64, checksum)))
}

fn decode<T: Payload>(payload: &[u8]) -> Option<JournalEntry<T>> {
    let (&kind, mut rest) = payload.split_first()?;
    let mut number = || {
        let (number, left) = rest.split_first_chunk::<8>()?;
        rest = left;
        Some(u64::from_le_bytes(*number))
    };
    let recording = OpenRecording {
        source: number()? as usize,
        channels: number()? as usize,
        rate: f64::from_bits(number()?),
        centre: Some(number()?).filter(|bits| *bits != f64::NAN.to_bits()).map(f64::from_bits),
    };
    match kind {
        0 => {
            let (first, count) = (number()?, number()? as usize);
            Some(JournalEntry::Block(recording, Block { first, count, values: T::decode(rest)? }))
        }
        1 => Some(JournalEntry::End(recording, None)),
        2 => Some(JournalEntry::End(recording, Some(String::from_utf8_lossy(rest).into_owned()))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::peak_values::PeakValues;

    impl Payload for Vec<u8> {
        fn encode(&self, out: &mut Vec<u8>) {
            out.extend(self);
        }

        fn decode(bytes: &[u8]) -> Option<Self> {
            Some(bytes.to_vec())
        }
    }

    fn entries() -> Vec<JournalEntry<Vec<u8>>> {
        let recording = OpenRecording { source: 3, channels: 2, rate: 12_000.5, centre: None };
        let block = |first| Block { first, count: 2, values: vec![1, 255, 7, 9] };
        vec![
            JournalEntry::Block(recording, block(0)),
            JournalEntry::Block(recording, block(2)),
            JournalEntry::End(recording, None),
            JournalEntry::End(
                OpenRecording { source: 4, channels: 0, rate: 0.0, centre: Some(1e9) },
                Some("no file".to_owned()),
            ),
        ]
    }

    /// Opens a journal and appends entries, and returns what it replays.
    fn reopened(output: &Path, job: &str, appended: &[JournalEntry<Vec<u8>>]) -> Vec<JournalEntry<Vec<u8>>> {
        let mut found = Vec::new();
        let lock = OutputLock::of(output).unwrap();
        let mut journal = Journal::replay(&lock, job, |entry| {
            found.push(entry);
            Ok(true)
        });
        let journal = journal.as_mut().unwrap();
        appended.iter().for_each(|entry| journal.append(entry).unwrap());
        found
    }

    #[test]
    fn a_journal_cut_anywhere_replays_its_whole_entries_and_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("x.csv");
        let path = folder.path().join("x.csv.journal");
        assert!(reopened(&output, "{}", &entries()).is_empty());
        let whole = fs::read(&path).unwrap();
        for cut in 0..=whole.len() {
            fs::write(&path, &whole[..cut]).unwrap();
            let found = reopened(&output, "{}", &[]);
            assert_eq!(found, entries()[..found.len()]);
            assert_eq!(reopened(&output, "{}", &entries()[found.len()..]), found);
            assert_eq!(fs::read(&path).unwrap(), whole, "cut at {cut}");
        }
        let mut damaged = whole.clone();
        damaged[40] ^= 1;
        fs::write(&path, damaged).unwrap();
        assert!(reopened(&output, "{}", &[]).is_empty());
    }

    #[test]
    fn a_journal_of_another_job_is_replaced_and_one_in_use_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("x.csv");
        reopened(&output, "a", &entries()[..1]);
        let lock = OutputLock::of(&output).unwrap();
        assert!(OutputLock::of(&output).is_err());
        drop(lock);
        assert!(reopened(&output, "b", &[]).is_empty());
        OutputLock::of(&output).unwrap().remove().unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn entries_that_are_lost_doubled_or_moved_end_the_replay() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("x.csv");
        let path = folder.path().join("x.csv.journal");
        reopened(&output, "{}", &[]);
        let mut ends = vec![fs::read(&path).unwrap().len()];
        for entry in entries() {
            reopened(&output, "{}", &[entry]);
            ends.push(fs::read(&path).unwrap().len());
        }
        let bytes = fs::read(&path).unwrap();
        let of = |entry: usize| &bytes[ends[entry]..ends[entry + 1]];
        for (order, kept) in [(&[0, 0, 1, 2, 3][..], 1), (&[1, 2, 3], 0), (&[0, 2, 1, 3], 1), (&[0, 1, 3], 2)] {
            let entries_in_order = order.iter().flat_map(|entry| of(*entry));
            fs::write(&path, bytes[..ends[0]].iter().chain(entries_in_order).copied().collect::<Vec<_>>()).unwrap();
            assert_eq!(reopened(&output, "{}", &[]), entries()[..kept], "{order:?}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn files_that_are_no_journals_are_refused_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let (output, precious) = (folder.path().join("x.csv"), folder.path().join("precious"));
        let path = folder.path().join("x.csv.journal");
        let refusal = || OutputLock::of(&output).err().unwrap();
        fs::write(&path, "my notes").unwrap();
        assert!(refusal().to_string().contains("is no journal"));
        assert_eq!(fs::read(&path).unwrap(), b"my notes");
        fs::remove_file(&path).unwrap();
        fs::write(&precious, "").unwrap();
        std::os::unix::fs::symlink(&precious, &path).unwrap();
        assert!(format!("{:#}", refusal()).contains("it is a link"));
        assert_eq!(fs::read(&precious).unwrap(), b"");
    }

    #[test]
    fn an_entry_that_is_refused_is_dropped_with_those_behind_it() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("x.csv");
        reopened(&output, "a", &entries());
        let (mut count, lock) = (0, OutputLock::of(&output).unwrap());
        let journal = Journal::replay(&lock, "a", |_: JournalEntry<Vec<u8>>| {
            count += 1;
            Ok(count < 2)
        });
        drop(journal.unwrap());
        drop(lock);
        assert_eq!(reopened(&output, "a", &[]), entries()[..1]);
    }

    proptest! {
        #[test]
        fn a_damaged_journal_replays_its_entries_before_the_damage(
            damages in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let output = folder.path().join("x.csv");
            let path = folder.path().join("x.csv.journal");
            reopened(&output, "{}", &entries());
            let mut bytes = fs::read(&path).unwrap();
            for (place, byte) in damages {
                let place = HEADER.len() + place.index(bytes.len() - HEADER.len());
                bytes[place] = byte;
            }
            fs::write(&path, bytes).unwrap();
            let found = reopened(&output, "{}", &[]);
            prop_assert_eq!(&found[..], &entries()[..found.len()]);
        }

        #[test]
        fn any_bytes_are_an_entry_or_none(kind in 0u8..4, columns in 0u8..6, bytes in vec(any::<u8>(), 0..200)) {
            let mut payload = vec![kind];
            payload.extend(&bytes);
            if let Some(place) = payload.get_mut(1 + 6 * 8) {
                *place = columns;
            }
            if let Some(entry) = decode::<PeakValues>(&payload) {
                let mut encoded = Vec::new();
                encode(&entry, &mut encoded);
                match entry {
                    JournalEntry::Block(..) => prop_assert_eq!(encoded, payload),
                    JournalEntry::End(_, None) => prop_assert!(payload.starts_with(&encoded)),
                    JournalEntry::End(_, Some(_)) => prop_assert_eq!(kind, 2),
                }
            }
        }
    }
}
