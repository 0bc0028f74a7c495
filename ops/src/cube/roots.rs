//! The roots of unity that exact transforms share, made on the host in float64 and kept on each device.

use std::collections::HashMap;
use std::f64::consts::TAU;
use std::sync::{LazyLock, Mutex, PoisonError};

use cubecl::client::Client;
use cubecl::server::Handle;

type Key = (String, usize);

static KEPT: LazyLock<Mutex<HashMap<Key, Handle>>> = LazyLock::new(Default::default);

/// exp(-2πi·j/n) for j below n/2, re and im in turn, on the client's device.
pub(super) fn roots(client: &Client, n: usize) -> Handle {
    let key = (format!("{:?}", client.service_id()), n);
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    kept.entry(key)
        .or_insert_with(|| {
            let angle = |j: usize| -TAU * j as f64 / n as f64;
            let values: Vec<f32> = (0..n / 2).flat_map(|j| [angle(j).cos() as f32, angle(j).sin() as f32]).collect();
            client.create_from_slice(bytemuck::cast_slice(&values))
        })
        .clone()
}
