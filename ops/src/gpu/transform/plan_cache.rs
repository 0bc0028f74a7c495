//! Plans and their tables, made once: tables are computed on the host in float64.

use std::convert::Infallible;
use std::f64::consts::{PI, TAU};
use std::sync::Arc;

use cubecl::server::Handle;
use rustfft::FftDirection;
use rustfft::num_complex::Complex;

use super::launch_plan::{TransformLaunchPlan, fine_roots, roots_len};
use super::plan::{TransformPlan, TransformProblem};
use crate::cache::Cache;
use crate::gpu::device::{DeviceCache, GpuDevice, Limits, Result, upload};
use crate::rustfft_plans::Planned;

/// A plan and its tables on a device.
#[derive(Debug)]
pub struct PreparedTransform {
    pub plan: Arc<TransformPlan>,
    pub tables: Vec<Handle>,
    pub fold: Option<Handle>,
}

/// The plan of a problem, made on the first call.
pub fn planned(limits: &Limits, problem: TransformProblem) -> Result<Arc<TransformPlan>> {
    static PLANS: Cache<(Limits, TransformProblem), Arc<TransformPlan>> = Cache::new();
    PLANS.try_get((*limits, problem), || TransformPlan::of(problem, limits).map(Arc::new))
}

/// The plan of a problem and its tables on a device, uploaded on the first call.
pub fn prepared(device: &GpuDevice, problem: TransformProblem) -> Result<Arc<PreparedTransform>> {
    static PREPARED: DeviceCache<(Limits, TransformProblem), Arc<PreparedTransform>> = DeviceCache::new();
    PREPARED.get(device, (device.limits, problem), || {
        let plan = planned(&device.limits, problem)?;
        let tables = plan.launches.iter().map(|launch| table_of(device, launch)).collect();
        let fold = plan.fold.map(|fold| roots_of(device, fold.root()));
        Ok(Arc::new(PreparedTransform { plan, tables, fold }))
    })
}

/// The table of a launch on a device, uploaded on the first call.
pub fn table_of(device: &GpuDevice, launch: &TransformLaunchPlan) -> Handle {
    static TABLES: DeviceCache<TransformLaunchPlan, Handle> = DeviceCache::new();
    kept(TABLES.get(device, launch.table_key(), || Ok(upload(device, &table(launch)))))
}

/// The roots of unity exp(−2πi·k/of) on a device, uploaded on the first call.
pub fn roots_of(device: &GpuDevice, of: u32) -> Handle {
    static ROOTS: DeviceCache<u32, Handle> = DeviceCache::new();
    kept(ROOTS.get(device, of, || Ok(upload(device, &roots_table(of)))))
}

fn kept(table: std::result::Result<Handle, Infallible>) -> Handle {
    let Ok(table) = table;
    table
}

/// The values of a launch's table, real and imaginary parts in turn; their order is in [`TransformLaunchPlan`].
pub fn table(launch: &TransformLaunchPlan) -> Vec<f32> {
    let mut values = Vec::with_capacity(launch.table_len() as usize);
    for pass in 0..launch.passes() {
        let (radix, before) = (launch.radix(pass), launch.before(pass));
        if before > 1 {
            for m in 0..radix {
                values.extend((0..before).map(|j| root(u64::from(j * m), before * radix)));
            }
        }
    }
    if launch.chirps_input || launch.chirps_output {
        values.extend((0..launch.points).map(|i| chirp(i, launch.points)));
    }
    if launch.filter_len() > 0 {
        values.extend(filter(launch));
    }
    values.extend(roots(launch.twiddle_root));
    values.extend(roots(launch.fold_root()));
    if values.is_empty() {
        // A buffer is never empty.
        values.push(Complex::new(1.0, 0.0));
    }
    rounded(&values)
}

/// The roots of unity exp(−2πi·e/of) as a table of their own.
pub fn roots_table(of: u32) -> Vec<f32> {
    rounded(&roots(of))
}

fn rounded(values: &[Complex<f64>]) -> Vec<f32> {
    values.iter().flat_map(|value| [value.re as f32, value.im as f32]).collect()
}

/// The finer roots of unity of [`fine_roots`], then the coarser ones.
fn roots(of: u32) -> Vec<Complex<f64>> {
    let fine = fine_roots(of);
    let coarse = (0..roots_len(of) - fine).map(|block| u64::from(block) * u64::from(fine));
    (0..u64::from(fine)).chain(coarse).map(|exponent| root(exponent, of)).collect()
}

/// exp(−2πi·exponent/of).
fn root(exponent: u64, of: u32) -> Complex<f64> {
    Complex::cis(-TAU * exponent as f64 / f64::from(of))
}

/// exp(−πi·i²/points): the square is reduced in integers, so that the angle is exact.
fn chirp(i: u32, points: u32) -> Complex<f64> {
    let square = u64::from(i) * u64::from(i) % (2 * u64::from(points));
    Complex::cis(-PI * square as f64 / f64::from(points))
}

/// The transform of the conjugate chirp over a convolution of length m, over m: of each column bins column + columns·k.
fn filter(launch: &TransformLaunchPlan) -> impl Iterator<Item = Complex<f64>> {
    let (length, points, columns) = (launch.filter_len() as usize, launch.points, launch.columns as usize);
    let mut values = vec![Complex::new(0.0, 0.0); length];
    for i in 0..points {
        let value = chirp(i, points).conj() / length as f64;
        values[i as usize] = value;
        values[(length - i as usize) % length] = value;
    }
    f64::plan(length, FftDirection::Forward).process(&mut values);
    (0..columns).flat_map(move |column| (column..length).step_by(columns)).map(move |at| values[at])
}
