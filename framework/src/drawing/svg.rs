//! Drawing of a graph as SVG, layer by layer.

use std::fmt::Write;

use super::escape::{XML, escape};
use crate::graph::Graph;
use crate::movement::GraphMovement;

const WIDTH: usize = 190;
const HEIGHT: usize = 40;
const GAP: usize = 24;

/// The graph as SVG, from the inputs down: one box per node with its traffic, views dashed. A node is in the layer
/// below the lowest of its inputs.
pub fn svg(graph: &Graph, movement: &GraphMovement) -> String {
    let mut depths = vec![0; graph.values().len()];
    let mut places = vec![None; graph.values().len()];
    let mut columns: Vec<usize> = Vec::new();
    let mut place_at = |depth: usize| {
        columns.resize(columns.len().max(depth + 1), 0);
        columns[depth] += 1;
        (GAP + (columns[depth] - 1) * (WIDTH + GAP), GAP + depth * (HEIGHT + GAP))
    };
    let (mut boxes, mut lines) = (String::new(), String::new());
    for id in graph.inputs() {
        let place = place_at(0);
        places[id.index()] = Some(place);
        let shape = format!("{:?}", graph.get(*id).shape);
        draw(&mut boxes, place, "input", graph.input_name(*id).unwrap_or_default(), &shape);
    }
    for node in &movement.nodes {
        let depth = 1 + node.inputs.iter().map(|&input| depths[input]).max().unwrap_or(0);
        let place = place_at(depth);
        let moved = if node.view { "view".into() } else { format!("{} bytes", node.movement.traffic) };
        draw(&mut boxes, place, if node.view { "view" } else { "node" }, &node.operation, &moved);
        for &output in &node.outputs {
            depths[output] = depth;
            places[output] = Some(place);
        }
        for from in node.inputs.iter().filter_map(|&input| places[input]) {
            connect(&mut lines, from, place);
        }
    }
    for (number, output) in graph.outputs().iter().enumerate() {
        let place = place_at(depths[output.index()] + 1);
        let shape = format!("{:?}", graph.get(*output).shape);
        draw(&mut boxes, place, "input", &format!("output {number}"), &shape);
        if let Some(from) = places[output.index()] {
            connect(&mut lines, from, place);
        }
    }
    let width = GAP + columns.iter().max().unwrap_or(&0) * (WIDTH + GAP);
    let height = GAP + columns.len() * (HEIGHT + GAP);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" font-family=\"sans-serif\" font-size=\"11\" text-anchor=\"middle\">\n\
         <style>rect{{fill:#eef3fb;stroke:#35568c}}.view{{stroke-dasharray:4}}.input{{fill:#fdf3dd}}\
         path{{fill:none;stroke:#8a94a6}}</style>\n{lines}{boxes}</svg>\n"
    )
}

fn draw(text: &mut String, (x, y): (usize, usize), class: &str, title: &str, detail: &str) {
    let (middle, first, second) = (x + WIDTH / 2, y + 17, y + 31);
    let (title, detail) = (escape(title, &XML), escape(detail, &XML));
    // Writing to a string can't fail.
    let _ = writeln!(
        text,
        "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"5\"/>\
         <text x=\"{middle}\" y=\"{first}\">{title}</text><text x=\"{middle}\" y=\"{second}\">{detail}</text>"
    );
}

fn connect(text: &mut String, from: (usize, usize), to: (usize, usize)) {
    let (x1, y1) = (from.0 + WIDTH / 2, from.1 + HEIGHT);
    let (x2, y2) = (to.0 + WIDTH / 2, to.1);
    let middle = usize::midpoint(y1, y2);
    let _ = writeln!(text, "<path d=\"M{x1} {y1}C{x1} {middle} {x2} {middle} {x2} {y2}\"/>");
}

#[cfg(test)]
mod tests {
    use burn::tensor::DType::F32;

    use super::*;
    use crate::graph::Operation;
    use crate::movement::{MovementOptions, count};

    #[test]
    fn every_node_is_a_box_below_what_it_reads() {
        let mut graph = Graph::default();
        let x = graph.input("a < b", &[2, 4], F32);
        let flat = graph.apply(Operation::Reshape, &[x], &[8], F32);
        let sum = graph.apply(Operation::Add, &[flat, flat], &[8], F32);
        graph.set_outputs(&[sum]);
        let text = svg(&graph, &count(&graph, &MovementOptions::default()));
        assert!(text.contains("a &lt; b") && text.contains(">96 bytes<"), "{text}");
        assert_eq!((text.matches("<rect class").count(), text.matches("<path d").count()), (4, 4));
        let top = |title: &str| {
            let (before, _) = text.split_once(&format!(">{title}<")).unwrap();
            let (_, y) = before.rsplit_once(" y=\"").unwrap();
            y.split_once('"').unwrap().0.parse::<usize>().unwrap()
        };
        assert!(top("reshape") < top("add") && top("add") < top("output 0"));
        assert!(text.starts_with("<svg") && text.ends_with("</svg>\n"));
    }
}
