//! The matrix to learn, and how far a model is from it.

use std::ops::Range;
use std::sync::Arc;

use burn::tensor::{Device, Tensor, TensorData};
use firefly_models::zoo::ZooModel;

use super::TransformConfig;
use super::config::{DataSection, LearningData, OutputPart};
use super::matrix::ComplexMatrix;
use crate::data::EpochOrder;
use crate::task::{TaskData, TaskError};

/// The matrix to learn, on a device.
pub struct TransformData {
    pub(super) matrix: Arc<ComplexMatrix>,
    /// Passes over the rows of the matrix; none where random rows are learned from.
    order: Option<Arc<EpochOrder>>,
    pub(super) output: OutputPart,
    pub(super) device: Device,
    /// Real and imaginary part: row j is the transform of the unit vector j.
    transposed: [Tensor<2>; 2],
}

impl TransformData {
    /// The matrix of a configuration, on a device without autodiff.
    pub(super) fn of(config: &TransformConfig, device: &Device) -> Self {
        let DataSection { transform, size: n, output, from } = config.data;
        let matrix = transform.matrix(n, config.seed);
        let part = |values: &[f64]| -> Tensor<2> {
            let values: Vec<f32> = values.iter().map(|value| *value as f32).collect();
            Tensor::from_data(TensorData::new(values, [n, n]), device).transpose()
        };
        let order = (from == LearningData::Matrix).then(|| EpochOrder::new(config.seed, n, n).into());
        let transposed = [part(&matrix.re), part(&matrix.im)];
        Self { transposed, output, order, device: device.clone(), matrix: matrix.into() }
    }

    /// These unit vectors, as rows, with real and imaginary part of their transforms.
    pub(super) fn units_of(&self, units: &Range<usize>) -> (Tensor<2>, [Tensor<2>; 2]) {
        (self.units().slice([units.clone()]), self.transposed.clone().map(|part| part.slice([units.clone()])))
    }

    /// Real and imaginary part of the transforms of real rows.
    pub(super) fn of_rows(&self, rows: &Tensor<2>) -> [Tensor<2>; 2] {
        self.transposed.clone().map(|part| rows.clone().matmul(part))
    }

    /// The unit vectors, as rows.
    pub(super) fn units(&self) -> Tensor<2> {
        Tensor::eye(self.matrix.n, &self.device)
    }

    /// Mean squared error per element of a model's transforms of real rows.
    pub(super) fn mean_squared_error(
        &self,
        model: &ZooModel,
        rows: Tensor<2>,
        [target_re, target_im]: [Tensor<2>; 2],
    ) -> Result<Tensor<1>, TaskError> {
        let [re, im] = apply(model, rows)?;
        let of_re = (re - target_re).square().mean();
        Ok(match self.output {
            OutputPart::Complex => of_re + (im - target_im).square().mean(),
            OutputPart::Real => of_re,
        })
    }
}

impl TaskData for TransformData {
    fn fingerprint(&self) -> u64 {
        0
    }

    fn on_device(&self, device: &Device) -> Self {
        let (matrix, order, output) = (self.matrix.clone(), self.order.clone(), self.output);
        let transposed = self.transposed.clone().map(|part| part.to_device(device));
        Self { matrix, order, output, device: device.clone(), transposed }
    }

    fn order(&self) -> Option<&EpochOrder> {
        self.order.as_deref()
    }
}

/// Transforms of real rows `[rows, n]` by a model: real and imaginary parts.
pub(super) fn apply(model: &ZooModel, rows: Tensor<2>) -> Result<[Tensor<2>; 2], TaskError> {
    const NAME: &str = "transform";
    let zeros = rows.zeros_like();
    let mut outputs = model.try_forward(vec![rows.into(), zeros.into()])?.into_iter();
    let mut part = |name| match outputs.next() {
        Some(part) => Ok(part.try_float::<2>(NAME, name)?),
        None => {
            let reason = "it has no outputs re and im for inputs re and im".to_string();
            Err(TaskError::Unsuitable(model.family().name.into(), reason))
        }
    };
    Ok([part("re")?, part("im")?])
}

/// Errors of a model's matrix: root mean square, relative, largest.
pub(super) struct MatrixErrors {
    pub rmse: f64,
    pub relative: f64,
    pub largest: f64,
}

impl MatrixErrors {
    pub fn of(model: &ZooModel, data: &TransformData) -> Result<Self, TaskError> {
        let [re, im] = apply(model, data.units())?;
        // In float64, so that the errors of small matrices are those of the model alone.
        let values = |part: Tensor<2>| -> Vec<f64> { part.transpose().into_data().convert::<f64>().iter().collect() };
        let (re, im) = (values(re), values(im));
        let square = |place: usize| {
            let of_re = (re[place] - data.matrix.re[place]).powi(2);
            match data.output {
                OutputPart::Complex => of_re + (im[place] - data.matrix.im[place]).powi(2),
                OutputPart::Real => of_re,
            }
        };
        let squares: Vec<f64> = (0..re.len()).map(square).collect();
        let sum: f64 = squares.iter().sum();
        Ok(Self {
            rmse: (sum / squares.len() as f64).sqrt(),
            relative: sum.sqrt() / data.matrix.norm(),
            largest: squares.iter().copied().fold(0.0, f64::max).sqrt(),
        })
    }
}
