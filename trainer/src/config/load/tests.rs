//! Settings, their errors, and damaged configurations.

use proptest::prelude::*;

use super::*;
use crate::tasks::peaks::{PeaksConfig, PeaksTask};

fn parse(text: &str, settings: &[String], origin: &str) -> Result<PeaksConfig, ConfigError> {
    super::parse::<PeaksTask>(text, settings, origin)
}

/// The error of a configuration.
fn message(text: &str, settings: &[&str]) -> String {
    let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
    parse(text, &settings, "run.toml").unwrap_err().to_string()
}

#[test]
fn settings_override_the_file_in_order() {
    let settings = ["training.steps=7", "loss.price=0.5", "name=other", "model.open_segments=[1, 6]"];
    let config = parse("name = \"mine\"\n[training]\nsteps = 3\n", &settings.map(String::from), "run.toml").unwrap();
    assert_eq!((config.training.steps, config.loss.price, config.name.as_str()), (7, 0.5, "other"));
    assert_eq!(config.model.open_segments, Some(vec![1, 6]));
}

#[test]
fn an_unknown_key_names_the_nearest_and_its_place() {
    let error = message("[training]\nbacth = 3\n", &[]);
    assert!(error.contains("unknown field `bacth`") && error.contains("did you mean `batch`?"), "{error}");
    assert!(error.contains("line 2"), "{error}");
    assert!(message("", &["training.stesp=4"]).contains("did you mean `steps`?"));
    assert!(message("[modell]\n", &[]).contains("did you mean `model`?"));
    assert!(message("[model]\nwindow = \"han\"\n", &[]).contains("did you mean `hann`?"));
}

#[test]
fn malformed_settings_and_values_are_refused() {
    assert!(message("", &["training.steps"]).contains("expected section.key=value"));
    assert!(message("", &["training.steps=many"]).contains("--set training.steps=many"));
    assert!(message("[training]\nsteps = -3\n", &[]).contains("run.toml"));
    assert!(message("[training\n", &[]).contains("run.toml"));
    let long = message("[data.synthetic]\nsnr_db = [0.0, 1.0, 2.0]\n", &[]);
    assert!(long.starts_with("run.toml: ") && long.contains("snr_db"), "{long}");
}

#[test]
fn settings_are_checked_together_and_the_one_at_fault_is_named() {
    let (share, train) = ("data.recordings.validation_share=0.5", "data.recordings.train=x");
    let config = parse("", &[share.into(), train.into()], "run.toml").unwrap();
    assert_eq!(config.data.recordings.unwrap().train, Path::new("x"));
    assert!(message("", &[share]).starts_with("--set data.recordings.validation_share=0.5: missing field `train`"));
    assert!(message("", &["seed=1", "training.steps=many", "seed=2"]).starts_with("--set training.steps=many: "));
    assert_eq!(message("seed = 3\n", &["seed.x=1"]), "--set seed.x=1: `seed` is no section");
    let steps = message("[training]\nsteps = 3\n", &["training.steps.x=3"]);
    assert_eq!(steps, "--set training.steps.x=3: `training.steps` is no section");
    let most = "whole numbers are at most 9,223,372,036,854,775,807";
    assert!(message("", &["seed=9223372036854775808"]).contains(most));
    for seed in ["seed = 9223372036854775808", "seed = 1000000000000000000000000000000000000000"] {
        let error = message(seed, &[]);
        assert!(error.contains(seed) && error.ends_with(most), "{error}");
    }
}

#[test]
fn files_that_are_no_text_are_refused_by_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.toml");
    std::fs::write(&path, b"seed = 1\n# gr\xfc\xdfe\n").unwrap();
    let error = load::<PeaksTask>(&path, &[], None).unwrap_err().to_string();
    assert!(error.ends_with("run.toml: line 2 is not UTF-8: save the file as UTF-8 text"), "{error}");
    std::fs::write(&path, vec![b' '; 1 << 21]).unwrap();
    assert!(matches!(load::<PeaksTask>(&path, &[], None), Err(ConfigError::TooLong(_))));
}

#[test]
fn the_task_is_that_of_the_file_or_of_the_last_setting() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.toml");
    std::fs::write(&path, "seed = 1\n").unwrap();
    assert_eq!(task_of(&path, &[]).unwrap(), TaskName::Peaks);
    assert_eq!(task_of(&path, &["task=transform".into()]).unwrap(), TaskName::Transform);
    let error = task_of(&path, &["task=transfrom".into()]).unwrap_err().to_string();
    assert!(error.starts_with("--set task=transfrom: ") && error.contains("did you mean `transform`?"), "{error}");
    std::fs::write(&path, "task = \"transform\"\n").unwrap();
    assert_eq!(task_of(&path, &[]).unwrap(), TaskName::Transform);
    let error = message("task = \"peeks\"\n", &[]);
    assert!(error.contains("did you mean `peaks`?") && error.contains("line 1"), "{error}");
}

/// Text fragments that are near to a configuration.
const FRAGMENTS: [&str; 16] = [
    "=",
    "[",
    "]",
    "\"",
    "\n",
    "[model]\n",
    "n_fft",
    "-1",
    "1e400",
    "nan",
    "9223372036854775808",
    "{",
    "}",
    ",",
    ".",
    "\u{0}",
];

fn fragment() -> impl Strategy<Value = &'static str> {
    prop::sample::select(FRAGMENTS.to_vec())
}

/// Edits of a text: the position as a share of its length, the bytes removed there, and the fragment inserted.
fn edits() -> impl Strategy<Value = Vec<(f64, usize, &'static str)>> {
    prop::collection::vec((0.0..1.0, 0usize..12, fragment()), 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn damaged_configurations_never_panic(edits in edits(), half in any::<bool>()) {
        let mut text = match half {
            true => include_str!("../../../../configs/bearing-256-half.toml").to_owned(),
            false => include_str!("../../../../configs/speech-256.toml").to_owned(),
        };
        for (share, removed, fragment) in edits {
            let start = (share * text.len() as f64) as usize;
            let end = (start + removed).min(text.len());
            if text.is_char_boundary(start) && text.is_char_boundary(end) {
                text.replace_range(start..end, fragment);
            }
        }
        if let Ok(config) = parse(&text, &[], "run.toml") {
            let _ = config.validate();
        }
    }

    #[test]
    fn damaged_settings_never_panic(parts in prop::collection::vec(fragment(), 0..6)) {
        let text = parts.concat();
        for setting in [text.clone(), format!("model.{text}"), format!("model.k={text}")] {
            if let Ok(config) = parse("", &[setting], "run.toml") {
                let _ = config.validate();
            }
        }
    }
}

#[test]
fn messages_of_the_parser_are_explained() {
    for text in ["[model]\nscaling = \"density\"\n", "[model]\nscaling = { density = 1.0 }\n"] {
        let error = message(text, &[]);
        assert!(error.contains("it needs parameters, as in { kaiser = ") && error.contains("line 2"), "{error}");
    }
    let one_name = "one name is expected, in quotes and not in a list";
    assert!(message("", &["training.learn=[[\"gain\"]]"]).contains(one_name));
    assert_eq!(message(&format!("a{} = 1\n", ".a".repeat(50_000)), &[]), "run.toml: its keys are nested too deeply");
    assert!(message(&format!("name = {}", "[".repeat(500)), &[]).ends_with("values are nested too deeply"));
}

#[test]
fn long_lines_of_errors_are_cut() {
    assert!(message(&format!("name = {}", "[".repeat(100_000)), &[]).len() < 1000);
}

#[cfg(unix)]
#[test]
fn data_whose_path_is_no_text_are_refused() {
    use std::os::unix::ffi::OsStrExt;
    let root = DataRoot::Folder(Path::new(std::ffi::OsStr::from_bytes(b"/d\xff")));
    assert!(matches!(locate([&mut PathBuf::from("x")], root), Err(ConfigError::NotText(_))));
}

#[test]
fn paths_are_located_in_their_root_or_refused() {
    let mut path = PathBuf::from("bearing/train");
    let missing = locate([&mut path], DataRoot::of(None)).unwrap_err().to_string();
    assert!(missing.starts_with("bearing/train is not in this folder"), "{missing}");
    assert!(!locate([&mut path], DataRoot::of(Some(Path::new("synthetic")))).unwrap());
    assert_eq!(path, Path::new("bearing/train"));
    assert!(locate([&mut path], DataRoot::of(Some(Path::new("/data")))).unwrap());
    assert_eq!(path, Path::new("/data/bearing/train"));
    assert!(locate([&mut path], DataRoot::of(None)).unwrap());
    let mut own = Some(PathBuf::from("cache"));
    locate_own(&mut own, DataRoot::Generated).unwrap();
    assert!(own.is_some_and(|own| own.is_absolute() && own.ends_with("cache")));
}

#[test]
fn generated_data_replace_the_recordings_of_a_mixture() {
    let mut data: DataConfig = toml::from_str(
        "[[sources]]\nrecordings = { train = \"a\" }\n[[sources]]\nsynthetic = { families = [\"tones\"] }\n",
    )
    .unwrap();
    assert!(matches!(locate_frames(&mut data, DataRoot::WorkingFolder), Err(ConfigError::MissingData(_))));
    locate_frames(&mut data, DataRoot::Generated).unwrap();
    assert!(data.sources.len() == 1 && data.sources[0].recordings.is_none());
}
