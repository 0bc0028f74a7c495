//! Devices of servers, by Burn's remote backend over WebSocket: addresses in every build, connections and the server
//! behind the feature `remote`.

pub mod address;
#[cfg(feature = "remote")]
mod client;
#[cfg(feature = "remote")]
mod error;
#[cfg(feature = "remote")]
mod liveness;
#[cfg(feature = "remote")]
pub mod server;
#[cfg(feature = "remote")]
pub mod token;

#[cfg(feature = "remote")]
pub use self::client::open;
#[cfg(feature = "remote")]
pub use self::error::RemoteError;
#[cfg(feature = "remote")]
pub use self::liveness::explained_failure;

/// Message of a backend that failed; with the feature `remote` it tells what became of the server of a device.
#[cfg(not(feature = "remote"))]
pub fn explained_failure(_: &burn::tensor::Device, cause: String) -> String {
    cause
}
