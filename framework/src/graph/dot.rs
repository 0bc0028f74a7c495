//! A graph for Graphviz.

use std::fmt::Write;

use super::{Graph, Origin};
use crate::movement::GraphMovement;

/// The graph in the DOT language: inputs and constants as ellipses, nodes as boxes with what they move, views dashed, and
/// the shapes of values on the edges.
pub fn dot(graph: &Graph, movement: &GraphMovement) -> String {
    let mut text = String::from("digraph model {\n  rankdir=TB;\n  node [fontname=\"sans-serif\", fontsize=10];\n");
    let mut line = |arguments: std::fmt::Arguments<'_>| {
        // Writing to a string can't fail.
        let _ = writeln!(text, "  {arguments}");
    };
    let used = |place: usize| {
        movement.nodes.iter().any(|node| node.inputs.contains(&place))
            || graph.outputs().iter().any(|output| output.index() == place)
    };
    for (place, value) in graph.values().iter().enumerate().filter(|(place, _)| used(*place)) {
        let label = match &value.origin {
            Origin::Input(name) => escape(name),
            Origin::Constant(_) => "constant".into(),
            Origin::Computed => continue,
        };
        line(format_args!("v{place} [shape=ellipse, label=\"{label}\\n{:?}\"];", value.shape));
    }
    let makers: std::collections::HashMap<usize, usize> = movement
        .nodes
        .iter()
        .enumerate()
        .flat_map(|(place, node)| node.outputs.iter().map(move |&output| (output, place)))
        .collect();
    let source = |value: usize| match makers.get(&value) {
        Some(node) => format!("n{node}"),
        None => format!("v{value}"),
    };
    for (place, node) in movement.nodes.iter().enumerate() {
        let (name, style) = (escape(&node.operation), if node.view { ", style=dashed" } else { "" });
        let moved = if node.view { "view".into() } else { format!("{} bytes", node.movement.traffic) };
        line(format_args!("n{place} [shape=box{style}, label=\"{name}\\n{moved}\"];"));
        for &input in &node.inputs {
            let shape = &graph.values()[input].shape;
            line(format_args!("{} -> n{place} [label=\"{shape:?}\"];", source(input)));
        }
    }
    for (place, output) in graph.outputs().iter().enumerate() {
        line(format_args!("o{place} [shape=ellipse, label=\"output {place}\"];"));
        let shape = &graph.get(*output).shape;
        line(format_args!("{} -> o{place} [label=\"{shape:?}\"];", source(output.index())));
    }
    text.push_str("}\n");
    text
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use burn::tensor::DType::F32;

    use super::*;
    use crate::graph::Operation;
    use crate::movement::{MovementOptions, count};

    #[test]
    fn every_node_and_edge_is_there() {
        let mut graph = Graph::default();
        let x = graph.input("a \"signal\"", &[2, 4], F32);
        let flat = graph.apply(Operation::Reshape, &[x], &[8], F32);
        let sum = graph.apply(Operation::Add, &[flat, flat], &[8], F32);
        graph.set_outputs(&[sum]);
        let text = dot(&graph, &count(&graph, &MovementOptions::default()));
        for part in [
            "v0 [shape=ellipse, label=\"a \\\"signal\\\"\\n[2, 4]\"];",
            "n0 [shape=box, style=dashed, label=\"reshape\\nview\"];",
            "v0 -> n0 [label=\"[2, 4]\"];",
            "n1 [shape=box, label=\"add\\n64 bytes\"];",
            "n1 -> o0 [label=\"[8]\"];",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
        assert_eq!(text.matches("n0 -> n1").count(), 2);
    }
}
