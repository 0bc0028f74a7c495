//! Lines of a stream, printed while it goes on.

use std::io::Write;

use anyhow::Result;
use firefly_app::streams::StandardOutput;
use firefly_app::table::TableLayout;
use firefly_recordings::{Block, Framing};

use crate::labels::ChannelLabel;
use crate::lines::{PeakSums, SpectralLine};
use crate::model::ModelRequest;
use crate::peak_values::PeakValues;
use crate::pipeline::OpenRecording;
use crate::summary::significant;

/// Seconds of the stream that one row is about, unless a frame is longer.
const INTERVAL: f64 = 1.0;
const MAX_CHANNELS: usize = 8;

/// Lines of the channels of a stream, a row per channel and second.
pub struct LiveLines<'a> {
    request: &'a ModelRequest,
    framing: Framing,
    sums: PeakSums,
    out: StandardOutput,
    width: usize,
}

impl<'a> LiveLines<'a> {
    pub fn new(request: &'a ModelRequest, framing: Framing) -> Self {
        let width = TableLayout::of_stdout(false).width;
        Self { request, framing, sums: PeakSums::default(), out: StandardOutput::default(), width }
    }

    /// Adds the peaks of a block, `k` per frame, and prints the lines of an interval that is over. Ends the program with
    /// success where standard output is closed: a stream may have no end.
    pub fn add(
        &mut self,
        recording: OpenRecording,
        labels: &[ChannelLabel],
        k: usize,
        block: &Block<PeakValues>,
    ) -> Result<()> {
        self.sums.add(recording, recording.bins(self.request.n_fft), k, &block.values);
        let seconds = |frames: u64| (frames * self.framing.step as u64) as f64 / recording.rate;
        if seconds(self.sums.frames) < INTERVAL {
            return Ok(());
        }
        let sums = std::mem::take(&mut self.sums);
        let end = seconds(block.first + block.count as u64);
        let mut text = String::new();
        for (channel, label) in labels.iter().enumerate().take(MAX_CHANNELS) {
            let lines = sums.lines(recording, channel, self.request.n_fft, self.request.k);
            text += &self.row(end, label, &lines, recording);
        }
        self.out.write_all(text.as_bytes())?;
        self.out.flush()?;
        if self.out.is_closed() {
            std::process::exit(0);
        }
        Ok(())
    }

    /// Time, channel, and as many lines as fit into the width.
    fn row(&self, end: f64, label: &ChannelLabel, lines: &[SpectralLine], recording: OpenRecording) -> String {
        let name = label.name();
        let mut row = format!("{end:>9.1} s{}{name}", if name.is_empty() { "" } else { "  " });
        let unit = self.request.scaling().decibels("");
        for line in lines {
            let hertz = significant(line.frequency_hz, recording.centre.unwrap_or(0.0));
            let text = format!("  {hertz} Hz {:.1} {unit}", line.power_db);
            if row.chars().count() + text.chars().count() > self.width {
                break;
            }
            row += &text;
        }
        row + if lines.is_empty() { "  none\n" } else { "\n" }
    }
}
