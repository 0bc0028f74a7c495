//! `firefly-train list` and `new`: tasks, models and shipped configurations, and a configuration with every key.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use firefly_app::streams::print;
use firefly_app::table::{Align, TextTable};

use crate::config::reference::template;
use crate::config::{ModelChoice, RunConfig, Sections};
use crate::shipped::CONFIGURATIONS;
use crate::task::Task;
use crate::tasks::TaskName;
use crate::with_task;

/// Prints the tasks, the models that each can train, and the shipped configurations.
pub fn list() -> Result<ExitCode> {
    let mut tasks = TextTable::default().columns(["task", "what is trained"], Align::Left);
    let mut models = TextTable::default().columns(["task", "model"], Align::Left);
    for task in TaskName::ALL {
        tasks.row([task.to_string(), task.summary().to_string()]);
        let names: Vec<&str> = with_task!(task, T => <T as Sections>::ModelSection::models());
        for name in names {
            models.row([task.to_string(), name.to_string()]);
        }
    }
    let mut configurations = TextTable::default().columns(["configuration", "task", "purpose"], Align::Left);
    for shipped in &CONFIGURATIONS {
        configurations.row([shipped.path(), shipped.task().to_string(), shipped.purpose().to_string()]);
    }
    print(&format!("{}\n{}\n{}", tasks.render(), models.render(), configurations.render()))?;
    Ok(ExitCode::SUCCESS)
}

#[derive(Args)]
pub struct NewArgs {
    /// The task; `list` has them.
    task: TaskName,
    /// Name of the model in the zoo, for tasks that train models of the zoo.
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
}

/// Prints a configuration of a task with every key.
pub fn new(args: &NewArgs) -> Result<ExitCode> {
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
