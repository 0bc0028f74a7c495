//! Peaks of frames in host memory, returned in host memory: upload, computation and read-back overlap.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use burn::tensor::{DType, Tensor, TensorData, Transaction, read_sync};
use thiserror::Error;

use super::peaks::{Peaks, welch_peaks};
use crate::error::{ArgumentError, ensure};
use crate::options::WelchOptions;

/// Groups of chunks in flight, while a further one is gathered: enough for a device to never wait, few enough for any
/// device's memory.
const IN_FLIGHT: usize = 2;
/// Bytes of the chunks whose peaks are read back together, at most, if that is at least one chunk. A read-back waits
/// until the device has taken over all chunks before it, and so would keep the host from making the next one.
const GROUP_BYTES: usize = 64 << 20;

/// Kind of host memory that frames lie in; it determines the size of chunks.
///
/// ```
/// use firefly_ops::HostMemory;
///
/// // Copies from pinned memory are larger.
/// assert!(HostMemory::Pinned.chunk_bytes() > HostMemory::Pageable.chunk_bytes());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostMemory {
    /// Ordinary memory: a copy on the host takes longest, and overlaps with the device's work on the previous chunk.
    Pageable,
    /// Pinned memory, which a device reads by itself: each chunk has an overhead of some 0.3 ms, so chunks are large.
    Pinned,
}

impl HostMemory {
    /// Bytes per chunk, at most.
    pub const fn chunk_bytes(self) -> usize {
        match self {
            Self::Pageable => 4 << 20,
            Self::Pinned => 64 << 20,
        }
    }
}

/// Peaks in host memory, `[batch, k]` in row-major order.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::{HostMemory, WelchOptions, host_chunks, welch_peaks_from_host};
///
/// // Two frames, of an impulse and of a constant.
/// let samples = [[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [1.0; 8]].concat();
/// let chunks = host_chunks(&samples, 8, HostMemory::Pageable)?;
/// let window = Tensor::ones([8], &Device::flex());
/// let peaks = welch_peaks_from_host(chunks, window, &WelchOptions::new(8, 1), 2)?;
/// assert!(peaks.bins.chunks(2).eq([[1, 2], [0, 1]]));
/// # Ok::<(), firefly_ops::HostError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HostPeaks {
    /// Bin numbers; −1 where a row has too few finite bins.
    pub bins: Vec<i64>,
    /// Power at those bins; NaN where the bin is −1.
    pub power: Vec<f32>,
}

/// Failure of [`welch_peaks_from_host`].
///
/// ```
/// use firefly_ops::{HostError, HostMemory, host_chunks};
///
/// let error = host_chunks(&[0.0; 10], 8, HostMemory::Pageable).map_err(HostError::from).err();
/// let message = "host_chunks: `samples` is 10 samples, but must be whole frames of 8 samples";
/// assert_eq!(error.map(|error| error.to_string()).as_deref(), Some(message));
/// ```
#[non_exhaustive]
#[derive(Debug, Error)]
pub enum HostError {
    /// An argument is wrong.
    #[error(transparent)]
    Argument(#[from] ArgumentError),
    /// The device could not compute or read back a chunk, with the device's message.
    #[error("welch_peaks_from_host: {0}")]
    Device(String),
}

/// Frames in host memory in chunks of whole rows, `[rows, frame]` each, as [`welch_peaks_from_host`] takes them.
///
/// Each chunk is copied when the iterator yields it. For pinned memory, collect the chunks and move them there with
/// [`Device::staging`](burn::tensor::Device::staging).
///
/// - `samples`: `[batch, frame]` in row-major order.
/// - `memory`: the kind of memory that the chunks will lie in.
///
/// ```
/// use firefly_ops::{HostMemory, host_chunks};
///
/// let samples = vec![0.0; 3 * 1_000_000]; // three frames of 4 MB each
/// let chunks = host_chunks(&samples, 1_000_000, HostMemory::Pageable)?;
/// assert!(chunks.map(|chunk| chunk.shape().to_vec()).eq([[1, 1_000_000]; 3]));
/// assert!(host_chunks(&samples, 7, HostMemory::Pageable).is_err());
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// If `samples` are not whole frames.
pub fn host_chunks(
    samples: &[f32],
    frame: usize,
    memory: HostMemory,
) -> Result<impl Iterator<Item = TensorData>, ArgumentError> {
    let whole = frame > 0 && samples.len().is_multiple_of(frame);
    let expected = format_args!("whole frames of {frame} samples");
    ensure(whole, "host_chunks", "samples", format_args!("{} samples", samples.len()), expected)?;
    let rows = (memory.chunk_bytes() / size_of::<f32>() / frame).max(1);
    Ok(samples.chunks(rows * frame).map(move |chunk| TensorData::new(chunk.to_vec(), [chunk.len() / frame, frame])))
}

/// [`welch_peaks`] of frames in host memory, on the device of `window`.
///
/// Each chunk is uploaded and computed while the next is being made, and peaks are read back for 64 MiB of chunks at a
/// time, so a batch may be larger than the device's memory.
///
/// - `chunks`: f32 `[rows, frame]` each, as [`host_chunks`] makes them.
/// - `window`: `[n_fft]`; `k`: from 1 to the number of bins.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::{HostMemory, WelchOptions, host_chunks, welch_peaks_from_host};
///
/// let options = WelchOptions::new(8, 1);
/// let samples = [[1.0f32; 8], [-1.0; 8]].concat();
/// let chunks = host_chunks(&samples, 8, HostMemory::Pageable)?;
/// let peaks = welch_peaks_from_host(chunks, Tensor::ones([8], &Device::flex()), &options, 1)?;
/// assert_eq!((peaks.bins, peaks.power), (vec![0, 0], vec![64.0, 64.0]));
/// # Ok::<(), firefly_ops::HostError>(())
/// ```
///
/// # Errors
/// As [`welch_peaks`], and if the device fails.
pub fn welch_peaks_from_host(
    chunks: impl IntoIterator<Item = TensorData>,
    window: Tensor<1>,
    options: &WelchOptions,
    k: usize,
) -> Result<HostPeaks, HostError> {
    peaks_by_groups(chunks, window, options, k, GROUP_BYTES)
}

/// [`welch_peaks_from_host`], whose peaks are read back for `group_bytes` of chunks at a time.
fn peaks_by_groups(
    chunks: impl IntoIterator<Item = TensorData>,
    window: Tensor<1>,
    options: &WelchOptions,
    k: usize,
    group_bytes: usize,
) -> Result<HostPeaks, HostError> {
    let device = window.device().inner();
    let window = window.inner();
    let mut chunks = chunks.into_iter().peekable();
    if chunks.peek().is_none() {
        // A call on no rows has the errors of any chunk.
        options.validate("welch_peaks")?;
        welch_peaks(Tensor::<2>::zeros([0, options.frame()], &device), window.clone(), options, k)?;
    }
    let mut peaks = HostPeaks::default();
    let mut in_flight = VecDeque::with_capacity(IN_FLIGHT);
    let (mut group, mut bytes) = (Vec::new(), 0);
    for chunk in chunks {
        let shape: &[usize] = chunk.shape();
        let fits = chunk.dtype() == DType::F32 && shape.len() == 2;
        let got = format_args!("{:?} {shape:?}", chunk.dtype());
        ensure(fits, "welch_peaks_from_host", "chunks", got, "F32 [rows, frame]")?;
        let size = chunk.bytes().len();
        if bytes > 0 && bytes + size > group_bytes {
            if in_flight.len() == IN_FLIGHT {
                in_flight.pop_front().map_or(Ok(()), |reading: Reading| peaks.extend(reading))?;
            }
            in_flight.push_back(Reading::start(std::mem::take(&mut group)));
            bytes = 0;
        }
        bytes += size;
        group.push(welch_peaks(Tensor::<2>::from_data(chunk, &device), window.clone(), options, k)?);
    }
    if !group.is_empty() {
        in_flight.push_back(Reading::start(group));
    }
    in_flight.into_iter().try_for_each(|reading| peaks.extend(reading))?;
    Ok(peaks)
}

impl HostPeaks {
    /// Waits for the peaks of a group of chunks and appends them.
    fn extend(&mut self, reading: Reading) -> Result<(), HostError> {
        for data in reading.finish().map_err(HostError::Device)? {
            match data.dtype() {
                DType::F32 => self.power.extend(data.iter::<f32>()),
                _ => self.bins.extend(data.iter::<i64>()),
            }
        }
        Ok(())
    }
}

/// Bins and power of each chunk.
type Data = Result<Vec<TensorData>, String>;

/// Read-back of peaks to host memory.
enum Reading {
    Waiting(Pin<Box<dyn Future<Output = Data> + Send>>),
    Done(Data),
}

impl Reading {
    /// Starts a copy that the device makes as soon as the peaks are computed.
    fn start(group: Vec<Peaks<2>>) -> Self {
        let add = |copy: Transaction, peaks: Peaks<2>| copy.register(peaks.bins).register(peaks.power);
        let copy = group.into_iter().fold(Transaction::default(), add);
        let mut reading: Pin<Box<dyn Future<Output = Data> + Send>> =
            Box::pin(async { copy.execute_async().await.map_err(|error| error.to_string()) });
        // A future does nothing before it is polled: the first poll starts the copy.
        match reading.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(data) => Self::Done(data),
            Poll::Pending => Self::Waiting(reading),
        }
    }

    fn finish(self) -> Data {
        match self {
            Self::Waiting(reading) => read_sync(reading),
            Self::Done(data) => data,
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    #[test]
    fn peaks_do_not_depend_on_how_many_chunks_are_read_back_together() {
        let samples: Vec<f32> = (0..56_u32).map(|i| (i * i % 23) as f32).collect();
        let chunks = || samples.chunks(8).map(|chunk| TensorData::new(chunk.to_vec(), [1, 8]));
        let peaks = |group_bytes| {
            let window = Tensor::ones([8], &Device::flex());
            peaks_by_groups(chunks(), window, &WelchOptions::new(8, 1), 2, group_bytes).unwrap()
        };
        // Each chunk of 32 bytes alone, more of them than are in flight; two, and one that is left; all.
        let all = peaks(usize::MAX);
        assert_eq!((all.bins.len(), all.power.len()), (14, 14));
        assert!([1, 70].map(peaks).into_iter().all(|peaks| peaks == all));
    }
}
