//! Regret of the picker: how much longer its choices take than the fastest strategy.

use firefly_app::number::duration;
use firefly_app::table::TextTable;

use super::terminal::Columns;
use crate::harness::{CaseRecord, Percentiles};
use crate::suites::picker::AUTO;

/// Regret of a choice that is as good as the best.
const LOW_REGRET: f64 = 0.03;

struct Choice<'a> {
    case: &'a CaseRecord,
    /// Every strategy that competes, with its times.
    times: Vec<(&'a str, Percentiles)>,
    /// Excess of the chosen strategy's time over the fastest one's, relative to the latter.
    regret: f64,
}

impl<'a> Choice<'a> {
    /// The choice among the cases of a problem; none if the chosen strategy was not measured.
    fn of(cases: &'a [CaseRecord]) -> Option<Self> {
        let case = cases.iter().find(|case| case.strategy == AUTO)?;
        let chosen = case.measured()?.selected.as_ref()?.same_as.as_deref()?;
        let others = cases.iter().filter(|case| case.competes && case.strategy != AUTO);
        let times: Vec<(&str, Percentiles)> =
            others.filter_map(|case| Some((case.strategy.as_str(), case.measured()?.time_ns))).collect();
        let (_, own) = times.iter().find(|(strategy, _)| *strategy == chosen)?;
        let fastest = times.iter().map(|(_, time)| time.median).fold(f64::INFINITY, f64::min);
        let regret = own.median / fastest - 1.0;
        Some(Self { case, times, regret })
    }

    fn parameter(&self, name: &str) -> String {
        self.case.problem.shown(name)
    }
}

fn mean_and_worst(choices: &[Choice<'_>]) -> [f64; 2] {
    let regrets = || choices.iter().map(|choice| 100.0 * choice.regret);
    [regrets().sum::<f64>() / choices.len() as f64, regrets().fold(0.0, f64::max)]
}

/// Choices over a grid of problems.
pub struct Choices<'a>(Vec<Choice<'a>>);

impl<'a> Choices<'a> {
    /// The choices that a report of the picker has.
    pub fn of(cases: &'a [CaseRecord]) -> Self {
        let problems = cases.chunk_by(|a, b| a.problem == b.problem);
        let by_threads = problems.flat_map(|cases| cases.chunk_by(|a, b| a.threads == b.threads));
        Self(by_threads.filter_map(Choice::of).collect())
    }

    /// Whether nothing was chosen.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Table with a row per length and number of segments: the regret of choices.
    pub fn overview(&self) -> TextTable {
        Columns::<[Choice<'_>]>::new()
            .number("n_fft", |group| group[0].parameter("n_fft"))
            .number("segments", |group| group[0].parameter("segments"))
            .number("cases", |group| group.len().to_string())
            .number("mean regret, %", |group| format!("{:.1}", mean_and_worst(group)[0]))
            .number("worst regret, %", |group| format!("{:.1}", mean_and_worst(group)[1]))
            .table(self.0.chunk_by(|a, b| ["n_fft", "segments"].iter().all(|of| a.parameter(of) == b.parameter(of))))
    }

    /// Table with a row per choice, or else per choice whose regret is above 3 %; none without rows.
    pub fn table(&self, shows_every: bool) -> Option<TextTable> {
        let rows: Vec<&Choice<'_>> = self.0.iter().filter(|choice| shows_every || choice.regret > LOW_REGRET).collect();
        let (first, _) = rows.split_first()?;
        let mut columns = Columns::<&Choice<'_>>::new()
            .number("n_fft", |choice| choice.parameter("n_fft"))
            .number("segments", |choice| choice.parameter("segments"))
            .grouped()
            .number("batch", |choice| choice.parameter("batch"))
            .number("k", |choice| choice.parameter("k"))
            .word("chosen", |choice| {
                let selected = choice.case.measured().and_then(|measured| measured.selected.as_ref()?.same_as.clone());
                selected.unwrap_or_default()
            });
        for &(strategy, _) in &first.times {
            columns = columns.number(strategy, move |choice| {
                let time = choice.times.iter().find(|(other, _)| *other == strategy);
                time.map(|(_, time)| duration(time.median)).unwrap_or_default()
            });
        }
        Some(columns.number("regret, %", |choice| format!("{:.1}", 100.0 * choice.regret)).table(&rows))
    }

    /// Mean and worst regret as a line of text.
    pub fn summary(&self) -> String {
        let [mean, worst] = mean_and_worst(&self.0);
        format!("regret of {} choices {mean:.1} % on average, {worst:.1} % at worst", self.0.len())
    }
}
