//! Operations composed of others, of several modules, on every device: against their results in f64.

use burn::tensor::{DType, Device, FloatDType, Tensor};
use firefly_ops::audio::{
    griffin_lim, inverse_mel, multi_resolution_stft_loss, spectral_bandwidth, spectral_centroid, spectral_flatness,
    spectral_kurtosis, spectral_rolloff,
};
use firefly_ops::cross_spectra::{
    TransferEstimator, coherence, coherence_matrix, csd, csd_matrix, most_coherent_pairs, transfer_function,
};
use firefly_ops::fft::{ComplexTensor, czt, envelope, hilbert, minimum_phase, real_cepstrum, zoom_fft};
use firefly_ops::multitaper::{MultitaperOptions, multitaper};
use firefly_ops::options::{Average, MelBands};
use firefly_ops::resampling::{resample, resample_poly};
use firefly_ops::trend::detrend;
use firefly_ops::{Detrend, StftOptions, WelchOptions, Window, WindowSymmetry, welch_psd};

use crate::common::{noise, relative_error, tensor, values};

/// The outputs of one function, of inputs `[2, 64]` of one type on one device.
type Composition = (&'static str, f64, fn(Tensor<2>) -> Vec<Tensor<2>>);

fn parts(z: ComplexTensor<2>) -> Vec<Tensor<2>> {
    vec![z.re, z.im]
}

fn window(signal: &Tensor<2>) -> Tensor<1> {
    let window: Tensor<1> = Window::Hann.tensor(16, WindowSymmetry::Periodic, FloatDType::F32, &signal.device());
    window.cast(signal.dtype())
}

fn frequencies(spectrum: &Tensor<2>) -> Tensor<1> {
    tensor(&[0.0, 1.0], [2], &spectrum.device(), spectrum.dtype())
}

const COMPOSITIONS: &[Composition] = &[
    ("czt", 1e-5, |x| parts(czt(x, Some(9), None, None, 0).unwrap())),
    ("zoom_fft", 1e-5, |x| parts(zoom_fft(x, [0.1, 0.3], Some(70), 1.0, true, 1).unwrap())),
    ("hilbert", 1e-5, |x| parts(hilbert(x, Some(80), 1).unwrap())),
    ("envelope", 1e-5, |x| vec![envelope(x, 1).unwrap()]),
    ("real_cepstrum", 1e-4, |x| vec![real_cepstrum(x, None, 1).unwrap()]),
    ("minimum_phase", 1e-4, |x| vec![minimum_phase(x * 0.1, 1).unwrap()]),
    ("resample", 1e-5, |x| vec![resample(x.clone(), 50, 1).unwrap(), resample(x, 5, 0).unwrap()]),
    ("resample_poly", 1e-5, |x| vec![resample_poly(x, 3, 2, 1, None).unwrap()]),
    ("cross spectra", 1e-5, |x| {
        let (rows, options) = (|row| x.clone().narrow(0, row, 1), WelchOptions::new(16, 7).with_hop(8));
        let (x, y, window) = (rows(0), rows(1), window(&x));
        let h1 = transfer_function(x.clone(), y.clone(), window.clone(), &options, TransferEstimator::H1).unwrap();
        let coherent = coherence(x.clone(), y.clone(), window.clone(), &options).unwrap();
        [parts(csd(x, y, window, &options).unwrap()), parts(h1), vec![coherent]].concat()
    }),
    ("pairs", 1e-5, |x| {
        let options = WelchOptions::new(16, 7).with_hop(8);
        let turned = |row, by| {
            let row = x.clone().narrow(0, row, 1);
            Tensor::cat(vec![row.clone().narrow(1, by, 64 - by), row.narrow(1, 0, by)], 1)
        };
        let channels = (0..16).map(|i| turned(0, i + 1) + turned(1, 3 * i + 1) * (0.1 * i as f64)).collect();
        let (channels, window) = (Tensor::cat(channels, 0), window(&x));
        let matrix = csd_matrix::<2, 3>(channels.clone(), window.clone(), &options).unwrap();
        let coherent = coherence_matrix::<2, 3>(channels.clone(), window.clone(), &options).unwrap();
        let batch = csd_matrix::<3, 4>(channels.clone().reshape([2, 8, 64]), window.clone(), &options).unwrap();
        let best = most_coherent_pairs::<2, 1>(channels, window, &options, 3, true).unwrap().coherence.unsqueeze();
        let [matrix, batch] = [parts(matrix.map(|m| m.reshape([16, 144]))), parts(batch.map(|m| m.reshape([16, 72])))];
        [matrix, batch, vec![coherent.reshape([16, 144]), best]].concat()
    }),
    ("gradients of pairs", 1e-5, |x| {
        let (options, device) = (WelchOptions::new(16, 7).with_hop(8), x.device().autodiff());
        let x = Tensor::<2>::from_data(x.to_data(), (&device, x.dtype())).require_grad();
        let matrix = csd_matrix::<2, 3>(x.clone(), window(&x), &options).unwrap();
        let gradients = (matrix.re.square() + matrix.im).sum().backward();
        vec![x.grad(&gradients).unwrap()]
    }),
    ("multitaper", 1e-4, |x| {
        let adaptive = MultitaperOptions { adaptive_steps: 5, ..MultitaperOptions::new(3.0, 1.0) };
        let estimate = multitaper(x, &adaptive).unwrap();
        let [low, high] = estimate.interval(0.9).unwrap();
        vec![estimate.psd.clone(), estimate.line_test().unwrap().p_value, low, high]
    }),
    ("trends and medians", 1e-5, |x| {
        let options = WelchOptions::new(16, 7).with_hop(8).with_detrend(Detrend::Linear);
        let median = options.with_average(Average::Median);
        let psd = |options| welch_psd(x.clone(), window(&x), options).unwrap();
        vec![detrend(x.clone(), Detrend::Linear).unwrap(), psd(&options), psd(&median)]
    }),
    ("features", 1e-4, |x| {
        let (f, x) = (frequencies(&x), x.abs());
        let moments = [spectral_centroid, spectral_bandwidth, spectral_kurtosis];
        let mut all: Vec<_> = moments.into_iter().map(|of| of(x.clone(), f.clone()).unwrap()).collect();
        all.extend([spectral_flatness(x.clone()).unwrap(), spectral_rolloff(x, f, 0.7).unwrap()]);
        all
    }),
    ("inverse_mel", 1e-5, |x| vec![inverse_mel(x.abs(), 16, &MelBands::new(8_000.0, 2)).unwrap()]),
    ("griffin_lim", 1e-3, |x| {
        let options = StftOptions::new(16).with_hop(4);
        let magnitude = x.abs().reshape([2, 64]).repeat(&[5, 1]).narrow(0, 0, 9);
        let signal: Tensor<1> = griffin_lim(magnitude, None, &options, 3, 0.99, Some(4), None).unwrap();
        vec![signal.unsqueeze()]
    }),
    ("loss", 1e-4, |x| {
        let y = x.clone().narrow(0, 0, 1).repeat(&[2, 1]) * 0.5 + 0.1;
        vec![multi_resolution_stft_loss(x, y, Some(&[StftOptions::new(16), StftOptions::new(32)])).unwrap().unsqueeze()]
    }),
];

pub fn compositions_match_those_in_float64(device: &Device) {
    let input = noise(128, 9);
    for &(name, most, run) in COMPOSITIONS {
        let on = |device: &Device, dtype| -> Vec<Vec<f64>> {
            run(tensor::<2>(&input, [2, 64], device, dtype)).into_iter().map(values).collect()
        };
        let (got, expected) = (on(device, DType::F32), on(&Device::flex(), DType::F64));
        for (got, expected) in got.iter().zip(&expected) {
            let error = relative_error(got, expected);
            assert!(error < most, "{name}: {error:.1e}");
        }
    }
}
