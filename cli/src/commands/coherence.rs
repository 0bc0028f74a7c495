//! `firefly coherence`: coherence, cross spectra and transfer functions of pairs of channels, by Welch's method.

use std::ops::Range;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use clap::value_parser;
use firefly_app::number::significant;
use firefly_app::page::html_table::{HtmlRow, HtmlTable};
use firefly_app::streams::printable;
use firefly_app::table::{Align, TextTable};
use firefly_models::{Detrend, WindowSymmetry};
use firefly_ops::cross_spectra::csd_matrix;
use firefly_recordings::FrameSamples;
use serde_json::{Value, json};

use super::outcome::{CommandOutcome, OutputOptions, Report};
use super::spectrum::ensure_mean;
use crate::device::{DeviceOptions, names_of};
use crate::job::{Job, complete};
use crate::journal::JournalEntry;
use crate::labels::ChannelLabel;
use crate::model::ModelRequest;
use crate::options::{EstimateOptions, InputOptions, of_real_samples};
use crate::peak_values::read_power;
use crate::pipeline::OpenRecording;
use crate::plot::{Curve, Curves, PlotFigure};
use crate::power_sums::{BlockSums, PowerSums, RecordingSums};
use crate::row_scales::{RowScales, RowValues};
use crate::search::FrequencyBand;
use crate::segments::FrameSegments;
use crate::summary;
use crate::table::{ColumnValues, OutputTable, TableColumn};

const NOTES: &str = "\
Of each pair x → y of channels, in the order in which they are read: Pxy is the mean of conj(X) Y over all whole segments
in which every channel is finite. Columns of the output: file, first and second (numbers of x and y in the recording,
from 0), bin, frequency_hz, coherence (|Pxy|² / (Pxx Pyy), from 0 to 1), cross_power (|Pxy|, in the product of both units
by the scaling), phase_deg (of y against x), h1_gain and h2_gain (|Pxy / Pxx| and |Pyy / Pyx|, in the unit of y over that
of x; phase_deg is the phase of both), first_label, second_label, first_unit and second_unit.

Channels that are not coherent have a coherence above 0, less the more segments there are: its 95 % thresholds are
printed, 1 − 0.05^(1 / (n − 1)) for the n segments without overlap that the segments are worth, of one bin and of the
highest of all that are searched. With few segments and an overlap above one half they are too high.

Example:
  firefly coherence recordings/a.wav --n-fft 512 --plot coherence.html --out coherence.csv";
const OUT: &str = "Write the spectra of these pairs to this file: .parquet, .csv, .jsonl or .npy. A command that is killed \
                   begins anew";
const MAX_CURVES: usize = 32;
/// Values of the cross spectra of all pairs, which a few blocks hold in memory.
const MAX_VALUES: usize = 1 << 24;
/// Greatest power over the least of a channel's bins of which f32 keeps two digits of the least.
const MAX_RANGE: f64 = 1e9;

#[derive(Debug, Clone, clap::Args)]
#[command(
    after_help = NOTES,
    mut_args(of_real_samples),
    mut_arg("out", |out| out.help(OUT).long_help(OUT)),
)]
pub struct CoherenceArgs {
    #[command(flatten)]
    input: InputOptions,
    #[command(flatten)]
    estimate: EstimateOptions,
    /// Search the highest coherence between two frequencies, in hertz, both included: 500..5000, 50.. or ..5000; without
    /// DC and half the rate
    #[arg(long, value_name = "LOW..HIGH", default_value = "..")]
    band: FrequencyBand,
    /// Pairs of a recording that are printed, drawn and written, most coherent first, 1 or more
    #[arg(long, value_name = "K", default_value_t = 8, value_parser = value_parser!(u32).range(1..))]
    top: u32,
    #[command(flatten)]
    device: DeviceOptions,
    #[command(flatten)]
    output: OutputOptions,
}

pub fn run(mut arguments: CoherenceArgs) -> Result<ExitCode> {
    arguments.estimate.detrend.get_or_insert(Detrend::Constant);
    let CoherenceArgs { input, estimate, band, output, .. } = &arguments;
    ensure_mean(estimate)?;
    let channels = &input.channel;
    let twice = channels.iter().enumerate().find(|(place, channel)| channels[..*place].contains(channel));
    ensure!(
        twice.is_none(),
        "--channel {} is given twice: a channel is coherent with itself",
        twice.map_or("", |(_, name)| name.as_str())
    );
    let devices = arguments.device.open()?;
    let request = ModelRequest::power(estimate, 1)?;
    let sources = output.sources(input, None)?;
    let options = json!({ "coherence": estimate.to_string(), "device": names_of(&devices, ",") });
    let mut job = Job::new(&sources, &request, estimate.hop(), options, input.quiet);
    job.framing.most_rounding = 0.0;
    let (lock, table) = output.open(&sources)?;
    let mut results = Results {
        arguments: &arguments,
        job: &job,
        sums: BlockSums::default(),
        table,
        text: String::new(),
        rows: Vec::new(),
        reports: Vec::new(),
        curves: Default::default(),
        outcome: CommandOutcome::default(),
    };
    let computations = devices.iter().map(|device| {
        let arguments = &arguments;
        move |recording: OpenRecording, samples| match ensure_pairs(recording, estimate) {
            Ok(()) => device.run(|device| cross_sums(device, recording, arguments, samples)),
            Err(_) => Ok(PowerSums::none(1, 0)),
        }
    });
    // Sums of all pairs are larger than the samples of a block, so that a journal of them would outgrow the recording.
    job.run(None, computations.collect(), |entry| results.take(entry))?;
    let Results { table, text, rows, reports, curves, outcome, .. } = results;
    let computed =
        outcome.ensure_not_empty(reports.len() as u64, &format!("{} samples of a segment", estimate.n_fft()));
    complete(lock, computed, || table.map_or(Ok(()), |table| table.finish()))?;
    let described = format!("{estimate}, band {band} Hz");
    let facts = [("estimate", described.clone()), ("pairs", format!("{} of {}", curves[0].len(), rows.len()))];
    let columns = ["pair"].into_iter().chain(CELLS).map(str::to_owned).collect();
    let kinds = [
        ("coherence", "coherence", Some(0.0..1.05)),
        ("phase of the second channel against the first", "phase, °", Some(-180.0..180.0)),
        ("gain of the transfer function H1", "gain |H1|, dB", None),
    ];
    let figures = kinds.into_iter().zip(&curves).map(|((title, label, range), curves)| {
        PlotFigure::Curves(Curves { title: title.to_owned(), label: label.to_owned(), curves, range })
    });
    let figures: Vec<_> = figures.collect();
    output.draw(&input.title(), &facts, HtmlTable { caption: "Pairs".to_owned(), columns, rows }, &figures)?;
    let report = Report {
        command: "coherence",
        estimate: &described,
        n_fft: estimate.n_fft(),
        device: names_of(&devices, ","),
        more: json!({ "hop": estimate.hop(), "recordings": reports }),
        channels: None,
        outcome: &outcome,
    };
    let device = arguments.device.explained(&devices);
    output.print(&report, &format!("estimate: {described}\ndevice: {device}\n{text}{}", outcome.text()))
}

/// Checks that a recording has pairs of channels, whose cross spectra fit into memory.
fn ensure_pairs(OpenRecording { channels, centre, .. }: OpenRecording, estimate: &EstimateOptions) -> Result<()> {
    ensure!(centre.is_none(), "coherence is that of real samples, and these are complex");
    ensure!(channels >= 2, "coherence is that of two channels or more, and there is one");
    let values = channels.saturating_mul(channels).saturating_mul(estimate.n_fft() / 2 + 1);
    ensure!(
        values <= MAX_VALUES,
        "the cross spectra of {channels} channels have {values} values, and at most {MAX_VALUES} are held: name fewer \
         channels by --channel, or lower --n-fft"
    );
    Ok(())
}

/// Pairs of each channel with itself and with those behind it.
fn pairs(channels: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..channels).flat_map(move |first| (first..channels).map(move |second| (first, second)))
}

/// Sums over the segments of a block in which every channel is finite: of each of the [`pairs`] the real parts of the
/// cross spectrum, and the imaginary ones. In f64, on the CPU, where samples have more digits or leave the range of f32,
/// or bins are so weak that f32 would round them.
fn cross_sums(
    device: &Device,
    recording: OpenRecording,
    CoherenceArgs { estimate, band, .. }: &CoherenceArgs,
    samples: FrameSamples,
) -> Result<PowerSums> {
    let FrameSamples { rounded, wide_rows, wide } = samples;
    let (n_fft, channels) = (estimate.n_fft(), recording.channels);
    let is_narrow = wide_rows.is_empty() && RowScales::of(&mut rounded.clone(), n_fft).is_empty();
    let mut samples: Vec<f64> = rounded.into_iter().map(f64::from).collect();
    samples.replace_rows(&wide_rows, &wide);
    let mut segments: Vec<&[f64]> = samples.chunks(channels * n_fft).collect();
    segments.retain(|segment| segment.iter().all(|sample| sample.is_finite()));
    let (count, bins) = (segments.len(), n_fft / 2 + 1);
    if count == 0 {
        return Ok(PowerSums::none(1, pairs(channels).count() * 2 * bins));
    }
    let channel = |channel: usize| segments.iter().flat_map(move |segment| &segment[channel * n_fft..][..n_fft]);
    let signal: Vec<f64> = (0..channels).flat_map(channel).copied().collect();
    // The segments, one behind the other.
    let options = estimate.config(FrameSegments::adjacent(count), 1, recording.rate).options().with_hop(n_fft);
    let places: Vec<i64> = pairs(channels).map(|(first, second)| (first * channels + second) as i64).collect();
    let sums = |device: &Device, dtype: DType| {
        let signal = TensorData::new(signal.clone(), [channels, count * n_fft]);
        let window = estimate.window().tensor(n_fft, WindowSymmetry::Periodic, dtype.into(), device);
        let means = csd_matrix::<2, 3>(Tensor::<2>::from_data(signal, (device, dtype)), window, &options)?;
        let places = Tensor::<1, Int>::from_data(&places[..], device);
        let part = |part: Tensor<3>| part.reshape([channels * channels, bins]).select(0, places.clone());
        let means = read_power(Tensor::cat(vec![part(means.re), part(means.im)], 1), &RowScales::default())?;
        let sums = means.into_iter().map(|mean| mean * count as f64).collect();
        Ok(PowerSums { counts: vec![count as u64], sums })
    };
    let searched = band.interior_bins(recording, n_fft).unwrap_or(1..bins);
    let is_exact = |sums: &PowerSums| CrossSpectra::new(channels, bins, sums).range(&searched) <= MAX_RANGE;
    match is_narrow.then(|| sums(device, DType::F32)).transpose()?.filter(is_exact) {
        Some(sums) => Ok(sums),
        None => sums(&Device::flex(), DType::F64),
    }
}

/// Segments without overlap whose mean has as many degrees of freedom as that of `segments` segments: half of equation
/// 292b of D. B. Percival and A. T. Walden, "Spectral analysis for physical applications" (1993).
fn independent_segments(estimate: &EstimateOptions, segments: u64) -> f64 {
    let (n_fft, hop) = (estimate.n_fft(), estimate.hop());
    let window = estimate.window().coefficients(n_fft, WindowSymmetry::Periodic);
    let product = |lag: usize| window.iter().zip(&window[lag..]).map(|(a, b)| a * b).sum::<f64>();
    let (energy, all) = (product(0), segments as f64);
    let lags = (0..n_fft).step_by(hop).zip(0..segments).skip(1);
    let shared = lags.map(|(lag, apart)| (1.0 - apart as f64 / all) * (product(lag) / energy).powi(2));
    all / (1.0 + 2.0 * shared.sum::<f64>())
}

/// Coherence that the highest of so many independent bins without coherence stays below with a probability of 95 %: D. M.
/// Halliday et al., "A framework for the analysis of mixed time series/point process data", Prog. Biophys. Mol. Biol. 64
/// (1995), for one bin.
fn threshold(independent_segments: f64, bins: usize) -> f64 {
    let beyond = -(0.95f64.ln() / bins as f64).exp_m1();
    1.0 - beyond.powf(1.0 / (independent_segments - 1.0))
}

/// Columns of values per bin.
const COLUMNS: [&str; 5] = ["coherence", "cross_power", "phase_deg", "h1_gain", "h2_gain"];
/// Columns of a pair's values in the text and on a page.
const CELLS: [&str; 5] = ["coherence", "frequency", "phase", "|H1|", "|H2|"];

/// Spectra of pairs of the channels of a recording.
struct CrossSpectra<'a> {
    bins: usize,
    segments: u64,
    /// Sums of all [`pairs`], and those of the power of each channel.
    sums: Vec<((usize, usize), &'a [f64])>,
    power: Vec<&'a [f64]>,
}

impl<'a> CrossSpectra<'a> {
    fn new(channels: usize, bins: usize, PowerSums { counts, sums }: &'a PowerSums) -> Self {
        let sums: Vec<_> = pairs(channels).zip(sums.chunks(2 * bins)).collect();
        let power = sums.iter().filter(|((x, y), _)| x == y).map(|(_, sums)| &sums[..bins]).collect();
        Self { bins, segments: counts[0], sums, power }
    }

    /// Greatest ratio of the power of two of some bins of one channel, of those that have any.
    fn range(&self, bins: &Range<usize>) -> f64 {
        let range = |power: &&[f64]| {
            let values = || power[bins.clone()].iter().copied().filter(|power| *power > 0.0);
            values().fold(0.0, f64::max) / values().fold(f64::INFINITY, f64::min)
        };
        self.power.iter().map(range).fold(0.0, f64::max)
    }

    /// Values of the [`COLUMNS`] at a bin of a pair at a place; NaN without power.
    fn values(&self, place: usize, bin: usize) -> [f64; 5] {
        let ((x, y), sums) = self.sums[place];
        let [re, im, x, y] = [sums[bin], sums[self.bins + bin], self.power[x][bin], self.power[y][bin]]
            .map(|sum| sum / self.segments as f64);
        let cross = re.hypot(im);
        let coherence = (cross / x.sqrt() / y.sqrt()).powi(2);
        // Rounding may leave more than 1.
        let coherence = if coherence > 1.0 { 1.0 } else { coherence };
        [coherence, cross, im.atan2(re).to_degrees(), cross / x, y / cross]
    }

    /// Bins of the highest coherence among some bins, and places of all pairs of two channels: the most coherent pair
    /// first, of equal ones that of lower channels. A bin without power counts as 0.
    fn ranked(&self, searched: &Range<usize>) -> Vec<(usize, usize)> {
        let coherence = |place, bin| self.values(place, bin)[0].max(0.0);
        let places = (0..self.sums.len()).filter(|place| self.sums[*place].0.0 < self.sums[*place].0.1);
        let highest = |place| {
            let bins = searched.clone().map(|bin| (coherence(place, bin), bin));
            let (highest, bin) = bins.fold((-1.0, 0), |best, next| if next.0 > best.0 { next } else { best });
            (highest, bin, place)
        };
        let mut ranked: Vec<(f64, usize, usize)> = places.map(highest).collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
        ranked.into_iter().map(|(_, bin, place)| (bin, place)).collect()
    }
}

struct Results<'a> {
    arguments: &'a CoherenceArgs,
    job: &'a Job<'a>,
    sums: BlockSums,
    table: Option<OutputTable>,
    /// Recordings and their pairs as text, as rows of a page, and for JSON.
    text: String,
    rows: Vec<HtmlRow>,
    reports: Vec<Value>,
    /// Curves of coherence, phase and gain.
    curves: [Vec<Curve>; 3],
    outcome: CommandOutcome,
}

impl Results<'_> {
    fn take(&mut self, entry: JournalEntry<PowerSums>) -> Result<bool> {
        if let Some(sums) = self.sums.take(entry, self.job.sources, &mut self.outcome) {
            match self.searched(&sums) {
                Ok(searched) => self.add(&sums, &searched)?,
                Err(_) if sums.is_failed => {}
                Err(error) => self.outcome.failed(&sums.name, &format!("{error:#}")),
            }
        }
        Ok(true)
    }

    /// Bins that are searched of a recording. An error for one without pairs, segments to average or bins in the band.
    fn searched(&self, RecordingSums { recording, segments, sums, .. }: &RecordingSums) -> Result<Range<usize>> {
        let CoherenceArgs { estimate, band, .. } = self.arguments;
        ensure_pairs(*recording, estimate)?;
        let finite = sums.counts[0];
        ensure!(
            finite >= 2,
            "coherence takes two segments that are finite in all channels, and there are {finite} of {segments}"
        );
        band.interior_bins(*recording, estimate.n_fft())
    }

    /// Adds the most coherent pairs of a recording, of those bins.
    fn add(&mut self, of_recording: &RecordingSums, searched: &Range<usize>) -> Result<()> {
        let RecordingSums { recording, name, segments: all, sums, .. } = of_recording;
        let CoherenceArgs { estimate, top, .. } = self.arguments;
        let (n_fft, rate) = (estimate.n_fft(), recording.rate);
        let spectra = CrossSpectra::new(recording.channels, recording.bins(n_fft), sums);
        let labels = self.job.labels.take(self.job.sources, *recording);
        let ranked = spectra.ranked(searched);
        let mut table = TextTable::default().column("pair", Align::Left).columns(CELLS, Align::Right);
        let mut found = Vec::new();
        for (bin, place) in ranked.iter().take(*top as usize).copied() {
            let (x, y) = spectra.sums[place].0;
            let pair = [&labels[x], &labels[y]];
            let [first, second] = pair.map(ChannelLabel::name);
            let (title, hertz) = (format!("{first} → {second}"), recording.hertz(bin, 0.0, n_fft));
            let [coherence, _, phase_deg, h1_gain, h2_gain] = spectra.values(place, bin);
            let cells = [
                format!("{coherence:.4}"),
                format!("{} Hz", summary::significant(hertz, 0.0)),
                format!("{phase_deg:.1}°"),
                significant(h1_gain, 4),
                significant(h2_gain, 4),
            ];
            table.row([title.clone()].into_iter().chain(cells.clone()));
            found.push(json!({
                "first": pair[0].number, "second": pair[1].number, "labels": pair, "frequency_hz": hertz,
                "coherence": coherence, "phase_deg": phase_deg, "h1_gain": h1_gain, "h2_gain": h2_gain,
            }));
            let columns = COLUMNS.map(|_| Vec::with_capacity(spectra.bins));
            let columns = (0..spectra.bins).fold(columns, |mut columns, bin| {
                columns.iter_mut().zip(spectra.values(place, bin)).for_each(|(column, value)| column.push(value));
                columns
            });
            let title = format!("{name}, {title}");
            if self.curves[0].len() < MAX_CURVES {
                let gain = columns[3].iter().map(|gain| 20.0 * gain.log10()).collect();
                for (curves, values) in self.curves.iter_mut().zip([columns[0].clone(), columns[2].clone(), gain]) {
                    let (name, hertz_per_bin, marks) = (title.clone(), rate / n_fft as f64, vec![hertz]);
                    curves.push(Curve { name, first_hertz: 0.0, hertz_per_bin, values, marks });
                }
            }
            self.rows.push(HtmlRow::new(&title, cells.into()));
            if let Some(table) = &mut self.table {
                let rows = pair_rows(*recording, name, pair, columns, n_fft);
                table.write(&rows).context("writing the output")?;
            }
        }
        let (segments, left_out) = (spectra.segments, all - spectra.segments);
        let (independent, bins) = (independent_segments(estimate, segments), ranked.len() * searched.len());
        let [of_bin, of_highest] = [1, bins].map(|bins| threshold(independent, bins));
        let bin = summary::significant(rate / n_fft as f64, 0.0);
        let more = match ranked.len() - found.len() {
            0 => String::new(),
            more => format!("… and {more} more pairs\n"),
        };
        self.text += &format!(
            "\n{}: {rate} Hz, {segments} segments, {bin} Hz per bin\n{}{more}no coherence: 95 % of bins are below \
             {of_bin:.4}, the highest of all {bins} below {of_highest:.4}\n",
            printable(name),
            table.render()
        );
        if left_out > 0 {
            self.text += &format!("segments with samples that are not finite, left out: {left_out} of {all}\n");
        }
        self.reports.push(json!({
            "recording": &**name, "rate_hz": rate, "segments": segments, "segments_left_out": left_out,
            "independent_segments": independent, "bins_searched": bins, "threshold": of_bin,
            "threshold_of_highest": of_highest, "pairs": found,
        }));
        Ok(())
    }
}

/// Rows of the table of a pair of channels, with its values of the [`COLUMNS`].
fn pair_rows(
    recording: OpenRecording,
    file: &Arc<str>,
    pair: [&ChannelLabel; 2],
    values: [Vec<f64>; 5],
    n_fft: usize,
) -> Vec<TableColumn> {
    let bins = values[0].len();
    let hertz = |bin| recording.hertz(bin, 0.0, n_fft);
    let [first, second] = pair.map(|label| ColumnValues::Int32(vec![label.number as i32; bins]));
    let text = |text: &Arc<str>| ColumnValues::text(text, bins);
    let columns = [
        ("file", text(file)),
        ("first", first),
        ("second", second),
        ("bin", ColumnValues::Int32((0..bins as i32).collect())),
        ("frequency_hz", ColumnValues::Double((0..bins).map(hertz).collect())),
    ];
    let labels = [
        ("first_label", text(&pair[0].title)),
        ("second_label", text(&pair[1].title)),
        ("first_unit", text(&pair[0].unit)),
        ("second_unit", text(&pair[1].unit)),
    ];
    let values = COLUMNS.into_iter().zip(values.map(ColumnValues::Double));
    columns.into_iter().chain(values).chain(labels).map(|(name, values)| TableColumn { name, values }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_segments_are_worth_fewer() {
        let estimate = |window: &str, hop| EstimateOptions {
            n_fft: Some(64),
            hop: Some(hop),
            window: Some(window.parse().unwrap()),
            ..EstimateOptions::default()
        };
        // Sums of the products of coefficients in NumPy.
        for (window, hop, segments, expected) in [
            ("hann", 64, 8, 8.0),
            ("hann", 32, 8, 7.629_139_073),
            ("hann", 16, 4, 2.381_612_979),
            ("rectangular", 32, 4, 2.909_090_909),
        ] {
            let found = independent_segments(&estimate(window, hop), segments);
            assert!((found - expected).abs() < 1e-8, "{window} {hop}: {found}");
        }
    }

    #[test]
    fn thresholds_are_those_of_a_beta_distribution() {
        assert!((threshold(8.0, 1) - (1.0 - 0.05f64.powf(1.0 / 7.0))).abs() < 1e-12);
        let probability = |coherence: f64| (1.0 - (1.0 - coherence).powf(7.0)).powi(100);
        assert!((probability(threshold(8.0, 100)) - 0.95).abs() < 1e-9);
        assert_eq!(threshold(1.0, 1), 1.0);
    }
}
