//! `firefly-bench profile`: data movement of a model, node by node, and the savings of fusion.

use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use burn::tensor::Device;
use clap::value_parser;
use firefly_app::files::{ensure_writable, write_atomically};
use firefly_app::number::duration;
use firefly_app::suggest;
use firefly_app::table::{TableLayout, wrapped};
use firefly_framework::cost::Prediction;
use firefly_framework::drawing::{dot, svg};
use firefly_framework::graph::Graph;
use firefly_framework::movement::{MovementOptions, count};
use firefly_framework::profile::Preset;
use firefly_framework::rewrite::{ReplacementOutcome, Rewriter, Rewritten};
use firefly_models::segments::segments_named;
use firefly_models::zoo::{self, Settings};

use super::ExitStatus;
use crate::harness::{DERIVED, ParameterMap, Problem, whole};
use crate::report::profile::{PROFILE_FORMAT, ProfileReport, explain};
use crate::report::schema::Tool;
use crate::suites::models::PeaksModel;
use crate::suites::options::{presets, target_profile};
use crate::suites::peaks::PeaksProblem;

#[derive(Debug, Clone, clap::Args)]
pub struct ProfileArgs {
    /// Model to profile: welch-peaks, welch-psd, learned-welch-peaks, stock-loop, stock-unfold, stock-reshape,
    /// stock-blocks, or a model of the zoo by its name
    #[arg(value_parser = profiled_model)]
    pub model: &'static str,
    /// Samples per segment of a model of peaks, from 1; powers of two for stock models [default: 256]
    #[arg(long, value_name = "N", value_parser = whole::<usize>)]
    pub n_fft: Option<usize>,
    /// Elements of a batch, from 1; the samples of frames take at most 8 GiB
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = value_parser!(u64).range(1..))]
    pub batch: u64,
    /// Peaks per frame of a model of peaks: from 1 to n_fft / 2 + 1 [default: 16]
    #[arg(long, value_name = "N", value_parser = whole::<usize>)]
    pub k: Option<usize>,
    /// Segments that a model of peaks uses of each frame: from 1, or ultra (1), fast (2), reference (8) [default: fast]
    #[arg(long, value_name = "N", value_parser = segments_named)]
    pub segments: Option<usize>,
    /// Settings of a model of the zoo, separated by commas, as in n_fft=512,k=4
    #[arg(long, value_name = "KEY=VALUE", value_delimiter = ',')]
    pub set: Vec<String>,
    /// Device that times are predicted for: metal, cuda, rocm, wgpu or cpu, by its calibrated profile, or a preset if
    /// there is none
    #[arg(long, value_name = "DEVICE", default_value = "cpu", value_parser = presets())]
    pub target: Preset,
    /// Predict by the preset, even if the device was calibrated
    #[arg(long)]
    pub preset: bool,
    /// Operations that the host runs on the target, by name, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub host_operations: Vec<String>,
    /// Outputs to keep, by number from 0, separated by commas; all of them unless given
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub outputs: Option<Vec<usize>>,
    /// Rewrite the model where the target's gate says so, and say why
    #[arg(long)]
    pub rewrite: bool,
    /// Show every column of the tables, whatever the terminal's width
    #[arg(long)]
    pub wide: bool,
    /// Write the figures to this file, as JSON
    #[arg(long, value_name = "PATH")]
    pub json: Option<PathBuf>,
    /// Write the graph to this file, for Graphviz
    #[arg(long, value_name = "PATH")]
    pub dot: Option<PathBuf>,
    /// Write the graph to this file, as a picture
    #[arg(long, value_name = "PATH")]
    pub svg: Option<PathBuf>,
}

pub fn run(arguments: &ProfileArgs, out: &mut dyn Write) -> anyhow::Result<ExitStatus> {
    let outputs = [("--json", &arguments.json), ("--dot", &arguments.dot), ("--svg", &arguments.svg)];
    let mut written: Vec<(&str, &PathBuf)> = Vec::new();
    for (option, path) in outputs.into_iter().filter_map(|(option, path)| Some((option, path.as_ref()?))) {
        if let Some((other, _)) = written.iter().find(|(_, other)| *other == path) {
            bail!("{other} and {option} are the same file, {}", path.display());
        }
        ensure_writable(path).with_context(|| format!("{option} {}", path.display()))?;
        written.push((option, path));
    }
    let start = Instant::now();
    let (mut graph, parameters) = arguments.capture()?;
    let captured = start.elapsed();
    if let Some(outputs) = &arguments.outputs {
        let count = graph.outputs().len();
        for output in outputs {
            ensure!(*output < count, "--outputs: there is no output {output}; the model has {count}, numbered from 0");
        }
        graph.restrict_outputs(outputs);
        graph.prune();
    }
    let options = MovementOptions::default().with_host_operations(arguments.host_operations.clone());
    let target = if arguments.preset { arguments.target.profile() } else { target_profile(arguments.target) };

    let layout = TableLayout::of_stdout(arguments.wide);
    let start = Instant::now();
    let rewriter = Rewriter::spectral().with_options(options.clone());
    let (mut outcomes, mut candidates, traced) = (Vec::new(), Vec::new(), graph.clone());
    if arguments.rewrite {
        graph.prune();
        candidates = rewriter.find(&graph);
        Rewritten { graph, outcomes } = rewriter.run(&graph, &target);
    }
    // Each operation that is named is in the model, or in what a rule would make of it.
    let graphs = [&traced].into_iter().chain(candidates.iter().map(|candidate| &candidate.graph));
    let names: Vec<_> = graphs.flat_map(|graph| graph.nodes()).map(|node| node.operation.name()).collect();
    for operation in &arguments.host_operations {
        let hint = suggest::hint(operation, names.iter().map(AsRef::as_ref));
        ensure!(names.iter().any(|name| name == operation), "--host-operations: the model has no `{operation}`{hint}");
    }
    let decided = start.elapsed();
    let explain = |outcome: &ReplacementOutcome| format!("{}:\n{}", outcome.rule, explain(&outcome.decision, layout));
    let explained: String = outcomes.iter().map(explain).collect();
    let figures = count(&graph, &options);
    let prediction = Prediction::of_graph(&figures, &target);
    let report = ProfileReport {
        format: PROFILE_FORMAT,
        tool: Tool::this(),
        model: arguments.model.into(),
        parameters,
        target,
        profile: figures,
        prediction,
        decisions: outcomes.into_iter().map(|outcome| outcome.decision).collect(),
    };
    // Files before the table: a closed output loses no result.
    for (option, path) in written {
        let text = match option {
            "--json" => serde_json::to_string_pretty(&report)? + "\n",
            "--dot" => dot(&graph, &report.profile),
            _ => svg(&graph, &report.profile),
        };
        write_atomically(path, text.as_bytes()).with_context(|| format!("writing {}", path.display()))?;
    }
    if arguments.rewrite {
        writeln!(out, "{}", if explained.is_empty() { "no rule applies\n" } else { &explained })?;
    }
    write!(out, "{}", report.table().render_with_remark(layout))?;
    let [memory, predicted] = report.summary();
    let [captured, decided] = [captured, decided].map(|time| duration(time.as_nanos() as f64));
    let predicted = wrapped(&predicted, layout.width).join("\n");
    writeln!(out, "\n{memory}\n{predicted}\ncaptured in {captured}, rewritten in {decided}")?;
    Ok(ExitStatus::Passed)
}

fn profiled_model(text: &str) -> Result<&'static str, String> {
    let peaks = PeaksModel::NAMED.map(|(name, _)| name);
    let all = peaks.into_iter().chain(zoo::list(""));
    all.clone().find(|name| *name == text).ok_or_else(|| {
        let hint = suggest::hint(text, all);
        format!("no model is called `{text}`{hint}; there are {}, and those of the zoo", peaks.join(", "))
    })
}

impl ProfileArgs {
    /// The graph of the model, and the parameters that it was made with.
    fn capture(&self) -> Result<(Graph, ParameterMap)> {
        let (name, batch) = (self.model, usize::try_from(self.batch)?);
        match PeaksModel::NAMED.into_iter().find(|(model, _)| *model == name) {
            Some((_, model)) => {
                ensure!(self.set.is_empty(), "--set: {name} is not of the zoo; it has --n-fft, --segments and --k");
                let (n_fft, segments, k) =
                    (self.n_fft.unwrap_or(256), self.segments.unwrap_or(2), self.k.unwrap_or(16));
                let problem = PeaksProblem::new(n_fft, segments, batch, k);
                Ok((model.graph(&problem)?, problem.spec().parameters.without(&DERIVED)))
            }
            None => {
                let options = [("--n-fft", self.n_fft), ("--k", self.k), ("--segments", self.segments)];
                if let Some((option, _)) = options.iter().find(|(_, given)| given.is_some()) {
                    bail!("{option}: {name} is of the zoo; --set gives it its settings");
                }
                let settings: Settings = self.set.join(",").parse()?;
                let graph = zoo::create(name, &settings, &Device::flex())?.capture(batch)?;
                let parameters = ParameterMap::default().with("batch", batch);
                let is_default = self.set.is_empty();
                Ok((graph, if is_default { parameters } else { parameters.with("set", self.set.clone()) }))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        arguments: ProfileArgs,
    }

    fn profile_of(arguments: &[&str]) -> (String, serde_json::Value, String) {
        let folder = tempfile::tempdir().unwrap();
        let [json, dot, svg] = ["a.json", "a.dot", "a.svg"].map(|name| folder.path().join(name).display().to_string());
        let files = ["--json", &json, "--dot", &dot, "--svg", &svg];
        let cli = Cli::parse_from([&["profile"], arguments, &files].concat());
        let mut out = Vec::new();
        assert_eq!(run(&cli.arguments, &mut out).unwrap(), ExitStatus::Passed);
        let report = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
        assert!(std::fs::read_to_string(&svg).unwrap().starts_with("<svg"));
        (String::from_utf8(out).unwrap(), report, std::fs::read_to_string(&dot).unwrap())
    }

    #[test]
    fn one_operation_is_one_launch() {
        let (text, report, dot) = profile_of(&["welch-peaks", "--batch", "10", "--n-fft", "64", "--k", "4"]);
        let total = &report["profile"]["total"];
        assert_eq!(total["launches"], 1);
        assert_eq!(total["host_output"], 10 * 4 * (8 + 4));
        assert_eq!(total["traffic"], 10 * 96 * 4 + 64 * 4 + 10 * 4 * (8 + 4));
        assert!(text.contains("firefly::welch_peaks") && dot.contains("firefly::welch_peaks"), "{text}\n{dot}");
    }

    #[test]
    fn stock_operations_are_rewritten_on_demand() {
        let grid = ["stock-unfold", "--batch", "10", "--n-fft", "64", "--k", "4"];
        let (text, before, _) = profile_of(&grid);
        assert!(text.contains("signal::rfft") && text.contains("(unfold)"), "{text}");
        let (text, after, _) = profile_of(&[&grid[..], &["--rewrite"]].concat());
        assert!(text.contains("welch peaks:\nThe gate fuses on cpu."), "{text}");
        assert_eq!(after["profile"]["total"]["launches"], 1);
        assert_eq!(after["decisions"][0]["before"][0], before["profile"]["total"]);
    }

    #[test]
    fn models_of_the_zoo_take_settings() {
        let (text, report, _) = profile_of(&["welch_peaks", "--batch", "10", "--set", "n_fft=64,k=4", "--rewrite"]);
        assert_eq!(report["profile"]["total"]["traffic"], 10 * 96 * 4 + 64 * 4 + 10 * 4 * (8 + 4));
        assert!(text.contains("no rule applies") && report["parameters"]["set"][1] == "k=4", "{text}");
        let error = |arguments: &[&str]| {
            let cli = Cli::parse_from([&["profile"], arguments].concat());
            run(&cli.arguments, &mut Vec::new()).unwrap_err().to_string()
        };
        assert!(error(&["welch_peaks", "--k", "4"]).contains("--k: welch_peaks is of the zoo"));
        assert!(error(&["welch-peaks", "--set", "k=4"]).contains("--set: welch-peaks is not of the zoo"));
        assert!(error(&["welch_peaks", "--set", "nfft=4"]).contains("did you mean `n_fft`?"));
        assert!(profiled_model("fits_tinny").unwrap_err().contains("did you mean `fits_tiny`?"));
    }

    #[test]
    fn operations_of_the_host_are_waited_for() {
        let (_, report, _) = profile_of(&["stock-loop", "--host-operations", "signal::rfft", "--outputs", "1"]);
        assert_eq!(report["profile"]["total"]["syncs"], 2);
        assert_eq!(report["profile"]["total"]["host_output"], 1024 * 16 * 4);
    }

    #[test]
    fn a_declined_rewrite_with_a_host_tail_prints_the_decision() {
        let grid = ["stock-unfold", "--batch", "8192", "--rewrite", "--host-operations", "firefly::welch_peaks"];
        for (target, verdict) in [
            ("cpu", "fuses"),
            ("metal", "leaves the graph as it is"),
            ("cuda", "leaves the graph as it is"),
            ("wgpu", "leaves the graph as it is"),
        ] {
            let (text, report, _) = profile_of(&[&grid[..], &["--target", target]].concat());
            let text = text.replace('\n', " ");
            assert!(text.contains(&format!("The gate {verdict} on {target}.")), "{text}");
            assert_eq!(report["decisions"][0]["benefit"]["syncs"], -1);
        }
    }

    #[test]
    fn unknown_outputs_and_operations_are_errors() {
        let error = |arguments: &[&str]| {
            let cli = Cli::parse_from([&["profile", "stock-loop"], arguments].concat());
            run(&cli.arguments, &mut Vec::new()).unwrap_err().to_string()
        };
        assert!(error(&["--outputs", "0,2"]).contains("there is no output 2; the model has 2"));
        assert!(error(&["--host-operations", "signal::rftt"]).contains("did you mean `signal::rfft`?"));
        assert!(error(&["--json", "/proc/nothing/a.json"]).contains("/proc/nothing/a.json"));
        assert!(error(&["--json", "same", "--svg", "same"]).contains("--json and --svg are the same file, same"));
        assert!(Cli::try_parse_from(["profile", "stock-loop", "--batch", "0"]).is_err());
    }
}
