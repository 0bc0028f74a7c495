//! `firefly envelope`: the averaged spectrum of the envelope of a band, in which repeated impacts are lines.

use std::process::ExitCode;

use anyhow::Result;
use burn::tensor::Tensor;
use firefly_models::Detrend;
use firefly_ops::fft::{ifft, rfft};

use super::bearings::Bearing;
use super::spectrum::{self, SpectrumArgs};
use crate::options::of_real_samples;
use crate::pipeline::OpenRecording;
use crate::search::FrequencyBand;

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
#[command(
    after_help = NOTES,
    mut_args(of_real_samples),
    mut_arg("n_fft", |n_fft| n_fft.help("Samples per segment, to 16777216 [default: 4096]"))
)]
pub struct EnvelopeArgs {
    /// Band that is passed, in hertz, both ends included: 500..5000, 50.. or ..5000; without DC and half the rate
    #[arg(long, value_name = "LOW..HIGH")]
    pub(super) band: FrequencyBand,
    #[command(flatten)]
    pub(super) spectrum: SpectrumArgs,
}

/// Computes the spectra, and the lines of a bearing, if there is one.
pub fn run(mut arguments: EnvelopeArgs, bearing: Option<&Bearing>) -> Result<ExitCode> {
    let estimate = &mut arguments.spectrum.estimate;
    estimate.n_fft.get_or_insert(4096);
    estimate.detrend.get_or_insert(Detrend::Constant);
    spectrum::run(arguments.spectrum, Some(arguments.band), bearing)
}

/// Envelopes `[rows, n_fft]` of segments in a band, of frames `[rows, 2 n_fft]` of the segments and their margins.
pub fn envelope(frames: Tensor<2>, recording: OpenRecording, band: &FrequencyBand) -> Result<Tensor<2>> {
    let frame = frames.dims()[1];
    let bins = band.interior_bins(recording, frame)?;
    let margins = (bins.start, frame - bins.end);
    let passed = |part: Tensor<2>| part.narrow(1, bins.start, bins.len()).pad([margins], 0.0) * 2.0;
    let n_fft = frame / MARGINS;
    Ok(ifft(rfft(frames)?.map(passed))?.abs().narrow(1, (frame - n_fft) / 2, n_fft))
}
