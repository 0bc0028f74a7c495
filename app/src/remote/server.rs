//! The server of this machine's devices, and its version, which clients compare with theirs.

use std::net::{SocketAddr, TcpListener};

use burn::backend::ir::{BackendIr, CustomOpIr, TensorIr};
use burn::backend::ops::FloatTensorOps;
use burn::backend::{DispatchDevice, Flex, Remote};
use burn::remote::CustomOpClient;
use burn::server::{CustomOpRegistry, EmptyToken, RemoteServer, TokenAuthorizer, WebSocketTransport};
use burn::signal::register_fft_ops;
use burn::tensor::{DType, Device, Shape, TensorData, try_read_sync};
use firefly_ops::op::{SpectralOps, register_spectral_ops};
use thiserror::Error;

use super::token::{FILE, TOKEN, Token};

/// Name of the custom operation that returns a server's version, before any tensor is sent.
const VERSION_OPERATION: &str = "firefly::version";
/// Values of its output, the bytes of the version followed by zeros.
const VERSION_LENGTH: usize = 32;

/// Failure of a server.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages describe the variants")]
pub enum ServeError {
    #[error(
        "{0} can be reached from other machines, and there is no token: give one by {TOKEN}, {FILE} or --token-file, \
         or listen on 127.0.0.1"
    )]
    Open(SocketAddr),
    #[error("{address} can't be listened on: {source}")]
    Listen { address: SocketAddr, source: std::io::Error },
    #[error(transparent)]
    Burn(#[from] burn::server::ServeError),
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
        Ok(Self { listener, address, token, version: own_version() })
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
        register_version(&mut registry, &self.version);
        registry
    }
}

pub(super) fn own_version() -> String {
    format!("firefly {}", env!("CARGO_PKG_VERSION"))
}

fn register_version<B: BackendIr>(registry: &mut CustomOpRegistry<B>, version: &str) {
    let mut bytes: Vec<f32> = version.bytes().map(f32::from).collect();
    bytes.resize(VERSION_LENGTH, 0.0);
    registry.register(VERSION_OPERATION, move |handles, operation, device| {
        let tensor = B::float_from_data(TensorData::new(bytes.clone(), [VERSION_LENGTH]), device);
        handles.register_float_tensor::<B>(&operation.outputs[0].id, tensor);
    });
}

/// Version of the server of an open device; `None` if it returns none.
pub(super) fn version_of(device: &Device) -> Option<String> {
    let DispatchDevice::Remote(remote) = device.as_dispatch() else { return None };
    let client = CustomOpClient::new(remote);
    let output = TensorIr::uninit(client.create_empty_handle(), Shape::from([VERSION_LENGTH]), DType::F32);
    let output = client.register(CustomOpIr::new(VERSION_OPERATION, &[], &[output])).into_iter().next()?;
    let values = try_read_sync(Remote::float_into_data(output))?.ok()?;
    let bytes: Vec<u8> = values.iter::<f32>().map(|value| value as u8).take_while(|byte| *byte != 0).collect();
    String::from_utf8(bytes).ok().filter(|version| !version.is_empty())
}
