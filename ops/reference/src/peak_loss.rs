//! Distance of a row of power from ranking target peaks first, and from equalling their power.

/// Row of power's reference, and the parameters of the losses.
#[derive(Debug, Clone, Copy)]
pub struct PeakLossDefinition<'a> {
    /// 1 at the target peaks, 0 at all other bins.
    pub peaks: &'a [f64],
    /// Power of the targets.
    pub target_power: &'a [f64],
    /// Power that power is relative to.
    pub reference_power: f64,
    /// Number of peaks: the boundary is halfway between the ranks k and k + 1.
    pub k: usize,
    /// Nepers over which the ranking loss bends.
    pub temperature: f64,
    /// Constant added to relative power.
    pub offset: f64,
}

impl PeakLossDefinition<'_> {
    /// The ranking loss and the power loss of a row, with the boundary of the ranks of `ranked`, a row of power whose
    /// changes do not count in gradients.
    ///
    /// # Panics
    /// If `k` is not from 1 to the number of bins.
    pub fn losses(&self, power: &[f64], ranked: &[f64]) -> [f64; 2] {
        let log = |power: f64| (power / self.reference_power + self.offset).ln();
        let mut ranked = ranked.to_vec();
        ranked.sort_by(|a, b| b.total_cmp(a));
        let ranked = &ranked[self.k - 1..(self.k + 1).min(power.len())];
        let boundary = ranked.iter().map(|power| log(*power)).sum::<f64>() / ranked.len() as f64;
        let mut losses = [0.0; 2];
        for ((&power, peak), &target_power) in power.iter().zip(self.peaks).zip(self.target_power) {
            let side = 2.0 * peak - 1.0;
            losses[0] += ((boundary - log(power)) * side / self.temperature).exp().ln_1p();
            losses[1] += peak * (log(power) - log(target_power)).powi(2);
        }
        losses
    }
}
