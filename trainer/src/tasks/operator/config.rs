//! Sections of a configuration that are the task's own.

use firefly_models::zoo;
use serde::{Deserialize, Serialize};

use super::{OperatorConfig, OperatorTask};
use crate::config::{ModelChoice, NoKeys};
use crate::tasks::prelude::*;

/// Files of inputs and outputs: arrays `[samples, points…]` or `[samples, channels, points…]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "docs/guide/configuration.md describes the keys")]
pub struct FieldFiles {
    pub x: PathBuf,
    pub y: Option<PathBuf>,
}

impl FieldFiles {
    /// Files by the inputs' alone.
    pub fn new(x: impl Into<PathBuf>) -> Self {
        Self { x: x.into(), y: None }
    }

    /// File of the outputs.
    pub fn outputs(&self) -> PathBuf {
        if let Some(outputs) = &self.y {
            return outputs.clone();
        }
        let stem = self.x.file_stem().and_then(|stem| stem.to_str()).and_then(|stem| stem.strip_suffix("_x"));
        match (stem, self.x.extension().and_then(|extension| extension.to_str())) {
            (Some(stem), Some(extension)) if extension.eq_ignore_ascii_case("npy") => {
                self.x.with_file_name(format!("{stem}_y.{extension}"))
            }
            _ => self.x.clone(),
        }
    }

    pub(super) fn paths(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        [&mut self.x].into_iter().chain(&mut self.y)
    }
}

choice! {
    /// Equation whose samples are generated.
    pub enum Equation {
        Burgers = "burgers",
        Darcy = "darcy",
        Darcy3d = "darcy3d",
    }
}

impl Equation {
    /// The name in a sentence.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Burgers => "Burgers' equation",
            Self::Darcy => "Darcy flow",
            Self::Darcy3d => "Darcy flow on the unit cube",
        }
    }

    /// Dimensions of its fields.
    pub const fn dims(self) -> usize {
        match self {
            Self::Burgers => 1,
            Self::Darcy => 2,
            Self::Darcy3d => 3,
        }
    }
}

section! {
    /// Section `[data.generated]`: samples that are solved here, used without files.
    pub struct GeneratedSection {
        pub equation: Equation = Equation::Burgers,
        pub samples: usize = 128,
        pub test_samples: usize = 32,
        pub points: usize = 64,
        pub test_points: Vec<usize> = vec![64, 128],
        pub solver_points: usize = 1024,
        pub steps: usize = 500,
        pub viscosity: f64 = 0.1,
        pub time: f64 = 1.0,
        pub permeability: [f64; 2] = [3.0, 12.0],
        pub cache: Option<PathBuf> = None,
    }
}

choice! {
    /// Boundary of a domain whose points are k/n along each dimension, so that none is at 1.
    pub enum Boundary {
        Open = "open",
        /// Outputs vanish on it. Fields are closed by points at 1, where inputs are those of the nearest point and
        /// outputs are 0; models see and learn these points, errors leave them out.
        Zero = "zero",
    }
}

choice! {
    /// Symmetry of a problem.
    pub enum Symmetries {
        None = "none",
        /// Reflections and exchanges of dimensions, for inputs and outputs that are scalars.
        Square = "square",
    }
}

section! {
    /// Section `[data]`.
    pub struct DataSection {
        pub validation_share: f64 = 0.1,
        pub standardise_inputs: bool = true,
        pub standardise_outputs: bool = true,
        pub boundary: Boundary = Boundary::Open,
        pub symmetry: Symmetries = Symmetries::None,
        pub tests: Vec<FieldFiles> = Vec::new(),
        pub files: Option<FieldFiles> = None,
        pub generated: GeneratedSection = GeneratedSection::default(),
    }
}

/// Hidden fields per layer that a training step keeps for the backward pass.
const KEPT_PER_LAYER: usize = 6;

/// Dimensions of the fields of a configuration's model.
pub(super) fn dims(config: &OperatorConfig) -> usize {
    match zoo::family(&config.model.name) {
        Ok("fno1d") => 1,
        Ok("fno2d") => 2,
        _ => 3,
    }
}

impl ZooTask for OperatorTask {
    const DEFAULT_MODEL: &'static str = "fno1d_tiny";
    const FAMILIES: &'static [&'static str] = &["fno1d", "fno2d", "fno3d"];
    const DERIVED: &'static [(&'static str, &'static str)] = &[
        ("in_channels", "they are those of the inputs"),
        ("out_channels", "they are those of the outputs"),
        ("points", "they are those of the training samples"),
    ];
}

impl Sections for OperatorTask {
    const NAME: TaskName = TaskName::Operator;

    type ModelSection = ZooSection<Self>;
    type DataSection = DataSection;
    type TrainingSection = TrainingSection;
    // The loss is the relative L2 error.
    type LossSection = NoKeys;

    fn validate(config: &OperatorConfig) -> Result<(), ConfigError> {
        let (data, generated) = (&config.data, &config.data.generated);
        let share = data.validation_share;
        ensure(share > 0.0 && share < 1.0, "data.validation_share", share, "above 0 and below 1")?;
        let expected = "left out, because data.files is: generated samples are tested at data.generated.test_points";
        ensure(data.files.is_some() || data.tests.is_empty(), "data.tests", "given", expected)?;
        for (key, value, least, most, expected) in [
            ("data.generated.samples", generated.samples, 2, MAX_FRAMES, "from 2 to 1,048,576"),
            ("data.generated.test_samples", generated.test_samples, 1, MAX_FRAMES, "from 1 to 1,048,576"),
            ("data.generated.steps", generated.steps, 1, 10_000_000, "from 1 to 10,000,000"),
            ("data.generated.points", generated.points, 2, 1_048_576, "from 2 to 1,048,576"),
        ] {
            ensure((least..=most).contains(&value), key, value, expected)?;
        }
        validate_solver(generated)?;
        let (name, needed) = (generated.equation.as_str(), generated.equation.dims());
        let plural = if needed == 1 { "" } else { "s" };
        let expected = format!("one of the family fno{needed}d: {name} has {needed} dimension{plural}");
        ensure(data.files.is_some() || dims(config) == needed, "model.name", &config.model.name, expected)
    }

    fn held_values(config: &OperatorConfig) -> Vec<HeldValues> {
        let GeneratedSection { samples, test_samples, points, solver_points, ref test_points, equation, .. } =
            config.data.generated;
        let field = |points: usize| (points as u128).saturating_pow(dims(config) as u32);
        let setting = |key: &str| config.model.count(key).unwrap_or(0);
        let (batch, padding) = (config.training.batch, setting("padding"));
        // Values of the layers at the zeros behind a field, as many as a step keeps of them.
        let behind = |points: usize| field(points.saturating_add(padding)) - field(points);
        let kept = [batch, setting("width"), setting("layers"), KEPT_PER_LAYER].map(|factor| factor as u128);
        let padded = |points: usize| {
            HeldValues::product("model.settings.padding", padding, kept.into_iter().chain([behind(points)]))
        };
        if config.data.files.is_some() {
            return vec![padded(0)];
        }
        // Inputs, outputs and a layer's values.
        let widest = ["width", "lifting", "projection"].map(setting).into_iter().max().unwrap_or(0);
        // Inputs and outputs.
        let pair = |points: usize| 2 * points.pow(equation.dims() as u32);
        vec![
            padded(points),
            HeldValues::product("training.batch", batch, [field(points), widest as u128 + 2, batch as u128]),
            HeldValues::new("data.generated.samples", samples, pair(points)),
            HeldValues::new("data.generated.test_samples", test_samples, test_points.iter().copied().map(pair).sum()),
            HeldValues::new("data.generated.solver_points", solver_points, pair(solver_points) / solver_points),
        ]
    }

    fn choose_model(config: &mut OperatorConfig, name: &str) -> Result<(), ConfigError> {
        config.model.choose(name)?;
        // Generated samples of as many dimensions.
        let dims = dims(config);
        let generated = &mut config.data.generated;
        match dims {
            1 => {}
            2 => (generated.equation, generated.solver_points) = (Equation::Darcy, 128),
            _ => {
                (generated.equation, generated.solver_points) = (Equation::Darcy3d, 32);
                (generated.points, generated.test_points) = (16, vec![16, 32]);
            }
        }
        Ok(())
    }

    fn locate_data(config: &mut OperatorConfig, root: DataRoot<'_>) -> Result<(), ConfigError> {
        let data = &mut config.data;
        locate_own(&mut data.generated.cache, root)?;
        let files = data.files.iter_mut().chain(&mut data.tests).flat_map(FieldFiles::paths);
        if !locate(files, root)? {
            (data.files, data.tests) = (None, Vec::new());
        }
        Ok(())
    }
}

fn validate_solver(generated: &GeneratedSection) -> Result<(), ConfigError> {
    let solver = generated.solver_points;
    let (range, expected) = match generated.equation {
        Equation::Burgers => (64..=1_048_576, "a power of two from 64 to 1,048,576"),
        Equation::Darcy => (4..=4096, "from 4 to 4,096"),
        Equation::Darcy3d => (4..=256, "from 4 to 256"),
    };
    let has_form = solver.is_power_of_two() || generated.equation != Equation::Burgers;
    ensure(has_form && range.contains(&solver), "data.generated.solver_points", solver, expected)?;
    let divides = |points: &usize| *points >= 2 && solver.is_multiple_of(*points);
    let (points, tests) = (generated.points, &generated.test_points);
    let divisor = "a divisor of data.generated.solver_points";
    ensure(divides(&points), "data.generated.points", points, divisor)?;
    let (are_divisors, got) = (!tests.is_empty() && tests.iter().all(divides), format!("{tests:?}"));
    ensure(are_divisors, "data.generated.test_points", got, "a list of divisors of data.generated.solver_points")?;
    for (key, value) in [("data.generated.viscosity", generated.viscosity), ("data.generated.time", generated.time)] {
        ensure(value > 0.0 && value <= 1e3, key, value, "above 0 and at most 1,000")?;
    }
    let [low, high] = generated.permeability;
    let are_in_range = low >= 1e-30 && low <= high && high <= 1e6 * low && high <= 1e30;
    let got = format!("{:?}", generated.permeability);
    let expected = "two numbers from 1e-30 to 1e30, the second at least the first and at most a million times as great";
    ensure(are_in_range, "data.generated.permeability", got, expected)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn outputs_are_beside_inputs_or_in_the_same_archive() {
        let outputs = |x: &str| FieldFiles::new(x).outputs().to_str().unwrap().to_owned();
        assert_eq!(outputs("darcy/train_16_x.npy"), "darcy/train_16_y.npy");
        assert_eq!(outputs("flow_x.npz"), "flow_x.npz");
        assert_eq!(outputs("flow.npy"), "flow.npy");
        let both = FieldFiles { x: "a.npy".into(), y: Some("b.npy".into()) };
        assert_eq!(both.outputs(), Path::new("b.npy"));
    }
}
