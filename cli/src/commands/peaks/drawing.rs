//! Drawing of the peaks: their mean power over frequency, and their power over time and frequency.

use firefly_recordings::{Block, Framing};

use crate::labels::ChannelLabel;
use crate::lines::SpectralLine;
use crate::model::ModelRequest;
use crate::peak_values::{POWER, PeakValues};
use crate::pipeline::OpenRecording;
use crate::plot::{Curve, Curves, Picture, PlotFigure, SpectrogramPlot};

const MAX_FIGURES: usize = 12;

pub struct Drawing<'a> {
    request: &'a ModelRequest,
    /// Picture per channel of the current recording.
    pictures: Vec<Picture>,
    /// One curve and one map per channel of the recordings that have ended.
    curves: Vec<Curve>,
    maps: Vec<SpectrogramPlot>,
}

impl<'a> Drawing<'a> {
    pub fn new(request: &'a ModelRequest) -> Self {
        Self { request, pictures: Vec::new(), curves: Vec::new(), maps: Vec::new() }
    }

    /// Adds the peaks of a block, `k` per frame.
    pub fn add(&mut self, recording: OpenRecording, k: usize, block: &Block<PeakValues>) {
        let shown = recording.channels.min(MAX_FIGURES - self.maps.len());
        let mut frame = vec![0.0; recording.bins(self.request.n_fft)];
        self.pictures.resize(shown, Picture::new(frame.len()));
        let rows = block.values.bins.chunks(k).zip(block.values.columns[POWER].chunks(k));
        for (row, (bins, power)) in rows.enumerate() {
            let Some(picture) = self.pictures.get_mut(row % recording.channels) else { continue };
            frame.fill(0.0);
            for (bin, power) in bins.iter().zip(power).filter(|(bin, _)| **bin >= 0) {
                frame[*bin as usize] = *power as f32;
            }
            picture.add(&recording.by_frequency(&frame));
        }
    }

    /// Ends the next channel of a recording of so many frames, with its mean power per bin and its lines.
    pub fn end_channel(
        &mut self,
        recording: OpenRecording,
        name: &str,
        label: &ChannelLabel,
        (framing, frames): (Framing, u64),
        (means, lines): (&[f64], &[SpectralLine]),
    ) {
        if self.pictures.is_empty() {
            return;
        }
        let picture = self.pictures.remove(0);
        let seconds = (frames.saturating_sub(1) * framing.step as u64 + framing.length as u64) as f64 / recording.rate;
        let title = label.full_name(name);
        let curve = Curve::new(title.clone(), recording, self.request.n_fft, means, lines);
        let Curve { first_hertz, hertz_per_bin, .. } = curve;
        self.curves.push(curve);
        let power = self.request.scaling().label(&label.unit);
        self.maps.push(SpectrogramPlot { title, power, first_hertz, hertz_per_bin, seconds, tracks: 0, picture });
    }

    /// The figures: the curves of all channels, and a map of each.
    pub fn figures(&self) -> Vec<PlotFigure<'_>> {
        let curves = Curves {
            title: "mean power of the peaks over all frames".to_owned(),
            label: self.request.scaling().label(""),
            curves: &self.curves,
            range: None,
        };
        std::iter::once(PlotFigure::Curves(curves)).chain(self.maps.iter().map(PlotFigure::HeatMap)).collect()
    }
}
