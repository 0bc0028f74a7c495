//! Several devices of one machine: replicas of a model that train on shares of each batch.
//!
//! Every device holds the model, its optimizer and its data. In a step each computes the gradients of its share of the
//! batch; once all have, the gradients are summed and every device makes the same update. The first device alone
//! validates and is saved, so that checkpoints do not depend on the number of devices.

mod guard;
mod replicas;
mod sum;
mod vector;

pub(crate) use guard::guarded;
pub use replicas::Replicas;
