//! Plans against the passes that follow them.

use crate::cpu::fft::RowTransform;
use crate::cpu::fft::plan::{FftPlan, MIN_N};
use crate::cpu::fft::prefetch::Prefetch;
use crate::cpu::isa::lines::{lines_for, take_complexes, with_lines};
use crate::cpu::isa::portable::{Portable, PortableToken};
use crate::cpu::isa::register::Register;
use crate::cpu::tests::lengths;

/// Counts the calls of [`Prefetch::transform`].
struct Count(usize);

impl Prefetch for Count {
    fn transform<V: Register>(&mut self) {
        self.0 += 1;
    }
}

fn assert_steps_are_those_of_the_plan<V: Register<Token = PortableToken>>(n: usize) {
    let plan = FftPlan::of::<V>(n);
    let (mut re, mut im, mut count) = (vec![0.0; n], vec![0.0; n], Count(0));
    with_lines(2 * lines_for(n), |mut memory| {
        let work = take_complexes::<V>(PortableToken, &mut memory, n / V::LANES);
        let factor = V::splat(PortableToken, 1.0);
        RowTransform { token: PortableToken, plan, work, factor }.run(None, [&mut re, &mut im], &mut count, false);
    });
    assert_eq!(count.0, plan.prefetch_steps::<V>(), "{n} values in {} lanes", V::LANES);
}

#[test]
fn transforms_prefetch_in_as_many_steps_as_their_plan_says() {
    for n in lengths(&[256, 512, 1024, 2048, 4096, 8192, 16_384]) {
        assert_steps_are_those_of_the_plan::<Portable<4>>(n);
        assert_steps_are_those_of_the_plan::<Portable<8>>(n);
        assert_steps_are_those_of_the_plan::<Portable<16>>(n);
    }
    assert_steps_are_those_of_the_plan::<Portable<8>>(MIN_N);
}
