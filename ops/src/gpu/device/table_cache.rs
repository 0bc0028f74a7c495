//! Constant tables on devices: computed on the host in float64, uploaded once per device.

use std::any::TypeId;
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use cubecl::device::DeviceId;
use cubecl::server::Handle;

use super::GpuDevice;

/// A device, the runtime that serves it, and the table's name and shape.
type TableKey = (DeviceId, TypeId, &'static str, [u32; 2]);

static TABLES: LazyLock<Mutex<HashMap<TableKey, Handle>>> = LazyLock::new(Default::default);

/// The table `name` of shape `shape` on a device: `values`, uploaded on first use.
pub fn cached(device: &GpuDevice, name: &'static str, shape: [u32; 2], values: impl FnOnce() -> Vec<f32>) -> Handle {
    let client = &device.client;
    let service = client.service_id();
    let key = (service.device, service.service, name, shape);
    let mut tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
    tables.entry(key).or_insert_with(|| client.create_from_slice(bytemuck::cast_slice(&values()))).clone()
}
