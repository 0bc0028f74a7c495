//! Errors of a connection to a server.

use std::time::Duration;

use burn::remote::ConnectError;
use thiserror::Error;

use super::token::{FILE, TOKEN, TokenError};

/// Reason why a server's device can't be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// The token can't be read.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// Nothing answers at the address.
    #[error("server {server} can't be reached: {reason}")]
    Unreachable {
        /// Address of the server.
        server: String,
        /// The system's reason.
        reason: String,
    },
    /// Another service than a server of devices answers at the address.
    #[error("{server} is no server of devices: {reason}")]
    OtherService {
        /// The address.
        server: String,
        /// Difference from the answer of a server of devices.
        reason: String,
    },
    /// The server requires a token, and none is set.
    #[error("server {0} wants a token, and none is given: set {TOKEN} or {FILE} to the server's token")]
    TokenMissing(String),
    /// The server has another token.
    #[error("server {0} refused the token: set {TOKEN} or {FILE} to the server's token")]
    TokenRefused(String),
    /// The server has fewer devices.
    #[error("server {server} has no device {index}: it has {count}, numbered from 0")]
    NoSuchDevice {
        /// Address of the server.
        server: String,
        /// The index.
        index: usize,
        /// Number of devices.
        count: usize,
    },
    /// The server is of another version.
    #[error("server {server} runs {theirs}, and this program {ours}: run the same version on both sides")]
    Version {
        /// Address of the server.
        server: String,
        /// The server's version.
        theirs: String,
        /// This program's version.
        ours: String,
    },
    /// The server does not answer in time.
    #[error("server {server} did not answer within {} s", limit.as_secs())]
    Timeout {
        /// Address of the server.
        server: String,
        /// The time.
        limit: Duration,
    },
    /// The server ended the session.
    #[error("server {server} ended the session: {reason}")]
    Ended {
        /// Address of the server.
        server: String,
        /// Cause, if it is known.
        reason: String,
    },
}

impl RemoteError {
    /// The error of a session that Burn could not open with device `index`, with a token or without.
    pub(super) fn of_connection(error: ConnectError, server: &str, index: usize, has_token: bool) -> Self {
        let (server, reason) = (server.to_string(), error.to_string());
        match error {
            ConnectError::Unauthorized if has_token => Self::TokenRefused(server),
            ConnectError::Unauthorized => Self::TokenMissing(server),
            ConnectError::NoSuchDevice { device_count: count } => Self::NoSuchDevice { server, index, count },
            ConnectError::IncompatibleProtocol { client_version, server_version } => {
                let version = |number| format!("version {number} of Burn's protocol");
                Self::Version { server, theirs: version(server_version), ours: version(client_version) }
            }
            ConnectError::Handshake { .. } => Self::OtherService { server, reason },
            ConnectError::Unreachable { reason } => Self::Unreachable { server, reason },
            _ => Self::Unreachable { server, reason },
        }
    }
}
