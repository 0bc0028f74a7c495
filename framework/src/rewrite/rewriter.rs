//! Rewriter: applies rules to a graph where the fusion gate passes.

use super::interpretation::Interpretation;
use super::{Replacement, Rule};
use crate::cost::FusionDecision;
use crate::graph::{Graph, ValueId};
use crate::movement::{MovementOptions, count};
use crate::profile::DeviceProfile;

/// Outcome of one replacement.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplacementOutcome {
    /// The rule's name.
    pub rule: &'static str,
    /// The value that the replacement computes, or would compute.
    pub target: ValueId,
    /// The decision.
    pub decision: FusionDecision,
}

/// A rewritten graph, and the decisions that led to it.
#[derive(Debug, Clone)]
pub struct Rewritten {
    /// The rewritten graph.
    pub graph: Graph,
    /// Every replacement that was found, in order.
    pub outcomes: Vec<ReplacementOutcome>,
}

impl Rewritten {
    /// Number of replacements that were made.
    pub fn applied(&self) -> usize {
        self.outcomes.iter().filter(|outcome| outcome.decision.fuse()).count()
    }

    /// Every decision with its terms, as text.
    pub fn explain(&self) -> String {
        let lines = self.outcomes.iter().map(|outcome| format!("{}: {}", outcome.rule, outcome.decision.explain()));
        lines.collect()
    }
}

/// Rules, and the options by which data movement is counted.
#[derive(Debug, Clone)]
pub struct Rewriter {
    rules: Vec<Rule>,
    options: MovementOptions,
}

impl Rewriter {
    /// The rewriter of every rule.
    pub fn spectral() -> Self {
        Self::new(&Rule::ALL)
    }

    /// The rewriter of some rules, which are tried in this order.
    pub fn new(rules: &[Rule]) -> Self {
        Self { rules: rules.to_vec(), options: MovementOptions::default() }
    }

    /// The same rewriter with other options of counting data movement.
    pub fn with_options(self, options: MovementOptions) -> Self {
        Self { options, ..self }
    }

    /// Every replacement that a rule finds, whatever the fusion gate decides on it.
    pub fn find(&self, graph: &Graph) -> Vec<Replacement> {
        let found = Interpretation::new(graph);
        self.rules.iter().flat_map(|rule| rule.find(&found)).collect()
    }

    /// Applies the rules until none finds a replacement that the fusion gate passes on `device`. Nodes that no output
    /// depends on are removed.
    pub fn run(&self, graph: &Graph, device: &DeviceProfile) -> Rewritten {
        let mut graph = graph.clone();
        graph.prune();
        let mut outcomes: Vec<ReplacementOutcome> = Vec::new();
        while let Some((outcome, after)) = self.next(&graph, device, &outcomes) {
            if outcome.decision.fuse() {
                graph = after;
            }
            outcomes.push(outcome);
        }
        Rewritten { graph, outcomes }
    }

    /// The first replacement without a decision yet, and the graph after it.
    fn next(
        &self,
        graph: &Graph,
        device: &DeviceProfile,
        known: &[ReplacementOutcome],
    ) -> Option<(ReplacementOutcome, Graph)> {
        let found = Interpretation::new(graph);
        let replacements = self.rules.iter().flat_map(|rule| rule.find(&found).map(|found| (rule.name(), found)));
        for (rule, Replacement { graph: mut after, target, obsolete, batch }) in replacements {
            after.prune();
            let producers = after.producers();
            let is_decided = known.iter().any(|outcome| (outcome.rule, outcome.target) == (rule, target));
            if is_decided || obsolete.iter().any(|value| producers[value.index()].is_some()) {
                continue;
            }
            let [old, new] = [graph, &after].map(|graph| count(graph, &self.options));
            let decision = FusionDecision::of_graphs(device, &old, &new, batch);
            return Some((ReplacementOutcome { rule, target, decision }, after));
        }
        None
    }
}
