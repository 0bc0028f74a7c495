//! The devices that tests run on, and tests as trials, one per device.

use std::env;
use std::process::ExitCode;

#[cfg(any(feature = "wgpu", feature = "vulkan", all(feature = "metal", target_vendor = "apple")))]
use burn::tensor::DeviceKind;
use burn::tensor::{DType, Device, DeviceType};
use libtest_mimic::{Arguments, Completion, Trial};

/// A test that runs on any device.
pub struct DeviceTest {
    pub name: &'static str,
    pub body: fn(&Device),
}

/// A test that needs no device but the CPU.
pub struct CpuTest {
    pub name: &'static str,
    pub body: fn(),
}

/// Functions as tests of their names: `tests![DeviceTest: first, second]`.
#[allow(unused_macros, reason = "not every test binary runs on devices")]
macro_rules! tests {
    ($kind:ident: $($body:ident),* $(,)?) => {
        &[$($kind { name: stringify!($body), body: $body }),*]
    };
}
#[allow(unused_imports, reason = "not every test binary runs on devices")]
pub(crate) use tests;

/// The trials of a test executable, in the order in which they were added.
#[derive(Default)]
pub struct Trials(Vec<Trial>);

impl Trials {
    /// Adds tests on the CPU and on every [accelerator](Self::on_accelerators).
    pub fn on_devices(mut self, tests: &[DeviceTest]) -> Self {
        for &DeviceTest { name, body } in tests {
            self.0.push(Trial::test(format!("{name}::cpu"), move || {
                body(&Device::flex());
                Ok(())
            }));
        }
        self.on_accelerators(tests)
    }

    /// Adds tests on every accelerator that this build has kernels for. Where one is missing they are ignored, or fail
    /// if the variable `FIREFLY_REQUIRE` contains `devices`.
    pub fn on_accelerators(mut self, tests: &[DeviceTest]) -> Self {
        for &DeviceTest { name, body } in tests {
            let built = built();
            if built.is_empty() {
                let reason = "this build has no accelerator: enable the feature wgpu, vulkan, metal, cuda or rocm";
                self.0.push(Trial::ignorable_test(format!("{name}::accelerator"), move || missing(reason)));
            }
            for (kind, open) in built {
                let label = format!("{kind:?}").to_lowercase();
                self.0.push(Trial::ignorable_test(format!("{name}::{label}"), move || {
                    if Device::enumerate(kind.clone()).is_empty() {
                        return missing("there is no such device");
                    }
                    body(&open());
                    Ok(Completion::Completed)
                }));
            }
        }
        self
    }

    /// Adds tests that need no device.
    pub fn on_cpu(mut self, tests: &[CpuTest]) -> Self {
        for &CpuTest { name, body } in tests {
            self.0.push(Trial::test(name, move || {
                body();
                Ok(())
            }));
        }
        self
    }

    /// Runs the trials that the command line selects.
    pub fn run(self) -> ExitCode {
        libtest_mimic::run(&Arguments::from_args(), self.0).exit_code()
    }
}

/// The outcome of a test whose device is missing.
fn missing(reason: &str) -> Result<Completion, libtest_mimic::Failed> {
    let required = env::var("FIREFLY_REQUIRE").is_ok_and(|names| names.split(',').any(|name| name.trim() == "devices"));
    if required { Err(reason.into()) } else { Ok(Completion::ignored_with(reason)) }
}

/// Burn's types of device that this build has kernels for and this system may have, the CPU aside, each with its
/// default device.
fn built() -> Vec<(DeviceType, fn() -> Device)> {
    vec![
        #[cfg(feature = "wgpu")]
        (DeviceType::Wgpu, || Device::wgpu(DeviceKind::DefaultDevice)),
        #[cfg(feature = "vulkan")]
        (DeviceType::Vulkan, || Device::vulkan(DeviceKind::DefaultDevice)),
        #[cfg(all(feature = "metal", target_vendor = "apple"))]
        (DeviceType::Metal, || Device::metal(DeviceKind::DefaultDevice)),
        #[cfg(feature = "cuda")]
        (DeviceType::Cuda, || Device::cuda(0)),
        #[cfg(feature = "rocm")]
        (DeviceType::Rocm, || Device::rocm(0)),
    ]
}

/// Lengths of segments and transforms that a software device is tested with: every way that kernels are laid out there,
/// once. It takes seconds to compile a kernel.
const SOFTWARE_LENGTHS: [usize; 5] = [8, 16, 64, 256, 4096];

/// Whether tests take length `n` on a device: any on a processor or a graphics card.
pub fn takes(device: &Device, n: usize) -> bool {
    !is_software(device) || SOFTWARE_LENGTHS.contains(&n)
}

/// Whether a device is a program that plays one, as it says itself: there is no card behind it.
#[cfg(feature = "cube")]
pub fn is_software(device: &Device) -> bool {
    device.identity().is_some_and(|identity| identity.physical.is_none())
}

#[cfg(not(feature = "cube"))]
pub fn is_software(_device: &Device) -> bool {
    false
}

/// The types that operations compute in on a device.
pub fn computed(device: &Device) -> &'static [DType] {
    if *device == Device::flex() { &[DType::F32, DType::F64] } else { &[DType::F32] }
}
