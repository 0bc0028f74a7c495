//! Rows that are checked, and their transforms in float64.

use std::sync::OnceLock;

use rayon::prelude::*;

use super::inputs::FftInputs;
use super::problem::FftProblem;
use super::reference::{RowParts, transform};
use crate::harness::sampling::sampled_rows;

/// Values that are checked of the first input set, in whole rows.
const VALUES: usize = 1 << 20;
const FEWEST_ROWS: usize = 8;

/// Expected transform of a row.
pub struct ExpectedRow {
    /// Input set.
    pub set: usize,
    /// Row of the set.
    pub row: usize,
    /// Its transform.
    pub parts: RowParts,
}

/// Rows that are checked, and their transforms, computed on first use.
pub struct ExpectedRows {
    problem: FftProblem,
    places: Vec<(usize, usize)>,
    computed: OnceLock<Vec<ExpectedRow>>,
}

impl ExpectedRows {
    /// All rows of the first set where they are few, a random sample with the first and the last row where they are
    /// many, and one row of each of the other sets.
    pub fn choose(problem: &FftProblem, sets: usize, seed: u64) -> Self {
        let most = (VALUES / problem.shape.points()).max(FEWEST_ROWS);
        let places = sampled_rows(problem.batch, sets, most, seed);
        Self { problem: problem.clone(), places, computed: OnceLock::new() }
    }

    /// The transforms of the chosen rows.
    pub fn rows(&self, inputs: &FftInputs) -> &[ExpectedRow] {
        let of = |&(set, row): &(usize, usize)| ExpectedRow {
            set,
            row,
            parts: transform(&self.problem, &inputs.row(set, row)),
        };
        self.computed.get_or_init(|| self.places.par_iter().map(of).collect())
    }

    /// The chosen rows of the first set.
    pub fn first_set(&self) -> impl Iterator<Item = usize> {
        self.places.iter().filter(|(set, _)| *set == 0).map(|(_, row)| *row)
    }
}
