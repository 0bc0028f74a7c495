//! Power over time and frequency at the resolution of a drawing.

/// Columns at most; where more come, neighbours are averaged.
const MAX_COLUMNS: usize = 1024;
/// Rows at most; neighbouring bins are one row, of their greatest power.
const MAX_ROWS: usize = 256;

/// Mean power of columns of frames, of bounded size however many frames there are.
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    pub(super) bins: usize,
    /// Rows, by rising frequency.
    pub(super) rows: usize,
    /// Sums of power per whole column, `[columns, rows]`.
    columns: Vec<f64>,
    /// Sums of the column that is not whole, and its frames.
    last: Vec<f64>,
    last_frames: u64,
    /// Frames of a whole column.
    frames_per_column: u64,
}

impl Picture {
    pub fn new(bins: usize) -> Self {
        let rows = bins.min(MAX_ROWS);
        Self { bins, rows, columns: Vec::new(), last: vec![0.0; rows], last_frames: 0, frames_per_column: 1 }
    }

    /// Adds the power of the next frame; power that is not finite counts as none.
    ///
    /// # Panics
    /// If `power` has not as many values as bins.
    pub fn add(&mut self, power: &[f32]) {
        assert_eq!(power.len(), self.bins, "bins of a spectrum");
        for (row, sum) in self.last.iter_mut().enumerate() {
            let bins = row * self.bins / self.rows..(row + 1) * self.bins / self.rows;
            let greatest = power[bins].iter().copied().filter(|value| value.is_finite()).fold(0.0, f32::max);
            *sum += f64::from(greatest);
        }
        self.last_frames += 1;
        if self.last_frames == self.frames_per_column {
            self.columns.append(&mut self.last);
            self.last = vec![0.0; self.rows];
            self.last_frames = 0;
            if self.columns.len() == MAX_COLUMNS * self.rows {
                self.halve();
            }
        }
    }

    fn halve(&mut self) {
        let rows = self.rows;
        let joined = self.columns.chunks(2 * rows).flat_map(|pair| (0..rows).map(|row| pair[row] + pair[rows + row]));
        self.columns = joined.collect();
        self.frames_per_column *= 2;
    }

    /// Mean power of each column, with its share of the time, which is 1 together.
    pub fn columns(&self) -> Vec<(f64, Vec<f64>)> {
        let whole = self.columns.chunks(self.rows).map(|sums| (self.frames_per_column, sums));
        let columns: Vec<_> =
            whole.chain((self.last_frames > 0).then_some((self.last_frames, &self.last[..]))).collect();
        let total: u64 = columns.iter().map(|(frames, _)| frames).sum();
        let mean = |frames: u64, sums: &[f64]| sums.iter().map(|sum| sum / frames as f64).collect();
        columns.into_iter().map(|(frames, sums)| (frames as f64 / total as f64, mean(frames, sums))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_frames_fits_and_keeps_its_mean() {
        for frames in [1, 1023, 1024, 1025, 5000] {
            let mut picture = Picture::new(3);
            (0..frames).for_each(|frame| picture.add(&[1.0, frame as f32, f32::NAN]));
            let columns = picture.columns();
            assert!(columns.len() <= MAX_COLUMNS, "{frames}");
            assert!((columns.iter().map(|(share, _)| share).sum::<f64>() - 1.0).abs() < 1e-9);
            let mean = columns.iter().map(|(share, power)| share * power[1]).sum::<f64>();
            assert!((mean - (frames - 1) as f64 / 2.0).abs() < 1e-6 * frames as f64);
            assert!(columns.iter().all(|(_, power)| power[0] == 1.0 && power[2] == 0.0));
        }
    }

    #[test]
    fn neighbouring_bins_are_one_row_of_their_greatest_power() {
        let mut picture = Picture::new(1025);
        let mut power = vec![0.0; 1025];
        power[1024] = 5.0;
        picture.add(&power);
        let columns = picture.columns();
        assert_eq!((picture.rows, columns[0].1[255], columns[0].1[254]), (256, 5.0, 0.0));
    }
}
