//! Axes of a figure: area, ticks and labels.

use super::canvas::{Anchor, Canvas, INK};
use super::{HEIGHT, WIDTH};

/// Space around the area of a figure: left, right, top, bottom.
const MARGINS: [f64; 4] = [84.0, 24.0, 30.0, 46.0];
/// Colour of the lines of a grid.
const GRID: [u8; 3] = [226, 226, 226];

/// Area of a figure, and the values at its ends.
#[derive(Debug, Clone, Copy)]
pub struct PlotAxes {
    /// Left, top, width and height in pixels.
    pub area: [f64; 4],
    x: [f64; 2],
    y: [f64; 2],
}

impl PlotAxes {
    /// Axes of the figure below `top`, with the values at the ends of each.
    pub fn new(top: f64, x: [f64; 2], y: [f64; 2]) -> Self {
        let [left, right, above, below] = MARGINS;
        Self { area: [left, top + above, WIDTH - left - right, HEIGHT - above - below], x, y }
    }

    /// Position of a value.
    pub fn at(&self, x: f64, y: f64) -> [f64; 2] {
        let [left, top, width, height] = self.area;
        let share = |value: f64, [low, high]: [f64; 2]| (value - low) / (high - low);
        [left + width * share(x, self.x), top + height * (1.0 - share(y, self.y))]
    }

    /// Draws the lines of a grid.
    pub fn draw_grid(&self, canvas: &mut dyn Canvas) {
        for x in ticks(self.x) {
            canvas.line(&[self.at(x, self.y[0]), self.at(x, self.y[1])], GRID);
        }
        for y in ticks(self.y) {
            canvas.line(&[self.at(self.x[0], y), self.at(self.x[1], y)], GRID);
        }
    }

    /// Draws border, numbers, and names.
    pub fn draw(&self, canvas: &mut dyn Canvas, title: &str, [x_name, y_name]: [&str; 2]) {
        let [left, top, width, height] = self.area;
        let (right, bottom) = (left + width, top + height);
        canvas.line(&[[left, top], [right, top], [right, bottom], [left, bottom], [left, top]], INK);
        for x in ticks(self.x) {
            canvas.text([self.at(x, self.y[0])[0], bottom + 17.0], Anchor::Middle, &number(x));
        }
        for y in ticks(self.y) {
            canvas.text([left - 6.0, self.at(self.x[0], y)[1] + 4.0], Anchor::End, &number(y));
        }
        canvas.text([left, top - 9.0], Anchor::Start, title);
        canvas.text([right, bottom + 36.0], Anchor::End, x_name);
        canvas.text([right, top - 9.0], Anchor::End, y_name);
    }
}

/// Round values within a range, some five of them.
fn ticks([low, high]: [f64; 2]) -> Vec<f64> {
    let rough = (high - low) / 5.0;
    if !(rough.is_finite() && rough > 0.0) {
        return Vec::new();
    }
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|factor| factor * power).find(|step| *step >= rough);
    let step = step.unwrap_or(10.0 * power);
    // A tick at an end counts in spite of rounding.
    let (first, last) = ((low / step - 1e-9).ceil() as i64, (high / step + 1e-9).floor() as i64);
    (first..=last).map(|index| index as f64 * step).collect()
}

/// A tick's value, without the digits that rounding errors make.
fn number(value: f64) -> String {
    let rounded: f64 = format!("{value:.6e}").parse().unwrap_or(value);
    rounded.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        assert_eq!(ticks([0.0, 6000.0]), [0.0, 2000.0, 4000.0, 6000.0]);
        assert_eq!(ticks([-43.0, 7.0]), [-40.0, -30.0, -20.0, -10.0, 0.0]);
        assert_eq!(
            ticks([0.0, 0.3]).iter().map(|value| number(*value)).collect::<Vec<_>>(),
            ["0", "0.1", "0.2", "0.3"]
        );
        assert!(ticks([1.0, 1.0]).is_empty());
    }
}
