//! Launches of the search for peaks: one where a row fits shared memory, else one per step of the sort.

use cubecl::prelude::*;
use cubecl::server::Handle;

use super::kernel::{self, PeakOutputLaunch, PeakShapeLaunch, SortedKeysLaunch};
use crate::gpu::device::{GpuDevice, buffer, chunks, cubes, elements, floats, from_row};

/// Units that sort a row, at most.
const SORT_UNITS: u32 = 256;

/// The strongest bins of rows and their power, to be written.
#[derive(Debug, Clone)]
pub struct PeakBuffers {
    /// `[rows, k]`, i32.
    pub bins: Handle,
    /// `[rows, k]`.
    pub power: Handle,
    /// Peaks per row.
    pub k: usize,
}

impl PeakBuffers {
    /// The rows from `row` on.
    pub fn skip_rows(&self, row: usize) -> Self {
        let [bins, power] = [&self.bins, &self.power].map(|buffer| from_row(buffer, row, self.k));
        Self { bins, power, k: self.k }
    }

    /// `rows` rows as a kernel argument.
    pub fn output(&self, rows: usize) -> PeakOutputLaunch {
        PeakOutputLaunch::new(buffer::<i32>(&self.bins, rows * self.k), floats(&self.power, rows * self.k))
    }

    fn shape(&self, rows: usize, bins: usize) -> PeakShapeLaunch {
        PeakShapeLaunch::new(rows as u32, bins as u32, self.k as u32, f32::NAN.to_bits())
    }
}

/// The `into.k` strongest of the `bins` powers of each row, strongest first, ties to the lower bin: `power` `[rows,
/// bins]`. Power that is not finite is never among them; what is missing is bin -1 with power NaN.
pub fn top_k(device: &GpuDevice, power: &Handle, into: &PeakBuffers, rows: usize, bins: usize) {
    let length = bins.next_power_of_two().max(2);
    if 2 * length * size_of::<u32>() <= device.limits.shared {
        let units = ((length / 2) as u32).min(SORT_UNITS).min(device.limits.units);
        for chunk in chunks(device, rows, 0, bins) {
            let (into, rows) = (into.skip_rows(chunk.start), chunk.len());
            kernel::sort_rows::launch(
                &device.client,
                cubes(device, rows),
                CubeDim::new_1d(units),
                floats(&from_row(power, chunk.start, bins), rows * bins),
                into.output(rows),
                into.shape(rows, bins),
                length as u32,
                units,
            );
        }
        return;
    }
    for chunk in chunks(device, rows, 2 * length, length) {
        sort_in_device_memory(
            device,
            &from_row(power, chunk.start, bins),
            &into.skip_rows(chunk.start),
            chunk.len(),
            bins,
        );
    }
}

fn sort_in_device_memory(device: &GpuDevice, power: &Handle, into: &PeakBuffers, rows: usize, bins: usize) {
    let client = &device.client;
    let length = bins.next_power_of_two().max(2);
    let values = rows * length;
    let [keys, order] = [0; 2].map(|_| client.empty(values * size_of::<u32>()));
    let sorted = || SortedKeysLaunch::new(buffer::<u32>(&keys, values), buffer::<u32>(&order, values));
    let powers = || floats(power, rows * bins);
    let (cubes, units) = elements(device, values);
    kernel::make_keys::launch(client, cubes, units, powers(), sorted(), rows as u32, bins as u32, length as u32);
    // The steps of a bitonic sort: runs of twice the length each time, merged at half the distance each time.
    let mut run = 2;
    while run <= length {
        let mut distance = run / 2;
        while distance > 0 {
            let (cubes, units) = elements(device, values / 2);
            let pairs = (values / 2) as u32;
            let half = (length / 2) as u32;
            kernel::sort_step::launch(client, cubes, units, sorted(), pairs, half, run as u32, distance as u32);
            distance /= 2;
        }
        run *= 2;
    }
    let (cubes, units) = elements(device, rows * into.k);
    kernel::write_peaks::launch(
        client,
        cubes,
        units,
        powers(),
        sorted(),
        into.output(rows),
        into.shape(rows, bins),
        length as u32,
    );
}
