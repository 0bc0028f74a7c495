//! Crossovers: the fastest strategy by problem size.
use firefly_app::table::{Align, TextTable};

use crate::harness::format::digits;
use crate::harness::outcome::CaseRecord;
use crate::harness::parameters::ParameterMap;

/// Successive sizes with the same fastest case.
#[derive(Debug, Clone, PartialEq)]
pub struct SizeRange {
    /// The smallest and the largest of the sizes.
    pub sizes: (u64, u64),
    /// The fastest strategy there, and its instruction set.
    pub fastest: String,
    /// The strategy that comes next at the smallest size; none where there is no other.
    pub next: Option<String>,
    /// Speed relative to the next by medians: the least and the greatest over the sizes.
    pub lead: Option<(f64, f64)>,
    /// Whether at every size the spread of the fastest (p10 – p90) is below that of all others.
    pub is_clear: bool,
}

/// Fastest strategies over a range of sizes.
#[derive(Debug, Clone, PartialEq)]
pub struct Crossover {
    /// The problem without its size, and with device and threads.
    pub common: ParameterMap,
    /// The ranges, smallest sizes first.
    pub ranges: Vec<SizeRange>,
}

/// The crossovers over the parameter `over`, for every combination of the others that has at least two sizes, and
/// more than one case at one of them, among cases that compete.
pub fn crossovers(cases: &[CaseRecord], over: &str) -> Vec<Crossover> {
    let mut groups: Vec<(ParameterMap, Vec<(u64, &CaseRecord)>)> = Vec::new();
    for case in cases.iter().filter(|case| case.measured().is_some() && case.competes) {
        let Some(size) = case.problem.count(over) else { continue };
        let common = case.problem.without(&[over]).with("device", case.device.clone()).with("threads", case.threads);
        match groups.iter_mut().find(|(other, _)| *other == common) {
            Some((_, group)) => group.push((size, case)),
            None => groups.push((common, vec![(size, case)])),
        }
    }
    let crossover = |(common, mut group): (ParameterMap, Vec<(u64, &CaseRecord)>)| {
        group.sort_by_key(|(size, _)| *size);
        let sizes: Vec<_> = group.chunk_by(|a, b| a.0 == b.0).filter_map(at_size).collect();
        let is_contest = sizes.len() > 1 && sizes.iter().any(|here| here.next.is_some());
        is_contest.then(|| Crossover { common, ranges: joined(sizes) })
    };
    groups.into_iter().filter_map(crossover).collect()
}

/// The fastest strategy at one size.
fn at_size(cases: &[(u64, &CaseRecord)]) -> Option<SizeRange> {
    let size = cases.first()?.0;
    let mut ranked: Vec<_> =
        cases.iter().filter_map(|(_, case)| Some((name(case), case.measured()?.time_ns))).collect();
    ranked.sort_by(|a, b| a.1.median.total_cmp(&b.1.median));
    let (fastest, time) = ranked.first()?;
    let next = ranked.get(1);
    let lead = next.map(|(_, other)| other.median / time.median);
    Some(SizeRange {
        sizes: (size, size),
        fastest: fastest.clone(),
        next: next.map(|(name, _)| name.clone()),
        lead: lead.map(|lead| (lead, lead)),
        is_clear: ranked[1..].iter().all(|(_, other)| other.p10 > time.p90),
    })
}

fn joined(sizes: Vec<SizeRange>) -> Vec<SizeRange> {
    let mut ranges: Vec<SizeRange> = Vec::new();
    for here in sizes {
        match ranges.last_mut().filter(|before| before.fastest == here.fastest) {
            Some(before) => {
                before.sizes.1 = here.sizes.1;
                before.is_clear &= here.is_clear;
                before.lead = before.lead.zip(here.lead).map(|(a, b)| (a.0.min(b.0), a.1.max(b.1)));
            }
            None => ranges.push(here),
        }
    }
    ranges
}

fn name(case: &CaseRecord) -> String {
    match &case.instruction_set {
        Some(set) => format!("{} {set}", case.strategy),
        None => case.strategy.clone(),
    }
}

/// Crossovers as text, a table each.
pub fn render(crossovers: &[Crossover], over: &str, columns: &[&str]) -> String {
    let mut text = String::new();
    for Crossover { common, ranges } in crossovers {
        let shown: Vec<String> = columns
            .iter()
            .chain(&["device", "threads"])
            .filter(|name| common.get(name).is_some())
            .map(|name| format!("{name} {}", common.shown(name)))
            .collect();
        text += &format!("\nfastest over {over}: {}\n", shown.join(", "));
        let mut table = TextTable::default()
            .column(over, Align::Right)
            .column("fastest", Align::Left)
            .column("× next", Align::Left)
            .column("next", Align::Left)
            .column("beyond the spread", Align::Left);
        for range in ranges {
            table.row(row(range));
        }
        text += &table.render();
    }
    text
}

/// A range's size, fastest strategy, lead, next strategy, and whether the lead is clear.
pub fn row(range: &SizeRange) -> [String; 5] {
    let (from, to) = range.sizes;
    [
        if from == to { from.to_string() } else { format!("{from} – {to}") },
        range.fastest.clone(),
        match range.lead {
            Some((low, high)) if low == high => digits(low),
            Some((low, high)) => format!("{} – {}", digits(low), digits(high)),
            None => String::new(),
        },
        range.next.clone().unwrap_or_default(),
        if range.is_clear { "yes" } else { "no" }.to_string(),
    ]
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::harness::outcome::{CaseOutcome, Measured};
    use crate::harness::problem::WorkSize;
    use crate::harness::verification::Verification;

    /// A case of `batch` rows that took about so many nanoseconds.
    pub(crate) fn case(strategy: &str, batch: u64, nanoseconds: [u64; 3]) -> CaseRecord {
        let verification = Verification { rows: 1, tolerance: 1e-6, error: 0.0, ranking: None };
        let size = WorkSize { rows: batch as usize, useful_bytes: 8 };
        let measured = Measured::new(size, verification, 1, nanoseconds.to_vec()).unwrap();
        CaseRecord {
            problem: ParameterMap::default().with("n_fft", 64).with("batch", batch),
            strategy: strategy.into(),
            device: "cpu".into(),
            instruction_set: None,
            threads: 1,
            competes: strategy != "copy",
            outcome: CaseOutcome::Measured(Box::new(measured)),
        }
    }

    #[test]
    fn stretches_begin_where_the_fastest_changes() {
        let cases = [
            case("a", 1, [10, 10, 10]),
            case("b", 1, [20, 20, 20]),
            case("a", 8, [30, 30, 30]),
            case("b", 8, [33, 33, 33]),
            case("a", 64, [500, 500, 500]),
            case("b", 64, [400, 600, 100]),
            case("copy", 64, [1, 1, 1]),
        ];
        let found = crossovers(&cases, "batch");
        assert_eq!(found.len(), 1);
        let [first, second] = &found[0].ranges[..] else { panic!("{found:?}") };
        assert_eq!((first.sizes, first.fastest.as_str(), first.is_clear), ((1, 8), "a", true));
        assert_eq!(first.lead.map(|(low, high)| (digits(low), digits(high))), Some(("1.10".into(), "2.00".into())));
        assert_eq!((second.sizes, second.fastest.as_str(), second.is_clear), ((64, 64), "b", false));
        let text = render(&found, "batch", &["n_fft"]);
        assert!(text.contains("fastest over batch: n_fft 64, device cpu, threads 1"), "{text}");
        assert!(text.contains("1 – 8  a        1.10 – 2.00  b     yes"), "{text}");
    }

    #[test]
    fn one_size_or_one_strategy_is_no_crossover() {
        assert_eq!(crossovers(&[case("a", 1, [1; 3]), case("b", 1, [2; 3])], "batch"), []);
        assert_eq!(crossovers(&[case("a", 1, [1; 3]), case("a", 2, [2; 3])], "batch"), []);
        assert_eq!(crossovers(&[case("a", 1, [1; 3]), case("b", 2, [2; 3])], "k"), []);
    }
}
