//! Matrix products in full f32.

use burn::tensor::Tensor;

use super::check::has_only_f32;

/// `a` times `b` in the precision of their type on every device.
///
/// Tensor cores round the factors of a product in f32 to TF32, of 11 bits. There, each factor is the sum of its first
/// 11 bits and of the rest (T. J. Dekker, "A floating-point technique for extending the available precision", 1971),
/// and the product is that of the parts without that of both rests, which is below f32's precision. Gradients are
/// products with the parts of the other factor, of which Burn rounds the gradient of the result.
pub(super) fn product<const D: usize>(a: Tensor<D>, b: Tensor<D>) -> Tensor<D> {
    if !has_only_f32(&a.device().inner()) {
        return a.matmul(b);
    }
    let [(a, rest_of_a), (b, rest_of_b)] = [a, b].map(|factor| {
        let value = factor.clone().detach();
        // 2¹³ + 1 times the value, by a sum: a product alone could be fused with the difference and stay unrounded.
        let scaled = value.clone() * 8192.0 + value.clone();
        let rest = value.clone() - (scaled.clone() - (scaled - value));
        // The rest is a constant, so that the first part has the whole gradient.
        (factor - rest.clone(), rest)
    });
    a.clone().matmul(b.clone()) + (a.matmul(rest_of_b) + rest_of_a.matmul(b))
}
