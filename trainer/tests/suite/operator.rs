//! Task `operator`: learning, resuming, evaluation at other resolutions, prediction, and what is refused.

use std::fs;
use std::path::{Path, PathBuf};

use firefly_recordings::Array;

use crate::common::{assert_resumes_to_the_same_bits, errors, evaluation, exported, run, text};

const TINY: &str = "../configs/operator-tiny.toml";

/// The score of a model on a data set of a run.
fn score(out: &Path, model: &str, data_set: &str) -> f64 {
    let rows = evaluation(out);
    let row = rows.iter().find(|row| row["name"] == model && row["data_set"] == data_set).unwrap();
    row["relative_l2"].as_f64().unwrap()
}

/// Writes an array `[shape…]` whose values follow from their place.
fn write_array(path: &Path, shape: &[usize], value: impl Fn(usize) -> f32) {
    let values: Vec<f32> = (0..shape.iter().product()).map(value).collect();
    fs::write(path, Array { shape: shape.to_vec(), values: values.into() }.to_npy()).unwrap();
}

/// Arguments of a run with settings.
fn arguments<'a>(config: &'a str, out: &'a Path, settings: &'a [String]) -> Vec<&'a str> {
    let settings = settings.iter().flat_map(|setting| ["--set", setting.as_str()]);
    [config, "--out", text(out)].into_iter().chain(settings).collect()
}

#[test]
fn solutions_are_learned_at_every_resolution_and_predicted_in_their_own_units() {
    let folder = tempfile::tempdir().unwrap();
    let (out, cache) = (folder.path().join("run"), folder.path().join("solved"));
    fs::create_dir(&cache).unwrap();
    let settings = [format!("data.generated.cache={}", text(&cache)), "schedule.checkpoint_every=100".into()];
    let output = run(&arguments(TINY, &out, &settings));
    assert!(output.status.success(), "{}", errors(&output));
    let [coarse, fine] = ["64", "256"].map(|points| format!("generated burgers, {points} points"));
    let (learned, mean) = (score(&out, "learned", &coarse), score(&out, "mean of the training outputs", &coarse));
    assert!(learned < 0.03 && mean > 0.5, "{learned} and {mean}");
    assert!(score(&out, "learned", &fine) < 1.1 * learned, "another resolution without training there");
    let ridge = score(&out, "ridge regression", &coarse);
    assert!(learned < ridge && ridge < mean, "{learned}, {ridge} and {mean}");
    let is_ridge_of_fine = |row: &serde_json::Value| row["name"] == "ridge regression" && row["data_set"] == *fine;
    assert!(!evaluation(&out).iter().any(is_ridge_of_fine), "the map is of the training points");
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("Error against resolution") && page.contains("256 points: sample 1"));

    assert!(exported(&out).contains("Einsum"));
    // The cache is a file of data: its training samples are predicted as well as the test samples.
    let solved: PathBuf = fs::read_dir(&cache).unwrap().next().unwrap().unwrap().path();
    let predictions = folder.path().join("predictions");
    let output = run(&["predict", text(&out), text(&solved), "--out", text(&predictions)]);
    assert!(output.status.success(), "{}", errors(&output));
    let name = solved.file_stem().unwrap().to_string_lossy().into_owned() + ".npy";
    let found = Array::read(&predictions.join(name), "x").unwrap();
    let wanted = Array::read(&solved, "y").unwrap();
    assert_eq!((found.shape.as_slice(), wanted.values.len()), (&[192, 64][..], found.values.len()));
    let sum = |of: &dyn Fn((&f32, &f32)) -> f32| found.values.iter().zip(wanted.values.iter()).map(of).sum::<f32>();
    let error = (sum(&|(a, b)| (a - b).powi(2)) / sum(&|(_, b)| b.powi(2))).sqrt();
    assert!(error < 0.03, "{error}");

    assert_resumes_to_the_same_bits(&arguments(TINY, &out, &settings), &out, 200);

    let again = run(&["eval", text(&out), "--data", text(&solved)]);
    let table = String::from_utf8_lossy(&again.stdout).into_owned();
    assert!(table.contains("64 points") && table.contains("learned"), "{table} {}", errors(&again));
}

#[test]
fn fields_with_a_boundary_are_averaged_over_symmetries() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let settings = [
        "model.name=fno2d_tiny",
        "data.boundary=zero",
        "data.symmetry=square",
        "data.generated.equation=darcy",
        "data.generated.samples=48",
        "data.generated.test_samples=8",
        "data.generated.points=8",
        "data.generated.test_points=[8, 16]",
        "data.generated.solver_points=32",
        "model.settings={ padding_share = 0.25 }",
    ];
    let output = run(&arguments(TINY, &out, &settings.map(String::from)));
    assert!(output.status.success(), "{}", errors(&output));
    for points in ["8 × 8", "16 × 16"] {
        let averaged = score(&out, "learned, mean over symmetries", &format!("generated darcy, {points} points"));
        assert!(averaged < 0.3, "{averaged}");
    }
    assert!(fs::read_to_string(out.join("report.html")).unwrap().contains("8 × 8 points: sample 0"));
}

#[test]
fn fields_of_several_channels_and_dimensions_are_read_from_files() {
    let folder = tempfile::tempdir().unwrap();
    for (model, x_shape, y_shape) in [
        ("fno3d_tiny", vec![12, 8, 8, 8], vec![12, 8, 8, 8]),
        ("fno2d_factorized_tiny", vec![12, 2, 8, 10], vec![12, 3, 8, 10]),
        ("fno1d_tiny", vec![12, 3, 16], vec![12, 16]),
    ] {
        let path = |array: &str| folder.path().join(format!("{model}_{array}.npy"));
        write_array(&path("x"), &x_shape, |place| (place as f32 * 0.37).sin());
        write_array(&path("y"), &y_shape, |place| 5.0 + (place as f32 * 0.11).cos());
        let out = folder.path().join(model);
        let settings = [
            format!("model={{ name = \"{model}\" }}"),
            format!("data.files.x={}", text(&path("x"))),
            format!("data.tests=[{{ x = \"{}\" }}]", text(&path("x"))),
            "training.steps=4".into(),
            "training.batch=3".into(),
        ];
        let output = run(&[&arguments(TINY, &out, &settings)[..], &["--data", text(folder.path())]].concat());
        assert!(output.status.success(), "{model}: {}", errors(&output));
        let predictions = folder.path().join(format!("{model}-predictions"));
        let output = run(&["predict", text(&out), text(&path("x")), "--out", text(&predictions)]);
        assert!(output.status.success(), "{model}: {}", errors(&output));
        assert_eq!(Array::read(&predictions.join(format!("{model}_x.npy")), "y").unwrap().shape, y_shape);
        let twice = run(&["predict", text(&out), text(&path("x")), text(&path("x")), "--out", text(&predictions)]);
        assert!(errors(&twice).contains("another input has the same name"), "{}", errors(&twice));
    }
}

#[test]
fn fields_that_do_not_fit_are_refused_with_their_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    write_array(&path("good_x.npy"), &[12, 16], |place| (place as f32).sin());
    write_array(&path("good_y.npy"), &[12, 16], |place| (place as f32).cos());
    write_array(&path("nan_x.npy"), &[12, 16], |place| if place == 50 { f32::NAN } else { 1.0 });
    write_array(&path("nan_y.npy"), &[12, 16], |_| 1.0);
    write_array(&path("short_x.npy"), &[12, 16], |_| 1.0);
    write_array(&path("short_y.npy"), &[11, 16], |_| 1.0);
    let error_of = |settings: &[&str]| {
        let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
        let out = path("run");
        let output = run(&[&arguments(TINY, &out, &settings)[..], &["--data", text(folder.path())]].concat());
        assert!(!output.status.success(), "{settings:?} were accepted");
        errors(&output)
    };
    let file = |name: &str| error_of(&[&format!("data.files.x={name}_x.npy")]);
    assert!(file("nan").contains("nan_x.npy: sample 3 of `x` is NaN at its value 2"), "{}", file("nan"));
    assert!(file("short").contains("short_y.npy: inputs are [12, 1, 16] and outputs [11, 1, 16]"), "{}", file("short"));
    assert!(file("no").contains("no_x.npy"), "{}", file("no"));
    let rank = error_of(&["data.files.x=good_x.npy", "model.name=fno2d_tiny", "model.settings={}"]);
    assert!(rank.contains("good_x.npy: `x` has the shape [12, 16]"), "{rank}");
    let modes = error_of(&["data.files.x=good_x.npy", "model.settings.modes=[40]"]);
    assert!(modes.contains("modes"), "{modes}");
    // Test points below the modes, before any of the samples is solved.
    let tests = error_of(&["data.generated.test_points=[64, 4]", "data.generated.samples=1000000"]);
    assert!(tests.contains("the model can't be evaluated on 4 points: Fno: `modes` is 8"), "{tests}");
    write_array(&path("few_x.npy"), &[3, 8], |place| (place as f32).sin());
    write_array(&path("few_y.npy"), &[3, 8], |place| (place as f32).cos());
    let tests = error_of(&["data.files.x=good_x.npy", "data.tests=[{ x = \"few_x.npy\" }]"]);
    assert!(tests.contains("the model can't be evaluated on few_x, 8 points"), "{tests}");
    write_array(&path("two_x.npy"), &[3, 2, 16], |place| (place as f32).sin());
    write_array(&path("two_y.npy"), &[3, 2, 16], |place| (place as f32).cos());
    let tests = error_of(&["data.files.x=good_x.npy", "data.tests=[{ x = \"two_x.npy\" }]"]);
    assert!(tests.contains("two_x.npy: two_x, 16 points: channels of x and y are (2, 2)"), "{tests}");
    let tests = error_of(&["data.tests=[{ x = \"good_x.npy\" }]"]);
    assert!(tests.contains("data.tests is given, but must be left out, because data.files is"), "{tests}");
    write_array(&path("far_x.npy"), &[12, 16], |place| (place as f32).sin());
    write_array(&path("far_y.npy"), &[12, 16], |place| if place < 16 { 1e-20 } else { 1.0 });
    assert!(file("far").contains("far_y.npy: output 0 is at most 1e-20"), "{}", file("far"));
    let model = error_of(&["model.name=fno2d_tiny", "model.settings={}"]);
    assert!(model.contains("one of the family fno1d: burgers has 1 dimension"), "{model}");
    let points = error_of(&["data.generated.points=48"]);
    assert!(points.contains("a divisor of data.generated.solver_points"), "{points}");
    let derived = error_of(&["model.settings.in_channels=2"]);
    assert!(derived.contains("left out: they are those of the inputs"), "{derived}");
}

#[test]
fn outputs_of_any_magnitude_are_learned() {
    let folder = tempfile::tempdir().unwrap();
    let error = |name: &str, unit: f32| {
        let path = |file: &str| folder.path().join(format!("{name}_{file}.npy"));
        write_array(&path("x"), &[12, 16], |place| (place as f32 * 0.37).sin());
        write_array(&path("y"), &[12, 16], |place| unit * (place as f32 * 0.11).cos());
        let out = folder.path().join(name);
        let settings = [format!("data.files.x={}", text(&path("x"))), "training.steps=20".into()];
        let output = run(&[&arguments(TINY, &out, &settings)[..], &["--data", text(folder.path())]].concat());
        assert!(output.status.success(), "{unit:e}: {}", errors(&output));
        score(&out, "learned", "validation samples, 16 points")
    };
    let one = error("one", 1.0);
    for (name, unit) in [("huge", 2f32.powi(66)), ("minute", 2f32.powi(-84))] {
        let found = error(name, unit);
        assert!((found / one - 1.0).abs() < 1e-3, "{found} with outputs of {unit:e}, {one} with outputs of 1");
    }
}

#[test]
fn test_files_of_one_stem_have_different_names() {
    let folder = tempfile::tempdir().unwrap();
    for place in ["a", "b"] {
        fs::create_dir(folder.path().join(place)).unwrap();
        for (array, phase) in [("x", 0.0), ("y", 1.0)] {
            let path = folder.path().join(place).join(format!("flow_{array}.npy"));
            write_array(&path, &[4, 16], |point| (point as f32 * 0.37 + phase).sin());
        }
    }
    let out = folder.path().join("run");
    let tests = "data.tests=[{ x = \"a/flow_x.npy\" }, { x = \"b/flow_x.npy\" }]";
    let settings = ["data.files.x=a/flow_x.npy".to_string(), tests.into(), "training.steps=2".into()];
    let output = run(&[&arguments(TINY, &out, &settings)[..], &["--data", text(folder.path())]].concat());
    assert!(output.status.success(), "{}", errors(&output));
    for name in ["a/flow_x.npy, 16 points", "b/flow_x.npy, 16 points"] {
        assert!(score(&out, "learned", name).is_finite());
    }
}

#[test]
fn new_configurations_have_samples_of_the_dimensions_of_their_model() {
    for (model, expected) in [
        ("fno1d_tiny", "equation = \"burgers\""),
        ("fno2d_tiny", "equation = \"darcy\""),
        ("fno3d_tiny", "equation = \"darcy3d\""),
    ] {
        let output = run(&["new", "operator", "--model", model]);
        assert!(output.status.success(), "{model}: {}", errors(&output));
        assert!(String::from_utf8_lossy(&output.stdout).contains(expected), "{model}");
    }
}

/// The weights of a run's model are those of a model of the zoo, and the reverse.
#[test]
fn weights_that_ship_solve_generated_flow_in_a_cube() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let settings =
        ["samples=8", "test_samples=4", "test_points=[16]"].map(|setting| format!("data.generated.{setting}"));
    let output =
        run(&[&arguments("../configs/operator-darcy3d.toml", &out, &settings)[..], &["--steps", "1"]].concat());
    assert!(output.status.success(), "{}", errors(&output));
    fs::copy("../models/weights/fno3d_darcy.safetensors", out.join("model/model.safetensors")).unwrap();
    let output = run(&["eval", text(&out)]);
    assert!(output.status.success(), "{}", errors(&output));
    let table = String::from_utf8(output.stdout).unwrap();
    let learned = table.lines().find_map(|line| line.strip_prefix("learned ")).unwrap();
    let error: f64 = learned.split_whitespace().next().unwrap().parse().unwrap();
    assert!(error < 0.06, "{table}");
}

#[test]
fn a_large_model_says_how_large_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let settings = ["model.settings.width=256", "data.generated.samples=8", "data.generated.test_samples=1"];
    let settings = settings.map(String::from);
    let output = run(&[&arguments(TINY, &out, &settings)[..], &["--steps", "1"]].concat());
    assert!(output.status.success(), "{}", errors(&output));
    assert!(errors(&output).contains("the model has 2,2"), "{}", errors(&output));
}
