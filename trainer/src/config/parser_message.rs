//! Messages of the TOML parser, in words of the configuration.

use firefly_app::suggest;

use super::ConfigError;

/// Largest number of characters of a line of an error.
const MAX_LINE: usize = 200;
/// Messages of the parser that name its own types, and what they mean.
const EXPLANATIONS: [(&str, &str); 5] = [
    ("invalid type: unit variant, expected string only", "one name is expected, in quotes and not in a list"),
    ("invalid type: unit variant, expected struct variant", DENSITY),
    ("expected struct variant Scaling::Density", DENSITY),
    ("recursion limit", "its keys are nested too deeply"),
    ("cannot recurse further; max recursion depth met", "values are nested too deeply"),
];
const DENSITY: &str = "a density needs its sample rate, as in scaling = { density = { sample_rate = 12000.0 } }";

/// The parser's message, with the nearest known key if it is about an unknown one.
pub(super) fn described(origin: &str, error: &toml::de::Error) -> ConfigError {
    let message = error.message();
    let mut quoted = message.split('`').skip(1).step_by(2);
    let hint = if message.starts_with("unknown field") || message.starts_with("unknown variant") {
        quoted.next().map(|name| suggest::hint(name, quoted)).unwrap_or_default()
    } else {
        String::new()
    };
    let mut text = error.to_string();
    for (message, explanation) in EXPLANATIONS {
        text = text.replace(message, explanation);
    }
    let text = text.trim_end().lines().map(shortened).collect::<Vec<_>>().join("\n");
    ConfigError::Text { origin: origin.to_string(), message: format!("{text}{hint}") }
}

/// A line of a message, cut where it would fill the terminal.
fn shortened(line: &str) -> String {
    match line.char_indices().nth(MAX_LINE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::load::tests::message;

    #[test]
    fn messages_of_the_parser_are_explained() {
        for text in ["[model]\nscaling = \"density\"\n", "[model]\nscaling = { density = 1.0 }\n"] {
            let error = message(text, &[]);
            assert!(error.contains("a density needs its sample rate") && error.contains("line 2"), "{error}");
        }
        let one_name = "one name is expected, in quotes and not in a list";
        assert!(message("", &["training.learn=[[\"gain\"]]"]).contains(one_name));
        assert_eq!(
            message(&format!("a{} = 1\n", ".a".repeat(50_000)), &[]),
            "run.toml: its keys are nested too deeply"
        );
        assert!(message(&format!("name = {}", "[".repeat(500)), &[]).ends_with("values are nested too deeply"));
    }

    #[test]
    fn long_lines_of_errors_are_cut() {
        assert!(message(&format!("name = {}", "[".repeat(100_000)), &[]).len() < 1000);
    }
}
