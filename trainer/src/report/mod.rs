//! One self-contained HTML page about a training run: what was trained, its evaluation and its training history, with
//! the parts that a task contributes.

use firefly_app::page::chart::{AxisScale, Chart, ChartAxis, ChartSeries};
use firefly_app::page::document::{self, Document, details, nothing};
use firefly_app::page::figure::{Figure, grid};

use crate::config::Resolved;
use crate::metrics::TrainingPoint;
use crate::task::{MetricCurve, ReportParts, Task};

/// Text of a figure of a metric that was not measured.
const EMPTY: &str = "No finite value was recorded.";

/// Contents of the page of a run. Empty parts are said to be missing rather than drawn.
#[derive(Default)]
pub struct Report {
    /// Heading of the page.
    pub title: String,
    /// Name and value of what fixes the run.
    pub facts: Vec<(String, String)>,
    /// Training history in order of steps. Of any length: curves are thinned with their extremes kept.
    pub training: Vec<TrainingPoint>,
    /// Terms of the loss: name in the metrics, and name on the page.
    pub terms: &'static [(&'static str, &'static str)],
    /// Curves of further metrics.
    pub curves: &'static [MetricCurve],
    /// Parts of the task.
    pub parts: ReportParts,
    /// The resolved configuration as TOML.
    pub config: String,
}

impl Report {
    /// The report of a finished run, with the parts of its task. An error if the configuration can't be written as
    /// TOML.
    pub fn of_run<T: Task>(
        resolved: &Resolved<T>,
        training: Vec<TrainingPoint>,
        parts: ReportParts,
    ) -> Result<Self, toml::ser::Error> {
        let own = [
            ("data", parts.data_set.clone()),
            ("device", resolved.device.clone()),
            ("Firefly", resolved.firefly.clone()),
            ("Burn", resolved.burn.clone()),
            ("seed", resolved.config.seed.to_string()),
        ];
        let own = own.map(|(name, value)| (name.to_string(), value)).into_iter();
        Ok(Self {
            title: resolved.config.name.clone(),
            facts: own.chain(parts.facts.clone()).collect(),
            training,
            terms: T::TERMS,
            curves: T::CURVES,
            parts,
            config: toml::to_string(resolved)?,
        })
    }

    /// The page as HTML text in UTF-8.
    pub fn render(&self) -> String {
        let title = match self.title.trim() {
            "" => "Training report",
            title => title,
        };
        let mut page = Document::new("Firefly training report", title);
        let facts = self.facts.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let facts = (!self.facts.is_empty()).then(|| document::facts(facts));
        page.section("What was trained", &or_nothing(facts, "Nothing was recorded about this run."));
        let ReportParts { tables, figures, model, .. } = &self.parts;
        let evaluation = (!tables.is_empty()).then(|| tables.concat() + &grid(figures));
        page.section("Evaluation", &or_nothing(evaluation, "No model was evaluated."));
        let training = training_figures(&self.training, self.terms, self.curves);
        let beside = |figures: &[Figure]| (!figures.is_empty()).then(|| grid(figures));
        page.section("Training", &or_nothing(beside(&training), "No training history was recorded."));
        page.section("Learned model", &or_nothing(beside(model), "This run has no learned model."));
        let is_recorded = !self.config.trim().is_empty();
        let config = is_recorded.then(|| details("Resolved configuration (TOML)", &self.config));
        page.section("Configuration", &or_nothing(config, "No configuration was recorded."));
        page.html()
    }
}

/// A chart over two axes, given by label and scale.
pub(crate) fn chart([x, y]: [(&str, AxisScale); 2], series: Vec<ChartSeries>) -> Chart {
    let [x, y] = [x, y].map(|(label, scale)| ChartAxis::new(label, scale));
    Chart { x, y, series, threshold: None }
}

/// A part of the page, or a note that it is missing.
fn or_nothing(part: Option<String>, note: &str) -> String {
    part.unwrap_or_else(|| nothing(note))
}

/// The figures of a training history: the loss with its terms, a figure per curve, and the learning rate; none of an
/// empty history.
fn training_figures(training: &[TrainingPoint], terms: &[(&str, &str)], curves: &[MetricCurve]) -> Vec<Figure> {
    if training.is_empty() {
        return Vec::new();
    }
    let curve = |name: &str, colour: usize, value: &dyn Fn(&TrainingPoint) -> Option<f64>| {
        ChartSeries::line(name, colour, training.iter().filter_map(|point| Some((point.step as f64, value(point)?))))
    };
    let chart = |y: &str, scale, series| chart([("training step", AxisScale::Linear), (y, scale)], series);
    let mut losses = vec![curve("total", 0, &|point| Some(point.loss))];
    for (index, (metric, name)) in terms.iter().enumerate() {
        losses.push(curve(name, index + 1, &|point| point.metric(metric)));
    }
    let all = training.iter().flat_map(|point| {
        let terms = terms.iter().filter_map(|(metric, _)| point.metric(metric));
        std::iter::once(point.loss).chain(terms)
    });
    let scale = AxisScale::spanning(all);
    let title = if terms.is_empty() { "Loss" } else { "Loss and its terms" };
    let mut figures = vec![Figure::chart(title, chart("loss (no unit)", scale, losses), EMPTY)];
    for MetricCurve { metric, title, axis, is_share } in curves {
        let series = vec![curve(title, 0, &|point| point.metric(metric))];
        let scale = match is_share {
            true => AxisScale::Share,
            false => AxisScale::spanning(training.iter().filter_map(|point| point.metric(metric))),
        };
        figures.push(Figure::chart(title, chart(axis, scale, series), EMPTY));
    }
    let rate = vec![curve("learning rate", 0, &|point| Some(point.learning_rate))];
    figures.push(Figure::chart("Learning rate", chart("learning rate (no unit)", AxisScale::Linear, rate), EMPTY));
    figures
}
