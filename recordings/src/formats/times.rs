//! Columns of times of tables: which they are, and the sample rate that they give.

/// First words of titles of times; the second group names signals, too.
const NAMES: [&str; 9] = ["time", "times", "timestamp", "timestamps", "elapsed", "seconds", "second", "secs", "sec"];
const SHORT_NAMES: [&str; 4] = ["t", "s", "ms", "us"];
/// Seconds of units, and their names.
const UNITS: [(f64, &[&str]); 6] = [
    (1.0, &["s", "sec", "secs", "second", "seconds"]),
    (1e-3, &["ms", "msec", "millisecond", "milliseconds"]),
    (1e-6, &["us", "usec", "microseconds"]),
    (1e-9, &["ns", "nanoseconds"]),
    (60.0, &["min", "minutes"]),
    (3600.0, &["h"]),
];
/// Part of the usual step that a step may differ by.
const MOST_JITTER: f64 = 0.5;
/// Part of the time since the first row that a row may be from its place at the rate of the first rows.
const MOST_DRIFT: f64 = 5e-3;
/// Part of a step that those of an axis differ by, and rounding of its largest value.
const AXIS_JITTER: f64 = 1e-3;
const ROUNDING: f64 = 1e-6;
/// Rows that are needed to see that values rise steadily.
const AXIS_ROWS: usize = 8;

/// Title of a column of times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct TimeTitle {
    /// Seconds of its unit; none if it could be any, as of a timestamp.
    pub(super) unit: Option<f64>,
    /// Whether signals have such titles, too.
    pub(super) is_ambiguous: bool,
}

impl TimeTitle {
    /// What a title says; none if it is not one of times.
    pub(super) fn of(title: &str) -> Option<Self> {
        let title = title.to_lowercase().replace(['µ', 'μ'], "u");
        let words: Vec<&str> =
            title.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let (first, last) = (*words.first()?, *words.last()?);
        let is_ambiguous = SHORT_NAMES.contains(&first) && words.len() == 1;
        if !NAMES.contains(&first) && !SHORT_NAMES.contains(&first) {
            return None;
        }
        let unit = unit_of(last).or_else(|| (!first.starts_with("timestamp")).then_some(1.0));
        Some(Self { unit, is_ambiguous })
    }
}

/// Seconds of a unit, with or without brackets.
pub(super) fn unit_of(text: &str) -> Option<f64> {
    let text = text.to_lowercase().replace(['µ', 'μ'], "u");
    let text = text.trim_matches(|letter: char| !letter.is_alphanumeric());
    UNITS.iter().find(|(_, names)| names.contains(&text)).map(|(seconds, _)| *seconds)
}

/// A quotient of decimals without the digits that their rounding to binary makes.
pub(super) fn without_rounding(value: f64) -> f64 {
    format!("{value:.11e}").parse().unwrap_or(value)
}

/// The step of values that rise by equal steps, as times or numbers of rows do.
pub(super) fn steady_step(values: &[f64]) -> Option<f64> {
    let [first, .., last] = values else { return None };
    let step = (last - first) / (values.len() - 1) as f64;
    let tolerance = AXIS_JITTER * step + ROUNDING * first.abs().max(last.abs());
    let is_steady = values.windows(2).all(|pair| pair[1] > pair[0] && (pair[1] - pair[0] - step).abs() <= tolerance);
    (values.len() >= AXIS_ROWS && step > 0.0 && is_steady).then_some(step)
}

/// Times of rows, which have to rise by nearly equal steps.
#[derive(Debug, Clone)]
pub(super) struct Times {
    name: String,
    /// Seconds of their unit.
    unit: f64,
    /// The usual step; of steps that vary the median.
    step: f64,
    /// The mean step of the first rows.
    mean: f64,
    first: f64,
    last: f64,
    /// Rows so far.
    rows: u64,
}

impl Times {
    /// The times of the first rows of a column.
    ///
    /// # Errors
    /// The reason why they do not give a rate.
    pub(super) fn of(name: &str, values: &[f64], unit: f64) -> Result<Self, String> {
        let mut steps: Vec<f64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let middle = steps.len() / 2;
        let step = if steps.is_empty() { 0.0 } else { *steps.select_nth_unstable_by(middle, f64::total_cmp).1 };
        let first = values.first().copied().unwrap_or(f64::NAN);
        let mut times = Self { name: name.to_owned(), unit, step, mean: f64::NAN, first, last: first, rows: 1 };
        values.iter().skip(1).try_for_each(|value| times.push(*value))?;
        times.mean = (times.last - first) / (times.rows - 1) as f64;
        (0..).zip(values).try_for_each(|(row, value)| times.ensure_rate(row, *value))?;
        Ok(times)
    }

    /// Adds the time of the next row.
    ///
    /// # Errors
    /// If it is not about a step behind the last, or not about where the rate of the first rows has it.
    pub(super) fn push(&mut self, value: f64) -> Result<(), String> {
        let step = value - self.last;
        // Whatever is not a number is no step, either.
        if !((step - self.step).abs() <= MOST_JITTER * self.step && step > 0.0) {
            let (row, last, usual) = (self.rows, self.last, without_rounding(self.step));
            return Err(self.uneven(&format!(
                "from row {row} to {} they go from {last} to {value}, elsewhere by {usual}",
                row + 1
            )));
        }
        self.ensure_rate(self.rows, value)?;
        (self.last, self.rows) = (value, self.rows + 1);
        Ok(())
    }

    /// Checks that steps that are each within their bounds have not added up to another rate.
    fn ensure_rate(&self, row: u64, value: f64) -> Result<(), String> {
        let since = row as f64 * self.mean;
        if (value - self.first - since).abs() > MOST_JITTER * self.step + MOST_DRIFT * since {
            let (place, mean) = (without_rounding(self.first + since), without_rounding(self.mean));
            return Err(
                self.uneven(&format!("row {} is at {value}, and would be at {place} by steps of {mean}", row + 1))
            );
        }
        Ok(())
    }

    fn uneven(&self, reason: &str) -> String {
        format!("its times `{}` are not evenly spaced: {reason}; --rate HZ reads the rows as evenly spaced", self.name)
    }

    /// Rows per second so far.
    pub(super) fn rate(&self) -> Option<f64> {
        let rate = (self.rows - 1) as f64 / ((self.last - self.first) * self.unit);
        (rate.is_finite() && rate > 0.0).then_some(without_rounding(rate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_of_times_have_units() {
        let unit = |title| TimeTitle::of(title).map(|title| title.unit);
        for title in
            ["time", "Time (s)", "Time(s)", "t [s]", "time_sec", "Elapsed (s)", "# time", "seconds", "TIME", "s"]
        {
            assert_eq!(unit(title), Some(Some(1.0)), "{title}");
        }
        assert_eq!(unit("time_ms"), Some(Some(1e-3)));
        assert_eq!(unit("Time (µs)"), Some(Some(1e-6)));
        assert_eq!(unit("timestamp"), Some(None));
        assert_eq!(unit("timestamp_ns"), Some(Some(1e-9)));
        for title in ["x", "temperature", "speed", "t1", "sensor", ""] {
            assert_eq!(unit(title), None, "{title}");
        }
        assert!(TimeTitle::of("t").unwrap().is_ambiguous && !TimeTitle::of("t (s)").unwrap().is_ambiguous);
    }

    #[test]
    fn times_with_jitter_give_a_rate_and_irregular_ones_none() {
        let regular: Vec<f64> = (0..1000).map(|row| f64::from(row) / 100.0).collect();
        assert!((Times::of("t", &regular, 1.0).unwrap().rate().unwrap() - 100.0).abs() < 1e-12);
        let rounded: Vec<f64> = (0..1000).map(|row| (f64::from(row) / 44.1 * 1000.0).round()).collect();
        assert!((Times::of("t", &rounded, 1e-3).unwrap().rate().unwrap() - 44.1).abs() < 1e-2);
        let gap = |place: usize, by: f64| {
            let mut times = regular.clone();
            times[place..].iter_mut().for_each(|time| *time += by);
            times
        };
        let seconds: Vec<f64> = regular.iter().map(|time| time.floor()).collect();
        for times in [gap(500, 60.0), gap(1, -0.01), gap(999, -5.0), gap(3, f64::NAN), seconds] {
            let message = Times::of("t", &times, 1.0).unwrap_err();
            assert!(message.contains("are not evenly spaced"), "{message}");
        }
        assert_eq!(Times::of("t", &[5.0], 1.0).unwrap().rate(), None);
        let mut times = Times::of("t", &regular, 1.0).unwrap();
        assert!(times.push(10.0).is_ok() && times.push(11.0).is_err());
    }

    #[test]
    fn steps_that_add_up_to_another_rate_are_refused() {
        let regular: Vec<f64> = (0..1000).map(|row| f64::from(row) / 100.0).collect();
        // Each step is within half a step of the usual one.
        let slower =
            |from: u32| (0..1000).map(move |row: u32| f64::from(row) * 0.01 + f64::from(row.max(from) - from) * 0.0045);
        let message = Times::of("t", &slower(500).collect::<Vec<_>>(), 1.0).unwrap_err();
        assert!(message.contains("are not evenly spaced: row"), "{message}");
        let mut times = Times::of("t", &regular, 1.0).unwrap();
        let mut later = (1..1000).map(|row| 9.99 + f64::from(row) * 0.0145);
        assert!(later.any(|time| times.push(time).is_err()));
        // A clock that is wrong by fifty parts in a million from the first rows on.
        let mut times = Times::of("t", &regular, 1.0).unwrap();
        assert!((1..100_000).all(|row| times.push(9.99 + f64::from(row) * 0.010_000_5).is_ok()));
    }

    #[test]
    fn an_axis_rises_steadily() {
        let rows: Vec<f64> = (0..9).map(f64::from).collect();
        assert_eq!(steady_step(&rows), Some(1.0));
        assert_eq!(steady_step(&rows[..7]), None);
        assert_eq!(steady_step(&rows.iter().map(|row| row * row).collect::<Vec<_>>()), None);
        assert_eq!(steady_step(&rows.iter().map(|row| -row).collect::<Vec<_>>()), None);
    }
}
