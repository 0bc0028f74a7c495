//! Plans and their tables, made once.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use cubecl::server::Handle;

use super::launch_plan::TransformLaunchPlan;
use super::plan::{TransformPlan, TransformProblem};
use super::tables::{roots_table, table};
use crate::gpu::device::{DeviceCache, DeviceLimitError, GpuDevice, Limits, upload};

/// A plan and its tables on a device.
#[derive(Debug)]
pub struct PreparedTransform {
    /// The plan.
    pub plan: Arc<TransformPlan>,
    /// The table of each launch.
    pub tables: Vec<Handle>,
    /// The table of the fold, if there is one.
    pub fold: Option<Handle>,
}

/// Plans by the limits that they are made from.
type Plans = HashMap<(Limits, TransformProblem), Arc<TransformPlan>>;
/// The plan of a problem, made on the first call.
///
/// # Errors
/// As [`TransformPlan::of`].
pub fn planned(limits: &Limits, problem: TransformProblem) -> Result<Arc<TransformPlan>, DeviceLimitError> {
    static PLANS: LazyLock<Mutex<Plans>> = LazyLock::new(Default::default);
    let mut plans = PLANS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = plans.get(&(*limits, problem)) {
        return Ok(Arc::clone(known));
    }
    let plan = Arc::new(TransformPlan::of(problem, limits)?);
    plans.insert((*limits, problem), Arc::clone(&plan));
    Ok(plan)
}

/// The plan of a problem and its tables on a device, uploaded on the first call.
///
/// # Errors
/// As [`TransformPlan::of`].
pub fn prepared(device: &GpuDevice, problem: TransformProblem) -> Result<Arc<PreparedTransform>, DeviceLimitError> {
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

fn kept(table: Result<Handle, Infallible>) -> Handle {
    let Ok(table) = table;
    table
}
