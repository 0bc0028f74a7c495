//! `firefly-bench welch-peaks`: the strongest lines of Welch spectra, strategy against strategy.

use std::io::Write;
use std::str::FromStr;

use firefly_models::Tier;
use firefly_ops::WelchOptions;

use super::Verdict;
use crate::crossover::{self, crossovers};
use crate::grid::Grid;
use crate::lists::{self, Counts, ListError};
use crate::options::Measuring;
use crate::parameters::Parameters;
use crate::peaks::{PeaksProblem, SYMMETRY, WINDOW, grid};
use crate::strategy::Strategy;

const MOST_STEPS: usize = 1_000_000;

/// The options of `welch-peaks`.
#[derive(Debug, Clone, clap::Args)]
pub struct Arguments {
    /// Samples of a segment: powers of two from 8 to 65536
    #[arg(long, value_name = "LIST", default_value = "256")]
    pub n_fft: Counts,
    /// Frames of a call
    #[arg(long, value_name = "LIST", default_value = "32,256,1024,8192")]
    pub batch: Counts,
    /// Peaks of each frame
    #[arg(long, value_name = "LIST", default_value = "16")]
    pub k: Counts,
    /// Segments used of each frame: ultra (1), fast (2), reference (8)
    #[arg(long, value_name = "LIST", default_value = "fast")]
    pub tier: Tiers,
    /// Train learned models for so many steps first, and measure them as the strategy `learned`
    #[arg(long, value_name = "N", value_parser = train_steps)]
    pub train_steps: Option<usize>,
    /// What every command has
    #[command(flatten)]
    pub measuring: Measuring,
}

fn train_steps(text: &str) -> Result<usize, String> {
    let steps = text.parse().ok().filter(|steps| (1..=MOST_STEPS).contains(steps));
    steps.ok_or_else(|| format!("must be a whole number from 1 to {MOST_STEPS}"))
}

/// Tiers in the order typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tiers(pub Vec<Tier>);

impl FromStr for Tiers {
    type Err = ListError;

    fn from_str(text: &str) -> Result<Self, ListError> {
        let names = Tier::ALL.map(|tier| tier.to_string());
        let positions = lists::named(text, "tier", &names.each_ref().map(String::as_str))?;
        Ok(Self(positions.into_iter().map(|position| Tier::ALL[position]).collect()))
    }
}

impl Tiers {
    /// Their names.
    pub fn names(&self) -> Vec<String> {
        self.0.iter().map(Tier::to_string).collect()
    }
}

/// Runs the grid that `arguments` describe over strategies of `catalogue`, and prints the table to `out`.
///
/// # Errors
/// For arguments no case can be made of, a device that is not there, and output that can't be written. A case that fails
/// is no error but a row of the table and a [`Verdict`].
pub fn run(
    arguments: &Arguments,
    catalogue: &[Box<dyn Strategy<PeaksProblem>>],
    out: &mut dyn Write,
) -> anyhow::Result<Verdict> {
    let Arguments { n_fft, batch, k, tier, train_steps, measuring } = arguments;
    for &n_fft in &n_fft.0 {
        WelchOptions { hop: 1, ..WelchOptions::new(n_fft, 1) }.validate("welch-peaks")?;
    }
    let facts = estimate();
    let grid = Grid {
        command: "welch-peaks",
        heading: vec![
            format!("one-sided f32 power: {facts}"),
            "a row is a frame; GB/s: every sample once and 8 bytes a peak; error: of a peak's power, of its row's maximum"
                .into(),
        ],
        facts,
        options: Parameters::default()
            .with("n_fft", n_fft.0.clone())
            .with("batch", batch.0.clone())
            .with("k", k.0.clone())
            .with("tier", tier.names())
            .with("train_steps", *train_steps),
        problems: grid(&n_fft.0, &tier.0, &batch.0, &k.0),
        columns: &["n_fft", "tier", "batch", "k"],
        catalogue,
        usual_baseline: "rustfft",
    };
    let cases = grid.run(measuring, out)?;
    for over in ["batch", "k"] {
        let others: Vec<&str> = grid.columns.iter().copied().filter(|name| *name != over).collect();
        write!(out, "{}", crossover::render(&crossovers(&cases, over), over, &others))?;
    }
    Ok(Verdict::of(&cases))
}

/// What is applied to every frame.
pub fn estimate() -> Parameters {
    let options = PeaksProblem::new(256, Tier::Fast, 1, 1).options;
    Parameters::default()
        .with("scaling", options.scaling.to_string())
        .with("window", format!("{WINDOW} {SYMMETRY:?}").to_lowercase())
        .with("hop", "n_fft/2")
        .with("detrend", options.detrend.to_string())
}

#[cfg(test)]
mod tests {
    use clap::Args;

    use super::*;

    #[test]
    fn the_help_names_every_tier() {
        let help = Arguments::augment_args(clap::Command::new("welch-peaks")).render_long_help().to_string();
        for tier in Tier::ALL {
            assert!(help.contains(&format!("{tier} ({})", tier.segments())), "{tier}");
        }
    }

    #[test]
    fn tiers_are_parsed_in_order() {
        assert_eq!("reference,ultra".parse(), Ok(Tiers(vec![Tier::Reference, Tier::Ultra])));
        assert!("fasst".parse::<Tiers>().unwrap_err().to_string().contains("did you mean `fast`?"));
    }
}
