//! Comparison of versions: a custom operation of the server returns its version, before any tensor is sent.

use burn::backend::ir::{BackendIr, CustomOpIr, TensorIr};
use burn::backend::ops::FloatTensorOps;
use burn::backend::{DispatchDevice, Remote};
use burn::remote::CustomOpClient;
use burn::server::CustomOpRegistry;
use burn::tensor::{DType, Device, Shape, TensorData, try_read_sync};

/// Name of the operation.
const OPERATION: &str = "firefly::version";
/// Values of its output, the bytes of the version followed by zeros.
const LENGTH: usize = 32;

/// Version of this program.
pub(super) fn own() -> String {
    format!("firefly {}", env!("CARGO_PKG_VERSION"))
}

/// Registers the operation that returns `version`.
pub(super) fn register<B: BackendIr>(registry: &mut CustomOpRegistry<B>, version: &str) {
    let mut bytes: Vec<f32> = version.bytes().map(f32::from).collect();
    bytes.resize(LENGTH, 0.0);
    registry.register(OPERATION, move |handles, operation, device| {
        let tensor = B::float_from_data(TensorData::new(bytes.clone(), [LENGTH]), device);
        handles.register_float_tensor::<B>(&operation.outputs[0].id, tensor);
    });
}

/// Version of the server of an open device; `None` if it returns none.
pub(super) fn of_server(device: &Device) -> Option<String> {
    let DispatchDevice::Remote(remote) = device.as_dispatch() else { return None };
    let client = CustomOpClient::new(remote);
    let output = TensorIr::uninit(client.create_empty_handle(), Shape::from([LENGTH]), DType::F32);
    let output = client.register(CustomOpIr::new(OPERATION, &[], &[output])).into_iter().next()?;
    let values = try_read_sync(Remote::float_into_data(output))?.ok()?;
    let bytes: Vec<u8> = values.iter::<f32>().map(|value| value as u8).take_while(|byte| *byte != 0).collect();
    String::from_utf8(bytes).ok().filter(|version| !version.is_empty())
}
