//! `firefly-bench e2e`: whole pipelines, power spectra, mel spectra and peaks, from frames in host memory to results in
//! host memory.

use std::io::Write;
use std::sync::Arc;

use anyhow::{Result, ensure};
use burn::tensor::{Tensor, TensorData};
use clap::ValueEnum;
use firefly_ops::options::{MelBands, MelNorm, MelScale, mel_filters};
use firefly_ops::{ArgumentError, WelchOptions};
use firefly_reference::mel::{MelDefinition, Scale};

use super::comparison::{Comparison, MeasureOptions};
use super::layers::{MAX_MELS, mel_definition};
use super::options::{PeaksGrid, TrainOptions};
use super::peaks::{
    PeaksProblem, SPECTRA, STOCK, TrainedModels, check_peaks, expected, facts, from_host, kernel_set, learned_rows,
};
use crate::harness::{
    BenchStrategy, CaseRecord, CaseResult, Computed, Expectation, ExpectedRow, Inputs, ParameterMap, Problem,
    ProblemSpec, TensorRoutine, Verified, check, distinct, tolerance, value_name, whole,
};

#[derive(Debug, Clone, clap::Args)]
pub struct E2eArgs {
    /// Results to compute
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "psd,mel,peaks")]
    pub pipeline: Vec<Pipeline>,
    #[command(flatten)]
    pub grid: PeaksGrid,
    /// Filters of the mel pipeline, from 1 to 4096
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = whole::<usize>)]
    pub mels: usize,
    /// Sampling rate of the mel filters in hertz, above 0
    #[arg(long, value_name = "HERTZ", default_value_t = 16_000.0)]
    pub sample_rate: f64,
    #[command(flatten)]
    pub train: TrainOptions,
    #[command(flatten)]
    pub measure: MeasureOptions,
}

pub fn run(arguments: &E2eArgs, out: &mut dyn Write) -> Result<Vec<CaseRecord>> {
    let E2eArgs { pipeline, grid: sizes, mels, sample_rate, train, measure } = arguments;
    train.check(measure)?;
    let pipelines = distinct(pipeline.iter().copied());
    ensure!((1..=MAX_MELS).contains(mels), "--mels is {mels}, but must be from 1 to {MAX_MELS}");
    ensure!(
        sample_rate.is_finite() && *sample_rate > 0.0,
        "--sample-rate is {sample_rate}, but must be a positive number of hertz"
    );
    let facts = facts();
    let names: Vec<String> = pipelines.iter().map(value_name).collect();
    let comparison = Comparison {
        command: "e2e",
        heading: vec![
            format!("one-sided f32 power: {facts}; {mels} triangular mel filters at {sample_rate} Hz"),
            "a row is a frame; from frames in host memory to results in host memory; GB/s: both once".into(),
        ],
        facts,
        options: train.parameters(
            sizes.parameters().with("pipeline", names).with("mels", *mels).with("sample_rate", *sample_rate),
        ),
        problems: grid(&pipelines, &sizes.problems(), *mels, *sample_rate),
        columns: &["n_fft", "segments", "batch", "pipeline", "k"],
        catalogue: &catalogue(train, measure.seed),
        default_baseline: "burn-stock",
    };
    let cases = comparison.run(measure, out)?;
    write!(out, "{}", comparison.crossovers(&cases, &["batch", "k"], measure.layout()))?;
    Ok(cases)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Pipeline {
    Psd,
    // Power in triangular filters on the mel scale.
    Mel,
    Peaks,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PipelineProblem {
    pub pipeline: Pipeline,
    pub peaks: PeaksProblem,
    pub mels: usize,
    pub sample_rate: f64,
}

impl PipelineProblem {
    pub const fn width(&self) -> usize {
        match self.pipeline {
            Pipeline::Psd => self.peaks.options.bins(),
            Pipeline::Mel => self.mels,
            Pipeline::Peaks => 2 * self.peaks.k,
        }
    }
}

impl Problem for PipelineProblem {
    fn spec(&self) -> ProblemSpec {
        let ProblemSpec { parameters: peaks, rows, inputs, refused, .. } = self.peaks.spec();
        let parameters = ParameterMap::default().with("pipeline", value_name(&self.pipeline));
        let parameters =
            peaks.without(&["k"]).iter().fold(parameters, |all, (name, value)| all.with(name, value.clone()));
        let parameters = match self.pipeline {
            Pipeline::Psd => parameters,
            Pipeline::Mel => parameters.with("mels", self.mels).with("sample_rate", self.sample_rate),
            Pipeline::Peaks => parameters.with("k", self.peaks.k),
        };
        let result = rows.saturating_mul(self.width()).saturating_mul(size_of::<f32>());
        ProblemSpec { refused, ..ProblemSpec::new(parameters, rows, inputs, result) }
    }
}

/// Every pipeline on problems of peaks, those of an input next to each other. Pipelines without peaks are there once
/// per input, whatever the numbers of peaks.
fn grid(pipelines: &[Pipeline], problems: &[PeaksProblem], mels: usize, sample_rate: f64) -> Vec<PipelineProblem> {
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

/// Tolerances of a sum over the filters, which rounds once more per term.
const MEL_TOLERANCES: f64 = 2.0;

pub fn catalogue(train: &TrainOptions, seed: u64) -> Vec<BenchStrategy<PipelineProblem>> {
    vec![firefly(), burn_stock(), learned(TrainedModels::new(train, seed), train.is_asked())]
}

fn firefly() -> BenchStrategy<PipelineProblem> {
    let chunked = from_host(false);
    let summary = "frames to the device, Firefly's welch_psd (mel: a matrix product after it), results read back; peaks in \
                   chunks that overlap";
    BenchStrategy::new("firefly", summary, move |problem: &PipelineProblem, inputs| {
        if problem.pipeline == Pipeline::Peaks {
            return (chunked.verify)(&problem.peaks, inputs);
        }
        let model = problem.peaks.exact_model(inputs.device())?;
        let expected = expected(&problem.peaks, inputs);
        check_values(problem, inputs, expected, move |signal| Ok(model.try_psd(signal)?))
    })
    .with_forced_sets(|problem| kernel_set(&problem.peaks))
    .with_temporaries(SPECTRA)
}

fn burn_stock() -> BenchStrategy<PipelineProblem> {
    let summary = "frames to the device, Burn's own unfold, rfft and topk_with_indices (mel: a matrix product), results read \
                   back";
    BenchStrategy::new("burn-stock", summary, |problem: &PipelineProblem, inputs| {
        let stock = problem.peaks.stock_model(inputs.device())?;
        let expected = expected(&problem.peaks, inputs);
        if problem.pipeline == Pipeline::Peaks {
            let routine = to_host(inputs, move |signal| Ok(stock.forward(signal)));
            // Burn's sort leaves the order of equal powers open.
            return check_peaks(routine, &problem.peaks, inputs, expected, false);
        }
        check_values(problem, inputs, expected, move |signal| Ok(stock.psd(signal)))
    })
    .with_temporaries(STOCK)
}

/// A learned model in place of the exact estimate, trained towards the peaks of eight segments.
fn learned(models: TrainedModels, is_asked: bool) -> BenchStrategy<PipelineProblem> {
    let summary = "as firefly, by a LearnedWelchPeaks: that of --run, or one trained for --train-steps on synthetic signals; \
                   runs with one of these options or by name";
    let strategy = BenchStrategy::new("learned", summary, move |problem: &PipelineProblem, inputs| {
        let (model, accuracy) = models.model(&problem.peaks, inputs.device())?;
        let expected = learned_rows(&model, inputs);
        let gates = model.hard_gates();
        let verified = if problem.pipeline == Pipeline::Peaks {
            let routine = to_host(inputs, move |signal| Ok(model.try_forward(signal, &gates)?));
            check_peaks(routine, &problem.peaks, inputs, expected, true)?
        } else {
            let power = move |signal| Ok(model.try_psd(signal, &gates)?);
            check_values(problem, inputs, expected, power)?
        };
        Ok(Verified { accuracy: Some(accuracy), ..verified })
    })
    .without_competing()
    .with_temporaries(SPECTRA)
    .also_called(&["learned_compiled"]);
    if is_asked { strategy } else { strategy.by_name() }
}

/// Operations on frames from host memory to host memory.
fn to_host<'a, C: Into<Computed> + 'a>(
    inputs: &'a Inputs,
    operations: impl Fn(Tensor<2>) -> Result<C> + Send + 'a,
) -> TensorRoutine<'a, Tensor<2>> {
    let upload = move |set| Ok(inputs.uploaded(set).remove(0));
    TensorRoutine::new(inputs.device(), upload, operations).reading_back()
}

/// Runs operations that give the power `[batch, bins]` of frames from host memory to host memory, through the filters
/// where there are some, and compares the result with the `expected` power.
fn check_values<'a>(
    problem: &PipelineProblem,
    inputs: &'a Inputs,
    expected: Arc<Vec<ExpectedRow>>,
    power: impl Fn(Tensor<2>) -> Result<Tensor<2>> + Send + 'a,
) -> CaseResult<Verified<'a>> {
    let allowed = tolerance(problem.peaks.options.n_fft);
    let expectation = |rows, allowed| Expectation::of_rows(rows, [1, problem.peaks.batch, problem.width()], allowed);
    if problem.pipeline == Pipeline::Psd {
        let routine = to_host(inputs, move |signal| Ok(vec![power(signal)?]));
        return check(routine, &expectation(expected, allowed), inputs);
    }
    let bins = problem.peaks.options.bins();
    let weights = filterbank(bins, problem.mels, problem.sample_rate).map_err(anyhow::Error::from)?;
    let weights = TensorData::new(weights, [bins, problem.mels]).convert::<f32>();
    let filters = Tensor::<2>::from_data(weights, inputs.device());
    let WelchOptions { n_fft, hop, .. } = problem.peaks.options;
    let definition = mel_definition([n_fft, hop, problem.mels], problem.sample_rate);
    let definition = MelDefinition { scale: Scale::Htk, equal_area: false, ..definition }.filters();
    let dot = |power: &[f64], filter: &[f64]| power.iter().zip(filter).map(|(p, w)| p * w).sum::<f64>();
    let through = |row: &ExpectedRow| {
        let bands = definition.iter().map(|filter| dot(&row.parts[0], filter)).collect();
        ExpectedRow { parts: vec![bands], ..row.clone() }
    };
    let mels = Arc::new(expected.iter().map(through).collect());
    let routine = to_host(inputs, move |signal| Ok(vec![power(signal)?.matmul(filters.clone())]));
    check(routine, &expectation(mels, MEL_TOLERANCES * allowed), inputs)
}

/// Triangular filters `[bins, filters]`, row-major, on a one-sided spectrum of `bins` bins from 0 to half of
/// `sample_rate`, with the HTK scale and without normalisation.
fn filterbank(bins: usize, filters: usize, sample_rate: f64) -> Result<Vec<f64>, ArgumentError> {
    let bands = MelBands::new(sample_rate, filters).with_scale(MelScale::Htk).with_norm(MelNorm::None);
    let rows = mel_filters(2 * bins.saturating_sub(1), &bands)?;
    Ok((0..bins).flat_map(|bin| rows.iter().map(move |row| row[bin])).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_has_the_parameters_of_its_pipeline() {
        let peaks = [4, 8].map(|k| PeaksProblem::new(64, 2, 10, k));
        let problems = grid(Pipeline::value_variants(), &peaks, 20, 8_000.0);
        let shown: Vec<String> = problems.iter().map(|problem| problem.spec().parameters.to_string()).collect();
        assert_eq!(shown[0], "pipeline psd, n_fft 64, segments 2, hop 32, frame 96, batch 10");
        assert!(shown[1].ends_with("batch 10, mels 20, sample_rate 8000.0"), "{}", shown[1]);
        assert!(shown[2].ends_with("batch 10, k 4"), "{}", shown[2]);
        assert!(shown.len() == 4 && shown[3].ends_with("batch 10, k 8"), "{shown:?}");
        assert_eq!(problems[1].spec().useful_bytes, 10 * (96 + 20) * 4);
    }

    fn mel(hertz: f64) -> f64 {
        2595.0 * (1.0 + hertz / 700.0).log10()
    }

    fn hertz(mel: f64) -> f64 {
        700.0 * (10f64.powf(mel / 2595.0) - 1.0)
    }

    #[test]
    fn the_scale_is_the_published_one() {
        assert!((mel(1000.0) - 999.99).abs() < 0.01);
        assert!((hertz(mel(440.0)) - 440.0).abs() < 1e-9);
    }

    #[test]
    fn between_the_outer_centres_neighbours_add_up_to_one() {
        let (bins, filters) = (129, 8);
        let bank = filterbank(bins, filters, 16_000.0).unwrap();
        let row = |bin: usize| &bank[bin * filters..(bin + 1) * filters];
        let sums: Vec<f64> = (0..bins).map(|bin| row(bin).iter().sum()).collect();
        let first = hertz(mel(8_000.0) / 9.0);
        let last = hertz(mel(8_000.0) * 8.0 / 9.0);
        for (bin, sum) in sums.iter().enumerate() {
            let frequency = 8_000.0 * bin as f64 / 128.0;
            if (first..=last).contains(&frequency) {
                assert!((sum - 1.0).abs() < 1e-12, "bin {bin}: {sum}");
            }
        }
        assert!(sums[0] == 0.0 && sums[128] < 1e-12);
        assert!(bank.iter().all(|weight| (0.0..=1.0).contains(weight)));
    }

    #[test]
    fn one_filter_by_hand() {
        // Edges at 0, 1,000 mel-halves: with one filter, the centre is where half of the mels of Nyquist are.
        let bank = filterbank(3, 1, 2_000.0).unwrap();
        let centre = hertz(mel(1_000.0) / 2.0);
        assert_eq!(bank[0], 0.0);
        assert!((bank[1] - (1_000.0 - 500.0) / (1_000.0 - centre)).abs() < 1e-12);
        assert!(bank[2].abs() < 1e-12);
    }
}
