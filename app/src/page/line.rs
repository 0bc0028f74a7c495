//! Line charts of one or several series over a common horizontal axis.

use std::fmt::Write;

use super::axis::Axis;
use super::chart::Chart;
use super::escape::escape;
use super::figure::{Figure, Swatch};
use super::number::{Pixel, significant};
use super::thin::{thin, trend};

/// Colours of series; more begin again.
const COLOURS: usize = 8;
/// Points drawn per series at most.
const MOST_POINTS: usize = 600;
/// Points of the trend drawn over a series with many points.
const TREND_POINTS: usize = 150;
/// Up to this many points are marked one by one; of more, every series has a few marks that tell it from the others.
const MOST_MARKS: usize = 40;
const FEW_MARKS: usize = 5;

/// One curve; a value that is not finite is a gap in it.
pub struct Series {
    /// What the legend calls it.
    pub name: String,
    /// Horizontal and vertical values.
    pub points: Vec<(f64, f64)>,
}

/// How the horizontal axis is chosen.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Horizontal {
    /// Linear, from the first value to the last.
    Linear,
    /// Logarithmic, labelled at powers of two.
    PowersOfTwo,
}

/// How the vertical axis is chosen.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Vertical {
    /// Linear with round ends.
    Linear,
    /// Linear, for shares in `0..=1`.
    Share,
    /// Logarithmic when the values are positive and span two decades or more, linear otherwise.
    Adaptive,
}

/// What a line chart is called and what its axes say.
pub struct LineChart<'a> {
    /// Unique in the page.
    pub id: &'a str,
    /// Its name.
    pub title: &'a str,
    /// The horizontal axis's name.
    pub x_label: &'a str,
    /// The vertical axis's name.
    pub y_label: &'a str,
    /// The horizontal axis.
    pub horizontal: Horizontal,
    /// The vertical axis.
    pub vertical: Vertical,
    /// The curves, in the legend's order.
    pub series: &'a [Series],
    /// What is said in its place when there is nothing to draw.
    pub nothing: &'a str,
}

impl LineChart<'_> {
    /// The chart with its legend, or a note when no series has a finite point.
    pub fn figure(&self) -> Figure {
        let values = || self.series.iter().flat_map(|series| series.points.iter()).filter(|point| point.1.is_finite());
        if values().next().is_none() {
            return Figure::note(self.title, self.nothing);
        }
        let places = self.series.iter().flat_map(|series| series.points.iter().map(|point| point.0));
        let x = match self.horizontal {
            Horizontal::Linear => Axis::tight(places),
            Horizontal::PowersOfTwo => Axis::powers_of_two(places),
        };
        let y = self.vertical_axis(|| values().map(|point| point.1));
        let description = self.description();
        let chart = Chart {
            id: self.id,
            title: self.title,
            description: &description,
            x,
            y,
            x_label: self.x_label,
            y_label: self.y_label,
        };
        let mut marks = String::new();
        for (index, series) in self.series.iter().enumerate() {
            write_series(&mut marks, &chart, index, series, self.series.len());
        }
        let hidden = values().filter(|point| chart.y(point.1).is_none()).count();
        let mut figure = Figure::new(self.title, chart.svg(&marks));
        if self.series.len() > 1 {
            figure.legend = self
                .series
                .iter()
                .enumerate()
                .map(|(index, series)| (Swatch::Line(index), series.name.clone()))
                .collect();
        }
        let mut captions = Vec::new();
        if self.series.iter().any(|series| series.points.len() >= 2 * TREND_POINTS) {
            captions.push("Bold: mean of neighbouring points; faint: their extremes.".to_owned());
        }
        if hidden > 0 {
            captions
                .push(format!("Logarithmic axis: values at or below {} are not drawn.", significant(chart.y.low, 2)));
        }
        figure.caption = captions.join(" ");
        figure
    }

    fn vertical_axis<I: Iterator<Item = f64>>(&self, values: impl Fn() -> I) -> Axis {
        match self.vertical {
            Vertical::Linear => Axis::rounded(values()),
            Vertical::Share => Axis::share(values()),
            Vertical::Adaptive => {
                let positive = || values().filter(|value| *value > 0.0);
                let lowest = positive().fold(f64::INFINITY, f64::min);
                let highest = positive().fold(0.0, f64::max);
                if values().all(|value| value >= 0.0) && highest / lowest >= 100.0 {
                    Axis::logarithmic(values(), 1.15)
                } else {
                    Axis::rounded(values())
                }
            }
        }
    }

    fn description(&self) -> String {
        let mut text = format!("{} over {}.", self.y_label, self.x_label);
        for series in self.series {
            let finite = || series.points.iter().filter(|point| point.1.is_finite());
            let (Some(first), Some(last)) = (finite().next(), finite().next_back()) else {
                let _ = write!(text, " {}: no values.", series.name);
                continue;
            };
            let low = finite().map(|point| point.1).fold(f64::INFINITY, f64::min);
            let high = finite().map(|point| point.1).fold(f64::NEG_INFINITY, f64::max);
            let _ = write!(
                text,
                " {}: {} at {}, {} at {}, between {} and {}.",
                series.name,
                significant(first.1, 3),
                significant(first.0, 3),
                significant(last.1, 3),
                significant(last.0, 3),
                significant(low, 3),
                significant(high, 3),
            );
        }
        text
    }
}

fn write_series(marks: &mut String, chart: &Chart, index: usize, series: &Series, count: usize) {
    let place = |points: Vec<(f64, f64)>| -> Vec<Place> {
        points.iter().map(|point| Some((chart.x(point.0)?, chart.y(point.1)?))).collect()
    };
    let colour = colour_class(index);
    let every = path(&place(thin(&series.points, MOST_POINTS)));
    if every.is_empty() {
        return;
    }
    let mut drawn = place(trend(&series.points, TREND_POINTS));
    let bold = path(&drawn);
    let bold = if bold.is_empty() {
        drawn = place(series.points.clone());
        every
    } else {
        let _ = write!(marks, r#"<path class="line faint {colour}" d="{every}"/>"#);
        bold
    };
    let _ = write!(marks, r#"<path class="series line {colour}" data-name="{}" d="{bold}"/>"#, escape(&series.name),);
    let step = match drawn.len() {
        0..=MOST_MARKS => 1,
        _ if count == 1 => return,
        length => length / FEW_MARKS,
    };
    // Marks of different series lie at different places, so that none hides another.
    let first = step * (2 * index + 1) / (2 * count);
    for place in drawn.into_iter().skip(first).step_by(step).flatten() {
        marks.push_str(&mark(index, place));
    }
}

/// The class that colours the series with this index.
pub(super) fn colour_class(index: usize) -> String {
    format!("s{}", index % COLOURS)
}

/// Where a point is drawn; `None` is a gap.
type Place = Option<(f64, f64)>;

/// Path data through `places`, with a dot for a point between two gaps.
fn path(places: &[Place]) -> String {
    let mut path = String::new();
    for (position, place) in places.iter().enumerate() {
        let Some((x, y)) = place else { continue };
        let begins = position == 0 || places[position - 1].is_none();
        let ends = places.get(position + 1).is_none_or(Option::is_none);
        let command = if begins { 'M' } else { 'L' };
        let _ = write!(path, "{command}{} {}", Pixel(*x), Pixel(*y));
        if begins && ends {
            // Its round cap makes it a dot.
            path.push_str("h0");
        }
    }
    path
}

/// The mark of the series with this index: disc, square, triangle or diamond.
pub(super) fn mark(index: usize, (x, y): (f64, f64)) -> String {
    let outline = match index % 4 {
        0 => "m-3 0a3 3 0 1 0 6 0a3 3 0 1 0 -6 0z",
        1 => "m-2.8 -2.8h5.6v5.6h-5.6z",
        2 => "m0 -3.8l3.8 6.4h-7.6z",
        _ => "m0 -4.2l4.2 4.2l-4.2 4.2l-4.2 -4.2z",
    };
    format!(r#"<path class="mark {}" d="M{} {}{outline}"/>"#, colour_class(index), Pixel(x), Pixel(y))
}
