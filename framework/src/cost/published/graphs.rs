//! The two published graphs of Welch peaks, and their data movement.

use burn::tensor::DType::F32;

use super::without_host_tail;
use crate::cost::PeaksSize;
use crate::graph::{Graph, Operation, ValueId};
use crate::movement::{DataMovement, MovementOptions, count};
use crate::profile::DeviceProfile;

/// The operation that the host runs on every device without a native kernel.
const PEAKS: &str = "WelchPeaks";

/// Segments windowed, completed to complex values in block layout, and transformed; the spectrum is the output.
pub fn spectrum_graph(size: &PeaksSize) -> Graph {
    let mut graph = Graph::default();
    let spectrum = add_spectrum(&mut graph, size);
    graph.set_outputs(&[spectrum]);
    graph
}

/// The same, with peaks found in the spectrum; the peaks are the output.
pub fn fused_graph(size: &PeaksSize) -> Graph {
    let mut graph = Graph::default();
    let spectrum = add_spectrum(&mut graph, size);
    // K pairs of a bin and a power per frame.
    let peaks = graph.apply(custom(PEAKS), &[spectrum], &[size.batch, 2 * size.k], F32);
    graph.set_outputs(&[peaks]);
    graph
}

fn add_spectrum(graph: &mut Graph, size: &PeaksSize) -> ValueId {
    let (rows, n) = (size.batch * size.options.segments, size.options.n_fft);
    let segments = graph.input("segments", &[rows, n], F32);
    let zeros = graph.input("zeros", &[rows, n], F32);
    let windowed = graph.apply(Operation::Subtract, &[segments, segments], &[rows, n], F32);
    let complex = graph.apply(Operation::Concatenate { axis: 1 }, &[windowed, zeros], &[rows, 2 * n], F32);
    graph.apply(custom("fft"), &[complex], &[rows, 2 * n], F32)
}

fn custom(name: &str) -> Operation {
    Operation::Custom { name: name.into(), scalars: Vec::new() }
}

/// Data movement of the [spectrum graph](spectrum_graph) and of the [fused graph](fused_graph) on a device. Where the
/// device has a native kernel for the batch, the fused graph has no host tail.
pub fn movements(size: &PeaksSize, device: &DeviceProfile) -> [DataMovement; 2] {
    let options = MovementOptions::default().with_host_operations(vec![PEAKS.into()]);
    let [spectrum, fused] = [spectrum_graph(size), fused_graph(size)].map(|graph| count(&graph, &options).total);
    let native = device.peaks.native_from.is_some_and(|batch| size.batch as u64 >= batch);
    [spectrum, if native { without_host_tail(fused) } else { fused }]
}
