//! Graph that each phase runs on the device, and its data movement.

use burn::tensor::{Device, Int, IntDType, Tensor};
use firefly_framework::cost::{Benefit, FusionDecision, PeaksSize, PeaksWorkload, Prediction, Strategy};
use firefly_framework::graph::{Graph, GraphError, Input, capture};
use firefly_framework::movement::{GraphMovement, MovementOptions, count};
use firefly_framework::profile::DeviceProfile;
use firefly_framework::rewrite::{Rewriter, WelchPeaksRule, register_costs};
use firefly_models::testing::ButterflyWelchPeaks;
use firefly_models::{Peaks, SpectrumLayout};
use firefly_ops::ArgumentError;

use crate::harness::phase_traffic::PhaseTraffic;
use crate::suites::peaks::{PeaksProblem, config, exact_model};

/// The model of separate operations for a problem, on `device`.
///
/// # Errors
/// [`ArgumentError`] if the problem is out of the model's range.
pub fn separate_model(problem: &PeaksProblem, device: &Device) -> Result<ButterflyWelchPeaks, ArgumentError> {
    ButterflyWelchPeaks::new(&config(problem), device)
}

/// A spectrum with real and imaginary parts next to each other, `[rows, 2 · n_fft]`.
///
/// # Errors
/// [`ArgumentError`] if the parts differ in shape.
pub fn interleaved((re, im): (Tensor<2>, Tensor<2>)) -> Result<Tensor<2>, ArgumentError> {
    SpectrumLayout::Interleaved.join(re, im)
}

/// Peaks with bins of 32 bits.
pub fn narrow_bins(peaks: Peaks<2>) -> Peaks<2> {
    Peaks { bins: peaks.bins.cast(IntDType::I32), ..peaks }
}

fn outputs(peaks: Peaks<2>) -> (Tensor<2, Int>, Tensor<2>) {
    (peaks.bins, peaks.power)
}

/// Phase: how much of the work is fused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The transform on the device, its spectrum read back interleaved, peaks on the host.
    Baseline,
    /// The same with the spectrum's real and imaginary parts in blocks of their own.
    Blocks,
    /// The transform and then the peaks on the device; only these are read back.
    DevicePeaks,
    /// The traced graph of the same, its spectrum an output too, after the compile pass.
    Compiled,
    /// One native operation.
    Native,
}

impl Phase {
    /// Every phase, in order.
    pub const ALL: [Self; 5] = [Self::Baseline, Self::Blocks, Self::DevicePeaks, Self::Compiled, Self::Native];

    /// Name that users type.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Blocks => "phase-1",
            Self::DevicePeaks => "phase-2",
            Self::Compiled => "phase-3",
            Self::Native => "phase-5",
        }
    }

    /// The previous phase.
    pub fn before(self) -> Option<Self> {
        let place = Self::ALL.iter().position(|phase| *phase == self)?;
        Some(Self::ALL[place.checked_sub(1)?])
    }

    /// Whether the host finds the peaks.
    pub const fn has_host_tail(self) -> bool {
        matches!(self, Self::Baseline | Self::Blocks)
    }

    /// The graph that runs on the device, before rewriting.
    ///
    /// # Errors
    /// [`GraphError`] for a problem that is out of range.
    pub fn graph(self, problem: &PeaksProblem) -> Result<Graph, GraphError> {
        let input = [Input::new("signal", [problem.batch, problem.frame()])];
        let separate = |device: &Device| separate_model(problem, device);
        match self {
            Self::Baseline => {
                capture(&input, |signal: Tensor<2>, device: &Device| interleaved(separate(device)?.spectra(signal)?))
            }
            Self::Blocks => capture(&input, |signal: Tensor<2>, device: &Device| separate(device)?.spectra(signal)),
            Self::DevicePeaks => capture(&input, |signal: Tensor<2>, device: &Device| {
                let model = separate(device)?;
                Ok::<_, ArgumentError>(outputs(narrow_bins(model.peaks(model.spectra(signal)?))))
            }),
            Self::Compiled => {
                let mut graph = capture(&input, |signal: Tensor<2>, device: &Device| {
                    let model = separate(device)?;
                    let spectra = model.spectra(signal)?;
                    Ok::<_, ArgumentError>((spectra.clone(), outputs(narrow_bins(model.peaks(spectra)))))
                })?;
                // The spectrum's two parts are the first outputs, and not read.
                graph.restrict_outputs(&[2, 3]);
                Ok(graph)
            }
            Self::Native => capture(&input, |signal: Tensor<2>, device: &Device| {
                exact_model(problem, device)?.try_forward(signal).map(narrow_bins).map(outputs)
            }),
        }
    }
}

/// Phase of a problem with the decision on it.
pub struct PhasePlan {
    /// Graph that runs on the device.
    pub graph: Graph,
    /// Whether it is one native operation.
    pub is_native: bool,
    phase: Phase,
    counted: GraphMovement,
    decision: Option<FusionDecision>,
    saved: Option<Benefit>,
}

impl PhasePlan {
    /// The plan of a phase for a problem on a device of these costs.
    ///
    /// # Errors
    /// [`GraphError`] for a problem that is out of range.
    pub fn new(phase: Phase, problem: &PeaksProblem, costs: &DeviceProfile) -> Result<Self, GraphError> {
        let mut options = MovementOptions::default();
        register_costs(&mut options.costs);
        let mut graph = phase.graph(problem)?;
        let mut decided = None;
        let mut is_native = phase == Phase::Native;
        if phase == Phase::Compiled {
            let mut rewriter = Rewriter::new(options.clone());
            rewriter.register(WelchPeaksRule);
            let rewritten = rewriter.run(&graph, costs);
            is_native = rewritten.applied() > 0;
            graph = rewritten.graph;
            decided = rewritten.outcomes.into_iter().next().map(|outcome| outcome.decision);
        }
        let moved = count(&graph, &options);
        let (mut saved, mut decision) = (None, None);
        if phase != Phase::Baseline {
            let baseline = count(&Phase::Baseline.graph(problem)?, &options).total;
            saved = Some(Benefit::new(&baseline, &moved.total));
            let replacing = || FusionDecision::new(costs, baseline, moved.total, problem.batch as u64);
            decision = if phase == Phase::Compiled { decided } else { Some(replacing()) };
        }
        Ok(Self { graph, is_native, phase, counted: moved, decision, saved })
    }

    /// Data movement per run, of which `bytes_read` bytes were seen to come to the host.
    pub fn traffic(self, problem: &PeaksProblem, costs: &DeviceProfile, bytes_read: u64) -> PhaseTraffic {
        let io = self.counted.total;
        let prediction = Prediction::of_graph(&self.counted, costs);
        let scan = if self.phase.has_host_tail() { io.host_output as f64 / costs.scan_bandwidth } else { 0.0 };
        let native = self.is_native.then(|| fused_workload(problem).predict(Strategy::Fused, costs)).flatten();
        PhaseTraffic {
            io,
            bytes_read,
            peak_bytes: self.counted.peak_bytes,
            prediction,
            predicted_ns: native.unwrap_or(prediction.total() + scan),
            saved: self.saved,
            fuse: self.decision.as_ref().map(FusionDecision::fuse),
            decision: self.decision,
        }
    }
}

fn fused_workload(problem: &PeaksProblem) -> PeaksWorkload {
    PeaksWorkload::new(PeaksSize { options: problem.options, batch: problem.batch, k: problem.k })
}

#[cfg(test)]
mod tests {
    use firefly_framework::profile::Preset;
    use firefly_models::Tier;

    use super::*;

    fn plan(phase: Phase, preset: Preset) -> PhasePlan {
        PhasePlan::new(phase, &PeaksProblem::new(256, Tier::Fast, 8192, 16), &preset.profile()).unwrap()
    }

    #[test]
    fn peaks_on_the_device_are_a_thirty_second_of_the_spectrum() {
        let [baseline, blocks, peaks] = [Phase::Baseline, Phase::Blocks, Phase::DevicePeaks]
            .map(|phase| plan(phase, Preset::Cuda).counted.total.host_output);
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
            assert_eq!(compiled.counted.total.host_output, plan(Phase::Native, preset).counted.total.host_output);
        }
        let never = DeviceProfile { min_gain: 1e12, ..Preset::Cuda.profile() };
        let left = PhasePlan::new(Phase::Compiled, &PeaksProblem::new(64, Tier::Fast, 4, 3), &never).unwrap();
        assert_eq!((left.is_native, left.decision.as_ref().map(FusionDecision::fuse)), (false, Some(false)));
        assert_eq!(left.graph.outputs().len(), 2);
    }

    #[test]
    fn each_phase_saves_launches_or_bytes_over_the_baseline() {
        let saved = Phase::ALL.map(|phase| plan(phase, Preset::Cuda).saved);
        assert_eq!(saved[0], None);
        assert!(saved[1].is_some_and(|saved| saved.launches > 0 && saved.traffic > 0));
        assert!(saved[2].is_some_and(|saved| saved.read_back > 0));
        assert!(saved[3].is_some_and(|saved| saved.launches > 0 && saved.read_back > 0));
        assert!(saved[4].is_some_and(|saved| saved.launches > 0 && saved.read_back > 0));
    }
}
