//! Welch power and its strongest bins on a device.
//!
//! Up to the length whose transform fits a cube, one launch reads each sample once and writes the result
//! ([`Fused`]); longer segments take the launches of a network.

mod bound;
mod dft;
mod fused;
mod network;
mod power;
mod samples;
mod tables;
mod top_k;
mod transform;

use cubecl::prelude::*;
use cubecl::server::Handle;

use self::power::RowsLaunch;
use super::buffers::{buffer, empty, floats, from_row};
use super::error::KernelError;
use super::limits::Limits;
use super::plan::{Call, Fused};
use super::tables::twiddles;
use super::{factor, grid, strongest, welch_backward};
use crate::options::{Detrend, Scaling, WelchOptions};

/// One-sided Welch power of every row: `signal` `[rows, frame]`, `window` `[n_fft]` → `power` `[rows, bins]`, all f32 and
/// contiguous.
///
/// # Errors
/// If the device can't transform `n_fft` samples.
pub fn welch_psd(
    client: &Client,
    signal: &Handle,
    window: &Handle,
    power: &Handle,
    rows: usize,
    frame: usize,
    options: &WelchOptions,
) -> Result<(), KernelError> {
    let limits = Limits::of(client);
    let bins = options.bins();
    let factor = factor_of(client, window, options);
    for chunk in grid::chunks(client, rows, 0, frame.max(bins)) {
        let signal = from_row(signal, chunk.start, frame);
        let power = from_row(power, chunk.start, bins);
        let Some(plan) = Fused::of(call(options, chunk.len(), 0), &limits) else {
            welch_backward::welch_psd(client, &signal, window, &power, chunk.len(), frame, options)?;
            continue;
        };
        let launch = Launch { signal: &signal, window, factor: &factor, rows: chunk.len(), frame, hop: options.hop };
        launch.power(client, &power, &plan, plan.cubes(chunk.len() as u32, &limits));
    }
    Ok(())
}

/// The `k` strongest bins of every row's Welch power: `signal` `[rows, frame]`, `window` `[n_fft]` → `bins` (i32) and `power`,
/// `[rows, k]`. Ties go to the lower bin; what a row lacks is bin -1 with power NaN.
///
/// # Errors
/// If the device can't transform `n_fft` samples.
#[expect(clippy::too_many_arguments, reason = "the operation's arguments, shapes and outputs")]
pub fn welch_peaks(
    client: &Client,
    signal: &Handle,
    window: &Handle,
    bins: &Handle,
    power: &Handle,
    rows: usize,
    frame: usize,
    k: usize,
    options: &WelchOptions,
) -> Result<(), KernelError> {
    let limits = Limits::of(client);
    let factor = factor_of(client, window, options);
    for chunk in grid::chunks(client, rows, 0, frame.max(options.bins())) {
        let signal = from_row(signal, chunk.start, frame);
        let [bins, power] = [bins, power].map(|into| from_row(into, chunk.start, k));
        let Some(plan) = Fused::of(call(options, chunk.len(), k), &limits) else {
            let whole = empty(client, chunk.len() * options.bins());
            welch_backward::welch_psd(client, &signal, window, &whole, chunk.len(), frame, options)?;
            strongest(client, &whole, &bins, &power, chunk.len(), options.bins(), k);
            continue;
        };
        let launch = Launch { signal: &signal, window, factor: &factor, rows: chunk.len(), frame, hop: options.hop };
        launch.peaks(client, &bins, &power, k, &plan, plan.cubes(chunk.len() as u32, &limits));
    }
    Ok(())
}

/// What |X|² is multiplied by under a scaling, on the device; any buffer where that is 1, since it is not read then.
fn factor_of(client: &Client, window: &Handle, options: &WelchOptions) -> Handle {
    if scaled(options) { factor::factor(client, window, options) } else { window.clone() }
}

/// Whether a scaling multiplies power by anything but 1.
fn scaled(options: &WelchOptions) -> bool {
    options.scaling != Scaling::Power
}

fn call(options: &WelchOptions, rows: usize, k: usize) -> Call {
    Call {
        n: options.n_fft as u32,
        hop: options.hop as u32,
        segments: options.segments as u32,
        detrend: options.detrend == Detrend::Constant,
        scaled: scaled(options),
        rows: rows as u32,
        k: k as u32,
    }
}

/// The inputs of one launch.
pub(super) struct Launch<'a> {
    pub signal: &'a Handle,
    pub window: &'a Handle,
    pub factor: &'a Handle,
    pub rows: usize,
    pub frame: usize,
    pub hop: usize,
}

impl Launch<'_> {
    fn shared(&self, k: usize) -> RowsLaunch {
        RowsLaunch::new(self.rows as u32, self.frame as u32, self.hop as u32, k as u32, f32::NAN)
    }

    fn power(&self, client: &Client, power: &Handle, plan: &Fused, cubes: u32) {
        let table = twiddles(client, plan.layout);
        // SAFETY: every index is within the lengths checked by `floats`, and every loop ends.
        unsafe {
            fused::welch_power::launch_unchecked(
                client,
                CubeCount::new_1d(cubes),
                CubeDim::new_1d(plan.team * plan.teams),
                floats(self.signal, self.rows * self.frame),
                floats(self.window, plan.layout.n as usize),
                floats(&table, 2 * plan.layout.table_len()),
                floats(self.factor, 1),
                floats(power, self.rows * plan.bins() as usize),
                self.shared(0),
                *plan,
            );
        }
    }

    fn peaks(&self, client: &Client, bins: &Handle, power: &Handle, k: usize, plan: &Fused, cubes: u32) {
        let peaks = self.rows * k;
        let table = twiddles(client, plan.layout);
        // SAFETY: every index is within the lengths checked by `buffer`, and every loop ends.
        unsafe {
            fused::welch_peaks::launch_unchecked(
                client,
                CubeCount::new_1d(cubes),
                CubeDim::new_1d(plan.team * plan.teams),
                floats(self.signal, self.rows * self.frame),
                floats(self.window, plan.layout.n as usize),
                floats(&table, 2 * plan.layout.table_len()),
                floats(self.factor, 1),
                buffer::<i32>(bins, peaks),
                floats(power, peaks),
                self.shared(k),
                *plan,
            );
        }
    }
}
