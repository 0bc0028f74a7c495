//! `firefly-train predict`: outputs of a trained model for files; `firefly-train export`: the model as an ONNX file.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail};
use burn::tensor::Device;
use clap::Args;
use firefly_app::device_list::DeviceList;
use firefly_app::files::{csv_cell, ensure_writable, write_atomically};
use firefly_app::guard::guarded;
use firefly_app::remote::explained_failure;
use firefly_app::streams::note;
use firefly_recordings::Format;

use super::options::open_devices;
use crate::run_folder::{FolderError, RunFolder};
use crate::task::{Placed, PredictionForm, PredictionTable, Predictions, Task};
use crate::tasks::classification::Classification;
use crate::tasks::{TaskName, zoo_model};
use crate::with_task;

#[derive(Args)]
pub struct PredictArgs {
    /// Folder of a finished run.
    run: PathBuf,
    /// Files to predict from: recordings, tables with a row per time and a column per channel, or arrays of fields.
    #[arg(required = true)]
    inputs: Vec<PathBuf>,
    /// CSV file of the outputs, or the folder of them where each is a file.
    #[arg(long, value_name = "PATH")]
    out: PathBuf,
    /// Device: auto, cpu, ndarray, wgpu, vulkan, metal, cuda or rocm, with an index as in cuda:1, or remote:HOST:PORT;
    /// several, which share the batches, as in cuda:0,cuda:1 or cuda:*.
    #[arg(long, default_value = "cpu", value_name = "DEVICE,…")]
    device: DeviceList,
}

pub fn run(args: &PredictArgs) -> Result<ExitCode> {
    let folder = RunFolder::new(&args.run);
    if let Some(input) = args.inputs.iter().find(|input| input.is_dir()) {
        bail!("{}: it is a folder: name the files in it", input.display());
    }
    with_task!(folder.task()?, T => predict::<T>(args, &folder))
}

/// Fails where outputs of this form can't be written to `out`.
fn ensure_place(form: PredictionForm, out: &Path) -> Result<()> {
    let file = match form {
        PredictionForm::Table if out.is_dir() => {
            bail!("--out {}: it is a folder, but the outputs are one table: name a CSV file", out.display());
        }
        PredictionForm::Table if Format::of(out).is_some_and(|format| format != Format::Csv) => {
            bail!("--out {}: the outputs are one table as CSV: name a CSV file", out.display());
        }
        PredictionForm::Files if out.exists() && !out.is_dir() => {
            bail!("--out {}: it is a file, but the outputs are a file for each input: name a folder", out.display());
        }
        PredictionForm::Table => out.to_path_buf(),
        PredictionForm::Files => out.join("output"),
    };
    ensure_writable(&file).with_context(|| format!("--out {}", out.display()))
}

fn predict<T: Task>(args: &PredictArgs, folder: &RunFolder) -> Result<ExitCode> {
    let resolved = folder.resolved::<T>()?;
    ensure_place(T::PREDICTIONS, &args.out)?;
    let place = |device| Ok(Placed { model: folder.load_model::<T>(&device)?, device });
    let mut placed = open_devices(&args.device)?.into_iter().map(place).collect::<Result<Vec<_>, FolderError>>()?;
    let predictions = guarded(|| T::predict(&resolved.config, &mut placed, &args.inputs));
    let failed = |cause| match placed.first() {
        Some(first) => anyhow!("device {} failed: {}", args.device, explained_failure(&first.device, cause)),
        None => anyhow!("device {} failed: {cause}", args.device),
    };
    let predictions = predictions.map_err(failed)??;
    let (outputs, written) = files(predictions, &args.out);
    for (output, _) in &outputs {
        folder
            .ensure_no_input(output, args.inputs.iter().map(PathBuf::as_path))
            .with_context(|| format!("--out {}", output.display()))?;
    }
    let write = |(output, bytes): &(PathBuf, Vec<u8>)| write_atomically(output, bytes);
    outputs.iter().try_for_each(write).with_context(|| format!("--out {}", args.out.display()))?;
    note(format_args!("{written} written to {}", args.out.display()));
    Ok(ExitCode::SUCCESS)
}

/// The files that outputs are written to, with their contents, and a count of what is in them.
fn files(predictions: Predictions, out: &Path) -> (Vec<(PathBuf, Vec<u8>)>, String) {
    match predictions {
        Predictions::Table(table) => {
            (vec![(out.to_path_buf(), csv(&table).into_bytes())], counted(table.rows.len(), "row"))
        }
        Predictions::Files(files) => {
            let count = counted(files.len(), "file");
            (files.into_iter().map(|file| (out.join(&file.name), file.bytes)).collect(), count)
        }
    }
}

fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// The table as CSV by RFC 4180.
fn csv(table: &PredictionTable) -> String {
    let line = |cells: &[String]| cells.iter().map(|text| csv_cell(text)).collect::<Vec<_>>().join(",") + "\n";
    std::iter::once(&table.columns).chain(&table.rows).map(|cells| line(cells)).collect()
}

#[derive(Args)]
pub struct ExportArgs {
    /// Folder of a finished run.
    run: PathBuf,
    /// The ONNX file, with version 20 of the standard operators.
    #[arg(long, value_name = "PATH")]
    onnx: PathBuf,
}

pub fn export(args: &ExportArgs) -> Result<ExitCode> {
    let named = || format!("--onnx {}", args.onnx.display());
    let (folder, device) = (RunFolder::new(&args.run), Device::flex());
    ensure_writable(&args.onnx).and_then(|()| folder.ensure_no_input(&args.onnx, [])).with_context(named)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_with_separators_are_quoted() {
        let table = PredictionTable {
            columns: vec!["file".into(), "label".into()],
            rows: vec![vec!["a,b.wav".into(), "\"7\"".into()]],
        };
        assert_eq!(csv(&table), "file,label\n\"a,b.wav\",\"\"\"7\"\"\"\n");
    }
}
