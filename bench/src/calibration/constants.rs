//! Launch overhead, round trip and bandwidths of a device.

use std::hint::black_box;
use std::time::Instant;

use anyhow::{Context, anyhow};
use burn::tensor::{Device, Tensor, TensorData};
use firefly_framework::cost::DeviceProfile;

use crate::harness::statistics::Spread;

/// Bytes of the tensors that bandwidths are measured with: larger than caches.
const LARGE: usize = 256 << 20;
/// The same where nobody will use the result.
const ROUGH: usize = 4 << 20;
const SMALL_OPERATIONS: usize = 1000;

/// The preset with constants that were measured on the device.
///
/// # Errors
/// If the device fails.
pub fn constants(preset: DeviceProfile, device: &Device, rough: bool) -> anyhow::Result<DeviceProfile> {
    let one = Tensor::<1>::ones([1], device);
    let dispatch = median(|| {
        let start = Instant::now();
        let chain = (0..SMALL_OPERATIONS).fold(one.clone(), |value, _| value + 1.0);
        read(chain)?;
        Ok(elapsed(start))
    })? / SMALL_OPERATIONS as f64;
    let there_and_back = median(|| {
        let start = Instant::now();
        read(one.clone() + 1.0)?;
        Ok(elapsed(start))
    })?;
    let bytes = if rough { ROUGH } else { LARGE };
    // Nobody else holds the tensor, so that the operation writes where it reads: memory is moved, and none is asked for.
    let mut large = Tensor::<1>::ones([bytes / size_of::<f32>()], device);
    let add = median(|| {
        let tensor = std::mem::replace(&mut large, one.clone());
        wait(device)?;
        let start = Instant::now();
        large = tensor + 1.0;
        wait(device)?;
        Ok(elapsed(start))
    })?;
    // What was computed already, and is nobody else's either.
    let link = median(|| {
        let result = large.clone() + 1.0;
        wait(device)?;
        let start = Instant::now();
        read(result)?;
        Ok(elapsed(start))
    })?;
    let host = read(large)?.try_to_vec::<f32>()?;
    let scan = median(|| {
        let start = Instant::now();
        black_box(black_box(&host).iter().fold(0f32, |most, value| most.max(*value)));
        Ok(elapsed(start))
    })?;
    // Of something so large, the way there and back is next to nothing, and on a host there may be nothing else.
    let rate = |bytes: usize, time: f64| bytes as f64 / (time - there_and_back).max(1.0);
    Ok(DeviceProfile {
        dispatch,
        roundtrip: (there_and_back - dispatch).max(0.0),
        memory_bandwidth: rate(2 * bytes, add),
        link_bandwidth: rate(bytes, link),
        scan_bandwidth: bytes as f64 / scan,
        ..preset
    })
}

/// A tensor in host memory: accelerators copy it when its bytes are first looked at.
fn read(tensor: Tensor<1>) -> anyhow::Result<TensorData> {
    let data = tensor.try_into_data()?;
    black_box(data.as_bytes());
    Ok(data)
}

fn wait(device: &Device) -> anyhow::Result<()> {
    device.sync().map_err(|error| anyhow!("the device failed: {error:?}"))
}

fn elapsed(start: Instant) -> f64 {
    start.elapsed().as_nanos() as f64
}

/// The median of what a few runs say, after two that are not counted.
fn median(mut run: impl FnMut() -> anyhow::Result<f64>) -> anyhow::Result<f64> {
    for _ in 0..2 {
        run()?;
    }
    let times = (0..9).map(|_| run()).collect::<anyhow::Result<Vec<_>>>()?;
    Ok(Spread::of(times).context("nothing was timed")?.median)
}
