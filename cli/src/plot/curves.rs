//! Power and other values over frequency as curves.

use std::ops::Range;

use plotters::chart::SeriesLabelPosition;
use plotters::prelude::*;

use super::figure::{Axis, Chart, DrawError, Figure, INK, TitledArea};
use crate::lines::SpectralLine;
use crate::pipeline::OpenRecording;

/// Colours of curves, of which the ninth is the first again (Okabe and Ito).
const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
    RGBColor(160, 140, 0),
];
/// Curves with a name in the legend.
const MAX_NAMES: usize = 8;
/// Greatest range shown below the greatest power, in decibels.
const MAX_RANGE: f64 = 120.0;
/// Points of a curve at most; of longer ones the least and the greatest of neighbours are drawn.
const MAX_POINTS: usize = 4096;
/// Width in pixels of a column whose title has the strongest bin in it.
const COLUMN: usize = 4;
/// Side in pixels of the titled area around a mark.
const MARK_AREA: u16 = 10;

/// A curve: values at equally spaced frequencies.
#[derive(Debug, Clone)]
pub struct Curve {
    pub name: String,
    pub first_hertz: f64,
    pub hertz_per_bin: f64,
    pub values: Vec<f64>,
    /// Frequencies in hertz of its lines, which have a mark.
    pub marks: Vec<f64>,
}

pub struct Curves<'a> {
    pub title: String,
    /// Name and unit of the values.
    pub label: String,
    pub curves: &'a [Curve],
    /// Values at the ends of their axis; of power in decibels, up to 120 of them, if `None`.
    pub range: Option<Range<f64>>,
}

impl Curve {
    /// Curve of the power of a channel's bins, with marks at its lines.
    pub fn new(name: String, recording: OpenRecording, n_fft: usize, power: &[f64], lines: &[SpectralLine]) -> Self {
        Self {
            name,
            first_hertz: recording.first_hertz(n_fft),
            hertz_per_bin: recording.rate / n_fft as f64,
            values: recording.by_frequency(power).iter().map(|power| 10.0 * power.log10()).collect(),
            marks: lines.iter().map(|line| line.frequency_hz).collect(),
        }
    }

    /// Greatest frequency in hertz.
    fn end(&self) -> f64 {
        self.first_hertz + self.values.len().saturating_sub(1) as f64 * self.hertz_per_bin
    }

    fn nearest(&self, hertz: f64) -> usize {
        let last = self.values.len().saturating_sub(1);
        ((hertz - self.first_hertz) / self.hertz_per_bin).round().clamp(0.0, last as f64) as usize
    }

    /// Frequency in hertz and power of the strongest bin from the nearest to one frequency to the nearest to another.
    fn strongest(&self, hertz: Range<f64>) -> Option<(f64, f64)> {
        if hertz.end < self.first_hertz || hertz.start > self.end() {
            return None;
        }
        let bins = self.nearest(hertz.start)..=self.nearest(hertz.end);
        let place = |bin: usize| Some((self.first_hertz + bin as f64 * self.hertz_per_bin, *self.values.get(bin)?));
        bins.filter_map(place).filter(|(_, power)| power.is_finite()).max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// Places of the marks: frequency in hertz, and the power of the nearest bin where that is finite.
    fn marks(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        let place = move |hertz: &f64| Some((*hertz, *self.values.get(self.nearest(*hertz))?));
        self.marks.iter().filter_map(place).filter(|(_, power)| power.is_finite())
    }

    /// Points of the curve: frequency in a unit and power, at least `low`.
    fn points(&self, unit: f64, low: f64) -> Vec<(f64, f64)> {
        let point =
            |bin: usize| ((self.first_hertz + bin as f64 * self.hertz_per_bin) / unit, self.values[bin].max(low));
        let bins = self.values.len();
        if bins <= MAX_POINTS {
            return (0..bins).map(point).collect();
        }
        let group = |group: usize| group * 2 * bins / MAX_POINTS..(group + 1) * 2 * bins / MAX_POINTS;
        let ends = |bins: std::ops::Range<usize>| {
            let by_power = |a: &usize, b: &usize| self.values[*a].total_cmp(&self.values[*b]);
            let (least, greatest) = (bins.clone().min_by(by_power), bins.max_by(by_power));
            [least.min(greatest), least.max(greatest)].into_iter().flatten()
        };
        (0..MAX_POINTS / 2).flat_map(|index| ends(group(index))).map(point).collect()
    }
}

impl Curves<'_> {
    pub(super) fn draw<DB: DrawingBackend<ErrorType: 'static>>(&self, figure: Figure<DB>) -> Result<(), DrawError<DB>> {
        let finite = || self.curves.iter().flat_map(|curve| &curve.values).copied().filter(|value| value.is_finite());
        let high = finite().fold(f64::NEG_INFINITY, f64::max);
        let high = if high.is_finite() { high } else { 0.0 };
        let low = finite().fold(f64::INFINITY, f64::min).clamp(high - MAX_RANGE, high - 1.0);
        let first = self.curves.iter().map(|curve| curve.first_hertz).fold(f64::INFINITY, f64::min);
        let first = if first.is_finite() { first } else { 0.0 };
        let frequency = Axis::frequency(first..self.curves.iter().map(Curve::end).fold(first, f64::max));
        let range = self.range.clone().unwrap_or(low..high + 0.05 * (high - low));
        let (low, power) = (range.start, Axis::decibels(&self.label, range));
        let mut chart = figure.chart(&figure.area, &self.title, [&frequency, &power], true)?;
        let swatch = [figure.pixels(16.0), figure.pixels(2.0)];
        for (index, curve) in self.curves.iter().enumerate() {
            let style = figure.line(COLOURS[index % COLOURS.len()], 1.25);
            let dot = COLOURS[index % COLOURS.len()].filled();
            let marks = curve
                .marks()
                .map(|(hertz, power)| Circle::new((hertz / frequency.unit, power), figure.pixels(3.0), dot));
            chart.draw_series(marks)?;
            let series = chart.draw_series(LineSeries::new(curve.points(frequency.unit, low), style))?;
            if index < MAX_NAMES && self.curves.len() > 1 {
                series.label(&curve.name).legend(move |(x, y)| {
                    Rectangle::new([(x, y - swatch[1]), (x + swatch[0], y + swatch[1])], style.filled())
                });
            }
        }
        if self.curves.len() > 1 {
            chart
                .configure_series_labels()
                .position(SeriesLabelPosition::UpperRight)
                .margin(figure.pixels(6.0))
                .legend_area_size(figure.pixels(22.0))
                .background_style(WHITE.mix(0.85))
                .border_style(INK.mix(0.3))
                .label_font(figure.text(12.0))
                .draw()?;
        }
        if let Some(titled) = figure.titled {
            titled.extend(self.titled_areas(&chart, [&frequency, &power]));
        }
        Ok(())
    }

    /// Columns whose titles have the strongest bin of each curve with a name, and above them areas around the marks.
    fn titled_areas<DB: DrawingBackend>(&self, chart: &Chart<DB>, [frequency, power]: [&Axis; 2]) -> Vec<TitledArea> {
        // Decibels and degrees to a tenth, fractions to a thousandth.
        let steps = if power.range.end - power.range.start < 2.0 && self.range.is_some() { 1000.0 } else { 10.0 };
        let text = |curve: &Curve, (hertz, value): (f64, f64)| {
            let name = if self.curves.len() > 1 { format!("{}: ", curve.name) } else { String::new() };
            format!("{name}{}, {}", frequency.value(hertz), power.value((steps * value).round() / steps))
        };
        let (x, y) = chart.plotting_area().get_pixel_range();
        let per_pixel = (frequency.range.end - frequency.range.start) * frequency.unit / x.len().max(1) as f64;
        let hertz = |pixel: i32| frequency.range.start * frequency.unit + f64::from(pixel - x.start) * per_pixel;
        let mut areas: Vec<TitledArea> = Vec::new();
        for left in x.clone().step_by(COLUMN) {
            let right = (left + COLUMN as i32).min(x.end);
            let curves = self.curves.iter().take(MAX_NAMES);
            let texts = curves.filter_map(|curve| Some(text(curve, curve.strongest(hertz(left)..hertz(right))?)));
            let (width, title) = ((right - left) as u32, texts.collect::<Vec<_>>().join("\n"));
            match areas.last_mut() {
                Some(last) if last.title == title => last.size.0 += width,
                _ => areas.push(TitledArea { at: (left, y.start), size: (width, y.len() as u32), title }),
            }
        }
        areas.retain(|area| !area.title.is_empty());
        for (curve, mark) in self.curves.iter().flat_map(|curve| curve.marks().map(move |mark| (curve, mark))) {
            let (x, y) = chart.backend_coord(&(mark.0 / frequency.unit, mark.1));
            let (half, side) = (i32::from(MARK_AREA / 2), u32::from(MARK_AREA));
            areas.push(TitledArea { at: (x - half, y - half), size: (side, side), title: text(curve, mark) });
        }
        areas
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_curves_keep_their_peaks_and_floors() {
        let mut decibels = vec![-50.0; 40_001];
        (decibels[12_345], decibels[40_000], decibels[7]) = (3.0, 2.0, -90.0);
        let curve =
            Curve { name: String::new(), first_hertz: 0.0, hertz_per_bin: 0.5, values: decibels, marks: vec![6172.7] };
        assert_eq!(curve.marks().collect::<Vec<_>>(), [(6172.7, 3.0)]);
        assert_eq!(curve.strongest(6000.0..6200.0), Some((6172.5, 3.0)));
        assert_eq!([curve.strongest(0.1..0.2), curve.strongest(20_001.0..20_002.0)], [Some((0.0, -50.0)), None]);
        let points = curve.points(1000.0, -80.0);
        assert!(points.len() <= MAX_POINTS && points.windows(2).all(|pair| pair[0].0 <= pair[1].0));
        for wanted in [(6.1725, 3.0), (20.0, 2.0), (0.0035, -80.0)] {
            assert!(points.contains(&wanted), "{wanted:?}");
        }
    }
}
