//! Products of butterfly matrices and permutations, which learn fast transforms.

use burn::tensor::activation::sigmoid;
use burn::tensor::s;
use serde::{Deserialize, Serialize};

use crate::prelude::*;
use crate::rows::Leading;

/// Largest number of products of a butterfly matrix and a permutation.
const MAX_PRODUCTS: usize = 8;

/// Permutation before each butterfly matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PermutationKind {
    /// Learned: a relaxed permutation.
    #[default]
    Relaxed,
    /// Fixed: the bit reversal of a radix-2 transform decimated in time.
    BitReversal,
    /// None.
    Identity,
}

config! {
    /// Configuration of [`Butterfly`].
    ///
    /// ```
    /// use firefly_models::ButterflyConfig;
    ///
    /// let config = ButterflyConfig::new().with_n(16).with_products(2); // (BP)²
    /// assert!(config.validate().is_ok());
    /// assert!(config.with_n(12).validate().unwrap_err().to_string().contains("`n` is 12"));
    /// ```
    ButterflyConfig;
    /// Values per row: a power of two from 4 to 65,536.
    n: usize = 64;
    /// Products of a butterfly matrix and a permutation: 1 for BP, 2 for (BP)²; at most 8.
    products: usize = 1;
    /// Whether the matrices are complex.
    complex: bool = true;
    /// Whether the blocks of a butterfly factor are equal, as those of recursive transforms are: 4n values per matrix
    /// in place of 2n·log2 n.
    tied: bool = true;
    /// Permutation before each butterfly matrix.
    permutation: PermutationKind = "PermutationKind::Relaxed";
    /// Whether the steps of a relaxed permutation have the same probabilities for blocks of every length.
    shared_steps: bool = false;
    /// Whether three more steps on whole rows come before each relaxed permutation: BPP in place of BP, which holds
    /// cosine and sine transforms.
    extra_steps: bool = false;
}

impl ButterflyConfig {
    fn check_fields(&self) -> Result<()> {
        const NAME: &str = "ButterflyConfig";
        let is_length = self.n.is_power_of_two() && (4..=65_536).contains(&self.n);
        ensure(is_length, NAME, "n", self.n, "a power of two from 4 to 65536")?;
        let are_products = (1..=MAX_PRODUCTS).contains(&self.products);
        ensure(are_products, NAME, "products", self.products, format_args!("from 1 to {MAX_PRODUCTS}"))?;
        let is_relaxed = self.permutation == PermutationKind::Relaxed;
        for (field, value) in [("shared_steps", self.shared_steps), ("extra_steps", self.extra_steps)] {
            ensure(is_relaxed || !value, NAME, field, value, "false unless `permutation` is relaxed")?;
        }
        Ok(())
    }
}

/// Logit of a step with probability 1 (its sigmoid is 1 in f32); its negative is that of a step with probability 0.
const CERTAIN: f32 = 50.0;

/// Product of permutations of blocks, each applied with a probability, after Dao et al. 2019, section 3.2.
///
/// Blocks of n, n/2, … 4 values go through three steps: values at even places before those at odd ones, the first half
/// reversed, the second half reversed. A step with probability p returns p · permuted + (1 − p) · unpermuted values,
/// with one p per step and length of the blocks, or one per step. Three more steps on whole rows may come first.
#[derive(Module, Debug)]
pub struct RelaxedPermutation {
    /// Logits of the steps' probabilities, `[log2 n − 1, 3]`, longest blocks first, or `[1, 3]` if blocks of every
    /// length share them; none if the permutation is fixed.
    pub logits: Option<Param<Tensor<2>>>,
    /// Logits of the steps on whole rows that come first, `[1, 3]`, if there are any.
    pub extra: Option<Param<Tensor<2>>>,
    #[module(skip)]
    kind: PermutationKind,
}

impl RelaxedPermutation {
    /// The permutation of a configuration, whose logits are drawn from a normal distribution of variance 1.
    pub(super) fn new(config: &ButterflyConfig, device: &Device) -> Self {
        let levels = if config.shared_steps { 1 } else { config.n.trailing_zeros() as usize - 1 };
        let drawn = |levels| Initializer::Normal { mean: 0.0, std: 1.0 }.init([levels, 3], device);
        let kind = config.permutation;
        Self {
            logits: (kind == PermutationKind::Relaxed).then(|| drawn(levels)),
            extra: config.extra_steps.then(|| drawn(1)),
            kind,
        }
    }

    /// `rows` `[.., n]`, permuted.
    ///
    /// ```
    /// use burn::tensor::{Device, Int, Tensor};
    /// use firefly_models::butterfly::PermutationKind;
    /// use firefly_models::ButterflyConfig;
    ///
    /// let device = Device::flex();
    /// let config = ButterflyConfig::new().with_n(8).with_permutation(PermutationKind::BitReversal);
    /// let row = Tensor::<1, Int>::arange(0..8, &device).float();
    /// let permuted = config.init(&device).permutation(0).forward(row);
    /// assert_eq!(permuted.into_data().iter::<f32>().collect::<Vec<_>>(), [0.0, 4.0, 2.0, 6.0, 1.0, 5.0, 3.0, 7.0]);
    /// ```
    pub fn forward<const D: usize>(&self, rows: Tensor<D>) -> Tensor<D> {
        let levels = rows.dims()[D - 1].trailing_zeros() as usize - 1;
        let rows = match &self.extra {
            Some(logits) => relaxed_at_level(rows, 0, &sigmoid(logits.val())),
            None => rows,
        };
        match (&self.logits, self.kind) {
            (Some(logits), _) => {
                let probabilities = sigmoid(logits.val());
                (0..levels).fold(rows, |rows, level| relaxed_at_level(rows, level, &probabilities))
            }
            (None, PermutationKind::BitReversal) => {
                (0..levels).fold(rows, |rows, level| at_level(rows, level, even_before_odd))
            }
            (None, _) => rows,
        }
    }

    /// The permutation whose steps are those that are more likely than not.
    pub fn rounded(self) -> Self {
        let round = |logits: Param<Tensor<2>>| {
            logits.map(|logits| {
                let taken = logits.detach().greater_equal_elem(0.0).float();
                (taken * (2.0 * CERTAIN) - CERTAIN).detach()
            })
        };
        Self { logits: self.logits.map(round), extra: self.extra.map(round), ..self }
    }
}

/// `change` applied to the blocks of n/2^level values of each row.
fn at_level<const D: usize>(rows: Tensor<D>, level: usize, change: impl Fn(Tensor<2>) -> Tensor<2>) -> Tensor<D> {
    let dims = rows.dims();
    change(rows.reshape([Leading::of(dims).rows() << level, dims[D - 1] >> level])).reshape(dims)
}

/// The three steps on the blocks of n/2^level values of each row, with the probabilities `[levels, 3]` of that level,
/// or with the only ones.
fn relaxed_at_level<const D: usize>(rows: Tensor<D>, level: usize, probabilities: &Tensor<2>) -> Tensor<D> {
    let of_level = level.min(probabilities.dims()[0] - 1);
    let probability = |step| probabilities.clone().slice([of_level..of_level + 1, step..step + 1]);
    at_level(rows, level, |blocks| relaxed(blocks, [0, 1, 2].map(probability)))
}

/// The three steps on blocks `[blocks, length]`, with probabilities `[1, 1]`.
fn relaxed(blocks: Tensor<2>, [separate, first, second]: [Tensor<2>; 3]) -> Tensor<2> {
    let half = blocks.dims()[1] / 2;
    let blocks = mixed(even_before_odd(blocks.clone()), blocks, separate);
    let reversed = |start, probability| {
        let part = blocks.clone().narrow(1, start, half);
        // A slice and no flip, which Burn's remote devices take for one of integers.
        mixed(part.clone().slice_dim(1, s![..;-1]), part, probability)
    };
    Tensor::cat(vec![reversed(0, first), reversed(half, second)], 1)
}

/// Values at even places, then those at odd ones, of blocks `[blocks, length]`.
fn even_before_odd(blocks: Tensor<2>) -> Tensor<2> {
    let [count, length] = blocks.dims();
    let pairs: Tensor<3> = blocks.reshape([count, length / 2, 2]);
    pairs.swap_dims(1, 2).reshape([count, length])
}

/// The mean of permuted and unpermuted values, weighted by the probability; exact for probabilities 0 and 1.
fn mixed(taken: Tensor<2>, not_taken: Tensor<2>, probability: Tensor<2>) -> Tensor<2> {
    taken * probability.clone() + not_taken * (-probability + 1.0)
}

/// Butterfly factor: a matrix of blocks of 2h values, each of which combines the values h apart by a 2 × 2 matrix.
#[derive(Module, Debug)]
pub struct ButterflyFactor {
    /// Real parts of the 2 × 2 matrices, `[blocks, 2, 2, h]`: block, output, input, place in the half; one block if all
    /// are equal.
    pub re: Param<Tensor<4>>,
    /// Imaginary parts, of a complex factor.
    pub im: Option<Param<Tensor<4>>>,
}

impl ButterflyFactor {
    /// A factor with blocks of `2 * half` values for rows of `n`, random and near-unitary: E BᴴB = I.
    fn new(config: &ButterflyConfig, half: usize, device: &Device) -> Self {
        let blocks = if config.tied { 1 } else { config.n / (2 * half) };
        // Two entries per column have a squared magnitude of 1/2 each.
        let variance: f64 = if config.complex { 0.25 } else { 0.5 };
        let drawn = || Initializer::Normal { mean: 0.0, std: variance.sqrt() }.init([blocks, 2, 2, half], device);
        Self { re: drawn(), im: config.complex.then(drawn) }
    }

    /// The product of the factor with each row of `rows` `[.., n]`.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use firefly_models::ButterflyConfig;
    ///
    /// let device = Device::flex();
    /// let model = ButterflyConfig::new().with_n(8).init(&device);
    /// let factor = &model.factors(0)[1]; // combines values two apart
    /// assert_eq!(factor.re.dims(), [1, 2, 2, 2]);
    /// assert_eq!(factor.forward(Tensor::<3>::ones([4, 3, 8], &device).into()).dims(), [4, 3, 8]);
    /// ```
    pub fn forward<const D: usize>(&self, rows: ComplexTensor<D>) -> ComplexTensor<D> {
        let [blocks, _, _, half] = self.re.dims();
        let dims = rows.dims();
        let (count, n) = (Leading::of(dims).rows(), dims[D - 1]);
        let halves = rows.map(|part| part.reshape([count, n / (2 * half), 2, half]));
        // Column `input` of every 2 × 2 matrix, times the half of the block that it multiplies.
        let product = |input: usize| {
            let values = halves.clone().map(|part| part.narrow(2, input, 1));
            let column = |entries: &Param<Tensor<4>>| {
                let column: Tensor<4> = entries.val().narrow(2, input, 1).reshape([1, blocks, 2, half]);
                column
            };
            match &self.im {
                Some(im) => values * ComplexTensor::new(column(&self.re), column(im)),
                None => values.scale(column(&self.re)),
            }
        };
        (product(0) + product(1)).map(|part| part.reshape(dims))
    }
}

/// Butterfly matrix after a permutation, BP.
#[derive(Module, Debug)]
struct ButterflyProduct {
    permutation: RelaxedPermutation,
    /// Factors, those of the shortest blocks first.
    factors: Vec<ButterflyFactor>,
}

/// Learned fast transform: a product of butterfly matrices and relaxed permutations, (BP)ᵏ.
///
/// A butterfly matrix B is a product of log2 n factors with blocks of 2, 4, … n values, as the steps of a radix-2
/// transform are: a row is multiplied in O(n log n). BP holds the Fourier and Hadamard transforms, and in its real part
/// the Hartley transform; BPP, with three more steps before the permutation, in its real part cosine and sine
/// transforms; (BP)² convolutions.
///
/// After T. Dao, A. Gu, M. Eichhorn, A. Rudra and C. Ré, "Learning fast algorithms for linear transforms using
/// butterfly factorizations" (2019). Entries are drawn so that a factor is unitary in expectation.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_models::ButterflyConfig;
/// use firefly_ops::fft::ComplexTensor;
///
/// let device = Device::flex();
/// let model = ButterflyConfig::new().with_n(8).init(&device);
/// let rows = Tensor::<2>::ones([3, 8], &device);
/// assert_eq!(model.forward(ComplexTensor::from(rows)).dims(), [3, 8]);
/// assert_eq!(model.matrix().dims(), [8, 8]);
/// ```
#[derive(Module, Debug)]
pub struct Butterfly {
    /// BP, in the order in which a row is multiplied.
    products: Vec<ButterflyProduct>,
    #[module(skip)]
    config: ButterflyConfig,
}

configured! { Butterfly by ButterflyConfig }

impl Butterfly {
    fn new(config: &ButterflyConfig, device: &Device) -> Result<Self> {
        let stages = config.n.trailing_zeros();
        let product = |_| ButterflyProduct {
            permutation: RelaxedPermutation::new(config, device),
            factors: (0..stages).map(|stage| ButterflyFactor::new(config, 1 << stage, device)).collect(),
        };
        Ok(Self { products: (0..config.products).map(product).collect(), config: config.clone() })
    }

    or_panic! { forward<const D> = try_forward(rows: ComplexTensor<D>) -> ComplexTensor<D> }

    /// The transform of each row of `rows` `[.., n]`, of the same shape.
    ///
    /// # Errors
    /// [`ArgumentError`] for rows of another length, or parts of different shapes.
    pub fn try_forward<const D: usize>(&self, rows: ComplexTensor<D>) -> Result<ComplexTensor<D>> {
        const NAME: &str = "Butterfly";
        let (dims, n) = (rows.dims(), self.config.n);
        ensure(dims[D - 1] == n, NAME, "rows", format_args!("{} values per row", dims[D - 1]), n)?;
        let im = rows.im.dims();
        ensure(im == dims, NAME, "rows.im", format_args!("{im:?}"), format_args!("{dims:?}, as the real part"))?;
        let leading = Leading::of(dims);
        let count = leading.rows();
        let rows = rows.map(|part| leading.flatten(part));
        let rows = self.products.iter().fold(rows, |rows, ButterflyProduct { permutation, factors }| {
            // A permutation is real: both parts are rows of one call.
            let parts = permutation.forward(Tensor::stack::<3>(vec![rows.re, rows.im], 0));
            let part = |part| parts.clone().narrow(0, part, 1).reshape([count, n]);
            let rows = ComplexTensor::new(part(0), part(1));
            factors.iter().fold(rows, |rows, factor| factor.forward(rows))
        });
        Ok(rows.map(|part| leading.unflatten(part)))
    }

    /// The matrix of the transform, `[n, n]`: its column j is the transform of the unit vector j.
    pub fn matrix(&self) -> ComplexTensor<2> {
        let device = self.products[0].factors[0].re.val().device();
        self.forward(ComplexTensor::from(Tensor::eye(self.config.n, &device))).map(Tensor::transpose)
    }

    /// The model with every permutation rounded to its most likely steps, with which the factors are trained further.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use firefly_models::ButterflyConfig;
    ///
    /// // Each logit is that of a step that is taken for certain, or not.
    /// let model = ButterflyConfig::new().with_n(8).init(&Device::flex()).rounded();
    /// let logits = model.permutation(0).logits.as_ref().map(|logits| logits.val().abs().min().into_scalar::<f32>());
    /// assert_eq!(logits, Some(50.0));
    /// ```
    pub fn rounded(mut self) -> Self {
        for product in &mut self.products {
            product.permutation = product.permutation.clone().rounded();
        }
        self
    }

    /// Factors of the `product`th butterfly matrix, those of the shortest blocks first.
    pub fn factors(&self, product: usize) -> &[ButterflyFactor] {
        &self.products[product].factors
    }

    /// Factors of the `product`th butterfly matrix, to be set.
    pub fn factors_mut(&mut self, product: usize) -> &mut [ButterflyFactor] {
        &mut self.products[product].factors
    }

    /// Permutation before the `product`th butterfly matrix.
    pub fn permutation(&self, product: usize) -> &RelaxedPermutation {
        &self.products[product].permutation
    }

    /// Permutation before the `product`th butterfly matrix, to be set.
    pub fn permutation_mut(&mut self, product: usize) -> &mut RelaxedPermutation {
        &mut self.products[product].permutation
    }
}

impl Family for Butterfly {
    configured_by! { ButterflyConfig, "butterfly" }

    fn variants() -> Vec<Variant<ButterflyConfig>> {
        let config = ButterflyConfig::new();
        let squared = config.clone().with_products(2);
        let [dft_8, dft_16] = [8, 16].map(|n| config.clone().with_n(n));
        vec![
            Variant::new("butterfly", "BP for rows of 64 values, complex", config.clone()),
            Variant::new("butterfly_squared", "(BP)² for rows of 64 values, complex", squared),
            Variant::new("butterfly_real", "BP for rows of 64 values, real", config.clone().with_complex(false)),
            Variant::new("butterfly_dft_8", "the unitary Fourier transform of 8 points, learned", dft_8)
                .with_weights(include_bytes!("../weights/butterfly_dft_8.safetensors")),
            Variant::new("butterfly_dft_16", "the unitary Fourier transform of 16 points, learned", dft_16)
                .with_weights(include_bytes!("../weights/butterfly_dft_16.safetensors")),
            Variant::new("butterfly_tiny", "BP for rows of 8 values, complex", config.with_n(8)),
        ]
    }

    fn inputs(&self, batch: usize) -> Vec<Input> {
        ["re", "im"].map(|part| Input::new(part, [batch, Butterfly::config(self).n])).to_vec()
    }

    fn apply(&self, inputs: Vec<AnyTensor>) -> Result<Vec<AnyTensor>> {
        const NAME: &str = "Butterfly";
        let [re, im] = exactly(NAME, inputs)?;
        let (re, im) = (re.try_float::<2>(NAME, "re")?, im.try_float::<2>(NAME, "im")?);
        let rows = self.try_forward(ComplexTensor::new(re, im))?;
        Ok(vec![rows.re.into(), rows.im.into()])
    }
}
