//! `profile --rewrite` for every model of the zoo.

use firefly_models::zoo;

use crate::common::{output_of, text};

/// Names of the rules, as reports have them.
const RULES: [&str; 5] = ["welch peaks", "welch psd", "mel", "spectral convolution", "long convolution"];

/// Tables and decisions of a model.
fn profile(name: &str) -> String {
    let output = output_of(&["profile", name, "--batch", "2", "--rewrite"]);
    assert_eq!(output.status.code(), Some(0), "{name}: {}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn every_model_of_the_zoo_names_its_rules_or_why_it_has_none() {
    for name in zoo::list("") {
        let text = profile(name);
        let names_a_rule = RULES.iter().any(|rule| text.contains(&format!("{rule}:\nThe gate ")));
        assert!(names_a_rule != text.contains("no rule applies\n"), "{name}: {text}");
        assert!(text.contains("captured in "), "{name}: {text}");
    }
}

#[test]
fn rules_of_models_of_the_zoo_are_named() {
    let text = profile("log_mel_learned");
    assert!(text.contains("mel:\nThe gate fuses on cpu."), "{text}");
}
