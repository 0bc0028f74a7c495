//! Drawing of the peaks of the first channels over time and frequency.

use crate::frames::{Block, Framing};
use crate::peak_values::PeakValues;
use crate::pipeline::OpenRecording;
use crate::plot::{Picture, PlotFigure, SpectrogramPlot};

/// Channels of a drawing at most.
const MOST_FIGURES: usize = 12;

/// Figures of the channels so far.
pub struct Drawing {
    k: usize,
    /// Power of a frame's peaks at their bins.
    power: Vec<f32>,
    /// Picture per channel of the current recording.
    pictures: Vec<Picture>,
    /// One figure per channel of the recordings that have ended.
    pub figures: Vec<PlotFigure>,
}

impl Drawing {
    /// An empty drawing of `k` peaks per frame of spectra of `n_fft` points.
    pub fn new(n_fft: usize, k: usize) -> Self {
        Self { k, power: vec![0.0; n_fft / 2 + 1], pictures: Vec::new(), figures: Vec::new() }
    }

    /// Adds the peaks of a block.
    pub fn add(&mut self, recording: OpenRecording, block: &Block<PeakValues>) {
        let shown = recording.channels.min(MOST_FIGURES - self.figures.len());
        self.pictures.resize(shown, Picture::new(self.power.len()));
        let rows = block.values.bins.chunks(self.k).zip(block.values.power.chunks(self.k));
        for (row, (bins, power)) in rows.enumerate() {
            let Some(picture) = self.pictures.get_mut(row % recording.channels) else { continue };
            self.power.fill(0.0);
            for (bin, power) in bins.iter().zip(power).filter(|(bin, _)| **bin >= 0) {
                self.power[*bin as usize] = *power;
            }
            picture.add(&self.power);
        }
    }

    /// Ends a recording of so many frames.
    pub fn end(&mut self, recording: OpenRecording, name: &str, framing: Framing, frames: u64) {
        let seconds = (frames.saturating_sub(1) * framing.step as u64 + framing.length as u64) as f64 / recording.rate;
        for (channel, picture) in self.pictures.drain(..).enumerate() {
            let title = if recording.channels > 1 { format!("{name}, channel {channel}") } else { name.to_owned() };
            let map = SpectrogramPlot { title, nyquist: recording.rate / 2.0, seconds, tracks: 0, picture };
            self.figures.push(PlotFigure::HeatMap(map));
        }
    }
}
