//! Area of a figure: axes with units, ticks and labels, and images inside it.

use std::ops::Range;
use std::sync::Once;

use plotters::chart::ChartContext;
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::heat_map::palette;

/// Family of the embedded font, and of text in SVG.
const FONT: &str = "sans-serif";
/// Colour of text and axes.
pub const INK: RGBColor = RGBColor(34, 34, 34);
const GRID: RGBColor = RGBColor(226, 226, 226);
const TICKS: usize = 6;

pub type DrawError<DB> = DrawingAreaErrorKind<<DB as DrawingBackend>::ErrorType>;

pub type Chart<'a, DB> = ChartContext<'a, DB, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// Makes the embedded font known: its metrics place the text of every format, and its glyphs are those of pixels.
pub fn register_font() {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        let registered = plotters::style::register_font(FONT, FontStyle::Normal, ttf_noto_sans::REGULAR);
        assert!(registered.is_ok(), "the embedded font is an OpenType font");
    });
}

pub enum Images<'a> {
    /// Pixels of the surface.
    Drawn,
    /// A list, for a surface of vectors.
    Placed(&'a mut Vec<PlacedImage>),
}

/// Image in steps of the colour scale, stretched over a rectangle.
pub struct PlacedImage {
    /// Left and top of the rectangle.
    pub at: (i32, i32),
    pub size: (u32, u32),
    /// Steps of the pixels, row-major.
    pub levels: Vec<u8>,
    pub pixel_size: (u32, u32),
}

/// Rectangle of a drawing with text that a page shows while the pointer is over it.
pub struct TitledArea {
    /// Left and top.
    pub at: (i32, i32),
    pub size: (u32, u32),
    pub title: String,
}

pub struct Figure<'a, DB: DrawingBackend> {
    pub area: DrawingArea<DB, Shift>,
    /// Pixels per unit of length.
    pub scale: f64,
    pub images: Images<'a>,
    pub titled: Option<&'a mut Vec<TitledArea>>,
}

/// Axis: its name with the unit, and the values at its ends in that unit.
#[derive(Debug, Clone)]
pub struct Axis {
    /// Name and unit.
    pub label: String,
    pub range: Range<f64>,
    /// Size of the unit in the base unit: hertz or seconds.
    pub unit: f64,
}

impl Axis {
    pub fn decibels(label: &str, range: Range<f64>) -> Self {
        Self { label: label.to_owned(), range, unit: 1.0 }
    }

    /// An axis of frequencies in hertz, labelled in the unit that suits the greatest.
    pub fn frequency(range: Range<f64>) -> Self {
        let units = [("GHz", 1e9), ("MHz", 1e6), ("kHz", 1e3), ("Hz", 1.0), ("mHz", 1e-3)];
        Self::in_unit("frequency", range, 1.5, &units)
    }

    /// An axis of times from 0 to so many seconds, labelled in the unit that suits them.
    pub fn time(seconds: f64) -> Self {
        let units = [("d", 86_400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)];
        Self::in_unit("time", 0.0..seconds, 2.0, &units)
    }

    /// A value, given in the base unit, with the unit of the axis.
    pub fn value(&self, value: f64) -> String {
        let unit = self.label.rsplit_once(", ").map_or("", |(_, unit)| unit);
        format!("{} {unit}", number(&(value / self.unit))).trim_end().to_owned()
    }

    /// The axis in the largest unit of which the range holds `least`, or in the smallest unit.
    fn in_unit(name: &str, range: Range<f64>, least: f64, units: &[(&str, f64)]) -> Self {
        let fits = |(_, unit): &&(&str, f64)| range.end >= least * unit;
        let (symbol, unit) = units.iter().find(fits).unwrap_or(&units[units.len() - 1]);
        let end = if range.end > range.start { range.end } else { range.start + unit };
        Self { label: format!("{name}, {symbol}"), range: range.start / unit..end / unit, unit: *unit }
    }
}

impl<DB: DrawingBackend> Figure<'_, DB> {
    pub fn pixels(&self, length: f64) -> i32 {
        (length * self.scale).round() as i32
    }

    pub fn line(&self, colour: RGBColor, width: f64) -> ShapeStyle {
        colour.stroke_width(self.pixels(width).max(1) as u32)
    }

    pub fn text(&self, size: f64) -> TextStyle<'static> {
        TextStyle::from((FONT, size * self.scale)).color(&INK)
    }

    /// A chart with a title that leaves `right` free at its right; its grid is drawn below what follows, if wanted.
    pub fn chart<'a>(
        &self,
        area: &DrawingArea<DB, Shift>,
        title: &str,
        [x, y]: [&Axis; 2],
        has_grid: bool,
    ) -> Result<Chart<'a, DB>, DrawError<DB>> {
        let style = self.text(15.0).pos(Pos::new(HPos::Left, VPos::Center));
        area.draw(&Text::new(title.to_owned(), (self.pixels(76.0), self.pixels(18.0)), style))?;
        let mut chart = ChartBuilder::on(area)
            .margin_top(self.pixels(34.0))
            .margin_bottom(self.pixels(6.0))
            .margin_right(self.pixels(18.0))
            .margin_left(self.pixels(8.0))
            .x_label_area_size(self.pixels(46.0))
            .y_label_area_size(self.pixels(68.0))
            .build_cartesian_2d(x.range.clone(), y.range.clone())?;
        if has_grid {
            self.axes(&mut chart, [x, y], true)?;
        }
        Ok(chart)
    }

    /// Draws ticks, their labels and those of the axes, and the grid if wanted. A horizontal axis without a label, as of a
    /// colour scale, is not drawn.
    pub fn axes(&self, chart: &mut Chart<DB>, [x, y]: [&Axis; 2], has_grid: bool) -> Result<(), DrawError<DB>> {
        let mut mesh = chart.configure_mesh();
        if !has_grid {
            mesh.disable_mesh();
        }
        if x.label.is_empty() {
            mesh.disable_x_axis();
        } else {
            mesh.x_labels(2 * TICKS).x_label_formatter(&number).x_desc(&x.label);
        }
        mesh.max_light_lines(0)
            .y_labels(TICKS)
            .bold_line_style(self.line(GRID, 1.0))
            .axis_style(self.line(INK, 1.0))
            .label_style(self.text(12.0))
            .axis_desc_style(self.text(13.0))
            .y_label_formatter(&number)
            .y_desc(&y.label)
            .set_all_tick_mark_size(self.pixels(4.0))
            .draw()
    }

    /// Fills the area of a chart with an image, whose steps of the colour scale `image` makes for a width and height.
    pub fn fill(
        &mut self,
        chart: &Chart<DB>,
        natural: (u32, u32),
        image: impl Fn(u32, u32) -> Vec<u8>,
    ) -> Result<(), DrawError<DB>> {
        let area = chart.plotting_area();
        let (x, y) = area.get_pixel_range();
        let size = area.dim_in_pixel();
        match &mut self.images {
            Images::Drawn => {
                let palette = palette();
                let pixels = image(size.0, size.1).into_iter().flat_map(|level| palette[usize::from(level)]).collect();
                let element: BitMapElement<_> =
                    BitMapElement::with_owned_buffer((0, 0), size, pixels).ok_or(DrawError::<DB>::LayoutError)?;
                area.strip_coord_spec().draw(&element)
            }
            Images::Placed(images) => {
                let levels = image(natural.0, natural.1);
                images.push(PlacedImage { at: (x.start, y.start), size, levels, pixel_size: natural });
                Ok(())
            }
        }
    }
}

/// A tick's value, without the digits that rounding errors make.
fn number(value: &f64) -> String {
    let rounded: f64 = format!("{value:.6e}").parse().unwrap_or(*value);
    if rounded == 0.0 { "0".to_owned() } else { rounded.to_string().replace('-', "\u{2212}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_have_the_unit_that_suits_them() {
        let labels = [4.0, 500.0, 6000.0, 22_050.0, 2.4e9].map(|end| Axis::frequency(0.0..end).label);
        assert_eq!(labels, ["frequency, Hz", "frequency, Hz", "frequency, kHz", "frequency, kHz", "frequency, GHz"]);
        let labels = [1e-7, 0.5, 12.0, 119.0, 600.0, 86_400.0, 1e6].map(|seconds| Axis::time(seconds).label);
        assert_eq!(labels, ["time, µs", "time, ms", "time, s", "time, s", "time, min", "time, h", "time, d"]);
        assert_eq!(Axis::time(600.0).range, 0.0..10.0);
        assert_eq!(Axis::frequency(0.0..6000.0).value(1250.0), "1.25 kHz");
        assert_eq!(Axis::decibels("power |X|², dB re 1 V²", -3.0..0.0).value(-2.5), "−2.5 dB re 1 V²");
        // Of no width, as of a recording that could not be read.
        assert!(Axis::frequency(0.0..0.0).range.end > 0.0);
    }

    #[test]
    fn ticks_have_no_digits_of_rounding_errors() {
        assert_eq!([0.1 + 0.2, -40.0, -0.0, 1e-7].map(|value| number(&value)), ["0.3", "−40", "0", "0.0000001"]);
    }
}
