//! Addresses of servers in the names of devices: `remote:HOST:PORT`, with an index as in `remote:HOST:PORT:1`.

use firefly_framework::device::DeviceKind;
use thiserror::Error;

/// Scheme of a connection without encryption.
const PLAIN: &str = "ws";
/// Scheme of a connection with TLS.
const SECURE: &str = "wss";

/// Reason why the address of a server is malformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages describe the variants")]
pub enum AddressError {
    #[error("the scheme of an address is ws or wss, as in remote:wss://gpu.example.com:443")]
    Scheme,
    #[error("the host is missing: the name is remote:HOST:PORT, with an IPv6 address in brackets")]
    Host,
    #[error("the port must be a number from 1 to 65535, as in remote:gpu:7700")]
    Port,
    #[error("the index must be a whole number, as in remote:gpu:7700:1")]
    Index,
}

/// The server's address and the index in the name of a device; `None` if the name is not one of a server's device.
pub(crate) fn of_name(name: &str) -> Option<Result<(String, usize), AddressError>> {
    let place = name.strip_prefix(DeviceKind::Remote.name())?;
    if place.is_empty() { Some(Err(AddressError::Host)) } else { place.strip_prefix(':').map(parse) }
}

fn parse(place: &str) -> Result<(String, usize), AddressError> {
    let (scheme, place) = place.split_once("://").unwrap_or((PLAIN, place));
    let (host, rest) = match place.strip_prefix('[') {
        Some(bracketed) => {
            let (host, rest) = bracketed.split_once(']').ok_or(AddressError::Host)?;
            (format!("[{host}]"), rest.strip_prefix(':').unwrap_or_default())
        }
        None => place.split_once(':').map_or((place.to_string(), ""), |(host, rest)| (host.to_string(), rest)),
    };
    if host.is_empty() || host == "[]" || host.contains(['/', '@', '?', '#']) {
        return Err(AddressError::Host);
    }
    let (port, index) = rest.split_once(':').map_or((rest, None), |(port, index)| (port, Some(index)));
    let port: u16 = port.parse().ok().filter(|port| *port > 0).ok_or(AddressError::Port)?;
    let index = index.map_or(Ok(0), |index| index.parse().map_err(|_| AddressError::Index))?;
    match scheme {
        PLAIN => Ok((format!("{host}:{port}"), index)),
        SECURE => Ok((format!("{SECURE}://{host}:{port}"), index)),
        _ => Err(AddressError::Scheme),
    }
}

/// Host and port of a server's address.
#[cfg(feature = "remote")]
pub(super) fn authority(server: &str) -> &str {
    server.split_once("://").map_or(server, |(_, authority)| authority)
}

#[cfg(feature = "remote")]
pub(super) fn url(server: &str) -> String {
    if server.contains("://") { server.to_string() } else { format!("{PLAIN}://{server}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_host_port_and_index() {
        let parsed = |name| of_name(name).unwrap();
        assert_eq!(parsed("remote:gpu:7700"), Ok(("gpu:7700".into(), 0)));
        assert_eq!(parsed("remote:ws://127.0.0.1:7700:3"), Ok(("127.0.0.1:7700".into(), 3)));
        assert_eq!(parsed("remote:wss://[::1]:443:1"), Ok(("wss://[::1]:443".into(), 1)));
        assert_eq!(of_name("cuda:1"), None);
    }

    #[test]
    fn malformed_addresses_say_what_is_wrong() {
        for (name, expected) in [
            ("remote", AddressError::Host),
            ("remote:", AddressError::Host),
            ("remote::7700", AddressError::Host),
            ("remote:[::1:7700", AddressError::Host),
            ("remote:token@gpu:7700", AddressError::Host),
            ("remote:gpu", AddressError::Port),
            ("remote:gpu:0", AddressError::Port),
            ("remote:gpu:70000", AddressError::Port),
            ("remote:gpu:7700:x", AddressError::Index),
            ("remote:http://gpu:7700", AddressError::Scheme),
        ] {
            assert_eq!(of_name(name), Some(Err(expected)), "{name}");
        }
    }
}
