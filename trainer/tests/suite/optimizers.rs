//! Keys of the section `[optimizer]`.

use crate::common::{errors, run, small_config, text};

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
