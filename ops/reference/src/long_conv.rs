//! Causal convolution of rows with a kernel per channel, as its sum, and the gradients of that sum.

/// A convolution: rows of `n` samples, `[batch, channels, n]`, and kernels `[channels, taps]`.
#[derive(Debug, Clone, Copy)]
pub struct LongConvDefinition {
    /// Number of channels.
    pub channels: usize,
    /// Samples of a row.
    pub n: usize,
    /// Taps of a kernel.
    pub taps: usize,
}

impl LongConvDefinition {
    /// `signal` \[batch, channels, n\], `kernel` \[channels, taps\] → y\[b, c, t\] = Σ_{s ≤ t} kernel\[c,
    /// s\]·signal\[b, c, t − s\], times `gate`\[b, c, t\] if there is one.
    pub fn output(&self, signal: &[f64], kernel: &[f64], gate: Option<&[f64]>) -> Vec<f64> {
        let mut output = vec![0.0; signal.len()];
        self.each_product(signal.len(), |row, t, tap, s| output[row + t] += kernel[tap] * signal[row + t - s]);
        if let Some(gate) = gate {
            output.iter_mut().zip(gate).for_each(|(y, gate)| *y *= gate);
        }
        output
    }

    /// Gradients of Σ `grad`·y with respect to signal, kernel and gate (which are 1 if there is none).
    pub fn gradients(&self, signal: &[f64], kernel: &[f64], gate: Option<&[f64]>, grad: &[f64]) -> [Vec<f64>; 3] {
        let of_ungated: Vec<f64> = (0..grad.len()).map(|i| grad[i] * gate.map_or(1.0, |gate| gate[i])).collect();
        let (mut of_signal, mut of_kernel) = (vec![0.0; signal.len()], vec![0.0; kernel.len()]);
        self.each_product(signal.len(), |row, t, tap, s| {
            of_signal[row + t - s] += of_ungated[row + t] * kernel[tap];
            of_kernel[tap] += of_ungated[row + t] * signal[row + t - s];
        });
        let ungated = self.output(signal, kernel, None);
        let of_gate = grad.iter().zip(ungated).map(|(grad, y)| grad * y).collect();
        [of_signal, of_kernel, of_gate]
    }

    /// Calls `add` with every product of the sum: the start of a row, the output t, the place of the tap and its number
    /// s.
    fn each_product(&self, len: usize, mut add: impl FnMut(usize, usize, usize, usize)) {
        assert_eq!(len % (self.channels * self.n), 0, "long_conv: not whole elements of {self:?}");
        for row in 0..len / self.n {
            let first_tap = row % self.channels * self.taps;
            for t in 0..self.n {
                for s in 0..self.taps.min(t + 1) {
                    add(row * self.n, t, first_tap + s, s);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_samples_have_the_values_computed_by_hand() {
        let definition = LongConvDefinition { channels: 1, n: 3, taps: 2 };
        let (signal, kernel, gate) = ([1.0, 2.0, 4.0], [3.0, 10.0], [1.0, 0.0, 2.0]);
        assert_eq!(definition.output(&signal, &kernel, None), [3.0, 16.0, 32.0]);
        assert_eq!(definition.output(&signal, &kernel, Some(&gate)), [3.0, 0.0, 64.0]);
        let [of_signal, of_kernel, of_gate] = definition.gradients(&signal, &kernel, Some(&gate), &[1.0, 1.0, 1.0]);
        assert_eq!(of_signal, [3.0, 20.0, 6.0]);
        assert_eq!(of_kernel, [1.0 + 8.0, 4.0]);
        assert_eq!(of_gate, [3.0, 16.0, 32.0]);
    }
}
