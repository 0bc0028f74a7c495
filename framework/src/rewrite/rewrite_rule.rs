//! Rule of a rewriter, and the replacement that it finds.

use crate::graph::{Graph, ValueId};

/// Rule that finds parts of a graph which a cheaper operation can compute.
pub trait Rule {
    /// Name of the rule in reports.
    fn name(&self) -> &str;

    /// Every replacement that the rule finds. The replaced graph must compute the same outputs.
    fn find(&self, graph: &Graph) -> Vec<Replacement>;
}

/// A graph with one part replaced.
#[derive(Debug, Clone)]
pub struct Replacement {
    /// The graph with the part replaced; it may still hold nodes that became unused.
    pub graph: Graph,
    /// The value that the replacement computes, which identifies it.
    pub target: ValueId,
    /// Values that must be unused after the replacement: if one is still read, nothing is gained and the graph is left
    /// as it is.
    pub obsolete: Vec<ValueId>,
    /// Number of rows.
    pub batch: u64,
}
