//! The sizes that methods are timed at.

use firefly_framework::cost::Axis;
use firefly_models::{RATE_AXES, Tier};

use crate::suites::peaks::PeaksProblem;

/// Input of a point, in bytes, from which on its time is extrapolated from smaller batches instead.
const MOST_INPUT: usize = 256 << 20;

/// Where methods are timed.
#[derive(Debug, Clone)]
pub struct Grid {
    n_fft: Vec<usize>,
    tiers: Vec<Tier>,
    k: Vec<usize>,
    batch: Vec<usize>,
    /// Between the points of the grid, to see what predictions are worth there.
    pub held_out: Vec<PeaksProblem>,
}

impl Grid {
    /// The grid that the picker predicts from. Batches are close together, because somewhere among them threads or a larger
    /// kernel set in, elsewhere for each length; K has a point on each side of 16, up to which a faster search is used.
    pub fn full() -> Self {
        let between = [(128, 4, 4), (256, 40, 16), (512, 1000, 16), (1024, 12, 4), (2048, 100, 40), (256, 3000, 64)];
        let tiers = [Tier::Fast, Tier::Reference];
        let held_out = tiers.into_iter().flat_map(|tier| {
            between.into_iter().map(move |(n_fft, batch, k)| PeaksProblem::new(n_fft, tier, batch, k))
        });
        Self {
            n_fft: vec![64, 256, 1024, 4096],
            tiers: Tier::ALL.to_vec(),
            k: vec![4, 16, 17, 64],
            batch: vec![1, 3, 8, 24, 64, 192, 512, 1536, 4096, 32_768],
            held_out: held_out.collect(),
        }
    }

    /// A few points: to see that measuring works.
    pub fn rough() -> Self {
        Self {
            n_fft: vec![64, 256],
            tiers: vec![Tier::Fast],
            k: vec![4, 16],
            batch: vec![1, 64],
            held_out: vec![PeaksProblem::new(128, Tier::Fast, 8, 8)],
        }
    }

    /// The axes of the times at [`problems`](Self::problems).
    pub fn axes(&self) -> Vec<Axis> {
        let floats = |sizes: &[usize]| sizes.iter().map(|size| *size as f64).collect();
        let segments: Vec<usize> = self.tiers.iter().map(|tier| tier.segments()).collect();
        let values: [Vec<f64>; 4] = [floats(&self.n_fft), floats(&segments), floats(&self.k), floats(&self.batch)];
        let axes = RATE_AXES.iter().zip(values);
        axes.map(|((name, growth), values)| Axis { name: name.to_string(), growth: *growth, values }).collect()
    }

    /// The problem at every point, the last axis running fastest.
    pub fn problems(&self) -> Vec<PeaksProblem> {
        let mut problems = Vec::new();
        for &n_fft in &self.n_fft {
            for &tier in &self.tiers {
                for &k in &self.k {
                    // Short segments have fewer bins than the most peaks: all of them is as near as it gets.
                    let k = k.min(n_fft / 2 + 1);
                    problems.extend(self.batch.iter().map(|&batch| PeaksProblem::new(n_fft, tier, batch, k)));
                }
            }
        }
        problems
    }

    /// Whether a point is timed; else its time follows from the two batches before it, which always are.
    pub fn is_timed(&self, problem: &PeaksProblem) -> bool {
        let first = self.batch.iter().take(2).any(|batch| *batch == problem.batch);
        first || problem.input_bytes() <= MOST_INPUT
    }

    /// How many batches there are for each combination of the others.
    pub fn batches(&self) -> usize {
        self.batch.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_are_in_the_order_of_the_axes() {
        let grid = Grid::full();
        let (axes, problems) = (grid.axes(), grid.problems());
        assert_eq!(problems.len(), axes.iter().map(|axis| axis.values.len()).product::<usize>());
        assert_eq!((problems[1].batch, problems[10].k, problems[40].tier), (3, 16, Tier::Fast));
        assert!(problems.iter().chain(&grid.held_out).all(|problem| problem.validate().is_ok()));
        let known = |problem: &PeaksProblem| problems.contains(problem);
        assert!(!grid.held_out.iter().any(known));
    }

    #[test]
    fn only_large_inputs_are_left_out() {
        let grid = Grid::full();
        assert!(grid.is_timed(&PeaksProblem::new(256, Tier::Reference, 32_768, 16)));
        assert!(!grid.is_timed(&PeaksProblem::new(4096, Tier::Reference, 32_768, 16)));
        assert!(Grid::rough().problems().iter().all(|problem| Grid::rough().is_timed(problem)));
    }
}
