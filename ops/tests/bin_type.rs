//! Bins on a device whose integers can't hold -1. Such a setting is the process's, so this file has a test alone.

mod common;

use burn::tensor::{DType, Device, IntDType, Tensor};
use common::integers;
use common::weights::{WeightNumbers, gained_peaks};
use firefly_ops::{WelchOptions, welch_peaks};

#[test]
fn missing_peaks_are_negative_on_a_device_of_unsigned_integers() {
    let mut device = Device::flex();
    device.configure(IntDType::U32).unwrap();
    let options = WelchOptions::new(16, 2);
    let signal = Tensor::<2>::full([2, options.frame()], f32::NAN, &device);
    let parameters = WeightNumbers::exact(&options).tensors(&options, &device, DType::F32);
    let exact = welch_peaks(signal.clone(), parameters.window.clone(), &options, 3).unwrap();
    let gained = gained_peaks(signal, &parameters, &options, 3).unwrap();
    for bins in [exact.bins, gained.bins] {
        assert_eq!(bins.dtype(), DType::I64);
        assert_eq!(integers(bins), [-1; 6]);
    }
}
