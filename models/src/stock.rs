//! Welch peaks from Burn's stock operations: what one writes without Firefly.

use burn::signal::rfft;
use burn::tensor::{Device, FloatDType, Int, Tensor};
use firefly_ops::{ArgumentError, Detrend, Peaks, Scaling, WelchOptions};

use crate::welch_peaks::WelchPeaksConfig;

/// The ways in which the model is written. All compute the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Spelling {
    /// A loop over segments, each sliced, transformed and added to the others' power.
    Loop,
    /// All segments at once, as windows of the signal.
    Unfold,
    /// Segments that follow each other by reshaping, once from the start and once from half a segment on.
    Reshape,
    /// The signal as blocks of half a segment, each joined with the next.
    Blocks,
}

impl Spelling {
    /// Every spelling.
    pub const ALL: [Self; 4] = [Self::Loop, Self::Unfold, Self::Reshape, Self::Blocks];

    /// The name users type.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Loop => "loop",
            Self::Unfold => "unfold",
            Self::Reshape => "reshape",
            Self::Blocks => "blocks",
        }
    }
}

/// Exact Welch peaks, written with Burn's own operations: window, `rfft`, power, mean over segments, top K.
///
/// The model that [`WelchPeaks`](crate::WelchPeaks) replaces: to compare with, and to be recognised in a captured graph.
/// Burn leaves the order of equal peaks open, and rows with non-finite samples have no contract here.
#[derive(Debug, Clone)]
pub struct StockWelchPeaks {
    spelling: Spelling,
    options: WelchOptions,
    k: usize,
    window: Tensor<1>,
    /// 2 at interior bins, 1 at DC and Nyquist.
    sides: Tensor<1>,
}

impl StockWelchPeaks {
    /// The model of a configuration, in a spelling.
    ///
    /// # Errors
    /// [`ArgumentError`] for a configuration that is out of range, has another scaling than `power` or detrends, or whose
    /// segments don't overlap by half where the spelling takes that for granted.
    pub fn new(config: &WelchPeaksConfig, spelling: Spelling, device: &Device) -> Result<Self, ArgumentError> {
        const NAME: &str = "StockWelchPeaks";
        config.validate()?;
        let options = config.options();
        let refuse = |argument, got: String, expected: &str| Err(ArgumentError::new(NAME, argument, got, expected));
        if options.scaling != Scaling::Power {
            return refuse("scaling", options.scaling.to_string(), "power");
        }
        if options.detrend != Detrend::None {
            return refuse("detrend", options.detrend.to_string(), "none");
        }
        let halves = matches!(spelling, Spelling::Reshape | Spelling::Blocks);
        if halves && options.hop * 2 != options.n_fft {
            return refuse("hop", options.hop.to_string(), "half of `n_fft` in this spelling");
        }
        let sides: Vec<f32> =
            (0..options.bins()).map(|bin| if bin % (options.n_fft / 2) == 0 { 1.0 } else { 2.0 }).collect();
        Ok(Self {
            spelling,
            options,
            k: config.k,
            window: config.window.tensor(options.n_fft, config.symmetry, FloatDType::F32, device),
            sides: Tensor::from_data(sides.as_slice(), device),
        })
    }

    /// Peaks of each row of `signal` `[batch, frame]`: bins and power `[batch, k]`.
    ///
    /// # Panics
    /// As Burn's operations do, if the frames are too short or on another device.
    pub fn forward(&self, signal: Tensor<2>) -> Peaks {
        let (bins, power) = match self.spelling {
            Spelling::Loop => self.by_loop(signal),
            Spelling::Unfold => self.by_unfolding(signal),
            Spelling::Reshape => self.by_reshaping(signal),
            Spelling::Blocks => self.by_blocks(signal),
        };
        Peaks { bins, power }
    }

    fn by_loop(&self, signal: Tensor<2>) -> (Tensor<2, Int>, Tensor<2>) {
        let WelchOptions { n_fft, hop, segments, .. } = self.options;
        let power = |segment: usize| {
            let samples = signal.clone().narrow(1, segment * hop, n_fft);
            let (re, im) = rfft(samples * self.window.clone().unsqueeze(), 1, None);
            re.powi_scalar(2) + im.powi_scalar(2)
        };
        let total = (1..segments).fold(power(0), |total, segment| total + power(segment));
        let power = total / segments as f64 * self.sides.clone().unsqueeze();
        let (power, bins) = power.topk_with_indices(self.k, 1);
        (bins, power)
    }

    fn by_unfolding(&self, signal: Tensor<2>) -> (Tensor<2, Int>, Tensor<2>) {
        let WelchOptions { n_fft, hop, .. } = self.options;
        let [rows, _] = signal.dims();
        let segments: Tensor<3> = signal.narrow(1, 0, self.options.frame()).unfold(1, n_fft, hop);
        let (re, im) = rfft(segments * self.window.clone().unsqueeze(), 2, Some(n_fft));
        let power = re.clone() * re + im.clone() * im;
        let power = power.mean_dim(1).squeeze_dim::<2>(1);
        let interior = [0..rows, 1..n_fft / 2];
        let doubled = power.clone().slice(interior.clone()) * 2.0;
        let power = power.slice_assign(interior, doubled);
        let (power, bins) = power.sort_descending_with_indices(1);
        (bins.narrow(1, 0, self.k), power.narrow(1, 0, self.k))
    }

    fn by_reshaping(&self, signal: Tensor<2>) -> (Tensor<2, Int>, Tensor<2>) {
        let WelchOptions { n_fft, hop, segments, .. } = self.options;
        let [rows, _] = signal.dims();
        let following =
            |start: usize, count: usize| signal.clone().narrow(1, start, count * n_fft).reshape([rows, count, n_fft]);
        let mut parts = vec![following(0, segments.div_ceil(2))];
        if segments > 1 {
            parts.push(following(hop, segments / 2));
        }
        self.tail(Tensor::cat(parts, 1))
    }

    fn by_blocks(&self, signal: Tensor<2>) -> (Tensor<2, Int>, Tensor<2>) {
        let WelchOptions { hop, segments, .. } = self.options;
        let [rows, _] = signal.dims();
        let blocks = signal.narrow(1, 0, (segments + 1) * hop).reshape([rows, segments + 1, hop]);
        let halves = vec![blocks.clone().narrow(1, 0, segments), blocks.narrow(1, 1, segments)];
        self.tail(Tensor::cat(halves, 2))
    }

    /// From segments `[rows, segments, n_fft]` to peaks, as one row of segments, interior bins doubled in pieces.
    fn tail(&self, segments: Tensor<3>) -> (Tensor<2, Int>, Tensor<2>) {
        let [rows, count, n_fft] = segments.dims();
        let half = n_fft / 2;
        let (re, im) = rfft(segments.reshape([rows * count, n_fft]) * self.window.clone().unsqueeze(), 1, None);
        let power = (re.powf_scalar(2.0) + im.powf_scalar(2.0)).reshape([rows, count, half + 1]);
        let power: Tensor<2> = power.sum_dim(1).squeeze_dim(1) / count as f64;
        let ends = [power.clone().narrow(1, 0, 1), power.clone().narrow(1, half, 1)];
        let [first, last] = ends;
        let power = Tensor::cat(vec![first, power.narrow(1, 1, half - 1) * 2.0, last], 1);
        let (power, bins) = power.topk_with_indices(self.k, 1);
        (bins, power)
    }
}
