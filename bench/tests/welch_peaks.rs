//! The `welch-peaks` command as a user runs it, and what it does with a strategy that is wrong.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::{Command, Output};

use clap::Parser;
use firefly_bench::commands::{Verdict, welch_peaks};
use firefly_bench::input::Inputs;
use firefly_bench::json::{Outcome, Report};
use firefly_bench::problem::Problem;
use firefly_bench::strategy::{Firefly, HostPeaks, Refusal, Strategy, Workload};

fn bench(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_firefly-bench")).arg("welch-peaks").args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn report(path: &Path) -> Report {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn a_small_grid_is_verified_measured_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/peaks.json");
    let json = path.to_str().unwrap();
    let grid = ["--n-fft", "8,64,1024", "--batch", "1,4..8", "--k", "4,33"];
    let rest = ["--tier", "ultra,fast,reference", "--iters", "3", "--warmup", "1", "--seed", "5", "--json", json];
    let output = bench(&[&grid[..], &rest[..]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));

    let shown = text(&output.stdout);
    assert!(shown.contains("scaling power, window hann periodic, hop n_fft/2, detrend none"), "{shown}");
    assert!(shown.contains("× rustfft") && !shown.contains("FAILED"), "{shown}");

    let report = report(&path);
    assert_eq!((report.format, report.tool.name.as_str()), (1, "firefly-bench"));
    assert!(report.date > 1_700_000_000 && report.host.cores >= 1);
    assert_eq!(report.command.options["batch"], serde_json::json!([1, 4, 8]));
    assert_eq!(report.command.options["baseline"], "rustfft");
    assert_eq!(report.estimate.detrend, "none");
    // 3 lengths, 3 tiers, 3 batches, 2 numbers of peaks, 4 strategies.
    assert_eq!(report.cases.len(), 216);
    for case in &report.cases {
        let name = format!("n {} {} batch {} k {} {}", case.n_fft, case.tier, case.batch, case.k, case.strategy);
        match &case.outcome {
            Outcome::Measured(measured) => {
                assert_eq!(measured.samples_ns.len(), 3, "{name}");
                assert!(measured.verification.rows >= case.batch, "{name}");
                assert!(measured.verification.power_error <= measured.verification.tolerance, "{name}");
                let ratio = measured.speed_ratio.as_ref().unwrap();
                assert_eq!(ratio.baseline, "rustfft");
                assert!(case.strategy != "rustfft" || ratio.ratio.median == 1.0, "{name}");
                let time = measured.time_ns;
                assert!(time.min <= time.p10 && time.p10 <= time.median && time.median <= time.p90, "{name}");
            }
            Outcome::Unsupported { reason } => {
                assert_eq!((case.n_fft, case.k), (8, 33), "{name}");
                assert!(reason.contains("from 1 to the number of bins, 5"), "{reason}");
            }
            Outcome::Failed { error } => panic!("{name}: {error}"),
        }
    }
}

#[test]
fn quiet_prints_the_table_alone() {
    let output =
        bench(&["--n-fft", "64", "--batch", "2", "--k", "3", "--iters", "1", "--strategy", "realfft", "--quiet"]);
    assert!(output.status.success());
    let shown = text(&output.stdout);
    assert_eq!(shown.lines().count(), 3, "{shown}");
    assert!(!shown.contains('×'), "one strategy has nothing to be compared with: {shown}");
    if !cfg!(debug_assertions) {
        assert_eq!(text(&output.stderr), "");
    }
}

#[test]
fn wrong_arguments_are_explained() {
    let refused = |arguments: &[&str]| {
        let output = bench(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert_eq!(text(&output.stdout), "", "{arguments:?}");
        text(&output.stderr)
    };
    let unknown = refused(&["--strategy", "rustftt"]);
    assert!(unknown.contains("unknown strategy `rustftt` (did you mean `rustfft`?)"), "{unknown}");
    assert!(unknown.contains("firefly, psd-topk, rustfft, realfft"), "{unknown}");
    assert!(refused(&["--tier", "fats"]).contains("did you mean `fast`?"));
    assert!(refused(&["--device", "cdua"]).contains("did you mean `cuda`?"));
    assert!(refused(&["--device", "vulkan"]).contains("vulkan"));
    assert!(refused(&["--batch", "32..100"]).contains("100 is not one"));
    assert!(refused(&["--n-fft", "100"]).contains("`n_fft` is 100, but must be a power of two"));
    assert!(refused(&["--iters", "0"]).contains("iters"));
    assert!(refused(&["--strategy", "firefly,psd-topk", "--baseline", "rustfft"]).contains("not among the strategies"));
}

#[test]
fn a_report_that_cannot_be_written_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let output = bench(&["--n-fft", "64", "--batch", "2", "--k", "3", "--iters", "1", "--json", path]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--json"), "{}", text(&output.stderr));
}

/// Firefly's peaks, some of them spoilt.
struct Spoilt {
    name: &'static str,
    spoil: fn(&mut HostPeaks),
    refusal: Option<Refusal>,
}

struct SpoiltRun<'a> {
    inner: Box<dyn Workload + 'a>,
    spoil: fn(&mut HostPeaks),
}

impl Strategy for Spoilt {
    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        "spoilt on purpose"
    }

    fn prepare<'a>(&self, problem: &Problem, inputs: &'a Inputs) -> Result<Box<dyn Workload + 'a>, Refusal> {
        match &self.refusal {
            Some(refusal) => Err(refusal.clone()),
            None => Ok(Box::new(SpoiltRun { inner: Firefly.prepare(problem, inputs)?, spoil: self.spoil })),
        }
    }
}

impl Workload for SpoiltRun<'_> {
    fn run(&mut self, set: usize) -> Result<u64, String> {
        self.inner.run(set)
    }

    fn peaks(&self) -> Result<HostPeaks, String> {
        let mut peaks = self.inner.peaks()?;
        (self.spoil)(&mut peaks);
        Ok(peaks)
    }
}

#[derive(Parser)]
struct Program {
    #[command(flatten)]
    arguments: welch_peaks::Arguments,
}

#[test]
fn a_wrong_strategy_is_a_row_without_a_time_and_fails_the_run() {
    let spoilt = |name, spoil, refusal| Box::new(Spoilt { name, spoil, refusal }) as Box<dyn Strategy>;
    let nothing: fn(&mut HostPeaks) = |_| ();
    let catalogue: Vec<Box<dyn Strategy>> = vec![
        Box::new(Firefly),
        spoilt("power", |peaks| peaks.power[5] *= 1.001, None),
        spoilt("bins", |peaks| peaks.bins.rotate_left(1), None),
        spoilt("elsewhere", nothing, Some(Refusal::Unsupported("needs another device".into()))),
        spoilt("broken", nothing, Some(Refusal::Failed("its kernel does not compile".into()))),
    ];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.json");
    let arguments = |strategy: &str| {
        let fixed = ["bench", "--n-fft", "64", "--batch", "4", "--k", "8", "--iters", "2", "--quiet", "--strategy"];
        let json = ["--json", path.to_str().unwrap()];
        Program::parse_from([&fixed[..], &[strategy], &json].concat()).arguments
    };

    let mut shown = Vec::new();
    let all = arguments("firefly,power,bins,elsewhere,broken");
    assert_eq!(welch_peaks::run(&all, &catalogue, &mut shown).unwrap(), Verdict::Failed);
    let shown = text(&shown);
    assert_eq!(shown.matches("FAILED").count(), 3, "{shown}");
    assert!(shown.contains("FAILED: set 0, row 0: power") && shown.contains("of the row's maximum"), "{shown}");
    assert!(shown.contains("FAILED: its kernel does not compile"), "{shown}");
    assert!(shown.contains("unsupported: needs another device"), "{shown}");
    let outcomes: Vec<Outcome> = report(&path).cases.into_iter().map(|case| case.outcome).collect();
    assert!(matches!(outcomes[0], Outcome::Measured(_)));
    assert!(outcomes[1..].iter().all(|outcome| !matches!(outcome, Outcome::Measured(_))));

    let verdict = |strategy| welch_peaks::run(&arguments(strategy), &catalogue, &mut Vec::new()).unwrap();
    assert_eq!(verdict("firefly,elsewhere"), Verdict::Passed);
    assert_eq!(verdict("bins"), Verdict::Failed);
}

#[test]
fn without_its_baseline_a_strategy_is_still_measured() {
    let broken = Spoilt { name: "broken", spoil: |peaks| peaks.bins[0] = -7, refusal: None };
    let catalogue: Vec<Box<dyn Strategy>> = vec![Box::new(broken), Box::new(Firefly)];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.json");
    let fixed = ["bench", "--n-fft", "64", "--batch", "4", "--k", "8", "--iters", "2", "--quiet", "--json"];
    let arguments = Program::parse_from([&fixed[..], &[path.to_str().unwrap()]].concat()).arguments;
    assert_eq!(welch_peaks::run(&arguments, &catalogue, &mut Vec::new()).unwrap(), Verdict::Failed);
    let report = report(&path);
    let Outcome::Measured(measured) = &report.cases[1].outcome else { panic!("{:?}", report.cases[1].outcome) };
    assert_eq!(measured.speed_ratio, None);
}
