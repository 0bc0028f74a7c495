//! The gradients of exact Welch power, and the power itself where one launch can't hold a row.
//!
//! With respect to a segment's tapered samples y the gradient is Σ_k q[k]·X[k]·e^(2πi jk/n) over all k, with
//! q[k] = q[n−k] = 2·factor·grad[k]: a real and even filter, which takes real samples to real ones. So two segments go
//! through it as one complex transform and are never told apart. The inverse transform is the transform of swapped parts.

use cubecl::prelude::*;
use cubecl::server::Handle;

use super::active::active_rows;
use super::buffers::from_row;
use super::error::KernelError;
use super::factor::{add_gradient, factor};
use super::network::{Network, Rows};
use super::segments::Segments;
use super::taper::{Skip, taper};
use super::untaper::{signal_gradient, window_gradient};
use super::{grid, power};
use crate::options::WelchOptions;

/// `signal` `[rows, frame]`, `window` `[n_fft]` → `into` `[rows, bins]`, by launches that any length and device can have.
///
/// # Errors
/// If the device can't run a network of length `n_fft`.
pub fn welch_psd(
    client: &Client,
    signal: &Handle,
    window: &Handle,
    into: &Handle,
    rows: usize,
    frame: usize,
    options: &WelchOptions,
) -> Result<(), KernelError> {
    let transforms = options.segments.div_ceil(2) * options.n_fft;
    let network = Network::exact(client, options.n_fft);
    let factor = factor(client, window, options);
    for chunk in grid::chunks(client, rows, 4 * transforms, frame.max(transforms)) {
        let segments =
            Segments { signal: from_row(signal, chunk.start, frame), rows: chunk.len(), frame, options, paired: true };
        let tapered = taper(client, &segments, window, Skip { rows: None, weights: None });
        let outputs = Rows::empty(client, segments.values());
        network.forward(client, &tapered.samples, &outputs, segments.transforms())?;
        let into = from_row(into, chunk.start, options.bins());
        power::power(client, &segments, &outputs, None, &factor, &into);
    }
    Ok(())
}

/// Writes the gradients of the signal `[rows, frame]` and the window `[n_fft]` from `grad`, that of the power
/// `[rows, bins]`.
///
/// # Errors
/// As [`welch_psd`].
#[expect(clippy::too_many_arguments, reason = "the operation's arguments, shapes and outputs")]
pub fn welch_psd_backward(
    client: &Client,
    signal: &Handle,
    window: &Handle,
    grad: &Handle,
    into_signal: &Handle,
    into_window: &Handle,
    rows: usize,
    frame: usize,
    options: &WelchOptions,
) -> Result<(), KernelError> {
    let transforms = options.segments.div_ceil(2) * options.n_fft;
    let network = Network::exact(client, options.n_fft);
    let factor = factor(client, window, options);
    for chunk in grid::chunks(client, rows, 6 * transforms, frame.max(transforms)) {
        let (start, rows) = (chunk.start, chunk.len());
        let grad = from_row(grad, start, options.bins());
        let segments = Segments { signal: from_row(signal, start, frame), rows, frame, options, paired: true };
        let active = active_rows(client, &[&grad, &grad], rows, options.bins());
        let tapered = taper(client, &segments, window, Skip { rows: Some(&active), weights: None });
        let outputs = Rows::empty(client, segments.values());
        network.forward(client, &tapered.samples, &outputs, segments.transforms())?;
        power::filter(client, &segments, &outputs, &factor, &grad);
        let swapped = Rows { re: outputs.imaginary().clone(), im: Some(outputs.re) };
        let inverse = tapered.samples;
        network.forward(client, &swapped, &inverse, segments.transforms())?;
        let of_tapered = Rows { re: inverse.imaginary().clone(), im: Some(inverse.re) };
        signal_gradient(client, &segments, window, &of_tapered, &from_row(into_signal, start, frame));
        window_gradient(client, &segments, &tapered.means, &of_tapered, into_window, start > 0);
    }
    add_gradient(client, window, into_window, options);
    Ok(())
}
