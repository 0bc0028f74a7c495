//! The `welch-peaks` command as a user runs it, and what it does with a strategy that is wrong.

use std::path::Path;

use anyhow::anyhow;
use clap::Parser;
use firefly_bench::cli::ExitStatus;
use firefly_bench::harness::{BenchStrategy, CaseError, CaseOutcome, CaseRecord, HostRoutine, Output};
use firefly_bench::report::schema::BenchReport;
use firefly_bench::suites::peaks::{self, PeaksProblem, check_peaks, expected};
use firefly_ops::instruction_sets::InstructionSet;
use firefly_reference::peaks::top_k;
use firefly_trainer::config::Resolved;
use firefly_trainer::run_folder::RunFolder;
use firefly_trainer::tasks::peaks::PeaksConfig;

use crate::common::{firefly_bench, run, text};

fn report(path: &Path) -> BenchReport {
    BenchReport::read(path).unwrap()
}

#[test]
fn segments_that_are_spread_are_verified_by_every_strategy() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("peaks.json");
    let spread = ["--n-fft", "64", "--batch", "3", "--k", "4", "--segments", "2,3", "--spread", "--iters", "2"];
    let output = run("welch-peaks", &[&spread[..], &["--json", path.to_str().unwrap()]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    // Lines break at the width of the terminal.
    let words: Vec<_> = text(&output.stdout).split_whitespace().map(str::to_owned).collect();
    assert!(words.join(" ").contains("segments spread over 8"), "{}", text(&output.stdout));
    let report = report(&path);
    for strategy in ["firefly", "auto", "psd-topk", "burn-stock", "rustfft", "realfft"] {
        let of_strategy: Vec<_> = report.cases.iter().filter(|case| case.strategy == strategy).collect();
        assert_eq!(of_strategy.len(), 2, "{strategy}");
        for case in of_strategy {
            assert!(matches!(case.outcome, CaseOutcome::Measured(_)), "{}", case.label());
            assert_eq!(["frame", "spread"].map(|name| case.problem.count(name)), [Some(288), Some(8)]);
        }
    }
    let refused = run("welch-peaks", &["--segments", "8", "--spread", "8"]);
    let message = text(&refused.stderr);
    assert!(message.contains("--spread is 8, but must be more segments than the 8 that are used"), "{message}");
}

#[test]
fn a_small_grid_is_verified_measured_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/peaks.json");
    let json = path.to_str().unwrap();
    let grid = ["--n-fft", "8,64,1024", "--batch", "1,4..8", "--k", "4,33"];
    let rest =
        ["--segments", "ultra,fast,reference", "--threads", "2", "--iters", "3", "--warmup", "1", "--json", json];
    let output = run("welch-peaks", &[&grid[..], &rest[..]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));

    let shown = text(&output.stdout);
    assert!(shown.contains("scaling power, window hann periodic, hop n_fft/2, detrend none"), "{shown}");
    assert!(shown.contains("× rustfft") && shown.contains("of memcpy") && !shown.contains("FAILED"), "{shown}");

    let report = report(&path);
    assert_eq!((report.format, report.tool.name.as_str()), (4, "firefly-bench"));
    assert!(report.date > 1_700_000_000 && report.host.cores >= 1);
    assert_eq!(report.command.options.get("batch"), Some(&serde_json::json!([1, 4, 8])));
    assert_eq!(report.command.options.shown("baseline"), "rustfft");
    assert_eq!(report.facts.shown("detrend"), "none");
    // 3 lengths, 3 numbers of segments, 3 batches, 2 numbers of peaks, 7 strategies.
    assert_eq!(report.cases.len(), 378);
    let mut keys: Vec<String> = report.cases.iter().map(|case| case.label()).collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), report.cases.len());
    for case in &report.cases {
        let name = case.label();
        let count = |name| case.problem.count(name).unwrap() as usize;
        match &case.outcome {
            CaseOutcome::Measured(measured) => {
                assert_eq!(measured.samples_ns.len(), 3, "{name}");
                assert!(measured.verification.rows >= count("batch"), "{name}");
                assert!(measured.verification.error <= measured.verification.tolerance, "{name}");
                let ratio = measured.speed_over("rustfft").unwrap();
                assert!(case.strategy != "rustfft" || ratio.median == 1.0, "{name}");
                assert!(measured.speed_over("memcpy").unwrap().median > 0.0, "{name}");
                let time = measured.time_ns;
                assert!(time.min <= time.p10 && time.p10 <= time.median && time.median <= time.p90, "{name}");
            }
            CaseOutcome::Unsupported { reason } => {
                assert_eq!((count("n_fft"), count("k")), (8, 33), "{name}");
                assert!(reason.contains("from 1 to the number of bins, 5"), "{reason}");
            }
            other => panic!("{name}: {}", other.remark()),
        }
    }
}

#[test]
fn every_set_and_every_number_of_threads_is_a_case() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sets.json");
    let grid = ["--n-fft", "64,65536", "--batch", "2", "--k", "3", "--threads", "1,2", "--iters", "2", "--warmup", "0"];
    let names: Vec<&str> = InstructionSet::ALL.iter().map(|set| set.name()).collect();
    let sets = ["--instruction-set", &names.join(","), "--strategy", "firefly,rustfft,memcpy", "--quiet", "--json"];
    let output = run("welch-peaks", &[&grid[..], &sets, &[path.to_str().unwrap()]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let cases = report(&path).cases;
    // 2 lengths, 2 numbers of threads, Firefly on every set and the others once.
    assert_eq!(cases.len(), 2 * 2 * (names.len() + 2));
    for case in cases.iter().filter(|case| case.strategy == "firefly") {
        let set = case.instruction_set.as_deref().unwrap();
        let there = InstructionSet::available().any(|available| available.name() == set);
        match &case.outcome {
            CaseOutcome::Measured(measured) => {
                assert!(there, "{}", case.label());
                let than: Vec<&str> = measured.speed.iter().map(|speed| speed.baseline.as_str()).collect();
                assert_eq!(than, ["rustfft", "memcpy", "1 thread"]);
                assert!(case.threads > 1 || measured.speed_over("1 thread").unwrap().median == 1.0);
            }
            CaseOutcome::Unsupported { reason } if !there => {
                assert_eq!(*reason, format!("this processor does not have {set}"))
            }
            other => panic!("{}: {}", case.label(), other.remark()),
        }
    }
    let own = cases.iter().filter(|case| case.strategy == "rustfft").map(|case| case.instruction_set.as_deref());
    assert!(own.into_iter().all(|set| set.is_some()));
}

#[test]
fn a_learned_model_is_trained_verified_and_shown_with_its_recall() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("learned.json");
    let grid =
        ["--n-fft", "16", "--batch", "3,40", "--k", "2", "--segments", "ultra,fast", "--iters", "2", "--warmup", "0"];
    let rest = ["--strategy", "firefly,learned", "--train-steps", "4", "--json", path.to_str().unwrap()];
    let output = run("welch-peaks", &[&grid[..], &rest].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("recall (exact)"));
    let cases = report(&path).cases;
    assert_eq!(cases.len(), 8);
    for case in &cases {
        let measured = case.measured().unwrap();
        let is_learned = case.strategy == "learned";
        assert_eq!((case.competes, measured.accuracy.is_some()), (!is_learned, is_learned), "{}", case.label());
        let Some(found) = measured.accuracy else { continue };
        assert_eq!(found.train_steps, 4);
        assert!(found.recall > 0.3 && found.recall <= 1.0 && found.exact_recall > 0.3, "{found:?}");
        assert!(measured.verification.error > 0.0 && measured.verification.rows >= 3);
    }
    let refused = run("welch-peaks", &["--strategy", "learned", "--train-steps", "0"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("--train-steps is 0; give a number of steps"), "{}", text(&refused.stderr));
}

#[test]
fn a_report_does_not_replace_a_file_of_the_run_that_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let run_folder = RunFolder::new(folder.path().join("run"));
    drop(run_folder.start(&Resolved::new(PeaksConfig::default(), &["cpu"])).unwrap());
    let (config, before) = (run_folder.config(), std::fs::read(run_folder.config()).unwrap());
    let options = ["--run", run_folder.path().to_str().unwrap(), "--json", config.to_str().unwrap()];
    for command in ["welch-peaks", "e2e"] {
        let refused = run(command, &options);
        assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stderr));
        assert!(text(&refused.stderr).contains("an input or a part of the run"), "{}", text(&refused.stderr));
        assert!(std::fs::read(&config).unwrap() == before);
    }
}

#[test]
fn any_length_and_any_number_of_segments_are_measured() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lengths.json");
    let grid = ["--n-fft", "15,251,1000", "--segments", "3,5", "--batch", "7", "--k", "4", "--iters", "2", "--quiet"];
    let output = run("welch-peaks", &[&grid[..], &["--warmup", "0", "--json", path.to_str().unwrap()]].concat());
    assert!(output.status.success(), "{}", text(&output.stdout));
    let cases = report(&path).cases;
    // 3 lengths, 2 numbers of segments, 6 strategies and a copy.
    assert_eq!(cases.len(), 42);
    for case in &cases {
        match &case.outcome {
            CaseOutcome::Measured(measured) => assert!(measured.verification.rows >= 7, "{}", case.label()),
            CaseOutcome::Unsupported { reason } => {
                assert_eq!(
                    (case.strategy.as_str(), reason.as_str()),
                    ("burn-stock", "burn-stock has no such transform")
                )
            }
            other => panic!("{}: {}", case.label(), other.remark()),
        }
    }
}

#[test]
fn published_names_select_strategies() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("published.json");
    let grid = ["--n-fft", "64", "--batch", "2,40", "--k", "3", "--iters", "2", "--warmup", "0", "--quiet"];
    let names = "auto,ultra-fast,streaming,rlx,8seg,legacy,any,rustfft";
    let output = run("welch-peaks", &[&grid[..], &["--strategy", names, "--json", path.to_str().unwrap()]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let cases = report(&path).cases;
    let names: Vec<&str> = cases.iter().map(|case| case.strategy.as_str()).collect();
    assert_eq!(names[..8], ["auto", "ultra", "fast", "fused", "reference", "legacy", "any", "rustfft"]);
    for case in &cases {
        match (&case.outcome, case.strategy.as_str()) {
            (CaseOutcome::Unsupported { reason }, "reference") => {
                assert!(reason.contains("as many --segments as have at least 288 samples"), "{reason}")
            }
            (CaseOutcome::Measured(measured), "rustfft") => assert_eq!(measured.selected, None),
            (CaseOutcome::Measured(measured), name) => {
                let selected = measured.selected.as_ref().unwrap();
                assert!(!selected.choice.is_empty(), "{name}");
                assert!(name != "ultra" || selected.choice == "ultra fused", "{}", selected.choice);
            }
            (other, name) => panic!("{name}: {}", other.remark()),
        }
    }
}

#[test]
fn frames_may_be_cut_to_the_samples_of_two_segments() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fastbuf.json");
    let grid =
        ["--n-fft", "64", "--batch", "9", "--k", "3", "--segments", "ultra,reference", "--iters", "2", "--quiet"];
    let output =
        run("welch-peaks", &[&grid[..], &["--strategy", "fastbuf", "--json", path.to_str().unwrap()]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let cases = report(&path).cases;
    let CaseOutcome::Unsupported { reason } = &cases[0].outcome else { panic!("{}", cases[0].outcome.remark()) };
    assert!(reason.contains("as many --segments as have at least 96 samples"), "{reason}");
    let verification = cases[1].measured().unwrap().verification;
    assert!(verification.rows >= 9 && verification.error > 0.0 && !cases[1].competes, "{verification:?}");
}

#[test]
fn a_variable_lets_published_thresholds_select() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("legacy.json");
    let grid =
        ["welch-peaks", "--device", "cpu", "--n-fft", "64", "--batch", "2,300", "--k", "3", "--iters", "1", "--quiet"];
    let mut command = firefly_bench(&grid);
    command.args(["--strategy", "auto", "--json", path.to_str().unwrap()]);
    assert!(command.env("FIREFLY_LEGACY_PICKER", "1").output().unwrap().status.success());
    let choice = |case: &CaseRecord| case.measured().unwrap().selected.clone().unwrap().choice;
    // One segment up to a batch of 256 on the host, two beyond.
    assert_eq!(report(&path).cases.iter().map(choice).collect::<Vec<_>>(), ["ultra fused", "fast fused"]);
}

#[test]
fn a_control_is_a_second_copy_of_the_baseline() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("control.json");
    let grid = ["--n-fft", "64", "--batch", "2,8", "--k", "3", "--iters", "3", "--warmup", "0", "--quiet", "--control"];
    let output =
        run("welch-peaks", &[&grid[..], &["--strategy", "firefly,rustfft", "--json", path.to_str().unwrap()]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let cases = report(&path).cases;
    let names: Vec<&str> = cases[..3].iter().map(|case| case.strategy.as_str()).collect();
    assert_eq!(names, ["firefly", "rustfft", "rustfft-control"]);
    assert!(cases[2].measured().unwrap().speed_over("rustfft").is_some() && !cases[2].competes);
}

#[test]
fn quiet_prints_the_table_alone() {
    let output = run(
        "welch-peaks",
        &["--n-fft", "64", "--batch", "2", "--k", "3", "--iters", "1", "--strategy", "realfft", "--quiet"],
    );
    assert!(output.status.success());
    let shown = text(&output.stdout);
    assert_eq!(shown.lines().count(), 4, "{shown}");
    assert!(!shown.contains('×'), "one strategy has nothing to be compared with: {shown}");
    if !cfg!(debug_assertions) {
        assert_eq!(text(&output.stderr), "");
    }
}

#[test]
fn wrong_arguments_are_explained() {
    let refused = |arguments: &[&str]| {
        let output = run("welch-peaks", arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert_eq!(text(&output.stdout), "", "{arguments:?}");
        text(&output.stderr)
    };
    let unknown = refused(&["--strategy", "rustftt"]);
    assert!(unknown.contains("unknown strategy `rustftt` (did you mean `rustfft`?)"), "{unknown}");
    assert!(
        unknown.contains(
            "firefly, firefly-queued, firefly-kernels, auto, firefly-host, firefly-pinned, firefly-i16, firefly-host-i16, \
             psd-topk, burn-stock, rustfft, realfft, memcpy"
        ),
        "{unknown}"
    );
    assert!(refused(&["--instruction-set", "avx3"]).contains("'avx2'"));
    assert!(refused(&["--threads", "5000"]).contains("5000 is more than 1024"));
    assert!(refused(&["--segments", "fats"]).contains("a number from 1, ultra, fast or reference"));
    assert!(refused(&["--device", "cdua"]).contains("did you mean `cuda`?"));
    assert!(refused(&["--device", "vulkan"]).contains("vulkan"));
    assert!(refused(&["--batch", "32..100"]).contains("100 is not one"));
    assert!(refused(&["--n-fft", "0"]).contains("numbers start at 1"));
    assert!(refused(&["--iters", "0"]).contains("iters"));
    assert!(refused(&["--strategy", "firefly,psd-topk", "--baseline", "rustfft"]).contains("not among the strategies"));
}

#[test]
fn a_report_that_cannot_be_written_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let output = run("welch-peaks", &["--n-fft", "64", "--batch", "2", "--k", "3", "--iters", "1", "--json", path]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--json"), "{}", text(&output.stderr));
}

/// Strategy that gives the peaks of the float64 reference, changed by `spoil`.
fn spoilt(name: &'static str, spoil: fn(&mut Output)) -> BenchStrategy<PeaksProblem> {
    BenchStrategy::new(name, "spoilt on purpose", move |problem: &PeaksProblem, inputs| {
        let expected = expected(problem, inputs);
        let of_set = |set: usize| {
            let size = problem.batch * problem.k;
            let (mut bins, mut power) = (vec![0; size], vec![0.0; size]);
            for row in expected.iter().filter(|row| row.set == set) {
                let places = row.row * problem.k..(row.row + 1) * problem.k;
                let (strongest, values) = top_k(&row.parts[0], problem.options.bins(), problem.k);
                bins[places.clone()].copy_from_slice(&strongest);
                power[places].copy_from_slice(&values.iter().map(|&value| value as f32).collect::<Vec<_>>());
            }
            let mut peaks = Output { bins, parts: vec![power] };
            spoil(&mut peaks);
            peaks
        };
        let outputs: Vec<Output> = (0..inputs.count()).map(of_set).collect();
        let routine = HostRoutine {
            buffers: 0,
            restore: |_: &mut usize, _: usize| (),
            run: |last: &mut usize, set: usize| {
                *last = set;
                Ok(())
            },
            output: move |last: &usize| outputs[*last].clone(),
        };
        check_peaks(routine, problem, inputs, expected, true)
    })
}

/// Strategy that has no result.
fn refused(name: &'static str, error: fn() -> CaseError) -> BenchStrategy<PeaksProblem> {
    BenchStrategy::new(name, "refused on purpose", move |_: &PeaksProblem, _| Err(error()))
}

#[derive(Parser)]
struct Program {
    #[command(flatten)]
    arguments: peaks::WelchPeaksArgs,
}

#[test]
fn a_wrong_strategy_is_a_row_without_a_time_and_fails_the_run() {
    let catalogue = [
        spoilt("right", |_| ()),
        spoilt("power", |peaks| peaks.parts[0][5] *= 1.001),
        spoilt("bins", |peaks| peaks.bins.rotate_left(1)),
        refused("elsewhere", || CaseError::Unsupported("graphs are not replayed on this device".into())),
        refused("broken", || CaseError::Failed(anyhow!("its kernel does not compile"))),
    ];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.json");
    let arguments = |strategy: &str| {
        let fixed = [
            "bench",
            "--device",
            "cpu",
            "--n-fft",
            "64",
            "--batch",
            "4",
            "--k",
            "8",
            "--iters",
            "2",
            "--quiet",
            "--strategy",
        ];
        let json = ["--json", path.to_str().unwrap()];
        Program::parse_from([&fixed[..], &[strategy], &json].concat()).arguments
    };

    let mut shown = Vec::new();
    let all = arguments("right,power,bins,elsewhere,broken");
    let status = |cases: Vec<CaseRecord>| ExitStatus::of(&cases);
    assert_eq!(status(peaks::run(&all, &catalogue, &mut shown).unwrap()), ExitStatus::Failed);
    let shown = text(&shown);
    assert_eq!(shown.matches("FAILED").count(), 3, "{shown}");
    assert!(shown.contains("FAILED: set 0, row 0: power") && shown.contains("of the row's maximum"), "{shown}");
    assert!(shown.contains("FAILED: its kernel does not compile"), "{shown}");
    assert!(shown.contains("unsupported: graphs are not replayed on this device"), "{shown}");
    let outcomes: Vec<CaseOutcome> = report(&path).cases.into_iter().map(|case| case.outcome).collect();
    assert!(matches!(outcomes[0], CaseOutcome::Measured(_)));
    assert!(outcomes[1..].iter().all(|outcome| !matches!(outcome, CaseOutcome::Measured(_))));

    let status = |strategy| status(peaks::run(&arguments(strategy), &catalogue, &mut Vec::new()).unwrap());
    assert_eq!(status("right,elsewhere"), ExitStatus::Passed);
    assert_eq!(status("bins"), ExitStatus::Failed);
}

#[test]
fn without_its_baseline_a_strategy_is_still_measured() {
    let catalogue = [spoilt("broken", |peaks| peaks.bins[0] = -7), spoilt("right", |_| ())];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.json");
    let fixed =
        ["bench", "--device", "cpu", "--n-fft", "64", "--batch", "4", "--k", "8", "--iters", "2", "--quiet", "--json"];
    let arguments = Program::parse_from([&fixed[..], &[path.to_str().unwrap()]].concat()).arguments;
    let cases = peaks::run(&arguments, &catalogue, &mut Vec::new()).unwrap();
    assert_eq!(ExitStatus::of(&cases), ExitStatus::Failed);
    let report = report(&path);
    let CaseOutcome::Measured(measured) = &report.cases[1].outcome else { panic!("{:?}", report.cases[1].outcome) };
    assert_eq!(measured.speed, []);
}
