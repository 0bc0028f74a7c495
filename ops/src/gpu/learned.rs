//! Learned Welch power on a device: taper, network, power, gain, a launch each.

use cubecl::prelude::*;
use cubecl::server::Handle;

use super::buffers::{empty, from_row};
use super::error::KernelError;
use super::factor::factor;
use super::network::{Network, Rows};
use super::segments::Segments;
use super::taper::{Skip, taper};
use super::{gain, grid, power};
use crate::options::WelchOptions;

/// The parameters of a learned estimate, or the gradients of them.
#[derive(Debug, Clone)]
pub struct Parameters {
    /// `[n_fft]`.
    pub window: Handle,
    /// `[log2 n_fft, n_fft/2, 2]`.
    pub twiddles: Handle,
    /// `[log2 n_fft, n_fft/2]`.
    pub gates: Handle,
    /// `[segments]`.
    pub weights: Handle,
    /// `[bins, 3]`.
    pub gain: Handle,
}

impl Parameters {
    pub(super) fn network(&self, n: usize) -> Network {
        Network::new(n, self.twiddles.clone(), Some(self.gates.clone()))
    }
}

/// `signal` `[rows, frame]` → `into` `[rows, bins]`.
///
/// # Errors
/// If the device can't run a network of length `n_fft`.
pub fn learned_welch_psd(
    client: &Client,
    signal: &Handle,
    parameters: &Parameters,
    into: &Handle,
    rows: usize,
    frame: usize,
    options: &WelchOptions,
) -> Result<(), KernelError> {
    let (n, bins) = (options.n_fft, options.bins());
    let transforms = options.segments * n;
    let factor = factor(client, &parameters.window, options);
    let network = parameters.network(n);
    for chunk in grid::chunks(client, rows, 3 * transforms + bins, frame.max(transforms)) {
        let rows = chunk.len();
        let signal = from_row(signal, chunk.start, frame);
        let segments = Segments { signal, rows, frame, options, paired: false };
        let skip = Skip { rows: None, weights: Some(&parameters.weights) };
        let tapered = taper(client, &segments, &parameters.window, skip);
        let outputs = Rows::empty(client, segments.values());
        network.forward(client, &tapered.samples, &outputs, segments.transforms())?;
        let plain = empty(client, rows * bins);
        power::power(client, &segments, &outputs, Some(&parameters.weights), &factor, &plain);
        gain::apply(client, &plain, &parameters.gain, &from_row(into, chunk.start, bins), rows, bins);
    }
    Ok(())
}
