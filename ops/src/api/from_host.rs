//! Peaks of frames in host memory, returned in host memory: upload, computation and read-back overlap.

use std::collections::VecDeque;
use std::future::Future;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use burn::tensor::{DType, Device, Element, Int, Shape, Tensor, TensorData, Transaction, bf16, f16, read_sync};
use burn_std::{AccessError, AccessPolicy, AllocationController, AllocationProperty, Bytes};
use rayon::prelude::*;
use thiserror::Error;

use super::peaks::{Peaks, welch_peaks};
use crate::error::{ArgumentError, ensure};
use crate::options::WelchOptions;
use crate::sample_type::SampleType;

/// Groups of chunks in flight, while a further one is gathered: enough for a device to never wait, few enough for any
/// device's memory.
const IN_FLIGHT: usize = 2;
/// Bytes of the chunks whose peaks are read back together, at most, if that is at least one chunk. A read-back waits
/// until the device has taken over all chunks before it, and so would keep the host from making the next one.
const GROUP_BYTES: usize = 64 << 20;
/// Bytes per chunk, at most. Each has an overhead of some 0.1 ms, and while one is copied another is uploaded.
const CHUNK_BYTES: usize = 16 << 20;
/// Values that one thread copies at a time.
const COPIED_VALUES: usize = 1 << 19;

/// Peaks in host memory, `[batch, k]` in row-major order.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::from_host::{host_chunks, welch_peaks_from_host};
/// use firefly_ops::WelchOptions;
///
/// // Two frames, of an impulse and of a constant.
/// let device = Device::flex();
/// let samples = [[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [1.0; 8]].concat();
/// let chunks = host_chunks(&samples, 8, &device)?;
/// let peaks = welch_peaks_from_host(chunks, Tensor::ones([8], &device), &WelchOptions::new(8, 1), 2)?;
/// assert!(peaks.bins.chunks(2).eq([[1, 2], [0, 1]]));
/// # Ok::<(), firefly_ops::from_host::HostError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HostPeaks {
    /// Bin numbers; −1 where a row has too few finite bins.
    pub bins: Vec<i64>,
    /// Power at those bins; NaN where the bin is −1.
    pub power: Vec<f32>,
}

/// Failure of [`welch_peaks_from_host`] and [`HostPeaks::read`].
///
/// ```
/// use burn::tensor::Device;
/// use firefly_ops::from_host::{HostError, host_chunks};
///
/// let error = host_chunks(&[0.0; 10], 8, &Device::flex()).map_err(HostError::from).err();
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
    #[error("peaks were not computed or read back: {0}")]
    Device(String),
}

/// Types of samples in host memory, which are uploaded as they are.
pub trait HostSample: Element {}

macro_rules! host_samples {
    ($($type:ty),*) => { $(impl HostSample for $type {})* };
}

host_samples!(f32, f16, bf16, i32, i16, u16, i8, u8);

/// Frames in host memory in chunks of whole rows of up to 16 MiB, `[rows, frame]` each, as [`welch_peaks_from_host`] takes
/// them.
///
/// Each chunk is copied when the iterator yields it: to pinned memory of the device, by several threads, where the device
/// has such memory (CUDA), else to ordinary memory. The device reads pinned memory by itself, and the memory is
/// used again for a later chunk. Chunks that are collected before they are used keep as much memory pinned as they take.
///
/// - `samples`: `[batch, frame]` in row-major order, of any [type](HostSample).
/// - `device`: the device that takes the chunks: that of the `window` of [`welch_peaks_from_host`].
///
/// ```
/// use burn::tensor::Device;
/// use firefly_ops::from_host::host_chunks;
///
/// let (samples, device) = (vec![0.0; 3 * 3_000_000], Device::flex()); // three frames of 12 MB each
/// let chunks = host_chunks(&samples, 3_000_000, &device)?;
/// assert!(chunks.map(|chunk| chunk.shape().to_vec()).eq([[1, 3_000_000]; 3]));
/// assert!(host_chunks(&samples, 7, &device).is_err());
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// If `samples` are not whole frames.
pub fn host_chunks<'a, S: HostSample>(
    samples: &'a [S],
    frame: usize,
    device: &Device,
) -> Result<impl Iterator<Item = TensorData> + use<'a, S>, ArgumentError> {
    let whole = frame > 0 && samples.len().is_multiple_of(frame);
    let expected = format_args!("whole frames of {frame} samples");
    ensure(whole, "host_chunks", "samples", format_args!("{} samples", samples.len()), expected)?;
    let rows = (CHUNK_BYTES / size_of::<S>() / frame).max(1);
    // None once the device was found to have no pinned memory: each question waits for its queue.
    let mut pinning = Some(device.clone());
    Ok(samples.chunks(rows * frame).map(move |chunk| {
        let shape = [chunk.len() / frame, frame];
        let pinned = pinning.as_ref().and_then(|device| pinned_values(device, shape, S::dtype()));
        match pinned {
            Some(values) => copied(chunk, values),
            None => {
                pinning = None;
                TensorData::new(chunk.to_vec(), shape)
            }
        }
    }))
}

/// `samples` in the memory of `chunk`.
fn copied<S: HostSample>(samples: &[S], mut chunk: TensorData) -> TensorData {
    let values = chunk.as_mut_slice::<S>().expect("pinned values are of the samples' type");
    let parts = values.par_chunks_mut(COPIED_VALUES).zip(samples.par_chunks(COPIED_VALUES));
    parts.for_each(|(values, samples)| values.copy_from_slice(samples));
    chunk
}

/// [`welch_peaks`] of frames in host memory, on the device of `window`.
///
/// Each chunk is uploaded and computed while the next is being made, and peaks are read back for 64 MiB of chunks at a
/// time, so a batch may be larger than the device's memory.
///
/// - `chunks`: `[rows, frame]` each, as [`host_chunks`] makes them.
/// - `window`: `[n_fft]`; `k`: from 1 to the number of bins.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::from_host::{host_chunks, welch_peaks_from_host};
/// use firefly_ops::WelchOptions;
///
/// let (options, device) = (WelchOptions::new(8, 1), Device::flex());
/// let samples = [[1.0f32; 8], [-1.0; 8]].concat();
/// let chunks = host_chunks(&samples, 8, &device)?;
/// let peaks = welch_peaks_from_host(chunks, Tensor::ones([8], &device), &options, 1)?;
/// assert_eq!((peaks.bins, peaks.power), (vec![0, 0], vec![64.0, 64.0]));
/// # Ok::<(), firefly_ops::from_host::HostError>(())
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
        let dtype = chunk.dtype();
        let fits = SampleType::of(dtype).is_some() && shape.len() == 2;
        let got = format_args!("{dtype:?} {shape:?}");
        let expected = "[rows, frame] of F32, F16, BF16, or integers of up to 32 bits";
        ensure(fits, "welch_peaks_from_host", "chunks", got, expected)?;
        let size = chunk.bytes().len();
        if bytes > 0 && bytes + size > group_bytes {
            if in_flight.len() == IN_FLIGHT {
                in_flight.pop_front().map_or(Ok(()), |reading: Reading| peaks.extend(reading))?;
            }
            in_flight.push_back(Reading::start(std::mem::take(&mut group)));
            bytes = 0;
        }
        bytes += size;
        let (on_device, window) = ((&device, dtype), window.clone());
        group.push(if dtype.is_float() {
            welch_peaks(Tensor::<2>::from_data(chunk, on_device), window, options, k)?
        } else {
            welch_peaks(Tensor::<2, Int>::from_data(chunk, on_device), window, options, k)?
        });
    }
    if !group.is_empty() {
        in_flight.push_back(Reading::start(group));
    }
    in_flight.into_iter().try_for_each(|reading| peaks.extend(reading))?;
    Ok(peaks)
}

impl HostPeaks {
    /// Peaks that a device has computed, read back together; power of another type is converted to f32.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use firefly_ops::from_host::HostPeaks;
    /// use firefly_ops::{WelchOptions, welch_peaks};
    ///
    /// let device = Device::flex();
    /// let frames = Tensor::<2>::ones([2, 8], &device);
    /// let peaks = welch_peaks(frames, Tensor::ones([8], &device), &WelchOptions::new(8, 1), 1)?;
    /// assert_eq!(HostPeaks::read(peaks)?, HostPeaks { bins: vec![0, 0], power: vec![64.0, 64.0] });
    /// # Ok::<(), firefly_ops::from_host::HostError>(())
    /// ```
    ///
    /// # Errors
    /// [`HostError::Device`] if the device fails.
    pub fn read(peaks: Peaks<2>) -> Result<Self, HostError> {
        let mut read = Self::default();
        read.extend(Reading::start(vec![peaks]))?;
        Ok(read)
    }

    /// Waits for the peaks of a group of chunks and appends them.
    fn extend(&mut self, reading: Reading) -> Result<(), HostError> {
        // Bins and power of each chunk in turn. Types that devices have are read as slices: an iterator that converts
        // values takes longer than the kernel.
        for chunk in reading.finish().map_err(HostError::Device)?.chunks_exact(2) {
            let (bins, power) = (&chunk[0], &chunk[1]);
            match bins.dtype() {
                DType::I64 => self.bins.extend_from_slice(values(bins)),
                DType::I32 => self.bins.extend(values::<i32>(bins).iter().map(|&bin| i64::from(bin))),
                _ => self.bins.extend(bins.iter::<i64>()),
            }
            match power.dtype() {
                DType::F32 => self.power.extend_from_slice(values(power)),
                _ => self.power.extend(power.iter::<f32>()),
            }
        }
        Ok(())
    }
}

/// Values of the type that the data has.
fn values<E: Element>(data: &TensorData) -> &[E] {
    data.as_slice().expect("values are read in the type of their data")
}

/// Bins and power of each chunk.
type Data = Result<Vec<TensorData>, String>;

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

/// A length without memory. Moving it to pinned memory copies nothing.
struct Unallocated {
    len: usize,
}

impl AllocationController for Unallocated {
    fn alloc_align(&self) -> usize {
        align_of::<u128>()
    }

    fn property(&self) -> AllocationProperty {
        AllocationProperty::Other
    }

    unsafe fn memory_mut(&mut self, _policy: AccessPolicy) -> Result<&mut [MaybeUninit<u8>], AccessError> {
        Err(AccessError::WouldCopy)
    }

    fn memory(&self, _policy: AccessPolicy) -> Result<&[MaybeUninit<u8>], AccessError> {
        Err(AccessError::WouldCopy)
    }

    fn capacity(&self) -> usize {
        self.len
    }

    unsafe fn copy_into(&self, _buf: &mut [u8]) {}
}

/// Values in pinned memory of `device`, with unspecified contents until they are written; none if it has no such memory.
pub(crate) fn pinned_values(device: &Device, shape: impl Into<Shape>, dtype: DType) -> Option<TensorData> {
    let shape = shape.into();
    let len = shape.num_elements() * dtype.size();
    // SAFETY: the bytes can't be reached: access to the memory is an error, `copy_into` leaves the initialised bytes of
    // its destination as they are, and nothing splits or duplicates an `Unallocated`.
    let bytes = unsafe { Bytes::from_controller(Box::new(Unallocated { len }), len) };
    let mut data = TensorData::from_bytes(bytes, shape, dtype);
    device.staging(std::iter::once(&mut data));
    (data.bytes().property() == AllocationProperty::Pinned).then_some(data)
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    #[test]
    fn peaks_of_every_type_are_read() {
        let device = Device::flex();
        for dtype in [DType::F32, DType::F64] {
            let frames = Tensor::<2>::ones([2, 8], &device).cast(dtype);
            let window = Tensor::<1>::ones([8], &device).cast(dtype);
            let peaks = welch_peaks(frames, window, &WelchOptions::new(8, 1), 1).unwrap();
            assert_eq!(HostPeaks::read(peaks).unwrap(), HostPeaks { bins: vec![0, 0], power: vec![64.0, 64.0] });
        }
    }

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
