//! Connections to servers: address, token and version are checked, each within a time limit, before a tensor is sent.

use std::collections::HashMap;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use burn::remote::RemoteHost;
use burn::tensor::Device;
use firefly_framework::device::DeviceId;

use super::address::url;
use super::error::RemoteError;
use super::liveness::{self, probe};
use super::server::{own_version, version_of};
use super::token::Token;

/// Limit of one exchange with a server: opening a session, which on a GPU may start its driver, or reading a version.
const LIMIT: Duration = Duration::from_secs(30);

/// The device of a server, connected on the first call. From then on the process ends if the server does not answer for
/// a minute, since a call of Burn that waits for it can't be interrupted.
///
/// # Errors
/// If the server can't be reached, refuses the token, lacks the device, or is of another version.
pub fn open(id: DeviceId) -> Result<Device, RemoteError> {
    static OPENED: Mutex<Option<HashMap<DeviceId, Device>>> = Mutex::new(None);
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    let opened = opened.get_or_insert_default();
    if let Some(device) = opened.get(&id) {
        return Ok(device.clone());
    }
    let device = connect(id.server(), id.index())?;
    id.record(&device);
    liveness::watch(id.server());
    opened.insert(id, device.clone());
    Ok(device)
}

fn connect(server: &'static str, index: usize) -> Result<Device, RemoteError> {
    let token = Token::from_environment()?;
    probe(server, liveness::LIMIT)?;
    let host = RemoteHost::websocket(&url(server));
    let has_token = token.is_some();
    let host = match token {
        Some(token) => host.with_credential(token.text()),
        None => host,
    };
    let device = with_time_limit(server, LIMIT, move || Device::remote_options(&host).device_index(index).init())?
        .map_err(|error| RemoteError::of_connection(error, server, index, has_token))?;
    let opened = device.clone();
    let (theirs, ours) = (with_time_limit(server, LIMIT, move || version_of(&opened))?, own_version());
    match theirs {
        Some(theirs) if theirs == ours => Ok(device),
        theirs => {
            let theirs = theirs.unwrap_or_else(|| "a version that does not tell its number".into());
            Err(RemoteError::Version { server: server.into(), theirs, ours })
        }
    }
}

/// The result of `exchange`, which runs on a thread of its own and is abandoned at the limit.
fn with_time_limit<R: Send + 'static>(
    server: &str,
    limit: Duration,
    exchange: impl FnOnce() -> R + Send + 'static,
) -> Result<R, RemoteError> {
    let (sender, receiver) = channel();
    thread::spawn(move || drop(sender.send(exchange())));
    receiver.recv_timeout(limit).map_err(|error| match error {
        RecvTimeoutError::Timeout => RemoteError::Timeout { server: server.into(), limit },
        RecvTimeoutError::Disconnected => {
            RemoteError::Ended { server: server.into(), reason: "its log has the reason".into() }
        }
    })
}
