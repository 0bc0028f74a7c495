//! Plans and their tables, made once.

use std::any::TypeId;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use cubecl::device::DeviceId;
use cubecl::server::Handle;

use super::launch_plan::LaunchPlan;
use super::plan::{Plan, Problem};
use super::tables::{fold_table, table};
use crate::gpu::device::{DeviceLimitError, GpuDevice, Limits};

/// A plan and its tables on a device.
#[derive(Debug)]
pub struct Prepared {
    /// The plan.
    pub plan: Arc<Plan>,
    /// The table of each launch.
    pub tables: Vec<Handle>,
    /// The table of the fold, if there is one.
    pub fold: Option<Handle>,
}

/// A device and the runtime that serves it.
type Device = (DeviceId, TypeId);
/// Plans by the limits that they are made from.
type Plans = HashMap<(Limits, Problem), Arc<Plan>>;
/// Prepared plans, and tables by the launches that read them.
type OnDevices = (HashMap<(Device, Limits, Problem), Arc<Prepared>>, HashMap<(Device, LaunchPlan), Handle>);

/// The plan of a problem, made on the first call.
///
/// # Errors
/// As [`Plan::of`].
pub fn planned(limits: &Limits, problem: Problem) -> Result<Arc<Plan>, DeviceLimitError> {
    static PLANS: LazyLock<Mutex<Plans>> = LazyLock::new(Default::default);
    let mut plans = PLANS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = plans.get(&(*limits, problem)) {
        return Ok(Arc::clone(known));
    }
    let plan = Arc::new(Plan::of(problem, limits)?);
    plans.insert((*limits, problem), Arc::clone(&plan));
    Ok(plan)
}

/// The plan of a problem and its tables on a device, uploaded on the first call.
///
/// # Errors
/// As [`Plan::of`].
pub fn prepared(device: &GpuDevice, problem: Problem) -> Result<Arc<Prepared>, DeviceLimitError> {
    static PREPARED: LazyLock<Mutex<OnDevices>> = LazyLock::new(Default::default);
    let service = device.client.service_id();
    let owner = (service.device, service.service);
    let mut guard = PREPARED.lock().unwrap_or_else(PoisonError::into_inner);
    let (plans, tables) = &mut *guard;
    let key = (owner, device.limits, problem);
    if let Some(known) = plans.get(&key) {
        return Ok(Arc::clone(known));
    }
    let plan = planned(&device.limits, problem)?;
    let upload = |values: Vec<f32>| device.client.create_from_slice(bytemuck::cast_slice(&values));
    let of_launch = |launch: &LaunchPlan| {
        tables.entry((owner, launch.table_key())).or_insert_with(|| upload(table(launch))).clone()
    };
    let tables = plan.launches.iter().map(of_launch).collect();
    let fold = plan.fold.map(|fold| upload(fold_table(fold)));
    let new = Arc::new(Prepared { plan, tables, fold });
    plans.insert(key, Arc::clone(&new));
    Ok(new)
}
