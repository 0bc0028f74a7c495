//! The strongest bins of rows of power in device memory, for any length and number: Batcher's bitonic sort, in shared memory
//! where a row fits.

use cubecl::prelude::*;
use cubecl::server::Handle;

use super::buffers::{buffer, floats, from_row};
use super::grid;
use super::limits::Limits;

/// Units that sort a row, at most.
const UNITS: u32 = 256;

/// The `k` strongest of the `bins` powers of each row, strongest first, ties to the lower bin: `power` `[rows, bins]` →
/// `into_bins` (i32) and `into_power`, `[rows, k]`. Power that is not finite is never among them; what is missing is bin -1
/// with power NaN.
pub fn strongest(
    client: &Client,
    power: &Handle,
    into_bins: &Handle,
    into_power: &Handle,
    rows: usize,
    bins: usize,
    k: usize,
) {
    let limits = Limits::of(client);
    let length = bins.next_power_of_two().max(2);
    if 2 * length * size_of::<u32>() <= limits.shared {
        let units = ((length / 2) as u32).min(UNITS).min(limits.units);
        for chunk in grid::chunks(client, rows, 0, bins) {
            sort_rows::launch(
                client,
                grid::cubes(client, chunk.len()),
                CubeDim::new_1d(units),
                floats(&from_row(power, chunk.start, bins), chunk.len() * bins),
                buffer::<i32>(&from_row(into_bins, chunk.start, k), chunk.len() * k),
                floats(&from_row(into_power, chunk.start, k), chunk.len() * k),
                chunk.len() as u32,
                bins as u32,
                k as u32,
                f32::NAN.to_bits(),
                length as u32,
                units,
            );
        }
        return;
    }
    for chunk in grid::chunks(client, rows, 2 * length, length) {
        let row = chunk.start;
        let [into_bins, into_power] = [into_bins, into_power].map(|into| from_row(into, row, k));
        sort_in_memory(client, &from_row(power, row, bins), &into_bins, &into_power, chunk.len(), bins, k);
    }
}

fn sort_in_memory(
    client: &Client,
    power: &Handle,
    into_bins: &Handle,
    into_power: &Handle,
    rows: usize,
    bins: usize,
    k: usize,
) {
    let length = bins.next_power_of_two().max(2);
    let values = rows * length;
    let keys = client.empty(values * size_of::<u32>());
    let order = client.empty(values * size_of::<u32>());
    let [all_keys, all_order] = [&keys, &order].map(|handle| move || buffer::<u32>(handle, values));
    let (cubes, units) = grid::elements(client, values);
    let powers = || floats(power, rows * bins);
    make_keys::launch(client, cubes, units, powers(), all_keys(), all_order(), rows as u32, bins as u32, length as u32);
    let mut run = 2;
    while run <= length {
        let mut apart = run / 2;
        while apart > 0 {
            let (cubes, units) = grid::elements(client, values / 2);
            let pairs = (values / 2) as u32;
            let half = (length / 2) as u32;
            exchange::launch(client, cubes, units, all_keys(), all_order(), pairs, half, run as u32, apart as u32);
            apart /= 2;
        }
        run *= 2;
    }
    let (cubes, units) = grid::elements(client, rows * k);
    write_peaks::launch(
        client,
        cubes,
        units,
        powers(),
        all_keys(),
        all_order(),
        buffer::<i32>(into_bins, rows * k),
        floats(into_power, rows * k),
        rows as u32,
        bins as u32,
        k as u32,
        f32::NAN.to_bits(),
        length as u32,
    );
}

/// A number that is greater for a greater power, and 0 for one that is not finite. Compares bits, since a compiler may take
/// floats for finite.
#[cube]
fn key(power: f32) -> u32 {
    let bits = u32::reinterpret(power);
    let size = bits & 0x7fff_ffffu32;
    // Zero has no sign.
    let negative = (bits >> 31u32) == 1 && size != 0;
    let key = select(negative, !bits, size | 0x8000_0000u32);
    select(size < 0x7f80_0000u32, key, 0u32)
}

/// Whether bin `a` with key `x` and the later bin `b` with key `y` must change places: where `rising` is 0 the stronger comes
/// first, ties to the lower bin, elsewhere last.
#[cube]
fn misplaced(x: u32, a: u32, y: u32, b: u32, rising: u32) -> bool {
    let ordered = x > y || (x == y && a < b);
    // No comparison of two bools: not every target has one.
    (rising == 0 && !ordered) || (rising != 0 && ordered)
}

#[cube(launch)]
fn sort_rows(
    power: &[f32],
    into_bins: &mut [i32],
    into_power: &mut [f32],
    rows: u32,
    bins: u32,
    k: u32,
    nan: u32,
    #[comptime] length: u32,
    #[comptime] units: u32,
) {
    let row = CUBE_POS as u32;
    if row >= rows {
        terminate!();
    }
    let mut keys = Shared::<[u32]>::new_slice(comptime!(length as usize));
    let mut order = Shared::<[u32]>::new_slice(comptime!(length as usize));
    for bin in range_stepped(UNIT_POS, length, units) {
        let mut own = 0u32;
        if bin < bins {
            own = key(power[(row * bins + bin) as usize]);
        }
        keys[bin as usize] = own;
        order[bin as usize] = bin;
    }
    let mut run = 2u32.runtime();
    while run <= length {
        let mut apart = run / 2;
        while apart > 0 {
            sync_cube();
            for pair in range_stepped(UNIT_POS, comptime!(length / 2), units) {
                let at = (2 * apart * (pair / apart) + pair % apart) as usize;
                let other = at + apart as usize;
                let (x, a, y, b) = (keys[at], order[at], keys[other], order[other]);
                if misplaced(x, a, y, b, at as u32 & run) {
                    keys[at] = y;
                    keys[other] = x;
                    order[at] = b;
                    order[other] = a;
                }
            }
            apart /= 2;
        }
        run *= 2;
    }
    sync_cube();
    for rank in range_stepped(UNIT_POS, k, units) {
        let into = (row * k + rank) as usize;
        let bin = order[rank as usize];
        if keys[rank as usize] == 0 {
            into_bins[into] = -1i32;
            into_power[into] = f32::reinterpret(nan);
        } else {
            into_bins[into] = i32::cast_from(bin);
            into_power[into] = power[(row * bins + bin) as usize];
        }
    }
}

#[cube(launch)]
fn make_keys(power: &[f32], keys: &mut [u32], order: &mut [u32], rows: u32, bins: u32, length: u32) {
    let place = ABSOLUTE_POS as u32;
    if place >= rows * length {
        terminate!();
    }
    let (row, bin) = (place / length, place % length);
    let mut own = 0u32;
    if bin < bins {
        own = key(power[(row * bins + bin) as usize]);
    }
    keys[place as usize] = own;
    order[place as usize] = bin;
}

/// One step of the sort: pairs of values `apart` from each other change places where they must.
#[cube(launch)]
fn exchange(keys: &mut [u32], order: &mut [u32], pairs: u32, half: u32, run: u32, apart: u32) {
    let place = ABSOLUTE_POS as u32;
    if place >= pairs {
        terminate!();
    }
    let (row, pair) = (place / half, place % half);
    let local = 2 * apart * (pair / apart) + pair % apart;
    let at = (2 * half * row + local) as usize;
    let other = at + apart as usize;
    let (x, a, y, b) = (keys[at], order[at], keys[other], order[other]);
    if misplaced(x, a, y, b, local & run) {
        keys[at] = y;
        keys[other] = x;
        order[at] = b;
        order[other] = a;
    }
}

#[cube(launch)]
fn write_peaks(
    power: &[f32],
    keys: &[u32],
    order: &[u32],
    into_bins: &mut [i32],
    into_power: &mut [f32],
    rows: u32,
    bins: u32,
    k: u32,
    nan: u32,
    length: u32,
) {
    let place = ABSOLUTE_POS as u32;
    if place >= rows * k {
        terminate!();
    }
    let (row, rank) = (place / k, place % k);
    let from = (row * length + rank) as usize;
    let bin = order[from];
    if keys[from] == 0 {
        into_bins[place as usize] = -1i32;
        into_power[place as usize] = f32::reinterpret(nan);
    } else {
        into_bins[place as usize] = i32::cast_from(bin);
        into_power[place as usize] = power[(row * bins + bin) as usize];
    }
}
