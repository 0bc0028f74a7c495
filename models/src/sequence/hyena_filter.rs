//! Implicit filters of Hyena: taps as a function of their position.

use std::f64::consts::{LN_10, TAU};

use burn::module::{Module, Param};
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Device, Tensor, TensorData};

/// Least and greatest decay rate of a filter: to 1 % within 1.5 and within 0.3 times the whole length.
const DECAY: [f64; 2] = [2.0 * LN_10 / 1.5, 2.0 * LN_10 / 0.3];
/// Frequency of the first pair of sine and cosine, in periods per length.
const FIRST_FREQUENCY: f64 = 1e-4;

/// Network from the position of a tap to the taps of all filters, under windows that decay at different rates.
///
/// The position and its sines and cosines are the inputs of four linear layers, the last one without bias. Between them
/// are sines, whose frequencies are parameters.
///
/// ```
/// use burn::tensor::Device;
/// use firefly_models::HyenaFilter;
///
/// let filter = HyenaFilter::new(6, 4, 32, 1_000, &Device::flex());
/// assert_eq!(filter.forward(250).dims(), [6, 250]);
/// ```
#[derive(Module, Debug)]
pub struct HyenaFilter {
    /// The linear layers.
    pub layers: Vec<Linear>,
    /// Frequencies of the sines behind each layer but the last, `[hidden]`.
    pub sines: Vec<Param<Tensor<1>>>,
    #[module(skip)]
    shape: FilterShape,
}

/// Filters, frequencies of a position, and the length that positions are relative to.
#[derive(Debug, Clone, Copy)]
struct FilterShape {
    filters: usize,
    frequencies: usize,
    length: usize,
}

impl HyenaFilter {
    /// The untrained network of `filters`, for at most `length` taps.
    pub fn new(filters: usize, frequencies: usize, hidden: usize, length: usize, device: &Device) -> Self {
        let linear = |inputs, outputs| LinearConfig::new(inputs, outputs).init(device);
        let last = LinearConfig::new(hidden, filters).with_bias(false).init(device);
        Self {
            layers: vec![linear(1 + 2 * frequencies, hidden), linear(hidden, hidden), linear(hidden, hidden), last],
            sines: (0..3).map(|_| Param::from_tensor(Tensor::ones([hidden], device))).collect(),
            shape: FilterShape { filters, frequencies, length },
        }
    }

    /// The first `taps` taps of every filter, `[filters, taps]`.
    pub fn forward(&self, taps: usize) -> Tensor<2> {
        let device = self.sines[0].val().device();
        let table = |columns: usize, value: &dyn Fn(usize, usize) -> f64| {
            let values = (0..taps * columns).map(|index| value(index / columns, index % columns) as f32).collect();
            Tensor::<2>::from_data(TensorData::new(values, [taps, columns]), &device)
        };
        let mut hidden = table(1 + 2 * self.shape.frequencies, &|tap, column| self.shape.position(tap, column));
        let (last, inner) = self.layers.split_last().expect("there are four layers");
        for (layer, frequency) in inner.iter().zip(&self.sines) {
            hidden = (layer.forward(hidden) * frequency.val().unsqueeze()).sin();
        }
        let windows = table(self.shape.filters, &|tap, filter| self.shape.window(tap, filter));
        (last.forward(hidden) * windows).transpose()
    }
}

impl FilterShape {
    /// An input of the network: the position, then cosines, then sines with a negative sign.
    fn position(&self, tap: usize, column: usize) -> f64 {
        if column == 0 {
            return tap as f64 / (self.length - 1) as f64;
        }
        let pair = (column - 1) % self.frequencies;
        let spacing = (self.frequencies as f64 - 1.0 - FIRST_FREQUENCY) / (self.frequencies.max(2) - 1) as f64;
        let frequency = FIRST_FREQUENCY + pair as f64 * spacing;
        let angle = frequency * TAU * tap as f64 / self.length as f64;
        if column <= self.frequencies { angle.cos() } else { -angle.sin() }
    }

    fn window(&self, tap: usize, filter: usize) -> f64 {
        let [least, greatest] = DECAY;
        let share = filter as f64 / (self.filters.max(2) - 1) as f64;
        let rate = least + (greatest - least) * share;
        (-rate * tap as f64 / (self.length - 1) as f64).exp()
    }
}
