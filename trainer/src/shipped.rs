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

macro_rules! configurations {
    ($($name:literal),* $(,)?) => {
        /// Every shipped configuration, in the order of their names.
        pub const CONFIGURATIONS: [ShippedConfiguration; [$($name),*].len()] = [$(ShippedConfiguration {
            name: $name,
            text: include_str!(concat!("../../configs/", $name, ".toml")),
        }),*];
    };
}

configurations![
    "bearing-1024",
    "bearing-256",
    "bearing-256-four",
    "bearing-256-half",
    "bearing-256-one",
    "bearing-256-price",
    "bearing-512",
    "classification-bearing",
    "classification-bearing-fnet",
    "classification-digits",
    "classification-digits-afno",
    "classification-digits-gfnet",
    "classification-digits-hyena",
    "classification-digits-log-mel",
    "classification-digits-long-conv",
    "classification-digits-mfcc",
    "classification-digits-s4d",
    "classification-synthetic",
    "denoising-speech",
    "denoising-tiny",
    "forecasting-etth1-96",
    "forecasting-timesnet",
    "forecasting-tiny",
    "operator-burgers",
    "operator-darcy",
    "operator-darcy-long",
    "operator-darcy3d",
    "operator-tiny",
    "speech-256",
    "synthetic-64",
    "transform-convolution",
    "transform-dct",
    "transform-dft-64",
    "transform-dft-8",
];

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
