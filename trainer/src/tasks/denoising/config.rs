//! Sections of a configuration that are the task's own.

use super::{Denoising, DenoisingConfig};
use crate::data::{NoiseKind, RecordingsConfig, SyntheticConfig};
use crate::tasks::prelude::*;

section! {
    /// Section `[data]`.
    pub struct DataSection {
        pub recordings: Option<RecordingsConfig> = None,
        pub sample_rate: f64 = 8_000.0,
        pub samples: usize = 8_000,
        pub cut: bool = false,
        pub noises: Vec<NoiseKind> = vec![NoiseKind::White, NoiseKind::Pink, NoiseKind::Babble],
        pub noise_folder: Option<PathBuf> = None,
        pub voices: usize = 6,
        pub snr_db: [f64; 2] = [-5.0, 15.0],
        pub test_snr_db: Vec<f64> = vec![0.0, 5.0, 10.0],
        pub speed: [f64; 2] = [1.0, 1.0],
        pub synthetic: SyntheticConfig = SyntheticConfig::default(),
        pub synthetic_examples: usize = 256,
    }
}

section! {
    /// Section `[loss]`: the negative scale-invariant signal-to-noise ratio in decibels + spectral · the spectral term.
    pub struct LossSection {
        pub spectral: f64 = 0.0,
    }
}

impl ZooTask for Denoising {
    const DEFAULT_MODEL: &'static str = "spectral_denoiser_8khz";
    const FAMILIES: &'static [&'static str] = &["spectral_denoiser"];
    const DERIVED: &'static [(&'static str, &'static str)] = &[("samples", "it is data.samples")];
}

impl Sections for Denoising {
    const NAME: TaskName = TaskName::Denoising;

    type ModelSection = ZooSection<Self>;
    type DataSection = DataSection;
    type TrainingSection = TrainingSection;
    type LossSection = LossSection;

    fn validate(config: &DenoisingConfig) -> Result<(), ConfigError> {
        let data = &config.data;
        let rate = data.sample_rate;
        ensure((1.0..=1e9).contains(&rate), "data.sample_rate", rate, "from 1 to 1,000,000,000")?;
        ensure((16..=4_194_304).contains(&data.samples), "data.samples", data.samples, "from 16 to 4,194,304")?;
        ensure(!data.noises.is_empty(), "data.noises", "empty", "at least one of white, pink, babble, recorded")?;
        let is_repeated = (1..data.noises.len()).any(|index| data.noises[..index].contains(&data.noises[index]));
        ensure(!is_repeated, "data.noises", format!("{:?}", data.noises).to_lowercase(), "a list of different kinds")?;
        let has_folder = data.noise_folder.is_some();
        let (takes_folder, got) =
            (data.noises.contains(&NoiseKind::Recorded), if has_folder { "given" } else { "missing" });
        let expected = "given where, and only where, recorded is one of data.noises";
        ensure(takes_folder == has_folder, "data.noise_folder", got, expected)?;
        ensure((1..=64).contains(&data.voices), "data.voices", data.voices, "from 1 to 64")?;
        let (ratios, tests, speed) = (&data.snr_db, &data.test_snr_db, &data.speed);
        ensure_within(ratios.is_sorted(), "data.snr_db", ratios, RATIOS_DB, "the least and the greatest ratio")?;
        ensure_within(!tests.is_empty(), "data.test_snr_db", tests, RATIOS_DB, "a list of ratios")?;
        ensure_within(speed.is_sorted(), "data.speed", speed, [0.5, 2.0], "the least and the greatest factor")?;
        data.synthetic.validate().map_err(|error| in_section("data.synthetic", error))?;
        let examples = data.synthetic_examples;
        ensure((8..=MAX_FRAMES).contains(&examples), "data.synthetic_examples", examples, "from 8 to 1,048,576")?;
        ensure((0.0..=1e6).contains(&config.loss.spectral), "loss.spectral", config.loss.spectral, "from 0 to 1e6")
    }

    fn held_values(config: &DenoisingConfig) -> Vec<HeldValues> {
        let (data, samples) = (&config.data, config.data.samples);
        // Clean and with noise.
        let batch = HeldValues::new("training.batch", config.training.batch, 2 * samples);
        // Training examples, and half as many to validate and test on.
        let generated = HeldValues::new("data.synthetic_examples", data.synthetic_examples, samples * 3 / 2);
        if data.recordings.is_none() { vec![batch, generated] } else { vec![batch] }
    }

    fn locate_data(config: &mut DenoisingConfig, root: DataRoot<'_>) -> Result<(), ConfigError> {
        locate_recordings(&mut config.data.recordings, root)?;
        locate_own(&mut config.data.noise_folder, root)
    }
}
