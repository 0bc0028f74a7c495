//! Problems of transforms.

use firefly_ops::Direction;

use super::shape::FftShape;

/// Values that are transformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FftValues {
    /// Complex values to complex values.
    Complex,
    /// Real values to the lower half of their spectrum along the last dimension, or back.
    Real,
}

impl FftValues {
    /// Every kind, by the name that users type.
    pub const NAMED: [(&str, Self); 2] = [("complex", Self::Complex), ("real", Self::Real)];
}

/// Directions, by the names that users type.
pub const DIRECTIONS: [(&str, Direction); 2] = [("forward", Direction::Forward), ("inverse", Direction::Inverse)];

/// Transforms per call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extent {
    /// Each of these numbers of transforms.
    Batches(Vec<usize>),
    /// The number of transforms that have about this many points in total, at least one.
    Points(usize),
}

/// The transform of each of `batch` rows of a shape.
#[derive(Debug, Clone, PartialEq)]
pub struct FftProblem {
    /// The kind of values that are transformed.
    pub values: FftValues,
    /// Forward or inverse.
    pub direction: Direction,
    /// Points along each dimension.
    pub shape: FftShape,
    /// Transforms per call.
    pub batch: usize,
}

/// Size of one transform: parts (one of real values, two of complex ones), and values of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowSize {
    /// 1 or 2.
    pub parts: usize,
    /// Values of a part.
    pub len: usize,
}

impl RowSize {
    /// Bytes of all parts.
    pub const fn bytes(self) -> usize {
        self.parts * self.len * size_of::<f32>()
    }
}

impl FftProblem {
    /// Bins along the last dimension of a half spectrum.
    pub fn bins(&self) -> usize {
        self.shape.last() / 2 + 1
    }

    /// The row that one transform reads.
    pub fn input(&self) -> RowSize {
        self.row(self.direction == Direction::Forward)
    }

    /// The row that one transform writes.
    pub fn output(&self) -> RowSize {
        self.row(self.direction == Direction::Inverse)
    }

    /// The side of a transform that has the samples, or the one that has the spectrum.
    fn row(&self, samples: bool) -> RowSize {
        match self.values {
            FftValues::Complex => RowSize { parts: 2, len: self.shape.points() },
            FftValues::Real if samples => RowSize { parts: 1, len: self.shape.points() },
            FftValues::Real => RowSize { parts: 2, len: self.shape.outer() * self.bins() },
        }
    }

    /// Shape of the tensors that are read.
    pub fn input_dims(&self) -> Vec<usize> {
        let last = self.input().len / self.shape.outer();
        let outer = &self.shape.dims()[..self.shape.dims().len() - 1];
        [self.batch].into_iter().chain(outer.iter().copied()).chain([last]).collect()
    }
}

/// All problems of a grid, those that share inputs next to each other.
pub fn grid(values: &[FftValues], directions: &[Direction], shapes: &[FftShape], extent: &Extent) -> Vec<FftProblem> {
    let mut problems = Vec::new();
    for shape in shapes {
        let batches = match extent {
            Extent::Batches(batches) => batches.clone(),
            Extent::Points(points) => vec![(points / shape.points()).max(1)],
        };
        for batch in batches {
            for &values in values {
                let of = |&direction: &Direction| FftProblem { values, direction, shape: shape.clone(), batch };
                problems.extend(directions.iter().map(of));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::problem::Problem;
    use crate::suites::fft::Shapes;

    fn shapes(text: &str) -> Vec<FftShape> {
        Shapes::of(&text.split(',').map(|item| item.parse().unwrap()).collect::<Vec<_>>())
    }

    #[test]
    fn a_grid_is_every_combination() {
        let problems = grid(
            &[FftValues::Complex, FftValues::Real],
            &[Direction::Forward, Direction::Inverse],
            &shapes("8,3x5"),
            &Extent::Batches(vec![1, 2]),
        );
        assert_eq!(problems.len(), 16);
        let real = &problems[15];
        assert_eq!(real.parameters().to_string(), "values real, direction inverse, n 3x5, batch 2");
        assert_eq!((real.input(), real.output()), (RowSize { parts: 2, len: 9 }, RowSize { parts: 1, len: 15 }));
        assert_eq!(real.input_dims(), [2, 3, 3]);
        assert_eq!(real.size().useful_bytes, 2 * (2 * 9 + 15) * 4);
    }

    #[test]
    fn a_number_of_points_is_shared_out() {
        let of = |points| {
            let extent = Extent::Points(points);
            grid(&[FftValues::Complex], &[Direction::Forward], &shapes("1000,7x7"), &extent)
        };
        assert_eq!(of(10_000).iter().map(|problem| problem.batch).collect::<Vec<_>>(), [10, 204]);
        assert_eq!(of(10).iter().map(|problem| problem.batch).collect::<Vec<_>>(), [1, 1]);
    }

    #[test]
    fn values_that_take_too_much_memory_are_refused() {
        let problem = FftProblem {
            values: FftValues::Complex,
            direction: Direction::Forward,
            shape: shapes("1024").remove(0),
            batch: 1 << 21,
        };
        assert!(problem.check().unwrap_err().to_string().contains("at most 1048576"));
    }
}
