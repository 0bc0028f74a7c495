//! Tasks: consecutive rows of a call, which run on rayon's threads if the call has enough work.

use std::sync::{Mutex, PoisonError};

use crate::cpu::runtime::with_vector;

/// Work of a task worth handing to another thread. The unit of work is one radix-2 butterfly, about a nanosecond.
const TASK_WORK: usize = 1 << 14;
/// Below this much work a call stays on its thread: waking others would take longer.
const PARALLEL_WORK: usize = 4 * TASK_WORK;
const MAX_TASKS: usize = 256;
/// Largest number of blocks of rows in a sum over rows.
const MAX_BLOCKS: usize = 16;
/// Length of partial sums beyond which there are half as many blocks.
const LONG_PARTIAL: usize = 1 << 19;

/// Division of a call's rows into tasks. It follows from shapes alone, never from the number of threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cpu) struct Tasks {
    /// Rows per task, at least 1; the last may have fewer.
    pub rows: usize,
    pub count: usize,
}

impl Tasks {
    /// Tasks for `rows` rows that share nothing, `work` butterflies per row.
    pub fn independent(rows: usize, work: usize) -> Self {
        Self::cut(rows, work, MAX_TASKS)
    }

    /// As [`Self::independent`], with a multiple of `group` rows per task, for kernels that compute `group` rows at
    /// once; the last task may have fewer.
    pub fn independent_groups(rows: usize, work: usize, group: usize) -> Self {
        let rows_of_task = Self::independent(rows, work).rows.next_multiple_of(group);
        Self { rows: rows_of_task, count: rows.div_ceil(rows_of_task) }
    }

    /// Blocks for `rows` rows that add to `partial` sums.
    pub fn reduction(rows: usize, work: usize, partial: usize) -> Self {
        match partial {
            0 => Self::independent(rows, work),
            1..=LONG_PARTIAL => Self::cut(rows, work, MAX_BLOCKS),
            _ => Self::cut(rows, work, MAX_BLOCKS / 2),
        }
    }

    fn cut(rows: usize, work: usize, most: usize) -> Self {
        let per_task = if rows.saturating_mul(work) < PARALLEL_WORK {
            rows
        } else {
            rows.div_ceil(most).max(TASK_WORK.div_ceil(work.max(1)))
        };
        let per_task = per_task.max(1);
        Self { rows: per_task, count: rows.div_ceil(per_task) }
    }

    /// The rows of each task: of `input`, if there is one, `width` values per row, and of `output`, `length` values per
    /// row, each with its real and imaginary parts. A part that is empty has empty pieces.
    pub fn pieces<'a, T>(
        &self,
        input: Option<[&'a [T]; 2]>,
        width: usize,
        output: [&'a mut [T]; 2],
        length: usize,
    ) -> impl Iterator<Item = (Option<[&'a [T]; 2]>, [&'a mut [T]; 2])> + use<'a, T> {
        let rows = self.rows;
        let mut inputs = input.map(|parts| parts.map(|part| part.chunks(rows * width)));
        let mut outputs = output.map(|part| part.chunks_mut(rows * length));
        (0..self.count).map(move |_| {
            let input = inputs.as_mut().map(|parts| parts.each_mut().map(|pieces| pieces.next().unwrap_or_default()));
            (input, outputs.each_mut().map(|pieces| pieces.next().unwrap_or_default()))
        })
    }

    /// Runs `task` on each of `inputs`, one per task. The calling thread takes one after the other and, if there are
    /// more, so do other threads of rayon's current pool, once they are awake.
    pub fn run<I: Send>(&self, inputs: impl Iterator<Item = I> + Send, task: impl Fn(I) + Send + Sync) {
        let inputs = inputs.take(self.count);
        let helpers = rayon::current_num_threads().min(self.count).saturating_sub(1);
        if helpers == 0 {
            return inputs.for_each(task);
        }
        let inputs = Mutex::new(inputs);
        let next = || inputs.lock().unwrap_or_else(PoisonError::into_inner).next();
        let work = || std::iter::from_fn(next).for_each(&task);
        rayon::in_place_scope(|scope| {
            for _ in 0..helpers {
                scope.spawn(|_| work());
            }
            work();
        });
    }
}

/// Chunks of `len` values of a slice; if it is absent, `None` without end.
pub(in crate::cpu) fn optional_chunks<V: Send>(
    slice: Option<&mut [V]>,
    len: usize,
) -> impl Iterator<Item = Option<&mut [V]>> + Send {
    let mut chunks = slice.map(|slice| slice.chunks_mut(len));
    std::iter::from_fn(move || match &mut chunks {
        Some(chunks) => chunks.next().map(Some),
        None => Some(None),
    })
}

/// Samples of a piece, unless a row has more.
const PIECE: usize = 1 << 13;
/// Rows that kernels of short rows compute at once.
const GROUP: usize = 16;

/// Rows of a piece, where rows have `width` samples.
pub fn rows_of_piece(width: usize) -> usize {
    match PIECE / width.max(1) {
        rows @ ..GROUP => rows.max(1),
        rows => rows / GROUP * GROUP,
    }
}

/// Runs `task` on the samples of each piece, `widened` to f32, and on its part of the outputs.
pub fn in_pieces<S: Copy + Sync, O: Send>(
    samples: &[S],
    width: usize,
    widened: impl Fn(S) -> f32 + Send + Sync,
    outputs: impl Iterator<Item = O> + Send,
    task: impl Fn(&[f32], O) + Send + Sync,
) {
    let rows = rows_of_piece(width);
    let pieces = samples.chunks((rows * width).max(1));
    let tasks = Tasks { rows, count: pieces.len() };
    tasks.run(pieces.zip(outputs), |(piece, output)| {
        with_vector(|values| {
            values.extend(piece.iter().map(|&sample| widened(sample)));
            task(values, output);
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_work_is_one_task() {
        assert_eq!(Tasks::independent(3, 100), Tasks { rows: 3, count: 1 });
        assert_eq!(Tasks::reduction(3, 100, 8), Tasks { rows: 3, count: 1 });
        assert_eq!(Tasks::independent(0, 100), Tasks { rows: 1, count: 0 });
    }

    #[test]
    fn groups_of_rows_stay_together() {
        assert_eq!(Tasks::independent_groups(1024, 192, 16), Tasks { rows: 96, count: 11 });
        assert_eq!(Tasks::independent_groups(3, 100, 16), Tasks { rows: 16, count: 1 });
        assert_eq!(Tasks::independent_groups(0, 100, 16).count, 0);
    }

    #[test]
    fn blocks_of_a_reduction_are_few() {
        assert_eq!(Tasks::reduction(1 << 20, 1 << 10, 256).count, 16);
        assert_eq!(Tasks::reduction(1 << 20, 1 << 10, LONG_PARTIAL + 1).count, 8);
        assert_eq!(Tasks::independent(1 << 20, 1 << 10).count, 256);
    }

    #[test]
    fn every_task_runs_once() {
        for (threads, count) in [(1, 5), (2, 0), (2, 1), (2, 5), (8, 5), (3, 1000)] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut runs = vec![0; count + 3];
            pool.install(|| Tasks { rows: 1, count }.run(runs.iter_mut(), |run| *run += 1));
            assert!(
                runs[..count].iter().all(|&run| run == 1) && runs[count..] == [0; 3],
                "{threads} threads, {count} tasks"
            );
        }
        let mut runs = [0; 50];
        Tasks { rows: 1, count: 50 }.run(runs.iter_mut(), |run| *run += 1);
        assert_eq!(runs, [1; 50]);
    }

    #[test]
    #[should_panic(expected = "task 7")]
    fn a_panic_in_a_task_reaches_the_caller() {
        Tasks { rows: 1, count: 20 }.run(0..20, |task| assert!(task != 7, "task 7"));
    }

    #[test]
    fn an_absent_slice_gives_none_for_every_task() {
        assert_eq!(optional_chunks::<f32>(None, 4).take(3).flatten().count(), 0);
        let mut values = [0u8; 7];
        let lengths: Vec<_> = optional_chunks(Some(&mut values), 4).map(|chunk| chunk.map(|c| c.len())).collect();
        assert_eq!(lengths, [Some(4), Some(3)]);
    }
}
