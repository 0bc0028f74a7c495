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
use crate::error::Result;

/// Longest header that is read, as by the format's own library.
const MOST_HEADER_BYTES: u64 = 100_000_000;

/// Header of a file.
pub(super) struct TensorFile {
    metadata: Metadata,
    /// Position of the tensors' bytes.
    start: u64,
}

impl TensorFile {
    pub(super) fn open(path: &Path) -> Result<Self> {
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
    pub(super) fn tensor(&self, name: &str) -> Option<Result<ArrayHeader>> {
        self.metadata.info(name).map(|info| self.header(info).map_err(|reason| Format::Safetensors.problem(reason)))
    }

    /// Sample rates in the metadata, by name.
    fn rates(&self) -> Result<Vec<(String, f64)>> {
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
    let bytes = (dtype.bitsize() / 8) as u8;
    Some(match dtype {
        Dtype::BOOL | Dtype::U8 | Dtype::U16 | Dtype::U32 | Dtype::U64 => NumberFormat::unsigned(bytes),
        Dtype::I8 | Dtype::I16 | Dtype::I32 | Dtype::I64 => NumberFormat::signed(bytes),
        Dtype::F16 | Dtype::F32 | Dtype::F64 => NumberFormat::float(bytes),
        Dtype::BF16 => NumberFormat::BRAIN,
        _ => return None,
    })
}

/// Opens the tensor of samples in a `.safetensors` file. The sample rate is a tensor of one number or an entry of the
/// file's metadata.
pub(super) fn open(path: &Path) -> Result<PartsReader> {
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
mod tests {
    use std::fs;

    use ::safetensors::tensor::TensorView;
    use tempfile::TempDir;

    use super::super::tests::{assert_holds, problem, values};
    use super::*;

    #[test]
    fn a_safetensors_file_has_one_tensor_of_samples_and_a_rate() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("x.safetensors");
        let samples: Vec<u8> = values(200).into_iter().flat_map(f32::to_le_bytes).collect();
        let rate = 500f64.to_le_bytes();
        let tensor = |dtype, shape: &[usize], bytes| TensorView::new(dtype, shape.to_vec(), bytes).unwrap();
        let write = |tensors: &[(&str, TensorView<'_>)], rate: Option<&str>| {
            let metadata = rate.map(|rate| [("sample_rate".to_string(), rate.to_string())].into());
            fs::write(&path, ::safetensors::serialize(tensors.iter().cloned(), metadata).unwrap()).unwrap();
        };
        let x = || tensor(Dtype::F32, &[100, 2], &samples);
        write(&[("fs", tensor(Dtype::F64, &[], &rate)), ("x", x())], None);
        assert_holds(&path, 2, Some(500.0), &values(200));
        write(&[("x", x())], Some("250"));
        assert_holds(&path, 2, Some(250.0), &values(200));
        write(&[("x", x())], Some("fast"));
        assert!(problem(&path).contains("its metadata's `sample_rate` is `fast`, not a number"), "{}", problem(&path));
        write(&[("x", x()), ("y", x())], None);
        assert!(problem(&path).contains("it has x, y"), "{}", problem(&path));
        write(&[("x", x()), ("sample_rate", tensor(Dtype::F64, &[1], &rate))], Some("250"));
        assert_holds(&path, 2, Some(500.0), &values(200));
        write(&[("x", x()), ("fs", tensor(Dtype::F64, &[], &rate)), ("sr", tensor(Dtype::U8, &[], &[7]))], None);
        assert!(problem(&path).contains("its sample rate `"), "{}", problem(&path));
        write(&[("x", x())], Some("-5"));
        assert!(problem(&path).contains("its sample rate `sample_rate` is -5"), "{}", problem(&path));
        // What is not needed may be of any type.
        write(&[("x", x()), ("quarter", tensor(Dtype::F8_E4M3, &[800], &samples))], None);
        assert_holds(&path, 2, None, &values(200));
        let notes = crate::open(&path).unwrap().layout().notes.clone();
        assert!(notes[0].to_string().contains("left out: quarter"), "{notes:?}");
        write(&[("x", tensor(Dtype::F8_E4M3, &[800], &samples))], None);
        assert!(
            problem(&path).contains("its array `x`: its numbers are of type F8_E4M3 (accepted"),
            "{}",
            problem(&path)
        );

        write(&[("x", x())], None);
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() - 1]).unwrap();
        assert!(problem(&path).contains("its tensors take 800 bytes, it has 799"), "{}", problem(&path));
        fs::write(&path, &whole[..9]).unwrap();
        assert!(problem(&path).contains("it has 9 bytes, and its header would have"), "{}", problem(&path));
        fs::write(&path, b"NPY").unwrap();
        assert!(problem(&path).contains("it has no header"), "{}", problem(&path));
    }
}
