//! Measurement of launch overhead, round trip, bandwidths and lazy fusion of a device.

use std::hint::black_box;
use std::time::Instant;

use burn::tensor::{Device, Tensor, TensorData};

use super::CalibrationError;
use crate::profile::DeviceProfile;

/// Bytes of the tensors that bandwidths are measured with: larger than caches.
const LARGE_BYTES: usize = 256 << 20;
/// Bytes of the tensors of a rough measurement.
const ROUGH_BYTES: usize = 4 << 20;
/// Launches of the chain that the launch overhead is measured with.
const CHAIN: usize = 1000;
/// Number of elementwise operations in the test for lazy fusion, and the largest ratio of their time to that of a
/// single one at which they count as one kernel.
const MERGED: usize = 4;
const MERGED_RATIO: f64 = 2.0;
/// Number of runs whose median is taken, and of warm-up runs before them.
const RUNS: usize = 9;
const WARM_UP_RUNS: usize = 2;

/// The preset with measured values of its launch overhead, round trip, bandwidths of memory and link, and of whether
/// elementwise operations run as one kernel. A `rough` measurement uses small tensors; it is for tests.
///
/// # Errors
/// [`CalibrationError::Device`] if the device fails.
pub fn measure_constants(
    preset: DeviceProfile,
    device: &Device,
    rough: bool,
) -> Result<DeviceProfile, CalibrationError> {
    let one = Tensor::<1>::ones([1], device);
    let dispatch = median(|| {
        let start = Instant::now();
        let chain = (0..CHAIN).fold(one.clone(), |value, _| value + 1.0);
        read(chain)?;
        Ok(elapsed(start))
    })? / CHAIN as f64;
    let there_and_back = median(|| {
        let start = Instant::now();
        read(one.clone() + 1.0)?;
        Ok(elapsed(start))
    })?;
    let bytes = if rough { ROUGH_BYTES } else { LARGE_BYTES };
    // The tensor has no other owner, so that the operation writes in place: memory is moved, and none is allocated.
    let mut large = Tensor::<1>::ones([bytes / size_of::<f32>()], device);
    let mut adds = |count: usize| {
        median(|| {
            let tensor = std::mem::replace(&mut large, one.clone());
            wait(device)?;
            let start = Instant::now();
            large = (0..count).fold(tensor, |tensor, _| tensor + 1.0);
            wait(device)?;
            Ok(elapsed(start))
        })
    };
    let (add, several) = (adds(1)?, adds(MERGED)?);
    // A result that is computed before the clock starts, and has no other owner either.
    let link = median(|| {
        let result = large.clone() + 1.0;
        wait(device)?;
        let start = Instant::now();
        read(result)?;
        Ok(elapsed(start))
    })?;
    // For tensors this large the round trip is negligible, and on a host there may be no other cost.
    let bandwidth = |bytes: usize, time: f64| bytes as f64 / (time - there_and_back).max(1.0);
    Ok(DeviceProfile {
        dispatch,
        roundtrip: (there_and_back - dispatch).max(0.0),
        memory_bandwidth: bandwidth(2 * bytes, add),
        link_bandwidth: bandwidth(bytes, link),
        merges_elementwise: several < MERGED_RATIO * add,
        ..preset
    })
}

/// Reads a tensor into host memory: accelerators copy it when its bytes are first accessed.
fn read(tensor: Tensor<1>) -> Result<TensorData, CalibrationError> {
    let data = tensor.try_into_data().map_err(failed)?;
    black_box(data.as_bytes());
    Ok(data)
}

fn wait(device: &Device) -> Result<(), CalibrationError> {
    device.sync().map_err(failed)
}

fn failed(error: impl std::fmt::Debug) -> CalibrationError {
    CalibrationError::Device(format!("{error:?}"))
}

fn elapsed(start: Instant) -> f64 {
    start.elapsed().as_nanos() as f64
}

/// Median of the times that a few runs return, after warm-up runs.
fn median(mut run: impl FnMut() -> Result<f64, CalibrationError>) -> Result<f64, CalibrationError> {
    for _ in 0..WARM_UP_RUNS {
        run()?;
    }
    let mut times = (0..RUNS).map(|_| run()).collect::<Result<Vec<_>, _>>()?;
    times.sort_by(f64::total_cmp);
    Ok(times[RUNS / 2])
}
