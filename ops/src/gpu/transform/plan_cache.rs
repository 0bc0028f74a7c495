//! Plans and their tables, made once.

use std::any::TypeId;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use cubecl::device::DeviceId;
use cubecl::server::Handle;

use super::launch_plan::TransformLaunchPlan;
use super::plan::{TransformPlan, TransformProblem};
use super::tables::{roots_table, table};
use crate::gpu::device::{DeviceLimitError, GpuDevice, Limits};

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

/// A device and the runtime that serves it.
type Device = (DeviceId, TypeId);
/// Plans by the limits that they are made from.
type Plans = HashMap<(Limits, TransformProblem), Arc<TransformPlan>>;
/// Prepared plans.
type OnDevices = HashMap<(Device, Limits, TransformProblem), Arc<PreparedTransform>>;
/// Tables by the launches that read them.
type Tables = HashMap<(Device, TransformLaunchPlan), Handle>;

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
    static PREPARED: LazyLock<Mutex<OnDevices>> = LazyLock::new(Default::default);
    let mut plans = PREPARED.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (owner(device), device.limits, problem);
    if let Some(known) = plans.get(&key) {
        return Ok(Arc::clone(known));
    }
    let plan = planned(&device.limits, problem)?;
    let tables = plan.launches.iter().map(|launch| table_of(device, launch)).collect();
    let fold = plan.fold.map(|fold| upload(device, &roots_table(fold.root())));
    let new = Arc::new(PreparedTransform { plan, tables, fold });
    plans.insert(key, Arc::clone(&new));
    Ok(new)
}

/// The table of a launch on a device, uploaded on the first call.
pub fn table_of(device: &GpuDevice, launch: &TransformLaunchPlan) -> Handle {
    static TABLES: LazyLock<Mutex<Tables>> = LazyLock::new(Default::default);
    let mut tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
    tables.entry((owner(device), launch.table_key())).or_insert_with(|| upload(device, &table(launch))).clone()
}

fn owner(device: &GpuDevice) -> Device {
    let service = device.client.service_id();
    (service.device, service.service)
}

fn upload(device: &GpuDevice, values: &[f32]) -> Handle {
    device.client.create_from_slice(bytemuck::cast_slice(values))
}
