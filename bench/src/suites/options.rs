//! Options of commands on Welch estimates: sizes of the problems, learned models, and the device profile to predict by.

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::value_parser;
use firefly_app::device::DeviceName;
use firefly_app::streams::note;
use firefly_framework::device::fingerprint;
use firefly_framework::profile::{DeviceProfile, Preset, load, load_or_preset};
use firefly_models::segments::segments_named;
use firefly_trainer::run_folder::RunFolder;
use firefly_trainer::tasks::peaks::PeaksTask;

use super::comparison::MeasureOptions;
use super::peaks::PeaksProblem;
use crate::harness::{NumberRange, ParameterMap, numbers};

const MAX_STEPS: u64 = 1_000_000;
/// Steps where a learned model is named and no number is given.
const DEFAULT_STEPS: usize = 200;
/// Names of the strategy of learned models.
const LEARNED: [&str; 2] = ["learned", "learned_compiled"];

/// Item of a list of numbers of segments: numbers, ranges of powers of two, or a name.
pub fn segment_counts(text: &str) -> Result<NumberRange, String> {
    match segments_named(text.trim()) {
        Ok(segments) => segments.to_string().parse(),
        Err(error) if text.starts_with(char::is_alphabetic) => Err(error.to_string()),
        Err(_) => text.parse(),
    }
}

/// Parser of a value by its name; the error names the possible values and the nearest one.
pub fn named<T: Clone + Send + Sync + 'static>(
    values: impl IntoIterator<Item = (&'static str, T)>,
) -> impl TypedValueParser<Value = T> {
    let values: Vec<(&'static str, T)> = values.into_iter().collect();
    let names = PossibleValuesParser::new(values.iter().map(|(name, _)| *name));
    names.try_map(move |name| {
        let found = values.iter().find(|(other, _)| *other == name);
        found.map(|(_, value)| value.clone()).ok_or_else(|| format!("unknown name `{name}`"))
    })
}

/// Estimates and numbers of peaks.
#[derive(Debug, Clone, clap::Args)]
pub struct PeaksSizes {
    /// Samples per segment, from 1
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "256")]
    pub n_fft: Vec<NumberRange>,
    /// Peaks per frame: from 1 to n_fft / 2 + 1
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "16")]
    pub k: Vec<NumberRange>,
    /// Segments used of each frame: numbers from 1, or the names ultra (1), fast (2) and reference (8)
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "fast", value_parser = segment_counts)]
    pub segments: Vec<NumberRange>,
}

impl PeaksSizes {
    /// Every combination with the batches, those that share an input next to each other.
    pub fn problems(&self, batches: &[usize]) -> Vec<PeaksProblem> {
        let mut problems = Vec::new();
        for n_fft in numbers(&self.n_fft) {
            for segments in numbers(&self.segments) {
                for &batch in batches {
                    let of = |k| PeaksProblem::new(n_fft, segments, batch, k);
                    problems.extend(numbers(&self.k).into_iter().map(of));
                }
            }
        }
        problems
    }

    pub fn parameters(&self) -> ParameterMap {
        let Self { n_fft, k, segments } = self;
        let with = |all: ParameterMap, (name, list): (&str, &Vec<NumberRange>)| all.with(name, numbers(list));
        [("n_fft", n_fft), ("k", k), ("segments", segments)].into_iter().fold(ParameterMap::default(), with)
    }
}

/// Sizes of the peaks problems: every combination is a problem.
#[derive(Debug, Clone, clap::Args)]
pub struct PeaksGrid {
    #[command(flatten)]
    pub sizes: PeaksSizes,
    /// Frames per call, from 1; their samples take at most 8 GiB
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "32,256,1024,8192")]
    pub batch: Vec<NumberRange>,
}

impl PeaksGrid {
    pub const COLUMNS: &'static [&'static str] = &["n_fft", "segments", "batch", "k"];

    pub fn problems(&self) -> Vec<PeaksProblem> {
        self.sizes.problems(&numbers(&self.batch))
    }

    pub fn parameters(&self) -> ParameterMap {
        self.sizes.parameters().with("batch", numbers(&self.batch))
    }
}

/// Origin of the learned models that are measured.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct TrainOptions {
    /// Steps to train learned models for, from 0 (train none) to 1000000; adds the strategy `learned`, which trains for
    /// 200 steps if it is named without this option
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(..=MAX_STEPS))]
    pub train_steps: Option<u64>,
    /// Folder of a training run whose model is the learned one instead, where n_fft and K are the model's and frames
    /// are long enough; adds the strategy `learned`
    #[arg(long, value_name = "FOLDER", conflicts_with = "train_steps")]
    pub run: Option<PathBuf>,
}

impl TrainOptions {
    pub fn steps(&self) -> usize {
        self.train_steps.map_or(DEFAULT_STEPS, |steps| steps as usize)
    }

    pub fn parameters(&self, own: ParameterMap) -> ParameterMap {
        let run = self.run.as_ref().map(|folder| folder.display().to_string());
        own.with("train_steps", self.train_steps).with("run", run)
    }

    /// Whether learned models are measured if `--strategy` does not name them.
    pub fn is_asked(&self) -> bool {
        self.run.is_some() || self.train_steps.is_some_and(|steps| steps > 0)
    }

    /// Checks that a learned model that is named is trained, and that a run is there, which the report does not replace.
    pub fn check(&self, measure: &MeasureOptions) -> anyhow::Result<()> {
        if let Some(folder) = self.run.as_ref().map(RunFolder::new) {
            folder.resolved::<PeaksTask>().context("--run")?;
            if let Some(path) = &measure.json {
                folder.ensure_no_input(path, []).with_context(|| format!("--json {}", path.display()))?;
            }
        }
        let is_named = measure.strategy.iter().flatten().any(|name| LEARNED.contains(&name.trim()));
        ensure!(
            !is_named || self.steps() > 0,
            "--strategy learned: the model is trained first, and --train-steps is 0; give a number of steps, \
             such as 200"
        );
        Ok(())
    }
}

/// The calibrated profile at `path`, or else the user's own of the device, or else a preset.
pub fn device_profile(device: DeviceName, path: Option<&Path>) -> anyhow::Result<DeviceProfile> {
    let profile = if let Some(path) = path {
        let loaded = load(path, &fingerprint(device.id())).context("--profile")?;
        loaded.with_context(|| format!("--profile: {}: there is no such file", path.display()))?
    } else {
        own_profile(device)
    };
    if !profile.remark.is_empty() {
        note(format_args!("warning: the profile of {} was {}", profile.name, profile.remark));
    }
    Ok(profile)
}

/// The user's own profile of a device, or else a preset, with a warning where the profile can't be used.
fn own_profile(device: DeviceName) -> DeviceProfile {
    let (profile, ignored) = load_or_preset(device.id());
    if let Some(error) = ignored {
        note(format_args!(
            "warning: {error}; a preset is used until `firefly-bench calibrate --device {device}` has run"
        ));
    }
    profile
}

pub fn presets() -> impl TypedValueParser<Value = Preset> {
    let value = |preset: Preset| PossibleValue::new(preset.name()).aliases(preset.aliases());
    PossibleValuesParser::new(Preset::ALL.map(value)).try_map(|name| Preset::named(&name))
}

/// The user's calibrated profile of the device that a preset is named after, or else the preset.
pub fn target_profile(preset: Preset) -> DeviceProfile {
    let device = preset.name().parse::<DeviceName>().ok();
    let profile = device.map(own_profile).filter(DeviceProfile::is_calibrated);
    profile.unwrap_or_else(|| preset.profile())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_is_every_combination() {
        let list = |text: &str| text.split(',').map(|item| item.parse().unwrap()).collect();
        let sizes = PeaksSizes { n_fft: list("64,256"), segments: list("1,2,8"), k: list("4,8,16") };
        let problems = sizes.problems(&[1, 2]);
        assert_eq!(problems.len(), 2 * 3 * 2 * 3);
        assert_eq!((problems[0].k, problems[1].k, problems[3].batch), (4, 8, 2));
    }

    #[test]
    fn segments_are_numbers_ranges_or_names() {
        let parsed = |text| segment_counts(text).map(|range| numbers(&[range]));
        assert_eq!((parsed("reference"), parsed("3"), parsed("1..4")), (Ok(vec![8]), Ok(vec![3]), Ok(vec![1, 2, 4])));
        assert!(parsed("fats").unwrap_err().contains("a number from 1, ultra, fast or reference"));
        assert!(parsed("0").unwrap_err().contains("numbers start at 1"));
    }
}
