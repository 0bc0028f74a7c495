//! Liveness of servers. TCP notices within half a minute that the machine of an idle server is gone, but not that data
//! on their way to it never arrive, nor that its process is stopped; so a thread sends requests to every server.

use std::collections::BTreeSet;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use burn::tensor::Device;
use firefly_framework::device::{DeviceId, DeviceKind};

use super::address::authority;
use super::error::RemoteError;
use crate::streams::{COULD_NOT_RUN, note};

/// Limit of a connection or an answer.
pub(super) const LIMIT: Duration = Duration::from_secs(5);
/// Time between two questions.
const INTERVAL: Duration = Duration::from_secs(5);
/// Time without an answer after which a server counts as dead.
const SILENCE: Duration = Duration::from_secs(60);

/// Checks that a server answers: any answer over HTTP counts, since Burn's server has no page. Of a connection with TLS
/// only that it is accepted.
pub(super) fn probe(server: &str, limit: Duration) -> Result<(), RemoteError> {
    let (authority, is_secure) = authority(server);
    let unreachable = |error: io::Error| RemoteError::Unreachable { server: server.into(), reason: error.to_string() };
    let mut stream = connected(authority, limit).map_err(unreachable)?;
    if is_secure {
        return Ok(());
    }
    let mut start = [0; 5];
    let answered = stream
        .set_read_timeout(Some(limit))
        .and_then(|()| stream.set_write_timeout(Some(limit)))
        .and_then(|()| write!(stream, "GET / HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n"))
        .and_then(|()| stream.read_exact(&mut start));
    let other = |reason: &str| RemoteError::OtherService { server: server.into(), reason: reason.into() };
    match answered {
        Ok(()) if &start == b"HTTP/" => Ok(()),
        Ok(()) => Err(other("it does not answer in HTTP")),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            Err(RemoteError::Timeout { server: server.into(), limit })
        }
        Err(_) => Err(other("it closes the connection")),
    }
}

/// A connection to the first address of a host that accepts one.
fn connected(authority: &str, limit: Duration) -> io::Result<TcpStream> {
    let mut stream = Err(io::Error::new(ErrorKind::NotFound, "the name has no address"));
    for address in authority.to_socket_addrs()? {
        stream = TcpStream::connect_timeout(&address, limit);
        if stream.is_ok() {
            break;
        }
    }
    stream
}

/// Starts the thread that ends the process once a server has been silent for [`SILENCE`]; one per server.
pub(super) fn watch(server: &'static str) {
    static WATCHED: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    if WATCHED.lock().unwrap_or_else(PoisonError::into_inner).insert(server) {
        thread::spawn(move || {
            let mut answered = Instant::now();
            while answered.elapsed() < SILENCE {
                thread::sleep(INTERVAL);
                let refused = |error: io::Error| error.kind() == ErrorKind::ConnectionRefused;
                match probe(server, LIMIT) {
                    Ok(()) => answered = Instant::now(),
                    // The server's process has ended, and its connections with it: no call waits for them.
                    Err(_) if connected(authority(server).0, LIMIT).is_err_and(refused) => return,
                    Err(_) => {}
                }
            }
            note(format_args!("error: server {server} has not answered for {} s", SILENCE.as_secs()));
            std::process::exit(COULD_NOT_RUN.into());
        });
    }
}

/// Message of a backend that failed, and for a server's device what became of the server.
pub fn explained_failure(device: &Device, cause: String) -> String {
    let id = DeviceId::of(device);
    if id.kind() != DeviceKind::Remote {
        return cause;
    }
    let server = id.server();
    match probe(server, LIMIT) {
        Ok(()) => format!("server {server} ended the session, and its log has the reason ({cause})"),
        Err(error) => format!("{error} ({cause})"),
    }
}
