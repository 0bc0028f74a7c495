//! Version of Burn from the workspace's lock file, recorded with every run, and the configurations that ship with the
//! program: those in the repository's folder `configs/`.

#![allow(clippy::print_stdout, reason = "a build script tells Cargo what it found on standard output")]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let workspace = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("..");
    let lock = workspace.join("Cargo.lock");
    println!("cargo::rerun-if-changed={}", lock.display());
    let text = fs::read_to_string(&lock)?;
    let mut lines = text.lines().skip_while(|line| *line != r#"name = "burn""#).skip(1);
    let version = lines.next().and_then(|line| line.strip_prefix("version = \"")?.strip_suffix('"'));
    println!("cargo::rustc-env=FIREFLY_BURN_VERSION={}", version.ok_or("no package `burn` in Cargo.lock")?);

    let folder = workspace.join("configs");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut paths =
        fs::read_dir(&folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, Box<dyn Error>>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort_by_key(|path| path.with_extension(""));
    let configuration = |path: &PathBuf| {
        let name = path.file_stem().unwrap_or_default();
        format!("ShippedConfiguration {{ name: {name:?}, text: include_str!({path:?}) }},\n")
    };
    let list: String = paths.iter().map(configuration).collect();
    let (count, file) = (paths.len(), Path::new(&env::var("OUT_DIR")?).join("configurations.rs"));
    let text = format!(
        "/// Every one, in the order of their names.\n\
         pub const CONFIGURATIONS: [ShippedConfiguration; {count}] = [\n{list}];\n"
    );
    fs::write(file, text)?;
    Ok(())
}
