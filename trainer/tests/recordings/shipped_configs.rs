//! The shipped configurations run on the recordings they name, and those on bearings reach the recall they are for.

use std::fs;
use std::path::{Path, PathBuf};

use libtest_mimic::Trial;

use crate::common::{errors, evaluation, run, shipped_configs, text};
use crate::trial;

/// Scores of the task `peaks`.
const PEAKS: [&str; 2] = ["recall", "butterflies_per_frame"];

pub fn trials() -> Vec<Trial> {
    let figures = [
        trial("two_learned_segments_find_more_than_two_exact_ones", "bearing", |data| {
            let [recall, butterflies] = learned("bearing-256", data, PEAKS);
            assert!(recall >= 0.855 && butterflies <= 2048.0, "recall {recall} with {butterflies} butterflies");
        }),
        trial("one_learned_segment_finds_more_than_one_exact_one", "bearing", |data| {
            let [recall, butterflies] = learned("bearing-256-one", data, PEAKS);
            assert!(recall >= 0.79 && butterflies <= 1024.0, "recall {recall} with {butterflies} butterflies");
        }),
        trial("a_gain_that_all_bins_share_helps_longer_segments", "bearing", |data| {
            let [recall] = learned("bearing-512", data, ["recall"]);
            assert!(recall >= 0.802 + 0.02, "recall {recall}, two exact segments have 0.802");
        }),
        trial("half_the_butterflies_find_more_than_one_exact_segment", "bearing", |data| {
            let [recall, butterflies] = learned("bearing-256-half", data, PEAKS);
            assert!(recall >= 0.755 && butterflies <= 1024.0, "recall {recall} with {butterflies} butterflies");
        }),
    ];
    let runs = shipped_configs().into_iter().filter_map(|config| {
        let set = recordings_of(&config)?;
        let name = format!("{}_runs_on_its_recordings", config.file_stem()?.to_string_lossy());
        Some(trial(name, &set, move |data| runs_on_recordings(&config, data)))
    });
    runs.chain(figures).collect()
}

/// The folder of the recordings or of the table that a configuration names.
fn recordings_of(config: &Path) -> Option<String> {
    let table: toml::Table = toml::from_str(&fs::read_to_string(config).unwrap()).unwrap();
    let data = table.get("data")?;
    match data.get("file").or_else(|| data.get("files")?.get("x")) {
        Some(file) => Some(Path::new(file.as_str()?).parent()?.to_str()?.to_owned()),
        None => Some(data.get("recordings")?.get("train")?.as_str()?.to_owned()),
    }
}

fn runs_on_recordings(config: &Path, data: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let output = run(&[text(config), "--out", text(&out), "--steps", "3", "--data", text(data)]);
    assert!(output.status.success(), "{}", errors(&output));
    assert!(out.join("report.html").exists());
}

/// Scores of the model that a shipped configuration trains.
pub fn learned<const N: usize>(name: &str, data: &Path, scores: [&str; N]) -> [f64; N] {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let config = PathBuf::from(format!("../configs/{name}.toml"));
    let output = run(&[text(&config), "--data", text(data), "--out", text(&out)]);
    assert!(output.status.success(), "{}", errors(&output));
    let rows = evaluation(&out);
    let row = rows.iter().find(|row| row["name"] == "learned").unwrap();
    scores.map(|score| row[score].as_f64().unwrap())
}
