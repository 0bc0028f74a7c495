//! Plans and their tables, made once per device.

use std::any::TypeId;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use cubecl::device::DeviceId;
use cubecl::server::Handle;

use super::plan::{Plan, Problem};
use super::step::Step;
use super::tables::{fold_table, table};
use crate::gpu::device::{DeviceLimitError, GpuDevice, Limits};

/// A plan and the tables of its steps on a device.
#[derive(Debug)]
pub struct Prepared {
    /// The plan.
    pub plan: Plan,
    /// The table of each step.
    pub tables: Vec<Handle>,
    /// The table of the fold, if there is one.
    pub fold: Option<Handle>,
}

/// A device and the runtime that serves it.
type Device = (DeviceId, TypeId);
/// Tables by the steps that read them.
type Tables = HashMap<(Device, Step), Handle>;

/// The plan of a problem and its tables, from the first call on.
///
/// # Errors
/// As [`Plan::of`].
pub fn prepared(device: &GpuDevice, problem: Problem) -> Result<Arc<Prepared>, DeviceLimitError> {
    type Plans = HashMap<(Device, Limits, Problem), Arc<Prepared>>;
    static PREPARED: LazyLock<Mutex<(Plans, Tables)>> = LazyLock::new(Default::default);
    let service = device.client.service_id();
    let owner = (service.device, service.service);
    let mut guard = PREPARED.lock().unwrap_or_else(PoisonError::into_inner);
    let (plans, tables) = &mut *guard;
    let key = (owner, device.limits, problem);
    if let Some(known) = plans.get(&key) {
        return Ok(Arc::clone(known));
    }
    let plan = Plan::of(problem, &device.limits)?;
    let upload = |values: Vec<f32>| device.client.create_from_slice(bytemuck::cast_slice(&values));
    let of_step = |step: &Step| tables.entry((owner, step.table_key())).or_insert_with(|| upload(table(step))).clone();
    let tables = plan.steps.iter().map(of_step).collect();
    let fold = plan.fold.map(|fold| upload(fold_table(fold)));
    let new = Arc::new(Prepared { plan, tables, fold });
    plans.insert(key, Arc::clone(&new));
    Ok(new)
}
