//! Files of a training run: any text is the metrics of its steps or a manifest of its files, or an error.

use std::fs;

use firefly_fuzz::{Edit, edited};
use firefly_trainer::manifest::{MANIFEST, Manifest};
use firefly_trainer::metrics::{self, TrainingPoint};

#[test]
fn metrics_are_read_or_refused_and_readable_once_repaired() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("metrics.jsonl");
    let line = |step| serde_json::to_string(&TrainingPoint { step, ..TrainingPoint::default() }).unwrap() + "\n";
    let valid = (1..=3).map(line).collect::<String>().into_bytes();
    bolero::check!().with_type::<Vec<Edit>>().for_each(|edits| {
        fs::write(&path, edited(&valid, edits)).unwrap();
        let _ = metrics::read(&path);
        let length = metrics::repair(&path, valid.len() as u64).unwrap();
        let kept = fs::read(&path).unwrap();
        fs::write(&path, &kept[..length as usize]).unwrap();
        metrics::read(&path).unwrap();
    });
}

#[test]
fn manifests_are_verified_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("weights"), "0123").unwrap();
    Manifest::of(folder.path(), "run a, step 3").unwrap().write(folder.path()).unwrap();
    Manifest::verify(folder.path(), "run a, step 3").unwrap();
    let path = folder.path().join(MANIFEST);
    let valid = fs::read(&path).unwrap();
    bolero::check!().with_type::<Vec<Edit>>().for_each(|edits| {
        fs::write(&path, edited(&valid, edits)).unwrap();
        let _ = Manifest::verify(folder.path(), "run a, step 3");
    });
}
