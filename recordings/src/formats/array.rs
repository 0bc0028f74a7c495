//! Arrays of any rank, whole: NPY, NPZ and safetensors files.

use std::fs::File;
use std::io::{BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

use super::npy::{ArrayHeader, npy_header};
use super::npz;
use super::safetensors::TensorFile;
use super::{Format, open_file};
use crate::error::{RecordingError, RecordingProblem, Result};
use crate::memory::{SampleMemory, available_memory, bytes};
use crate::samples::{GrowingSamples, Samples};

/// Numbers that are decoded at a time.
const BLOCK: u64 = 1 << 16;
/// Extensions of the files that hold arrays, for messages.
const EXTENSIONS: &str = "npy, npz and safetensors";

/// Array of any rank, row-major.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Array {
    /// Length of each dimension.
    pub shape: Vec<usize>,
    /// The values, the last index fastest.
    pub values: Samples,
}

impl Array {
    /// The array in an NPY file, or the array `name` of an NPZ or a safetensors file. Numbers are taken as they are,
    /// rounded to f32. Values that would take more than a fourth of the available memory are kept in a temporary file.
    ///
    /// # Errors
    /// [`RecordingError::Array`] for a file that can't be read or is damaged, one in Fortran order that does not fit into
    /// memory, and one without an array of this name.
    pub fn read(path: &Path, name: &str) -> Result<Self, RecordingError> {
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        let array = match extension.to_ascii_lowercase().as_str() {
            "npy" => read_npy(path),
            "npz" => read_npz(path, name),
            "safetensors" => read_safetensors(path, name),
            _ => Err(format!("its extension names no format of arrays (accepted: {EXTENSIONS})")),
        };
        array.map_err(|reason| RecordingError::Array { path: path.into(), reason })
    }

    /// The bytes of an NPY file of the array, little-endian f32 in C order.
    pub fn to_npy(&self) -> Vec<u8> {
        let shape: Vec<u64> = self.shape.iter().map(|size| *size as u64).collect();
        let mut out = npy_header("'<f4'", &shape, 0);
        out.extend(self.values.iter().flat_map(|value| value.to_le_bytes()));
        out
    }

    /// Decodes the bytes of an array, which may take `memory`; beyond that its values are in a temporary file.
    fn decoded(header: &ArrayHeader, input: &mut impl Read, memory: SampleMemory) -> Result<Self, String> {
        if header.numbers.is_complex() {
            return Err("its numbers are complex".into());
        }
        let width = header.numbers.bytes();
        let count = header.shape.iter().try_fold(1u64, |product, size| product.checked_mul(*size));
        let count = count.ok_or("its shape is more than a file can hold")?;
        if header.fortran_order {
            // Its values are put in another order in memory once they are read.
            ensure_available(count.saturating_mul(size_of::<f32>() as u64), "its array in Fortran order")?;
        }
        let mut read = GrowingSamples::new(memory);
        let (mut raw, mut block) = (Vec::new(), Vec::new());
        let mut done = 0;
        while done < count {
            let length = (count - done).min(BLOCK) as usize;
            raw.resize(length * width, 0);
            input.read_exact(&mut raw).map_err(|error| match error.kind() {
                ErrorKind::UnexpectedEof => "it ends before its array does".to_owned(),
                _ => error.to_string(),
            })?;
            block.clear();
            header.numbers.decode(&raw, &mut block);
            if let Some((place, number)) = header.numbers.first_beyond_f32(&raw, &block) {
                let place = done + place as u64;
                return Err(format!(
                    "its value {place} is {number:e}, beyond the {:e} of numbers of 32 bits",
                    f32::MAX
                ));
            }
            read.push(&block).map_err(|error| RecordingProblem::TemporaryFile(error).to_string())?;
            done += length as u64;
        }
        let mut values = read.finish().map_err(|error| RecordingProblem::TemporaryFile(error).to_string())?;
        let shape: Vec<usize> = header.shape.iter().map(|size| *size as usize).collect();
        if header.fortran_order {
            values = row_major(&shape, &values).into();
        }
        Ok(Self { shape, values })
    }
}

/// Checks that `what`, of so many bytes, fits into memory.
fn ensure_available(needed: u64, what: &str) -> Result<(), String> {
    match available_memory() {
        Some(available) if needed > available => {
            let (needed, available) = (bytes(needed), bytes(available));
            Err(format!("{what} takes {needed} of memory while it is read, and {available} are left"))
        }
        _ => Ok(()),
    }
}

/// Values in C order of an array in Fortran order.
fn row_major(shape: &[usize], values: &[f32]) -> Vec<f32> {
    // The first dimension is the fastest.
    let strides: Vec<usize> = (0..shape.len()).map(|dim| shape[..dim].iter().product()).collect();
    let place = |mut index: usize| {
        shape.iter().zip(&strides).rev().fold(0, |place, (size, stride)| {
            let coordinate = index % size;
            index /= size;
            place + coordinate * stride
        })
    };
    (0..values.len()).map(|index| values[place(index)]).collect()
}

fn read_npy(path: &Path) -> Result<Array, String> {
    let read = || ArrayHeader::read(&mut BufReader::new(open_file(path)?), Format::Npy);
    read_numbers(path, &read().map_err(|problem: RecordingProblem| problem.to_string())?)
}

fn read_npz(path: &Path, name: &str) -> Result<Array, String> {
    let described = |problem: RecordingProblem| problem.to_string();
    let members = npz::members(path).map_err(described)?;
    let Some(member) = members.iter().find(|member| member.name == name) else {
        return Err(without(name, members.iter().map(|member| member.name.as_str())));
    };
    let mut input = member.open(path).map_err(described)?;
    let header = ArrayHeader::read(&mut input, Format::Npz).map_err(described)?;
    Array::decoded(&header, &mut input, SampleMemory::of_table())
}

fn read_safetensors(path: &Path, name: &str) -> Result<Array, String> {
    let read = || -> Result<_> {
        let file = TensorFile::open(path)?;
        let header = file.tensor(name).transpose()?;
        Ok(header.ok_or_else(|| without(name, file.names().iter().map(String::as_str))))
    };
    let header = read().map_err(|problem| problem.to_string())??;
    read_numbers(path, &header)
}

/// The array in a file whose numbers follow each other from `header.bytes` on.
fn read_numbers(path: &Path, header: &ArrayHeader) -> Result<Array, String> {
    let opened = || {
        let mut file = BufReader::new(File::open(path)?);
        file.seek(SeekFrom::Start(header.bytes)).map(|_| file)
    };
    Array::decoded(header, &mut opened().map_err(|error: std::io::Error| error.to_string())?, SampleMemory::of_table())
}

/// Message about a file without the array `name`.
fn without<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    let found = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    format!("it has no array `{name}`; its arrays are {found}")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use safetensors::Dtype;

    use super::*;

    #[test]
    fn arrays_survive_their_npy_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npy");
        for shape in [vec![6], vec![2, 3], vec![1, 2, 3, 1]] {
            let array = Array { shape, values: vec![0.5, -1.0, 2.0, 3.25, 1e-30, 7.0].into() };
            fs::write(&path, array.to_npy()).unwrap();
            assert_eq!(Array::read(&path, "x").unwrap(), array);
            assert_eq!((array.to_npy().len() - 24) % 64, 0, "numbers begin at a multiple of 64 bytes");
        }
    }

    #[test]
    fn fortran_order_becomes_c_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npy");
        let text =
            String::from_utf8_lossy(&Array { shape: vec![2, 3], values: Samples::default() }.to_npy()).into_owned();
        assert!(text.contains("'fortran_order': False"));
        // Columns one after the other; the dictionary keeps its length.
        let mut file = Array { shape: vec![2, 3], values: vec![1.0, 4.0, 2.0, 5.0, 3.0, 6.0].into() }.to_npy();
        let place = file.windows(5).position(|bytes| bytes == b"False").unwrap();
        file[place..place + 5].copy_from_slice(b"True ");
        fs::write(&path, file).unwrap();
        assert_eq!(Array::read(&path, "x").unwrap().values[..], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    }

    #[test]
    fn tensors_are_read_by_name_and_missing_ones_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fields.safetensors");
        let values: Vec<u8> = [1.5f64, -2.0].iter().flat_map(|value| value.to_le_bytes()).collect();
        let view = safetensors::tensor::TensorView::new(Dtype::F64, vec![2, 1], &values).unwrap();
        fs::write(&path, safetensors::serialize([("x", view)], None).unwrap()).unwrap();
        assert_eq!(Array::read(&path, "x").unwrap(), Array { shape: vec![2, 1], values: vec![1.5, -2.0].into() });
        let error = Array::read(&path, "y").unwrap_err().to_string();
        assert!(error.ends_with("fields.safetensors: it has no array `y`; its arrays are x"), "{error}");
        let error = Array::read(Path::new("fields.csv"), "y").unwrap_err().to_string();
        assert!(error.contains("accepted: npy, npz and safetensors"), "{error}");
    }

    #[test]
    fn arrays_that_are_cut_off_or_as_long_as_no_file_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npy");
        let whole = Array { shape: vec![4], values: vec![1.0; 4].into() }.to_npy();
        fs::write(&path, &whole[..whole.len() - 1]).unwrap();
        assert!(Array::read(&path, "x").unwrap_err().to_string().contains("it ends before its array does"));
        let huge = String::from_utf8_lossy(&whole).replacen("(4,), }          ", "(400000000000,), }", 1);
        assert!(huge.contains("(400000000000,)"), "{huge}");
        let mut bytes = whole.clone();
        let place = bytes.windows(4).position(|part| part == b"(4,)").unwrap();
        bytes[place..place + 18].copy_from_slice(b"(400000000000,), }");
        fs::write(&path, bytes).unwrap();
        assert!(Array::read(&path, "x").unwrap_err().to_string().contains("it ends before its array does"));
    }

    #[test]
    fn arrays_that_memory_does_not_hold_are_in_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npy");
        let array =
            Array { shape: vec![2, 100_000], values: (0..200_000).map(|i| i as f32).collect::<Vec<_>>().into() };
        fs::write(&path, array.to_npy()).unwrap();
        let mut input = BufReader::new(File::open(&path).unwrap());
        let header = ArrayHeader::read(&mut input, Format::Npy).unwrap();
        let read = Array::decoded(&header, &mut input, SampleMemory { left: 300_000 }).unwrap();
        assert!(read.values.is_in_file() && !Array::read(&path, "x").unwrap().values.is_in_file());
        assert_eq!(read, array);
    }

    #[test]
    fn numbers_that_are_not_read_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npy");
        let file = |descr: &str, shape: &str, bytes: &[u8]| {
            let header = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n");
            let mut file = b"\x93NUMPY\x01\x00".to_vec();
            file.extend((header.len() as u16).to_le_bytes());
            file.extend(header.as_bytes());
            file.extend(bytes);
            fs::write(&path, file).unwrap();
            Array::read(&path, "x").map_err(|error| error.to_string())
        };
        assert_eq!(file("'|b1'", "(2,)", &[0, 1]).unwrap().values[..], [0.0, 1.0]);
        assert_eq!(file("'<f2'", "(2,)", &[0, 0x3c, 0, 0xc1]).unwrap().values[..], [1.0, -2.5]);
        let message = file("'<f3'", "(1,)", &[0, 0]).unwrap_err();
        assert!(message.contains("its numbers are of type <f3 (accepted: bools, integers"), "{message}");
        let message = file("[('a', '<f4')]", "(1,)", &[0; 4]).unwrap_err();
        assert!(message.contains("of a type with several fields"), "{message}");
        let message = file("'<f4'", "(4294967296, 4294967296)", &[]).unwrap_err();
        assert!(message.contains("its shape is (4294967296, 4294967296), more than a file can hold"), "{message}");
        let large: Vec<u8> = [1.0, -1e300].iter().flat_map(|value: &f64| value.to_le_bytes()).collect();
        let message = file("'<f8'", "(2,)", &large).unwrap_err();
        assert!(message.contains("its value 1 is -1e300, beyond the 3.4028235e38 of numbers of 32 bits"), "{message}");
        assert!(file("'<f8'", "(1,)", &f64::INFINITY.to_le_bytes()).unwrap().values[0].is_infinite());
    }
}
