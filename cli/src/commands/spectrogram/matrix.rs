//! Output of a spectrogram as a NumPy array.

use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use anyhow::{Result, ensure};
use bytemuck::{cast_slice, pod_collect_to_vec};
use firefly_app::files::AtomicFile;
use firefly_recordings::npy_header;

use crate::output_lock::OutputLock;
use crate::table::commit;

/// Bytes of the header, which is as long however many rows there are.
const HEADER_BYTES: usize = 128;

pub fn ensure_npy(path: &Path) -> Result<()> {
    let is_npy = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npy"));
    ensure!(is_npy, "{}: a spectrogram is written as .npy", path.display());
    Ok(())
}

/// Writer of a NumPy array `[rows, columns]` of floats, which continues the file of a killed command.
pub struct NpyMatrix {
    out: BufWriter<AtomicFile>,
    columns: usize,
    rows: u64,
}

impl NpyMatrix {
    /// The array of a locked output, behind the rows that are [read](Self::read) first.
    pub fn create(lock: &OutputLock, columns: usize) -> io::Result<Self> {
        let file = AtomicFile::continue_locked(lock.output())?;
        lock.keep_output();
        let mut matrix = Self { out: BufWriter::with_capacity(1 << 16, file), columns, rows: 0 };
        // The number of rows is known last.
        matrix.out.write_all(&matrix.header())?;
        matrix.out.flush()?;
        Ok(matrix)
    }

    fn header(&self) -> Vec<u8> {
        let numbers = if cfg!(target_endian = "big") { "'>f4'" } else { "'<f4'" };
        npy_header(numbers, &[self.rows, self.columns as u64], HEADER_BYTES)
    }

    /// The next `rows` rows of the file that a killed command left behind, if they are there and have the checksum.
    /// They are kept.
    pub fn read(&mut self, rows: usize, checksum: u32) -> io::Result<Option<Vec<f32>>> {
        let length = rows.saturating_mul(self.columns).saturating_mul(4);
        let (file, mut bytes) = (self.out.get_mut(), Vec::new());
        (&mut *file).take(length as u64).read_to_end(&mut bytes)?;
        let is_whole = bytes.len() == length && crc32fast::hash(&bytes) == checksum;
        self.rows += if is_whole { rows as u64 } else { 0 };
        file.seek(SeekFrom::Start(HEADER_BYTES as u64 + self.rows * self.columns as u64 * 4))?;
        Ok(is_whole.then(|| pod_collect_to_vec(&bytes)))
    }

    pub fn write(&mut self, power: &[f32]) -> io::Result<()> {
        self.rows += (power.len() / self.columns) as u64;
        self.out.write_all(cast_slice(power))
    }

    /// Completes the file and moves it to its place.
    pub fn finish(mut self) -> io::Result<()> {
        // What a killed command wrote behind the rows that were kept.
        self.out.flush()?;
        self.out.get_ref().set_len(HEADER_BYTES as u64 + self.rows * self.columns as u64 * 4)?;
        let header = self.header();
        self.out.seek(SeekFrom::Start(0))?;
        self.out.write_all(&header)?;
        commit(self.out)
    }
}

/// Checksum of rows as they are in the file.
pub fn checksum(power: &[f32]) -> u32 {
    crc32fast::hash(cast_slice(power))
}
