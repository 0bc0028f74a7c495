//! Journal of a command's results, from which a killed command continues.
//!
//! The journal of the output `NAME` is `NAME.journal`. Its first line states the job: version, options and files. Then
//! follow the peaks of one block each, with a checksum. A command that is started again with the same job writes those
//! into a new output and continues behind them, so that the output has the bytes of an uninterrupted run. A journal of
//! another job is replaced.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::pipeline::Recording;

/// Largest entry that is read: a block's peaks are smaller than its samples.
const MOST_ENTRY_BYTES: usize = 1 << 30;

/// Peaks of one block of frames.
#[derive(Debug, Clone, PartialEq)]
pub struct PeakBlock {
    /// Number of the first frame.
    pub first: u64,
    /// Bins `[frames, channels, k]`; −1 where a frame has too few finite bins.
    pub bins: Vec<i32>,
    /// Power at those bins; NaN where the bin is −1.
    pub power: Vec<f32>,
}

/// Entry of a journal.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry {
    /// Peaks of a recording.
    Block(Recording, PeakBlock),
    /// End of a recording, with the reason if it is an error.
    End(Recording, Option<String>),
}

/// Journal file of an output, locked against a second command with the same output.
pub struct LockedJournal {
    path: PathBuf,
    file: File,
}

/// Journal of a job.
pub struct Journal {
    path: PathBuf,
    out: BufWriter<File>,
}

impl LockedJournal {
    /// The journal file of an output; made if there is none.
    ///
    /// # Errors
    /// If the file can't be written, or another process has it.
    pub fn of(output: &Path) -> Result<Self> {
        let mut name = output.as_os_str().to_owned();
        name.push(".journal");
        let path = PathBuf::from(name);
        let lock = || -> Result<File> {
            if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
                fs::create_dir_all(folder)?;
            }
            let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path)?;
            match file.try_lock() {
                Ok(()) => Ok(file),
                Err(fs::TryLockError::WouldBlock) => bail!("another process writes this output"),
                Err(fs::TryLockError::Error(error)) => Err(error.into()),
            }
        };
        let file = lock().with_context(|| format!("journal {}", path.display()))?;
        Ok(Self { path, file })
    }

    /// Hands the entries of the same job to `replay`, in order; those of another job are dropped.
    ///
    /// # Errors
    /// If the file can't be read or written, or `replay` fails.
    pub fn replay(mut self, job: &str, mut replay: impl FnMut(Entry) -> Result<()>) -> Result<Journal> {
        let mut input = BufReader::with_capacity(1 << 16, &self.file);
        let mut line = Vec::new();
        input.by_ref().take(job.len() as u64 + 1).read_until(b'\n', &mut line)?;
        let mut length = 0;
        if line == format!("{job}\n").as_bytes() {
            length = line.len() as u64;
            while let Some((entry, bytes)) = read_entry(&mut input)? {
                replay(entry)?;
                length += bytes;
            }
        }
        // What follows the last whole entry was being written when the command was killed.
        self.file.set_len(length)?;
        self.file.seek(SeekFrom::End(0))?;
        let mut out = BufWriter::new(self.file);
        if length == 0 {
            writeln!(out, "{job}")?;
            out.flush()?;
        }
        Ok(Journal { path: self.path, out })
    }
}

impl Journal {
    /// Appends an entry.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn append(&mut self, entry: &Entry) -> io::Result<()> {
        let payload = encode(entry);
        self.out.write_all(&(payload.len() as u32).to_le_bytes())?;
        self.out.write_all(&crc32fast::hash(&payload).to_le_bytes())?;
        self.out.write_all(&payload)?;
        self.out.flush()
    }

    /// Removes the journal of a finished job.
    ///
    /// # Errors
    /// If it can't be removed.
    pub fn remove(self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

fn encode(entry: &Entry) -> Vec<u8> {
    let mut bytes = Vec::new();
    let (recording, kind) = match entry {
        Entry::Block(recording, _) => (recording, 0u8),
        Entry::End(recording, None) => (recording, 1),
        Entry::End(recording, Some(_)) => (recording, 2),
    };
    bytes.push(kind);
    bytes.extend((recording.source as u64).to_le_bytes());
    bytes.extend((recording.channels as u64).to_le_bytes());
    bytes.extend(recording.rate.to_le_bytes());
    match entry {
        Entry::Block(_, block) => {
            bytes.extend(block.first.to_le_bytes());
            bytes.extend(block.bins.iter().flat_map(|bin| bin.to_le_bytes()));
            bytes.extend(block.power.iter().flat_map(|power| power.to_le_bytes()));
        }
        Entry::End(_, Some(reason)) => bytes.extend(reason.bytes()),
        Entry::End(_, None) => {}
    }
    bytes
}

/// The next entry and its bytes in the file; `None` at the end, or where an entry is not whole.
fn read_entry(input: &mut impl Read) -> Result<Option<(Entry, u64)>> {
    let mut head = [0; 8];
    if input.read_exact(&mut head).is_err() {
        return Ok(None);
    }
    let [a, b, c, d, crc @ ..] = head;
    let length = u32::from_le_bytes([a, b, c, d]) as usize;
    if length > MOST_ENTRY_BYTES {
        return Ok(None);
    }
    let mut payload = Vec::new();
    input.take(length as u64).read_to_end(&mut payload)?;
    if payload.len() < length || crc32fast::hash(&payload) != u32::from_le_bytes(crc) {
        return Ok(None);
    }
    Ok(decode(&payload).map(|entry| (entry, (head.len() + length) as u64)))
}

fn decode(payload: &[u8]) -> Option<Entry> {
    let (&kind, mut rest) = payload.split_first()?;
    let mut number = || {
        let (number, left) = rest.split_first_chunk::<8>()?;
        rest = left;
        Some(u64::from_le_bytes(*number))
    };
    let recording =
        Recording { source: number()? as usize, channels: number()? as usize, rate: f64::from_bits(number()?) };
    match kind {
        0 => {
            let first = number()?;
            let (bins, power) = rest.split_at(rest.len() / 2);
            let bins = bins.as_chunks().0.iter().map(|raw| i32::from_le_bytes(*raw)).collect();
            let power = power.as_chunks().0.iter().map(|raw| f32::from_le_bytes(*raw)).collect();
            Some(Entry::Block(recording, PeakBlock { first, bins, power }))
        }
        1 => Some(Entry::End(recording, None)),
        2 => Some(Entry::End(recording, Some(String::from_utf8_lossy(rest).into_owned()))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries() -> Vec<Entry> {
        let recording = Recording { source: 3, channels: 2, rate: 12_000.5 };
        let block = |first| PeakBlock { first, bins: vec![1, -1, 7, 9], power: vec![0.5, 2.0, 1e-30, 4.0] };
        vec![
            Entry::Block(recording, block(0)),
            Entry::Block(recording, block(2)),
            Entry::End(recording, None),
            Entry::End(Recording { source: 4, channels: 0, rate: 0.0 }, Some("no file".to_owned())),
        ]
    }

    /// Opens a journal, and returns what it replays.
    fn reopened(output: &Path, job: &str) -> (Journal, Vec<Entry>) {
        let mut found = Vec::new();
        let journal = LockedJournal::of(output).unwrap().replay(job, |entry| {
            found.push(entry);
            Ok(())
        });
        (journal.unwrap(), found)
    }

    #[test]
    fn a_journal_cut_anywhere_replays_its_whole_entries_and_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("x.csv");
        let path = folder.path().join("x.csv.journal");
        let (mut journal, found) = reopened(&output, "{}");
        assert!(found.is_empty());
        entries().iter().for_each(|entry| journal.append(entry).unwrap());
        drop(journal);
        let whole = fs::read(&path).unwrap();
        for cut in 0..=whole.len() {
            fs::write(&path, &whole[..cut]).unwrap();
            let (mut journal, found) = reopened(&output, "{}");
            assert_eq!(found, entries()[..found.len()]);
            entries()[found.len()..].iter().for_each(|entry| journal.append(entry).unwrap());
            drop(journal);
            assert_eq!(fs::read(&path).unwrap(), whole, "cut at {cut}");
        }
        let mut damaged = whole.clone();
        damaged[40] ^= 1;
        fs::write(&path, damaged).unwrap();
        assert!(reopened(&output, "{}").1.is_empty());
    }

    #[test]
    fn a_journal_of_another_job_is_replaced_and_one_in_use_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("x.csv");
        let (mut journal, _) = reopened(&output, "a");
        journal.append(&entries()[0]).unwrap();
        assert!(LockedJournal::of(&output).is_err());
        drop(journal);
        let (journal, found) = reopened(&output, "b");
        assert!(found.is_empty());
        journal.remove().unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
