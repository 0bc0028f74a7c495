//! `firefly bearings`: lines of an envelope's spectrum at the rates of a rolling bearing's faults.

use std::f64::consts::PI;
use std::ops::Range;
use std::process::ExitCode;

use anyhow::{Result, ensure};
use clap::value_parser;
use firefly_app::number::{fixed, significant};
use firefly_app::page::html_table::HtmlRow;
use firefly_app::streams::printable;
use firefly_app::table::{Align, TextTable};
use serde::Serialize;
use serde_json::{Value, json};

use super::envelope::{self, EnvelopeArgs, MARGINS};
use crate::pipeline::OpenRecording;
use crate::search::FrequencyBand;

const NOTES: &str = "\
Rates are those of an inner race that turns and an outer one that stands still: BPFO and BPFI (balls that pass a point of
the outer or inner race), BSF (a ball's spin; its damage strikes twice per turn) and FTF (the cage). A line is the strongest
local maximum within the slip, not next to a multiple of the shaft's rate; its height is above the median of 32 bins on
either side. White noise is 10 dB above it at 1 of 140 lines of a single segment, at 1 of 30,000 of two, at fewer of more.
Changes of speed are not followed. Lines are evidence, not proof: other parts of a machine have lines at such rates, too.
The output of --out has the spectra, as that of firefly envelope.

Example:
  firefly bearings recording.wav --rpm 1797 --bearing 6205-2RS --band 1000..3500";
/// Bins that the main lobe of a Hann window reaches on either side, and that lines are apart to be told apart.
const LOBE: usize = 2;
const RESOLVED: f64 = 3.0;
/// Bins of noise on either side of a line; half of them are the fewest above it.
const NEIGHBOURS: usize = 32;
/// Changes of the speed that are tried where lines are not at the expected rates, and their step and slip; and the change
/// from which on lines that are within the slip are noted.
const SPEEDS: Range<i32> = -30..31;
const SPEED_STEP: f64 = 1e-3;
const MIN_CHANGE: f64 = 5e-3;
/// Rates, and parts whose faults have lines at them.
const RATES: [&str; 5] = ["shaft", "BPFO", "BPFI", "BSF", "FTF"];
const PARTS: [&str; 5] =
    ["shaft", "outer race", "inner race", "rolling elements", "cage, or of unequal rolling elements"];
/// Titles of the columns of lines.
pub const TITLES: [&str; 6] = ["line", "expected, Hz", "found, Hz", "height, dB", "stands out", "nearer to"];

#[derive(Debug, Clone, clap::Args)]
#[command(
    after_help = NOTES,
    mut_arg("n_fft", |n_fft| n_fft.help("Samples per segment, to 16777216 [default: 8192]")),
    mut_arg("window", |window| window.hide(true)),
    mut_arg("multitaper", |multitaper| multitaper.hide(true)),
)]
pub struct BearingsArgs {
    /// Turns of the shaft per second, in all recordings
    #[arg(long, value_name = "HZ", value_parser = positive, required_unless_present = "rpm", conflicts_with = "rpm")]
    shaft: Option<f64>,
    /// Turns of the shaft per minute
    #[arg(long, value_name = "N", value_parser = positive)]
    rpm: Option<f64>,
    /// Bearing whose geometry is known, instead of the next four options: 6205-2RS or 6203-2RS (JEM SKF)
    #[arg(long, value_name = "NAME", value_parser = ["6205-2RS", "6203-2RS"],
        conflicts_with_all = ["balls", "ball_diameter", "pitch_diameter", "angle"])]
    bearing: Option<String>,
    /// Rolling elements, 2 to 1000
    #[arg(long, value_name = "N", required_unless_present = "bearing", value_parser = value_parser!(u32).range(2..=1000))]
    balls: Option<u32>,
    /// Diameter of a rolling element, in the unit of --pitch-diameter
    #[arg(long, value_name = "D", required_unless_present = "bearing", value_parser = positive)]
    ball_diameter: Option<f64>,
    /// Diameter of the circle of the rolling elements' centres
    #[arg(long, value_name = "D", required_unless_present = "bearing", value_parser = positive)]
    pitch_diameter: Option<f64>,
    /// Contact angle in degrees, from 0 to less than 90
    #[arg(long, value_name = "DEG", default_value_t = 0.0)]
    angle: f64,
    /// Share that rates are above or below the expected ones, by slip or an inexact speed: 0 to 0.1
    #[arg(long, value_name = "SHARE", default_value_t = 0.02)]
    slip: f64,
    /// Height of a line that stands out, in decibels, 0 or more
    #[arg(long, value_name = "DB", default_value_t = 10.0)]
    threshold: f64,
    #[command(flatten)]
    envelope: EnvelopeArgs,
}

fn positive(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| format!("`{text}` is not a number above 0"))
}

pub fn run(arguments: BearingsArgs) -> Result<ExitCode> {
    let BearingsArgs { bearing, balls, ball_diameter, pitch_diameter, angle, slip, threshold, mut envelope, .. } =
        arguments;
    ensure!((0.0..=0.1).contains(&slip), "--slip is {slip}, but must be from 0 to 0.1");
    ensure!(threshold >= 0.0, "--threshold is {threshold}, but must be 0 or more");
    let is_hann = envelope.spectrum.estimate.window.is_none() && envelope.spectrum.multitaper.is_none();
    ensure!(is_hann, "--window and --multitaper are not for bearings: lines are told apart as those of a Hann window");
    let n_fft = *envelope.spectrum.estimate.n_fft.get_or_insert(8192) as usize;
    let rates = match bearing.as_deref() {
        // In inches, of the Bearing Data Center of Case Western Reserve University.
        Some("6205-2RS") => rates(9, 0.3126, 1.537, 0.0),
        Some(_) => rates(8, 0.2656, 1.122, 0.0),
        None => rates(balls.unwrap_or(0), ball_diameter.unwrap_or(0.0), pitch_diameter.unwrap_or(0.0), angle),
    };
    let shaft = arguments.shaft.or(arguments.rpm.map(|rpm| rpm / 60.0)).unwrap_or(0.0);
    let test = Bearing { shaft, rates: rates?, slip, threshold, band: envelope.band, n_fft };
    envelope::run(envelope, Some(&test))
}

/// The [`RATES`] per turn of the shaft, without slip: R. B. Randall and J. Antoni, "Rolling element bearing diagnostics: a
/// tutorial", Mech. Syst. Signal Process. 25 (2011), equations 1 to 4.
fn rates(balls: u32, ball: f64, pitch: f64, angle: f64) -> Result<[f64; 5]> {
    ensure!((0.0..90.0).contains(&angle), "--angle is {angle}, but must be from 0 to less than 90 degrees");
    let fits = ball < pitch && f64::from(balls) * (ball / pitch).asin() <= PI;
    ensure!(fits, "--balls {balls} of --ball-diameter {ball} do not fit on --pitch-diameter {pitch}");
    let (half, ratio) = (0.5 * f64::from(balls), ball / pitch * angle.to_radians().cos());
    let spin = 0.5 * pitch / ball * (1.0 - ratio * ratio);
    Ok([1.0, half * (1.0 - ratio), half * (1.0 + ratio), spin, 0.5 * (1.0 - ratio)])
}

/// A line: what is expected, and what a spectrum has there; NaN without a local maximum.
#[derive(Debug, Clone, Default, Serialize)]
pub struct BearingLine {
    line: String,
    pub expected_hz: f64,
    frequency_hz: f64,
    height_db: f64,
    stands_out: bool,
    /// Another line that is nearer; empty without one.
    nearer_to: String,
    /// Place of its rate, multiple of it, and shaft rates that are added.
    #[serde(skip)]
    key: (usize, u32, i32),
}

/// A bearing on a shaft, and how its lines are measured.
#[derive(Clone, Copy)]
pub struct Bearing {
    /// Turns of the shaft per second, and the rates per turn.
    shaft: f64,
    rates: [f64; 5],
    slip: f64,
    threshold: f64,
    band: FrequencyBand,
    n_fft: usize,
}

impl Bearing {
    /// All lines of the spectrum of an envelope, and the end of its bins. An error for a rate beyond it, and for bins that
    /// do not tell a rate from multiples of the shaft's.
    pub fn lines(&self, recording: OpenRecording) -> Result<(Vec<BearingLine>, usize)> {
        let Self { shaft, band, n_fft, .. } = *self;
        let (rate, bin) = (recording.rate, recording.rate / n_fft as f64);
        // An envelope has no lines above the width of its band.
        let end = (band.interior_bins(recording, MARGINS * n_fft)?.len() / MARGINS).min(n_fft / 2);
        let (width, is_inside) =
            (end as f64 * bin, |hertz: f64| self.bins(hertz / bin).end + LOBE + NEIGHBOURS / 2 <= end);
        for (name, turns) in RATES.into_iter().zip(self.rates) {
            let (hertz, apart) = (turns * shaft, (turns - turns.round()).abs() * shaft);
            ensure!(hertz < 0.5 * rate, "{name} is {hertz:.2} Hz, above half the sample rate: see --shaft and --rpm");
            ensure!(
                name == "shaft" || apart >= RESOLVED * bin,
                "--n-fft is {n_fft}, but {:.0} samples tell {name}, {hertz:.2} Hz, from a multiple of the shaft's rate",
                (RESOLVED * rate / apart).ceil()
            );
            ensure!(is_inside(hertz), "{name} is {hertz:.2} Hz, too near the width of --band, {width:.2} Hz");
        }
        let line = |rate: usize, order: u32, sideband: i32| {
            let expected_hz = (f64::from(order) * self.rates[rate] + f64::from(sideband)) * shaft;
            let shafts = if sideband == 0 { String::new() } else { format!(" {sideband:+}× shaft") };
            let line = format!("{order}× {}{shafts}", RATES[rate]);
            BearingLine { line, expected_hz, key: (rate, order, sideband), ..BearingLine::default() }
        };
        // A damaged ball strikes twice per turn, so that its lines are at even multiples, or all of them.
        let orders_of = |rate: usize| if RATES[rate] == "BSF" { [1, 2, 4] } else { [1, 2, 3] };
        let orders = (0..RATES.len()).flat_map(|rate| orders_of(rate).map(move |order| (rate, order)));
        let lines = orders.flat_map(|(rate, order)| {
            let most = if RATES[rate] == "BPFI" { 3 } else { 0 };
            (-most..=most).map(move |sideband| line(rate, order, sideband))
        });
        let is_searched = |line: &BearingLine| line.expected_hz >= RESOLVED * bin && is_inside(line.expected_hz);
        Ok((lines.filter(is_searched).collect(), end))
    }

    /// Bins within the slip of a place, to half a bin.
    fn bins(&self, place: f64) -> Range<usize> {
        (place * (1.0 - self.slip) - 0.5).ceil() as usize..(place * (1.0 + self.slip) + 0.5) as usize + 1
    }

    /// The multiples of rates and the first sidebands of BPFI in the power of an envelope.
    pub fn measure(&self, recording: OpenRecording, power: &[f64]) -> Result<Vec<BearingLine>> {
        let (lines, end) = self.lines(recording)?;
        let is_listed = |line: &&BearingLine| line.key.2 == 0 || line.key.1 == 1 && line.key.2.abs() == 1;
        let listed = lines.iter().filter(is_listed);
        Ok(listed.map(|line| self.measured(line, &lines, recording.rate, &power[..end])).collect())
    }

    /// A line in the power of an envelope, of which another of `lines` may be nearer to what is found.
    fn measured(&self, line: &BearingLine, lines: &[BearingLine], rate: f64, power: &[f64]) -> BearingLine {
        let (end, bin_hz) = (power.len(), rate / self.n_fft as f64);
        let bins = self.bins(line.expected_hz / bin_hz);
        let (low, high) = (bins.start.saturating_sub(LOBE), bins.end + LOBE);
        let mut beside = power[low.saturating_sub(NEIGHBOURS).max(LOBE).min(low)..low].to_vec();
        beside.extend(&power[high..end.min(high + NEIGHBOURS)]);
        beside.sort_by(f64::total_cmp);
        let is_free = |bin: &usize| {
            let turns = *bin as f64 * bin_hz / self.shaft;
            line.key.0 == 0 || (turns - turns.round()).abs() * self.shaft >= LOBE as f64 * bin_hz
        };
        let is_maximum = |bin: &usize| power[*bin] > power[bin - 1] && power[*bin] >= power[bin + 1];
        let maxima = bins.filter(is_free).filter(is_maximum);
        let highest = maxima.max_by(|a, b| power[*a].total_cmp(&power[*b]));
        let [frequency_hz, height_db] = highest.map_or([f64::NAN; 2], |bin| {
            // The vertex of the parabola through the logarithms of power.
            let [left, top, right] = [bin - 1, bin, bin + 1].map(|bin| power[bin].max(f64::MIN_POSITIVE).ln());
            let place = bin as f64 + 0.5 * (left - right) / (left - 2.0 * top + right);
            [place * bin_hz, 10.0 * (power[bin] / beside[beside.len() / 2]).log10()]
        });
        let apart = |line: &BearingLine| (line.expected_hz - frequency_hz).abs();
        let nearest = lines.iter().min_by(|a, b| apart(a).total_cmp(&apart(b)));
        let nearer = nearest.filter(|nearest| apart(nearest) < apart(line));
        let stands_out = height_db > self.threshold && nearer.is_none();
        let nearer_to = nearer.map_or_else(String::new, |other| other.line.clone());
        BearingLine { frequency_hz, height_db, stands_out, nearer_to, ..line.clone() }
    }

    /// Remarks on measured lines that another speed or another part would explain.
    pub fn notes(&self, recording: OpenRecording, power: &[f64], found: &[BearingLine]) -> Result<Vec<String>> {
        let at = |change: f64| Self { shaft: self.shaft * (1.0 + change), ..*self };
        let described = |change: f64| {
            let shaft = at(change).shaft;
            format!("a shaft at {shaft:.2} Hz ({:.0} rpm, {:+.1} %)", 60.0 * shaft, 100.0 * change)
        };
        let is_consistent = |rate, lines: &[BearingLine]| verdict(rate, lines)[0] == "consistent";
        // Heights of the shaft's lines and of those of a rate. The cage's are too low to tell such speeds apart.
        let evidence = |lines: &[BearingLine]| {
            let height = |rate| outstanding(rate, lines).map(|line| line.height_db).sum::<f64>();
            let rates = (1..4).filter(|rate| is_consistent(*rate, lines)).map(|rate| (height(rate), Some(rate)));
            let (highest, rate) = rates.fold((0.0, None), |best, next| if next.0 > best.0 { next } else { best });
            (highest + height(0), rate)
        };
        let shift = |rate, lines: &[BearingLine]| {
            let changes = outstanding(rate, lines).map(|line| line.frequency_hz / line.expected_hz - 1.0);
            changes.sum::<f64>() / outstanding(rate, lines).count() as f64
        };
        let changes = SPEEDS.map(|step| f64::from(step) * SPEED_STEP).filter(|change| change.abs() >= MIN_CHANGE);
        let tried = changes.filter_map(|change| {
            let lines = Self { slip: 0.5 * SPEED_STEP, ..at(change) }.measure(recording, power).ok()?;
            let (height, rate) = evidence(&lines);
            Some((height, rate?, (1.0 + change) * (1.0 + shift(rate?, &lines)) - 1.0))
        });
        let (own, rate) = evidence(found);
        let best = tried.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(height, ..)| *height > own + self.threshold);
        let mut notes = Vec::new();
        if let Some((_, rate, change)) = best {
            let (name, shaft) = (RATES[rate], described(change));
            notes.push(format!("lines of {name} stand out more with {shaft}: is the speed right?"));
        } else if let Some(rate) = rate {
            let (name, change) = (RATES[rate], shift(rate, found));
            if change.abs() >= MIN_CHANGE {
                let shaft = described(change);
                notes.push(format!("lines of {name} are beside the expected ones: slip, or {shaft}"));
            }
        }
        if is_consistent(1, found) {
            let (lines, end) = self.lines(recording)?;
            let (balls, bin_hz) = ((self.rates[1] / self.rates[4]).round() as u32, recording.rate / self.n_fft as f64);
            let multiple = |order: u32| BearingLine {
                expected_hz: f64::from(order) * self.rates[4] * self.shaft,
                key: (4, order, 0),
                ..BearingLine::default()
            };
            let is_searched = |line: &BearingLine| {
                let bins = self.bins(line.expected_hz / bin_hz);
                line.expected_hz >= RESOLVED * bin_hz && bins.end + LOBE + NEIGHBOURS / 2 <= end
            };
            let others = (1..2 * balls).filter(|order| *order != balls).map(multiple).filter(is_searched);
            let cage: Vec<_> = others.map(|line| self.measured(&line, &lines, recording.rate, &power[..end])).collect();
            let (count, all) = (outstanding(4, &cage).count(), cage.len());
            if count > 0 && 2 * count >= all {
                notes.push(format!(
                    "{count} of {all} multiples of FTF beside BPFO, which is {balls} times FTF, stand out: its lines may be \
                     those of the cage"
                ));
            }
        }
        Ok(notes)
    }
}

/// Multiples of a rate that stand out.
fn outstanding(rate: usize, lines: &[BearingLine]) -> impl Iterator<Item = &BearingLine> {
    lines.iter().filter(move |line| line.key.0 == rate && line.key.2 == 0 && line.stands_out)
}

/// Verdict on the lines of a rate, as a word and a sentence. Consistent with a fault are the first line, of BSF the second
/// too, and at least half of all.
fn verdict(rate: usize, lines: &[BearingLine]) -> [String; 2] {
    let own = lines.iter().filter(|line| line.key.0 == rate && line.key.2 == 0).count();
    let found: Vec<_> = outstanding(rate, lines).collect();
    let has_first = found.iter().any(|line| line.key.1 == 1 || RATES[rate] == "BSF" && line.key.1 == 2);
    let (word, phrase) = match found.len() {
        0 if lines.iter().all(|line| line.frequency_hz.is_nan()) => ("unknown", "no power, nothing known about"),
        0 => ("none", "no sign of"),
        count if has_first && 2 * count >= own => ("consistent", "consistent with"),
        _ => ("inconclusive", "inconclusive about"),
    };
    let (name, part, count) = (RATES[rate], PARTS[rate], found.len());
    [word.to_owned(), format!("{name}: {count} of {own} lines stand out: {phrase} a fault of the {part}")]
}

/// Lines and verdicts of all channels, as text and as rows of a page.
#[derive(Default)]
pub struct BearingReport {
    pub text: String,
    pub rows: Vec<HtmlRow>,
}

impl BearingReport {
    /// Adds the lines of a channel with a title, and notes on them, and returns them for JSON.
    pub fn add(&mut self, title: &str, lines: &[BearingLine], notes: &[String]) -> Value {
        let mut table = TextTable::default().columns(TITLES, Align::Right);
        for line in lines {
            let mut cells = [line.expected_hz, line.frequency_hz].map(|value| significant(value, 5)).to_vec();
            cells.push(fixed(line.height_db, 1));
            cells.extend([["no", "yes"][usize::from(line.stands_out)].to_owned(), line.nearer_to.clone()]);
            table.row([line.line.clone()].into_iter().chain(cells.clone()));
            self.rows.push(HtmlRow::new(&format!("{title}, {}", line.line), cells));
        }
        self.text += &format!("\n{}\n{}", printable(title), table.render());
        let verdicts = (1..RATES.len()).map(|rate| {
            let [word, text] = verdict(rate, lines);
            self.text += &format!("{text}\n");
            json!({ "rate": RATES[rate], "verdict": word, "text": text })
        });
        let verdicts: Vec<Value> = verdicts.collect();
        notes.iter().for_each(|note| self.text += &format!("note: {note}\n"));
        json!({ "lines": lines, "verdicts": verdicts, "notes": notes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: [f64; 5], expected: [f64; 5], tolerance: f64) {
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < tolerance, "{found} is not {expected}");
        }
    }

    #[test]
    fn rates_are_those_of_published_bearings() {
        // Shaft, outer race, inner race, spin and cage of the Bearing Data Center, which has twice the spin.
        close(rates(9, 0.3126, 1.537, 0.0).unwrap(), [1.0, 3.5848, 5.4152, 0.5 * 4.7135, 0.39828], 1e-4);
        close(rates(8, 0.2656, 1.122, 0.0).unwrap(), [1.0, 3.0530, 4.9469, 0.5 * 3.9874, 0.3817], 3e-4);
        // Half of the ratio of 0.2 at 60 degrees.
        close(rates(10, 0.2, 1.0, 60.0).unwrap(), [1.0, 4.5, 5.5, 2.475, 0.45], 1e-12);
        for (balls, ball, pitch, angle, name) in [
            (9, 2.0, 1.0, 0.0, "--ball-diameter 2"),
            (16, 0.2, 1.0, 0.0, "--balls 16"),
            (9, 0.2, 1.0, 90.0, "--angle is 90"),
        ] {
            assert!(rates(balls, ball, pitch, angle).unwrap_err().to_string().contains(name), "{name}");
        }
        assert!(rates(15, 0.2, 1.0, 0.0).is_ok());
    }

    const RECORDING: OpenRecording = OpenRecording { source: 0, channels: 1, rate: 6000.0, centre: None };

    fn test(threshold: f64) -> Bearing {
        let rates = rates(9, 0.3126, 1.537, 0.0).unwrap();
        Bearing { shaft: 29.5, rates, slip: 0.02, threshold, band: "..".parse().unwrap(), n_fft: 4096 }
    }

    #[test]
    fn noise_stands_out_as_often_as_in_a_simulation() {
        // Of power with a gamma distribution of shape 4 in independent bins, NumPy had 630 of 51,000 lines above 5 dB.
        let mut state = 1u64;
        let mut exponential = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            -(((state >> 40) + 1) as f64 / f64::from(1 << 24)).ln()
        };
        let mut found = 0;
        for _ in 0..300 {
            let power: Vec<f64> = (0..2049).map(|_| (0..4).map(|_| exponential()).sum()).collect();
            let lines = test(5.0).measure(RECORDING, &power).unwrap();
            assert_eq!(lines.len(), 17);
            found += lines.iter().filter(|line| line.stands_out).count();
        }
        // 63 are expected.
        assert!((38..90).contains(&found), "{found}");
    }

    #[test]
    fn a_line_counts_for_the_nearest_rate_and_not_beside_multiples_of_the_shaft() {
        // Bins of 1.46 Hz: 3× BPFO is at 317.25 Hz, and within 2 % of it 2× BPFI is at 319.5 Hz.
        let hertz_per_bin = 6000.0 / 4096.0;
        let spectrum = |lines: &[(f64, f64)]| {
            let mut power = vec![1.0; 2049];
            for (hertz, height) in lines {
                power[(hertz / hertz_per_bin).round() as usize] = *height;
            }
            test(10.0).measure(RECORDING, &power).unwrap()
        };
        let of = |lines: &[BearingLine], name: &str| lines.iter().find(|line| line.line == name).unwrap().clone();
        let lines = spectrum(&[(317.2, 1000.0)]);
        let [outer, inner] = ["3× BPFO", "2× BPFI"].map(|name| of(&lines, name));
        assert!(outer.stands_out && (outer.height_db - 30.0).abs() < 1e-9, "{outer:?}");
        assert!(!inner.stands_out && inner.nearer_to == "3× BPFO" && inner.height_db > 29.0, "{inner:?}");
        // 2× BPFI, 319.5 Hz, is 5 Hz from the eleventh multiple of the shaft's rate, 324.5 Hz.
        let inner = of(&spectrum(&[(324.0, 1000.0)]), "2× BPFI");
        assert!(!inner.stands_out && inner.frequency_hz.is_nan(), "{inner:?}");
        // A third sideband of BPFI, at 71.2 Hz, is none of the spin, 69.5 Hz.
        let spin = of(&spectrum(&[(70.3, 1000.0), (71.8, 900.0)]), "1× BSF");
        assert!(!spin.stands_out && spin.nearer_to == "1× BPFI -3× shaft", "{spin:?}");
    }

    #[test]
    fn a_wrong_speed_and_a_cage_are_noted() {
        let hertz_per_bin = 6000.0 / 4096.0;
        let [outer, cage] = [1, 4].map(|rate| rates(9, 0.3126, 1.537, 0.0).unwrap()[rate] * 29.5);
        let notes = |lines: &[f64]| {
            let mut power = vec![1.0; 2049];
            for hertz in lines {
                power[(hertz / hertz_per_bin).round() as usize] = 1000.0;
            }
            let found = test(10.0).measure(RECORDING, &power).unwrap();
            (verdict(1, &found)[0].clone(), test(10.0).notes(RECORDING, &power, &found).unwrap())
        };
        let multiples = |hertz: f64, orders: &[f64]| orders.iter().map(|order| order * hertz).collect::<Vec<_>>();
        let (word, none) = notes(&multiples(outer, &[1.0, 2.0, 3.0]));
        assert!(word == "consistent" && none.is_empty(), "{word} {none:?}");
        // Within the slip, and beyond it.
        let (word, slip) = notes(&multiples(1.01 * outer, &[1.0, 2.0]));
        assert!(word == "consistent" && slip.len() == 1 && slip[0].contains("slip, or a shaft at 29.8"), "{slip:?}");
        let (word, speed) = notes(&multiples(1.028 * outer, &[1.0, 2.0, 3.0]));
        let wanted = "lines of BPFO stand out more with a shaft at 30.";
        assert!(word != "consistent" && speed.len() == 1 && speed[0].starts_with(wanted), "{word} {speed:?}");
        // The ninth multiple of the cage's rate is BPFO.
        let orders = [1.0, 2.0, 3.0, 4.0, 6.0, 7.0, 8.0, 9.0, 11.0, 12.0, 13.0, 14.0, 18.0, 27.0];
        let (word, all) = notes(&multiples(cage, &orders));
        assert!(word == "consistent" && all.iter().any(|note| note.contains("multiples of FTF")), "{word} {all:?}");
    }

    #[test]
    fn verdicts_take_the_first_line_and_half_of_all() {
        let verdict_of = |name: &str, found: &[&str]| {
            let (lines, _) = test(10.0).lines(RECORDING).unwrap();
            let measured = |line: BearingLine| BearingLine { stands_out: found.contains(&&*line.line), ..line };
            let lines: Vec<_> = lines.into_iter().map(measured).collect();
            verdict(RATES.iter().position(|rate| *rate == name).unwrap(), &lines)
        };
        for (name, found, word) in [
            ("BPFO", &[][..], "none"),
            ("BPFO", &["1× BPFI", "2× BPFI"], "none"),
            ("BPFO", &["1× BPFO"], "inconclusive"),
            ("BPFO", &["2× BPFO", "3× BPFO"], "inconclusive"),
            ("BPFO", &["1× BPFO", "3× BPFO"], "consistent"),
            ("BPFI", &["1× BPFI", "1× BPFI +1× shaft"], "inconclusive"),
            ("BSF", &["2× BSF", "4× BSF"], "consistent"),
        ] {
            let [verdict, text] = verdict_of(name, found);
            assert_eq!(verdict, word, "{found:?}: {text}");
            assert!(text.starts_with(name) && text.contains("of 3 lines stand out"), "{text}");
        }
        // A silent channel says nothing.
        let lines = test(10.0).measure(RECORDING, &[0.0; 2049]).unwrap();
        assert_eq!(verdict(1, &lines)[0], "unknown");
    }
}
