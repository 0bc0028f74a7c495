//! Reader of safetensors files, which loads the requested tensors only.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use ::safetensors::Dtype;
use ::safetensors::tensor::{Metadata, TensorInfo};

use super::named_arrays::{NamedArray, is_rate, samples_and_rate};
use super::npy::{ACCEPTED, ArrayHeader};
use super::parts::PartsReader;
use super::raw::{NumberFormat, read_full};
use super::{Format, open_file};
use crate::error::RecordingProblem;

/// Longest header that is read, as by the format's own library.
const MOST_HEADER_BYTES: u64 = 100_000_000;

/// Header of a file.
pub(super) struct TensorFile {
    metadata: Metadata,
    /// Position of the tensors' bytes.
    start: u64,
}

impl TensorFile {
    pub(super) fn open(path: &Path) -> Result<Self, RecordingProblem> {
        let problem = |reason: String| Format::Safetensors.problem(reason);
        let mut file = open_file(path)?;
        let file_bytes = file.metadata()?.len();
        let mut length = [0; 8];
        if read_full(&mut file, &mut length)? < length.len() {
            return Err(problem("it has no header".into()));
        }
        let length = u64::from_le_bytes(length);
        if length > MOST_HEADER_BYTES.min(file_bytes.saturating_sub(8)) {
            return Err(problem(format!("it has {file_bytes} bytes, and its header would have {length}")));
        }
        let mut text = vec![0; length as usize];
        file.read_exact(&mut text)?;
        let metadata: Metadata = serde_json::from_slice(&text).map_err(|error| problem(error.to_string()))?;
        let (needed, left) = (metadata.data_len() as u64, file_bytes - 8 - length);
        if needed != left {
            return Err(problem(format!("its tensors take {needed} bytes, it has {left}")));
        }
        Ok(Self { metadata, start: 8 + length })
    }

    /// Names of the tensors, in the order of their bytes.
    pub(super) fn names(&self) -> Vec<String> {
        self.metadata.offset_keys()
    }

    /// Header of the tensor `name`, if it is there.
    pub(super) fn tensor(&self, name: &str) -> Option<Result<ArrayHeader, RecordingProblem>> {
        self.metadata.info(name).map(|info| self.header(info).map_err(|reason| Format::Safetensors.problem(reason)))
    }

    /// Sample rates in the metadata, by name.
    fn rates(&self) -> Result<Vec<(String, f64)>, RecordingProblem> {
        let entries = self.metadata.metadata().iter().flatten().filter(|(name, _)| is_rate(name));
        let rates = entries.map(|(name, value)| match value.trim().parse() {
            Ok(rate) => Ok((name.clone(), rate)),
            Err(_) => Err(Format::Safetensors.problem(format!("its metadata's `{name}` is `{value}`, not a number"))),
        });
        rates.collect()
    }

    fn header(&self, info: &TensorInfo) -> Result<ArrayHeader, String> {
        let numbers = number_format(info.dtype)
            .ok_or_else(|| format!("its numbers are of type {:?} (accepted: {ACCEPTED})", info.dtype))?;
        let shape: Vec<u64> = info.shape.iter().map(|size| *size as u64).collect();
        let needed = shape.iter().try_fold(numbers.bytes() as u64, |product, size| product.checked_mul(*size));
        let (from, to) = info.data_offsets;
        if to.checked_sub(from).map(|bytes| bytes as u64) != needed {
            return Err(format!("its shape {:?} does not fit its bytes {from} to {to}", info.shape));
        }
        Ok(ArrayHeader { numbers, fortran_order: false, shape, bytes: self.start + from as u64 })
    }
}

/// Format of numbers of a type; bools are 0 and 1.
fn number_format(dtype: Dtype) -> Option<NumberFormat> {
    Some(match dtype {
        Dtype::BOOL | Dtype::U8 => NumberFormat::unsigned(1),
        Dtype::I8 => NumberFormat::signed(1),
        Dtype::I16 => NumberFormat::signed(2),
        Dtype::U16 => NumberFormat::unsigned(2),
        Dtype::I32 => NumberFormat::signed(4),
        Dtype::U32 => NumberFormat::unsigned(4),
        Dtype::I64 => NumberFormat::signed(8),
        Dtype::U64 => NumberFormat::unsigned(8),
        Dtype::F16 => NumberFormat::float(2),
        Dtype::BF16 => NumberFormat::brain(),
        Dtype::F32 => NumberFormat::float(4),
        Dtype::F64 => NumberFormat::float(8),
        _ => return None,
    })
}

/// Opens the tensor of samples in a `.safetensors` file. The sample rate is a tensor of one number or an entry of the
/// file's metadata.
pub(super) fn open(path: &Path) -> Result<PartsReader, RecordingProblem> {
    let file = TensorFile::open(path)?;
    let arrays = file.names().into_iter().filter_map(|name| {
        let header = file.tensor(&name)?;
        Some(NamedArray { name, source: (), header })
    });
    let number = |_: &(), header: &ArrayHeader| {
        let mut file = open_file(path)?;
        file.seek(SeekFrom::Start(header.bytes))?;
        header.number(&mut file)
    };
    let (samples, rate) = samples_and_rate(arrays.collect(), number, &file.rates()?, Format::Safetensors)?;
    samples.header.file_reader(open_file(path)?, rate, Format::Safetensors, &samples.left_out)
}

#[cfg(test)]
#[path = "safetensors_tests.rs"]
mod tests;
