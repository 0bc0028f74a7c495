//! `firefly-bench gate`: every estimate and term that the choice between host, block path and fused operation follows
//! from, for presets and calibrated profiles side by side.

use std::io::Write;

use anyhow::ensure;
use firefly_app::number::duration;
use firefly_app::table::{Align, TextTable};
use firefly_framework::picker::{LearnedSize, PeaksSize};
use firefly_framework::profile::{DeviceProfile, Preset};
use firefly_framework::published::{Breakdown, PATHS, breakdown};
use firefly_ops::WelchOptions;
use firefly_ops::options::validate_n_fft;

use super::ExitStatus;
use crate::harness::{NumberRange, distinct, numbers};
use crate::suites::options::{presets, target_profile};

#[derive(Debug, Clone, clap::Args)]
pub struct GateArgs {
    /// Devices whose presets and calibrated profiles are compared; none of them needs to be there
    #[arg(long, value_delimiter = ',', value_parser = presets(), default_value = "metal,cuda,rocm,wgpu,cpu")]
    pub device: Vec<Preset>,
    /// Frames per batch: numbers, or ranges of powers of two as in 32..8192
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "256,8192")]
    pub batch: Vec<NumberRange>,
    /// Samples per segment: powers of two
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "256")]
    pub n_fft: Vec<NumberRange>,
    /// Peaks per frame
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "16")]
    pub k: Vec<NumberRange>,
    /// Estimate a learned model of two segments, too, with this share of its butterflies open, above 0 and up to 1
    #[arg(long, value_name = "SHARE")]
    pub open: Option<f64>,
}

/// What the tables say of times in parentheses.
const NO_CANDIDATE: &str = "in parentheses: no candidate for the pick";

pub fn run(arguments: &GateArgs, out: &mut dyn Write) -> anyhow::Result<ExitStatus> {
    if let Some(open) = arguments.open {
        ensure!(open > 0.0 && open <= 1.0, "--open is {open}, but must be above 0 and up to 1");
    }
    let profiles: Vec<(String, DeviceProfile)> =
        distinct(arguments.device.iter().copied()).into_iter().flat_map(profiles).collect();
    for n_fft in numbers(&arguments.n_fft) {
        let options = WelchOptions::new(n_fft, 2);
        options.validate("gate")?;
        validate_n_fft("gate", "n_fft", options.n_fft)?;
        let all = options.butterflies();
        let open = arguments.open.map(|share| (share * all as f64).round() as usize);
        let segments = options.segments;
        let learned = open.map(|open| LearnedSize { open, all, segments, exact: open == all, products: false });
        for k in numbers(&arguments.k) {
            ensure!(k <= options.bins(), "--k: {k} is more than the {} bins of n_fft {n_fft}", options.bins());
            for batch in numbers(&arguments.batch) {
                let useful = PeaksSize { options, batch, k }.useful_bytes();
                writeln!(out, "batch {batch}, n_fft {n_fft}, k {k}: {useful} useful bytes")?;
                let columns: Vec<(&str, Breakdown)> = profiles
                    .iter()
                    .map(|(name, profile)| (name.as_str(), breakdown(profile, batch, n_fft, k, learned)))
                    .collect();
                writeln!(out, "{}{NO_CANDIDATE}\n", table(&columns).render())?;
            }
        }
    }
    Ok(ExitStatus::Passed)
}

/// A preset, and the calibrated profile of the device of its name, with the titles of their columns.
fn profiles(preset: Preset) -> Vec<(String, DeviceProfile)> {
    let mut profiles = vec![(preset.name().to_string(), preset.profile())];
    let target = target_profile(preset);
    if target.is_calibrated() {
        profiles.push((format!("{} calibrated", preset.name()), target));
    }
    profiles
}

/// Terms as rows, profiles as columns.
fn table(columns: &[(&str, Breakdown)]) -> TextTable {
    let mut table =
        TextTable::default().column("", Align::Left).columns(columns.iter().map(|(name, _)| *name), Align::Right);
    let mut row = |title: &str, cell: &dyn Fn(&Breakdown) -> String| {
        table.row([title.to_string()].into_iter().chain(columns.iter().map(|(_, breakdown)| cell(breakdown))));
    };
    let is_estimated = |path: &&str| columns.iter().any(|(_, breakdown)| breakdown.estimate(path).is_some());
    for path in PATHS.map(|(path, ..)| path).into_iter().filter(is_estimated) {
        row(path, &|breakdown| {
            breakdown.estimate(path).map_or_else(String::new, |estimate| match estimate.considered {
                true => duration(estimate.nanoseconds),
                false => format!("({})", duration(estimate.nanoseconds)),
            })
        });
    }
    row("score", &|breakdown| duration(breakdown.decision.score.total()));
    row("least gain", &|breakdown| duration(breakdown.decision.min_gain));
    row("read-back saved, bytes", &|breakdown| breakdown.decision.benefit.read_back.to_string());
    row("syncs saved", &|breakdown| breakdown.decision.benefit.syncs.to_string());
    row("fuse by movement", &|breakdown| yes(breakdown.decision.saves_enough()));
    row("fused / block, at most", &|breakdown| match breakdown.decision.slowdown {
        Some(check) => format!("{:.2}, {:.2}", check.ratio, check.limit.ratio),
        None => "no limit".to_string(),
    });
    row("fuse", &|breakdown| yes(breakdown.decision.fuse()));
    if columns.iter().any(|(_, breakdown)| breakdown.crossover.is_some()) {
        row("fused from frames", &|breakdown| match breakdown.crossover {
            Some(crossover) => format!("{:.0}", crossover.frames.ceil()),
            None => String::new(),
        });
    }
    row("pick", &|breakdown| breakdown.pick.to_string());
    table
}

fn yes(holds: bool) -> String {
    if holds { "yes" } else { "no" }.to_string()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        arguments: GateArgs,
    }

    fn printed(arguments: &[&str]) -> anyhow::Result<String> {
        let command = Command::try_parse_from([&["gate"], arguments].concat())?;
        let mut out = Vec::new();
        run(&command.arguments, &mut out)?;
        Ok(String::from_utf8(out)?)
    }

    /// Cells of the row of this title.
    fn cells<'a>(text: &'a str, title: &str) -> Vec<&'a str> {
        let row = text.lines().find_map(|line| line.trim_start().strip_prefix(title)).unwrap_or_default();
        row.split_whitespace().collect()
    }

    #[test]
    fn every_term_has_a_row_and_every_preset_a_column() {
        let text = printed(&["--device", "metal,rocm,wgpu", "--batch", "8192"]).unwrap();
        assert!(text.starts_with("batch 8192, n_fft 256, k 16: 17825792 useful bytes\n"), "{text}");
        assert_eq!(cells(&text, "syncs saved"), ["-1", "0", "0"]);
        assert_eq!(cells(&text, "read-back saved, bytes"), ["32505856"; 3]);
        assert_eq!(cells(&text, "fuse by movement"), ["yes"; 3]);
        assert_eq!(cells(&text, "pick"), ["fused", "fused", "fast"]);
        // One segment is no candidate for so many frames, and spectra for the host never.
        assert!(cells(&text, "ultra").iter().all(|cell| cell.starts_with('(') || cell.ends_with(')')), "{text}");
        assert!(text.contains(NO_CANDIDATE) && !cells(&text, "fast")[0].starts_with('('), "{text}");
        let small = printed(&["--device", "metal", "--batch", "256"]).unwrap();
        assert_eq!(
            (cells(&small, "pick"), cells(&small, "fused / block, at most")),
            (vec!["fast"], vec!["no", "limit"])
        );
    }

    #[test]
    fn problems_out_of_range_are_refused() {
        assert!(printed(&["--n-fft", "100"]).unwrap_err().to_string().contains("n_fft"));
        assert!(printed(&["--k", "130"]).unwrap_err().to_string().contains("130 is more than the 129 bins"));
        assert!(printed(&["--device", "metl"]).is_err());
        assert!(printed(&["--open", "0"]).is_err());
        assert!(printed(&["--open=-1"]).unwrap_err().to_string().contains("--open is -1, but must be above 0"));
    }

    #[test]
    fn sparse_learned_models_are_estimated_and_picked() {
        let pick = |open: &str| {
            let text = printed(&["--device", "metal,vulkan", "--batch", "8192", "--open", open]).unwrap();
            assert_eq!(cells(&text, "learned").len(), 4, "{text}");
            cells(&text, "pick").iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        // A quarter of the butterflies is no sparse model.
        assert_eq!(
            (pick("0.2"), pick("0.25")),
            (vec!["learned".into(), "fast".into()], vec!["fused".into(), "fast".into()])
        );
        assert!(cells(&printed(&[]).unwrap(), "learned").is_empty());
    }
}
