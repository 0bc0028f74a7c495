//! Standard output and error that are closed or full.

use std::fs::OpenOptions;
use std::io::pipe;
use std::process::Stdio;

use crate::common::{errors, firefly_train, small_config, text};

/// A stream whose reader is closed.
fn closed() -> Stdio {
    let (reader, writer) = pipe().unwrap();
    drop(reader);
    writer.into()
}

/// A stream onto a disk without room.
fn full() -> Stdio {
    OpenOptions::new().write(true).open("/dev/full").unwrap().into()
}

#[test]
fn a_closed_or_full_error_stream_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let config = small_config(folder.path());
    for (name, stream) in [("closed", closed()), ("full", full())] {
        let out = folder.path().join(name);
        let output = firefly_train(&[text(&config), "--out", text(&out)]).stderr(stream).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{name}");
        assert!(out.join("report.html").exists());
    }
    for (name, stream) in [("closed", closed()), ("full", full())] {
        let output = firefly_train(&["no-such.toml"]).stderr(stream).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{name}");
    }
}

#[test]
fn a_closed_output_is_no_error_and_a_full_one_is() {
    let folder = tempfile::tempdir().unwrap();
    let config = small_config(folder.path());
    let arguments = |name: &str| [text(&config), "--out", &format!("{}/{name}", text(folder.path()))].map(String::from);
    let run = |arguments: &[&str], stdout| {
        let output = firefly_train(arguments).stdout(stdout).output().unwrap();
        (output.status.code(), errors(&output))
    };
    let status = |name: &str, stdout| run(&arguments(name).each_ref().map(String::as_str), stdout);
    let (code, text) = status("closed", closed());
    assert_eq!(code, Some(0), "{text}");
    assert!(!text.contains("pipe"), "{text}");
    let (code, text) = status("full", full());
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("error: writing to standard output: No space left on device"), "{text}");
    assert!(folder.path().join("full/report.html").exists(), "the results are saved before they are printed");

    assert_eq!(run(&["--help"], closed()), (Some(0), String::new()));
    let (code, text) = run(&["--help"], full());
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("No space left on device"), "{text}");
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let output = firefly_train(&["no-\u{1b}[31msuch.toml"]).output().unwrap();
    assert!(errors(&output).contains("no-\\u{1b}[31msuch.toml"), "{}", errors(&output));
}

#[test]
fn too_many_threads_are_refused() {
    let output = firefly_train(&["no-such.toml"]).env("RAYON_NUM_THREADS", "100000").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        errors(&output).contains("RAYON_NUM_THREADS is 100000, but must be a number from 1 to 1024"),
        "{}",
        errors(&output)
    );
}
