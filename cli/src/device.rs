//! The devices of a command.

use anyhow::{Result, bail};
use burn::tensor::Device;
use firefly_app::device::{DeviceChoice, DeviceName};
use firefly_app::device_list::{DeviceList, DeviceListError};
use firefly_app::guard::guarded;
use firefly_app::remote::explained_failure;
use firefly_ops::ArgumentError;

#[derive(Debug, Clone, clap::Args)]
pub struct DeviceOptions {
    /// Device: auto (a GPU where there is one, or else the CPU), cpu, ndarray, wgpu, vulkan, metal, cuda or rocm, with an index as
    /// in cuda:1, or remote:HOST:PORT; several, which share the frames, as in cuda:0,cuda:1 or cuda:*
    #[arg(long, default_value = "auto", value_name = "DEVICE,…")]
    device: DeviceList,
}

impl DeviceOptions {
    /// Opens the devices: one at least, all of one kind. An error for a list that names one twice or mixes kinds, and
    /// for a device that this build or this machine lacks.
    pub fn open(&self) -> Result<Vec<OpenDevice>, DeviceListError> {
        let open = |name: DeviceName| Ok(OpenDevice { name, device: name.open()? });
        self.device.names()?.into_iter().map(open).collect()
    }

    /// The names of the open devices, and why it is this one if that was left open.
    pub fn explained(&self, devices: &[OpenDevice]) -> String {
        if self.device.is_auto() { DeviceChoice::Auto.explained() } else { names_of(devices, ", ") }
    }
}

#[derive(Debug, Clone)]
pub struct OpenDevice {
    /// Its name, also where it is a replica of the processor.
    pub name: DeviceName,
    pub device: Device,
}

impl OpenDevice {
    /// The result of `work` on the device. The error is the one of `work`, or the message of its panic, with the
    /// device's name and, for a device of a server, what became of the server. An [`ArgumentError`] as it is: no device
    /// would take those arguments.
    pub fn run<T>(&self, work: impl FnOnce(&Device) -> Result<T>) -> Result<T> {
        let cause = match guarded(|| work(&self.device)) {
            Ok(Ok(result)) => return Ok(result),
            Ok(Err(error)) if error.is::<ArgumentError>() => return Err(error),
            Ok(Err(error)) => format!("{error:#}"),
            Err(panic) => panic,
        };
        bail!("device {} failed: {}", self.name, explained_failure(&self.device, cause))
    }
}

pub fn names_of(devices: &[OpenDevice], separator: &str) -> String {
    devices.iter().map(|device| device.name.to_string()).collect::<Vec<_>>().join(separator)
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn errors_and_panics_name_the_device() {
        let name = "cpu:0,cpu:1".parse::<DeviceList>().unwrap().names().unwrap()[1];
        let device = OpenDevice { name, device: Device::flex() };
        assert_eq!(device.run(|_| Ok(3)).unwrap(), 3);
        let failed = |work: fn(&Device) -> Result<()>| device.run(work).unwrap_err().to_string();
        assert_eq!(failed(|_| Err(anyhow!("inner").context("outer"))), "device cpu:1 failed: outer: inner");
        assert_eq!(
            failed(|_| Err(ArgumentError::new("peaks", "k", 0, "at least 1").into())),
            "peaks: `k` is 0, but must be at least 1"
        );
        assert_eq!(failed(|_| panic!("out of memory")), "device cpu:1 failed: out of memory");
        assert_eq!(names_of(&[device.clone(), device], ","), "cpu:1,cpu:1");
    }
}
