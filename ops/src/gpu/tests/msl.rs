//! Every kernel compiles to Metal's language, for every way it is laid out on an Apple device. Whether Apple's compiler takes the
//! source, and what it computes, is not checked here.

use cubecl::client::Client;
use cubecl::server::Handle;

use super::compile_only::metal;
use crate::gpu::buffers::empty;
use crate::gpu::learned::{Parameters, learned_welch_psd};
use crate::gpu::learned_backward::{LearnedGradients, learned_welch_psd_backward};
use crate::gpu::network::{Network, NetworkGradients, Rows};
use crate::gpu::{strongest, welch, welch_backward};
use crate::options::{Detrend, Scaling, WelchOptions};

const ROWS: usize = 5;

#[test]
fn every_kernel_compiles() {
    let (client, compiled) = metal();
    for n in [8, 16, 32, 64, 256, 1024, 4096, 65_536] {
        let plain = WelchOptions::new(n, 2);
        let other = WelchOptions { scaling: Scaling::Spectrum, detrend: Detrend::Constant, hop: n + 3, ..plain };
        for options in [plain, other, WelchOptions { segments: 1, ..plain }, WelchOptions { segments: 5, ..plain }] {
            welch(&client, &options);
        }
        learned(&client, &other);
        butterflies(&client, n);
    }
    client.flush().unwrap();
    let compiled = compiled.lock().unwrap();
    assert!(compiled.len() > 100, "{} kernels were compiled", compiled.len());
    for (kernel, source) in compiled.iter() {
        let source = source.as_ref().unwrap_or_else(|error| panic!("{kernel}: {error}"));
        assert!(source.contains("[[kernel]]") && source.contains("metal_stdlib"), "{kernel}: {source}");
    }
}

fn welch(client: &Client, options: &WelchOptions) {
    let (frame, bins) = (options.frame(), options.bins());
    let [signal, into] = [0; 2].map(|_| empty(client, ROWS * frame));
    let [window, into_window] = [0; 2].map(|_| empty(client, options.n_fft));
    let power = empty(client, ROWS * bins);
    welch::welch_psd(client, &signal, &window, &power, ROWS, frame, options).unwrap();
    for k in [1, bins] {
        let [found, strength] = [0; 2].map(|_| empty(client, ROWS * k));
        welch::welch_peaks(client, &signal, &window, &found, &strength, ROWS, frame, k, options).unwrap();
        strongest(client, &power, &found, &strength, ROWS, bins, k);
    }
    welch_backward::welch_psd_backward(client, &signal, &window, &power, &into, &into_window, ROWS, frame, options)
        .unwrap();
}

fn parameters(client: &Client, options: &WelchOptions) -> Parameters {
    let pairs = options.stages() * options.n_fft / 2;
    Parameters {
        window: empty(client, options.n_fft),
        twiddles: empty(client, 2 * pairs),
        gates: empty(client, pairs),
        weights: empty(client, options.segments),
        gain: empty(client, 3 * options.bins()),
    }
}

fn learned(client: &Client, options: &WelchOptions) {
    let (frame, values) = (options.frame(), parameters(client, options));
    let [signal, into] = [0; 2].map(|_| empty(client, ROWS * frame));
    let power = empty(client, ROWS * options.bins());
    learned_welch_psd(client, &signal, &values, &power, ROWS, frame, options).unwrap();
    let into = LearnedGradients { signal: into, parameters: parameters(client, options) };
    learned_welch_psd_backward(client, &signal, &values, &power, &into, ROWS, frame, options, [true; 6]).unwrap();
}

fn butterflies(client: &Client, n: usize) {
    let pairs = n.ilog2() as usize * n / 2;
    let values = || -> Handle { empty(client, ROWS * n) };
    let rows = || Rows::complex(values(), values());
    for gates in [None, Some(empty(client, pairs))] {
        let network = Network::new(n, empty(client, 2 * pairs), gates);
        network.forward(client, &rows(), &rows(), ROWS).unwrap();
        let sums = NetworkGradients { twiddles: empty(client, 2 * pairs), gates: empty(client, pairs) };
        network.backward(client, &rows(), &rows(), &rows(), &sums, ROWS, false).unwrap();
    }
}
