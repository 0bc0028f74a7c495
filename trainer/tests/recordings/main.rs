//! Tests on the recordings in the folder that the variable `FIREFLY_DATA` names.
//!
//! Without them a test is ignored with the reason, or fails if the variable `FIREFLY_REQUIRE` contains `data`.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod classifiers;
#[path = "../common/mod.rs"]
mod common;
mod corpora;
mod darcy;
mod denoiser;
mod exact_estimates;
mod shipped_configs;

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use firefly_models::zoo;
use libtest_mimic::{Arguments, Completion, Trial};

fn main() -> ExitCode {
    let trials = [
        classifiers::trials(),
        corpora::trials(),
        darcy::trials(),
        denoiser::trials(),
        exact_estimates::trials(),
        shipped_configs::trials(),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials.into_iter().flatten().collect()).exit_code()
}

/// A test on the folder `set` of the recordings; `test` takes the folder of all recordings.
fn trial(name: impl Into<String>, set: &str, test: impl FnOnce(&Path) + Send + 'static) -> Trial {
    let set = set.to_owned();
    Trial::ignorable_test(name, move || match recordings(&set) {
        Ok(data) => {
            test(&data);
            Ok(Completion::Completed)
        }
        Err(reason) if is_required() => Err(reason.into()),
        Err(reason) => Ok(Completion::ignored_with(reason)),
    })
}

/// The number on the card of a model whose description contains `what`.
fn figure(model: &str, what: &str) -> f64 {
    let card = zoo::card(model).unwrap();
    let result = card.results.iter().find(|result| result.what.contains(what));
    let value = result.unwrap_or_else(|| panic!("no result of {model} is about {what}")).value;
    value.split_whitespace().next().unwrap().parse().unwrap_or_else(|_| panic!("{model}, {what}: {value}"))
}

/// Checks that a result is the figure on a card, as far as its digits and other instruction sets allow.
fn assert_near(found: f64, figure: f64, tolerance: f64) {
    assert!((found - figure).abs() <= tolerance, "{found}, but {figure} on the card");
}

fn recordings(set: &str) -> Result<PathBuf, String> {
    let data = env::var_os("FIREFLY_DATA").ok_or("FIREFLY_DATA is not set")?;
    let data = PathBuf::from(data);
    let folder = data.join(set);
    if folder.is_dir() { Ok(data) } else { Err(format!("{} is not a folder", folder.display())) }
}

fn is_required() -> bool {
    env::var("FIREFLY_REQUIRE").is_ok_and(|required| required.split(',').any(|name| name.trim() == "data"))
}
