//! Axes: a range, round ticks, and where a value lies.

use super::number;

/// How values map to distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal steps for equal differences.
    Linear,
    /// Equal steps for equal factors.
    Logarithmic,
}

/// A labelled place on an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// The place, in the axis's unit.
    pub value: f64,
    /// What stands there.
    pub label: String,
}

/// A finite, non-empty range with its ticks.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// How values map to distance.
    pub scale: Scale,
    /// The value at the beginning.
    pub low: f64,
    /// The value at the end, greater than `low`.
    pub high: f64,
    /// Labelled places, from low to high.
    pub ticks: Vec<Tick>,
}

/// Values beyond this magnitude are left out, so that ranges stay finite.
const LARGEST: f64 = 1e150;
const TICKS: usize = 5;
/// Ticks of an axis of powers of two, at most one more.
const MOST_POWERS: i32 = 8;
/// Beyond this many decades a small positive value would squeeze the rest of a logarithmic axis.
const MOST_DECADES: i32 = 6;

impl Axis {
    /// A linear axis whose ends are ticks at or beyond the extremes of `values`.
    pub fn rounded(values: impl IntoIterator<Item = f64>) -> Self {
        let (low, high) = extent(values);
        let step = nice_step((high - low) / TICKS as f64);
        let first = (low / step + 1e-9).floor();
        let last = (high / step - 1e-9).ceil().max(first + 1.0);
        Self::linear(first * step, last * step, step)
    }

    /// As [`Axis::rounded`] with some room around `values`, but never beyond `0..=1` unless a value is.
    pub fn share(values: impl IntoIterator<Item = f64>) -> Self {
        let (low, high) = bounds(values).unwrap_or((0.0, 1.0));
        let room = ((high - low) * 0.06).max(0.04);
        let (least, most) = (low.min(0.0), high.max(1.0));
        let axis = Self::rounded([(low - room).max(least), (high + room).min(most)]);
        if axis.low < least - 1e-9 || axis.high > most + 1e-9 {
            // Rounding went past the ends: only an odd range such as `0.0..=1.2` does.
            return Self::tight([axis.low.max(least), axis.high.min(most)]);
        }
        axis
    }

    /// A linear axis from the lowest to the highest of `values`, with ticks inside.
    pub fn tight(values: impl IntoIterator<Item = f64>) -> Self {
        let (low, high) = extent(values);
        Self::linear(low, high, nice_step((high - low) / TICKS as f64))
    }

    /// A logarithmic axis over the positive ones of `values`, widened by the factor `margin` (at least 1) on both sides.
    pub fn logarithmic(values: impl IntoIterator<Item = f64>, margin: f64) -> Self {
        let positive = values.into_iter().filter(|value| *value > 1.0 / LARGEST && *value < LARGEST);
        let (mut low, mut high) = bounds(positive).unwrap_or((1.0, 10.0));
        low = low.max(high / 10f64.powi(MOST_DECADES)) / margin.max(1.0);
        high *= margin.max(1.0);
        if high / low < 1.5 {
            (low, high) = (low / 2.0, high * 2.0);
        }
        let ticks = logarithmic_ticks(low, high);
        Self { scale: Scale::Logarithmic, low, high, ticks }
    }

    /// A logarithmic axis over the positive ones of `values`, with ticks at powers of two: for sizes of batches and the like.
    pub fn powers_of_two(values: impl IntoIterator<Item = f64>) -> Self {
        let axis = Self::logarithmic(values, 1.0);
        let (first, last) = (axis.low.log2().ceil() as i32, axis.high.log2().floor() as i32);
        let every = ((last - first) / MOST_POWERS + 1).max(1) as usize;
        let label = |value: f64| number::fixed(value, if value < 1.0 { 2 } else { 0 });
        let tick = |power: i32| Tick { value: 2f64.powi(power), label: label(2f64.powi(power)) };
        Self { ticks: (first..=last).step_by(every).map(tick).collect(), ..axis }
    }

    fn linear(low: f64, high: f64, step: f64) -> Self {
        let first = (low / step - 1e-6).ceil();
        let last = (high / step + 1e-6).floor();
        let count = (last - first).clamp(0.0, 30.0) as usize + 1;
        let ticks = (0..count)
            .map(|index| (first + index as f64) * step)
            .map(|value| Tick { value, label: linear_label(value, step, low.abs().max(high.abs())) })
            .collect();
        Self { scale: Scale::Linear, low, high, ticks }
    }

    /// Where `value` lies, 0 at the low end and 1 at the high end; `None` for a value the axis cannot show.
    pub fn position(&self, value: f64) -> Option<f64> {
        let position = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Logarithmic => (value / self.low).ln() / (self.high / self.low).ln(),
        };
        (-1e-6..=1.0 + 1e-6).contains(&position).then(|| position.clamp(0.0, 1.0))
    }
}

/// The smallest of 1, 2, 2.5 and 5 times a power of ten that is at least `rough`.
pub fn nice_step(rough: f64) -> f64 {
    if !(rough.is_finite() && rough > 0.0) {
        return 1.0;
    }
    let power = 10f64.powf(rough.log10().floor());
    [1.0, 2.0, 2.5, 5.0].into_iter().find(|factor| factor * power >= rough * (1.0 - 1e-9)).unwrap_or(10.0) * power
}

/// Lowest and highest finite value.
fn bounds(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    values.into_iter().filter(|value| value.abs() < LARGEST).fold(None, |bounds, value| match bounds {
        None => Some((value, value)),
        Some((low, high)) => Some((value.min(low), value.max(high))),
    })
}

/// Lowest and highest finite value, kept apart: a range no wider than rounding is opened around its middle.
fn extent(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    let (low, high) = bounds(values).unwrap_or((0.0, 1.0));
    let magnitude = low.abs().max(high.abs());
    if high - low > magnitude * 1e-7 && high - low > 1.0 / LARGEST {
        return (low, high);
    }
    if magnitude <= 1.0 / LARGEST {
        return (0.0, 1.0);
    }
    let half = magnitude * 0.1;
    let middle = low / 2.0 + high / 2.0;
    (middle - half, middle + half)
}

fn linear_label(value: f64, step: f64, magnitude: f64) -> String {
    if value.abs() < step * 1e-6 {
        return "0".to_owned();
    }
    if step < 1e-5 || magnitude >= 1e7 {
        let digits = (value.abs().log10() - step.log10()).round().max(0.0) as usize + 1;
        return number::scientific(value, digits.min(8));
    }
    // A step of 2.5 times a power of ten needs one decimal more than its power.
    let decimals = (0..7)
        .find(|decimals| {
            let scaled = step * 10f64.powi(*decimals);
            (scaled - scaled.round()).abs() < 1e-6 * scaled
        })
        .unwrap_or(7);
    number::fixed(value, decimals as usize)
}

fn logarithmic_ticks(low: f64, high: f64) -> Vec<Tick> {
    let decades = (high / low).log10();
    let factors: &[f64] = match decades {
        wide if wide > 3.0 => &[1.0],
        middle if middle > 1.7 => &[1.0, 3.0],
        narrow if narrow > 0.7 => &[1.0, 2.0, 5.0],
        _ => &[1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0],
    };
    let from = low.log10().floor() as i32;
    let to = high.log10().ceil() as i32;
    let every = ((to - from) / 8 + 1).max(1) as usize;
    (from..=to)
        .step_by(every)
        .flat_map(|power| factors.iter().map(move |factor| (*factor, power)))
        .map(|(factor, power)| (factor * 10f64.powi(power), factor, power))
        .filter(|(value, ..)| (low * (1.0 - 1e-9)..=high * (1.0 + 1e-9)).contains(value))
        .map(|(value, factor, power)| Tick {
            value,
            // Two digits tell all factors apart; whole ones need but one.
            label: match power {
                -4..7 => number::fixed(value, decimals(factor, power)),
                _ => number::scientific(value, 1),
            },
        })
        .collect()
}

/// Decimals that `factor` times ten to the `power` needs.
fn decimals(factor: f64, power: i32) -> usize {
    let of_factor = i32::from(factor.fract() != 0.0);
    (of_factor - power).max(0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|tick| tick.label.as_str()).collect()
    }

    #[test]
    fn steps_are_round() {
        assert_eq!(nice_step(0.9), 1.0);
        assert_eq!(nice_step(1.1), 2.0);
        assert_eq!(nice_step(2.2), 2.5);
        assert_eq!(nice_step(30.0), 50.0);
        assert!((nice_step(0.006) - 0.01).abs() < 1e-12);
        assert_eq!(nice_step(f64::NAN), 1.0);
    }

    #[test]
    fn rounded_axis_covers_its_values_with_round_ticks() {
        let axis = Axis::rounded([0.741, 0.829, f64::NAN, 1.0]);
        assert_eq!(labels(&axis), ["0.7", "0.8", "0.9", "1.0"]);
        assert!((axis.low - 0.7).abs() < 1e-12 && (axis.high - 1.0).abs() < 1e-12);
        assert_eq!(labels(&Axis::rounded([0.0, 100.0])), ["0", "20", "40", "60", "80", "100"]);
        assert_eq!(labels(&Axis::rounded([-3.0, 2.0])), ["−3", "−2", "−1", "0", "1", "2"]);
    }

    #[test]
    fn tight_axis_keeps_its_ends() {
        let axis = Axis::tight([0.0, 128.0]);
        assert_eq!((axis.low, axis.high), (0.0, 128.0));
        assert_eq!(labels(&axis), ["0", "50", "100"]);
    }

    #[test]
    fn shares_stay_between_nothing_and_all() {
        for values in [[0.0, 1.0], [1.0, 1.0], [0.98, 1.0], [0.0, 0.01], [0.0, 0.0]] {
            let axis = Axis::share(values);
            assert!(axis.low >= 0.0 && axis.high <= 1.0 + 1e-9, "{axis:?}");
            assert!(values.iter().all(|value| axis.position(*value).is_some()));
        }
    }

    #[test]
    fn degenerate_ranges_are_opened() {
        for value in [0.0, 5.0, -2.0, 1e-300, 1e140, 1e16] {
            for axis in [Axis::rounded([value; 2]), Axis::tight([value; 2])] {
                assert!(axis.low < axis.high, "{axis:?}");
                assert!(axis.position(value).is_some(), "{axis:?}");
                assert!((2..=12).contains(&axis.ticks.len()), "{axis:?}");
            }
        }
        let empty = Axis::rounded([f64::NAN, f64::INFINITY]);
        assert_eq!((empty.low, empty.high), (0.0, 1.0));
    }

    #[test]
    fn logarithmic_axis_has_ticks_and_leaves_out_what_it_cannot_show() {
        let axis = Axis::logarithmic([512.0, 8_192.0], 1.25);
        assert_eq!(labels(&axis), ["500", "1,000", "2,000", "5,000", "10,000"]);
        assert!((axis.position(1e4).unwrap_or(0.0) - 0.9926).abs() < 1e-3);
        assert_eq!(axis.position(0.0), None);
        assert_eq!(axis.position(-1.0), None);
        assert_eq!(axis.position(f64::NAN), None);
        let narrow = Axis::logarithmic([1.0, 2.0], 1.0);
        assert_eq!(labels(&narrow), ["1", "1.2", "1.5", "2"]);
        let wide = Axis::logarithmic([1e-30, 1.0], 1.0);
        assert_eq!(wide.position(1e-30), None);
        assert!(wide.ticks.len() >= 3);
    }

    #[test]
    fn powers_of_two_are_labelled() {
        assert_eq!(labels(&Axis::powers_of_two([1.0, 64.0])), ["1", "2", "4", "8", "16", "32", "64"]);
        let wide = Axis::powers_of_two([1.0, 65_536.0]);
        assert_eq!(labels(&wide), ["1", "8", "64", "512", "4,096", "32,768"]);
        assert!((wide.position(256.0).unwrap() - 0.5).abs() < 1e-12);
        assert_eq!(labels(&Axis::powers_of_two([8.0])), ["4", "8", "16"]);
    }
}
