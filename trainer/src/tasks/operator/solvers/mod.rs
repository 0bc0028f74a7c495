//! Samples of partial differential equations, solved here: fields drawn from a seed, and their solutions. They are cached
//! in a safetensors file per equation and settings.

mod burgers;
mod darcy;

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use firefly_app::files::write_atomically;
use firefly_app::streams::with_causes;
use firefly_models::checksum::{is_intact, sealed};
use firefly_recordings::Array;
use rayon::prelude::*;
use safetensors::Dtype;
use safetensors::tensor::TensorView;

use super::config::{Equation, GeneratedSection};
use super::domain::{places, strides};
use super::fields::{FieldPairs, Fields};
use crate::data::{Part, normal_rows};
use crate::manifest::sha256;
use crate::tasks::prelude::*;
use burgers::Burgers;

/// Number of the solvers' version: one more whenever their solutions change.
const VERSION: u32 = 2;

/// Solved samples of a section: those to train on, and a test set for each number of points.
#[derive(Debug, Clone, PartialEq)]
pub struct Solved {
    /// Samples to train on.
    pub train: FieldPairs,
    /// Samples to test on, once for each of the section's `test_points`.
    pub tests: Vec<FieldPairs>,
}

impl Solved {
    /// The samples of a section: from its cache, or solved and put there. An error if a solver does not converge, the
    /// cache can't be read or written, or `monitor` says to stop.
    pub fn open(section: &GeneratedSection, seed: u64, monitor: &Monitor<'_>) -> Result<Self> {
        let Some(folder) = &section.cache else { return Self::compute(section, seed, monitor) };
        let path = cache_path(folder, section, seed);
        if path.exists() {
            return read_cache(&path, section);
        }
        let solved = Self::compute(section, seed, monitor)?;
        write_cache(&path, &solved)?;
        Ok(solved)
    }

    fn compute(section: &GeneratedSection, seed: u64, monitor: &Monitor<'_>) -> Result<Self> {
        let work = Work { section, seed, monitor, done: AtomicUsize::new(0) };
        let mut train = work.solved(Part::Train, section.samples, &[section.points])?.into_iter();
        Ok(Self {
            train: train.next().unwrap_or_default(),
            tests: work.solved(Part::Test, section.test_samples, &section.test_points)?,
        })
    }
}

/// Samples that are being solved.
struct Work<'a, 'm> {
    section: &'a GeneratedSection,
    seed: u64,
    monitor: &'a Monitor<'m>,
    done: AtomicUsize,
}

impl Work<'_, '_> {
    /// `count` samples of a part, once for each resolution.
    fn solved(&self, part: Part, count: usize, resolutions: &[usize]) -> Result<Vec<FieldPairs>> {
        let section = self.section;
        let (equation, dims, all) = (section.equation, section.equation.dims(), section.samples + section.test_samples);
        // At once to the points that are kept: those of the solver are many.
        let sampled = |index: usize| {
            let sample = self.solve(part, index as u64)?;
            let at = |field: &[f64], points: usize| subsampled(field, dims, section.solver_points, points);
            let both = |points: &usize| sample.each_ref().map(|field| at(field, *points));
            let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
            self.monitor.on(Event::SamplesSolved { equation: equation.title(), done, samples: all });
            Ok(resolutions.iter().map(both).collect::<Vec<_>>())
        };
        let samples = (0..count).into_par_iter().map(sampled).collect::<Result<Vec<_>>>()?;
        let pairs = resolutions.iter().enumerate().map(|(place, &points)| {
            let fields = |field: usize| {
                let values: Vec<f32> = samples.iter().flat_map(|sample| sample[place][field].iter().copied()).collect();
                Fields::new(1, vec![points; dims], values)
            };
            FieldPairs::of(fields(0), fields(1), Path::new(equation.as_str()))
        });
        pairs.collect()
    }

    /// Input and solution of a sample at the solver's points k/n.
    fn solve(&self, part: Part, index: u64) -> Result<[Vec<f64>; 2]> {
        let section = self.section;
        let points = section.solver_points;
        let normal = |count: usize| normal_rows(self.seed, part, index, 1, count);
        let should_stop = || self.monitor.should_stop();
        // A solver has no result if it is stopped, does not converge, or has too few points.
        let failed = || match should_stop() {
            true => TaskError::Interrupted,
            false => TaskError::NotConverged {
                equation: section.equation.title(),
                sample: index as usize,
                remedy: match section.equation {
                    Equation::Burgers => "more solver_points or steps, or a greater viscosity",
                    Equation::Darcy | Equation::Darcy3d => "nearer permeabilities",
                },
            },
        };
        match section.equation {
            Equation::Burgers => {
                let input = burgers::initial(points, &normal(burgers::draws(points)));
                let solver = Burgers { viscosity: section.viscosity, time: section.time, steps: section.steps };
                let solution = solver.solve(&input, should_stop).ok_or_else(failed)?;
                Ok([input, solution])
            }
            Equation::Darcy | Equation::Darcy3d => {
                let grid = darcy::Grid { dims: section.equation.dims(), intervals: points };
                let permeability = grid.permeability(section.permeability, &normal(grid.draws()));
                let pressure = grid.solve(&permeability, &vec![1.0; grid.points()], should_stop).ok_or_else(failed)?;
                Ok([permeability, pressure].map(|field| grid.opened(&field)))
            }
        }
    }
}

/// Every `from / to`-th point along each dimension of a field of `from` points along each.
fn subsampled(field: &[f64], dims: usize, from: usize, to: usize) -> Vec<f32> {
    let strides: Vec<usize> = strides(&vec![from; dims]).iter().map(|stride| from / to * stride).collect();
    places(&vec![to; dims], &strides).map(|place| field[place] as f32).collect()
}

/// File of the samples of a section and a seed. Its name has a hash of 8 bytes of all settings but the cache's own folder.
fn cache_path(folder: &Path, section: &GeneratedSection, seed: u64) -> PathBuf {
    let settings = GeneratedSection { cache: None, ..section.clone() };
    let hash = sha256(format!("{VERSION} {seed} {settings:?}").as_bytes());
    folder.join(format!("{}-{}.safetensors", section.equation.as_str(), &hash[..16]))
}

/// Names of the arrays of the training samples and of each test set.
fn names(section_tests: usize) -> Vec<[String; 2]> {
    let tests = (0..section_tests).map(|index| ["x", "y"].map(|array| format!("test_{index}_{array}")));
    [["x".to_string(), "y".to_string()]].into_iter().chain(tests).collect()
}

/// Writes samples to a file. Those to train on are `x` and `y`, so that the file can be named as data too.
fn write_cache(path: &Path, solved: &Solved) -> Result<()> {
    let failed = |reason: String| TaskError::Input(path.into(), reason);
    let pairs: Vec<&FieldPairs> = [&solved.train].into_iter().chain(&solved.tests).collect();
    let mut arrays = Vec::new();
    for (pair, names) in pairs.iter().zip(names(solved.tests.len())) {
        for (name, fields) in names.into_iter().zip([&pair.input, &pair.output]) {
            let bytes: Vec<u8> = fields.values().flat_map(f32::to_le_bytes).collect();
            arrays.push((name, fields.shape(), bytes));
        }
    }
    let views =
        arrays.iter().map(|(name, shape, bytes)| Ok((name, TensorView::new(Dtype::F32, shape.clone(), bytes)?)));
    let views = views.collect::<Result<Vec<_>, safetensors::SafeTensorError>>();
    let file =
        views.and_then(|views| safetensors::serialize(views, None)).map_err(|error| failed(error.to_string()))?;
    write_atomically(path, &sealed(file))
        .map_err(|error| failed(format!("the solved samples can't be cached: {error}")))
}

fn read_cache(path: &Path, section: &GeneratedSection) -> Result<Solved> {
    let refused = |reason: String| {
        let reason = format!("{reason}: remove the file, and its samples are solved again");
        TaskError::Input(path.into(), reason)
    };
    let bytes = fs::read(path).map_err(|error| refused(format!("the cache can't be read: {error}")))?;
    if !is_intact(&bytes) {
        return Err(refused("the cache is damaged".into()));
    }
    of_file(path, section).map_err(|error| refused(format!("the cache is damaged: {}", with_causes(&error))))
}

fn of_file(path: &Path, section: &GeneratedSection) -> Result<Solved> {
    let dims = section.equation.dims();
    let pair = |[x, y]: [String; 2]| {
        let fields = |name: &str| Fields::of(Array::read(path, name)?, dims, path, name);
        FieldPairs::of(fields(&x)?, fields(&y)?, path)
    };
    let mut pairs = names(section.test_points.len()).into_iter().map(pair);
    let train = pairs.next().transpose()?.unwrap_or_default();
    Ok(Solved { train, tests: pairs.collect::<Result<_>>()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::{Interrupter, Progress};

    #[test]
    fn a_solution_that_the_grid_does_not_resolve_is_an_error() {
        let section = GeneratedSection {
            equation: Equation::Burgers,
            solver_points: 1024,
            steps: 4,
            viscosity: 1e-6,
            time: 100.0,
            ..GeneratedSection::default()
        };
        let error = Solved::open(&section, 0, &Monitor::none()).unwrap_err().to_string();
        assert!(error.contains("the solver of Burgers' equation does not converge"), "{error}");
    }

    /// Observer that stops the work after some samples.
    struct Stopping {
        interrupter: Interrupter,
        after: usize,
        seen: usize,
    }

    impl Progress for Stopping {
        fn on(&mut self, event: Event<'_>) {
            if let Event::SamplesSolved { samples, .. } = event {
                self.seen += 1;
                assert_eq!(samples, 160);
                if self.seen == self.after {
                    self.interrupter.stop();
                }
            }
        }
    }

    #[test]
    fn work_that_is_stopped_leaves_no_cache() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Some(folder.path().join("solved"));
        for equation in [Equation::Burgers, Equation::Darcy] {
            let (solver_points, cache) = (128, cache.clone());
            let section = GeneratedSection { equation, solver_points, cache, ..GeneratedSection::default() };
            let interrupter = Interrupter::new();
            let mut progress = Stopping { interrupter: interrupter.clone(), after: 3, seen: 0 };
            let error = Solved::open(&section, 0, &Monitor::new(&interrupter, &mut progress)).unwrap_err();
            assert!(matches!(error, TaskError::Interrupted), "{error}");
            assert!(progress.seen < 160, "{} samples were solved", progress.seen);
        }
        assert!(!folder.path().join("solved").exists());
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
        for (equation, solver_points) in [(Equation::Burgers, 64), (Equation::Darcy, 64), (Equation::Darcy3d, 16)] {
            let points = solver_points / 4;
            let test_points = vec![points, solver_points];
            let section = GeneratedSection { equation, points, test_points, solver_points, ..section.clone() };
            let solved = Solved::open(&section, 7, &Monitor::none()).unwrap();
            let more = Solved::open(&GeneratedSection { samples: 4, ..section.clone() }, 7, &Monitor::none()).unwrap();
            assert_eq!(solved.train.output.sample(2), more.train.output.sample(2), "{equation:?}");
            assert_ne!(solved.train.output.sample(0), solved.tests[0].output.sample(0), "{equation:?}");
            assert_ne!(solved, Solved::open(&section, 8, &Monitor::none()).unwrap(), "{equation:?}");
            let [coarse, fine] = &solved.tests[..] else { panic!("two resolutions") };
            let fine: Vec<f64> = fine.output.sample(1).iter().map(|value| f64::from(*value)).collect();
            assert_eq!(
                coarse.output.sample(1),
                subsampled(&fine, equation.dims(), solver_points, points),
                "{equation:?}"
            );
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
        let first = Solved::open(&section, 1, &Monitor::none()).unwrap();
        let files = || std::fs::read_dir(folder.path().join("solved")).unwrap().count();
        assert_eq!(files(), 1);
        assert_eq!(Solved::open(&section, 1, &Monitor::none()).unwrap(), first);
        assert_eq!(files(), 1);
        assert_ne!(
            Solved::open(&GeneratedSection { viscosity: 0.05, ..section.clone() }, 1, &Monitor::none()).unwrap(),
            first
        );
        assert_ne!(Solved::open(&section, 2, &Monitor::none()).unwrap(), first);
        assert_eq!(files(), 3);
        let damaged = cache_path(section.cache.as_ref().unwrap(), &section, 1);
        let whole = std::fs::read(&damaged).unwrap();
        let refused = |bytes: &[u8]| {
            std::fs::write(&damaged, bytes).unwrap();
            let error = Solved::open(&section, 1, &Monitor::none()).unwrap_err().to_string();
            assert!(error.contains("burgers-") && error.contains(": the cache is damaged"), "{error}");
            assert!(error.ends_with(": remove the file, and its samples are solved again"), "{error}");
        };
        refused(b"no fields");
        refused(&whole[..whole.len() / 2]);
        let mut flipped = whole.clone();
        *flipped.last_mut().unwrap() ^= 1;
        refused(&flipped);
        std::fs::write(&damaged, &whole).unwrap();
        assert_eq!(Solved::open(&section, 1, &Monitor::none()).unwrap(), first);
    }
}
