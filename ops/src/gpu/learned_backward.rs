//! The gradients of learned Welch power.

use cubecl::prelude::*;
use cubecl::server::Handle;

use super::active::active_rows;
use super::buffers::{empty, from_row};
use super::error::KernelError;
use super::factor::{add_gradient, factor};
use super::learned::Parameters;
use super::network::{NetworkGradients, Rows};
use super::segments::Segments;
use super::sums::reduce;
use super::taper::{Skip, taper};
use super::untaper::{signal_gradient, window_gradient};
use super::{gain, grid, power};
use crate::options::WelchOptions;

/// The gradients to be written. The signal's is `[rows, frame]`.
#[derive(Debug, Clone)]
pub struct LearnedGradients {
    /// Of the signal.
    pub signal: Handle,
    /// Of the parameters.
    pub parameters: Parameters,
}

/// Writes the gradients that are `wanted` (signal, window, twiddles, gates, weights, gain), and perhaps others, from `grad`,
/// that of the power `[rows, bins]`.
///
/// # Errors
/// As [`learned_welch_psd`](super::learned::learned_welch_psd).
#[expect(clippy::too_many_arguments, reason = "the operation's arguments, shapes and outputs")]
pub fn learned_welch_psd_backward(
    client: &Client,
    signal: &Handle,
    parameters: &Parameters,
    grad: &Handle,
    into: &LearnedGradients,
    rows: usize,
    frame: usize,
    options: &WelchOptions,
    wanted: [bool; 6],
) -> Result<(), KernelError> {
    let [of_signal, of_window, of_twiddles, of_gates, of_weights, of_gain] = wanted;
    let through_segments = of_signal || of_window || of_twiddles || of_gates;
    let (n, bins) = (options.n_fft, options.bins());
    let transforms = options.segments * n;
    let factor = factor(client, &parameters.window, options);
    let network = parameters.network(n);
    for chunk in grid::chunks(client, rows, 6 * transforms + 3 * bins, frame.max(transforms)) {
        let (start, rows) = (chunk.start, chunk.len());
        let accumulate = start > 0;
        let grad = from_row(grad, start, bins);
        let segments = Segments { signal: from_row(signal, start, frame), rows, frame, options, paired: false };
        let active = active_rows(client, &[&grad, &grad], rows, bins);
        // The gradient of a weight of 0 asks for its segment, too.
        let weights = (!of_weights).then_some(&parameters.weights);
        let tapered = taper(client, &segments, &parameters.window, Skip { rows: Some(&active), weights });
        let outputs = Rows::empty(client, segments.values());
        network.forward(client, &tapered.samples, &outputs, segments.transforms())?;
        if of_gain {
            let plain = empty(client, rows * bins);
            power::power(client, &segments, &outputs, Some(&parameters.weights), &factor, &plain);
            gain::gain_gradient(client, &grad, &plain, &active, &into.parameters.gain, rows, bins, accumulate);
        }
        let of_sums = gain::sum_gradient(client, &grad, &parameters.gain, &factor, &active, rows, bins);
        if of_weights {
            let each = power::weight_gradients(client, &segments, &outputs, &active, &of_sums);
            reduce(client, each, rows, options.segments, &into.parameters.weights, accumulate);
        }
        if !through_segments {
            continue;
        }
        power::weighted_gradient(client, &segments, &outputs, &parameters.weights, &active, &of_sums);
        let of_tapered = Rows::empty(client, segments.values());
        let sums =
            NetworkGradients { twiddles: into.parameters.twiddles.clone(), gates: into.parameters.gates.clone() };
        let count = segments.transforms();
        network.backward(client, &tapered.samples, &outputs, &of_tapered, &sums, count, accumulate)?;
        let of_tapered = Rows { im: None, ..of_tapered };
        if of_signal {
            let into = from_row(&into.signal, start, frame);
            signal_gradient(client, &segments, &parameters.window, &of_tapered, &into);
        }
        if of_window {
            let into = &into.parameters.window;
            window_gradient(client, &segments, &tapered.means, &of_tapered, into, accumulate);
        }
    }
    if of_window {
        add_gradient(client, &parameters.window, &into.parameters.window, options);
    }
    Ok(())
}
