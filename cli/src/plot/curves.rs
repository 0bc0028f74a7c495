//! Power over frequency as curves.

use super::axes::PlotAxes;
use super::canvas::{Anchor, Canvas, Colour};

/// Colours of curves, of which the ninth is the first again.
const COLOURS: [Colour; 8] = [
    [0, 114, 178],
    [213, 94, 0],
    [0, 158, 115],
    [204, 121, 167],
    [230, 159, 0],
    [86, 180, 233],
    [0, 0, 0],
    [160, 140, 0],
];
/// Curves with a name beside the figure's title.
const MOST_NAMES: usize = 8;
/// Greatest range that is shown below the greatest power, in decibels.
const MOST_RANGE: f64 = 120.0;

/// A curve: power at equally spaced frequencies from 0 to half the sample rate.
#[derive(Debug, Clone)]
pub struct Curve {
    /// Its name.
    pub name: String,
    /// Half its sample rate in hertz.
    pub nyquist: f64,
    /// Power in decibels.
    pub decibels: Vec<f64>,
}

/// Curves over a common axis.
pub struct Curves {
    /// Title of the drawing.
    pub title: String,
    /// The curves.
    pub curves: Vec<Curve>,
}

impl Curves {
    /// Draws the figure below `top`.
    pub(super) fn draw(&self, canvas: &mut dyn Canvas, top: f64) {
        let finite = || self.curves.iter().flat_map(|curve| &curve.decibels).copied().filter(|value| value.is_finite());
        let high = finite().fold(f64::NEG_INFINITY, f64::max);
        let high = if high.is_finite() { high } else { 0.0 };
        let low = finite().fold(f64::INFINITY, f64::min).clamp(high - MOST_RANGE, high - 1.0);
        let nyquist = self.curves.iter().map(|curve| curve.nyquist).fold(f64::MIN_POSITIVE, f64::max);
        let axes = PlotAxes::new(top, [0.0, nyquist], [low, high + 0.05 * (high - low)]);
        axes.draw_grid(canvas);
        for (index, curve) in self.curves.iter().enumerate() {
            let colour = COLOURS[index % COLOURS.len()];
            let hertz = curve.nyquist / (curve.decibels.len().max(2) - 1) as f64;
            let points: Vec<[f64; 2]> = curve
                .decibels
                .iter()
                .enumerate()
                .map(|(bin, value)| axes.at(bin as f64 * hertz, value.max(low)))
                .collect();
            canvas.line(&points, colour);
            if index < MOST_NAMES && self.curves.len() > 1 {
                let [left, top, width, _] = axes.area;
                let y = top + 18.0 + 16.0 * index as f64;
                canvas.rectangle([left + width - 14.0, y - 9.0, 10.0, 10.0], colour);
                canvas.text([left + width - 18.0, y], Anchor::End, &curve.name);
            }
        }
        axes.draw(canvas, &self.title, ["frequency, Hz", "power, dB"]);
    }
}
