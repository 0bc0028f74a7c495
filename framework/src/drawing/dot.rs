//! Drawing of a graph in the DOT language.

use std::collections::HashMap;
use std::fmt::Write;

use super::escape::{DOT, escape};
use crate::graph::{Graph, Origin};
use crate::movement::GraphMovement;

/// The graph in the DOT language of Graphviz: inputs, constants and outputs as ellipses, nodes as boxes with their
/// traffic, views dashed, and the shapes of values on the edges.
pub fn dot(graph: &Graph, movement: &GraphMovement) -> String {
    let mut text = String::from("digraph model {\n  rankdir=TB;\n  node [fontname=\"sans-serif\", fontsize=10];\n");
    let mut line = |arguments: std::fmt::Arguments<'_>| {
        // Writing to a string can't fail.
        let _ = writeln!(text, "  {arguments}");
    };
    let used = |index: usize| {
        movement.nodes.iter().any(|node| node.inputs.contains(&index))
            || graph.outputs().iter().any(|output| output.index() == index)
    };
    for (index, value) in graph.values().iter().enumerate().filter(|(index, _)| used(*index)) {
        let label = match &value.origin {
            Origin::Input(name) => escape(name, &DOT),
            Origin::Constant(_) => "constant".into(),
            Origin::Computed => continue,
        };
        line(format_args!("v{index} [shape=ellipse, label=\"{label}\\n{:?}\"];", value.shape));
    }
    let producers: HashMap<usize, usize> = movement
        .nodes
        .iter()
        .enumerate()
        .flat_map(|(index, node)| node.outputs.iter().map(move |&output| (output, index)))
        .collect();
    let source = |value: usize| match producers.get(&value) {
        Some(node) => format!("n{node}"),
        None => format!("v{value}"),
    };
    for (index, node) in movement.nodes.iter().enumerate() {
        let (name, style) = (escape(&node.operation, &DOT), if node.view { ", style=dashed" } else { "" });
        let moved = if node.view { "view".into() } else { format!("{} bytes", node.movement.traffic) };
        line(format_args!("n{index} [shape=box{style}, label=\"{name}\\n{moved}\"];"));
        for &input in &node.inputs {
            let shape = &graph.values()[input].shape;
            line(format_args!("{} -> n{index} [label=\"{shape:?}\"];", source(input)));
        }
    }
    for (index, output) in graph.outputs().iter().enumerate() {
        line(format_args!("o{index} [shape=ellipse, label=\"output {index}\"];"));
        let shape = &graph.get(*output).shape;
        line(format_args!("{} -> o{index} [label=\"{shape:?}\"];", source(output.index())));
    }
    text.push_str("}\n");
    text
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
            "n1 [shape=box, label=\"add\\n96 bytes\"];",
            "n1 -> o0 [label=\"[8]\"];",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
        assert_eq!(text.matches("n0 -> n1").count(), 2);
    }
}
