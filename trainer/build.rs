//! Version of Burn from the workspace's lock file, recorded with every run.

#![allow(clippy::print_stdout, reason = "a build script tells Cargo what it found on standard output")]

use std::error::Error;
use std::path::Path;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let lock = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../Cargo.lock");
    println!("cargo::rerun-if-changed={}", lock.display());
    let text = fs::read_to_string(&lock)?;
    let mut lines = text.lines().skip_while(|line| *line != r#"name = "burn""#).skip(1);
    let version = lines.next().and_then(|line| line.strip_prefix("version = \"")?.strip_suffix('"'));
    println!("cargo::rustc-env=FIREFLY_BURN_VERSION={}", version.ok_or("no package `burn` in Cargo.lock")?);
    Ok(())
}
