//! Tables the kernels read, made on the host in float64 and kept on each device.

use std::any::TypeId;
use std::collections::HashMap;
use std::f64::consts::TAU;
use std::sync::{LazyLock, Mutex, PoisonError};

use cubecl::client::Client;
use cubecl::device::DeviceId;
use cubecl::server::Handle;

use super::layout::Layout;

/// A table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Table {
    /// The twiddles of a layout.
    Twiddles(Layout),
    /// The roots of unity of a length.
    Roots(usize),
}

/// A device, the runtime that serves it, and a table.
type Key = (DeviceId, TypeId, Table);

static KEPT: LazyLock<Mutex<HashMap<Key, Handle>>> = LazyLock::new(Default::default);

/// A table on the client's device: its `values`, uploaded on its first use.
pub(super) fn kept(client: &Client, table: Table, values: impl FnOnce() -> Vec<f32>) -> Handle {
    let service = client.service_id();
    let key = (service.device, service.service, table);
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    kept.entry(key).or_insert_with(|| client.create_from_slice(bytemuck::cast_slice(&values()))).clone()
}

/// The twiddles of a layout on the client's device: [`values`].
pub(super) fn twiddles(client: &Client, layout: Layout) -> Handle {
    kept(client, Table::Twiddles(layout), || values(layout))
}

/// exp(-2πi·j·m / (before·radix)) of every pass but the first, for m below its radix and j below `before`, j fastest;
/// re and im in turn.
fn values(layout: Layout) -> Vec<f32> {
    let mut table = Vec::new();
    for pass in 1..layout.passes() {
        let (radix, before) = (layout.radix(pass), layout.before(pass));
        for m in 0..radix {
            for j in 0..before {
                let angle = -TAU * f64::from(j * m) / f64::from(before * radix);
                table.extend([angle.cos() as f32, angle.sin() as f32]);
            }
        }
    }
    if table.is_empty() {
        // A buffer is never empty.
        table.extend([1.0, 0.0]);
    }
    table
}
