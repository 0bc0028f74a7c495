//! `firefly envelope`: the averaged spectrum of the envelope of a band, in which repeated impacts are lines.

use std::process::ExitCode;

use anyhow::{Result, ensure};
use burn::tensor::{Device, Tensor};
use firefly_models::Detrend;
use firefly_ops::fft::{ComplexTensor, ifft, rfft};
use firefly_ops::{WindowSymmetry, welch_psd};
use firefly_recordings::FrameSamples;

use super::spectrum::{self, SpectrumArgs};
use crate::options::EstimateOptions;
use crate::peak_values::read_power;
use crate::pipeline::OpenRecording;
use crate::row_scales::of_frames;
use crate::search::FrequencyBand;
use crate::segments::FrameSegments;

const NOTES: &str = "\
Samples are band-passed, and the magnitude of their analytic signal is the envelope, in the unit of the samples; spectrum
and lines are as those of firefly spectrum, with --n-fft 4096 and --detrend constant unless something else is said.
Each segment is filtered with half a segment of samples before and behind it, by a band-pass with sharp edges; segments
without them, at both ends of a recording, are left out.

Example:
  firefly envelope recording.wav --band 1000..3000 --n-fft 2048";
/// Samples that a segment is filtered with, per sample of it.
pub const MARGINS: usize = 2;

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = NOTES, mut_arg("n_fft", |n_fft| n_fft.help("Samples per segment, to 16777216 [default: 4096]")))]
pub struct EnvelopeArgs {
    /// Band that is passed, in hertz, both ends included: 500..5000, 50.. or ..5000; without DC and half the rate
    #[arg(long, value_name = "LOW..HIGH")]
    band: FrequencyBand,
    #[command(flatten)]
    spectrum: SpectrumArgs,
}

pub fn run(mut arguments: EnvelopeArgs) -> Result<ExitCode> {
    let estimate = &mut arguments.spectrum.estimate;
    estimate.n_fft.get_or_insert(4096);
    estimate.detrend.get_or_insert(Detrend::Constant);
    spectrum::run(&arguments.spectrum, Some(arguments.band))
}

/// Power `[rows, bins]` of the envelopes of frames of a segment and its margins.
pub fn envelope_power(
    device: &Device,
    recording: OpenRecording,
    estimate: &EstimateOptions,
    band: &FrequencyBand,
    samples: FrameSamples,
) -> Result<Vec<f64>> {
    ensure!(recording.centre.is_none(), "an envelope is that of real samples, and these are complex");
    let (n_fft, frame) = (estimate.n_fft(), MARGINS * estimate.n_fft());
    let passed = band.bins(recording, frame)?;
    let (first, end) = (passed.first.max(1), passed.end.min(frame.div_ceil(2)));
    ensure!(first < end, "--band {band} has no frequency between 0 and half the sample rate");
    let options = estimate.config(FrameSegments::adjacent(1), 1, recording.rate).options();
    of_frames(device, [1, frame], samples, |frames, scales| {
        let (dtype, device) = (frames.dtype().into(), frames.device());
        let window = estimate.window().tensor(n_fft, WindowSymmetry::Periodic, dtype, &device);
        let envelope = envelope(frames.squeeze_dim(1), first, end)?.narrow(1, (frame - n_fft) / 2, n_fft);
        read_power(welch_psd(envelope, window, &options)?, scales)
    })
}

/// Magnitude of the analytic signal of the bins from `first` to `end` of rows.
fn envelope(rows: Tensor<2>, first: usize, end: usize) -> Result<Tensor<2>> {
    let frame = rows.dims()[1];
    let passed = |part: Tensor<2>| part.narrow(1, first, end - first).pad([(first, frame - end)], 0.0) * 2.0;
    let ComplexTensor { re, im } = rfft(rows)?.map(passed);
    Ok(ifft(ComplexTensor::new(re, im))?.abs())
}
