//! Samples of partial differential equations, solved here: fields drawn from a seed, and their solutions.

mod burgers;
mod cache;
mod darcy;

use std::path::Path;

use rayon::prelude::*;

use super::config::{Equation, GeneratedSection};
use super::fields::{FieldPairs, Fields};
use crate::data::{Part, normal_rows};
use crate::task::TaskError;
use burgers::Burgers;

/// Solved samples of a section: those to train on, and a test set for each number of points.
#[derive(Debug, Clone, PartialEq)]
pub struct Solved {
    /// Samples to train on.
    pub train: FieldPairs,
    /// Samples to test on, once for each of the section's `test_points`.
    pub tests: Vec<FieldPairs>,
}

/// A solved sample at the solver's points k/n: input and solution.
struct Sample {
    input: Vec<f64>,
    solution: Vec<f64>,
}

impl Solved {
    /// The samples of a section: from its cache, or solved and put there.
    ///
    /// # Errors
    /// If a solver does not converge, or the cache can't be read or written.
    pub fn open(section: &GeneratedSection, seed: u64) -> Result<Self, TaskError> {
        let Some(folder) = &section.cache else { return Self::compute(section, seed) };
        let path = cache::path(folder, section, seed);
        if path.exists() {
            return cache::read(&path, section);
        }
        let solved = Self::compute(section, seed)?;
        cache::write(&path, &solved)?;
        Ok(solved)
    }

    fn compute(section: &GeneratedSection, seed: u64) -> Result<Self, TaskError> {
        let train = solved(section, seed, Part::Train, section.samples, &[section.points])?;
        let mut train = train.into_iter();
        Ok(Self {
            train: train.next().unwrap_or_default(),
            tests: solved(section, seed, Part::Test, section.test_samples, &section.test_points)?,
        })
    }
}

/// `count` samples of a part, once for each resolution.
fn solved(
    section: &GeneratedSection,
    seed: u64,
    part: Part,
    count: usize,
    resolutions: &[usize],
) -> Result<Vec<FieldPairs>, TaskError> {
    let dims = section.equation.dims();
    // At once to the points that are kept: those of the solver are many.
    let sampled = |index: usize| {
        let sample = solve(section, seed, part, index as u64)?;
        let at = |field: &[f64], points: usize| subsampled(field, dims, section.solver_points, points);
        let both = |points: &usize| (at(&sample.input, *points), at(&sample.solution, *points));
        Ok(resolutions.iter().map(both).collect::<Vec<_>>())
    };
    let samples = (0..count).into_par_iter().map(sampled).collect::<Result<Vec<_>, TaskError>>()?;
    let pairs = resolutions.iter().enumerate().map(|(place, &points)| {
        let fields = |values: Vec<f32>| Fields { channels: 1, points: vec![points; dims], values };
        let input = fields(samples.iter().flat_map(|sample| sample[place].0.iter().copied()).collect());
        let output = fields(samples.iter().flat_map(|sample| sample[place].1.iter().copied()).collect());
        FieldPairs::of(input, output, Path::new(section.equation.as_str()))
    });
    pairs.collect()
}

/// One sample at the solver's points.
fn solve(section: &GeneratedSection, seed: u64, part: Part, index: u64) -> Result<Sample, TaskError> {
    let points = section.solver_points;
    let normal = |count: usize| normal_rows(seed, part, index, 1, count);
    match section.equation {
        Equation::Burgers => {
            let input = burgers::initial(points, &normal(burgers::draws(points)));
            let solver = Burgers { viscosity: section.viscosity, time: section.time, steps: section.steps };
            let solution = solver.solve(&input);
            if solution.iter().any(|value| !value.is_finite()) {
                return Err(TaskError::NotConverged { equation: "Burgers' equation", sample: index as usize });
            }
            Ok(Sample { input, solution })
        }
        Equation::Darcy => {
            let permeability = darcy::permeability(points, section.permeability, &normal(darcy::draws(points)));
            let pressure = darcy::solve(points, &permeability, &vec![1.0; permeability.len()]);
            let pressure =
                pressure.ok_or(TaskError::NotConverged { equation: "Darcy flow", sample: index as usize })?;
            // Without the boundary at 1, so that points are k/n as those of a periodic field.
            let open = |field: &[f64]| {
                let rows = field.chunks_exact(points + 1).take(points);
                rows.flat_map(|row| row[..points].iter().copied()).collect()
            };
            Ok(Sample { input: open(&permeability), solution: open(&pressure) })
        }
    }
}

/// Every `from / to`-th point along each dimension of a field of `from` points along each.
fn subsampled(field: &[f64], dims: usize, from: usize, to: usize) -> Vec<f32> {
    let stride = from / to;
    let place = |index: usize| {
        let (mut rest, mut place, mut step) = (index, 0, stride);
        for _ in 0..dims {
            place += rest % to * step;
            rest /= to;
            step *= from;
        }
        place
    };
    (0..to.pow(dims as u32)).map(|index| field[place(index)] as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_solution_that_is_not_finite_is_an_error() {
        let section = GeneratedSection {
            equation: Equation::Burgers,
            solver_points: 1024,
            steps: 4,
            viscosity: 1e-6,
            time: 100.0,
            ..GeneratedSection::default()
        };
        let error = solved(&section, 0, Part::Train, 1, &[64]).unwrap_err().to_string();
        assert!(error.contains("Burgers' equation"), "{error}");
    }

    #[test]
    fn every_stride_th_point_is_kept_along_each_dimension() {
        let field: Vec<f64> = (0..16).map(f64::from).collect();
        assert_eq!(subsampled(&field, 1, 16, 4), [0.0, 4.0, 8.0, 12.0]);
        assert_eq!(subsampled(&field, 2, 4, 2), [0.0, 2.0, 8.0, 10.0]);
    }

    #[test]
    fn samples_follow_from_the_seed_and_their_number_and_are_the_same_at_every_resolution() {
        let section = GeneratedSection {
            samples: 3,
            test_samples: 2,
            points: 16,
            test_points: vec![16, 64],
            solver_points: 64,
            steps: 50,
            ..GeneratedSection::default()
        };
        for equation in [Equation::Burgers, Equation::Darcy] {
            let section = GeneratedSection { equation, ..section.clone() };
            let solved = Solved::open(&section, 7).unwrap();
            let more = Solved::open(&GeneratedSection { samples: 4, ..section.clone() }, 7).unwrap();
            assert_eq!(solved.train.output.sample(2), more.train.output.sample(2), "{equation:?}");
            assert_ne!(solved.train.output.sample(0), solved.tests[0].output.sample(0), "{equation:?}");
            assert_ne!(solved, Solved::open(&section, 8).unwrap(), "{equation:?}");
            let [coarse, fine] = &solved.tests[..] else { panic!("two resolutions") };
            let fine: Vec<f64> = fine.output.sample(1).iter().map(|value| f64::from(*value)).collect();
            assert_eq!(coarse.output.sample(1), subsampled(&fine, equation.dims(), 64, 16), "{equation:?}");
        }
    }

    #[test]
    fn solved_samples_are_cached_by_their_settings() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Some(folder.path().join("solved"));
        let section = GeneratedSection {
            samples: 2,
            test_samples: 1,
            points: 16,
            test_points: vec![32],
            solver_points: 64,
            steps: 20,
            cache,
            ..GeneratedSection::default()
        };
        let first = Solved::open(&section, 1).unwrap();
        let files = || std::fs::read_dir(folder.path().join("solved")).unwrap().count();
        assert_eq!(files(), 1);
        assert_eq!(Solved::open(&section, 1).unwrap(), first);
        assert_eq!(files(), 1);
        assert_ne!(Solved::open(&GeneratedSection { viscosity: 0.05, ..section.clone() }, 1).unwrap(), first);
        assert_ne!(Solved::open(&section, 2).unwrap(), first);
        assert_eq!(files(), 3);
        let damaged = cache::path(section.cache.as_ref().unwrap(), &section, 1);
        std::fs::write(&damaged, b"no fields").unwrap();
        let error = format!("{:?}", Solved::open(&section, 1).unwrap_err());
        assert!(error.contains("burgers-") && error.contains("safetensors file: "), "{error}");
    }
}
