//! Keys of the section `[optimizer]`: runs with them resume to the same bits.

use std::fs;

use crate::common::{errors, outcome, run, small_config, text};

/// Settings of different optimizers, schedules and treatments of gradients.
const VARIANTS: [&[&str]; 4] = [
    &["optimizer.kind=adamw", "optimizer.weight_decay=0.01", "optimizer.schedule=linear", "optimizer.warm_up=4"],
    &["optimizer.kind=sgd", "optimizer.momentum=0.9", "optimizer.nesterov=true", "optimizer.clip_norm=0.5"],
    &["optimizer.accumulate=3", "optimizer.clip_value=0.1", "optimizer.schedule=constant"],
    &["optimizer.average_decay=0.9", "optimizer.schedule=step", "optimizer.step_every=40"],
];

#[test]
fn runs_with_every_optimizer_resume_to_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let config = small_config(folder.path());
    for (index, settings) in VARIANTS.iter().enumerate() {
        let out = folder.path().join(index.to_string());
        let mut arguments = vec![text(&config), "--out", text(&out), "--steps", "60", "--set", "loss.price=0"];
        arguments.extend(settings.iter().flat_map(|setting| ["--set", setting]));
        let output = run(&arguments);
        assert!(output.status.success(), "{settings:?}: {}", errors(&output));
        let whole = outcome(&out);
        // The run as it was at its checkpoint before the last.
        fs::remove_dir_all(out.join("model")).unwrap();
        fs::remove_file(out.join("report.html")).unwrap();
        fs::remove_dir_all(out.join("checkpoints/step-00000060")).unwrap();
        let output = run(&[&arguments[..], &["--resume"]].concat());
        assert!(output.status.success(), "{settings:?}: {}", errors(&output));
        assert!(errors(&output).contains("resuming at step 56"), "{}", errors(&output));
        assert!(outcome(&out) == whole, "{settings:?}: other bits");
    }
}

#[test]
fn keys_that_would_be_ignored_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let config = small_config(folder.path());
    let error_of = |setting: &str| {
        let output = run(&[text(&config), "--out", text(&folder.path().join("run")), "--set", setting]);
        assert!(!output.status.success(), "{setting} was accepted");
        errors(&output)
    };
    assert!(error_of("optimizer.momentum=0.9").contains("left out unless optimizer.kind is \"sgd\""));
    assert!(error_of("optimizer.kind=adams").contains("did you mean `adam"));
    assert!(error_of("training.epochs=3").contains("unknown field `epochs`"));
}
