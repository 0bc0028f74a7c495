//! Gradients of the gated butterfly stages, by the chain rule, one butterfly after the other.

use super::Complex;
use super::butterfly::{butterflies, reversed_bits, stages};

/// Gradients of a loss in the inputs of [`gated_butterfly`](super::butterfly::gated_butterfly). That of a complex value
/// z is ∂L/∂Re z + i·∂L/∂Im z.
#[derive(Debug, Clone, PartialEq)]
pub struct Gradients {
    /// In the input, \[n\].
    pub input: Vec<Complex>,
    /// In the twiddles, \[log2 n, n/2, 2\].
    pub twiddles: Vec<f64>,
    /// In the gates, \[log2 n, n/2\].
    pub gates: Vec<f64>,
}

/// Gradients for one row, from those in its output: `output` \[n\]; the others as in
/// [`gated_butterfly`](super::butterfly::gated_butterfly).
///
/// With t = w·b, a' = a + g·t and b' = g·(a − t) + (1−g)·b, and G(z) the gradient in z:
/// G(a) = G(a') + g·G(b'), G(t) = g·(G(a') − G(b')), G(b) = conj(w)·G(t) + (1−g)·G(b'), G(w) = conj(b)·G(t), and
/// G(g) = Re(conj(t)·G(a')) + Re(conj(a − t − b)·G(b')).
///
/// # Panics
/// If n is not a power of two of at least 2, or the other arrays do not have the size that n implies.
pub fn gated_butterfly_gradients(
    input: &[Complex],
    twiddles: &[f64],
    gates: Option<&[f64]>,
    output: &[Complex],
) -> Gradients {
    let n = input.len();
    let stages = stages(n);
    assert_eq!(output.len(), n, "output: its shape must be [n]");
    let pairs = stages * n / 2;
    assert_eq!(twiddles.len(), 2 * pairs, "twiddles: their shape must be [log2 n, n/2, 2]");
    assert!(gates.is_none_or(|gates| gates.len() == pairs), "gates: their shape must be [log2 n, n/2]");
    let w = |pair: usize| Complex::new(twiddles[2 * pair], twiddles[2 * pair + 1]);
    let g = |pair: usize| gates.map_or(1.0, |gates| gates[pair]);

    // Input of every stage.
    let mut values = vec![(0..n).map(|i| input[reversed_bits(i, stages)]).collect::<Vec<_>>()];
    for s in 0..stages {
        let mut next = values[s].clone();
        for (pair, upper, lower) in butterflies(n, s) {
            let (a, b) = (next[upper], next[lower]);
            let t = w(pair) * b;
            next[upper] = a + g(pair) * t;
            next[lower] = g(pair) * (a - t) + (1.0 - g(pair)) * b;
        }
        values.push(next);
    }

    let mut gradient = output.to_vec();
    let mut of_twiddles = vec![0.0; 2 * pairs];
    let mut of_gates = vec![0.0; pairs];
    for s in (0..stages).rev() {
        for (pair, upper, lower) in butterflies(n, s) {
            let (a, b) = (values[s][upper], values[s][lower]);
            let (of_a, of_b) = (gradient[upper], gradient[lower]);
            let t = w(pair) * b;
            let of_t = g(pair) * (of_a - of_b);
            let of_w = b.conj() * of_t;
            (of_twiddles[2 * pair], of_twiddles[2 * pair + 1]) = (of_w.re, of_w.im);
            of_gates[pair] = (t.conj() * of_a).re + ((a - t - b).conj() * of_b).re;
            gradient[upper] = of_a + g(pair) * of_b;
            gradient[lower] = w(pair).conj() * of_t + (1.0 - g(pair)) * of_b;
        }
    }
    let input = (0..n).map(|i| gradient[reversed_bits(i, stages)]).collect();
    Gradients { input, twiddles: of_twiddles, gates: of_gates }
}

#[cfg(test)]
mod tests {
    use super::super::butterfly::gated_butterfly;
    use super::*;

    fn scattered(count: usize, seed: f64) -> Vec<f64> {
        (0..count).map(|i| (i as f64 * 1.7 + seed).sin()).collect()
    }

    fn complex(values: &[f64]) -> Vec<Complex> {
        values.chunks_exact(2).map(|pair| Complex::new(pair[0], pair[1])).collect()
    }

    /// The output is of degree one in every single real number, so that a central difference is exact but for rounding.
    #[test]
    fn gradients_equal_central_differences() {
        for n in [2usize, 8, 16] {
            let stages = n.trailing_zeros() as usize;
            let inputs = [scattered(2 * n, 0.3), scattered(stages * n, 0.9), scattered(stages * n / 2, 1.3)];
            let weights = complex(&scattered(2 * n, 2.9));
            let loss = |inputs: &[Vec<f64>; 3]| -> f64 {
                let output = gated_butterfly(&complex(&inputs[0]), &inputs[1], Some(&inputs[2]));
                output.iter().zip(&weights).map(|(y, weight)| y.re * weight.re + y.im * weight.im).sum()
            };
            let found = gated_butterfly_gradients(&complex(&inputs[0]), &inputs[1], Some(&inputs[2]), &weights);
            let of_input: Vec<f64> = found.input.iter().flat_map(|z| [z.re, z.im]).collect();
            for (which, gradient) in [of_input, found.twiddles, found.gates].iter().enumerate() {
                for (place, gradient) in gradient.iter().enumerate() {
                    let moved = |step: f64| {
                        let mut inputs = inputs.clone();
                        inputs[which][place] += step;
                        loss(&inputs)
                    };
                    let difference = moved(0.5) - moved(-0.5);
                    assert!((gradient - difference).abs() < 1e-12, "n {n}, input {which}, {place}: {gradient}");
                }
            }
        }
    }

    #[test]
    fn absent_gates_count_as_open() {
        let (input, twiddles) = (complex(&scattered(16, 0.1)), scattered(24, 0.7));
        let output = complex(&scattered(16, 2.2));
        let open = gated_butterfly_gradients(&input, &twiddles, Some(&[1.0; 12]), &output);
        assert_eq!(gated_butterfly_gradients(&input, &twiddles, None, &output), open);
    }
}
