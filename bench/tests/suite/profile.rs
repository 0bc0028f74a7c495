//! `profile --rewrite` for every model of the zoo.

use firefly_models::zoo;

use crate::common::{output_of, text};

/// Names of the rules, as reports have them.
const RULES: [&str; 5] = ["welch peaks", "welch psd", "mel", "spectral convolution", "long convolution"];

/// Tables and decisions of a model, or else the error that the program ends with.
fn profile(name: &str) -> Result<String, String> {
    let output = output_of(&["profile", name, "--batch", "2", "--rewrite"]);
    match output.status.code() {
        Some(0) => Ok(text(&output.stdout)),
        Some(2) => Err(text(&output.stderr)),
        code => panic!("{name} ends with {code:?}: {}", text(&output.stderr)),
    }
}

#[test]
fn every_model_of_the_zoo_names_its_rules_or_why_it_has_none() {
    for name in zoo::list("") {
        let (profile, reason) = (profile(name), zoo::card(name).unwrap().capture_unsupported);
        match (&profile, reason) {
            (Ok(text), None) => {
                let names_a_rule = RULES.iter().any(|rule| text.contains(&format!("{rule}:\nThe gate ")));
                assert!(names_a_rule != text.contains("no rule applies\n"), "{name}: {text}");
                assert!(text.contains("captured in "), "{name}: {text}");
            }
            (Err(error), Some(reason)) => {
                assert_eq!(*error, format!("error: {name} can't be captured: {reason}\n"));
            }
            _ => panic!("{name}: {profile:?}, though its card says {reason:?}"),
        }
    }
}

#[test]
fn rules_of_models_of_the_zoo_are_named() {
    let text = profile("log_mel_learned").unwrap();
    assert!(text.contains("mel:\nThe gate fuses on cpu."), "{text}");
}
