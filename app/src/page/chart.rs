//! The plot that line, scatter and bar charts draw into: title, axes, grid, tick labels.

use std::fmt::Write;

use super::axis::{Axis, Scale};
use super::escape::escape;
use super::number::Pixel;

/// Width of a chart in user units.
pub const WIDTH: f64 = 460.0;
/// Height of a chart in user units.
pub const HEIGHT: f64 = 288.0;
/// Width of one character of a label, generous for any sans-serif face at the 12 units that the style sheet sets.
pub const CHARACTER: f64 = 6.7;

const TOP: f64 = 38.0;
const BOTTOM: f64 = 46.0;
const RIGHT: f64 = 20.0;

/// An empty chart: what it is, its axes and their names with units.
pub struct Chart<'a> {
    /// Unique in the page.
    pub id: &'a str,
    /// Its name.
    pub title: &'a str,
    /// What the figure shows, in words and figures, for those who do not see it.
    pub description: &'a str,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The horizontal axis's name.
    pub x_label: &'a str,
    /// The vertical axis's name.
    pub y_label: &'a str,
}

impl Chart<'_> {
    /// Left edge of the plot, after the tick labels of the vertical axis.
    pub fn left(&self) -> f64 {
        let widest = self.y.ticks.iter().map(|tick| tick.label.chars().count()).max().unwrap_or(0);
        (widest as f64 * CHARACTER + 14.0).max(34.0)
    }

    /// Right edge of the plot.
    pub fn right(&self) -> f64 {
        WIDTH - RIGHT
    }

    /// Upper edge of the plot.
    pub fn top(&self) -> f64 {
        TOP
    }

    /// Lower edge of the plot.
    pub fn bottom(&self) -> f64 {
        HEIGHT - BOTTOM
    }

    /// Horizontal coordinate of `value`, `None` when the axis cannot show it.
    pub fn x(&self, value: f64) -> Option<f64> {
        self.x.position(value).map(|position| self.left() + position * (self.right() - self.left()))
    }

    /// Vertical coordinate of `value`, `None` when the axis cannot show it.
    pub fn y(&self, value: f64) -> Option<f64> {
        self.y.position(value).map(|position| self.bottom() - position * (self.bottom() - self.top()))
    }

    /// The finished figure around `marks`, SVG elements in the chart's coordinates.
    pub fn svg(&self, marks: &str) -> String {
        let mut svg = opening(self.id, self.title, self.description, (WIDTH, HEIGHT));
        self.write_horizontal_grid(&mut svg);
        self.write_vertical_grid(&mut svg);
        let _ = write!(
            svg,
            r#"<text class="axis" x="0" y="14">{}</text><text class="axis" text-anchor="middle" x="{}" y="{}">{}</text><g class="marks" data-label="{}" data-x="{}" data-y="{}">{marks}</g></svg>"#,
            escape(self.y_label),
            Pixel((self.left() + self.right()) / 2.0),
            Pixel(HEIGHT - 8.0),
            escape(self.x_label),
            escape(self.x_label),
            span(&self.x, self.left(), self.right()),
            span(&self.y, self.bottom(), self.top()),
        );
        svg
    }

    fn write_horizontal_grid(&self, svg: &mut String) {
        for tick in &self.y.ticks {
            let Some(y) = self.y(tick.value) else {
                continue;
            };
            let _ = write!(
                svg,
                r#"<path class="grid-line" d="M{} {}H{}"/><text class="tick" text-anchor="end" x="{}" y="{}">{}</text>"#,
                Pixel(self.left()),
                Pixel(y),
                Pixel(self.right()),
                Pixel(self.left() - 7.0),
                Pixel(y + 4.0),
                escape(&tick.label),
            );
        }
    }

    fn write_vertical_grid(&self, svg: &mut String) {
        let _ = write!(
            svg,
            r#"<path class="frame" d="M{} {}H{}"/>"#,
            Pixel(self.left()),
            Pixel(self.bottom()),
            Pixel(self.right()),
        );
        let mut free_from = f64::NEG_INFINITY;
        for tick in &self.x.ticks {
            let Some(x) = self.x(tick.value) else {
                continue;
            };
            let _ = write!(svg, r#"<path class="frame" d="M{} {}v5"/>"#, Pixel(x), Pixel(self.bottom()),);
            let half_width = tick.label.chars().count() as f64 * CHARACTER / 2.0;
            let x = x.min(WIDTH - half_width);
            if x - half_width < free_from {
                continue;
            }
            free_from = x + half_width + 6.0;
            let _ = write!(
                svg,
                r#"<text class="tick" text-anchor="middle" x="{}" y="{}">{}</text>"#,
                Pixel(x),
                Pixel(self.bottom() + 18.0),
                escape(&tick.label),
            );
        }
    }
}

/// The start tag of a figure of `size` user units, with its title and description.
pub fn opening(id: &str, title: &str, description: &str, size: (f64, f64)) -> String {
    let id = escape(id);
    format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {}" role="img" aria-labelledby="{id}-title {id}-desc"><title id="{id}-title">{}</title><desc id="{id}-desc">{}</desc>"#,
        Pixel(size.0),
        Pixel(size.1),
        escape(title),
        escape(description),
    )
}

/// What the page's script needs to turn coordinates back into values: scale, range, and where the range lies.
fn span(axis: &Axis, start: f64, end: f64) -> String {
    let scale = match axis.scale {
        Scale::Linear => "linear",
        Scale::Logarithmic => "log",
    };
    format!("{scale} {:e} {:e} {} {}", axis.low, axis.high, Pixel(start), Pixel(end))
}
