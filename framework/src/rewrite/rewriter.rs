//! Rewriter: applies rules to a graph where the fusion gate passes.

use super::rewrite_rule::{Replacement, Rule};
use super::{ComplexFftRule, LongConvRule, MelRule, SpectralConvRule, WelchPeaksRule, WelchPsdRule, register_costs};
use crate::cost::FusionDecision;
use crate::graph::{Graph, ValueId};
use crate::movement::{MovementOptions, count};
use crate::profile::DeviceProfile;

/// Outcome of one replacement.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplacementOutcome {
    /// The rule's name.
    pub rule: String,
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
pub struct Rewriter<'a> {
    rules: Vec<Box<dyn Rule + 'a>>,
    options: MovementOptions,
}

impl<'a> Rewriter<'a> {
    /// The rewriter of Firefly's rules, with the costs of Firefly's operations.
    pub fn spectral() -> Self {
        let mut options = MovementOptions::default();
        register_costs(&mut options.costs);
        Self::new(options).with_spectral_rules()
    }

    /// A rewriter without rules, which counts data movement by `options`.
    pub const fn new(options: MovementOptions) -> Self {
        Self { rules: Vec::new(), options }
    }

    /// The same rewriter with Firefly's rules.
    pub fn with_spectral_rules(mut self) -> Self {
        self.register(ComplexFftRule);
        self.register(WelchPeaksRule);
        self.register(WelchPsdRule);
        self.register(MelRule);
        self.register(SpectralConvRule);
        self.register(LongConvRule);
        self
    }

    /// Every replacement that a rule finds, whatever the fusion gate decides on it.
    pub fn find(&self, graph: &Graph) -> Vec<Replacement> {
        self.rules.iter().flat_map(|rule| rule.find(graph)).collect()
    }

    /// Adds a rule; rules are tried in the order in which they were added.
    pub fn register(&mut self, rule: impl Rule + 'a) {
        self.rules.push(Box::new(rule));
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
        for rule in &self.rules {
            let decided = |target| known.iter().any(|outcome| outcome.rule == rule.name() && outcome.target == target);
            for Replacement { graph: mut after, target, obsolete, batch } in rule.find(graph) {
                after.prune();
                let producers = after.producers();
                if decided(target) || obsolete.iter().any(|value| producers[value.index()].is_some()) {
                    continue;
                }
                let [before, saved] = [graph, &after].map(|graph| count(graph, &self.options).total);
                let decision = FusionDecision::new(device, before, saved, batch);
                return Some((ReplacementOutcome { rule: rule.name().into(), target, decision }, after));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::DType::F32;

    use super::*;
    use crate::graph::{Node, Operation};
    use crate::profile::Preset;

    /// Two scalar multiplications one after the other are one.
    struct MergeMultiplications;

    impl Rule for MergeMultiplications {
        fn name(&self) -> &str {
            "merge multiplications"
        }

        fn find(&self, graph: &Graph) -> Vec<Replacement> {
            let producers = graph.producers();
            let merge = |(index, node): (usize, &Node)| {
                let Operation::MultiplyScalar(second) = node.operation else { return None };
                let middle = node.inputs[0];
                let before = &graph.nodes()[producers[middle.index()]?];
                let Operation::MultiplyScalar(first) = before.operation else { return None };
                let mut after = graph.clone();
                let merged = Operation::MultiplyScalar(first * second);
                after.replace(&[index], vec![Node::new(merged, before.inputs.clone(), node.outputs.clone())]);
                Some(Replacement { graph: after, target: node.outputs[0], obsolete: vec![middle], batch: 1 })
            };
            graph.nodes().iter().enumerate().filter_map(merge).collect()
        }
    }

    fn chain(read_elsewhere: bool) -> Graph {
        let mut graph = Graph::default();
        let x = graph.input("x", &[10], F32);
        let values: Vec<ValueId> = [2.0, 3.0, 5.0]
            .iter()
            .scan(x, |value, factor| {
                *value = graph.apply(Operation::MultiplyScalar(*factor), &[*value], &[10], F32);
                Some(*value)
            })
            .collect();
        graph.set_outputs(if read_elsewhere { &values } else { &values[2..] });
        graph
    }

    fn rewriter() -> Rewriter<'static> {
        let mut rewriter = Rewriter::new(MovementOptions::default());
        rewriter.register(MergeMultiplications);
        rewriter
    }

    #[test]
    fn rules_apply_until_none_matches() {
        let rewritten = rewriter().run(&chain(false), &Preset::Cpu.profile());
        let factors: Vec<_> = rewritten.graph.nodes().iter().map(|node| node.operation.clone()).collect();
        assert_eq!(factors, [Operation::MultiplyScalar(30.0)]);
        assert_eq!(rewritten.applied(), 2);
        assert!(rewritten.explain().contains("merge multiplications: fuse on cpu"));
    }

    #[test]
    fn replacements_below_the_minimum_gain_are_not_made() {
        let device = DeviceProfile { min_gain: 1e9, ..Preset::Cpu.profile() };
        let rewritten = rewriter().run(&chain(false), &device);
        assert_eq!((rewritten.graph.nodes().len(), rewritten.applied()), (3, 0));
        assert_eq!(rewritten.outcomes.len(), 2);
    }

    #[test]
    fn values_that_are_read_elsewhere_keep_their_nodes() {
        let rewritten = rewriter().run(&chain(true), &Preset::Cpu.profile());
        assert_eq!((rewritten.graph.nodes().len(), rewritten.outcomes.len()), (3, 0));
    }
}
