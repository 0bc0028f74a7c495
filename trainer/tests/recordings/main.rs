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
mod exact_tiers;
mod shipped_configs;

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Completion, Trial};

fn main() -> ExitCode {
    let trials = [
        classifiers::trials(),
        corpora::trials(),
        darcy::trials(),
        denoiser::trials(),
        exact_tiers::trials(),
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

fn recordings(set: &str) -> Result<PathBuf, String> {
    let data = env::var_os("FIREFLY_DATA").ok_or("FIREFLY_DATA is not set")?;
    let data = PathBuf::from(data);
    let folder = data.join(set);
    if folder.is_dir() { Ok(data) } else { Err(format!("{} is not a folder", folder.display())) }
}

fn is_required() -> bool {
    env::var("FIREFLY_REQUIRE").is_ok_and(|required| required.split(',').any(|name| name.trim() == "data"))
}
