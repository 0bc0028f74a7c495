//! Adam (Kingma and Ba, 2015, algorithm 1) and AdamW (Loshchilov and Hutter, 2019, algorithm 2).

/// Parameters of the steps.
#[derive(Debug, Clone, Copy)]
pub struct AdamDefinition {
    /// Learning rate.
    pub learning_rate: f64,
    /// Decays of the moments.
    pub betas: [f64; 2],
    /// Constant added to the root of the second moment.
    pub epsilon: f64,
    /// Factor of the parameter that is added to its gradient.
    pub penalty: f64,
    /// Factor of the parameter that is taken from it, times the learning rate.
    pub decay: f64,
}

impl AdamDefinition {
    /// A number after a step for each of its `gradients`, from moments of zero, and the two moments.
    pub fn steps(&self, start: f64, gradients: &[f64]) -> [f64; 3] {
        let ([beta_1, beta_2], [mut x, mut m, mut v]) = (self.betas, [start, 0.0, 0.0]);
        for (step, gradient) in (1..).zip(gradients) {
            let gradient = gradient + self.penalty * x;
            m = beta_1 * m + (1.0 - beta_1) * gradient;
            v = beta_2 * v + (1.0 - beta_2) * gradient.powi(2);
            let (mean, square) = (m / (1.0 - beta_1.powi(step)), v / (1.0 - beta_2.powi(step)));
            x = x - self.learning_rate * self.decay * x - self.learning_rate * mean / (square.sqrt() + self.epsilon);
        }
        [x, m, v]
    }
}
