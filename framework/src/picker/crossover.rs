//! Measured crossovers: up to which number of frames another strategy than the fused operation is the fastest.

use serde::{Deserialize, Serialize};

use super::{LearnedSize, Strategy};
use crate::profile::InvalidMeasurement;

/// Number of frames from which on nothing was measured to be slower: there is no crossover below it.
const NEVER: f64 = 4_294_967_296.0;
/// Ratio of times up to which the fused operation counts as fast as another strategy for few frames.
const TIE: f64 = 1.05;

/// Fastest strategies of one kind of frames, by the number of frames, and times per frame of a large batch.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Crossover {
    /// Samples per segment.
    pub n_fft: usize,
    /// Segments per frame.
    pub segments: usize,
    /// Peaks per frame; it stands for fewer peaks, too, down to the next measured number.
    pub k: usize,
    /// The fastest strategy for few frames.
    pub few: Strategy,
    /// Number of frames from which on the fused operation is the fastest; 1 where it always is.
    pub frames: f64,
    /// Nanoseconds that `few` saves on one frame.
    pub saved: f64,
    /// Nanoseconds per frame of the fused operation in a large batch.
    pub fused: f64,
    /// The same of a learned model that runs as an exact estimate.
    pub learned: f64,
}

impl Crossover {
    /// Crossover of measured times `[few frames, …, many frames]` of the fused operation and of other strategies, at
    /// increasing `batches`. Between two of them, the ratio of times is a power of the batch.
    pub fn fit(
        size: [usize; 3],
        batches: &[f64],
        fused: &[f64],
        learned: f64,
        others: &[(Strategy, Vec<f64>)],
    ) -> Self {
        let [n_fft, segments, k] = size;
        let largest = batches.last().copied().unwrap_or(1.0);
        let always = Self {
            n_fft,
            segments,
            k,
            few: Strategy::Fused,
            frames: 1.0,
            saved: 0.0,
            fused: fused.last().map_or(f64::NAN, |time| time / largest),
            learned: learned / largest,
        };
        let Some((few, times)) = others.iter().min_by(|(_, a), (_, b)| a[0].total_cmp(&b[0])) else { return always };
        // Logarithms of the batch, and of the ratio of times, which is positive where the other strategy is faster.
        let points: Vec<[f64; 2]> =
            batches.iter().zip(fused.iter().zip(times)).map(|(batch, (a, b))| [batch.ln(), (a / b).ln()]).collect();
        if points[0][1] <= TIE.ln() {
            return always;
        }
        let crossing = points.windows(2).find(|pair| pair[1][1] <= 0.0).or_else(|| points.windows(2).last());
        let frames = crossing.map_or(NEVER, |pair| {
            let [[start, high], [end, low]] = [pair[0], pair[1]];
            if low < high { (start + (end - start) * high / (high - low)).exp().clamp(1.0, NEVER) } else { NEVER }
        });
        Self { few: *few, frames, saved: fused[0] - times[0], ..always }
    }

    /// Number of frames up to which `few` is the fastest if its results also take `upload` nanoseconds to come to the
    /// device: what it saves falls in proportion to the number of frames.
    pub fn limit(&self, upload: f64) -> f64 {
        if self.few == Strategy::Fused { 1.0 } else { self.frames * (1.0 - upload / self.saved).max(0.0) }
    }
}

/// Crossovers of a device at every combination of measured lengths and numbers of segments and of peaks.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Crossovers(Vec<Crossover>);

impl Crossovers {
    /// Crossovers at every combination of lengths and numbers of segments and of peaks.
    ///
    /// # Errors
    /// [`InvalidMeasurement`] for combinations that are missing or there twice, and sizes and times out of range.
    pub fn new(rows: Vec<Crossover>) -> Result<Self, InvalidMeasurement> {
        let crossovers = Self(rows);
        crossovers.validate()?;
        Ok(crossovers)
    }

    /// Checks the crossovers, as of a profile read from a file.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn validate(&self) -> Result<(), InvalidMeasurement> {
        let positive = |value: f64| value.is_finite() && value > 0.0;
        let is_valid = |row: &Crossover| {
            [row.n_fft, row.segments, row.k].iter().all(|size| *size > 0)
                && positive(row.fused)
                && positive(row.learned)
                && (1.0..=NEVER).contains(&row.frames)
                && (row.few == Strategy::Fused || positive(row.saved))
                && row.few != Strategy::Learned
        };
        if !self.0.iter().all(is_valid) {
            return Err(InvalidMeasurement("sizes and times must be positive numbers".into()));
        }
        let count = |value: fn(&Crossover) -> usize| distinct(&self.0, value).len();
        let all = count(|row| row.n_fft) * count(|row| row.segments) * count(|row| row.k);
        let mut keys: Vec<_> = self.0.iter().map(|row| (row.n_fft, row.segments, row.k)).collect();
        keys.sort_unstable();
        keys.dedup();
        let is_grid = keys.len() == self.0.len() && keys.len() == all;
        let reason = "every length must have one crossover for each number of segments and of peaks";
        is_grid.then_some(()).ok_or_else(|| InvalidMeasurement(reason.into()))
    }

    /// Whether nothing was measured, as in a preset.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The measured crossovers.
    pub fn rows(&self) -> &[Crossover] {
        &self.0
    }

    /// The crossover of frames of `segments` segments of `n_fft` samples with `k` peaks; `None` if nothing was measured.
    ///
    /// Between measured lengths and numbers of segments, and beyond them, numbers of frames and times are powers of both.
    /// The strategy for few frames is that of the nearest ones. Numbers of peaks count as the next larger measured one.
    pub fn at(&self, n_fft: usize, segments: usize, k: usize) -> Option<Crossover> {
        let ks = distinct(&self.0, |row| row.k);
        let measured_k = *ks.iter().find(|measured| **measured >= k).or(ks.last())?;
        let rows: Vec<&Crossover> = self.0.iter().filter(|row| row.k == measured_k).collect();
        let (lengths, along_n) = neighbours(&distinct(&self.0, |row| row.n_fft), n_fft)?;
        let (numbers, along_segments) = neighbours(&distinct(&self.0, |row| row.segments), segments)?;
        let row = |n: usize, segments: usize| rows.iter().find(|row| (row.n_fft, row.segments) == (n, segments));
        let corners = [
            [row(lengths[0], numbers[0])?, row(lengths[0], numbers[1])?],
            [row(lengths[1], numbers[0])?, row(lengths[1], numbers[1])?],
        ];
        let mix = |value: fn(&Crossover) -> f64| {
            let line = |[start, end]: [f64; 2], share: f64| start + share * (end - start);
            line(corners.map(|pair| line(pair.map(|row| value(row).ln()), along_segments)), along_n).exp()
        };
        let nearest = corners[usize::from(along_n >= 0.5)][usize::from(along_segments >= 0.5)];
        Some(Crossover {
            n_fft,
            segments,
            k,
            few: nearest.few,
            frames: mix(|row| row.frames).clamp(1.0, NEVER),
            saved: nearest.saved,
            fused: mix(|row| row.fused),
            learned: mix(|row| row.learned),
        })
    }

    /// Nanoseconds per frame of a learned model that runs as an exact estimate, in a large batch; `None` of any other
    /// model, and if nothing was measured.
    pub fn learned(&self, model: &LearnedSize, n_fft: usize, k: usize, on_gpu: bool) -> Option<f64> {
        let crossover = self.at(n_fft, model.timed_segments(on_gpu), k)?;
        model.exact.then_some(crossover.learned)
    }
}

/// Sorted sizes of rows, each once.
fn distinct(rows: &[Crossover], size: fn(&Crossover) -> usize) -> Vec<usize> {
    let mut sizes: Vec<usize> = rows.iter().map(size).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// The sizes around one, or the two at the edge, and its place between their logarithms.
fn neighbours(sizes: &[usize], size: usize) -> Option<([usize; 2], f64)> {
    let last = sizes.len().checked_sub(1)?;
    let next = sizes.partition_point(|value| *value < size).clamp(1.min(last), last);
    let pair = [sizes[next.saturating_sub(1)], sizes[next]];
    let [low, high, size] = [pair[0], pair[1], size.max(1)].map(|size| (size as f64).ln());
    Some((pair, if high > low { (size - low) / (high - low) } else { 0.0 }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(n_fft: usize, segments: usize, k: usize, frames: f64) -> Crossover {
        let time = (n_fft * segments) as f64;
        let few = if frames > 1.0 { Strategy::Host } else { Strategy::Fused };
        Crossover { n_fft, segments, k, few, frames, saved: 100.0, fused: time, learned: 2.0 * time }
    }

    fn crossovers() -> Crossovers {
        let rows = [64, 256, 4096].into_iter().flat_map(|n| {
            let frames = move |segments: usize| 65536.0 / (n * segments) as f64;
            [1, 8].into_iter().flat_map(move |s| [row(n, s, 16, frames(s)), row(n, s, 64, 1.0)])
        });
        Crossovers::new(rows.collect()).unwrap()
    }

    #[test]
    fn sizes_between_and_beyond_the_measured_ones_are_powers() {
        let crossovers = crossovers();
        for (n, segments) in [(64, 1), (256, 8), (100, 3), (4096, 2), (1000, 20), (16, 1)] {
            let found = crossovers.at(n, segments, 4).unwrap();
            let samples = (n * segments) as f64;
            for (found, expected) in [(found.frames, 65536.0 / samples), (found.fused, samples)] {
                assert!((found / expected - 1.0).abs() < 1e-9, "{n} × {segments}: {found} for {expected}");
            }
            assert!((found.learned / found.fused - 2.0).abs() < 1e-9 && found.few == Strategy::Host);
        }
        assert_eq!(crossovers.at(65536, 8, 4).unwrap().frames, 1.0);
        assert_eq!(Crossovers::default().at(64, 1, 4), None);
    }

    #[test]
    fn numbers_of_peaks_count_as_the_next_larger_measured_one() {
        let few = |k| crossovers().at(64, 1, k).unwrap().few;
        assert_eq!([1, 16, 17, 64, 100].map(few), {
            let (host, fused) = (Strategy::Host, Strategy::Fused);
            [host, host, fused, fused, fused]
        });
    }

    #[test]
    fn the_crossover_lies_where_the_times_are_equal() {
        let batches = [1.0, 4.0, 16.0, 64.0];
        let fit = |host: fn(f64) -> f64, fused: f64| {
            let others = [(Strategy::Spectrum, vec![900.0; 4]), (Strategy::Host, batches.map(host).to_vec())];
            Crossover::fit([64, 2, 16], &batches, &[fused; 4], 128.0, &others)
        };
        let found = fit(|batch| 10.0 * batch, 100.0);
        assert_eq!((found.few, found.saved, found.learned), (Strategy::Host, 90.0, 2.0));
        assert!((found.frames - 10.0).abs() < 1e-9, "{found:?}");
        // Uploading half of what it saves halves the number of frames.
        assert!((found.limit(45.0) - 5.0).abs() < 1e-9 && found.limit(1000.0) == 0.0);
        assert_eq!(
            (fit(|batch| 10.0 * batch, 10.4).few, fit(|batch| 10.0 * batch, 10.4).frames),
            (Strategy::Fused, 1.0)
        );
        // Beyond the largest batch by the slope at the edge; never without one.
        assert!((fit(|batch| 10.0 * batch, 6400.0).frames - 640.0).abs() < 1e-6);
        assert_eq!(fit(|_| 10.0, 100.0).frames, NEVER);
    }

    #[test]
    fn incomplete_and_invalid_crossovers_are_errors() {
        let error = |rows: Vec<Crossover>| Crossovers::new(rows).unwrap_err().to_string();
        for rows in [crossovers().0[1..].to_vec(), [crossovers().0, vec![row(64, 1, 16, 2.0)]].concat()] {
            assert!(error(rows).starts_with("every length must have one crossover"));
        }
        for wrong in [row(0, 1, 16, 2.0), row(64, 1, 16, 0.5), Crossover { fused: f64::NAN, ..row(64, 1, 16, 2.0) }] {
            assert_eq!(error(vec![wrong]), "sizes and times must be positive numbers");
        }
    }
}
