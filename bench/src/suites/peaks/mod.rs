//! `firefly-bench welch-peaks`: the strongest lines of Welch spectra, strategy against strategy; and what other commands on
//! the same problems share.

mod learned;
mod problem;

use std::io::Write;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use burn::tensor::{DType, Int, Tensor, TensorData};
use firefly_framework::published::PublishedStrategy;
use firefly_models::auto::Strategy;
use firefly_models::{AutoWelchPeaksConfig, Peaks, WelchPeaks};
use firefly_ops::ArgumentError;
use firefly_ops::from_host::{HostPeaks, host_chunks};
use firefly_ops::instruction_sets::{InstructionSet, welch_instruction_set};
use firefly_ops::rustfft_plans::Planned;
use rustfft::FftDirection;

use self::learned::learned;
pub use self::learned::{TrainedModels, learned_rows};
pub use self::problem::{PeaksProblem, check_peaks, definition, expected, facts, welch_power};
use self::problem::{SYMMETRY, WINDOW};
use super::comparison::{Comparison, MeasureOptions};
use super::options::{PeaksGrid, TrainOptions};
use crate::baselines::copy;
use crate::baselines::transforms::instruction_set;
use crate::baselines::welch_peaks::{SegmentTransform, routine};
use crate::harness::{
    BY_DEVICE_CLOCK, BenchStrategy, Calls, CaseRecord, Computed, Inputs, Problem, QUEUED, Selected, TensorRoutine,
    Verified,
};

/// Options of `welch-peaks`.
#[derive(Debug, Clone, clap::Args)]
pub struct WelchPeaksArgs {
    #[command(flatten)]
    grid: PeaksGrid,
    /// Spread the segments evenly over a frame of N segments, at most 128, instead of one after the other [default without
    /// N: 8]
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "8")]
    spread: Option<usize>,
    #[command(flatten)]
    pub(crate) train: TrainOptions,
    #[command(flatten)]
    pub(crate) measure: MeasureOptions,
}

/// Runs the grid that `arguments` describe over strategies of `catalogue`, and prints the table to `out`.
pub fn run(
    arguments: &WelchPeaksArgs,
    catalogue: &[BenchStrategy<PeaksProblem>],
    out: &mut dyn Write,
) -> Result<Vec<CaseRecord>> {
    let WelchPeaksArgs { grid, spread, train, measure } = arguments;
    train.check(measure)?;
    let (mut problems, mut facts, mut options) = (grid.problems(), facts(), grid.parameters());
    if let Some(frame) = *spread {
        for problem in &mut problems {
            *problem = problem.spread(frame).context("--spread")?;
            let averaged = problem.options.averaged();
            ensure!(
                averaged < frame,
                "--spread is {frame}, but must be more segments than the {averaged} that are used"
            );
        }
        facts = facts.with("segments", format!("spread over {frame}"));
        options = options.with("spread", frame);
    }
    let comparison = Comparison {
        command: "welch-peaks",
        heading: vec![
            format!("one-sided f32 power: {facts}"),
            "a row is a frame; GB/s: every sample once and 8 bytes per peak; error: of a peak's power, of its row's \
             maximum"
                .into(),
        ],
        facts,
        options: train.parameters(options),
        problems,
        columns: PeaksGrid::COLUMNS,
        catalogue,
        default_baseline: "rustfft",
    };
    let cases = comparison.run(measure, out)?;
    write!(out, "{}", comparison.crossovers(&cases, &["batch", "k"], measure.layout()))?;
    Ok(cases)
}

const FIREFLY: &str = "firefly";

/// Memory that spectra of power take, which the host or Burn searches, in input sets with their results: a sort has
/// indices of 64 bits beside each value, twice.
pub const SPECTRA: usize = 3;
/// Memory of Burn's own operations: segments before and after the window, their spectra as they are and squared, and then
/// as [`SPECTRA`].
pub const STOCK: usize = 9;
/// Memory of complex spectra of every segment, as they are, in another layout, and read back.
pub const READ_SPECTRA: usize = 10;

/// Every strategy, in the order of the table's rows, with learned models as `train` says.
pub fn catalogue(train: &TrainOptions, seed: u64) -> Vec<BenchStrategy<PeaksProblem>> {
    let models = Arc::new(TrainedModels::new(train, seed));
    let published = |name, summary| published(name, summary, &models);
    vec![
        firefly(),
        calls_of_module("firefly-queued", QUEUED, Calls::InFlight).in_flight(),
        calls_of_module("firefly-kernels", BY_DEVICE_CLOCK, Calls::ByDeviceClock).in_flight(),
        published("auto", "Firefly's AutoWelchPeaks module: the method predicted fastest"),
        from_host(false),
        from_host(true),
        of_16_bits(false),
        of_16_bits(true),
        psd_top_k(),
        burn_stock(),
        on_library("rustfft", "host: rustfft, planned, two segments in one transform, select_nth top-K", |n| {
            SegmentTransform::Paired(f32::plan(n, FftDirection::Forward))
        }),
        on_library("realfft", "host: realfft, planned, one transform per segment, select_nth top-K", |n| {
            SegmentTransform::Single(f32::real_plan(n))
        }),
        copy::strategy(),
        learned(models.clone(), false),
        learned(models.clone(), true),
        published(
            "any",
            "AutoWelchPeaks: the fastest of one, two and eight segments and all methods, and of the model of --run",
        ),
        published("legacy", "AutoWelchPeaks by the published thresholds on the batch"),
        published("ultra", "AutoWelchPeaks: one segment of each frame, on the host"),
        published("fast", "AutoWelchPeaks: two segments of each frame, on the host"),
        published("fused", "AutoWelchPeaks: two segments of each frame, on the device"),
        published("reference", "AutoWelchPeaks: eight segments of each frame"),
        fastbuf(),
    ]
}

/// Calls of `operations` on the frames `[batch, frame]` of input sets on the device; the result stays there.
pub fn on_device<'a, C: Into<Computed> + 'a>(
    inputs: &'a Inputs,
    operations: impl Fn(Tensor<2>) -> Result<C> + Send + 'a,
) -> TensorRoutine<'a, Tensor<2>> {
    let sets = inputs.tensors();
    TensorRoutine::new(inputs.device(), move |set| Ok(sets[set][0].clone()), operations)
}

/// Peaks of frames in host memory, in host memory: `[frames, k]` bins, then power.
fn from_chunks(model: &WelchPeaks, chunks: impl IntoIterator<Item = TensorData>) -> Result<Computed> {
    let HostPeaks { bins, power } = model.try_forward_from_host(chunks)?;
    let shape = [bins.len() / model.k(), model.k()];
    Ok(Computed::OnHost(vec![TensorData::new(bins, shape), TensorData::new(power, shape)]))
}

pub(crate) fn firefly() -> BenchStrategy<PeaksProblem> {
    calls_of_module(FIREFLY, "Firefly's WelchPeaks module on the device", Calls::One)
}

fn calls_of_module(name: &'static str, summary: &'static str, calls: Calls) -> BenchStrategy<PeaksProblem> {
    of_module(name, summary, calls, true, |model, signal| model.try_forward(signal))
}

/// Firefly's power spectra, then Burn's top-K. Burn's sort leaves the order of equal powers open.
fn psd_top_k() -> BenchStrategy<PeaksProblem> {
    let summary = "Firefly's welch_psd, then Burn's topk_with_indices, both on the device";
    of_module("psd-topk", summary, Calls::One, false, |model, signal| {
        let (power, bins) = model.try_psd(signal)?.topk_with_indices(model.k(), 1);
        Ok(Peaks { bins, power })
    })
    .with_temporaries(SPECTRA)
}

/// Peaks by operations of the exact module, which order ties or not.
fn of_module(
    name: &'static str,
    summary: &'static str,
    calls: Calls,
    orders_ties: bool,
    peaks: fn(&WelchPeaks, Tensor<2>) -> Result<Peaks<2>, ArgumentError>,
) -> BenchStrategy<PeaksProblem> {
    BenchStrategy::new(name, summary, move |problem: &PeaksProblem, inputs| {
        let model = problem.exact_model(inputs.device())?;
        let routine = on_device(inputs, move |signal| Ok(peaks(&model, signal)?)).with_calls(calls);
        check_peaks(routine, problem, inputs, expected(problem, inputs), orders_ties)
    })
    .with_forced_sets(kernel_set)
}

/// Burn's own operations, as a user of Burn alone would write them. Burn's sort leaves the order of equal powers open.
fn burn_stock() -> BenchStrategy<PeaksProblem> {
    let summary = "Burn's own operations on the device: unfold, window, rfft, power, mean, topk_with_indices";
    BenchStrategy::new("burn-stock", summary, |problem: &PeaksProblem, inputs| {
        let stock = problem.stock_model(inputs.device())?;
        let routine = on_device(inputs, move |signal| Ok(stock.forward(signal)));
        check_peaks(routine, problem, inputs, expected(problem, inputs), false)
    })
    .with_temporaries(STOCK)
}

/// Instruction set of the fused kernel on the calling thread.
pub fn kernel_set(problem: &PeaksProblem) -> Option<&'static str> {
    welch_instruction_set(problem.options.n_fft).map(InstructionSet::name)
}

/// [`WelchPeaks`] from frames in host memory to peaks in host memory, chunk by chunk; `pinned`
/// if the frames lie in chunks in pinned memory before a run.
pub fn from_host(pinned: bool) -> BenchStrategy<PeaksProblem> {
    let (name, summary) = if pinned {
        ("firefly-pinned", "the same from frames in pinned host memory to peaks in host memory, in chunks that overlap")
    } else {
        ("firefly-host", "the same from frames in host memory to peaks in host memory, in chunks that overlap")
    };
    BenchStrategy::new(name, summary, move |problem: &PeaksProblem, inputs| {
        let (frame, device) = (problem.frame(), inputs.device());
        let (model, expected) = (problem.exact_model(device)?, expected(problem, inputs));
        let chunks = move |set: usize| host_chunks(&inputs.host(set)[0], frame, device);
        if pinned {
            let pin = move |set| Ok(chunks(set)?.collect::<Vec<_>>());
            let routine = TensorRoutine::new(device, pin, move |chunks| from_chunks(&model, chunks));
            check_peaks(routine.with_input_made_ahead().reading_back(), problem, inputs, expected, true)
        } else {
            let routine = TensorRoutine::new(device, Ok, move |set| from_chunks(&model, chunks(set)?));
            check_peaks(routine.reading_back(), problem, inputs, expected, true)
        }
    })
    .on_accelerators()
}

/// [`WelchPeaks`] on samples of 16 bits in the memory of the device or of the host; compared
/// with the reference of these samples.
fn of_16_bits(on_host: bool) -> BenchStrategy<PeaksProblem> {
    let (name, summary) = if on_host {
        ("firefly-host-i16", "firefly-host from samples of 16 bits, which are uploaded as they are")
    } else {
        ("firefly-i16", "Firefly's WelchPeaks module on samples of 16 bits on the device")
    };
    BenchStrategy::new(name, summary, move |problem: &PeaksProblem, inputs| {
        let model = problem.exact_model(inputs.device())?;
        let quantized = inputs.quantized();
        let expected = expected(problem, &quantized);
        let (device, frame) = (inputs.device(), problem.frame());
        let narrow = |set: usize| quantized.host(set)[0].iter().map(|&sample| sample as i16).collect::<Vec<_>>();
        let sets: Vec<Vec<i16>> = (0..quantized.count()).map(narrow).collect();
        if on_host {
            let run = move |set: usize| from_chunks(&model, host_chunks(&sets[set], frame, device)?);
            let routine = TensorRoutine::new(device, Ok, run).reading_back();
            return check_peaks(routine, problem, &quantized, expected, true);
        }
        let data = sets.into_iter().map(|samples| TensorData::new(samples, [problem.batch, frame]));
        let tensors: Vec<_> = data.map(|data| Tensor::<2, Int>::from_data(data, (device, DType::I16))).collect();
        let input = move |set: usize| Ok(tensors[set].clone());
        let routine = TensorRoutine::new(device, input, move |signal| Ok(model.try_forward(signal)?));
        check_peaks(routine, problem, &quantized, expected, true)
    })
    .with_forced_sets(kernel_set)
    .without_competing()
    .by_name()
}

/// Planned transforms of a library on the host, then partial selection.
fn on_library(
    name: &'static str,
    summary: &'static str,
    transform: fn(usize) -> SegmentTransform,
) -> BenchStrategy<PeaksProblem> {
    BenchStrategy::new(name, summary, move |problem: &PeaksProblem, inputs| {
        let n_fft = problem.options.n_fft;
        let weights = WINDOW.coefficients(n_fft, SYMMETRY).into_iter().map(|weight| weight as f32).collect();
        let routine = routine(inputs, &problem.options, [problem.batch, problem.k], weights, transform(n_fft));
        check_peaks(routine, problem, inputs, expected(problem, inputs), true)
    })
    .with_instruction_set(|_| Some(instruction_set()))
}

/// [`WelchPeaks`] on the first two segments of each frame, cut out before a run: what it is
/// worth to store only the samples that are used. It is compared with the reference of two segments, and doesn't compete.
fn fastbuf() -> BenchStrategy<PeaksProblem> {
    let summary = "Firefly's WelchPeaks module of two segments, on the device, on frames that were cut to them before";
    BenchStrategy::new("fastbuf", summary, |problem: &PeaksProblem, inputs| {
        let (short, device) = (PeaksProblem::new(problem.options.n_fft, 2, problem.batch, problem.k), inputs.device());
        check_frame(problem, &short, "fastbuf")?;
        let (model, expected) = (short.exact_model(device)?, expected(&short, inputs));
        let cut = |set: &Vec<Tensor<2>>| set[0].clone().narrow(1, 0, short.frame()).into_data();
        let sets: Vec<Tensor<2>> = inputs.tensors().iter().map(|set| Tensor::from_data(cut(set), device)).collect();
        let frames = move |set: usize| Ok(sets[set].clone());
        let routine = TensorRoutine::new(device, frames, move |signal| Ok(model.try_forward(signal)?));
        let verified = check_peaks(routine, problem, inputs, expected, true)?;
        Ok(Verified { useful_bytes: Some(short.spec().useful_bytes), ..verified })
    })
    .with_forced_sets(kernel_set)
    .without_competing()
    .by_name()
}

/// Checks that the frames of a problem have the samples that a strategy reads.
fn check_frame(problem: &PeaksProblem, read: &PeaksProblem, strategy: &'static str) -> Result<(), ArgumentError> {
    let expected = || format!("as many --segments as have at least {} samples", read.frame());
    let short = || ArgumentError::new("welch-peaks", "strategy", strategy, expected());
    if read.frame() > problem.frame() { Err(short()) } else { Ok(()) }
}

/// [`AutoWelchPeaks`](firefly_models::AutoWelchPeaks) with the candidates of a published name.
///
/// Its output is compared with the float64 reference of the segments that it selects, which may be fewer than the
/// problem's. Only one whose segments are always the problem's takes part in the search for the fastest. Where the name
/// has learned models as candidates, that of `--run` is one.
fn published(name: &'static str, summary: &'static str, models: &Arc<TrainedModels>) -> BenchStrategy<PeaksProblem> {
    let models = models.clone();
    let strategy = BenchStrategy::new(name, summary, move |problem: &PeaksProblem, inputs| {
        let auto = AutoWelchPeaksConfig::new().with_peaks(problem.config()).with_published(name)?;
        let has_learned = auto.strategies.contains(&Strategy::Learned) && models.options.run.is_some();
        let mut model = auto.with_keep_on_device(true).try_init(inputs.device())?;
        let learned = if has_learned { Some(models.model(problem, inputs.device())?.0) } else { None };
        if let Some(learned) = &learned {
            model = model.with_learned(learned.clone());
        }
        let selected = model.select(problem.batch, problem.frame(), false).selected;
        let used = problem.with_segments(selected.segments);
        check_frame(problem, &used, name)?;
        let same_as = (selected.strategy == Strategy::Fused && used == *problem).then(|| FIREFLY.into());
        let expected = match learned {
            Some(learned) if selected.strategy == Strategy::Learned => learned_rows(&learned, inputs),
            _ => expected(&used, inputs),
        };
        let routine = on_device(inputs, move |signal| Ok(model.try_forward(signal)?));
        let verified = check_peaks(routine, problem, inputs, expected, true)?;
        let useful_bytes = Some(used.spec().useful_bytes);
        Ok(Verified { selected: Some(Selected { choice: selected.to_string(), same_as }), useful_bytes, ..verified })
    })
    .with_forced_sets(kernel_set)
    .with_temporaries(SPECTRA);
    match PublishedStrategy::named(name) {
        Ok(row) if row.segments.is_empty() => strategy,
        Ok(row) => strategy.also_called(row.names).without_competing().by_name(),
        Err(_) => strategy.without_competing().by_name(),
    }
}

#[cfg(test)]
mod tests {
    use clap::Args;
    use firefly_framework::published::PUBLISHED_STRATEGIES;
    use firefly_models::segments::SEGMENT_NAMES;

    use super::*;

    #[test]
    fn names_in_the_catalogue_are_unique_and_published_ones_are_there() {
        let all = catalogue(&TrainOptions::default(), 0);
        let mut names: Vec<_> = all.iter().map(|strategy| strategy.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all.len());
        for name in PUBLISHED_STRATEGIES.iter().flat_map(|row| row.names) {
            let found = all.iter().filter(|strategy| strategy.is_called(name)).count();
            assert!(found == 1 || (found == 2 && *name == "rustfft"), "{name}: {found}");
        }
    }

    #[test]
    fn the_help_names_numbers_of_segments() {
        let help = WelchPeaksArgs::augment_args(clap::Command::new("welch-peaks")).render_long_help().to_string();
        for (name, segments) in SEGMENT_NAMES {
            assert!(help.contains(&format!("{name} ({segments})")), "{name}");
        }
    }
}
