//! The strongest bins of rows of power in device memory, for any length and number of peaks: Batcher's bitonic sort of
//! bins by power, in shared memory where a row fits, else one step per launch.

use std::ops::Range;

use cubecl::prelude::*;
use cubecl::server::Handle;

use crate::gpu::device::{GpuDevice, buffer, chunks, elements, floats, from_row, grid, launch_checked};

const SORT_UNITS: u32 = 256;

/// The strongest bins of rows and their power, to be written.
#[derive(Debug, Clone)]
pub struct PeakBuffers {
    /// `[rows, k]`, i32.
    pub bins: Handle,
    /// `[rows, k]`.
    pub power: Handle,
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
            launch_checked!(sort_rows(
                device,
                grid(device, search.rows, units),
                floats(&search.power, search.values()),
                into.output(search.rows),
                into.shape(&search),
                length as u32,
                units,
            ));
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
    launch_checked!(make_keys(device, elements(device, values), powers(), sorted(), into.shape(search), length as u32));
    // The steps of a bitonic sort: runs of twice the length each time, merged at half the distance each time.
    let mut run = 2;
    while run <= length {
        let mut distance = run / 2;
        while distance > 0 {
            launch_checked!(sort_step(
                device,
                elements(device, values / 2),
                sorted(),
                (values / 2) as u32,
                (length / 2) as u32,
                run as u32,
                distance as u32,
            ));
            distance /= 2;
        }
        run *= 2;
    }
    launch_checked!(write_peaks(
        device,
        elements(device, search.rows * into.k),
        powers(),
        sorted(),
        into.output(search.rows),
        into.shape(search),
        length as u32,
    ));
}

/// The strongest bins and their power, `[rows, k]`.
#[derive(CubeType, CubeLaunch)]
pub struct PeakOutput {
    pub bins: Box<[i32]>,
    pub power: Box<[f32]>,
}

/// The keys of bins padded to a power of two, and the bins in the same order.
#[derive(CubeType, CubeLaunch)]
pub struct SortedKeys {
    pub keys: Box<[u32]>,
    pub order: Box<[u32]>,
}

/// The rows of a launch, and the part of them that is searched.
#[derive(CubeType, CubeLaunch)]
pub struct PeakShape {
    pub rows: u32,
    /// Values from one row to the next.
    pub stride: u32,
    pub first: u32,
    pub count: u32,
    pub k: u32,
    /// The bits of NaN, which not every compiler takes as a constant.
    pub nan: u32,
}

/// An integer that is greater for greater power, and 0 for power that is not finite. Made of bits: under fast-math, a
/// comparison of floats may miss NaN and infinity.
#[cube]
pub fn power_key(power: f32) -> u32 {
    let bits = u32::reinterpret(power);
    let size = bits & 0x7fff_ffffu32;
    // Negative power comes after positive; zero has no sign.
    let negative = (bits >> 31u32) == 1 && size != 0;
    let key = select(negative, !bits, size | 0x8000_0000u32);
    select(size < 0x7f80_0000u32, key, 0u32)
}

/// Whether bin `a` with key `x` and the later bin `b` with key `y` are in the wrong order: where `rising` is 0 the
/// stronger comes first, ties to the lower bin, elsewhere last.
#[cube]
fn misplaced(x: u32, a: u32, y: u32, b: u32, rising: u32) -> bool {
    let ordered = x > y || (x == y && a < b);
    // Without `==` on two bools, which not every target has.
    (rising == 0 && !ordered) || (rising != 0 && ordered)
}

/// Sorts the bins of a row in shared memory and writes the strongest: a cube per row.
#[cube(launch)]
pub fn sort_rows(
    power: &[f32],
    peaks: &mut PeakOutput,
    shape: PeakShape,
    #[comptime] length: u32,
    #[comptime] units: u32,
) {
    let row = CUBE_POS as u32;
    if row >= shape.rows {
        terminate!();
    }
    // The keys, padded to a power of two; padding comes after power that is not finite, by its bin.
    let mut keys = Shared::<[u32]>::new_slice(comptime!(length as usize));
    let mut order = Shared::<[u32]>::new_slice(comptime!(length as usize));
    for bin in range_stepped(UNIT_POS, length, units) {
        let mut own = 0u32;
        if bin < shape.count {
            own = power_key(power[(row * shape.stride + shape.first + bin) as usize]);
        }
        keys[bin as usize] = own;
        order[bin as usize] = bin;
    }
    // Runs of length `run` are merged from pairs that are sorted in opposite directions.
    let mut run = 2u32.runtime();
    while run <= length {
        let mut distance = run / 2;
        while distance > 0 {
            // Pairs are disjoint within a step; the next step takes what other units exchanged.
            sync_cube();
            for pair in range_stepped(UNIT_POS, comptime!(length / 2), units) {
                let at = (2 * distance * (pair / distance) + pair % distance) as usize;
                let other = at + distance as usize;
                let (x, a, y, b) = (keys[at], order[at], keys[other], order[other]);
                if misplaced(x, a, y, b, at as u32 & run) {
                    keys[at] = y;
                    keys[other] = x;
                    order[at] = b;
                    order[other] = a;
                }
            }
            distance /= 2;
        }
        run *= 2;
    }
    sync_cube();
    for rank in range_stepped(UNIT_POS, shape.k, units) {
        write_peak(peaks, power, row, rank, keys[rank as usize], order[rank as usize], &shape);
    }
}

/// Writes a peak of a row with its exact power: bin `order` of those that are searched. A key of 0 is power that is not
/// finite, or padding, and no peak.
#[cube]
fn write_peak(peaks: &mut PeakOutput, power: &[f32], row: u32, rank: u32, key: u32, order: u32, shape: &PeakShape) {
    let into = (row * shape.k + rank) as usize;
    let bin = shape.first + order;
    if key == 0 {
        peaks.bins[into] = -1i32;
        peaks.power[into] = f32::reinterpret(shape.nan);
    } else {
        peaks.bins[into] = i32::cast_from(bin);
        peaks.power[into] = power[(row * shape.stride + bin) as usize];
    }
}

/// Makes the keys of rows padded to `length` bins: a unit per key.
#[cube(launch)]
pub fn make_keys(power: &[f32], sorted: &mut SortedKeys, shape: PeakShape, length: u32) {
    let at = ABSOLUTE_POS as u32;
    if at >= shape.rows * length {
        terminate!();
    }
    // Padding has the key of power that is not finite, and comes after it by its bin.
    let (row, bin) = (at / length, at % length);
    let mut own = 0u32;
    if bin < shape.count {
        own = power_key(power[(row * shape.stride + shape.first + bin) as usize]);
    }
    sorted.keys[at as usize] = own;
    sorted.order[at as usize] = bin;
}

/// One step of the sort: pairs of keys `distance` apart that are in the wrong order are exchanged, a unit per pair.
#[cube(launch)]
pub fn sort_step(sorted: &mut SortedKeys, pairs: u32, half: u32, run: u32, distance: u32) {
    let place = ABSOLUTE_POS as u32;
    if place >= pairs {
        terminate!();
    }
    // The pair's two places: pairs fill blocks of `distance`, and their partners the blocks behind. Adjacent units take
    // adjacent places.
    let (row, pair) = (place / half, place % half);
    let local = 2 * distance * (pair / distance) + pair % distance;
    let at = (2 * half * row + local) as usize;
    let other = at + distance as usize;
    // Pairs are disjoint within a step, so a step needs no barrier; the next one is another launch.
    let (x, a, y, b) = (sorted.keys[at], sorted.order[at], sorted.keys[other], sorted.order[other]);
    if misplaced(x, a, y, b, local & run) {
        sorted.keys[at] = y;
        sorted.keys[other] = x;
        sorted.order[at] = b;
        sorted.order[other] = a;
    }
}

/// Writes the first `k` bins of every sorted row: a unit per peak.
#[cube(launch)]
pub fn write_peaks(power: &[f32], sorted: &SortedKeys, peaks: &mut PeakOutput, shape: PeakShape, length: u32) {
    let at = ABSOLUTE_POS as u32;
    if at >= shape.rows * shape.k {
        terminate!();
    }
    let (row, rank) = (at / shape.k, at % shape.k);
    let from = (row * length + rank) as usize;
    write_peak(peaks, power, row, rank, sorted.keys[from], sorted.order[from], &shape);
}
