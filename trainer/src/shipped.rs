//! The configurations in the repository's folder `configs/`.

use crate::config::task_of_text;
use crate::tasks::TaskName;

/// A configuration that ships with the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShippedConfiguration {
    /// Name of its file without the extension.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

// `CONFIGURATIONS`, from the files in the folder.
include!(concat!(env!("OUT_DIR"), "/configurations.rs"));

impl ShippedConfiguration {
    /// Its path in the repository.
    pub fn path(&self) -> String {
        format!("configs/{}.toml", self.name)
    }

    /// Its purpose: the comment in its first line.
    pub fn purpose(&self) -> &'static str {
        self.text.lines().next().unwrap_or_default().trim_start_matches('#').trim()
    }

    /// Its task.
    pub fn task(&self) -> TaskName {
        task_of_text(self.text, &[]).unwrap_or_default()
    }
}
