//! Errors of a connection to a server.

use std::time::Duration;

use burn::remote::ConnectError;
use thiserror::Error;

use super::token::{FILE, TOKEN, TokenError};

/// Reason why a server's device can't be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages describe the variants")]
pub enum RemoteError {
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error("server {server} can't be reached: {reason}")]
    Unreachable { server: String, reason: String },
    #[error("{server} is no server of devices: {reason}")]
    OtherService { server: String, reason: String },
    #[error("server {0} wants a token, and none is given: set {TOKEN} or {FILE} to the server's token")]
    TokenMissing(String),
    #[error("server {0} refused the token: set {TOKEN} or {FILE} to the server's token")]
    TokenRefused(String),
    #[error("server {server} has no device {index}: it has {count}, numbered from 0")]
    NoSuchDevice { server: String, index: usize, count: usize },
    #[error("server {server} runs {theirs}, and this program {ours}: run the same version on both sides")]
    Version { server: String, theirs: String, ours: String },
    #[error("server {server} did not answer within {} s", limit.as_secs())]
    Timeout { server: String, limit: Duration },
    #[error("server {server} ended the session: {reason}")]
    Ended { server: String, reason: String },
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
