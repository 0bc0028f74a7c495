//! Recordings kept on an accelerator: a batch is cut there, and only places and gains travel.

use burn::tensor::{Device, Int, Tensor, TensorData};

use super::frames::{Cut, FrameSampler};

/// Samples that are kept at most: 128 MiB, which every device's buffers hold.
const MOST: usize = (128 << 20) / size_of::<f32>();

/// A corpus on a device, and the sampler of frames of it.
#[derive(Debug, Clone)]
pub struct Resident {
    sampler: FrameSampler,
    /// Every recording's, one after the other.
    samples: Tensor<1>,
    /// Where each recording starts.
    starts: Vec<usize>,
}

impl Resident {
    /// Brings the sampler's corpus to `device`, unless it is too large to keep there.
    pub fn new(sampler: &FrameSampler, device: &Device) -> Option<Self> {
        let recordings = sampler.corpus().recordings();
        let all = usize::try_from(sampler.corpus().samples()).ok().filter(|all| *all <= MOST)?;
        let mut samples = Vec::with_capacity(all);
        let mut starts = Vec::with_capacity(recordings.len());
        for recording in recordings {
            starts.push(samples.len());
            samples.extend_from_slice(&recording.samples);
        }
        let samples = Tensor::from_data(TensorData::new(samples, [all]), device);
        Some(Self { sampler: sampler.clone(), samples, starts })
    }

    /// The frames `first`, `first + 1`, … as a tensor `[rows, frame]`: the bits of
    /// [`Source::fill_batch`](super::Source::fill_batch).
    pub fn batch(&self, first: u64, rows: usize) -> Tensor<2> {
        let device = self.samples.device();
        let (mut places, mut gains) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
        for index in (first..).take(rows) {
            let Cut { recording, offset, gain } = self.sampler.cut(index);
            places.push((self.starts[recording] + offset) as i32);
            gains.push(gain);
        }
        let frame = self.sampler.frame();
        let places = Tensor::<2, Int>::from_data(TensorData::new(places, [rows, 1]), &device);
        let within = Tensor::<1, Int>::arange(0..frame as i64, &device).reshape([1, frame]);
        let samples = self.samples.clone().select(0, (places + within).reshape([rows * frame])).reshape([rows, frame]);
        samples * Tensor::from_data(TensorData::new(gains, [rows, 1]), &device)
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::{Choice, Corpus, Recording, SamplingConfig, Source};
    use super::*;

    fn recording(length: usize) -> Recording {
        let samples = (0..length).map(|i| ((i * i) as f32).sin()).collect();
        Recording { path: PathBuf::from(format!("{length}.wav")).into(), channel: 0, sample_rate: 100, samples }
    }

    #[test]
    fn a_batch_cut_on_a_device_has_the_bits_of_one_cut_on_the_host() {
        let corpus = Corpus::from_recordings([40, 9, 100].map(recording).to_vec(), 8).unwrap();
        for gain_db in [0.0, 6.0] {
            let config = SamplingConfig { choice: Choice::ByFile, gain_db, random_polarity: true };
            let sampler = FrameSampler::new(corpus.clone(), 8, config, 3).unwrap();
            let resident = Resident::new(&sampler, &Device::flex()).unwrap();
            let mut expected = vec![0.0; 50 * 8];
            Source::Recordings(sampler).fill_batch(20, &mut expected);
            let cut = resident.batch(20, 50).into_data().try_to_vec::<f32>().unwrap();
            assert!(expected.iter().zip(&cut).all(|(a, b)| a.to_bits() == b.to_bits()));
        }
    }
}
