//! Losses of rows of power against target peaks.

mod row;
#[cfg(test)]
mod tests;

use self::row::{Boundary, PeakLossRow};
use super::elementary::{Approximate, ElementaryFunctions, Exact};
use super::isa::register::Register;
use super::isa::{Kernel, dispatch_widest};
use super::real::Real;
use super::runtime::tasks::Tasks;
use crate::options::PeakLossOptions;

/// Losses of a row.
const LOSSES: usize = 2;
/// Work of a bin, in the unit of [`Tasks`].
const WORK_OF_BIN: usize = 8;

/// Rows of power and their target peaks.
#[derive(Debug, Clone, Copy)]
pub struct PeakLossInputs<'a, T> {
    /// `[rows, bins]`.
    pub power: &'a [T],
    /// Power of the ranks that the boundary is between, `[rows, ranks]`.
    pub strongest: &'a [T],
    /// `[rows]`.
    pub reference_power: &'a [T],
    /// `[rows, bins]`.
    pub peaks: &'a [T],
    /// `[rows, bins]`.
    pub target_power: &'a [T],
}

/// The two losses of each row: `output` `[rows, 2]`.
pub fn peak_loss<T: Real>(inputs: &PeakLossInputs<'_, T>, options: &PeakLossOptions, output: &mut [T]) {
    let tasks = inputs.tasks();
    if let (Some(inputs), Some(output)) = (inputs.as_f32(), T::as_f32_mut(output)) {
        tasks.run(inputs.pieces(&tasks).zip(output.chunks_mut(tasks.rows * LOSSES)), |(inputs, output)| {
            dispatch_widest(LossTask { inputs, options, output });
        });
        return;
    }
    tasks.run(inputs.pieces(&tasks).zip(output.chunks_mut(tasks.rows * LOSSES)), |(inputs, output)| {
        losses::<T, Exact>(&inputs, options, output);
    });
}

/// Gradient of [`peak_loss`] in the power for `grad` `[rows, 2]`: `output` `[rows, bins]`.
pub fn peak_loss_backward<T: Real>(
    inputs: &PeakLossInputs<'_, T>,
    grad: &[T],
    options: &PeakLossOptions,
    output: &mut [T],
) {
    let tasks = inputs.tasks();
    let values = tasks.rows * inputs.bins();
    if let (Some(inputs), Some(grad), Some(output)) = (inputs.as_f32(), T::as_f32(grad), T::as_f32_mut(output)) {
        let pieces = inputs.pieces(&tasks).zip(grad.chunks(tasks.rows * LOSSES)).zip(output.chunks_mut(values));
        tasks.run(pieces, |((inputs, grad), output)| {
            dispatch_widest(GradientTask { inputs, grad, options, output });
        });
        return;
    }
    let pieces = inputs.pieces(&tasks).zip(grad.chunks(tasks.rows * LOSSES)).zip(output.chunks_mut(values));
    tasks.run(pieces, |((inputs, grad), output)| gradients::<T, Exact>(&inputs, grad, options, output));
}

impl<'a, T: Real> PeakLossInputs<'a, T> {
    fn rows(&self) -> usize {
        self.reference_power.len()
    }

    fn bins(&self) -> usize {
        self.power.len() / self.rows().max(1)
    }

    fn tasks(&self) -> Tasks {
        Tasks::independent(self.rows(), WORK_OF_BIN * self.bins())
    }

    /// The same inputs, if they are f32.
    fn as_f32(&self) -> Option<PeakLossInputs<'a, f32>> {
        Some(PeakLossInputs {
            power: T::as_f32(self.power)?,
            strongest: T::as_f32(self.strongest)?,
            reference_power: T::as_f32(self.reference_power)?,
            peaks: T::as_f32(self.peaks)?,
            target_power: T::as_f32(self.target_power)?,
        })
    }

    /// The inputs of each task.
    fn pieces(&self, tasks: &Tasks) -> impl Iterator<Item = Self> + Send + use<'a, T> {
        let (inputs, rows, all) = (*self, tasks.rows, self.rows());
        let [bins, ranks] = [self.power, self.strongest].map(|values| values.len() / all.max(1));
        (0..all).step_by(rows.max(1)).map(move |first| {
            let of = |values: &'a [T], length: usize| &values[first * length..(first + rows).min(all) * length];
            PeakLossInputs {
                power: of(inputs.power, bins),
                strongest: of(inputs.strongest, ranks),
                reference_power: of(inputs.reference_power, 1),
                peaks: of(inputs.peaks, bins),
                target_power: of(inputs.target_power, bins),
            }
        })
    }

    /// A row and its boundary.
    #[inline(always)]
    fn row<F: ElementaryFunctions<T>>(&self, row: usize, options: &PeakLossOptions) -> PeakLossRow<'a, T> {
        let rows = self.rows();
        let (bins, ranks) = (self.power.len() / rows, self.strongest.len() / rows);
        let bins = row * bins..(row + 1) * bins;
        let strongest = &self.strongest[row * ranks..(row + 1) * ranks];
        let boundary = Boundary::new::<F>(strongest, self.reference_power[row], options);
        PeakLossRow {
            power: &self.power[bins.clone()],
            peaks: &self.peaks[bins.clone()],
            target_power: &self.target_power[bins],
            boundary,
        }
    }
}

#[inline(always)]
fn losses<T: Real, F: ElementaryFunctions<T>>(
    inputs: &PeakLossInputs<'_, T>,
    options: &PeakLossOptions,
    output: &mut [T],
) {
    for (row, output) in output.chunks_exact_mut(LOSSES).enumerate() {
        output.copy_from_slice(&inputs.row::<F>(row, options).losses::<F>());
    }
}

#[inline(always)]
fn gradients<T: Real, F: ElementaryFunctions<T>>(
    inputs: &PeakLossInputs<'_, T>,
    grad: &[T],
    options: &PeakLossOptions,
    output: &mut [T],
) {
    let bins = inputs.bins();
    for (row, (output, grad)) in output.chunks_exact_mut(bins).zip(grad.chunks_exact(LOSSES)).enumerate() {
        inputs.row::<F>(row, options).gradient::<F>([grad[0], grad[1]], output);
    }
}

/// Losses of the rows of a task.
struct LossTask<'a> {
    inputs: PeakLossInputs<'a, f32>,
    options: &'a PeakLossOptions,
    output: &'a mut [f32],
}

impl Kernel for LossTask<'_> {
    #[inline(always)]
    fn run<V: Register>(self, _token: V::Token) {
        losses::<f32, Approximate>(&self.inputs, self.options, self.output);
    }
}

/// Gradients of the rows of a task.
struct GradientTask<'a> {
    inputs: PeakLossInputs<'a, f32>,
    grad: &'a [f32],
    options: &'a PeakLossOptions,
    output: &'a mut [f32],
}

impl Kernel for GradientTask<'_> {
    #[inline(always)]
    fn run<V: Register>(self, _token: V::Token) {
        gradients::<f32, Approximate>(&self.inputs, self.grad, self.options, self.output);
    }
}
