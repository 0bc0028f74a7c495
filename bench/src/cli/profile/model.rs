//! Models that `profile` captures: those of peaks, and those of the zoo.

use std::str::FromStr;

use anyhow::{Result, bail, ensure};
use burn::tensor::Device;
use clap::value_parser;
use firefly_app::suggest;
use firefly_framework::graph::Graph;
use firefly_models::Tier;
use firefly_models::zoo::{self, Settings};

use crate::cli::values::{TIERS, named};
use crate::harness::number_list::whole;
use crate::harness::parameters::ParameterMap;
use crate::suites::models::PeaksModel;
use crate::suites::peaks::PeaksProblem;

/// Model by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProfiledModel {
    /// Model of peaks.
    Peaks(PeaksModel),
    /// Model of the zoo.
    Zoo(&'static str),
}

impl ProfiledModel {
    /// Name that users type.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Peaks(model) => model.name(),
            Self::Zoo(name) => name,
        }
    }
}

impl FromStr for ProfiledModel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let peaks = PeaksModel::ALL.map(Self::Peaks);
        let all = peaks.into_iter().chain(zoo::list("").into_iter().map(Self::Zoo));
        all.clone().find(|model| model.name() == text).ok_or_else(|| {
            let hint = suggest::hint(text, all.map(Self::name));
            let peaks = peaks.map(Self::name).join(", ");
            format!("no model is called `{text}`{hint}; there are {peaks}, and those of the zoo")
        })
    }
}

/// Options of the models.
#[derive(Debug, Clone, clap::Args)]
pub struct ModelOptions {
    /// Samples per segment of a model of peaks: a power of two from 8 to 65536 [default: 256]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<usize>)]
    n_fft: Option<usize>,
    /// Elements of a batch, from 1; the samples of frames take at most 8 GiB
    #[arg(long, value_name = "N", default_value_t = 1024, allow_negative_numbers = true)]
    #[arg(value_parser = value_parser!(u64).range(1..))]
    batch: u64,
    /// Peaks per frame of a model of peaks: from 1 to n_fft / 2 + 1 [default: 16]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<usize>)]
    k: Option<usize>,
    /// Segments that a model of peaks uses of each frame: ultra (1), fast (2), reference (8) [default: fast]
    #[arg(long, value_parser = named(TIERS))]
    tier: Option<Tier>,
    /// Settings of a model of the zoo, separated by commas, as in n_fft=512,k=4
    #[arg(long, value_name = "KEY=VALUE", value_delimiter = ',')]
    set: Vec<String>,
}

impl ModelOptions {
    /// The graph of `model`, and the parameters that it was made with.
    ///
    /// # Errors
    /// For options of other models, parameters that the model can't be made with, and models that can't be captured.
    pub fn capture(&self, model: ProfiledModel) -> Result<(Graph, ParameterMap)> {
        let batch = usize::try_from(self.batch)?;
        match model {
            ProfiledModel::Peaks(model) => {
                ensure!(
                    self.set.is_empty(),
                    "--set: {} is not of the zoo; it has --n-fft, --tier and --k",
                    model.name()
                );
                let (n_fft, tier, k) =
                    (self.n_fft.unwrap_or(256), self.tier.unwrap_or(Tier::Fast), self.k.unwrap_or(16));
                let parameters = ParameterMap::default()
                    .with("n_fft", n_fft)
                    .with("tier", tier.to_string())
                    .with("batch", batch)
                    .with("k", k);
                Ok((model.graph(&PeaksProblem::new(n_fft, tier, batch, k))?, parameters))
            }
            ProfiledModel::Zoo(name) => {
                let options =
                    [("--n-fft", self.n_fft.is_some()), ("--k", self.k.is_some()), ("--tier", self.tier.is_some())];
                if let Some((option, _)) = options.into_iter().find(|(_, is_given)| *is_given) {
                    bail!("{option}: {name} is of the zoo; --set gives it its settings");
                }
                if let Some(reason) = zoo::card(name)?.capture_unsupported {
                    bail!("{name} can't be captured: {reason}");
                }
                let settings: Settings = self.set.join(",").parse()?;
                let graph = zoo::create(name, &settings, &Device::flex())?.capture(batch)?;
                let parameters = ParameterMap::default().with("batch", batch);
                let is_default = self.set.is_empty();
                Ok((graph, if is_default { parameters } else { parameters.with("set", self.set.clone()) }))
            }
        }
    }
}
