//! `firefly-train list`: tasks, models and shipped configurations.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use firefly_app::table::{Align, TextTable};

use super::outcome::print;
use crate::config::Sections;
use crate::shipped::CONFIGURATIONS;
use crate::tasks::TaskName;
use crate::with_task;

#[derive(Args)]
pub struct ListArgs {}

/// Prints the tasks, the models that each can train, and the shipped configurations.
pub fn run(_args: &ListArgs) -> Result<ExitCode> {
    let mut tasks = TextTable::default().columns(["task", "what is trained"], Align::Left);
    let mut models = TextTable::default().columns(["task", "model"], Align::Left);
    for task in TaskName::ALL {
        tasks.row([task.to_string(), task.summary().to_string()]);
        let names: Vec<&str> = with_task!(task, T => T::models());
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
