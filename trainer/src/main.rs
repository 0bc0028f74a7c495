//! The command line of `firefly-train`.

use std::env;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use burn_train::Interrupter;
use clap::{Args, Parser, Subcommand};
use firefly_app::device::DeviceName;
use firefly_trainer::config::{Resolved, RunConfig, load};
use firefly_trainer::data::{Corpus, Frames, Part, Synthetic, SyntheticConfig, frames_without_overlap};
use firefly_trainer::evaluate::{self, EvaluationRow};
use firefly_trainer::progress::{Progress, on_this_terminal};
use firefly_trainer::run::{self, RunFolder, evaluation_set};
use firefly_trainer::sweep::{Over, sweep};

/// Where a run's folder goes unless told.
const RUNS: &str = "runs";
/// The exit status of a run that was interrupted, as shells report SIGINT.
const INTERRUPTED: u8 = 130;

/// Trains learned Welch peaks from a TOML configuration and compares them with the exact tiers.
#[derive(Parser)]
#[command(name = "firefly-train", version, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    train: TrainArgs,
}

#[derive(Subcommand)]
enum Command {
    /// Evaluates a finished run.
    Eval(EvalArgs),
    /// Trains one run for every value of a key and compares them on one page.
    Sweep(SweepArgs),
}

#[derive(Args)]
struct TrainArgs {
    /// The configuration.
    #[arg(required = true)]
    config: Option<PathBuf>,
    #[command(flatten)]
    common: Common,
    /// Continue the run in the folder from its last checkpoint.
    #[arg(long)]
    resume: bool,
}

#[derive(Args)]
struct Common {
    /// Change a key of the configuration; may be given several times.
    #[arg(long = "set", value_name = "SECTION.KEY=VALUE")]
    settings: Vec<String>,
    /// Where to train: cpu, ndarray, wgpu, vulkan, metal or cuda, with an index as in cuda:1.
    #[arg(long, default_value = "cpu")]
    device: DeviceName,
    /// The run's folder; runs/NAME unless given.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The folder that the configuration's recordings are in; the environment's FIREFLY_DATA unless given. Without either
    /// the run is on synthetic signals.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The same as --set training.steps=N.
    #[arg(long, value_name = "N")]
    steps: Option<usize>,
}

#[derive(Args)]
struct SweepArgs {
    /// The configuration.
    config: PathBuf,
    /// The key and its values, as in loss.price=0,0.1,0.3.
    #[arg(long, value_name = "SECTION.KEY=VALUE,…")]
    over: Over,
    #[command(flatten)]
    common: Common,
}

#[derive(Args)]
struct EvalArgs {
    /// The run's folder.
    run: PathBuf,
    /// Folders of recordings, `synthetic`, or families of synthetic signals such as `tones`; what the run was tested on
    /// unless given.
    #[arg(long, value_name = "DIR|synthetic|FAMILY,…", value_delimiter = ',')]
    data: Vec<String>,
    /// Where to evaluate.
    #[arg(long, default_value = "cpu")]
    device: DeviceName,
    /// Also write the rows as JSON.
    #[arg(long, value_name = "PATH")]
    json: Option<PathBuf>,
}

fn main() -> ExitCode {
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_max_level(tracing::Level::WARN).init();
    let cli = Cli::parse();
    let done = match cli.command {
        Some(Command::Eval(args)) => eval(&args).map(|()| ExitCode::SUCCESS),
        Some(Command::Sweep(args)) => sweep_command(&args),
        None => train(&cli.train),
    };
    done.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}

fn train(args: &TrainArgs) -> Result<ExitCode> {
    let mut progress = on_this_terminal();
    let device = args.common.device.open()?;
    let config = args.config.as_deref().context("a configuration is needed")?;
    let resolved = resolve(config, &args.common, &args.common.settings, progress.as_mut())?;
    let folder = RunFolder::new(match &args.common.out {
        Some(out) => out.clone(),
        None => default_folder(&resolved.config, args.resume),
    });
    let rows = run::train(&folder, &resolved, &device, args.resume, &interrupter()?, progress.as_mut())?;
    Ok(conclude(&folder, rows, "--resume"))
}

fn sweep_command(args: &SweepArgs) -> Result<ExitCode> {
    let mut progress = on_this_terminal();
    let device = args.common.device.open()?;
    let mut runs = Vec::new();
    let set = |setting: &String| setting.split('=').next().map(str::trim) == Some(args.over.key());
    if args.common.settings.iter().any(set) || (args.common.steps.is_some() && args.over.key() == "training.steps") {
        bail!("{} is both swept over and set", args.over.key());
    }
    for setting in args.over.settings() {
        let mut settings = args.common.settings.clone();
        settings.push(setting);
        runs.push(resolve(&args.config, &args.common, &settings, progress.as_mut())?);
    }
    let name = runs.first().map(|run| format!("{}-sweep", run.config.name)).unwrap_or_default();
    let folder = RunFolder::new(args.common.out.clone().unwrap_or_else(|| Path::new(RUNS).join(name)));
    let rows = sweep(&folder, &args.over, &runs, &device, &interrupter()?, progress.as_mut())?;
    Ok(conclude(&folder, rows, "the same command"))
}

/// The configuration with every option applied and the recordings found.
fn resolve(path: &Path, common: &Common, settings: &[String], progress: &mut dyn Progress) -> Result<Resolved> {
    let mut settings = settings.to_vec();
    settings.extend(common.steps.map(|steps| format!("training.steps={steps}")));
    let mut config = load(path, &settings)?;
    let root =
        common.data.clone().or_else(|| env::var_os("FIREFLY_DATA").filter(|root| !root.is_empty()).map(PathBuf::from));
    if config.place_recordings(root.as_deref())? {
        progress.say("no folder of recordings is given (--data DIR or FIREFLY_DATA): training on synthetic signals");
    }
    Ok(Resolved::new(config, common.device.to_string()))
}

/// runs/NAME; a number is added to a name that is taken, and a resumed run is the one with the highest.
fn default_folder(config: &RunConfig, resume: bool) -> PathBuf {
    let numbered = |number: usize| match number {
        1 => Path::new(RUNS).join(&config.name),
        number => Path::new(RUNS).join(format!("{}-{number}", config.name)),
    };
    let free = (1..).find(|number| !numbered(*number).exists()).unwrap_or(1);
    numbered(if resume { (free - 1).max(1) } else { free })
}

/// Prints what came of a run.
fn conclude(folder: &RunFolder, rows: Option<Vec<EvaluationRow>>, again: &str) -> ExitCode {
    match rows {
        Some(rows) => {
            let text = format!("{}\n{}\n", evaluate::table(&rows), folder.report().display());
            print(&text).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS)
        }
        None => {
            eprintln!("interrupted: {} continues with {again}", folder.path().display());
            ExitCode::from(INTERRUPTED)
        }
    }
}

/// Writes to standard output; that nobody reads on is no error.
fn print(text: &str) -> io::Result<()> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// Ends the run at its next step when Ctrl-C is pressed; a second time ends the process.
fn interrupter() -> Result<Interrupter> {
    let interrupter = Interrupter::new();
    let asked = interrupter.clone();
    ctrlc::set_handler(move || {
        if asked.should_stop() {
            std::process::exit(i32::from(INTERRUPTED));
        }
        asked.stop(Some("Ctrl-C"));
    })
    .context("listening for Ctrl-C")?;
    Ok(interrupter)
}

fn eval(args: &EvalArgs) -> Result<()> {
    let folder = RunFolder::new(&args.run);
    let resolved = folder.resolved()?;
    let device = args.device.open()?;
    let model = folder.load_model(&device)?;
    let config = &resolved.config;
    let learned = [("learned".to_string(), model)];
    let mut rows = Vec::new();
    for (name, frames) in evaluation_sets(config, &args.data)? {
        rows.extend(evaluate::compare(&name, &frames, &config.model, &learned, &device)?);
    }
    if let Some(path) = &args.json {
        run::write_evaluation(path, &rows)?;
    }
    Ok(print(&evaluate::table(&rows))?)
}

fn evaluation_sets(config: &RunConfig, names: &[String]) -> Result<Vec<(String, Frames)>> {
    let frame = config.model.frame();
    if names.is_empty() {
        let data = config.data.open(frame, config.seed).context("data")?;
        let (name, frames) = evaluation_set(config, &data);
        return Ok(vec![(name, frames.clone())]);
    }
    let (seed, count) = (config.seed, config.data.synthetic_frames);
    let set = |name: &String| -> Result<(String, Frames)> {
        let synthetic = |config: SyntheticConfig| -> Result<Frames> {
            let source = Synthetic::new(config, frame, seed)?;
            Ok(source.for_part(Part::Test).frames(count))
        };
        let frames = if name == "synthetic" {
            synthetic(config.data.synthetic.clone())?
        } else if let Ok(family) = name.parse() {
            synthetic(SyntheticConfig { families: vec![family], ..config.data.synthetic.clone() })?
        } else if Path::new(name).exists() {
            frames_without_overlap(&Corpus::load(Path::new(name), frame)?, frame)?
        } else {
            bail!(
                "`{name}` is neither a folder, nor `synthetic`, nor one of tones, harmonics, am, fm, chirps and noise"
            );
        };
        Ok((name.clone(), frames))
    };
    names.iter().map(set).collect()
}
