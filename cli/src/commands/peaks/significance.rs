//! Peaks that noise alone seldom has, and their lines.

use anyhow::{Context, Result, ensure};
use burn::tensor::{DType, Device, FloatDType, Int, Tensor, TensorData};
use firefly_ops::significance::{DEFAULT_NEIGHBOURS, PeakTest};
use firefly_ops::{Band, WindowSymmetry};
use firefly_recordings::FrameSamples;

use super::PeaksArgs;
use crate::model::ModelRequest;
use crate::peak_values::{POWER, PROMINENCE, PeakValues, TESTED};
use crate::pipeline::OpenRecording;
use crate::row_scales::RowValues;

/// Test of the peaks of recordings, of any sample rate, that have this band.
pub struct Significance<'a> {
    arguments: &'a PeaksArgs,
    request: &'a ModelRequest,
    level: f64,
    band: Option<Band>,
    test: PeakTest,
}

impl<'a> Significance<'a> {
    /// The test of an estimate. An error if it has none.
    pub fn new(arguments: &'a PeaksArgs, request: &'a ModelRequest, band: Option<Band>) -> Result<Self> {
        let level = arguments.significance.unwrap_or(1.0);
        ensure!(level > 0.0 && level <= 1.0, "--significance is {level}, but must be above 0, and at most 1");
        let segments = request.exact_segments().ok();
        let segments = segments.with_context(|| format!("--significance is not for the model {}", request.name))?;
        let options = arguments.estimate.config(segments, 1, 1.0).options().with_band(band);
        let (n, shape) = (options.n_fft, arguments.estimate.window());
        let window = shape.tensor(n, WindowSymmetry::Periodic, FloatDType::F64, &Device::flex());
        let test = PeakTest::new(window, &options, DEFAULT_NEIGHBOURS).context("--significance")?;
        Ok(Self { arguments, request, level, band, test })
    }

    /// The significant ones of peaks, in their order, at the frequencies of their lines.
    pub fn kept(&mut self, recording: OpenRecording, samples: FrameSamples, peaks: &PeakValues) -> Result<PeakValues> {
        let ModelRequest { n_fft, frame, .. } = *self.request;
        ensure!(recording.centre.is_none(), "--significance is for real samples");
        let band = self.arguments.search.band.map(|band| band.bins(recording, n_fft)).transpose()?;
        if band != self.band {
            *self = Self::new(self.arguments, self.request, band)?;
        }
        let mut signal: Vec<f64> = samples.rounded.into_iter().map(f64::from).collect();
        signal.replace_rows(&samples.wide_rows, &samples.wide);
        let (rows, count) = (signal.len() / frame, peaks.bins.len());
        let signal = Tensor::<2>::from_data(TensorData::new(signal, [rows, frame]), (&Device::flex(), DType::F64));
        let bins = TensorData::new(peaks.bins.clone(), [rows, count / rows]);
        let estimates = self.test.peaks(signal, Tensor::<2, Int>::from_data(bins, (&Device::flex(), DType::I32)))?;
        let mut kept = PeakValues::none(count, TESTED + 4);
        for row in (0..count).step_by(count / rows) {
            let found = (row..row + count / rows).filter_map(|from| Some((from, estimates[from]?)));
            for (to, (from, found)) in (row..).zip(found.filter(|(_, found)| found.false_alarm <= self.level)) {
                kept.bins[to] = peaks.bins[from];
                let power = peaks.columns[POWER][from];
                let above_floor = power * (1.0 - 1.0 / found.ratio);
                let prominence = peaks.columns.get(PROMINENCE).map_or(above_floor, |prominence| prominence[from]);
                let offset = found.frequency * n_fft as f64 - found.bin as f64;
                let error = found.frequency_error * recording.rate;
                let line = [found.false_alarm, error, found.amplitude, found.amplitude_error];
                let values = [power, prominence, offset].into_iter().chain(line);
                kept.columns.iter_mut().zip(values).for_each(|(column, value)| column[to] = value);
            }
        }
        Ok(kept)
    }
}
