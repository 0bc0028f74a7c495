//! The adaptive model: its rounds, and the frames that go on to the next one.

use burn::module::{Module, Param};
use burn::tensor::activation::sigmoid;
use burn::tensor::{Device, FloatDType, Int, Tensor};
use firefly_ops::{ArgumentError, Peaks, WelchOptions, WindowSymmetry, top_k, welch_psd};

use super::config::AdaptiveWelchPeaksConfig;
use crate::expect_valid;
use crate::rows::Leading;

/// Width of the soft decision of training, in units of doubt.
const TEMPERATURE: f64 = 0.05;
/// Initial doubt from which on a frame gets more segments.
const INITIAL_THRESHOLD: f64 = 0.5;
/// Initial sharpness: doubt per natural logarithm of power.
const INITIAL_SHARPNESS: f64 = 4.0;

/// Peaks, and the number of segments that each frame took.
#[derive(Debug, Clone)]
pub struct AdaptivePeaks<const D: usize> {
    /// Bins and power of the peaks, `[.., k]`, strongest first.
    pub peaks: Peaks<D>,
    /// Segments of each frame, `[.., 1]`; while the model trains, their expected number.
    pub segments: Tensor<D>,
}

/// Every round of an adaptive estimate.
#[derive(Debug, Clone)]
pub struct AdaptiveRounds<const D: usize> {
    /// Power of every bin after each round, `[.., bins]`.
    pub power: Vec<Tensor<D>>,
    /// Whether each frame stops after each round, `[.., rounds]`: 0 or 1, and probabilities while the model trains.
    pub stops: Tensor<D>,
}

/// Welch peaks that add segments to a frame until the order around rank K is settled.
///
/// A frame starts with the segments of the first round. Its *doubt* is the mean, over a few ranks on either side of the
/// boundary between ranks K and K + 1, of exp(−sharpness · |distance of log power from the boundary|): near 1 where
/// noise can exchange what is a peak and what is not, near 0 where it can't. While doubt is above the round's
/// threshold, the frame gets the segments of the next round.
///
/// [`forward`](Self::forward) computes the segments that are needed; [`forward_dense`](Self::forward_dense) computes
/// all of them and has the same results. While the model trains, its results are means over rounds, weighted by the
/// probability of stopping there, which is differentiable in thresholds and sharpness.
///
/// ```
/// use burn::tensor::{Device, Distribution, Tensor};
/// use firefly_models::AdaptiveWelchPeaksConfig;
///
/// let device = Device::flex();
/// let model = AdaptiveWelchPeaksConfig::new().with_n_fft(64).with_k(4).init(&device);
/// let frames = Tensor::<2>::random([20, model.options().frame()], Distribution::Default, &device);
/// let found = model.forward(frames.clone());
/// assert_eq!((found.peaks.bins.dims(), found.segments.dims()), ([20, 4], [20, 1]));
/// let segments: Vec<f32> = found.segments.into_data().iter().collect();
/// assert!(segments.iter().all(|segments| (3.0..=8.0).contains(segments)));
/// let dense = model.forward_dense(frames);
/// assert_eq!(dense.peaks.bins.into_data(), found.peaks.bins.into_data());
/// ```
#[derive(Module, Debug)]
pub struct AdaptiveWelchPeaks {
    /// Doubt above which a frame takes the segments of the next round, after each round but the last, `[rounds − 1]`.
    pub thresholds: Param<Tensor<1>>,
    /// Natural logarithm of the sharpness, `[1]`.
    pub log_sharpness: Param<Tensor<1>>,
    window: Tensor<1>,
    #[module(skip)]
    config: AdaptiveWelchPeaksConfig,
}

impl AdaptiveWelchPeaksConfig {
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

impl AdaptiveWelchPeaks {
    /// Peaks of each frame of `signal` `[.., frame]`. Reads the doubt of every frame back, once per round.
    ///
    /// # Panics
    /// With the message of [`try_forward`](Self::try_forward)'s error.
    #[track_caller]
    pub fn forward<const D: usize>(&self, signal: Tensor<D>) -> AdaptivePeaks<D> {
        expect_valid(self.try_forward(signal))
    }

    /// Peaks of each frame, as [`forward`](Self::forward).
    ///
    /// # Errors
    /// [`ArgumentError`] for no frames, or frames that are shorter than
    /// [`options().frame()`](WelchOptions::frame).
    pub fn try_forward<const D: usize>(&self, signal: Tensor<D>) -> Result<AdaptivePeaks<D>, ArgumentError> {
        self.check(&signal)?;
        let leading = Leading::of(signal.dims());
        let (power, segments) = self.settled(leading.flatten(signal))?;
        let peaks = top_k(leading.unflatten(power), self.config.k)?;
        Ok(AdaptivePeaks { peaks, segments: leading.unflatten(segments) })
    }

    /// Power of each row of `samples` `[rows, frame]` once it is settled, `[rows, bins]`, and the segments that it is
    /// averaged over, `[rows, 1]`.
    fn settled(&self, mut samples: Tensor<2>) -> Result<(Tensor<2>, Tensor<2>), ArgumentError> {
        let device = samples.device();
        let thresholds: Vec<f32> = self.thresholds.val().into_data().iter().collect();
        // Frames that are not settled: their numbers, samples and power so far.
        let mut open: Vec<i64> = (0..samples.dims()[0] as i64).collect();
        let mut power = None;
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
        let segments = Tensor::<1>::from_data(segments.as_slice(), &device).select(0, places.clone());
        Ok((Tensor::cat(spectra, 0).select(0, places), segments.unsqueeze_dim(1)))
    }

    /// Peaks of each frame, as [`forward`](Self::forward), from all segments of every frame. Nothing is read back.
    ///
    /// # Panics
    /// With the message of [`try_forward_dense`](Self::try_forward_dense)'s error.
    #[track_caller]
    pub fn forward_dense<const D: usize>(&self, signal: Tensor<D>) -> AdaptivePeaks<D> {
        expect_valid(self.try_forward_dense(signal))
    }

    /// Peaks of each frame, as [`forward_dense`](Self::forward_dense).
    ///
    /// # Errors
    /// As [`try_forward`](Self::try_forward).
    pub fn try_forward_dense<const D: usize>(&self, signal: Tensor<D>) -> Result<AdaptivePeaks<D>, ArgumentError> {
        let (power, segments) = self.try_psd(signal)?;
        Ok(AdaptivePeaks { peaks: top_k(power, self.config.k)?, segments })
    }

    /// Power of every bin of each frame of `signal` `[.., frame]`, `[.., bins]`, and the segments that it is averaged
    /// over, `[.., 1]`; while the model trains, their means over rounds.
    ///
    /// ```
    /// use burn::tensor::{Device, Distribution, Tensor};
    /// use firefly_models::AdaptiveWelchPeaksConfig;
    ///
    /// // A step of training: the error of log power, and a price per segment.
    /// let device = Device::flex().autodiff();
    /// let model = AdaptiveWelchPeaksConfig::new().with_n_fft(64).with_k(4).init(&device);
    /// let frames = Tensor::<2>::random([20, model.options().frame()], Distribution::Default, &device);
    /// let (power, segments) = model.psd(frames);
    /// assert_eq!((power.dims(), segments.dims()), ([20, 33], [20, 1]));
    /// let gradients = (power.log().square().mean() + segments.mean() * 0.1).backward();
    /// assert!(model.thresholds.val().grad(&gradients).is_some());
    /// ```
    ///
    /// # Panics
    /// With the message of [`try_psd`](Self::try_psd)'s error.
    #[track_caller]
    pub fn psd<const D: usize>(&self, signal: Tensor<D>) -> (Tensor<D>, Tensor<D>) {
        expect_valid(self.try_psd(signal))
    }

    /// Power of every bin and segments, as [`psd`](Self::psd).
    ///
    /// # Errors
    /// As [`try_forward`](Self::try_forward).
    pub fn try_psd<const D: usize>(&self, signal: Tensor<D>) -> Result<(Tensor<D>, Tensor<D>), ArgumentError> {
        let AdaptiveRounds { power, stops } = self.try_rounds(signal)?;
        let stop = |round: usize| stops.clone().narrow(D - 1, round, 1);
        let weighted = power.into_iter().enumerate().map(|(round, power)| power * stop(round));
        // A model has two rounds at least.
        let mean = weighted.reduce(|sum, power| sum + power).unwrap_or_else(|| stop(0));
        let counts: Vec<f32> = self.config.rounds.iter().map(|count| *count as f32).collect();
        let counts = Tensor::<1>::from_data(counts.as_slice(), &stops.device());
        Ok((mean, (stops * counts.unsqueeze()).sum_dim(D - 1)))
    }

    /// Every round of each frame of `signal` `[.., frame]`, for custom losses: the loss of a frame that stops after a
    /// round, times the probability that it does, is differentiable in thresholds and sharpness.
    ///
    /// ```
    /// use burn::tensor::{Device, Distribution, Tensor};
    /// use firefly_models::AdaptiveWelchPeaksConfig;
    ///
    /// let device = Device::flex();
    /// let config = AdaptiveWelchPeaksConfig::new().with_n_fft(64).with_k(4).with_rounds(vec![2, 4, 8]);
    /// let model = config.init(&device);
    /// let frames = Tensor::<2>::random([20, model.options().frame()], Distribution::Default, &device);
    /// let rounds = model.rounds(frames);
    /// assert_eq!((rounds.power.len(), rounds.power[0].dims()), (3, [20, 33]));
    /// // Each frame stops once.
    /// let stops: Vec<f32> = rounds.stops.sum_dim(1).into_data().iter().collect();
    /// assert_eq!(stops, [1.0; 20]);
    /// ```
    ///
    /// # Panics
    /// With the message of [`try_rounds`](Self::try_rounds)'s error.
    #[track_caller]
    pub fn rounds<const D: usize>(&self, signal: Tensor<D>) -> AdaptiveRounds<D> {
        expect_valid(self.try_rounds(signal))
    }

    /// Every round of each frame, as [`rounds`](Self::rounds).
    ///
    /// # Errors
    /// As [`try_forward`](Self::try_forward).
    pub fn try_rounds<const D: usize>(&self, signal: Tensor<D>) -> Result<AdaptiveRounds<D>, ArgumentError> {
        self.check(&signal)?;
        let trains = self.thresholds.val().is_require_grad();
        let last = self.config.rounds.len() - 1;
        let mut frames = signal.dims();
        frames[D - 1] = 1;
        let mut reached = Tensor::<D>::ones(frames, &signal.device());
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
        Ok(AdaptiveRounds { power, stops: Tensor::cat(stops, D - 1) })
    }

    /// Power averaged over the segments of `round`, from that of the round before.
    fn averaged<const D: usize>(
        &self,
        samples: Tensor<D>,
        before: Option<Tensor<D>>,
        round: usize,
    ) -> Result<Tensor<D>, ArgumentError> {
        let (options, rounds) = (self.options(), &self.config.rounds);
        let first = if round == 0 { 0 } else { rounds[round - 1] };
        let added = options.with_segments(rounds[round] - first);
        let samples = samples.narrow(D - 1, first * options.hop, added.frame());
        let power = welch_psd(samples, self.window.clone(), &added)?;
        let share = added.segments as f64 / rounds[round] as f64;
        Ok(match before {
            Some(before) => before * (1.0 - share) + power * share,
            None => power,
        })
    }

    /// Doubt of the order around rank K of spectra `power` `[.., bins]`: `[.., 1]`, from 0 to 1.
    fn doubt<const D: usize>(&self, power: Tensor<D>) -> Result<Tensor<D>, ArgumentError> {
        let AdaptiveWelchPeaksConfig { k, margin, .. } = self.config;
        let ranked = top_k(power, k + margin)?.power.narrow(D - 1, k - margin, 2 * margin);
        let log = ranked.clamp_min(f64::from(f32::MIN_POSITIVE)).log();
        let boundary = log.clone().narrow(D - 1, margin - 1, 2).mean_dim(D - 1);
        let sharpness = self.log_sharpness.val().cast(log.dtype()).exp().reshape([1; D]);
        Ok((-(log - boundary).abs() * sharpness).exp().mean_dim(D - 1))
    }

    fn threshold<const D: usize>(&self, round: usize) -> Tensor<D> {
        self.thresholds.val().narrow(0, round, 1).reshape([1; D])
    }

    fn check<const D: usize>(&self, signal: &Tensor<D>) -> Result<(), ArgumentError> {
        let (dims, frame) = (signal.dims(), self.options().frame());
        if Leading::of(dims).rows() == 0 || dims[D - 1] < frame {
            let expected = format!("at least one frame of at least {frame} samples");
            return Err(ArgumentError::new("AdaptiveWelchPeaks", "signal", format!("{dims:?}"), expected));
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
