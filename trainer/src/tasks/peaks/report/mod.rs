//! Parts of a run's page that are the task's own.
//!
//! [`PeaksReport`] is plain data, which [`PeaksReport::parts`] turns into tables and figures; those of what the model has
//! learned are here: a heat map of its butterflies, bars of its segments, its taper, and the gain of every bin.

mod evaluation;

use burn::tensor::{Tensor, TensorData};
use firefly_app::number::{fixed, percent};
use firefly_app::page::chart::{AxisScale, Chart, ChartSeries, Mark, Point, Threshold};
use firefly_app::page::figure::Figure;
use firefly_app::page::heat_map::HeatMap;
use firefly_models::LearnedWelchPeaks;

pub use evaluation::against_time;

use super::{PeaksConfig, PeaksRow};
use crate::report::chart;
use crate::task::ReportParts;

/// A gate at or above this value is open.
pub const OPEN: f32 = 0.5;

/// Contents of the page of a run. Empty parts are said to be missing rather than drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PeaksReport {
    /// Name and value of what fixes the model: `n_fft`, hop, segments, K, window, scaling, detrend, price.
    pub facts: Vec<(String, String)>,
    /// Gates of the learned model.
    pub gates: GateMap,
    /// Learned taper, `[n_fft]`.
    pub taper: Vec<f32>,
    /// Exact window the taper is compared with, `[n_fft]`; empty for no comparison.
    pub window: Vec<f32>,
    /// Learned gain in dB that each bin's power gets from the bin below, itself and the bin above, `[n_fft / 2 + 1]`
    /// each.
    pub gain_db: [Vec<f32>; 3],
    /// Evaluation of every model on every data set. Data sets appear in the order of their first row.
    pub rows: Vec<PeaksRow>,
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

impl PeaksReport {
    /// The report of a finished run.
    pub fn of_run(config: &PeaksConfig, model: &LearnedWelchPeaks, rows: &[PeaksRow]) -> Self {
        let options = model.options();
        let gates = model.mean_gates();
        let window = model.config().window.coefficients(options.n_fft, model.config().symmetry);
        Self {
            facts: facts(config),
            gates: GateMap {
                stages: options.stages(),
                pairs: options.n_fft / 2,
                values: gates.butterflies().map_or_else(Vec::new, |gates| values(gates.clone())),
                segments: values(model.hard_gates().segments().clone()),
            },
            taper: values(model.taper.val()),
            window: window.into_iter().map(|weight| weight as f32).collect(),
            gain_db: [0, 1, 2].map(|tap| {
                let gain = model.gain().slice([0..options.bins(), tap..tap + 1]);
                values(gain).iter().map(|gain| 10.0 * gain.log10()).collect()
            }),
            rows: rows.to_vec(),
        }
    }

    /// The tables and figures.
    pub fn parts(&self) -> ReportParts {
        let data_sets = self.rows.chunk_by(|a, b| a.data_set == b.data_set).map(|rows| &*rows[0].data_set);
        ReportParts {
            data_set: data_sets.collect::<Vec<_>>().join(", "),
            facts: self.facts.clone(),
            tables: evaluation::tables(&self.rows),
            figures: evaluation::figures(&self.rows),
            model: learned_figures(self),
        }
    }
}

fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    TensorData::convert::<f32>(tensor.into_data()).iter().collect()
}

fn facts(config: &PeaksConfig) -> Vec<(String, String)> {
    let model = &config.model;
    let candidates = match &model.open_segments {
        Some(open) => format!("{} candidates, {open:?} open at the start", model.segments),
        None => format!("{} candidates", model.segments),
    };
    [
        ("n_fft", model.n_fft.to_string()),
        ("hop", model.hop.to_string()),
        ("segments", candidates),
        ("K", model.k.to_string()),
        ("window", format!("{} ({:?})", model.window, model.symmetry).to_lowercase()),
        ("scaling", model.scaling.to_string()),
        ("detrend", model.detrend.to_string()),
        ("price", config.loss.price.to_string()),
    ]
    .map(|(name, value)| (name.to_string(), value))
    .into()
}

const BUTTERFLIES: &str = "Gates of the butterflies";
/// Bars drawn at most; more are said to be left out.
const MAX_BARS: usize = 512;

/// The figures of each of gates, taper and gain that the model has.
fn learned_figures(report: &PeaksReport) -> Vec<Figure> {
    let gates = &report.gates;
    let mut figures = Vec::new();
    if !(gates.values.is_empty() && gates.segments.is_empty()) {
        figures.push(butterflies(gates));
    }
    if !gates.segments.is_empty() {
        figures.push(segments(&gates.segments));
    }
    if !report.taper.is_empty() {
        let curves = [("learned taper", &report.taper), ("exact window", &report.window)];
        figures.push(curves_figure("Taper", "sample of the segment", "weight (no unit)", &curves));
    }
    if report.gain_db.iter().any(|values| !values.is_empty()) {
        let [below, own, above] = &report.gain_db;
        let curves = [("from the bin below", below), ("its own", own), ("from the bin above", above)];
        figures.push(curves_figure("Gain per bin", "frequency bin", "gain (dB)", &curves));
    }
    figures
}

fn butterflies(gates: &GateMap) -> Figure {
    let count = gates.values.len();
    if count == 0 {
        return Figure::note(BUTTERFLIES, "The transform is exact: butterflies have no gates.");
    }
    if gates.stages.checked_mul(gates.pairs) != Some(count) {
        return Figure::note(
            BUTTERFLIES,
            &format!("Not drawn: {count} values do not make {} stages of {} pairs.", gates.stages, gates.pairs),
        );
    }
    let mut map = HeatMap::new(gates.pairs, ["butterfly of the stage (pair)", "stage"], ["0 closed", "1 open"]);
    for (stage, row) in gates.values.chunks(gates.pairs).enumerate() {
        map.row(stage.to_string(), percent(open_share(row)), row);
    }
    let mut figure = Figure::heat_map(BUTTERFLIES, &map, "share of open gates");
    figure.caption = format!(
        "{} of {} gates are open ({}), on the right per stage. Stage 0 joins neighbours, the last stage joins the \
         halves.",
        fixed(open(&gates.values) as f64, 0),
        fixed(count as f64, 0),
        percent(open_share(&gates.values)),
    );
    if map.pooled() > 1 {
        figure.caption += &format!(" One column is the mean of {} neighbouring butterflies.", map.pooled());
    }
    figure
}

/// One bar per segment; a value that is not finite has no bar.
fn segments(gates: &[f32]) -> Figure {
    let bar = |(index, gate): (usize, &f32)| {
        let inside = if gate.is_finite() { f64::from(gate.clamp(0.0, 1.0)) } else { f64::NAN };
        Point::at(index as f64, inside)
    };
    let points = gates.iter().enumerate().take(MAX_BARS).map(bar).collect();
    let axes = [("segment of the frame", AxisScale::Category), ("gate", AxisScale::Share)];
    let threshold = Some(Threshold { value: f64::from(OPEN), label: format!("open from {OPEN}") });
    let chart = Chart { threshold, ..chart(axes, vec![ChartSeries::new("gate", 2, Mark::Bars, points)]) };
    let mut figure = Figure::chart("Segment gates", chart, "No gate is finite.");
    figure.caption = format!("{} of {} segments are open.", open(gates), gates.len());
    if gates.len() > MAX_BARS {
        figure.caption += &format!(" The first {MAX_BARS} are shown.");
    }
    figure
}

/// Open gates; a gate that is not finite is closed.
fn open(gates: &[f32]) -> usize {
    gates.iter().filter(|gate| **gate >= OPEN).count()
}

fn open_share(gates: &[f32]) -> f64 {
    open(gates) as f64 / gates.len() as f64
}

/// A curve for each of the named values, over their index.
fn curves_figure(title: &str, x: &str, y: &str, curves: &[(&str, &Vec<f32>)]) -> Figure {
    let curve = |(index, (name, values)): (usize, &(&str, &Vec<f32>))| {
        let points = values.iter().enumerate().map(|(place, value)| (place as f64, f64::from(*value)));
        ChartSeries::line(name, index, points)
    };
    let series = curves.iter().enumerate().map(curve).collect();
    let chart = chart([x, y].map(|label| (label, AxisScale::Linear)), series);
    Figure::chart(title, chart, "No finite value was learned.")
}

#[cfg(test)]
mod tests;
