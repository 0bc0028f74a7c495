//! `firefly-train new`: a configuration with every key.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use super::outcome::print;
use crate::config::RunConfig;
use crate::config::reference::template;
use crate::task::Task;
use crate::tasks::TaskName;
use crate::with_task;

#[derive(Args)]
pub struct NewArgs {
    /// The task; `list` has them.
    task: TaskName,
    /// Name of the model in the zoo, for tasks that train models of the zoo.
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
}

/// Prints a configuration of a task with every key.
pub fn run(args: &NewArgs) -> Result<ExitCode> {
    with_task!(args.task, T => print_template::<T>(args.model.as_deref()))
}

fn print_template<T: Task>(model: Option<&str>) -> Result<ExitCode> {
    let mut config = RunConfig::<T>::default();
    if let Some(model) = model {
        T::choose_model(&mut config, model)?;
    }
    config.validate()?;
    print(&template(&config)?)?;
    Ok(ExitCode::SUCCESS)
}
