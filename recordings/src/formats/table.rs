//! Columns of tables: which of them are channels, which times or numbers of rows.

use super::chosen::number_of;
use super::times::{Times, stated_unit, steady_step, time_title, unit_of, without_rounding};
use super::{Format, ReadOptions, RecordingLayout};
use crate::error::{RecordingProblem, Result};

/// Columns of a table by number, titles and units; those without are empty.
pub(super) struct TableColumns<'a> {
    pub(super) format: Format,
    pub(super) titles: &'a [String],
    pub(super) units: &'a [String],
    /// Seconds of the unit of times that the caller gives, instead of the column's own.
    pub(super) given_unit: Option<f64>,
    /// Columns of numbers.
    pub(super) numeric: &'a [usize],
    /// Columns of numbers that are known not to be channels.
    pub(super) left_out: &'a [usize],
}

/// A column of times, and the seconds of its unit if they are known.
type TimeColumn = (usize, Option<f64>);

impl TableColumns<'_> {
    /// Columns that are channels, and the one that gives the sample rate, by the values of the first rows; the rate and
    /// notes on omitted columns are added to the layout.
    ///
    /// # Errors
    /// For times that are not evenly spaced, unless the caller gives the rate, and if no channel is left.
    pub(super) fn axis(
        &self,
        values: impl Fn(usize) -> Vec<f64>,
        options: &ReadOptions,
        layout: &mut RecordingLayout,
    ) -> Result<(Vec<usize>, Option<Times>)> {
        let mut channels: Vec<usize> = self.numeric.to_vec();
        let named = options.time_column.as_ref().map(|name| self.named_time(name)).transpose()?;
        let time = self.time(named, &values, options, &mut channels, layout);
        channels.retain(|column| !self.left_out.contains(column) && time.is_none_or(|(time, _)| time != *column));
        if channels.is_empty() {
            let found = self.numeric.iter().map(|column| self.name(*column)).collect::<Vec<_>>().join(", ");
            return Err(self
                .format
                .problem(format!("its only columns of numbers are times or numbers of rows: {found}")));
        }
        let mut times = None;
        if let Some((column, unit)) = time {
            let name = self.name(column);
            match (options.rate.is_some() || options.ignores_times, unit) {
                (true, _) => layout.remark(format!("column {name} holds times and is left out")),
                (false, None) => layout.remark(format!("column {name} holds times of an unknown unit: give --units")),
                (false, Some(unit)) => {
                    if self.given_unit.is_none() && stated_unit(&self.described(column)) == Ok(None) {
                        layout.remark(format!("times of column {name} are taken for seconds; --units says otherwise"));
                    }
                    let found = Times::of(column, self.title(column), &values(column), unit);
                    let found = found.map_err(|reason| self.format.problem(reason))?;
                    layout.rate = found.rate();
                    times = Some(found);
                }
            }
        } else if self.given_unit.is_some() {
            return Err(RecordingProblem::Option { option: "--units", kind: "columns of times that are numbers" });
        }
        Ok((channels, times))
    }

    /// The column that the caller names.
    fn named_time(&self, name: &str) -> Result<TimeColumn> {
        let count = self.titles.len().max(self.numeric.iter().max().map_or(0, |last| last + 1));
        let column = number_of(name, self.titles, count)?;
        if !self.numeric.contains(&column) {
            return Err(self.format.problem(format!("its column {} is not one of numbers", self.name(column))));
        }
        let stated = stated_unit(&self.described(column));
        Ok((column, self.given_unit.or(stated.map_or(None, |unit| unit.or(Some(1.0))))))
    }

    /// The column of times by name or title, or because it is the first and rises by equal steps. Columns that are neither
    /// this one nor channels are removed from `channels`.
    fn time(
        &self,
        named: Option<TimeColumn>,
        values: &impl Fn(usize) -> Vec<f64>,
        options: &ReadOptions,
        channels: &mut Vec<usize>,
        layout: &mut RecordingLayout,
    ) -> Option<TimeColumn> {
        let is_free = |column: &usize| {
            let title = self.title(*column);
            let is_wanted = !title.is_empty() && options.channels.iter().any(|name| name == title);
            !is_wanted && !self.left_out.contains(column) && named.is_none_or(|(named, _)| named != *column)
        };
        let mut found = named;
        let mut others = Vec::new();
        for &column in self.numeric.iter().filter(|column| is_free(column)) {
            let Some((unit, is_ambiguous)) = time_title(&self.described(column)) else { continue };
            // Titles of signals, too, and further columns of times need times below them; those may have fewer digits.
            if is_ambiguous || found.is_some() {
                let values = values(column);
                let is_next = |a: &f64, b: &f64| if is_ambiguous { a < b } else { a <= b };
                let rises = values.is_sorted_by(is_next) && (is_ambiguous || values.first() < values.last());
                if self.numeric.len() < 2 || !rises {
                    let reason = if rises { "is the only one of numbers" } else { "does not rise as times do" };
                    layout.remark(format!("column {} {reason}: it is a channel", self.name(column)));
                    continue;
                }
            }
            let unit = self.given_unit.or(unit);
            channels.retain(|channel| *channel != column);
            if named.is_none() && found.is_none_or(|(_, known)| known.is_none() && unit.is_some()) {
                others.extend(found.replace((column, unit)).map(|(column, _)| column));
            } else {
                others.push(column);
            }
        }
        for column in others {
            layout.remark(format!("column {} holds times, too, and is left out", self.name(column)));
        }
        if found.is_some() || options.ignores_times {
            return found;
        }
        let first = self.numeric.iter().find(|column| is_free(column)).copied();
        let first = first.filter(|column| *column == 0 && channels.len() > 1)?;
        let values = values(first);
        let step = steady_step(&values)?;
        let name = self.name(first);
        channels.retain(|channel| *channel != first);
        if step == 1.0 && values.iter().all(|value| value.fract() == 0.0) {
            layout.remark(format!("column {name} numbers the rows and is left out"));
            return None;
        }
        let unit = self.unit(first).or_else(|| self.title(first).is_empty().then_some(1.0));
        let taken = match unit {
            Some(_) => "is taken for times",
            None => "is left out; --time-column or --units takes it for times",
        };
        layout.remark(format!("column {name} rises by equal steps of {} and {taken}", without_rounding(step)));
        unit.map(|unit| (first, Some(unit)))
    }

    fn title(&self, column: usize) -> &str {
        self.titles.get(column).map_or("", String::as_str)
    }

    /// Title of a column, with its unit in brackets.
    fn described(&self, column: usize) -> String {
        format!("{} ({})", self.title(column), self.units.get(column).map_or("", String::as_str))
    }

    fn unit(&self, column: usize) -> Option<f64> {
        self.given_unit.or_else(|| unit_of(self.units.get(column)?))
    }

    /// Title of a column, or its number, for messages.
    pub(super) fn name(&self, column: usize) -> String {
        match self.title(column) {
            "" => column.to_string(),
            title => format!("`{title}`"),
        }
    }
}
