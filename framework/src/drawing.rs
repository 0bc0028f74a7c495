//! Drawings of a graph with the traffic of its nodes: in the DOT language, and as SVG.

use crate::graph::{Graph, Origin};
use crate::movement::GraphMovement;

const WIDTH: usize = 190;
const HEIGHT: usize = 40;
const GAP: usize = 24;

/// Boxes of inputs, nodes and outputs, each behind those that it reads, and arrows between them.
#[derive(Default)]
struct Picture {
    boxes: Vec<PictureBox>,
    /// First and last box of each arrow, and the shape of the value, in the order of the last boxes.
    arrows: Vec<(usize, usize, String)>,
}

/// Title and detail of a box; `class` is `value`, `node` or `view`.
struct PictureBox {
    class: &'static str,
    title: String,
    detail: String,
}

impl Picture {
    fn new(graph: &Graph, movement: &GraphMovement, has_constants: bool) -> Self {
        let mut picture = Self::default();
        // For each value, the box that it comes from.
        let mut sources = vec![None; graph.values().len()];
        let is_read = |index: usize| {
            movement.nodes.iter().any(|node| node.inputs.contains(&index))
                || graph.outputs().iter().any(|output| output.index() == index)
        };
        for (index, value) in graph.values().iter().enumerate() {
            let title = match &value.origin {
                Origin::Input(name) => name,
                Origin::Constant(_) if has_constants && is_read(index) => "constant",
                _ => continue,
            };
            sources[index] = Some(picture.add("value", title, format!("{:?}", value.shape)));
        }
        let shape = |value: usize| format!("{:?}", graph.values()[value].shape);
        for node in &movement.nodes {
            let detail = if node.view { "view".into() } else { format!("{} bytes", node.movement.traffic) };
            let last = picture.add(if node.view { "view" } else { "node" }, &node.operation, detail);
            let read = node.inputs.iter().filter_map(|&input| Some((sources[input]?, last, shape(input))));
            picture.arrows.extend(read);
            node.outputs.iter().for_each(|&output| sources[output] = Some(last));
        }
        for (number, output) in graph.outputs().iter().map(|output| output.index()).enumerate() {
            let last = picture.add("value", &format!("output {number}"), shape(output));
            picture.arrows.extend(sources[output].map(|first| (first, last, shape(output))));
        }
        picture
    }

    /// Adds a box, and returns its index.
    fn add(&mut self, class: &'static str, title: &str, detail: String) -> usize {
        self.boxes.push(PictureBox { class, title: title.into(), detail });
        self.boxes.len() - 1
    }
}

/// The graph in the DOT language of Graphviz: inputs, constants and outputs as ellipses, nodes as boxes with their
/// traffic, views dashed, and the shapes of values on the edges.
pub fn dot(graph: &Graph, movement: &GraphMovement) -> String {
    let Picture { boxes, arrows } = Picture::new(graph, movement, true);
    let boxes = boxes.iter().enumerate().map(|(index, PictureBox { class, title, detail })| {
        let style = match *class {
            "value" => "ellipse",
            "view" => "box, style=dashed",
            _ => "box",
        };
        // Strings of the language have the escapes of Rust's.
        let label = format!("{title}\n{detail}");
        format!("  n{index} [shape={style}, label={label:?}];\n")
    });
    let arrows = arrows.iter().map(|(first, last, shape)| format!("  n{first} -> n{last} [label={shape:?}];\n"));
    let lines: String = boxes.chain(arrows).collect();
    format!("digraph model {{\n  rankdir=TB;\n  node [fontname=\"sans-serif\", fontsize=10];\n{lines}}}\n")
}

/// The graph as SVG, from the inputs down: one box per node with its traffic, views dashed. A node is in the layer
/// below the lowest of its inputs. Constants are left out.
pub fn svg(graph: &Graph, movement: &GraphMovement) -> String {
    let Picture { boxes, arrows } = Picture::new(graph, movement, false);
    let mut layers = vec![0; boxes.len()];
    for &(first, last, _) in &arrows {
        layers[last] = layers[last].max(layers[first] + 1);
    }
    let mut columns = vec![0; layers.iter().max().map_or(0, |last| last + 1)];
    let place = |&layer: &usize| {
        columns[layer] += 1;
        (GAP + (columns[layer] - 1) * (WIDTH + GAP), GAP + layer * (HEIGHT + GAP))
    };
    let places: Vec<(usize, usize)> = layers.iter().map(place).collect();
    let lines = arrows.iter().map(|&(first, last, _)| {
        let (x1, y1, x2, y2) =
            (places[first].0 + WIDTH / 2, places[first].1 + HEIGHT, places[last].0 + WIDTH / 2, places[last].1);
        let middle = usize::midpoint(y1, y2);
        format!("<path d=\"M{x1} {y1}C{x1} {middle} {x2} {middle} {x2} {y2}\"/>\n")
    });
    let boxes = boxes.iter().zip(&places).map(|(PictureBox { class, title, detail }, &(x, y))| {
        let (middle, first, second, title, detail) = (x + WIDTH / 2, y + 17, y + 31, escape(title), escape(detail));
        format!(
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"5\"/>\
             <text x=\"{middle}\" y=\"{first}\">{title}</text><text x=\"{middle}\" y=\"{second}\">{detail}</text>\n"
        )
    });
    let content: String = lines.chain(boxes).collect();
    let width = GAP + columns.iter().max().unwrap_or(&0) * (WIDTH + GAP);
    let height = GAP + columns.len() * (HEIGHT + GAP);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" font-family=\"sans-serif\" font-size=\"11\" text-anchor=\"middle\">\n\
         <style>rect{{fill:#eef3fb;stroke:#35568c}}.view{{stroke-dasharray:4}}.value{{fill:#fdf3dd}}\
         path{{fill:none;stroke:#8a94a6}}</style>\n{content}</svg>\n"
    )
}

/// The text with the characters escaped that XML reserves.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use burn::tensor::DType::F32;

    use super::*;
    use crate::graph::Operation;
    use crate::movement::{MovementOptions, count};

    fn drawn(input: &str, draw: fn(&Graph, &GraphMovement) -> String) -> String {
        let mut graph = Graph::default();
        let x = graph.input(input, &[2, 4], F32);
        let flat = graph.apply(Operation::Reshape, &[x], &[8], F32);
        let sum = graph.apply(Operation::Add, &[flat, flat], &[8], F32);
        graph.set_outputs(&[sum]);
        draw(&graph, &count(&graph, &MovementOptions::default()))
    }

    #[test]
    fn every_node_and_edge_is_there() {
        let text = drawn("a \"signal\"", dot);
        for part in [
            "n0 [shape=ellipse, label=\"a \\\"signal\\\"\\n[2, 4]\"];",
            "n1 [shape=box, style=dashed, label=\"reshape\\nview\"];",
            "n0 -> n1 [label=\"[2, 4]\"];",
            "n2 [shape=box, label=\"add\\n96 bytes\"];",
            "n3 [shape=ellipse, label=\"output 0\\n[8]\"];",
            "n2 -> n3 [label=\"[8]\"];",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
        assert_eq!(text.matches("n1 -> n2").count(), 2);
    }

    #[test]
    fn every_node_is_a_box_below_what_it_reads() {
        let text = drawn("a < b", svg);
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
