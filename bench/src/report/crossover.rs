//! Crossovers: the time of every strategy by problem size, and the fastest.

use firefly_app::table::{TableLayout, TextTable, wrapped};

use super::terminal::Columns;
use crate::harness::{CONTROL, COPY_BASELINE, CaseRecord, ParameterMap, Percentiles, distinct, grouped};
use firefly_app::number::{milliseconds, significant};

/// Times of strategies over a range of sizes.
#[derive(Debug, Clone, PartialEq)]
pub struct Crossover {
    /// The problem without its size, and with device and threads.
    pub common: ParameterMap,
    /// Names of the strategies, in the order of the report, with the instruction set where one is there on several.
    /// Strategies that make the same calls at every size are one.
    pub strategies: Vec<String>,
    /// Names of those that take no part in the search for the fastest, while others do.
    pub apart: Vec<String>,
    /// One row per size, the smallest first.
    pub rows: Vec<SizeRow>,
}

/// Times at one size.
#[derive(Debug, Clone, PartialEq)]
pub struct SizeRow {
    pub(crate) size: u64,
    /// Nanoseconds of each strategy; none where it was not measured.
    pub times: Vec<Option<Percentiles>>,
    /// Position of the fastest among the strategies.
    pub fastest: usize,
    /// Median time of the next strategy divided by that of the fastest; none where there is no other. A strategy that
    /// makes the calls of another is not counted as one.
    pub lead: Option<f64>,
    /// Whether the spread of the fastest (p10 – p90) is below that of all others.
    pub is_clear: bool,
}

/// Crossovers over the parameter `over`, for every combination of the other parameters that has at least two sizes, and
/// at one of them more than one strategy that competes. Strategies that do not compete have a column too, except copies
/// of the input and controls.
pub fn crossovers(cases: &[CaseRecord], over: &str) -> Vec<Crossover> {
    let has_column = |case: &&CaseRecord| case.strategy != COPY_BASELINE && !case.strategy.ends_with(CONTROL);
    let sized = cases.iter().filter(has_column).filter(|case| case.measured().is_some()).filter_map(|case| {
        let common = case.problem.without(&[over]).with("device", case.device.clone()).with("threads", case.threads);
        Some((common, (case.problem.count(over)?, case)))
    });
    grouped(sized).into_iter().filter_map(|(common, group)| crossover(common, group)).collect()
}

/// Key of a case's strategy: on another instruction set it is another one.
fn key(case: &CaseRecord) -> (&str, Option<&str>) {
    (&case.strategy, case.instruction_set.as_deref())
}

fn crossover(common: ParameterMap, mut group: Vec<(u64, &CaseRecord)>) -> Option<Crossover> {
    group.sort_by_key(|(size, _)| *size);
    let keys = distinct(group.iter().map(|(_, case)| key(case)));
    let sizes: Vec<&[(u64, &CaseRecord)]> = group.chunk_by(|a, b| a.0 == b.0).collect();
    let find = |at: usize, place: usize| sizes[at].iter().map(|(_, case)| *case).find(|case| key(case) == keys[place]);
    // The strategy whose calls a strategy makes at a size, if that one was measured there.
    let original = |at: usize, place: usize| {
        let case = find(at, place)?;
        let same_as = case.measured()?.selected.as_ref()?.same_as.as_ref()?;
        // Of a strategy whose instruction set is not known, any will do.
        let is_original = |other: &CaseRecord| {
            let same_set = case.instruction_set.is_none() || other.instruction_set == case.instruction_set;
            other.strategy == *same_as && same_set
        };
        let (_, other) = sizes[at].iter().find(|(_, other)| is_original(other))?;
        keys.iter().position(|known| *known == key(other))
    };
    // The one other whose calls a strategy makes at every size, which it is merged with.
    let merged = |place: usize| {
        let present = (0..sizes.len()).filter(|&at| find(at, place).is_some());
        let originals = distinct(present.map(|at| original(at, place)));
        if let [original] = originals[..] { original } else { None }
    };
    let all = 0..keys.len();
    let kept: Vec<usize> = all.clone().filter(|place| merged(*place).is_none()).collect();
    let competes = |at: usize, place: usize| find(at, place).is_some_and(|case| case.competes);
    let row = |at: usize| {
        let time = |place: &usize| find(at, *place)?.measured().map(|measured| measured.time_ns);
        let times: Vec<Option<Percentiles>> = kept.iter().map(time).collect();
        let any = kept.iter().any(|place| competes(at, *place));
        // The fastest is one of those that make calls of their own.
        let own = |column: &usize| original(at, kept[*column]).is_none() && (!any || competes(at, kept[*column]));
        let mut ranked: Vec<(usize, Percentiles)> =
            (0..times.len()).filter(own).filter_map(|place| Some((place, times[place]?))).collect();
        ranked.sort_by(|a, b| a.1.median.total_cmp(&b.1.median));
        let (fastest, time) = *ranked.first()?;
        let lead = ranked.get(1).map(|(_, next)| next.median / time.median);
        let is_clear = ranked[1..].iter().all(|(_, other)| other.p10 > time.p90);
        Some(SizeRow { size: sizes[at][0].0, times, fastest, lead, is_clear })
    };
    let rows: Vec<SizeRow> = (0..sizes.len()).filter_map(row).collect();
    let is_contest = rows.len() > 1 && rows.iter().any(|row| row.lead.is_some());
    let title = |&place: &usize| {
        let others = all.clone().filter(|other| merged(*other) == Some(place));
        let is_only = kept.iter().filter(|other| keys[**other].0 == keys[place].0).count() == 1;
        let named = |place: usize| match keys[place] {
            (strategy, Some(set)) if !is_only => format!("{strategy} {set}"),
            (strategy, _) => strategy.to_string(),
        };
        [place].into_iter().chain(others).map(named).collect::<Vec<_>>().join(" = ")
    };
    let ever_competes = |place: usize| (0..sizes.len()).any(|at| competes(at, place));
    let apart = kept.iter().filter(|place| !ever_competes(**place)).map(|place| keys[*place].0.to_string());
    let apart: Vec<String> = apart.collect();
    let apart = if apart.len() == kept.len() { Vec::new() } else { apart };
    is_contest.then(|| Crossover { common, strategies: kept.iter().map(title).collect(), apart, rows })
}

impl Crossover {
    /// Table with a row per size: milliseconds of every strategy, the fastest, and its lead.
    pub fn table(&self, over: &str) -> TextTable {
        let mut columns = Columns::<SizeRow>::new().number(over, |row| row.size.to_string());
        // Of many strategies, the last ones give way first.
        for (place, strategy) in self.strategies.iter().enumerate() {
            let time = move |row: &SizeRow| row.times[place].map(|time| milliseconds(time.median)).unwrap_or_default();
            columns = columns.optional(strategy, 2 + place as u8, time);
        }
        columns
            .word("fastest", |row| self.strategies[row.fastest].clone())
            .number("× next", |row| row.lead.map(|ratio| significant(ratio, 3)).unwrap_or_default())
            .optional_word("clear", 1, |row| if row.is_clear { "yes" } else { "no" }.into())
            .table(&self.rows)
    }
}

/// Crossovers as text, a table each.
pub fn render(crossovers: &[Crossover], over: &str, columns: &[&str], layout: TableLayout) -> String {
    let mut text = String::new();
    for crossover in crossovers {
        let shown: Vec<String> = columns
            .iter()
            .chain(&["device", "threads"])
            .filter(|name| crossover.common.get(name).is_some())
            .map(|name| format!("{name} {}", crossover.common.shown(name)))
            .collect();
        let title = format!("median milliseconds over {over}: {}", shown.join(", "));
        text += &format!("\n{}\n", wrapped(&title, layout.width).join("\n  "));
        text += &crossover.table(over).render_with_remark(layout);
        if !crossover.apart.is_empty() {
            let line = format!("without a part in the search for the fastest: {}", crossover.apart.join(", "));
            text += &format!("{}\n", wrapped(&line, layout.width).join("\n"));
        }
    }
    text
}

#[cfg(test)]
pub(crate) mod tests;
