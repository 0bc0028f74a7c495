//! Butterfly matrices and their products.

use burn::module::{Module, Param};
use burn::nn::Initializer;
use burn::tensor::{Device, Tensor};
use firefly_ops::ArgumentError;
use firefly_ops::fft::ComplexTensor;

use super::config::ButterflyConfig;
use super::permutation::RelaxedPermutation;
use crate::expect_valid;
use crate::rows::Leading;

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

impl ButterflyConfig {
    /// The module on `device`, with random factors.
    ///
    /// # Panics
    /// With the message of [`try_init`](Self::try_init)'s error.
    #[track_caller]
    pub fn init(&self, device: &Device) -> Butterfly {
        expect_valid(self.try_init(device))
    }

    /// The module on `device`, with random factors.
    ///
    /// # Errors
    /// [`ArgumentError`] naming the first field that is out of range.
    pub fn try_init(&self, device: &Device) -> Result<Butterfly, ArgumentError> {
        self.validate()?;
        let stages = self.n.trailing_zeros();
        let product = |_| ButterflyProduct {
            permutation: RelaxedPermutation::new(self, device),
            factors: (0..stages).map(|stage| ButterflyFactor::new(self, 1 << stage, device)).collect(),
        };
        Ok(Butterfly { products: (0..self.products).map(product).collect(), config: self.clone() })
    }
}

impl Butterfly {
    /// The transform of each row of `rows` `[.., n]`, of the same shape.
    ///
    /// # Panics
    /// With the message of [`try_forward`](Self::try_forward)'s error.
    #[track_caller]
    pub fn forward<const D: usize>(&self, rows: ComplexTensor<D>) -> ComplexTensor<D> {
        expect_valid(self.try_forward(rows))
    }

    /// The transform of each row, as [`forward`](Self::forward).
    ///
    /// # Errors
    /// [`ArgumentError`] for rows of another length, or parts of different shapes.
    pub fn try_forward<const D: usize>(&self, rows: ComplexTensor<D>) -> Result<ComplexTensor<D>, ArgumentError> {
        const NAME: &str = "Butterfly";
        let (dims, n) = (rows.dims(), self.config.n);
        if dims[D - 1] != n {
            let got = format!("{} values per row", dims[D - 1]);
            return Err(ArgumentError::new(NAME, "rows", got, format!("{n}")));
        }
        if rows.im.dims() != dims {
            let (got, expected) = (format!("{:?}", rows.im.dims()), format!("{dims:?}, as the real part"));
            return Err(ArgumentError::new(NAME, "rows.im", got, expected));
        }
        let leading = Leading::of(dims);
        let count = leading.rows();
        let rows = rows.map(|part| leading.flatten(part));
        let rows = self.products.iter().fold(rows, |rows, ButterflyProduct { permutation, factors }| {
            // A permutation is real: both parts are rows of one call.
            let parts = permutation.forward(Tensor::cat(vec![rows.re, rows.im], 0));
            let part = |start| parts.clone().narrow(0, start, count);
            let rows = ComplexTensor::new(part(0), part(count));
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

    /// Configuration of the model.
    pub fn config(&self) -> &ButterflyConfig {
        &self.config
    }
}
