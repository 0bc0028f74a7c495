//! Launches of the search for peaks: one where a row fits shared memory, else one per step of the sort.

use std::ops::Range;

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

    fn shape(&self, search: &SearchedRows) -> PeakShapeLaunch {
        let SearchedRows { rows, stride, searched, .. } = search;
        let [rows, stride, first, count] = [*rows, *stride, searched.start, searched.len()].map(|length| length as u32);
        PeakShapeLaunch::new(rows, stride, first, count, self.k as u32, f32::NAN.to_bits())
    }
}

/// Rows of power, and the bins of them that are searched.
#[derive(Debug, Clone)]
pub struct SearchedRows {
    /// `[rows, stride]`.
    pub power: Handle,
    pub rows: usize,
    pub stride: usize,
    pub searched: Range<usize>,
}

impl SearchedRows {
    /// Rows of `bins` values, all of which are searched.
    pub fn whole(power: &Handle, rows: usize, bins: usize) -> Self {
        Self { power: power.clone(), rows, stride: bins, searched: 0..bins }
    }

    /// Searched bins of a row, padded to a length that is sorted.
    fn sorted_length(&self) -> usize {
        self.searched.len().next_power_of_two().max(2)
    }

    /// The rows of a chunk.
    fn slice(&self, chunk: Range<usize>) -> Self {
        let power = from_row(&self.power, chunk.start, self.stride);
        Self { power, rows: chunk.len(), ..self.clone() }
    }

    fn values(&self) -> usize {
        self.rows * self.stride
    }
}

/// The `into.k` strongest of the searched bins of each row, strongest first, ties to the lower bin. Power that is not
/// finite is never among them; what is missing is bin -1 with power NaN.
pub fn top_k(device: &GpuDevice, search: &SearchedRows, into: &PeakBuffers) {
    let length = search.sorted_length();
    if 2 * length * size_of::<u32>() <= device.limits.shared {
        let units = ((length / 2) as u32).min(SORT_UNITS).min(device.limits.units);
        for chunk in chunks(device, search.rows, 0, search.stride) {
            let (into, search) = (into.skip_rows(chunk.start), search.slice(chunk));
            kernel::sort_rows::launch(
                &device.client,
                cubes(device, search.rows),
                CubeDim::new_1d(units),
                floats(&search.power, search.values()),
                into.output(search.rows),
                into.shape(&search),
                length as u32,
                units,
            );
        }
        return;
    }
    for chunk in chunks(device, search.rows, 2 * length, length.max(search.stride)) {
        sort_in_device_memory(device, &search.slice(chunk.clone()), &into.skip_rows(chunk.start));
    }
}

fn sort_in_device_memory(device: &GpuDevice, search: &SearchedRows, into: &PeakBuffers) {
    let client = &device.client;
    let length = search.sorted_length();
    let values = search.rows * length;
    let [keys, order] = [0; 2].map(|_| client.empty(values * size_of::<u32>()));
    let sorted = || SortedKeysLaunch::new(buffer::<u32>(&keys, values), buffer::<u32>(&order, values));
    let powers = || floats(&search.power, search.values());
    let (cubes, units) = elements(device, values);
    kernel::make_keys::launch(client, cubes, units, powers(), sorted(), into.shape(search), length as u32);
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
    let (cubes, units) = elements(device, search.rows * into.k);
    kernel::write_peaks::launch(
        client,
        cubes,
        units,
        powers(),
        sorted(),
        into.output(search.rows),
        into.shape(search),
        length as u32,
    );
}
