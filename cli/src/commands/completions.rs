//! `firefly completions` and `firefly man`: completions of the command line for a shell, and manual pages.

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;
use firefly_app::streams::print;
use firefly_app::suggest::hint;

#[derive(Debug, Clone, clap::Args)]
pub struct CompletionsArgs {
    /// Shell: bash, zsh, fish, elvish or powershell
    shell: Shell,
}

#[derive(Debug, Clone, clap::Args)]
pub struct ManArgs {
    /// Subcommand of the page [default: the program]
    command: Option<String>,
}

pub fn completions(arguments: &CompletionsArgs, mut program: Command) -> Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut program, "firefly", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the manual page of a program or of a subcommand.
pub fn manual(arguments: &ManArgs, program: Command) -> Result<ExitCode> {
    let mut program = program.disable_help_subcommand(true);
    program.build();
    let page = match &arguments.command {
        None => program,
        Some(name) => match program.find_subcommand(name) {
            Some(found) => found.clone(),
            None => {
                let names = program.get_subcommands().map(Command::get_name);
                bail!("there is no subcommand `{name}`{}", hint(name, names))
            }
        },
    };
    let mut text = Vec::new();
    Man::new(page).render(&mut text)?;
    print(&String::from_utf8_lossy(&text))?;
    Ok(ExitCode::SUCCESS)
}
