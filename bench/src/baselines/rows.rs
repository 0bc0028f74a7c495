//! Frames through a transform and a top-K on the host, over as many threads as save time.

use firefly_ops::{HostPeaks, WelchOptions};
use rayon::prelude::*;

use super::strongest::strongest;
use crate::harness::routine::{Routine, RoutineError, RoutineOutput, checksum};

/// Work from which a second thread saves time, in points of transforms times their stages.
const PARALLEL_WORK: usize = 1 << 18;
/// Chunks per thread, so that other threads take over work of one that is interrupted.
const CHUNKS_PER_THREAD: usize = 4;

/// Welch power of a row, with its buffers.
pub trait RowPower: Send {
    /// `frame` → `power` `[bins]`.
    ///
    /// # Errors
    /// [`RoutineError::Baseline`] with what the transform's library reports.
    fn power(&mut self, frame: &[f32], power: &mut [f32]) -> Result<(), RoutineError>;
}

/// Routine that computes rows in chunks, each chunk with its own buffers.
pub struct HostPeaksRoutine<'a, P> {
    frame: usize,
    k: usize,
    rows_per_chunk: usize,
    sets: &'a [Vec<f32>],
    chunks: Vec<ChunkBuffers<P>>,
    bins: Vec<i32>,
    power: Vec<f32>,
    has_run: bool,
}

struct ChunkBuffers<P> {
    row: P,
    power: Vec<f32>,
    keys: Vec<u64>,
}

impl<'a, P: RowPower + Clone> HostPeaksRoutine<'a, P> {
    /// Buffers for the `k` peaks of each of `batch` frames on the current rayon pool, every chunk with a copy of `row`.
    pub fn new(options: &WelchOptions, [batch, k]: [usize; 2], sets: &'a [Vec<f32>], row: P) -> Self {
        let work = batch * options.segments * options.n_fft * options.stages();
        let threads = rayon::current_num_threads();
        let most = if threads == 1 || work < PARALLEL_WORK { 1 } else { CHUNKS_PER_THREAD * threads };
        let rows_per_chunk = batch.div_ceil(most);
        let buffers =
            || ChunkBuffers { row: row.clone(), power: vec![0.0; options.bins()], keys: vec![0; options.bins()] };
        Self {
            frame: options.frame(),
            k,
            rows_per_chunk,
            sets,
            chunks: (0..batch.div_ceil(rows_per_chunk)).map(|_| buffers()).collect(),
            bins: vec![0; batch * k],
            power: vec![0.0; batch * k],
            has_run: false,
        }
    }
}

impl<P: RowPower> Routine for HostPeaksRoutine<'_, P> {
    fn run(&mut self, set: usize) -> Result<(), RoutineError> {
        let (frame, k, chunk) = (self.frame, self.k, self.rows_per_chunk);
        let frames = &self.sets[set];
        match &mut self.chunks[..] {
            [buffers] => buffers.rows(frames, frame, k, &mut self.bins, &mut self.power)?,
            chunks => chunks
                .par_iter_mut()
                .zip(frames.par_chunks(chunk * frame))
                .zip(self.bins.par_chunks_mut(chunk * k).zip(self.power.par_chunks_mut(chunk * k)))
                .with_max_len(1)
                .try_for_each(|((buffers, frames), (bins, power))| buffers.rows(frames, frame, k, bins, power))?,
        }
        self.has_run = true;
        Ok(())
    }

    fn checksum(&self) -> u64 {
        checksum(bytemuck::cast_slice(&self.bins)).wrapping_add(checksum(bytemuck::cast_slice(&self.power)))
    }
}

impl<P: RowPower> RoutineOutput<HostPeaks> for HostPeaksRoutine<'_, P> {
    fn output(&self) -> Result<HostPeaks, RoutineError> {
        if !self.has_run {
            return Err(RoutineError::NotRun);
        }
        Ok(HostPeaks { bins: self.bins.iter().map(|&bin| bin.into()).collect(), power: self.power.clone() })
    }
}

impl<P: RowPower> ChunkBuffers<P> {
    fn rows(
        &mut self,
        frames: &[f32],
        frame: usize,
        k: usize,
        bins: &mut [i32],
        peaks: &mut [f32],
    ) -> Result<(), RoutineError> {
        let outputs = bins.chunks_exact_mut(k).zip(peaks.chunks_exact_mut(k));
        for (frame, (bins, peaks)) in frames.chunks_exact(frame).zip(outputs) {
            self.row.power(frame, &mut self.power)?;
            strongest(&self.power, &mut self.keys, bins, peaks);
        }
        Ok(())
    }
}
