//! Plans are ones that the kernels can run, and the devices that are present compute what the definition says.

mod plans;
pub(in crate::gpu) mod values;
