//! One self-contained HTML page about a training run.
//!
//! [`Report`] is plain data; [`Report::render`] turns it into a page, of the parts in [`firefly_app::page`].

mod build;
mod evaluation;
mod gates;
mod parameters;
mod recall;
#[cfg(test)]
mod tests;
mod training;

pub use recall::against_time;

use firefly_app::page::document::{self, Document, details, nothing};
use firefly_app::page::figure::{Figure, grid};

use crate::evaluate::EvaluationRow;
use crate::metrics::TrainingPoint;

/// A gate at or above this value is open.
pub const OPEN: f32 = 0.5;

/// What a run did, as shown on its page. Empty parts are said to be missing rather than drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Heading of the page.
    pub title: String,
    /// Name and value of what fixes the run: device, versions, seed, `n_fft`, hop, segments, K, window, scaling, detrend, data.
    pub facts: Vec<(String, String)>,
    /// Training history in order of steps. Of any length: curves are thinned with their extremes kept.
    pub training: Vec<TrainingPoint>,
    /// Gates of the learned model.
    pub gates: GateMap,
    /// Learned taper, `[n_fft]`.
    pub taper: Vec<f32>,
    /// Exact window the taper is compared with, `[n_fft]`; empty for no comparison.
    pub window: Vec<f32>,
    /// Learned gain in dB that each bin's power gets from the bin below, itself and the bin above, `[n_fft / 2 + 1]` each.
    pub gain_db: [Vec<f32>; 3],
    /// Evaluation of every model on every data set. Data sets appear in the order of their first row.
    pub rows: Vec<EvaluationRow>,
    /// The resolved configuration as TOML.
    pub config: String,
}

/// The gates of a learned model, each in `0..=1`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GateMap {
    /// Stages of the transform, `log2 n_fft`.
    pub stages: usize,
    /// Butterflies of a stage, `n_fft / 2`.
    pub pairs: usize,
    /// Gate of every butterfly, `[stages, pairs]` row-major. Any other length is reported as such and not drawn.
    pub values: Vec<f32>,
    /// Gate of every segment, `[segments]`; empty when the model has none.
    pub segments: Vec<f32>,
}

impl Report {
    /// The page as HTML text in UTF-8.
    pub fn render(&self) -> String {
        let title = match self.title.trim() {
            "" => "Training report",
            title => title,
        };
        let mut page = Document::new("Firefly training report", title);
        page.section("What was trained", &self.facts());
        page.section("Evaluation", &self.evaluation());
        page.section("Training", &figures("No training history was recorded.", training::figures(&self.training)));
        let learned: Vec<Figure> = gates::figures(&self.gates).into_iter().chain(parameters::figures(self)).collect();
        page.section("Learned model", &figures("This run has no learned model.", learned));
        page.section("Configuration", &self.configuration());
        page.html()
    }

    fn facts(&self) -> String {
        if self.facts.is_empty() {
            return nothing("Nothing was recorded about this run.");
        }
        document::facts(self.facts.iter().map(|(name, value)| (name.as_str(), value.as_str())))
    }

    fn evaluation(&self) -> String {
        if self.rows.is_empty() {
            return nothing("No model was evaluated.");
        }
        evaluation::tables(&self.rows).concat() + &grid(&evaluation::figures(&self.rows))
    }

    fn configuration(&self) -> String {
        if self.config.trim().is_empty() {
            return nothing("No configuration was recorded.");
        }
        details("Resolved configuration (TOML)", &self.config)
    }
}

/// `figures` beside each other, or a note that says `empty` when there are none.
fn figures(empty: &str, figures: Vec<Figure>) -> String {
    if figures.is_empty() { nothing(empty) } else { grid(&figures) }
}
