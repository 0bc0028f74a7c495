//! No kernel has an access out of bounds: with bounds checks, which drop such accesses, every output has the same bits.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::devices::{accelerators, bits, small};
use super::launched::take_launched;
use super::outputs::outputs;
use crate::gpu::{GpuDevice, long_conv, mel, spectral_conv, transform};
use crate::options::{Detrend, Scaling, WelchOptions};

/// The floats that a family's kernels compute on a device, at least once each.
type FamilyOutputs = fn(&GpuDevice) -> Vec<Vec<f32>>;

/// The families whose kernels are launched without bounds checks.
const FAMILIES: [(&str, FamilyOutputs); 5] = [
    ("welch and butterfly", power_and_butterflies),
    ("transform", transform::tests::values::outputs_of_kernels),
    ("long_conv", long_conv::tests::outputs_of_kernels),
    ("spectral_conv", spectral_conv::tests::outputs_of_kernels),
    ("mel", mel::tests::outputs_of_kernels),
];

#[test]
#[ignore = "needs a device; run with --include-ignored"]
fn bounds_checks_change_no_bit_of_any_kernel() {
    for device in accelerators() {
        let checked = GpuDevice { bounds_checks: true, ..device.clone() };
        take_launched();
        for (family, outputs) in FAMILIES {
            let (without, with) = (outputs(&device), outputs(&checked));
            assert_eq!(without.len(), with.len(), "{family}");
            for (at, (without, with)) in without.iter().zip(&with).enumerate() {
                assert!(bits(without) == bits(with), "{family}: output {at}");
            }
        }
        let [without, with] = take_launched();
        let kernels = unchecked_kernels();
        let kernels: BTreeSet<&str> = kernels.iter().map(String::as_str).collect();
        assert_eq!(without, kernels, "every kernel is launched without bounds checks, by the macro `launch`");
        assert_eq!(with, kernels, "every kernel is launched with bounds checks");
    }
}

/// Welch power and peaks, butterfly transforms, and their gradients.
fn power_and_butterflies(device: &GpuDevice) -> Vec<Vec<f32>> {
    let apart = |n| WelchOptions {
        scaling: Scaling::Spectrum,
        detrend: Detrend::Constant,
        hop: n + 3,
        ..WelchOptions::new(n, 3)
    };
    // Each search for peaks, one launch and several, even and odd numbers of segments; on a device that may be a program,
    // where kernels take seconds to compile, a row in one launch and one that a smaller device splits.
    let small = small(device);
    let cases = match device.limits.processors {
        Some(_) => vec![
            (device, apart(16)),
            (device, WelchOptions::new(64, 2)),
            (device, apart(256)),
            (device, WelchOptions::new(4096, 2)),
        ],
        None => vec![(device, apart(16)), (&small, WelchOptions::new(256, 2))],
    };
    cases.iter().flat_map(|(device, options)| outputs(device, options, 5)).collect()
}

/// Names of the kernels that can be launched without bounds checks, from the sources of this engine.
fn unchecked_kernels() -> BTreeSet<String> {
    let mut kernels = BTreeSet::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src/gpu")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                // This file names the attribute, too.
                if !path.ends_with("tests") {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let source = fs::read_to_string(path).unwrap();
                for after in source.split("#[cube(launch, launch_unchecked").skip(1) {
                    let name = after.split_once("fn ").unwrap().1.split(['(', '<']).next().unwrap();
                    assert!(kernels.insert(name.to_string()), "two kernels are named {name}");
                }
            }
        }
    }
    kernels
}
