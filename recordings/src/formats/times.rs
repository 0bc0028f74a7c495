//! Columns of times of tables: which they are, and the sample rate that they give.

use super::gaps::MOST_GAP;

/// First words of titles of times; the second group names signals, too.
const NAMES: [&str; 9] = ["time", "times", "timestamp", "timestamps", "elapsed", "seconds", "second", "secs", "sec"];
const SHORT_NAMES: [&str; 4] = ["t", "s", "ms", "us"];
/// Seconds of units, and their names.
const UNITS: [(f64, &[&str]); 7] = [
    (1.0, &["s", "sec", "secs", "second", "seconds"]),
    (1e-3, &["ms", "msec", "millisecond", "milliseconds"]),
    (1e-6, &["us", "usec", "microsecond", "microseconds"]),
    (1e-9, &["ns", "nsec", "nanosecond", "nanoseconds"]),
    (60.0, &["min", "mins", "minute", "minutes"]),
    (3600.0, &["h", "hr", "hrs", "hour", "hours"]),
    (86_400.0, &["d", "days"]),
];
/// Part of the usual step that a step may differ by.
const MOST_JITTER: f64 = 0.5;
/// Part of the time since the first row, or since a gap, that a row may be from its place at the rate of the first rows.
const MOST_DRIFT: f64 = 5e-3;
/// Part of the usual step that a gap may differ from a whole number of steps by.
const GAP_JITTER: f64 = 0.25;
/// Part of a step that those of an axis differ by, and rounding of its largest value.
const AXIS_JITTER: f64 = 1e-3;
const ROUNDING: f64 = 1e-6;
/// Rows that are needed to see that values rise steadily.
const AXIS_ROWS: usize = 8;

/// Seconds of the unit of times by their title, none if it could be any or is not known, and whether signals have such
/// titles, too. None if it is no title of times.
pub(super) fn time_title(title: &str) -> Option<(Option<f64>, bool)> {
    let title = title.to_lowercase();
    let (words, stated) = (words_of(title.split(['(', '[']).next()?), stated_unit(&title));
    let first = *words.first()?;
    let (is_name, is_short) = (NAMES.contains(&first), SHORT_NAMES.contains(&first));
    let is_whole = words.iter().all(|word| NAMES.contains(word) || *word == "t" || unit_of(word).is_some());
    let is_time = is_name && (is_whole || stated.is_ok()) || is_short && stated.is_ok();
    let is_ambiguous = !is_whole || stated.is_err() || is_short && words_of(&title).len() == 1;
    let default = (!first.starts_with("timestamp")).then_some(1.0);
    is_time.then_some((stated.map_or(None, |unit| unit.or(default)), is_ambiguous))
}

fn words_of(title: &str) -> Vec<&str> {
    title.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()).collect()
}

/// Seconds of the unit of times that a title states in brackets or words; an error if it is not known.
pub(super) fn stated_unit(title: &str) -> Result<Option<f64>, ()> {
    let parts: Vec<&str> = title.split(['(', ')', '[', ']']).collect();
    let in_brackets = parts.iter().skip(1).step_by(2).filter(|text| !words_of(text).is_empty());
    let is_bracketed = in_brackets.clone().next().is_some();
    // The first word may be a name, as that of a second sensor.
    let words = parts.iter().step_by(2).flat_map(|part| words_of(part)).skip(usize::from(is_bracketed));
    let found = in_brackets.copied().chain(words).find_map(unit_of);
    if found.is_none() && is_bracketed { Err(()) } else { Ok(found) }
}

/// Seconds of a unit of times by its name, with or without brackets, as in `ms`.
///
/// ```
/// assert_eq!(firefly_recordings::unit_of("(ms)"), Some(1e-3));
/// ```
pub fn unit_of(text: &str) -> Option<f64> {
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

/// Times of rows, which have to rise by nearly equal steps, or by about a whole number of them where rows are missing.
#[derive(Debug, Clone)]
pub(super) struct Times {
    pub(super) column: usize,
    /// Time of the column that others are relative to.
    pub(super) base: i64,
    name: String,
    /// Seconds of their unit.
    unit: f64,
    /// The usual step; of steps that vary the median.
    step: f64,
    /// The mean step of the first rows, without gaps.
    mean: f64,
    first: f64,
    last: f64,
    /// Rows so far, and those of them that are missing.
    pub(super) rows: u64,
    missing: u64,
    /// Time and number of the first row behind the last gap.
    since: (f64, u64),
    /// Gaps that were not taken: the rows that they are before, and those missing.
    pub(super) gaps: Vec<(u64, u64)>,
}

impl Times {
    /// The steps of the first rows of a column, of which none has been added yet.
    ///
    /// # Errors
    /// If most of them differ.
    pub(super) fn of(column: usize, name: &str, values: &[f64], unit: f64) -> Result<Self, String> {
        let mut steps: Vec<f64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let (count, middle) = (steps.len(), steps.len() / 2);
        let step = if steps.is_empty() { 0.0 } else { *steps.select_nth_unstable_by(middle, f64::total_cmp).1 };
        steps.retain(|other| is_usual(*other, step));
        let mean = steps.iter().sum::<f64>() / steps.len() as f64;
        let first = values.first().copied().unwrap_or(f64::NAN);
        let (name, since, gaps) = (name.to_owned(), (first, 0), Vec::new());
        let (base, rows, missing) = (0, 0, 0);
        let times = Self { column, base, name, unit, step, mean, first, last: first, rows, missing, since, gaps };
        if 2 * steps.len() < count { Err(times.uneven("most of their steps differ")) } else { Ok(times) }
    }

    /// Adds the time of the next row, and the gap before it.
    ///
    /// # Errors
    /// If it is not about a step, or a whole number of steps, behind the last, or not about where the rate of the first
    /// rows has it.
    pub(super) fn push(&mut self, value: f64) -> Result<(), String> {
        if self.rows == 0 && value == self.first {
            self.rows = 1;
            return Ok(());
        }
        let (step, row) = (value - self.last, self.rows - self.missing);
        // Whatever is not a number is no step, either.
        if is_usual(step, self.step) {
            // Steps that are each within their bounds may add up to another rate.
            let since = (self.rows - self.since.1) as f64 * self.mean;
            let place = self.since.0 + since;
            if (value - place).abs() > MOST_JITTER * self.step + MOST_DRIFT * since {
                let (row, place, mean) = (row + 1, without_rounding(place), without_rounding(self.mean));
                return Err(
                    self.uneven(&format!("row {row} is at {value}, and would be at {place} by steps of {mean}"))
                );
            }
        } else {
            let whole = (step / self.mean).round();
            let error = (step - whole * self.mean).abs();
            if !((2.0..=MOST_GAP).contains(&whole) && error <= GAP_JITTER * self.step + MOST_DRIFT * step) {
                let (last, next, usual) = (self.last, row + 1, without_rounding(self.step));
                let reason = format!("from row {row} to {next} they go from {last} to {value}, elsewhere by {usual}");
                return Err(self.uneven(&reason));
            }
            // The row keeps its time, whatever the steps before the gap have added up to.
            let missing = ((value - self.first) / self.mean).round() - self.rows as f64;
            let missing = missing.clamp(1.0, MOST_GAP) as u64;
            self.gaps.push((row, missing));
            (self.missing, self.rows) = (self.missing + missing, self.rows + missing);
            self.since = (value, self.rows);
        }
        (self.last, self.rows) = (value, self.rows + 1);
        Ok(())
    }

    fn uneven(&self, reason: &str) -> String {
        format!("its times `{}` are not evenly spaced: {reason}; --rate HZ reads the rows as evenly spaced", self.name)
    }

    /// Rows per second, by the first rows.
    pub(super) fn rate(&self) -> Option<f64> {
        let rate = 1.0 / (self.mean * self.unit);
        (rate.is_finite() && rate > 0.0).then_some(without_rounding(rate))
    }

    /// Note on the rows that are missing, once.
    pub(super) fn note(&mut self) -> Option<String> {
        let (missing, name) = (std::mem::take(&mut self.missing), &self.name);
        let text = format!("its times `{name}` have gaps of {missing} rows, which are NaN; --rate HZ closes them");
        (missing > 0).then_some(text)
    }
}

/// Whether a step differs from the usual one by its jitter only.
fn is_usual(step: f64, usual: f64) -> bool {
    (step - usual).abs() <= MOST_JITTER * usual && step > 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_of_times_have_units() {
        let unit = |title| time_title(title).map(|(unit, _)| unit);
        for title in
            ["time", "Time (s)", "Time(s)", "t [s]", "time_sec", "Elapsed (s)", "# time", "seconds", "TIME", "s"]
        {
            assert_eq!(unit(title), Some(Some(1.0)), "{title}");
        }
        assert_eq!(unit("time_ms"), Some(Some(1e-3)));
        assert_eq!(unit("Time (µs)"), Some(Some(1e-6)));
        assert_eq!(unit("timestamp"), Some(None));
        assert_eq!(unit("timestamp_ns"), Some(Some(1e-9)));
        for (title, seconds) in [
            ("Time (ms) since start", 1e-3),
            ("Elapsed time, ms (relative)", 1e-3),
            ("Time (hours)", 3600.0),
            ("Time (hr)", 3600.0),
            ("Time/h", 3600.0),
            ("Time [days]", 86_400.0),
            ("Time (mins)", 60.0),
            ("time_µs", 1e-6),
            ("seconds_elapsed", 1.0),
        ] {
            assert_eq!(unit(title), Some(Some(seconds)), "{title}");
        }
        // Units that are not those of times.
        for title in ["Time (weeks)", "Time (UTC)", "Second (g)"] {
            assert_eq!(time_title(title), Some((None, true)), "{title}");
        }
        for title in ["x", "temperature", "speed", "t1", "sensor", "", "T (°C)", "s (m)"] {
            assert_eq!(unit(title), None, "{title}");
        }
        for title in ["Second sensor (g)", "Sec. voltage (V)", "Time-averaged velocity (m/s)"] {
            assert_eq!(unit(title), None, "{title}");
        }
        assert!(time_title("Second sensor").unwrap().1 && time_title("s").unwrap().1);
        assert!(time_title("t").unwrap().1 && !time_title("t (s)").unwrap().1);
    }

    /// Gaps of times, the first of which decide what is a step.
    fn gaps(values: &[f64]) -> Result<Vec<(u64, u64)>, String> {
        let mut times = Times::of(0, "t", &values[..values.len().min(1000)], 1.0)?;
        values.iter().try_for_each(|value| times.push(*value)).map(|()| times.gaps)
    }

    fn regular() -> Vec<f64> {
        (0..1000).map(|row| f64::from(row) / 100.0).collect()
    }

    /// Times of which those from a place on are later.
    fn later(place: usize, by: f64) -> Vec<f64> {
        let mut times = regular();
        times[place..].iter_mut().for_each(|time| *time += by);
        times
    }

    #[test]
    fn times_with_jitter_give_a_rate_and_irregular_ones_none() {
        let rate = |values: &[f64], unit| Times::of(0, "t", values, unit).unwrap().rate();
        assert!((rate(&regular(), 1.0).unwrap() - 100.0).abs() < 1e-12);
        let rounded: Vec<f64> = (0..1000).map(|row| (f64::from(row) / 44.1 * 1000.0).round()).collect();
        assert!((rate(&rounded, 1e-3).unwrap() - 44.1).abs() < 1e-2);
        let seconds: Vec<f64> = regular().iter().map(|time| time.floor()).collect();
        // A step and a half, or two and a half, is no whole number of them.
        let uneven = [later(3, 0.006), later(500, 0.015)];
        let others = [later(1, -0.01), later(999, -5.0), later(3, f64::NAN), later(7, 1e8), seconds];
        for times in uneven.into_iter().chain(others) {
            let message = gaps(&times).unwrap_err();
            assert!(message.contains("are not evenly spaced"), "{message}");
        }
        assert_eq!(rate(&[5.0], 1.0), None);
        let doubled: Vec<f64> = (0..40).map(|row: i32| f64::from(row * (row + 1) / 2)).collect();
        assert!(gaps(&doubled).is_err());
    }

    #[test]
    fn whole_steps_are_gaps_behind_which_rows_have_their_times() {
        assert_eq!(gaps(&later(500, 60.0)).unwrap(), [(500, 6000)]);
        assert_eq!(gaps(&later(500, 0.0105)).unwrap(), [(500, 1)]);
        // Steps of 0.01001 add up to a whole one before the gap, which has one row more for it.
        let slow = |row: i32| 9.99 + f64::from(row) * 0.010_01 + if row > 1000 { 1.0 } else { 0.0 };
        let mut times = Times::of(0, "t", &regular(), 1.0).unwrap();
        let mut place = 0u64;
        for time in regular().into_iter().chain((1..1500).map(slow)) {
            times.push(time).unwrap();
            place += times.gaps.pop().map_or(0, |(_, missing)| missing);
            assert!((time - place as f64 * 0.01).abs() < 0.016, "{time}");
            place += 1;
        }
        assert_eq!(times.missing, 101);
        let note = times.note().unwrap();
        assert!(note.contains("gaps of 101 rows, which are NaN"), "{note}");
        assert_eq!(Times::of(0, "t", &regular(), 1.0).unwrap().note(), None);
        // The rate is that of the rows without the gap.
        assert!((Times::of(0, "t", &later(500, 60.004), 1.0).unwrap().rate().unwrap() - 100.0).abs() < 1e-9);
    }

    #[test]
    fn steps_that_add_up_to_another_rate_are_refused() {
        // Each step is within half a step of the usual one.
        let slower =
            |from: u32| (0..1000).map(move |row: u32| f64::from(row) * 0.01 + f64::from(row.max(from) - from) * 0.0045);
        let message = gaps(&slower(500).collect::<Vec<_>>()).unwrap_err();
        assert!(message.contains("are not evenly spaced: row"), "{message}");
        let with = |step: f64, rows: i32| {
            let more = (1..rows).map(|row| 9.99 + f64::from(row) * step);
            gaps(&regular().into_iter().chain(more).collect::<Vec<_>>())
        };
        assert!(with(0.0145, 1000).is_err());
        // A clock that is wrong by fifty parts in a million from the first rows on.
        assert_eq!(with(0.010_000_5, 100_000).unwrap(), []);
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
