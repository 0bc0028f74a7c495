//! The roots of unity that exact transforms share, made on the host in float64 and kept on each device.

use std::f64::consts::TAU;

use cubecl::client::Client;
use cubecl::server::Handle;

use super::tables::{Table, kept};

/// exp(-2πi·j/n) for j below n/2, re and im in turn, on the client's device.
pub(super) fn roots(client: &Client, n: usize) -> Handle {
    kept(client, Table::Roots(n), || {
        let angle = |j: usize| -TAU * j as f64 / n as f64;
        (0..n / 2).flat_map(|j| [angle(j).cos() as f32, angle(j).sin() as f32]).collect()
    })
}
