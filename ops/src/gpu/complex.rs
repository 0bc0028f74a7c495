//! Complex numbers: one type and its arithmetic for kernels, complex rows in device memory, and real samples that are read
//! as pairs.
//!
//! Products are written with `fma`, because not every compiler contracts them.

use cubecl::intrinsic;
use cubecl::ir::dialect::vector::CompositeInsertOp;
use cubecl::prelude::*;
use cubecl::server::Handle;

use super::device::{empty, floats, from_row};

/// Complex value in memory: real and imaginary part.
pub(super) type Complex = Vector<f32, Const<2>>;

/// A complex value from its parts.
#[cube]
pub(super) fn complex(re: f32, im: f32) -> Complex {
    // A value, where `insert` would change a variable: compilers take time for every variable of a kernel.
    intrinsic!(|scope| {
        let twice = Complex::__expand_new(scope, re).read_value(scope);
        let im = im.read_value(scope);
        let insert = CompositeInsertOp::new(scope.ctx_mut(), twice, im, 1usize);
        scope.register_with_result(&insert).into()
    })
}

/// x*.
#[cube]
pub(super) fn conjugate(x: Complex) -> Complex {
    complex(x.extract(0usize), -x.extract(1usize))
}

/// x + y.
#[cube]
pub(super) fn sum(x: Complex, y: Complex) -> Complex {
    complex(x.extract(0usize) + y.extract(0usize), x.extract(1usize) + y.extract(1usize))
}

/// x − y.
#[cube]
pub(super) fn difference(x: Complex, y: Complex) -> Complex {
    complex(x.extract(0usize) - y.extract(0usize), x.extract(1usize) - y.extract(1usize))
}

/// The parts of (a + bi)·(c + di).
#[cube]
pub(super) fn product(a: f32, b: f32, c: f32, d: f32) -> (f32, f32) {
    (fma(a, c, -(b * d)), fma(a, d, b * c))
}

/// x·y.
#[cube]
pub(super) fn times(x: Complex, y: Complex) -> Complex {
    let (a, b, c, d) = (x.extract(0usize), x.extract(1usize), y.extract(0usize), y.extract(1usize));
    complex(fma(a, c, -(b * d)), fma(a, d, b * c))
}

/// g·x.
#[cube]
pub(super) fn scaled(g: f32, x: Complex) -> Complex {
    complex(g * x.extract(0usize), g * x.extract(1usize))
}

/// z + g·x.
#[cube]
pub(super) fn plus_scaled(z: Complex, g: f32, x: Complex) -> Complex {
    complex(fma(g, x.extract(0usize), z.extract(0usize)), fma(g, x.extract(1usize), z.extract(1usize)))
}

/// z + x·y*, where y* is the conjugate of y.
#[cube]
pub(super) fn plus_times_conjugate(z: Complex, x: Complex, y: Complex) -> Complex {
    let (a, b, c, d) = (x.extract(0usize), x.extract(1usize), y.extract(0usize), y.extract(1usize));
    complex(fma(a, c, fma(b, d, z.extract(0usize))), fma(b, c, fma(-a, d, z.extract(1usize))))
}

/// z + Re(x*·y), the dot product of the two as vectors.
#[cube]
pub(super) fn plus_dot(z: f32, x: Complex, y: Complex) -> f32 {
    fma(x.extract(0usize), y.extract(0usize), fma(x.extract(1usize), y.extract(1usize), z))
}

/// Complex variables in the registers of a unit: arrays that are indexed with constants only.
#[derive(CubeType)]
pub(super) struct ComplexArray {
    pub re: Array<f32>,
    pub im: Array<f32>,
}

/// `count` complex variables, uninitialised.
#[cube]
pub(super) fn registers(#[comptime] count: u32) -> ComplexArray {
    ComplexArray { re: Array::new(comptime!(count as usize)), im: Array::new(comptime!(count as usize)) }
}

/// `count` complex variables that are zero.
#[cube]
pub(super) fn zeros(#[comptime] count: u32) -> ComplexArray {
    let mut zeros = registers(count);
    #[unroll]
    for at in 0..count {
        zeros.re[comptime!(at as usize)] = 0.0f32;
        zeros.im[comptime!(at as usize)] = 0.0f32;
    }
    zeros
}

/// Complex values of a unit that are no variables, since compilers take time for every variable of an array and every
/// line of a kernel that it could be used in. Hence they can't be changed in a branch or a loop whose condition the
/// kernel computes, and only [`none`](Self::none) may be bound by `let mut`, which makes variables of what it binds.
#[derive(CubeType)]
pub(super) struct ComplexValues {
    pub re: Sequence<f32>,
    pub im: Sequence<f32>,
}

#[cube]
impl ComplexValues {
    pub fn none() -> Self {
        ComplexValues { re: Sequence::new(), im: Sequence::new() }
    }

    /// Adds a value behind the others.
    pub fn push(&mut self, re: f32, im: f32) {
        self.re.push(re);
        self.im.push(im);
    }

    /// Adds the first `count` values of an array behind the others.
    pub fn append(&mut self, array: &ComplexArray, #[comptime] count: u32) {
        #[unroll]
        for at in 0..count {
            self.push(array.re[comptime!(at as usize)], array.im[comptime!(at as usize)]);
        }
    }

    /// Puts another value in the place of value `at`, or behind the others.
    pub fn set(&mut self, #[comptime] at: usize, re: f32, im: f32) {
        self.re.insert(at, re);
        self.im.insert(at, im);
    }

    /// Overwrites the values from `first` on with `count` others.
    pub fn overwrite(&mut self, #[comptime] first: u32, values: &ComplexValues, #[comptime] count: u32) {
        #[unroll]
        for at in 0..count {
            let (re, im) = (values.re[comptime!(at as usize)], values.im[comptime!(at as usize)]);
            self.set(comptime!((first + at) as usize), re, im);
        }
    }
}

/// Complex rows as kernel arguments.
#[derive(CubeType, CubeLaunch)]
pub(super) struct ComplexBuffers {
    pub re: Box<[f32]>,
    pub im: Box<[f32]>,
}

/// Real samples as a kernel argument: the variant is known when the kernel is compiled.
#[derive(CubeType, CubeLaunch)]
#[expect(dead_code, reason = "variants are constructed as the generated kernel arguments")]
pub(super) enum Samples {
    /// One by one.
    Single(Box<[f32]>),
    /// Two side by side.
    Pairs(Box<[Complex]>),
}

/// |z|² of value `at`.
#[cube]
pub(super) fn square(z: &ComplexBuffers, at: usize) -> f32 {
    fma(z.re[at], z.re[at], z.im[at] * z.im[at])
}

/// Re x·y* of values `x` and `y`.
#[cube]
pub(super) fn dot(z: &ComplexBuffers, x: usize, y: usize) -> f32 {
    fma(z.re[x], z.re[y], z.im[x] * z.im[y])
}

/// Complex rows in device memory, `[rows, n]` each part.
#[derive(Debug, Clone)]
pub struct ComplexRows {
    pub re: Handle,
    /// Imaginary parts; `None` is 0, where a function reads.
    pub im: Option<Handle>,
}

impl ComplexRows {
    pub fn new(re: Handle, im: Handle) -> Self {
        Self { re, im: Some(im) }
    }

    /// Rows of real values.
    pub fn real(values: Handle) -> Self {
        Self { re: values, im: None }
    }

    /// New rows of `values` values, uninitialised.
    pub fn empty(client: &Client, values: usize) -> Self {
        Self::new(empty(client, values), empty(client, values))
    }

    /// The imaginary parts; if there are none, the real parts, as an argument for a kernel that does not read them.
    pub(super) fn imaginary(&self) -> &Handle {
        self.im.as_ref().unwrap_or(&self.re)
    }

    /// The two parts exchanged. The inverse transform is the transform of exchanged parts, exchanged.
    pub(super) fn exchanged(self) -> Self {
        Self { re: self.imaginary().clone(), im: Some(self.re) }
    }

    /// The rows from `row` on, `n` values each.
    pub(super) fn skip_rows(&self, row: usize, n: usize) -> Self {
        Self { re: from_row(&self.re, row, n), im: self.im.as_ref().map(|im| from_row(im, row, n)) }
    }

    /// The first `values` values as a kernel argument.
    pub(super) fn buffers(&self, values: usize) -> ComplexBuffersLaunch {
        ComplexBuffersLaunch::new(floats(&self.re, values), floats(self.imaginary(), values))
    }
}
