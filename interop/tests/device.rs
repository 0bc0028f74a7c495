//! Plans on a CUDA device, beside CubeCL's own runtime: the same bits, so that a release of CubeCL that launches
//! otherwise is noticed.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::ptr::null_mut;

use burn::backend::ops::{FloatTensorOps, IntTensorOps};
use burn::tensor::{DType, read_sync};
use burn_cubecl::tensor::CubeTensor;
use burn_cubecl::{CubeBackend, CubeDevice};
use cubecl_cuda::{CudaDevice, CudaRuntime};
use cubecl_runtime::runtime::Runtime;
use cudarc::driver::sys;
use firefly_interop::plan::WORKSPACE_ALIGNMENT;
use firefly_interop::{Array, Call, operation, plans};
use firefly_ops::op::{SpectralOps, TensorList};

use self::support::{CASES, strides};

/// Positive noise, which every operation takes.
fn noise(length: usize, seed: usize) -> Vec<f32> {
    let value = |i: usize| ((i * 7919 + seed * 104_729) as u32).wrapping_mul(2_654_435_761) >> 8;
    (0..length).map(|i| value(i) as f32 / (1 << 24) as f32 + 0.01).collect()
}

fn allocated(bytes: usize) -> u64 {
    let mut address = 0;
    // SAFETY: the out-parameter outlives the call. The memory lives as long as the test.
    assert_eq!(unsafe { sys::cuMemAlloc_v2(&mut address, bytes.max(1)) }, sys::CUresult::CUDA_SUCCESS);
    address
}

/// Bytes of the outputs by a plan, on memory of the driver's.
fn by_plan(operation: &str, shapes: &[&[i64]], inputs: &[Vec<f32>]) -> Vec<Vec<u8>> {
    let strides = strides(shapes);
    let array = |shape, strides, address| Array { address, shape, strides, dtype: DType::F32 };
    let zero: Vec<Array> = shapes.iter().zip(&strides).map(|(shape, strides)| array(shape, strides, 0)).collect();
    // The plan enters the device's context on its own threads: this one does it here.
    let plan = plans::plan(&Call { operation, device: 0, inputs: &zero }).unwrap();
    // SAFETY: the context is the device's.
    unsafe { sys::cuCtxSetCurrent(plan.context as sys::CUcontext) };
    let addresses: Vec<u64> = inputs
        .iter()
        .map(|values| {
            let address = allocated(values.len() * 4);
            // SAFETY: as many bytes are there as are copied.
            unsafe { sys::cuMemcpyHtoD_v2(address, values.as_ptr().cast(), values.len() * 4) };
            address
        })
        .collect();
    let sizes = plan.outputs.iter().map(|output| output.shape.iter().product::<i64>() as usize * output.dtype.size());
    let outputs: Vec<(u64, usize)> = sizes.map(|size| (allocated(size), size)).collect();
    let workspace = allocated(plan.workspace as usize).next_multiple_of(WORKSPACE_ALIGNMENT);
    let into: Vec<u64> = outputs.iter().map(|(address, _)| *address).collect();
    // SAFETY: all memory is of the plan's sizes.
    unsafe { plan.launch(&addresses, &into, workspace, null_mut()) }.unwrap();
    outputs
        .into_iter()
        .zip(&plan.outputs)
        .map(|((address, size), output)| {
            let mut bytes = vec![0u8; size];
            // SAFETY: as many bytes are there as are copied, after the launches on the default stream.
            unsafe { sys::cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), address, size) };
            in_order(&bytes, &output.shape, &output.strides, output.dtype.size())
        })
        .collect()
}

/// Values of `size` bytes in the order of their indices.
fn in_order(bytes: &[u8], shape: &[i64], strides: &[i64], size: usize) -> Vec<u8> {
    let count: i64 = shape.iter().product();
    let place = |index: i64| {
        let step = |(rest, place): (i64, i64), (&length, &stride): (&i64, &i64)| {
            (rest / length, place + rest % length * stride)
        };
        shape.iter().zip(strides).rev().fold((index, 0), step).1 as usize
    };
    (0..count).flat_map(|index| bytes[place(index) * size..][..size].iter().copied()).collect()
}

/// Bytes of the outputs by CubeCL's own runtime.
fn by_runtime(operation: &str, shapes: &[&[i64]], inputs: &[Vec<f32>]) -> Vec<Vec<u8>> {
    let client = CudaRuntime::client(&CudaDevice::new(0));
    let tensor = |(values, shape): (&Vec<f32>, &&[i64])| {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
        let shape: Vec<usize> = shape.iter().map(|&length| length as usize).collect();
        let handle = client.create_from_slice(&bytes);
        CubeTensor::new_contiguous(
            client.clone(),
            CubeDevice::Cuda(CudaDevice::new(0)),
            shape.into(),
            handle,
            DType::F32,
        )
    };
    let tensors = inputs.iter().zip(shapes).map(tensor).collect();
    let outputs = CubeBackend::apply(operation::parse(operation).unwrap(), TensorList::of_floats(tensors));
    let ints = outputs.ints.into_iter().map(|tensor| read_sync(CubeBackend::int_into_data(tensor)));
    let floats = outputs.floats.into_iter().map(|tensor| read_sync(CubeBackend::float_into_data(tensor)));
    ints.chain(floats).map(|data| data.unwrap().as_bytes().to_vec()).collect()
}

#[test]
#[ignore = "needs a CUDA device"]
fn plans_give_the_bits_of_cubecls_own_runtime() {
    let mut differences = Vec::new();
    for (operation, shapes) in CASES {
        let length = |shape: &[i64]| shape.iter().product::<i64>() as usize;
        let inputs: Vec<Vec<f32>> = shapes.iter().enumerate().map(|(i, shape)| noise(length(shape), i)).collect();
        let (found, expected) = (by_plan(operation, shapes, &inputs), by_runtime(operation, shapes, &inputs));
        assert_eq!(found.len(), expected.len(), "{operation}");
        for (output, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert!(found.iter().any(|&byte| byte != 0), "{operation}: output {output} is all zeros");
            if found != expected {
                differences.push(format!("{operation}: output {output} differs by {:e}", difference(found, expected)));
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// The largest difference of numbers, relative to the largest number.
fn difference(found: &[u8], expected: &[u8]) -> f32 {
    let numbers =
        |bytes: &[u8]| -> Vec<f32> { bytes.as_chunks().0.iter().map(|&value| f32::from_ne_bytes(value)).collect() };
    let (found, expected) = (numbers(found), numbers(expected));
    let largest = expected.iter().fold(0f32, |most, value| most.max(value.abs()));
    found.iter().zip(&expected).fold(0f32, |most, (a, b)| most.max((a - b).abs())) / largest
}
