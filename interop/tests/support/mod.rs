//! Calls that the tests of plans share.
#![allow(dead_code, reason = "not every test uses all of it")]

use cubecl::ir::DeviceProperties;
use firefly_interop::call::contiguous_strides;

/// An operation, and the shapes of its inputs.
pub type Case = (&'static str, &'static [&'static [i64]]);

/// A call of every row, and the shapes of the inputs.
pub const CASES: &[Case] = &[
    ("welch_psd 256 128 2 0 0 false false", &[&[64, 384], &[256]]),
    ("welch_psd 256 128 2 2 8.0 1 false false", &[&[64, 384], &[256], &[129, 3]]),
    ("welch_psd_backward 256 128 2 0 0 false false 3", &[&[64, 384], &[256], &[64, 129]]),
    ("welch_peaks 256 128 2 0 0 false false 16 1", &[&[64, 384], &[256]]),
    ("welch_peaks 256 128 2 0 0 false false 16 0", &[&[64, 384], &[256]]),
    // Segments 0, 5 and 11 of 17.
    ("welch_peaks 64 32 17 0 0 false true 2081 0 4 1", &[&[64, 576], &[64]]),
    ("welch_psd_backward 64 32 17 0 0 false true 2081 0 3", &[&[64, 576], &[64], &[64, 33]]),
    ("top_k 5 0", &[&[64, 1000]]),
    ("local_maxima false 1 false 0 5 0", &[&[64, 129]]),
    ("local_maxima true 0.5 3 true 0.25 1 5 1", &[&[64, 129]]),
    ("butterfly", &[&[32, 256], &[32, 256], &[8, 128, 2]]),
    ("butterfly", &[&[32, 256], &[32, 256], &[8, 128, 2], &[8, 128]]),
    ("butterfly_backward 15", &[&[32, 256], &[32, 256], &[8, 128, 2], &[8, 128], &[32, 256], &[32, 256]]),
    ("complex_fft 100 0 1.0 1.0", &[&[32, 100], &[32, 100]]),
    ("complex_fft 100 1 0.01 1.0", &[&[32, 80], &[32, 80]]),
    ("complex_fft_columns 64 0 1.0 1.0", &[&[4, 64, 33], &[4, 64, 33]]),
    ("real_fft 1000 0 1.0 1.0", &[&[32, 1000]]),
    ("inverse_real_fft 1000 1 0.001 0.5", &[&[32, 501], &[32, 501]]),
    ("interleaved_fft 0 100 1 0.01 1.0", &[&[32, 80, 2]]),
    ("interleaved_fft 1 64 0 1.0 1.0", &[&[4, 64, 33, 2]]),
    // Columns that are rows of transposed matrices.
    ("interleaved_fft 1 10007 1 1.0 1.0", &[&[1, 10007, 2, 2]]),
    ("interleaved_fft 2 1000 0 1.0 1.0", &[&[32, 1000]]),
    ("interleaved_fft 2 999 1 1.0 0.5", &[&[32, 999]]),
    ("interleaved_fft 3 1000 1 0.001 0.5", &[&[32, 501, 2]]),
    ("dct 2 false 1.0 1.0", &[&[32, 64]]),
    ("dct 3 false 1.0 0.5", &[&[32, 63]]),
    ("dct 3 true 1.0 0.5", &[&[32, 64]]),
    ("dct 4 false 1.0 1.0", &[&[32, 64]]),
    ("cross_spectra true", &[&[1, 20, 7, 33], &[1, 20, 7, 33], &[1, 20, 7, 33], &[1, 20, 7, 33]]),
    ("cross_spectra false", &[&[2, 5, 7, 33], &[2, 5, 7, 33], &[2, 9, 7, 33], &[2, 9, 7, 33]]),
    (
        "cross_spectra_backward 15",
        &[&[1, 5, 7, 33], &[1, 5, 7, 33], &[1, 9, 7, 33], &[1, 9, 7, 33], &[1, 5, 9, 33], &[1, 5, 9, 33]],
    ),
    ("mel 400 160 false true 1 false true 16000.0 80 0.0 false 1 1 1 true 1 1 1e-10", &[&[4, 4000], &[400]]),
    (
        "mel_backward 400 160 false true 1 false true 16000.0 80 0.0 false 1 1 1 true 1 1 1e-10 3",
        &[&[4, 4000], &[400], &[4, 80, 26]],
    ),
    ("peak_loss 5 0.1 1e-6 1.0 1.0", &[&[8, 129], &[8, 2], &[8, 1], &[8, 129], &[8, 129]]),
    ("peak_loss_backward 5 0.1 1e-6 1.0 1.0 1", &[&[8, 129], &[8, 2], &[8, 1], &[8, 129], &[8, 129], &[8, 2]]),
    ("spectral_conv", &[&[4, 8, 64, 64], &[8, 8, 12, 12], &[8, 8, 12, 12]]),
    ("spectral_conv_backward 7", &[&[4, 8, 64, 64], &[8, 8, 12, 12], &[8, 8, 12, 12], &[4, 8, 64, 64]]),
    ("long_conv", &[&[4, 8, 1024], &[8, 1024]]),
    ("long_conv", &[&[4, 8, 1024], &[8, 1024], &[4, 8, 1024]]),
    ("long_conv_backward 7", &[&[4, 8, 1024], &[8, 1024], &[4, 8, 1024], &[4, 8, 1024]]),
];

/// Strides of contiguous arrays of these shapes.
pub fn strides(shapes: &[&[i64]]) -> Vec<Vec<i64>> {
    let of_shape = |shape: &&[i64]| contiguous_strides(shape.iter().map(|&length| length as usize));
    shapes.iter().map(|shape| of_shape(shape).into_iter().map(|stride| stride as i64).collect()).collect()
}

/// The properties of an H100.
pub fn h100() -> DeviceProperties {
    use cubecl::ir::features::{Plane, TypeUsage};
    use cubecl::ir::{
        AddressType, DeviceIdentity, ElemType, FloatKind, HardwareProperties, IntKind, MemoryDeviceProperties, UIntKind,
    };
    let hardware = HardwareProperties {
        load_width: 128,
        vector_register_count: None,
        plane_size_min: 32,
        plane_size_max: 32,
        max_bindings: 1024,
        max_shared_memory_size: 232_448,
        max_cube_count: (i32::MAX as u32, 65_535, 65_535),
        max_units_per_cube: 1024,
        max_cube_dim: (1024, 1024, 64),
        num_streaming_multiprocessors: Some(132),
        num_cpu_cores: None,
        last_level_cache_size: None,
        num_tensor_cores: Some(4),
        min_tensor_cores_dim: Some(8),
        max_vector_size: 16,
        cube_mma_reserved_shared_memory: 0,
    };
    let identity = DeviceIdentity { name: "H100".into(), fingerprint: "ptx_sm90".into(), physical: None };
    let memory = MemoryDeviceProperties::new(1 << 34, 512);
    let timing = cubecl_common::profile::TimingMethod::Device;
    let mut properties = DeviceProperties::new(Default::default(), memory, hardware, timing, identity);
    properties.features.plane.insert(Plane::Ops);
    properties.features.plane.insert(Plane::Sync);
    properties.register_address_type(AddressType::U32);
    properties.register_address_type(AddressType::U64);
    let [int, long, uint, float] = [
        ElemType::Int(IntKind::I32),
        ElemType::Int(IntKind::I64),
        ElemType::UInt(UIntKind::U32),
        ElemType::Float(FloatKind::F32),
    ];
    for ty in [ElemType::Index, ElemType::Bool, int, long, uint, float] {
        properties.register_type_usage(ty, TypeUsage::all());
    }
    properties
}
