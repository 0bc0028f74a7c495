//! `firefly-train export`: the model of a finished run as an ONNX file.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use burn::tensor::Device;
use clap::Args;
use firefly_app::files::{ensure_writable, write_atomically};
use firefly_app::streams::note;

use crate::run_folder::RunFolder;
use crate::tasks::classification::Classification;
use crate::tasks::{TaskName, zoo_model};
use crate::with_task;

#[derive(Args)]
pub struct ExportArgs {
    /// Folder of a finished run.
    run: PathBuf,
    /// The ONNX file, with version 20 of the standard operators.
    #[arg(long, value_name = "PATH")]
    onnx: PathBuf,
}

/// Writes the model of a run as an ONNX file.
pub fn run(args: &ExportArgs) -> Result<ExitCode> {
    let named = || format!("--onnx {}", args.onnx.display());
    ensure_writable(&args.onnx).with_context(named)?;
    let (folder, device) = (RunFolder::new(&args.run), Device::flex());
    let model = match folder.task()? {
        TaskName::Classification => {
            let config = folder.resolved::<Classification>()?.config;
            folder.load_model::<Classification>(&device)?.to_onnx(&config)?
        }
        task => {
            // Checks the model against the run.
            with_task!(task, T => folder.load_model::<T>(&device).map(drop))?;
            zoo_model::read(&folder.model(), &device)?.to_onnx()?
        }
    };
    write_atomically(&args.onnx, &model.bytes).with_context(named)?;
    let batch = model.fixed_batch.map_or("any batch".into(), |why| format!("one row alone, since {why}"));
    note(format_args!("model of {batch} written to {}", args.onnx.display()));
    Ok(ExitCode::SUCCESS)
}
