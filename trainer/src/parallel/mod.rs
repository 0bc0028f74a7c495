//! Several devices of one machine: replicas of a model that train on shares of each batch.
//!
//! Model, optimizer and data are on every device. A step computes the gradients of one share of the batch per device,
//! sums them over all devices, and makes the same update on each. Validation and checkpoints use the first device
//! alone, so that checkpoints do not depend on the number of devices.

#[cfg(feature = "cuda")]
mod launched;
mod replicas;
mod sum;

pub use replicas::Replicas;
