//! Heat map of the gates: stages down, pairs across.

use std::fmt::Write;

use super::{GateMap, OPEN};
use firefly_app::page::chart::{CHARACTER, opening};
use firefly_app::page::number::{Pixel, fixed, percent};

const WIDTH: f64 = 940.0;
const LEFT: f64 = 40.0;
const RIGHT: f64 = 66.0;
const TOP: f64 = 28.0;
const ROW: f64 = 22.0;
/// Part of a row's height that is filled; the rest separates stages.
const FILLED: &str = "0.9";
/// Columns drawn at most; more pairs are pooled.
const MOST_COLUMNS: usize = 512;
/// Steps of the colour scale above "closed".
const LEVELS: u8 = 10;

/// One drawn cell: a level of the colour scale, or `None` when no gate in it is finite.
type Cell = Option<u8>;

/// Pairs that share one drawn column.
pub(super) fn pairs_per_column(pairs: usize) -> usize {
    pairs.div_ceil(MOST_COLUMNS).max(1)
}

/// The map as SVG. `gates` holds `stages * pairs` values, both at least 1.
pub(super) fn svg(id: &str, title: &str, gates: &GateMap) -> String {
    let pooled = pairs_per_column(gates.pairs);
    let rows: Vec<Vec<Cell>> =
        gates.values.chunks(gates.pairs).map(|row| row.chunks(pooled).map(cell).collect()).collect();
    let columns = gates.pairs.div_ceil(pooled);
    let bottom = TOP + ROW * gates.stages as f64;
    let mut svg = opening(id, title, &description(gates, pooled), (WIDTH, bottom + 84.0));
    let _ = write!(
        svg,
        r#"<text class="axis" x="0" y="14">stage</text><text class="axis" text-anchor="end" x="{}" y="14">open</text>"#,
        Pixel(WIDTH),
    );
    write_cells(&mut svg, &rows, columns);
    write_stages(&mut svg, gates);
    write_pair_axis(&mut svg, gates.pairs, bottom);
    write_colour_bar(&mut svg, &rows, bottom + 54.0);
    svg.push_str("</svg>");
    svg
}

/// Share of open gates among `gates`; a gate that is not finite is closed.
pub(super) fn open_share(gates: &[f32]) -> f64 {
    let open = gates.iter().filter(|gate| **gate >= OPEN).count();
    open as f64 / gates.len() as f64
}

/// The level of the mean of `gates`. The ends are kept for cells that are wholly closed or wholly open.
fn cell(gates: &[f32]) -> Cell {
    let finite = || gates.iter().filter(|gate| gate.is_finite());
    let count = finite().count();
    if count == 0 {
        return None;
    }
    let sum: f64 = finite().map(|gate| f64::from(gate.clamp(0.0, 1.0))).sum();
    let mean = sum / count as f64;
    Some(if mean <= 0.0 {
        0
    } else if mean >= 1.0 {
        LEVELS
    } else {
        ((mean * f64::from(LEVELS)).round() as u8).clamp(1, LEVELS - 1)
    })
}

/// One path for each level, in units of cells, with neighbours of equal level joined.
fn write_cells(svg: &mut String, rows: &[Vec<Cell>], columns: usize) {
    let mut paths = vec![String::new(); usize::from(LEVELS) + 1];
    let mut missing = String::new();
    for (stage, row) in rows.iter().enumerate() {
        let mut start = 0;
        for run in row.chunk_by(|a, b| a == b) {
            let path = match run[0] {
                Some(level) => &mut paths[usize::from(level)],
                None => &mut missing,
            };
            let length = run.len();
            let _ = write!(path, "M{start} {stage}h{length}v{FILLED}h-{length}z");
            start += length;
        }
    }
    let _ = write!(
        svg,
        r#"<g class="cells" transform="translate({LEFT} {TOP}) scale({:.6} {ROW})">"#,
        (WIDTH - LEFT - RIGHT) / columns as f64,
    );
    for (level, path) in paths.iter().enumerate() {
        if !path.is_empty() {
            let _ = write!(svg, r#"<path class="h{level}" d="{path}"/>"#);
        }
    }
    if !missing.is_empty() {
        let _ = write!(svg, r#"<path class="missing" d="{missing}"/>"#);
    }
    svg.push_str("</g>");
}

fn write_stages(svg: &mut String, gates: &GateMap) {
    for (stage, row) in gates.values.chunks(gates.pairs).enumerate() {
        let baseline = TOP + ROW * stage as f64 + 14.5;
        let _ = write!(
            svg,
            r#"<text class="tick" text-anchor="end" x="{}" y="{baseline}">{stage}</text><text class="tick" text-anchor="end" x="{WIDTH}" y="{baseline}">{}</text>"#,
            Pixel(LEFT - 8.0),
            percent(open_share(row)),
        );
    }
}

fn write_pair_axis(svg: &mut String, pairs: usize, bottom: f64) {
    // Pairs are a power of two: quarters are where the blocks of the last stages begin.
    let quarters = if pairs.is_multiple_of(4) { 4 } else { 1 };
    for quarter in 0..=quarters {
        let x = LEFT + (WIDTH - LEFT - RIGHT) * quarter as f64 / quarters as f64;
        let _ = write!(
            svg,
            r#"<path class="frame" d="M{x} {bottom}v5"/><text class="tick" text-anchor="middle" x="{x}" y="{}">{}</text>"#,
            Pixel(bottom + 18.0),
            fixed((pairs * quarter / quarters) as f64, 0),
            x = Pixel(x),
        );
    }
    let _ = write!(
        svg,
        r#"<text class="axis" text-anchor="middle" x="{}" y="{}">butterfly of the stage (pair)</text>"#,
        Pixel((LEFT + WIDTH - RIGHT) / 2.0),
        Pixel(bottom + 38.0),
    );
}

fn write_colour_bar(svg: &mut String, rows: &[Vec<Cell>], top: f64) {
    const STEP: f64 = 22.0;
    let name = "gate value";
    let left = LEFT + name.len() as f64 * CHARACTER + 12.0;
    let _ = write!(svg, r#"<text class="axis" x="{LEFT}" y="{}">{name}</text>"#, Pixel(top + 10.0));
    for level in 0..=LEVELS {
        let _ = write!(
            svg,
            r#"<rect class="h{level}" x="{}" y="{}" width="{STEP}" height="12"/>"#,
            Pixel(left + STEP * f64::from(level)),
            Pixel(top),
        );
    }
    for (level, text) in [(0, "0 closed"), (LEVELS / 2, "0.5"), (LEVELS, "1 open")] {
        let _ = write!(
            svg,
            r#"<text class="tick" text-anchor="middle" x="{}" y="{}">{text}</text>"#,
            Pixel(left + STEP * (f64::from(level) + 0.5)),
            Pixel(top + 26.0),
        );
    }
    if rows.iter().flatten().any(Option::is_none) {
        let x = left + STEP * f64::from(LEVELS + 1) + 50.0;
        let _ = write!(
            svg,
            r#"<rect class="missing" x="{x}" y="{top}" width="{STEP}" height="12"/><text class="tick" x="{}" y="{}">n/a</text>"#,
            Pixel(x + STEP + 6.0),
            Pixel(top + 10.0),
            x = Pixel(x),
            top = Pixel(top),
        );
    }
}

fn description(gates: &GateMap, pooled: usize) -> String {
    let mut text =
        format!("Gates of {} stages of {} butterflies. Share open", gates.stages, fixed(gates.pairs as f64, 0));
    for (stage, row) in gates.values.chunks(gates.pairs).enumerate() {
        let separator = if stage == 0 { ':' } else { ',' };
        let _ = write!(text, "{separator} stage {stage} {}", percent(open_share(row)));
    }
    text.push('.');
    if pooled > 1 {
        let _ = write!(text, " One column is the mean of {pooled} butterflies.");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_uniform_cells_take_the_ends_of_the_scale() {
        assert_eq!(cell(&[0.0, 0.0]), Some(0));
        assert_eq!(cell(&[0.0, 0.001]), Some(1));
        assert_eq!(cell(&[1.0, 0.999]), Some(9));
        assert_eq!(cell(&[1.0, f32::NAN]), Some(10));
        assert_eq!(cell(&[7.0]), Some(10));
        assert_eq!(cell(&[f32::NAN]), None);
    }

    #[test]
    fn equal_neighbours_are_one_run() {
        let mut svg = String::new();
        write_cells(&mut svg, &[vec![Some(10), Some(10), Some(0), None]], 4);
        assert!(svg.contains(r#"class="h10" d="M0 0h2v0.9h-2z""#));
        assert!(svg.contains(r#"class="h0" d="M2 0h1v0.9h-1z""#));
        assert!(svg.contains(r#"class="missing" d="M3 0h1v0.9h-1z""#));
    }

    #[test]
    fn columns_are_pooled_beyond_the_limit() {
        assert_eq!(pairs_per_column(1), 1);
        assert_eq!(pairs_per_column(512), 1);
        assert_eq!(pairs_per_column(32_768), 64);
    }

    #[test]
    fn gates_that_are_not_finite_are_closed() {
        assert_eq!(open_share(&[f32::NAN, 0.5, 0.49, 1.0]), 0.5);
    }
}
