//! Commands on the cards of the zoo: their configurations ship, and their settings are accepted.

use std::path::Path;

use firefly_models::zoo;
use firefly_trainer::config::load;
use firefly_trainer::shipped::CONFIGURATIONS;
use firefly_trainer::with_task;

/// Options that take a value, and that are settings of no key.
const WITH_VALUE: [&str; 2] = ["--data", "--device"];

/// The path of the configuration of a command, and its settings.
fn parsed(command: &str) -> (&str, Vec<String>) {
    let mut words = command.split_whitespace();
    let (mut config, mut settings) = (None, Vec::new());
    while let Some(word) = words.next() {
        if word == "--set" {
            settings.push(words.next().expect("a setting follows --set").to_string());
        } else if WITH_VALUE.contains(&word) {
            words.next().expect("a value follows the option");
        } else {
            assert!(config.replace(word).is_none() && word.starts_with("configs/"), "`{word}` in {command}");
        }
    }
    (config.expect("the command names a configuration"), settings)
}

#[test]
fn commands_on_cards_name_configurations_that_ship_and_settings_that_are_accepted() {
    let mut commands = 0;
    for result in zoo::list("").into_iter().flat_map(|name| zoo::card(name).unwrap().results) {
        let Some((program, command)) = result.command.split_once(" train ") else {
            assert!(result.command.contains("--example"), "{}", result.command);
            continue;
        };
        assert!(program == "firefly" || program.starts_with("cargo run --release --features"), "{}", result.command);
        let (path, settings) = parsed(command);
        let shipped = CONFIGURATIONS.iter().find(|shipped| shipped.path() == path);
        let shipped = shipped.unwrap_or_else(|| panic!("{path} does not ship"));
        with_task!(shipped.task(), T => {
            let loaded = load::<T>(&Path::new("..").join(path), &settings, Some(Path::new("synthetic")));
            assert!(loaded.is_ok(), "{command}: {:?}", loaded.err());
        });
        commands += 1;
    }
    assert!(commands >= 15, "{commands}");
}
