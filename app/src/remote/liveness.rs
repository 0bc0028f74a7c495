//! Liveness of servers. TCP notices within half a minute that the machine of an idle server is gone, but not that data
//! on their way to it never arrive, nor that its process is stopped; so a thread sends requests to every server.

use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use burn::tensor::Device;
use firefly_framework::device::{DeviceId, DeviceKind};
use tungstenite::error::ProtocolError;
use tungstenite::{Error, HandshakeError, client_tls};

use super::address::{authority, url};
use super::error::RemoteError;
use crate::streams::{COULD_NOT_RUN, note};

/// Limit of a connection or an answer.
pub(super) const LIMIT: Duration = Duration::from_secs(5);
/// Time between two questions.
const INTERVAL: Duration = Duration::from_secs(5);
/// Time without an answer after which a server counts as dead.
const SILENCE: Duration = Duration::from_secs(60);

/// Checks that a server answers, over TLS where its address says so: any answer over HTTP counts, since Burn's server has
/// no page, but those of a proxy that does not reach it.
pub(super) fn probe(server: &str, limit: Duration) -> Result<(), RemoteError> {
    let unreachable = |reason: String| RemoteError::Unreachable { server: server.into(), reason };
    let other = |reason: &str| RemoteError::OtherService { server: server.into(), reason: reason.into() };
    let stream = connected(authority(server), limit).map_err(|error| unreachable(error.to_string()))?;
    let failure = match client_tls(url(server), stream) {
        Ok(_) => return Ok(()),
        Err(HandshakeError::Interrupted(_)) => return Err(RemoteError::Timeout { server: server.into(), limit }),
        Err(HandshakeError::Failure(failure)) => failure,
    };
    Err(match failure {
        Error::Http(answer) if answer.status().is_server_error() => unreachable(format!("HTTP {}", answer.status())),
        Error::Http(_) => return Ok(()),
        Error::Io(error) => match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => RemoteError::Timeout { server: server.into(), limit },
            // The certificate is not accepted.
            ErrorKind::InvalidData => unreachable(error.to_string()),
            _ => other("it closes the connection"),
        },
        Error::Protocol(ProtocolError::HandshakeIncomplete) => other("it closes the connection"),
        Error::Tls(error) => unreachable(error.to_string()),
        _ => other("it does not answer in HTTP"),
    })
}

/// A connection to the first address of a host that accepts one, with a limit for every exchange.
fn connected(authority: &str, limit: Duration) -> io::Result<TcpStream> {
    let mut stream = Err(io::Error::new(ErrorKind::NotFound, "the name has no address"));
    for address in authority.to_socket_addrs()? {
        stream = TcpStream::connect_timeout(&address, limit);
        if stream.is_ok() {
            break;
        }
    }
    let stream = stream?;
    stream.set_read_timeout(Some(limit))?;
    stream.set_write_timeout(Some(limit))?;
    Ok(stream)
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
                    Err(_) if connected(authority(server), LIMIT).is_err_and(refused) => return,
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
