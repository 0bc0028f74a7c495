//! Welch peaks from as many segments as each frame needs.

use burn::config::Config;
use burn::module::{Module, Param};
use burn::tensor::activation::sigmoid;
use burn::tensor::{Device, FloatDType, Int, Tensor};
use firefly_framework::graph::{AnyTensor, Input};
use firefly_ops::{ArgumentError, Peaks, WelchOptions, Window, WindowSymmetry, top_k, welch_psd};

use crate::expect_valid;
use crate::welch_peaks::{FRAMES, validate};
use crate::zoo::{Family, FamilyCard, MACHINE, Measurement, Paper, Signature, Variant, exactly};

/// Width of the soft decision of training, in units of doubt.
const TEMPERATURE: f64 = 0.05;
/// Initial doubt from which on a frame gets more segments.
const INITIAL_THRESHOLD: f64 = 0.5;
/// Initial sharpness: doubt per natural logarithm of power.
const INITIAL_SHARPNESS: f64 = 4.0;

/// Configuration of [`AdaptiveWelchPeaks`].
///
/// ```
/// use firefly_models::AdaptiveWelchPeaksConfig;
///
/// let config = AdaptiveWelchPeaksConfig::new().with_rounds(vec![2, 4]);
/// assert_eq!(config.options().frame(), 256 + 3 * 128);
/// assert!(config.with_rounds(vec![4, 2]).validate().unwrap_err().to_string().contains("`rounds` is [4, 2]"));
/// ```
#[derive(Config, Debug, PartialEq)]
pub struct AdaptiveWelchPeaksConfig {
    /// Samples in a segment: a power of two from 8 to 65,536.
    #[config(default = 256)]
    pub n_fft: usize,
    /// Samples between the starts of consecutive segments; `n_fft / 2` if `None`.
    pub hop: Option<usize>,
    /// Segments averaged after each round, ascending; the last number is the most that a frame gets.
    #[config(default = "vec![3, 4, 5, 6, 7, 8]")]
    pub rounds: Vec<usize>,
    /// Peaks per frame.
    #[config(default = 16)]
    pub k: usize,
    /// Ranks on either side of the boundary between ranks K and K + 1 that doubt is averaged over.
    #[config(default = 4)]
    pub margin: usize,
    /// Shape of the window, periodic.
    #[config(default = "Window::Hann")]
    pub window: Window,
}

impl AdaptiveWelchPeaksConfig {
    /// Options of the Welch estimate over all segments.
    pub fn options(&self) -> WelchOptions {
        let most = self.rounds.last().copied().unwrap_or(0);
        WelchOptions::new(self.n_fft, most).with_hop(self.hop.unwrap_or(self.n_fft / 2))
    }

    /// Checks every field.
    ///
    /// # Errors
    /// [`ArgumentError`] naming the first field that is out of range.
    pub fn validate(&self) -> Result<(), ArgumentError> {
        const NAME: &str = "AdaptiveWelchPeaksConfig";
        let ascends = self.rounds.windows(2).all(|pair| pair[0] < pair[1]);
        if !(ascends && self.rounds.len() >= 2 && self.rounds[0] >= 1) {
            let got = format!("{:?}", self.rounds);
            return Err(ArgumentError::new(NAME, "rounds", got, "two or more ascending numbers from 1 on"));
        }
        validate(NAME, &self.options(), self.k)?;
        let most = self.k.min(self.options().bins() - self.k);
        if !(1..=most).contains(&self.margin) {
            let expected = format!("from 1 to {most}: that many ranks are on either side of K");
            return Err(ArgumentError::new(NAME, "margin", self.margin, expected));
        }
        self.window.validate(NAME, self.n_fft)
    }

    /// The module on `device`, with thresholds that are not trained.
    ///
    /// # Panics
    /// With the message of [`try_init`](Self::try_init)'s error.
    #[track_caller]
    pub fn init(&self, device: &Device) -> AdaptiveWelchPeaks {
        expect_valid(self.try_init(device))
    }

    /// The module on `device`, with thresholds that are not trained.
    ///
    /// # Errors
    /// [`ArgumentError`] naming the first field that is out of range.
    pub fn try_init(&self, device: &Device) -> Result<AdaptiveWelchPeaks, ArgumentError> {
        self.validate()?;
        Ok(AdaptiveWelchPeaks {
            thresholds: Param::from_tensor(Tensor::full([self.rounds.len() - 1], INITIAL_THRESHOLD, device)),
            log_sharpness: Param::from_tensor(Tensor::full([1], INITIAL_SHARPNESS.ln(), device)),
            window: self.window.tensor(self.n_fft, WindowSymmetry::Periodic, FloatDType::F32, device),
            config: self.clone(),
        })
    }
}

/// Peaks, and the segments that they were found with.
#[derive(Debug, Clone)]
pub struct AdaptivePeaks {
    /// Bins and power of the peaks, `[rows, k]`, strongest first.
    pub peaks: Peaks<2>,
    /// Segments of each frame, `[rows]`; while the model trains, their expected number.
    pub segments: Tensor<1>,
}

/// Every round of an adaptive estimate.
#[derive(Debug, Clone)]
pub struct AdaptiveRounds {
    /// Power of every bin after each round, `[rows, bins]`.
    pub power: Vec<Tensor<2>>,
    /// Whether each frame stops after each round, `[rows, rounds]`: 0 or 1, and probabilities while the model trains.
    pub stops: Tensor<2>,
}

/// Welch peaks that add segments to a frame until the order around rank K is settled.
///
/// A frame starts with the segments of the first round. Its *doubt* is the mean, over a few ranks on either side of the
/// boundary between ranks K and K + 1, of exp(−sharpness · |distance of log power from the boundary|): near 1 where
/// noise can exchange what is a peak and what is not, near 0 where it can't. While doubt is above the round's
/// threshold, the frame gets the segments of the next round.
///
/// [`forward`](Self::forward) computes the segments that are needed; [`forward_dense`](Self::forward_dense) computes
/// all of them and has the same results, and while the model trains a mean over rounds weighted by the probability of
/// stopping there, which thresholds and sharpness have gradients through.
///
/// ```
/// use burn::tensor::{Device, Distribution, Tensor};
/// use firefly_models::AdaptiveWelchPeaksConfig;
///
/// let device = Device::flex();
/// let model = AdaptiveWelchPeaksConfig::new().with_n_fft(64).with_k(4).init(&device);
/// let frames = Tensor::<2>::random([20, model.options().frame()], Distribution::Default, &device);
/// let found = model.forward(frames);
/// assert_eq!(found.peaks.bins.dims(), [20, 4]);
/// let segments: Vec<f32> = found.segments.into_data().iter().collect();
/// assert!(segments.iter().all(|segments| (3.0..=8.0).contains(segments)));
/// ```
#[derive(Module, Debug)]
pub struct AdaptiveWelchPeaks {
    /// Doubt above which a frame goes on after each round but the last, `[rounds − 1]`.
    pub thresholds: Param<Tensor<1>>,
    /// Natural logarithm of the sharpness, `[1]`.
    pub log_sharpness: Param<Tensor<1>>,
    window: Tensor<1>,
    #[module(skip)]
    config: AdaptiveWelchPeaksConfig,
}

impl AdaptiveWelchPeaks {
    /// Peaks of each frame of `signal` `[rows, frame]`. Reads the doubt of every frame back, once per round.
    ///
    /// # Panics
    /// With the message of [`try_forward`](Self::try_forward)'s error.
    #[track_caller]
    pub fn forward(&self, signal: Tensor<2>) -> AdaptivePeaks {
        expect_valid(self.try_forward(signal))
    }

    /// Peaks of each frame, as [`forward`](Self::forward).
    ///
    /// # Errors
    /// [`ArgumentError`] for frames that are shorter than [`options().frame()`](WelchOptions::frame).
    pub fn try_forward(&self, signal: Tensor<2>) -> Result<AdaptivePeaks, ArgumentError> {
        self.check(&signal)?;
        let device = signal.device();
        let thresholds: Vec<f32> = self.thresholds.val().into_data().iter().collect();
        // Frames that are not settled: their numbers, samples and power so far.
        let mut open: Vec<i64> = (0..signal.dims()[0] as i64).collect();
        let (mut samples, mut power) = (signal, None);
        // Frames in the order in which they are settled.
        let (mut settled, mut spectra, mut segments) = (Vec::new(), Vec::new(), Vec::new());
        for (round, &count) in self.config.rounds.iter().enumerate() {
            let averaged = self.averaged(samples.clone(), power.take(), round)?;
            let doubts: Vec<f32> = match thresholds.get(round) {
                Some(_) => self.doubt(averaged.clone())?.into_data().iter().collect(),
                None => vec![f32::NEG_INFINITY; open.len()],
            };
            let goes_on = |place: &i64| doubts[*place as usize] > thresholds.get(round).copied().unwrap_or(0.0);
            let (on, off): (Vec<i64>, Vec<i64>) = (0..open.len() as i64).partition(goes_on);
            let rows = |places: &[i64], values: &Tensor<2>| {
                values.clone().select(0, Tensor::<1, Int>::from_data(places, &device))
            };
            if !off.is_empty() {
                spectra.push(rows(&off, &averaged));
                segments.extend(off.iter().map(|_| count as f32));
                settled.extend(off.iter().map(|place| open[*place as usize]));
            }
            if on.is_empty() {
                break;
            }
            (samples, power) = (rows(&on, &samples), Some(rows(&on, &averaged)));
            open = on.iter().map(|place| open[*place as usize]).collect();
        }
        // Back to the order of the frames.
        let mut places = vec![0i64; settled.len()];
        settled.iter().zip(0..).for_each(|(frame, place)| places[*frame as usize] = place);
        let places = Tensor::<1, Int>::from_data(places.as_slice(), &device);
        let power = Tensor::cat(spectra, 0).select(0, places.clone());
        let segments = Tensor::<1>::from_data(segments.as_slice(), &device).select(0, places);
        Ok(AdaptivePeaks { peaks: top_k(power, self.config.k)?, segments })
    }

    /// Peaks of each frame, as [`forward`](Self::forward), from all segments of every frame. Nothing is read back.
    ///
    /// # Panics
    /// With the message of [`try_forward_dense`](Self::try_forward_dense)'s error.
    #[track_caller]
    pub fn forward_dense(&self, signal: Tensor<2>) -> AdaptivePeaks {
        expect_valid(self.try_forward_dense(signal))
    }

    /// Peaks of each frame, as [`forward_dense`](Self::forward_dense).
    ///
    /// # Errors
    /// As [`try_forward`](Self::try_forward).
    pub fn try_forward_dense(&self, signal: Tensor<2>) -> Result<AdaptivePeaks, ArgumentError> {
        let (power, segments) = self.psd(signal)?;
        Ok(AdaptivePeaks { peaks: top_k(power, self.config.k)?, segments: segments.squeeze_dim(1) })
    }

    /// Power of every bin of each frame of `signal` `[rows, frame]`, `[rows, bins]`, and the segments that it is
    /// averaged over, `[rows, 1]`; while the model trains, their means over rounds.
    ///
    /// # Errors
    /// As [`try_forward`](Self::try_forward).
    pub fn psd(&self, signal: Tensor<2>) -> Result<(Tensor<2>, Tensor<2>), ArgumentError> {
        let AdaptiveRounds { power, stops } = self.rounds(signal)?;
        let stop = |round: usize| stops.clone().narrow(1, round, 1);
        let weighted = power.into_iter().enumerate().map(|(round, power)| power * stop(round));
        // A model has two rounds at least.
        let mean = weighted.reduce(|sum, power| sum + power).unwrap_or_else(|| stop(0));
        let counts: Vec<f32> = self.config.rounds.iter().map(|count| *count as f32).collect();
        let counts = Tensor::<1>::from_data(counts.as_slice(), &stops.device());
        Ok((mean, (stops * counts.unsqueeze()).sum_dim(1)))
    }

    /// Every round of each frame of `signal` `[rows, frame]`, for losses of their own: what a frame loses if it stops
    /// after a round, times the probability that it does, is differentiable in thresholds and sharpness.
    ///
    /// # Errors
    /// As [`try_forward`](Self::try_forward).
    pub fn rounds(&self, signal: Tensor<2>) -> Result<AdaptiveRounds, ArgumentError> {
        self.check(&signal)?;
        let trains = self.thresholds.val().is_require_grad();
        let last = self.config.rounds.len() - 1;
        let mut reached = Tensor::<2>::ones([signal.dims()[0], 1], &signal.device());
        let (mut power, mut stops) = (Vec::with_capacity(last + 1), Vec::with_capacity(last + 1));
        for round in 0..=last {
            let averaged = self.averaged(signal.clone(), power.last().cloned(), round)?;
            if round < last {
                let excess = self.doubt(averaged.clone())? - self.threshold(round);
                let goes_on = if trains { sigmoid(excess / TEMPERATURE) } else { excess.greater_elem(0.0).float() };
                stops.push(reached.clone() * (-goes_on.clone() + 1.0));
                reached = reached * goes_on;
            }
            power.push(averaged);
        }
        stops.push(reached);
        Ok(AdaptiveRounds { power, stops: Tensor::cat(stops, 1) })
    }

    /// Power averaged over the segments of `round`, from that of the round before.
    fn averaged(
        &self,
        samples: Tensor<2>,
        before: Option<Tensor<2>>,
        round: usize,
    ) -> Result<Tensor<2>, ArgumentError> {
        let (options, rounds) = (self.options(), &self.config.rounds);
        let first = if round == 0 { 0 } else { rounds[round - 1] };
        let added = options.with_segments(rounds[round] - first);
        let samples = samples.narrow(1, first * options.hop, added.frame());
        let power = welch_psd(samples, self.window.clone(), &added)?;
        let share = added.segments as f64 / rounds[round] as f64;
        Ok(match before {
            Some(before) => before * (1.0 - share) + power * share,
            None => power,
        })
    }

    /// Doubt of the order around rank K of spectra `power` `[rows, bins]`: `[rows, 1]`, from 0 to 1.
    fn doubt(&self, power: Tensor<2>) -> Result<Tensor<2>, ArgumentError> {
        let AdaptiveWelchPeaksConfig { k, margin, .. } = self.config;
        let ranked = top_k(power, k + margin)?.power.narrow(1, k - margin, 2 * margin);
        let log = ranked.clamp_min(f64::from(f32::MIN_POSITIVE)).log();
        let boundary = log.clone().narrow(1, margin - 1, 2).mean_dim(1);
        let sharpness = self.log_sharpness.val().exp().reshape([1, 1]);
        Ok((-(log - boundary).abs() * sharpness).exp().mean_dim(1))
    }

    fn threshold(&self, round: usize) -> Tensor<2> {
        self.thresholds.val().narrow(0, round, 1).reshape([1, 1])
    }

    fn check(&self, signal: &Tensor<2>) -> Result<(), ArgumentError> {
        let ([rows, length], frame) = (signal.dims(), self.options().frame());
        if rows == 0 || length < frame {
            let expected = format!("at least one frame of at least {frame} samples");
            return Err(ArgumentError::new("AdaptiveWelchPeaks", "signal", format!("[{rows}, {length}]"), expected));
        }
        Ok(())
    }

    /// Options of the Welch estimate over all segments.
    pub fn options(&self) -> WelchOptions {
        self.config.options()
    }

    /// Configuration of the model.
    pub fn config(&self) -> &AdaptiveWelchPeaksConfig {
        &self.config
    }
}

impl Family for AdaptiveWelchPeaks {
    type Config = AdaptiveWelchPeaksConfig;

    const CARD: FamilyCard = FamilyCard {
        name: "adaptive_welch_peaks",
        summary: "Welch peaks that add segments to a frame until the order around rank K is settled.",
        paper: Some(Paper {
            authors: "Welch 1967",
            title: "The use of fast Fourier transform for the estimation of power spectra",
            url: "https://doi.org/10.1109/TAU.1967.1161901",
        }),
        inputs: FRAMES,
        outputs: &[
            Signature { name: "bins", shape: "[batch, k], integers", meaning: "bins of the peaks, strongest first" },
            Signature { name: "power", shape: "[batch, k]", meaning: "their power, in the signal's unit squared" },
            Signature { name: "segments", shape: "[batch]", meaning: "segments that each frame was given" },
        ],
        results: &[Measurement {
            model: "adaptive_welch_peaks_bearing",
            what: "share of the 16 strongest bins of eight segments, bearings under load 3, price and rounds chosen on \
                   the same data (five segments: 0.921)",
            value: "0.9453 with 5.27 segments on average",
            command: "FIREFLY_DATA=… cargo run --release -p firefly-models --example adaptive_bearing",
            machine: MACHINE,
        }],
    };

    fn variants() -> Vec<Variant<AdaptiveWelchPeaksConfig>> {
        let config = AdaptiveWelchPeaksConfig::new();
        let tiny = config.clone().with_n_fft(32).with_k(3).with_margin(2).with_rounds(vec![1, 2, 4]);
        vec![
            Variant::new("adaptive_welch_peaks", "3 to 8 segments of 256 samples", config.clone()),
            Variant::new("adaptive_welch_peaks_bearing", "trained on bearing vibrations under loads 0 to 2", config)
                .with_weights(include_bytes!("../weights/adaptive_welch_peaks_bearing.safetensors")),
            Variant::new("adaptive_welch_peaks_tiny", "1, 2 or 4 segments of 32 samples", tiny),
        ]
    }

    fn from_config(config: &AdaptiveWelchPeaksConfig, device: &Device) -> Result<Self, ArgumentError> {
        config.try_init(device)
    }

    fn config(&self) -> AdaptiveWelchPeaksConfig {
        self.config.clone()
    }

    fn inputs(&self, batch: usize) -> Vec<Input> {
        vec![Input::new("signal", [batch, self.options().frame()])]
    }

    /// Peaks from all segments, so that the model can be captured.
    fn apply(&self, inputs: Vec<AnyTensor>) -> Result<Vec<AnyTensor>, ArgumentError> {
        const NAME: &str = "AdaptiveWelchPeaks";
        let [signal] = exactly(NAME, inputs)?;
        let AdaptivePeaks { peaks, segments } = self.try_forward_dense(signal.try_float::<2>(NAME, "signal")?)?;
        Ok(vec![peaks.bins.into(), peaks.power.into(), segments.into()])
    }
}
