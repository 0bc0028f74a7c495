//! The server of this machine's devices.

use std::net::{SocketAddr, TcpListener};

use burn::backend::ir::BackendIr;
use burn::backend::{DispatchDevice, Flex};
use burn::server::{CustomOpRegistry, EmptyToken, RemoteServer, TokenAuthorizer, WebSocketTransport};
use burn::signal::register_fft_ops;
use burn::tensor::Device;
use firefly_ops::{SpectralOps, register_spectral_ops};
use thiserror::Error;

use super::token::{FILE, TOKEN, Token};
use super::version;

/// Failure of a server.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address can be reached from other machines, and there is no token.
    #[error(
        "{0} can be reached from other machines, and there is no token: give one by {TOKEN}, {FILE} or --token-file, \
         or listen on 127.0.0.1"
    )]
    Open(SocketAddr),
    /// The address can't be listened on.
    #[error("{address} can't be listened on: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The devices can't be served.
    #[error(transparent)]
    Burn(#[from] burn::server::ServeError),
    /// The token is empty.
    #[error(transparent)]
    Token(#[from] EmptyToken),
}

/// A server that listens, and serves once it is given devices.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    token: Option<Token>,
    version: String,
}

impl Server {
    /// Listens on an address; port 0 is one that the system chooses.
    ///
    /// # Errors
    /// Without a token, for an address that other machines can reach; for an address that can't be listened on.
    pub fn listen(address: SocketAddr, token: Option<Token>) -> Result<Self, ServeError> {
        if token.is_none() && !address.ip().to_canonical().is_loopback() {
            return Err(ServeError::Open(address));
        }
        let failed = |source| ServeError::Listen { address, source };
        let listener = TcpListener::bind(address).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, address, token, version: version::own() })
    }

    /// The address that is listened on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The server as one of another version, for tests of what clients make of it.
    #[must_use]
    pub fn with_version(mut self, version: &str) -> Self {
        self.version = version.into();
        self
    }

    /// Serves devices of one backend until the process is interrupted or terminated. Clients name them by their
    /// position.
    ///
    /// # Errors
    /// If there are no devices, or of several backends.
    pub fn serve(self, devices: Vec<Device>) -> Result<(), ServeError> {
        let server = RemoteServer::new(devices.clone());
        let server = match &self.token {
            Some(token) => server.with_authorizer(TokenAuthorizer::new(token.text())?),
            None => server,
        };
        let server = match devices.first().map(Device::as_dispatch) {
            Some(DispatchDevice::Flex(_)) => server.with_custom_ops(self.operations::<Flex>(register_fft_ops)),
            #[cfg(feature = "ndarray")]
            #[expect(deprecated, reason = "Burn retires the backend after 0.22; until then its users are served")]
            // It has no Fourier transform of Burn's.
            Some(DispatchDevice::NdArray(_)) => {
                server.with_custom_ops(self.operations::<burn::backend::NdArray>(|_| {}))
            }
            #[cfg(any(feature = "wgpu", feature = "vulkan", feature = "metal", feature = "cuda", feature = "rocm"))]
            Some(DispatchDevice::Cube(_)) => {
                server.with_custom_ops(self.operations::<burn::backend::Cube>(register_fft_ops))
            }
            _ => server,
        };
        Ok(server.serve(WebSocketTransport::from_listener(self.listener))?)
    }

    /// The custom operations of a backend: Firefly's, `others`, and the version.
    fn operations<B: BackendIr + SpectralOps>(
        &self,
        others: impl FnOnce(&mut CustomOpRegistry<B>),
    ) -> CustomOpRegistry<B> {
        let mut registry = CustomOpRegistry::new();
        register_spectral_ops(&mut registry);
        others(&mut registry);
        version::register(&mut registry, &self.version);
        registry
    }
}
