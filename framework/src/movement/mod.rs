//! Data movement: launches, synchronisations and bytes, of a computation or of every node of a graph.
//!
//! ```
//! use burn::tensor::DType;
//! use firefly_framework::graph::{Graph, Operation};
//! use firefly_framework::movement::{MovementOptions, count};
//!
//! let mut graph = Graph::default();
//! let x = graph.input("x", &[4, 8], DType::F32);
//! let doubled = graph.apply(Operation::MultiplyScalar(2.0), &[x], &[4, 8], DType::F32);
//! graph.set_outputs(&[doubled]);
//! let movement = count(&graph, &MovementOptions::default());
//! // 128 bytes read, 128 written, and 128 read back.
//! assert_eq!((movement.total.launches, movement.total.traffic, movement.total.host_output), (1, 256, 128));
//! ```

mod arithmetic;
mod data;
mod graph;
mod merged;

pub use data::DataMovement;
pub use graph::{GraphMovement, MovementOptions, NodeMovement, OperationCost, OperationCosts, count};
