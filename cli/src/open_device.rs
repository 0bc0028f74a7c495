//! The devices of a command, open.

use anyhow::{Result, bail};
use burn::tensor::Device;
use firefly_app::device::DeviceName;
use firefly_app::guard::guarded;
use firefly_app::remote::explained_failure;
use firefly_ops::ArgumentError;

/// A device that is open, and the name it was opened by.
#[derive(Debug, Clone)]
pub struct OpenDevice {
    /// Its name, also where it is a replica of the processor.
    pub name: DeviceName,
    /// The device.
    pub device: Device,
}

impl OpenDevice {
    /// The result of `work` on the device.
    ///
    /// # Errors
    /// The error of `work`, or the message of its panic, with the device's name and, for a device of a server, what became
    /// of the server. An [`ArgumentError`] as it is: no device would take those arguments.
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

/// Names of devices, with a separator between them.
pub fn names_of(devices: &[OpenDevice], separator: &str) -> String {
    devices.iter().map(|device| device.name.to_string()).collect::<Vec<_>>().join(separator)
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn errors_and_panics_name_the_device() {
        let name = "cpu:0,cpu:1".parse::<firefly_app::device_list::DeviceList>().unwrap().names().unwrap()[1];
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
