//! Link options of release builds: functions of equal code are one where the linker can do so, 4 % of the program.

#![allow(clippy::print_stdout, reason = "a build script tells Cargo what it found on standard output")]

use std::env;
use std::path::Path;
use std::process::{Command, Stdio};

/// Option of LLD, gold and mold. GNU ld lacks it and refuses to link.
const FOLD: &str = "-Wl,--icf=all";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=RUSTC_LINKER");
    if variable("PROFILE") == "release" && variable("CARGO_CFG_TARGET_OS") == "linux" && links_with(FOLD) {
        println!("cargo::rustc-link-arg-bins={FOLD}");
    }
}

/// Whether an empty program links with an option, by the compiler, linker and flags of this build.
fn links_with(option: &str) -> bool {
    let folder = variable("OUT_DIR");
    let source = Path::new(&folder).join("empty.rs");
    if std::fs::write(&source, "fn main() {}").is_err() {
        return false;
    }
    let mut rustc = Command::new(variable("RUSTC"));
    rustc.args(variable("CARGO_ENCODED_RUSTFLAGS").split('\x1f').filter(|flag| !flag.is_empty()));
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        rustc.arg(format!("-Clinker={linker}"));
    }
    rustc.args(["--target", &variable("TARGET"), "--out-dir", &folder, &format!("-Clink-arg={option}")]).arg(source);
    rustc.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// A variable of the environment, empty if it is not set.
fn variable(name: &str) -> String {
    env::var(name).unwrap_or_default()
}
