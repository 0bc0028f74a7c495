//! Training on a mixture of sources, each of which is evaluated.

use std::fs;

use crate::common::{assert_resumes_to_the_same_bits, errors, evaluation, run, small_config, text};

#[test]
fn a_mixture_is_trained_on_evaluated_by_source_and_resumed_to_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let config = small_config(folder.path());
    let sources = "\n[[data.sources]]\nweight = 3.0\nsynthetic = { families = [\"tones\"] }\n\
                   \n[[data.sources]]\nsynthetic = { families = [\"noise\", \"am\"] }\n";
    let written = fs::read_to_string(&config).unwrap() + sources;
    fs::write(&config, written).unwrap();
    let out = folder.path().join("run");
    let arguments = [text(&config), "--out", text(&out)];
    let output = run(&arguments);
    assert!(output.status.success(), "{}", errors(&output));
    let mut sets: Vec<String> =
        evaluation(&out).iter().map(|row| row["data_set"].as_str().unwrap().to_string()).collect();
    sets.dedup();
    assert_eq!(sets, ["tones", "noise, am"]);
    assert_resumes_to_the_same_bits(&arguments, &out, 28);
}

#[test]
fn sources_that_are_missing_or_beside_recordings_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let config = small_config(folder.path());
    let out = folder.path().join("run");
    let message = |settings: &[&str]| {
        let settings = settings.iter().flat_map(|setting| ["--set", setting]);
        let output = run(&[text(&config), "--out", text(&out)].into_iter().chain(settings).collect::<Vec<_>>());
        assert!(!output.status.success());
        errors(&output)
    };
    assert!(message(&["data.sources=[{ weight = 0.0 }]"]).contains("sources.weight"));
    assert!(message(&["data.sources=[{ wieght = 1.0 }]"]).contains("did you mean `weight`?"));
    let recordings = format!("data.recordings.train={}", folder.path().display());
    assert!(message(&["data.sources=[{ weight = 1.0 }]", &recordings]).contains("where there are sources"));
}
