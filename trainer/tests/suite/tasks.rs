//! Tasks that train models of the zoo: their shipped configurations of seconds, resuming, evaluation and prediction.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{assert_resumes_to_the_same_bits, errors, evaluation, exported, run, text};

/// The path of a shipped configuration.
fn shipped(name: &str) -> PathBuf {
    PathBuf::from(format!("../configs/{name}.toml"))
}

/// The score of a model in a run's evaluation.
fn score(out: &Path, model: &str, score: &str) -> f64 {
    let rows = evaluation(out);
    let row = rows.iter().find(|row| row["name"] == model).unwrap();
    row[score].as_f64().unwrap()
}

#[test]
fn a_butterfly_recovers_the_fourier_transform_from_its_matrix() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let output = run(&[text(&shipped("transform-dft-8")), "--out", text(&out)]);
    assert!(output.status.success(), "{}", errors(&output));
    let rmse = score(&out, "learned", "rmse");
    assert!(rmse < 1e-4, "root mean square error {rmse}");
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("dft of 8 values") && page.contains("Error of the matrix"));
}

#[test]
fn the_best_of_several_starts_recovers_the_cosine_transform_and_resumes_to_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let (config, out) = (shipped("transform-dct"), folder.path().join("run"));
    let mut arguments = vec![text(&config), "--out", text(&out)];
    let settings = ["data.size=8", "training.steps=600", "training.starts=32", "schedule.checkpoint_every=200"];
    arguments.extend(settings.iter().flat_map(|setting| ["--set", setting]));
    let output = run(&arguments);
    assert!(output.status.success(), "{}", errors(&output));
    let rmse = score(&out, "learned", "rmse");
    assert!(rmse < 1e-4, "root mean square error {rmse}");
    assert_eq!(score(&out, "learned", "parameters"), 62.0, "one start of 2 x 28 entries and 6 logits");
    assert_resumes_to_the_same_bits(&arguments, &out, 400);

    let (rows, table) = (folder.path().join("rows.csv"), folder.path().join("out.csv"));
    fs::write(&rows, "1,1,1,1,1,1,1,1\n0,1,0,0,0,0,0,0\n").unwrap();
    let output = run(&["predict", text(&out), text(&rows), "--out", text(&table)]);
    assert!(output.status.success(), "{}", errors(&output));
    let table = fs::read_to_string(table).unwrap();
    let first: Vec<f64> = table.lines().nth(1).unwrap().split(',').skip(1).map(|cell| cell.parse().unwrap()).collect();
    assert_eq!(first.len(), 8, "real parts alone");
    assert!((first[0] - 8f64.sqrt()).abs() < 1e-3 && first[1..].iter().all(|value| value.abs() < 1e-3), "{first:?}");
}

#[test]
fn transforms_are_learned_from_examples_and_predicted() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let config = shipped("transform-dft-8");
    let settings = ["data.transform=hadamard", "data.from=examples", "training.steps=300", "training.batch=64"];
    let mut arguments = vec![text(&config), "--out", text(&out)];
    arguments.extend(settings.iter().flat_map(|setting| ["--set", setting]));
    let output = run(&arguments);
    assert!(output.status.success(), "{}", errors(&output));
    let metrics = fs::read_to_string(out.join("metrics.jsonl")).unwrap();
    let loss = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["loss"].as_f64().unwrap();
    assert!(loss(metrics.lines().last().unwrap()) < 0.5 * loss(metrics.lines().next().unwrap()), "{metrics}");

    assert!(exported(&out).contains("output_re"));
    let (rows, table) = (folder.path().join("rows.csv"), folder.path().join("out.csv"));
    fs::write(&rows, "1,0,0,0,0,0,0,0\n0,1,0,0,0,0,0,0\n").unwrap();
    let output = run(&["predict", text(&out), text(&rows), "--out", text(&table)]);
    assert!(output.status.success(), "{}", errors(&output));
    let table = fs::read_to_string(table).unwrap();
    assert!(table.starts_with("file,re_0,") && table.lines().count() == 3, "{table}");
    assert_eq!(table.lines().nth(1).unwrap().split(',').count(), 1 + 16);
}

#[test]
fn a_forecast_of_a_generated_series_is_better_than_repetition_and_resumes_to_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let (config, out) = (shipped("forecasting-tiny"), folder.path().join("run"));
    let arguments = [text(&config), "--out", text(&out), "--set", "schedule.checkpoint_every=60"];
    let output = run(&arguments);
    assert!(output.status.success(), "{}", errors(&output));
    let [learned, row, day] = ["learned", "last row", "last 24 rows"].map(|model| score(&out, model, "mse"));
    assert!(learned < row && learned < day, "{learned}, {row} and {day}");
    let ridge = score(&out, "ridge regression", "mse");
    assert!(ridge < row && ridge < day, "{ridge}, {row} and {day}");

    assert_resumes_to_the_same_bits(&arguments, &out, 60);

    assert!(exported(&out).contains("forecast"));
    let again = run(&["eval", text(&out)]);
    assert!(String::from_utf8_lossy(&again.stdout).contains("generated series, 6 rows ahead"), "{}", errors(&again));
    let (table, forecast) = (folder.path().join("series.csv"), folder.path().join("forecast.csv"));
    let rows = (0..30).map(|row| format!("{row},{}\n", 2 * row)).collect::<String>();
    for (titles, expected) in
        [("", "file,row,channel_0,channel_1"), ("load,\"oil, hot\"\n", "file,row,load,\"oil, hot\"")]
    {
        fs::write(&table, format!("{titles}{rows}")).unwrap();
        let output = run(&["predict", text(&out), text(&table), "--out", text(&forecast)]);
        assert!(output.status.success(), "{}", errors(&output));
        assert!(errors(&output).contains("series.csv: its columns are taken in the order"), "{}", errors(&output));
        let predicted = fs::read_to_string(&forecast).unwrap();
        assert_eq!(predicted.lines().next(), Some(expected));
        assert_eq!(predicted.lines().count(), 1 + 6);
    }
}

#[test]
fn families_of_signals_are_classified_and_predicted() {
    let folder = tempfile::tempdir().unwrap();
    let (config, out) = (shipped("classification-synthetic"), folder.path().join("run"));
    let output = run(&[text(&config), "--out", text(&out), "--set", "data.test_snr_db=[20.0]"]);
    assert!(output.status.success(), "{}", errors(&output));
    let (learned, chance) = (score(&out, "learned", "accuracy"), score(&out, "most frequent class", "accuracy"));
    assert!(learned > 2.0 * chance, "{learned} and {chance}");
    let linear = score(&out, "linear, log-mel bands", "accuracy");
    assert!(linear > 2.0 * chance, "{linear} and {chance}");
    assert_eq!(evaluation(&out).len(), 6, "three rows without noise and three with it");

    let again = run(&["eval", text(&out)]);
    assert!(again.status.success(), "{}", errors(&again));
    let file = exported(&out);
    assert!(file.contains("firefly.classes") && file.contains("[batch, samples]: recordings at "));
    let refused = run(&["export", text(&out), "--onnx", text(folder.path())]);
    assert!(!refused.status.success() && errors(&refused).contains("--onnx"), "{}", errors(&refused));
    let (tone, table) = (folder.path().join("tone.csv"), folder.path().join("classes.csv"));
    let sine = (0..1500).map(|index| format!("{}\n", (f64::from(index) * 0.7).sin()));
    fs::write(&tone, sine.collect::<String>()).unwrap();
    let output = run(&["predict", text(&out), text(&tone), "--out", text(&table)]);
    assert!(output.status.success(), "{}", errors(&output));
    let table = fs::read_to_string(table).unwrap();
    assert!(table.starts_with("file,channel,part,class,probability\n") && table.lines().count() == 2, "{table}");
    // The folder of a table is refused before anything is read.
    let output = run(&["predict", text(&out), "no-such.csv", "--out", text(folder.path())]);
    assert!(errors(&output).contains("it is a folder, but the outputs are one table"), "{}", errors(&output));
}

#[test]
fn models_of_steps_tokens_images_and_features_classify_waveforms() {
    let folder = tempfile::tempdir().unwrap();
    let config = shipped("classification-synthetic");
    for model in ["s4d_tiny", "fnet_tiny", "gfnet_tiny", "log_mel_tiny", "mfcc_tiny"] {
        let (out, again) = (folder.path().join(model), folder.path().join("again.json"));
        let named = format!("model={{ name = \"{model}\" }}");
        let settings = [&named, "data.samples=128", "data.patch=4", "data.n_fft=64", "data.synthetic_examples=8"];
        let mut arguments = vec![text(&config), "--out", text(&out), "--steps", "6"];
        arguments.extend(settings.iter().flat_map(|setting| ["--set", setting]));
        arguments.extend(["--set", "schedule.checkpoint_every=3"]);
        let output = run(&arguments);
        assert!(output.status.success(), "{model}: {}", errors(&output));
        let rows = evaluation(&out);
        let output = run(&["eval", text(&out), "--json", text(&again)]);
        assert!(output.status.success(), "{model}: {}", errors(&output));
        let read: serde_json::Value = serde_json::from_slice(&fs::read(&again).unwrap()).unwrap();
        assert_eq!(read, serde_json::Value::from(rows), "{model}: the model in the folder is the trained one");
        assert_resumes_to_the_same_bits(&arguments, &out, 3);
    }
    let refused = |setting: &str| {
        let output = run(&[text(&config), "--out", text(&folder.path().join("none")), "--set", setting]);
        errors(&output)
    };
    let error = refused("model={ name = \"s4d_tiny\", settings = { outputs = 4 } }");
    assert!(error.contains("left out: there is one for each label of the data"), "{error}");
    let error = refused("data.patch=3");
    assert!(error.contains("data.patch is 3, but must be a divisor of data.samples"), "{error}");
    let error = refused("model={ name = \"gfnet_tiny\", settings = { image = 3000 } }");
    assert!(error.contains("model.settings.image is 3000"), "{error}");
    let error = refused("model={ name = \"fnet_tiny\", settings = { vocabulary = 1 } }");
    assert!(error.contains("model.settings.vocabulary is 1"), "{error}");
}

#[test]
fn noise_is_taken_from_generated_signals_and_the_run_resumes_to_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let (config, out) = (shipped("denoising-tiny"), folder.path().join("run"));
    let arguments = [text(&config), "--out", text(&out), "--set", "schedule.checkpoint_every=60"];
    let output = run(&arguments);
    assert!(output.status.success(), "{}", errors(&output));
    let rows = evaluation(&out);
    // Three kinds of noise and all together, at two ratios: the noisy signals, two baselines and the model.
    assert_eq!(rows.len(), 4 * 2 * 4);
    let all = rows.iter().filter(|row| row["data_set"] == "synthetic, all noises" && row["name"] == "learned");
    for row in all {
        assert!(row["si_snr_improvement_db"].as_f64().unwrap() > 1.5, "{row}");
    }
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("Ratio after denoising, all noises") && page.contains("Spectrogram: denoised"));
    assert_resumes_to_the_same_bits(&arguments, &out, 60);
}

#[test]
fn recordings_are_denoised_into_files_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let output = run(&[text(&shipped("denoising-tiny")), "--out", text(&out), "--steps", "2"]);
    assert!(output.status.success(), "{}", errors(&output));
    assert!(exported(&out).contains("denoised"));
    let wav = |name: &str, sample_rate: u32, samples: usize| {
        let path = folder.path().join(name);
        let spec =
            hound::WavSpec { channels: 2, sample_rate, bits_per_sample: 16, sample_format: hound::SampleFormat::Int };
        let mut writer = hound::WavWriter::create(&path, spec).unwrap();
        (0..2 * samples).for_each(|index| writer.write_sample((index * 7919 % 1000) as i16).unwrap());
        writer.finalize().unwrap();
        path
    };
    let (stereo, clean) = (wav("stereo.wav", 8_000, 700), folder.path().join("clean"));
    let output = run(&["predict", text(&out), text(&stereo), text(&stereo), "--out", text(&clean)]);
    assert!(output.status.success(), "{}", errors(&output));
    for name in ["stereo.wav", "stereo-2.wav"] {
        let reader = hound::WavReader::open(clean.join(name)).unwrap();
        assert_eq!((reader.spec().channels, reader.spec().sample_rate, reader.duration()), (2, 8_000, 700));
    }
    let refused = |input: &Path| errors(&run(&["predict", text(&out), text(input), "--out", text(&clean)]));
    let message = refused(&wav("fast.wav", 44_100, 700));
    assert!(message.contains("fast.wav") && message.contains("44100 samples per second"), "{message}");
    // Shorter than a frame of the model.
    let output = run(&["predict", text(&out), text(&wav("short.wav", 8_000, 20)), "--out", text(&clean)]);
    assert!(output.status.success(), "{}", errors(&output));
    assert_eq!(hound::WavReader::open(clean.join("short.wav")).unwrap().duration(), 20);
    let file = folder.path().join("file");
    fs::write(&file, "mine").unwrap();
    let message = errors(&run(&["predict", text(&out), text(&stereo), "--out", text(&file)]));
    assert!(message.contains("it is a file, but the outputs are a file for each input"), "{message}");
    assert_eq!(fs::read(&file).unwrap(), b"mine");
}

#[test]
fn settings_that_the_data_determine_and_other_models_are_refused() {
    let error_of = |config: &str, setting: &str| {
        let output = run(&[text(&shipped(config)), "--out", "/nowhere/run", "--set", setting]);
        assert!(!output.status.success(), "{setting} was accepted");
        errors(&output)
    };
    assert!(error_of("transform-dft-8", "model.settings.n=16").contains("left out: it is data.size"));
    assert!(
        error_of("transform-dft-8", "model.name=fits").contains("model.name is fits, but must be one of butterfly")
    );
    assert!(error_of("transform-dft-8", "data.size=12").contains("data.size is 12"));
    assert!(error_of("transform-dft-8", "model.settings.product=2").contains("has no setting `product`"));
    assert!(error_of("forecasting-tiny", "data.train_rows=20").contains("at least data.look_back + data.horizon"));
    let twice = error_of("classification-synthetic", "data.synthetic.families=[\"tones\", \"tones\"]");
    assert!(twice.contains("data.synthetic.families is ") && twice.contains("each is a class"), "{twice}");
    assert!(error_of("denoising-tiny", "data.noises=[]").contains("data.noises is empty"));
    assert!(error_of("denoising-tiny", "data.noises=[\"hum\"]").contains("hum"));
    assert!(error_of("denoising-tiny", "data.noises=[\"recorded\"]").contains("data.noise_folder is missing"));
    assert!(error_of("denoising-tiny", "data.snr_db=[5.0, 0.0]").contains("data.snr_db is [5.0, 0.0]"));
    assert!(error_of("denoising-tiny", "model.settings.samples=64").contains("left out: it is data.samples"));
    assert!(error_of("forecasting-tiny", "data.file=/nowhere.csv").contains("/nowhere.csv"));
}

#[test]
fn every_optimizer_lowers_the_error() {
    let folder = tempfile::tempdir().unwrap();
    let config = shipped("transform-dft-8");
    let variants: [&[&str]; 4] = [
        &["optimizer.kind=adamw", "optimizer.weight_decay=0.001", "optimizer.schedule=linear", "optimizer.warm_up=20"],
        &[
            "optimizer.kind=sgd",
            "optimizer.momentum=0.9",
            "optimizer.nesterov=true",
            "optimizer.clip_norm=0.5",
            "training.learning_rate=1.0",
        ],
        &["optimizer.accumulate=2", "optimizer.clip_value=0.1", "optimizer.schedule=constant"],
        &["optimizer.average_decay=0.9", "optimizer.schedule=step", "optimizer.step_every=100"],
    ];
    for (index, settings) in variants.iter().enumerate() {
        let out = folder.path().join(index.to_string());
        let mut arguments = vec![text(&config), "--out", text(&out), "--steps", "400"];
        let common = ["schedule.validate_every=20", "training.learning_rate=0.05", "training.round_after=1"];
        arguments.extend(common.iter().chain(*settings).flat_map(|setting| ["--set", setting]));
        let output = run(&arguments);
        assert!(output.status.success(), "{settings:?}: {}", errors(&output));
        let metrics = fs::read_to_string(out.join("metrics.jsonl")).unwrap();
        let loss = |line: Option<&str>| {
            serde_json::from_str::<serde_json::Value>(line.unwrap()).unwrap()["validation_loss"].as_f64().unwrap()
        };
        let (first, last) = (loss(metrics.lines().next()), loss(metrics.lines().last()));
        assert!(last < 0.5 * first, "{settings:?}: {first} to {last}");
    }
}

#[test]
fn a_run_of_another_task_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let config = shipped("transform-dft-8");
    assert!(run(&[text(&config), "--out", text(&out), "--steps", "2"]).status.success());
    let output = run(&[text(&shipped("forecasting-tiny")), "--out", text(&out), "--resume"]);
    assert!(errors(&output).contains("holds a run of the task transform, not of forecasting"), "{}", errors(&output));
}

#[test]
fn steps_stand_for_epochs_and_the_other_way_round() {
    let folder = tempfile::tempdir().unwrap();
    let config = shipped("forecasting-tiny");
    let lines = |name: &str, setting: &str| {
        let out = folder.path().join(name);
        let output = run(&[text(&config), "--out", text(&out), "--set", setting]);
        assert!(output.status.success(), "{}", errors(&output));
        let metrics = fs::read_to_string(out.join("metrics.jsonl")).unwrap();
        let last: serde_json::Value = serde_json::from_str(metrics.lines().last().unwrap()).unwrap();
        last["step"].as_u64().unwrap()
    };
    assert_eq!(lines("steps", "training.steps=7"), 7);
    // 1,411 windows in batches of 64.
    assert_eq!(lines("epochs", "training.epochs=1"), 23);
}
