//! `firefly-bench fusion-phases`: Welch peaks from a transform whose spectrum is read back to one fused kernel, and what
//! each phase saves as counted, predicted and measured.

use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Result, anyhow, bail};
use burn::backend::ir::BackendIr;
use burn::backend::{DispatchDevice, DispatchKindConversion, DispatchTensor, Flex};
use burn::tensor::{Device, IntDType, Tensor, TensorData};
use firefly_framework::cost::{Benefit, FusionDecision, Prediction};
use firefly_framework::graph::{AnyTensor, CustomOperations, Graph, GraphError, Input, Replay, capture};
use firefly_framework::movement::{GraphMovement, MovementOptions, count};
use firefly_framework::picker::{PeaksRequest, PeaksSize, Strategy};
use firefly_framework::profile::{DeviceProfile, Preset};
use firefly_framework::rewrite::{Rewriter, Rule};
use firefly_models::testing::ButterflyWelchPeaks;
use firefly_models::{Peaks, SpectrumLayout};
use firefly_ops::ArgumentError;
use firefly_ops::options::validate_n_fft;
use rayon::prelude::*;

use super::comparison::{Comparison, MeasureOptions};
use super::options::{PeaksGrid, device_profile, presets, target_profile};
use super::peaks::{PeaksProblem, READ_SPECTRA, check_peaks, expected, facts, kernel_set, on_device};
use crate::baselines::welch_peaks::strongest;
use crate::harness::{BenchStrategy, CaseError, CaseRecord, Computed, PhaseTraffic, Selected, Verified, failed, read};
use crate::report::{self, traffic};

#[derive(Debug, Clone, clap::Args)]
pub struct FusionPhasesArgs {
    #[command(flatten)]
    pub grid: PeaksGrid,
    /// Calibrated profile (a file that `calibrate` wrote) to predict and decide by; the user's own, or a preset if
    /// there is none, unless given
    #[arg(long, value_name = "PATH")]
    pub profile: Option<PathBuf>,
    /// Device whose profile predicts and decides instead, whatever the device that is measured: its calibrated profile,
    /// or its preset if there is none
    #[arg(long, value_name = "DEVICE", conflicts_with = "profile", value_parser = presets())]
    pub target: Option<Preset>,
    /// Print each decision in prose, with every term in a table
    #[arg(long)]
    pub explain: bool,
    #[command(flatten)]
    pub measure: MeasureOptions,
}

pub fn run(arguments: &FusionPhasesArgs, out: &mut dyn Write) -> Result<Vec<CaseRecord>> {
    let FusionPhasesArgs { grid, profile, target, explain, measure } = arguments;
    let problems = grid.problems();
    for problem in &problems {
        // The phases that are not fused transform by butterflies.
        validate_n_fft("fusion-phases", "n_fft", problem.options.n_fft)?;
    }
    let costs = match target {
        Some(preset) => target_profile(*preset),
        None => device_profile(measure.device.name(), profile.as_deref())?,
    };
    let catalogue = catalogue(costs.clone(), false);
    let facts = facts();
    let comparison = Comparison {
        command: "fusion-phases",
        heading: vec![
            format!("one-sided f32 power: {facts}"),
            format!(
                "from frames on the device to peaks in host memory; times predicted by the {} costs of {}",
                costs.origin(),
                costs.name
            ),
            "gains and saved: over the baseline; gains of phase-3: over its graph before the rewrite".into(),
        ],
        facts: facts.with("costs", costs.origin()).with("costs_of", costs.name),
        options: grid.parameters(),
        problems,
        columns: PeaksGrid::COLUMNS,
        catalogue: &catalogue,
        default_baseline: Phase::Baseline.name(),
    };
    let cases = comparison.run(measure, out)?;
    let layout = measure.layout();
    write!(out, "\n{}", traffic::table(&cases, comparison.columns).render_with_remark(layout))?;
    if let Some(quality) = traffic::quality(&cases) {
        writeln!(out, "\n{quality}")?;
    }
    if *explain {
        let explained = |case: &CaseRecord| {
            let decision = case.measured()?.traffic.as_ref()?.decision.as_ref()?;
            Some(format!("{}\n{}", case.label(), report::profile::explain(decision, layout)))
        };
        write!(out, "\n{}", cases.iter().filter_map(explained).collect::<Vec<_>>().join("\n"))?;
    }
    write!(out, "{}", traffic::sweeps(&cases, comparison.columns, layout))?;
    write!(out, "{}", comparison.crossovers(&cases, &["batch"], layout))?;
    Ok(cases)
}

/// Phase: how much of the work is fused, as the summaries of the strategies say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    Baseline,
    Blocks,
    DevicePeaks,
    Compiled,
    Native,
}

impl Phase {
    pub const ALL: [Self; 5] = [Self::Baseline, Self::Blocks, Self::DevicePeaks, Self::Compiled, Self::Native];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Blocks => "phase-1",
            Self::DevicePeaks => "phase-2",
            Self::Compiled => "phase-3",
            Self::Native => "phase-5",
        }
    }

    pub const fn has_host_tail(self) -> bool {
        matches!(self, Self::Baseline | Self::Blocks)
    }

    /// Bins and powers in what was read back, which the host finds where it is spectra.
    fn peaks(self, problem: &PeaksProblem, data: Vec<TensorData>) -> Result<Vec<TensorData>> {
        if !self.has_host_tail() {
            return Ok(data);
        }
        let squared = |re: f32, im: f32| re * re + im * im;
        let parts = data.iter().map(|part| part.as_slice::<f32>().map_err(failed)).collect::<Result<Vec<_>>>()?;
        match parts[..] {
            [values] => Ok(host_tail(problem, |place| squared(values[2 * place], values[2 * place + 1]))),
            [re, im] => Ok(host_tail(problem, |place| squared(re[place], im[place]))),
            _ => bail!("spectra of {} parts", parts.len()),
        }
    }

    /// The phase as a function of frames on `device`: spectra, or bins of 32 bits and power, or both.
    fn function(self, problem: &PeaksProblem, device: &Device) -> Result<PhaseFunction, ArgumentError> {
        let outputs = |peaks: Peaks<2>| vec![peaks.bins.cast(IntDType::I32).into(), peaks.power.into()];
        if self == Self::Native {
            let model = problem.exact_model(device)?;
            return Ok(Box::new(move |signal| Ok(outputs(model.try_forward(signal)?))));
        }
        let model = ButterflyWelchPeaks::new(&problem.config(), device)?;
        Ok(Box::new(move |signal| {
            let found = model.spectra(signal)?;
            let spectra = || vec![AnyTensor::from(found.re.clone()), found.im.clone().into()];
            let peaks = || outputs(model.peaks(found.clone()));
            Ok(match self {
                Self::Baseline => vec![SpectrumLayout::Interleaved.join(found)?.into()],
                Self::Blocks => spectra(),
                Self::DevicePeaks | Self::Native => peaks(),
                Self::Compiled => [spectra(), peaks()].concat(),
            })
        }))
    }

    /// The graph that runs on the device, before rewriting.
    pub fn graph(self, problem: &PeaksProblem) -> Result<Graph, GraphError> {
        let input = [Input::new("signal", [problem.batch, problem.frame()])];
        let mut graph = capture(&input, |signal: Tensor<2>, device: &Device| {
            self.function(problem, device).and_then(|function| function(signal))
        })?;
        if self == Self::Compiled {
            // The spectrum's two parts are the first outputs, and not read.
            graph.restrict_outputs(&[2, 3]);
        }
        Ok(graph)
    }
}

type PhaseFunction = Box<dyn Fn(Tensor<2>) -> Result<Vec<AnyTensor>, ArgumentError> + Send>;

pub struct PhasePlan {
    pub graph: Graph,
    pub is_native: bool,
    pub traffic: PhaseTraffic,
}

impl PhasePlan {
    /// The plan of a phase for a problem on a device of these costs, which `is_traced` leaves as it is.
    pub fn new(
        phase: Phase,
        problem: &PeaksProblem,
        costs: &DeviceProfile,
        is_traced: bool,
    ) -> Result<Self, GraphError> {
        let options = MovementOptions::default();
        let mut graph = phase.graph(problem)?;
        let mut decided = None;
        let mut is_native = phase == Phase::Native;
        if phase == Phase::Compiled && !is_traced {
            let rewritten = Rewriter::new(&[Rule::WelchPeaks]).run(&graph, costs);
            is_native = rewritten.applied() > 0;
            graph = rewritten.graph;
            decided = rewritten.outcomes.into_iter().next().map(|outcome| outcome.decision);
        }
        let moved = count(&graph, &options);
        let mut traffic = PhaseTraffic::of_graph(&moved, costs);
        if phase != Phase::Baseline {
            let baseline = count(&Phase::Baseline.graph(problem)?, &options);
            traffic.saved = Some(Benefit::new(&baseline.total, &moved.total));
            let replacing = || FusionDecision::of_graphs(costs, &baseline, &moved, problem.batch as u64);
            traffic.decision = if phase == Phase::Compiled { decided } else { Some(replacing()) };
        }
        if phase.has_host_tail() {
            traffic.predicted_ns += traffic.io.host_output as f64 / costs.scan_bandwidth;
        }
        if is_native && costs.operations.is_empty() {
            // The picker's estimate, as the latency of the operation itself was not measured.
            let size = PeaksSize { options: problem.options, batch: problem.batch, k: problem.k };
            let mut request = PeaksRequest::new(size, costs);
            request.strategies = &[Strategy::Fused];
            traffic.predicted_ns = request.select().selected.nanoseconds.unwrap_or(traffic.predicted_ns);
        }
        Ok(Self { graph, is_native, traffic })
    }
}

impl PhaseTraffic {
    /// Data movement of a graph that is run as it is.
    pub fn of_graph(counted: &GraphMovement, costs: &DeviceProfile) -> Self {
        let prediction = Prediction::of_graph(counted, costs);
        Self {
            io: counted.total,
            bytes_read: counted.total.host_output,
            peak_bytes: counted.peak_bytes,
            predicted_ns: prediction.total(),
            prediction,
            saved: None,
            decision: None,
        }
    }
}

/// Number of values of spectra from which a second thread saves time.
const PARALLEL_VALUES: usize = 1 << 16;

/// Function that runs a graph of one input on a tensor and reads its outputs.
pub type GraphRunner = Box<dyn Fn(Tensor<2>) -> Result<Vec<TensorData>> + Send>;

/// Prepares a graph of one input to run on a device.
pub fn replay(graph: &Graph, device: &Device) -> Result<GraphRunner> {
    match device.as_dispatch() {
        DispatchDevice::Flex(device) => on(graph, device, CustomOperations::<Flex>::spectral_and_fourier()),
        // Burn's NdArray has no Fourier transform of its own: a graph with one is refused by name.
        #[cfg(feature = "ndarray")]
        #[expect(deprecated, reason = "Burn retires the backend after 0.22; until then its users are served")]
        DispatchDevice::NdArray(device) => on(graph, device, CustomOperations::<burn::backend::NdArray>::spectral()),
        #[cfg(any(feature = "wgpu", feature = "vulkan", feature = "metal", feature = "cuda", feature = "rocm"))]
        DispatchDevice::Cube(device) => {
            on(graph, device, CustomOperations::<burn::backend::Cube>::spectral_and_fourier())
        }
        _ => Err(CaseError::unsupported("graphs are not replayed on this device").into()),
    }
}

fn on<B: BackendIr>(graph: &Graph, device: &B::Device, operations: CustomOperations<B>) -> Result<GraphRunner>
where
    DispatchTensor: DispatchKindConversion<B>,
{
    let replay = Mutex::new(Replay::new(graph, device, &operations)?);
    Ok(Box::new(move |signal| {
        let signal = signal.try_into_primitive::<B>().map_err(|error| anyhow!("{error:?}"))?;
        let mut replay = replay.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(replay.run_on_device(vec![signal])?)
    }))
}

/// The bins and powers, `[batch, k]`, of the strongest lines of spectra; `value` gives the squared magnitude at a place
/// of `[batch · segments, n_fft]`.
pub fn host_tail(problem: &PeaksProblem, value: impl Fn(usize) -> f32 + Sync) -> Vec<TensorData> {
    let (n, bins, segments) = (problem.options.n_fft, problem.options.bins(), problem.options.segments);
    let shape = [problem.batch, problem.k];
    let (mut found, mut powers) = (vec![0; problem.batch * problem.k], vec![0.0; problem.batch * problem.k]);
    let rows = found.par_chunks_exact_mut(problem.k).zip(powers.par_chunks_exact_mut(problem.k)).enumerate();
    let rows = rows.with_min_len(PARALLEL_VALUES.div_ceil(segments * n));
    rows.for_each_init(
        || (vec![0.0; bins], vec![0; bins]),
        |(power, keys), (row, (found, powers))| {
            for (bin, power) in power.iter_mut().enumerate() {
                let sum: f32 = (row * segments..(row + 1) * segments).map(|segment| value(segment * n + bin)).sum();
                let sides = if bin % (n / 2) == 0 { 1.0 } else { 2.0 };
                *power = sum * sides / segments as f32;
            }
            strongest(power, keys, found, powers);
        },
    );
    vec![TensorData::new(found, shape), TensorData::new(powers, shape)]
}

/// Every phase, in order, decided on and predicted by the costs of a device; or as it `is_traced`, and replayed.
pub fn catalogue(costs: DeviceProfile, is_traced: bool) -> Vec<BenchStrategy<PeaksProblem>> {
    let costs = Arc::new(costs);
    Phase::ALL.map(|phase| strategy(phase, costs.clone(), is_traced)).into()
}

fn strategy(phase: Phase, costs: Arc<DeviceProfile>, is_traced: bool) -> BenchStrategy<PeaksProblem> {
    let summary = match phase {
        Phase::Baseline => {
            "window and complex FFT on the device, the spectrum read back interleaved, peaks on the host"
        }
        Phase::Blocks => "the same, real and imaginary parts in blocks of their own",
        Phase::DevicePeaks => "the same FFT, then power, mean and top-k on the device; only peaks are read back",
        Phase::Compiled if is_traced => "the traced graph of phase-2, spectrum outputs dropped, replayed",
        Phase::Compiled => {
            "the traced graph of phase-2, spectrum outputs dropped, rewritten if the gate says so, replayed"
        }
        Phase::Native => "one native operation: Firefly's welch_peaks",
    };
    let mut strategy = BenchStrategy::new(phase.name(), summary, move |problem: &PeaksProblem, inputs| {
        let plan = PhasePlan::new(phase, problem, &costs, is_traced)?;
        let run: GraphRunner = if phase == Phase::Compiled || is_traced {
            replay(&plan.graph, inputs.device())?
        } else {
            let function = phase.function(problem, inputs.device())?;
            Box::new(move |signal| read(function(signal)?))
        };
        let bytes_read = Arc::new(AtomicU64::new(0));
        let (counter, sizes) = (bytes_read.clone(), *problem);
        let routine = on_device(inputs, move |signal| {
            let data = run(signal)?;
            counter.store(data.iter().map(|data| data.as_bytes().len() as u64).sum(), Ordering::Relaxed);
            phase.peaks(&sizes, data).map(Computed::OnHost)
        });
        let expected = expected(problem, inputs);
        // Burn's top-k leaves the order of equal powers open.
        let orders_ties = phase.has_host_tail() || plan.is_native;
        let verified = check_peaks(routine.reading_back(), problem, inputs, expected, orders_ties)?;
        let selected = (phase == Phase::Compiled).then(|| match plan.is_native {
            true => Selected { choice: "rewritten".into(), same_as: Some(Phase::Native.name().into()) },
            false => Selected { choice: "as traced".into(), same_as: None },
        });
        let traffic = PhaseTraffic { bytes_read: bytes_read.load(Ordering::Relaxed), ..plan.traffic };
        Ok(Verified { traffic: Some(Box::new(traffic)), selected, ..verified })
    });
    strategy.previous = Phase::ALL.windows(2).find(|pair| pair[1] == phase).map(|pair| pair[0].name());
    if phase == Phase::Native { strategy.with_forced_sets(kernel_set) } else { strategy.with_temporaries(READ_SPECTRA) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(phase: Phase, preset: Preset) -> PhasePlan {
        PhasePlan::new(phase, &PeaksProblem::new(256, 2, 8192, 16), &preset.profile(), false).unwrap()
    }

    #[test]
    fn peaks_on_the_device_are_a_thirty_second_of_the_spectrum() {
        let [baseline, blocks, peaks] = [Phase::Baseline, Phase::Blocks, Phase::DevicePeaks]
            .map(|phase| plan(phase, Preset::Cuda).traffic.io.host_output);
        assert_eq!((baseline, blocks), (8192 * 2 * 256 * 8, 8192 * 2 * 256 * 8));
        assert_eq!(peaks, 8192 * 16 * 8);
        assert!(baseline >= 32 * peaks);
    }

    #[test]
    fn the_compile_pass_leaves_the_native_operation_where_it_pays() {
        for preset in Preset::ALL {
            let compiled = plan(Phase::Compiled, preset);
            let names: Vec<&str> = compiled.graph.custom_operations().collect();
            assert_eq!((compiled.is_native, &names[..]), (true, &["firefly::welch_peaks"][..]), "{preset:?}");
            assert_eq!(compiled.traffic.io.host_output, plan(Phase::Native, preset).traffic.io.host_output);
        }
        let never = DeviceProfile { min_gain: 1e12, ..Preset::Cuda.profile() };
        let left = PhasePlan::new(Phase::Compiled, &PeaksProblem::new(64, 2, 4, 3), &never, false).unwrap();
        assert_eq!((left.is_native, left.traffic.decision.as_ref().map(FusionDecision::fuse)), (false, Some(false)));
        assert_eq!(left.graph.outputs().len(), 2);
    }

    #[test]
    fn each_phase_saves_launches_or_bytes_over_the_baseline() {
        let saved = Phase::ALL.map(|phase| plan(phase, Preset::Cuda).traffic.saved);
        assert_eq!(saved[0], None);
        assert!(saved[1].is_some_and(|saved| saved.launches > 0 && saved.traffic > 0));
        assert!(saved[2].is_some_and(|saved| saved.read_back > 0));
        assert!(saved[3].is_some_and(|saved| saved.launches > 0 && saved.read_back > 0));
        assert!(saved[4].is_some_and(|saved| saved.launches > 0 && saved.read_back > 0));
    }
}
