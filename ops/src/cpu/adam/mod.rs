//! Steps of Adam over parameters in host memory.

use crate::cpu::isa::register::Register;
use crate::cpu::isa::{Kernel, dispatch_widest};
use crate::cpu::real::Real;
use crate::cpu::runtime::tasks::Tasks;
use crate::options::{AdamCoefficients, AdamOptions};

/// Elements per row of a task, so that tasks end at cache lines.
const ROW: usize = 64;
/// Work of a row, in the unit of [`Tasks`].
const WORK_OF_ROW: usize = 32;

/// A step in place: a parameter and the two moments of its gradients, after a gradient.
pub fn adam_step<T: Real>(state: [&mut [T]; 3], gradient: &[T], options: &AdamOptions) {
    let coefficients = options.coefficients::<T>();
    let tasks = Tasks::independent(gradient.len().div_ceil(ROW), WORK_OF_ROW);
    let length = tasks.rows * ROW;
    let [parameter, moment_1, moment_2] = state.map(|values| values.chunks_mut(length));
    let pieces = parameter.zip(moment_1).zip(moment_2).zip(gradient.chunks(length));
    tasks.run(pieces, |(((parameter, moment_1), moment_2), gradient)| {
        let step = AdamKernel { state: [parameter, moment_1, moment_2], gradient, by: coefficients };
        dispatch_widest(step);
    });
}

/// Step over the elements of a task.
struct AdamKernel<'a, T> {
    state: [&'a mut [T]; 3],
    gradient: &'a [T],
    by: AdamCoefficients<T>,
}

impl<T: Real> Kernel for AdamKernel<'_, T> {
    /// A loop over slices, which the compiler turns into the instructions of the set that it is compiled for.
    #[inline(always)]
    fn run<V: Register>(self, _token: V::Token) {
        let AdamCoefficients { keep, add, scale, divisors, epsilon, rate, kept, penalty } = self.by;
        let [parameter, moment_1, moment_2] = self.state;
        for (((x, m), v), g) in parameter.iter_mut().zip(moment_1).zip(moment_2).zip(self.gradient) {
            // Without a penalty, a parameter that is not finite leaves the gradient as it is.
            let g = if penalty > T::zero() { *g + *x * penalty } else { *g };
            *m = *m * keep[0] + g * add[0];
            *v = *v * keep[1] + g * g * add[1];
            let delta = *m * scale / divisors[0] / ((*v / divisors[1]).sqrt() + epsilon);
            *x = *x * kept - delta * rate;
        }
    }
}
