//! Pipeline problem: frames, and the result to compute.

use crate::harness::parameters::ParameterMap;
use crate::harness::problem::{Problem, ProblemError, WorkSize};
use crate::suites::peaks::{ExpectedPeaks, FrameInputs, PeaksProblem, ReferenceMismatch};
use burn::tensor::Device;

/// Result of a pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pipeline {
    /// Power of every bin.
    Psd,
    /// Power in triangular filters on the mel scale.
    Mel,
    /// The strongest bins.
    Peaks,
}

impl Pipeline {
    /// Every pipeline.
    pub const ALL: [Self; 3] = [Self::Psd, Self::Mel, Self::Peaks];

    /// Name that users type.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Psd => "psd",
            Self::Mel => "mel",
            Self::Peaks => "peaks",
        }
    }
}

/// Pipeline on a batch of frames.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PipelineProblem {
    /// The result.
    pub pipeline: Pipeline,
    /// The frames, the estimate, and K.
    pub peaks: PeaksProblem,
    /// Filters of the mel pipeline.
    pub mels: usize,
    /// Sampling rate in hertz.
    pub sample_rate: f64,
}

impl PipelineProblem {
    /// Values of the result per frame.
    pub const fn width(&self) -> usize {
        match self.pipeline {
            Pipeline::Psd => self.peaks.options.bins(),
            Pipeline::Mel => self.mels,
            Pipeline::Peaks => 2 * self.peaks.k,
        }
    }
}

impl Problem for PipelineProblem {
    type Inputs = FrameInputs;
    type Expected = Vec<ExpectedPeaks>;
    type ReferenceError = ReferenceMismatch;

    fn parameters(&self) -> ParameterMap {
        let peaks = self.peaks.parameters().without(&["k"]);
        let parameters = ParameterMap::default().with("pipeline", self.pipeline.name());
        let parameters = peaks.iter().fold(parameters, |all, (name, value)| all.with(name, value.clone()));
        match self.pipeline {
            Pipeline::Psd => parameters,
            Pipeline::Mel => parameters.with("mels", self.mels).with("sample_rate", self.sample_rate),
            Pipeline::Peaks => parameters.with("k", self.peaks.k),
        }
    }

    fn check(&self) -> Result<(), ProblemError> {
        self.peaks.check()
    }

    fn size(&self) -> WorkSize {
        let output = self.peaks.batch * self.width() * size_of::<f32>();
        WorkSize { rows: self.peaks.batch, useful_bytes: self.peaks.input_bytes() + output }
    }

    fn input_memory(&self, most_sets: usize) -> usize {
        self.peaks.input_memory(most_sets)
    }

    fn generate(&self, seed: u64, most_sets: usize, device: &Device) -> FrameInputs {
        self.peaks.generate(seed, most_sets, device)
    }

    fn fits(&self, inputs: &FrameInputs) -> bool {
        self.peaks.fits(inputs)
    }

    fn expected(&self, inputs: &FrameInputs, seed: u64) -> Result<Vec<ExpectedPeaks>, ReferenceMismatch> {
        self.peaks.expected(inputs, seed)
    }
}

/// Every pipeline on problems of peaks, those of an input next to each other. Pipelines without peaks are there once
/// per input, whatever the numbers of peaks.
pub fn grid(pipelines: &[Pipeline], problems: &[PeaksProblem], mels: usize, sample_rate: f64) -> Vec<PipelineProblem> {
    let mut all: Vec<PipelineProblem> = Vec::new();
    let same_input = |a: &PeaksProblem, b: &PeaksProblem| (a.options, a.batch) == (b.options, b.batch);
    for peaks in problems.chunk_by(same_input) {
        for &pipeline in pipelines {
            let count = if pipeline == Pipeline::Peaks { peaks.len() } else { 1 };
            all.extend(peaks[..count].iter().map(|&peaks| PipelineProblem { pipeline, peaks, mels, sample_rate }));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use firefly_models::Tier;

    use super::*;

    #[test]
    fn a_problem_has_the_parameters_of_its_pipeline() {
        let peaks = crate::suites::peaks::grid(&[64], &[Tier::Fast], &[10], &[4, 8]);
        let problems = grid(&Pipeline::ALL, &peaks, 20, 8_000.0);
        let shown: Vec<String> = problems.iter().map(|problem| problem.parameters().to_string()).collect();
        assert_eq!(shown[0], "pipeline psd, n_fft 64, tier fast, segments 2, hop 32, frame 96, batch 10");
        assert!(shown[1].ends_with("batch 10, mels 20, sample_rate 8000.0"), "{}", shown[1]);
        assert!(shown[2].ends_with("batch 10, k 4"), "{}", shown[2]);
        assert!(shown.len() == 4 && shown[3].ends_with("batch 10, k 8"), "{shown:?}");
        assert_eq!(problems[1].size().useful_bytes, 10 * (96 + 20) * 4);
    }
}
