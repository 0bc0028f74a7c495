//! Ridge regression: the linear map of the least squared error plus a penalty on its weights, from sums of products.
//! It is what trained models are compared with, as it takes no choices but the penalty, which validation makes.

use rayon::prelude::*;

/// Factors of the penalty that are tried, in units of the mean square of an input.
const PENALTIES: [f64; 8] = [1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0];
/// Inputs and outputs up to which a map is computed: its time grows with their third power.
pub const MAX_VALUES: usize = 2048;

/// Name of its row in evaluations.
pub const NAME: &str = "ridge regression";

/// Says that an evaluation has no such row.
pub fn warn_too_large() {
    tracing::warn!("no {NAME} beside the models: it has more than {MAX_VALUES} inputs or outputs");
}

/// Sums of products over pairs of inputs and outputs.
pub struct Moments {
    /// Of two inputs, `[inputs, inputs]`.
    pub inputs: Vec<f64>,
    /// Of an output and an input, `[outputs, inputs]`.
    pub cross: Vec<f64>,
    /// Of outputs with themselves, all in all.
    pub outputs: f64,
    /// Number of inputs.
    pub count: usize,
}

impl Moments {
    fn of(inputs: &[Vec<f64>], outputs: &[Vec<f64>]) -> Self {
        let count = inputs.first().map_or(0, Vec::len);
        let with_inputs = |values: &[Vec<f64>]| -> Vec<f64> {
            let of_value = |index: usize| {
                let mut sums = vec![0.0; count];
                for (value, row) in values.iter().map(|values| values[index]).zip(inputs) {
                    sums.iter_mut().zip(row).for_each(|(sum, input)| *sum += value * input);
                }
                sums
            };
            let rows: Vec<Vec<f64>> = (0..values.first().map_or(0, Vec::len)).into_par_iter().map(of_value).collect();
            rows.concat()
        };
        let squares = outputs.iter().map(|row| dot(row, row)).sum();
        Self { inputs: with_inputs(inputs), cross: with_inputs(outputs), outputs: squares, count }
    }

    /// Weights `[outputs, inputs]` with the penalty of the lowest error on the pairs of `validation`.
    pub fn best_map(&self, validation: &Self) -> Vec<f64> {
        let maps = PENALTIES.into_par_iter().map(|penalty| {
            let weights = self.solve(penalty);
            (validation.squared_error(&weights), weights)
        });
        let best = maps.collect::<Vec<_>>().into_iter().min_by(|(a, _), (b, _)| a.total_cmp(b));
        best.map(|(_, weights)| weights).unwrap_or_default()
    }

    /// Weights of the least squared error plus a penalty on their squares.
    fn solve(&self, penalty: f64) -> Vec<f64> {
        let n = self.count;
        let mean_square = (0..n).map(|i| self.inputs[i * n + i]).sum::<f64>() / n as f64;
        let mut factor = self.inputs.clone();
        // Inputs that are all 0 have the map 0.
        let penalty = if mean_square > 0.0 { penalty * mean_square } else { 1.0 };
        (0..n).for_each(|i| factor[i * n + i] += penalty);
        cholesky(&mut factor, n);
        let mut weights = self.cross.clone();
        weights.chunks_mut(n).for_each(|row| solve(&factor, row));
        weights
    }

    /// Sum of the squared errors of a map.
    fn squared_error(&self, weights: &[f64]) -> f64 {
        let n = self.count;
        let of_output = |(weights, cross): (&[f64], &[f64])| {
            let mapped = self.inputs.chunks(n).zip(weights).map(|(row, weight)| weight * dot(row, weights));
            mapped.sum::<f64>() - 2.0 * dot(weights, cross)
        };
        self.outputs + weights.chunks(n).zip(self.cross.chunks(n)).map(of_output).sum::<f64>()
    }
}

/// A map of standardised inputs, with an offset.
pub struct RidgeRegression {
    means: Vec<f64>,
    deviations: Vec<f64>,
    offsets: Vec<f64>,
    /// `[outputs, inputs]`
    weights: Vec<f64>,
}

/// Inputs and outputs, each a row per pair.
pub type Pairs = (Vec<Vec<f64>>, Vec<Vec<f64>>);

impl RidgeRegression {
    /// The map that fits pairs, with the penalty of the lowest error on others; `None` if there are more than
    /// [`MAX_VALUES`] inputs or outputs.
    pub fn fit((inputs, outputs): &Pairs, validation: &Pairs) -> Option<Self> {
        if [inputs, outputs].iter().any(|rows| rows.first().is_none_or(|row| row.len() > MAX_VALUES)) {
            return None;
        }
        let (means, offsets) = (means(inputs, |_, value| value), means(outputs, |_, value| value));
        let variances = self::means(inputs, |index, value| (value - means[index]).powi(2));
        let deviations = variances.into_iter().map(|variance| if variance > 0.0 { variance.sqrt() } else { 1.0 });
        let mut map = Self { means, deviations: deviations.collect(), offsets, weights: Vec::new() };
        let moments = |(inputs, outputs): &Pairs| {
            let outputs: Vec<Vec<f64>> = outputs
                .iter()
                .map(|row| row.iter().zip(&map.offsets).map(|(value, offset)| value - offset).collect())
                .collect();
            Moments::of(&inputs.iter().map(|row| map.standardised(row)).collect::<Vec<_>>(), &outputs)
        };
        map.weights = moments(&(inputs.clone(), outputs.clone())).best_map(&moments(validation));
        Some(map)
    }

    fn standardised(&self, row: &[f64]) -> Vec<f64> {
        let scales = self.means.iter().zip(&self.deviations);
        row.iter().zip(scales).map(|(value, (mean, deviation))| (value - mean) / deviation).collect()
    }

    /// Outputs for inputs.
    pub fn predict(&self, row: &[f64]) -> Vec<f64> {
        let row = self.standardised(row);
        self.weights.chunks(row.len()).zip(&self.offsets).map(|(weights, offset)| dot(weights, &row) + offset).collect()
    }

    /// Number of weights and offsets.
    pub fn parameters(&self) -> usize {
        self.weights.len() + self.offsets.len()
    }
}

/// Means over rows of a function of a column and a value.
fn means(rows: &[Vec<f64>], term: impl Fn(usize, f64) -> f64) -> Vec<f64> {
    let mut sums = vec![0.0; rows.first().map_or(0, Vec::len)];
    for row in rows {
        sums.iter_mut().zip(row).enumerate().for_each(|(column, (sum, value))| *sum += term(column, *value));
    }
    sums.into_iter().map(|sum| sum / rows.len() as f64).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The lower triangle of a positive definite matrix `[n, n]` replaced by its Cholesky factor.
fn cholesky(matrix: &mut [f64], n: usize) {
    for i in 0..n {
        let (above, row) = matrix.split_at_mut(i * n);
        for j in 0..i {
            let other = &above[j * n..][..n];
            row[j] = (row[j] - dot(&row[..j], &other[..j])) / other[j];
        }
        row[i] = (row[i] - dot(&row[..i], &row[..i])).sqrt();
    }
}

/// A right-hand side replaced by the solution, with a Cholesky factor.
fn solve(factor: &[f64], values: &mut [f64]) {
    let n = values.len();
    for i in 0..n {
        let row = &factor[i * n..][..n];
        values[i] = (values[i] - dot(&row[..i], &values[..i])) / row[i];
    }
    for i in (0..n).rev() {
        let row = &factor[i * n..][..n];
        values[i] /= row[i];
        let value = values[i];
        values[..i].iter_mut().zip(row).for_each(|(earlier, factor)| *earlier -= factor * value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::normal;

    /// Rows of `inputs` numbers and two outputs, an affine function of them plus noise.
    fn pairs(rows: usize, inputs: usize, noise: f64, seed: u64) -> Pairs {
        let (values, errors) = (normal(seed, rows * inputs), normal(seed + 1, rows * 2));
        let rows: Vec<Vec<f64>> =
            values.chunks(inputs).map(|row| row.iter().map(|value| 3.0 * value).collect()).collect();
        let output = |(row, errors): (&Vec<f64>, &[f64])| {
            vec![row[0] - 2.0 * row[1] + 1.0 + noise * errors[0], row[inputs - 1] - 4.0 + noise * errors[1]]
        };
        let outputs = rows.iter().zip(errors.chunks(2)).map(output).collect();
        (rows, outputs)
    }

    #[test]
    fn an_affine_function_is_found() {
        let (train, validation) = (pairs(200, 6, 0.0, 1), pairs(50, 6, 0.0, 3));
        let map = RidgeRegression::fit(&train, &validation).unwrap();
        assert_eq!(map.parameters(), 2 * 6 + 2);
        for (row, wanted) in validation.0.iter().zip(&validation.1) {
            let found = map.predict(row);
            assert!(found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-4), "{found:?} for {wanted:?}");
        }
    }

    #[test]
    fn the_gradient_of_the_penalised_error_is_0_at_the_solution() {
        let (inputs, outputs) = pairs(40, 5, 1.0, 7);
        let moments = Moments::of(&inputs, &outputs);
        let penalty = 1e-2;
        let weights = moments.solve(penalty);
        let mean_square = inputs.iter().map(|row| dot(row, row)).sum::<f64>() / 5.0;
        let mut error = 0.0;
        for (output, weights) in weights.chunks(5).enumerate() {
            let residuals: Vec<f64> =
                inputs.iter().zip(&outputs).map(|(row, wanted)| dot(row, weights) - wanted[output]).collect();
            error += dot(&residuals, &residuals);
            for (index, weight) in weights.iter().enumerate() {
                let fit: f64 = inputs.iter().zip(&residuals).map(|(row, residual)| row[index] * residual).sum();
                assert!((fit + penalty * mean_square * weight).abs() < 1e-9 * mean_square);
            }
        }
        assert!((moments.squared_error(&weights) - error).abs() < 1e-9 * error, "{error}");
    }

    #[test]
    fn validation_chooses_the_penalty() {
        // Fewer rows than inputs: without a penalty the map follows the noise.
        let (train, validation) = (pairs(20, 30, 3.0, 11), pairs(200, 30, 3.0, 13));
        let [of_train, of_validation] = [&train, &validation].map(|pairs| Moments::of(&pairs.0, &pairs.1));
        let chosen = of_validation.squared_error(&of_train.best_map(&of_validation));
        let errors = PENALTIES.map(|penalty| of_validation.squared_error(&of_train.solve(penalty)));
        assert!(errors.iter().all(|error| chosen <= *error) && chosen < 0.9 * errors[0], "{chosen} of {errors:?}");
        // A constant column and too many inputs.
        let constant = |(rows, outputs): Pairs| -> Pairs {
            (rows.into_iter().map(|row| [row, vec![5.0]].concat()).collect(), outputs)
        };
        assert!(RidgeRegression::fit(&constant(train), &constant(validation)).is_some());
        let wide = (vec![vec![0.0; MAX_VALUES + 1]], vec![vec![0.0]]);
        assert!(RidgeRegression::fit(&wide, &wide).is_none());
    }
}
