//! The butterfly network on a device, forward and backward, for any length.

mod backward;
mod forward;
mod masks;
mod packed;
mod place;
mod plan;

use cubecl::prelude::*;
use cubecl::server::Handle;

pub use forward::Form;
pub use plan::Pass;

use self::place::{Complex, butterfly_count};
use super::buffers::{buffer, empty, floats, from_row};
use super::error::KernelError;
use super::limits::Limits;
use super::sums::reduce;
use super::{grid, roots};

/// Runs of rows that sums are made of at first, at most.
pub(super) const RUNS: usize = 2048;
/// Values of a network's runs that give every processor of a large device work.
const FILLING: usize = 512 * 256;
/// Rows of a run of a network beyond that, whose sums take as much memory as two rows.
const NETWORK_ROWS: usize = 16;
/// Runs of a network at most: so many that the last turn, when some processors have nothing to do, is one of several.
const NETWORK_RUNS: usize = 4096;
/// f32 that all sums of a launch take at most.
const SUMS: usize = 16 << 20;

/// Rows of complex numbers, `[rows, n]` each part.
#[derive(Debug, Clone)]
pub struct Rows {
    /// Real parts.
    pub re: Handle,
    /// Imaginary parts; `None` is 0, where a function reads.
    pub im: Option<Handle>,
}

impl Rows {
    /// Both parts.
    pub fn complex(re: Handle, im: Handle) -> Self {
        Self { re, im: Some(im) }
    }

    /// New rows with anything in them.
    pub fn empty(client: &Client, values: usize) -> Self {
        Self::complex(empty(client, values), empty(client, values))
    }

    /// The imaginary parts, or where there are none what a kernel that doesn't read them may take in their place.
    pub(super) fn imaginary(&self) -> &Handle {
        self.im.as_ref().unwrap_or(&self.re)
    }

    fn from(&self, row: usize, n: usize) -> Self {
        Self { re: from_row(&self.re, row, n), im: self.im.as_ref().map(|im| from_row(im, row, n)) }
    }
}

/// The butterflies of a network of length `n`.
#[derive(Debug, Clone)]
pub struct Network {
    n: usize,
    /// `[log2 n, n/2, 2]`, or `[n/2, 2]` for the roots of the exact transform.
    twiddles: Handle,
    /// `[log2 n, n/2]`.
    gates: Option<Handle>,
    roots: bool,
}

/// The gradients of a network's butterflies.
#[derive(Debug, Clone)]
pub struct NetworkGradients {
    /// `[log2 n, n/2, 2]`.
    pub twiddles: Handle,
    /// `[log2 n, n/2]`; written for a network with gates.
    pub gates: Handle,
}

impl Network {
    /// Butterflies of their own: twiddles `[log2 n, n/2, 2]`, gates `[log2 n, n/2]`.
    pub fn new(n: usize, twiddles: Handle, gates: Option<Handle>) -> Self {
        Self { n, twiddles, gates, roots: false }
    }

    /// The exact transform.
    pub fn exact(client: &Client, n: usize) -> Self {
        Self { n, twiddles: roots::roots(client, n), gates: None, roots: true }
    }

    fn length(&self) -> u32 {
        self.n.ilog2()
    }

    /// Butterflies.
    fn pairs(&self) -> usize {
        self.length() as usize * self.n / 2
    }

    fn twiddle_buffer(&self) -> BufferArg {
        buffer::<[f32; 2]>(&self.twiddles, if self.roots { self.n / 2 } else { self.pairs() })
    }

    fn gate_buffer(&self) -> BufferArg {
        match &self.gates {
            Some(gates) => floats(gates, self.pairs()),
            None => floats(&self.twiddles, 1),
        }
    }

    /// Transforms `rows` rows of `input` into `output`.
    ///
    /// # Errors
    /// If the device's shared memory holds no part of a row.
    pub fn forward(&self, client: &Client, input: &Rows, output: &Rows, rows: usize) -> Result<(), KernelError> {
        let passes = self.passes(client, plan::forward)?;
        let tables = self.tables(client, &passes);
        let scratch = if passes.len() > 1 { 2 * self.n } else { 0 };
        for chunk in grid::chunks(client, rows, scratch, self.n) {
            let (input, output) = (input.from(chunk.start, self.n), output.from(chunk.start, self.n));
            let middle = (passes.len() > 1).then(|| Rows::empty(client, chunk.len() * self.n));
            let mut from = &input;
            for (i, (&pass, table)) in passes.iter().zip(&tables).enumerate() {
                let into = match &middle {
                    Some(middle) if (passes.len() - i) % 2 == 0 => middle,
                    _ => &output,
                };
                self.forward_pass(client, pass, table, from, into, chunk.len());
                from = into;
            }
        }
        Ok(())
    }

    fn forward_pass(&self, client: &Client, pass: Pass, table: &Handle, from: &Rows, into: &Rows, rows: usize) {
        let groups = rows.div_ceil(pass.together as usize) << pass.cuts();
        let values = rows * self.n;
        let butterflies = (pass.row_units() * butterfly_count(&pass)) as usize;
        let (masks, packed) = match (&self.gates, self.roots) {
            (Some(_), _) => (buffer::<u32>(table, 1), buffer::<[f32; 4]>(table, butterflies)),
            (None, true) => (buffer::<u32>(table, 1), buffer::<[f32; 4]>(table, 1)),
            (None, false) => (buffer::<u32>(table, self.length() as usize), buffer::<[f32; 4]>(&self.twiddles, 1)),
        };
        let form = Form { gated: self.gates.is_some(), roots: self.roots, real: from.im.is_none() };
        // SAFETY: a unit touches values of its own tile, tiles are of the rows that the buffers hold as `floats` checked,
        // and stages and pairs are those of the network.
        unsafe {
            forward::forward::launch_unchecked(
                client,
                grid::cubes(client, groups.div_ceil(pass.groups() as usize)),
                CubeDim::new_1d(pass.cube_units()),
                floats(&from.re, values),
                floats(from.imaginary(), values),
                self.twiddle_buffer(),
                masks,
                packed,
                floats(&into.re, values),
                floats(into.imaginary(), values),
                rows as u32,
                pass,
                form,
            );
        }
    }

    /// The gradients for `grad`, the gradient of the output: of the input into `into`, and of the butterflies into
    /// `sums`, added to what is there if `accumulate`. A row whose gradient is 0 throughout gives 0.
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    #[expect(clippy::too_many_arguments, reason = "what a pass backward reads and writes")]
    pub fn backward(
        &self,
        client: &Client,
        input: &Rows,
        grad: &Rows,
        into: &Rows,
        sums: &NetworkGradients,
        rows: usize,
        accumulate: bool,
    ) -> Result<(), KernelError> {
        let passes = self.passes(client, plan::backward)?;
        let (limits, gated) = (Limits::of(client), self.gates.is_some());
        let earlier = passes[..passes.len() - 1].iter().map(|pass| {
            let forward = plan::forward(pass.length, pass.first, pass.stages, gated, &limits);
            forward.ok_or_else(|| self.too_long(client))
        });
        let earlier: Vec<Pass> = earlier.collect::<Result<_, _>>()?;
        let tables = self.tables(client, &earlier);
        // What each pass but the first reads, and the gradients of that.
        let scratch = 4 * earlier.len() * self.n;
        for chunk in grid::chunks(client, rows, scratch, self.n) {
            let [input, grad, into] = [input, grad, into].map(|rows| rows.from(chunk.start, self.n));
            let rows = chunk.len();
            let mut inputs = vec![input];
            for (&pass, table) in earlier.iter().zip(&tables) {
                let next = Rows::empty(client, rows * self.n);
                self.forward_pass(client, pass, table, &inputs[inputs.len() - 1], &next, rows);
                inputs.push(next);
            }
            let most = (rows / NETWORK_ROWS).max(FILLING.div_ceil(self.n)).min(NETWORK_RUNS);
            let runs = Runs::of(rows, 3 * self.pairs(), most);
            let partial = NetworkGradients {
                twiddles: empty(client, runs.count * 2 * self.pairs()),
                gates: empty(client, runs.count * self.pairs()),
            };
            let mut grad = grad;
            for (i, pass) in passes.iter().enumerate().rev() {
                let next = if i == 0 { into.clone() } else { Rows::empty(client, rows * self.n) };
                self.backward_pass(client, *pass, &inputs[i], &grad, &next, &partial, rows, runs);
                grad = next;
            }
            let accumulate = accumulate || chunk.start > 0;
            reduce(client, partial.twiddles, runs.count, 2 * self.pairs(), &sums.twiddles, accumulate);
            if self.gates.is_some() {
                reduce(client, partial.gates, runs.count, self.pairs(), &sums.gates, accumulate);
            }
        }
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "they are the kernel's")]
    fn backward_pass(
        &self,
        client: &Client,
        pass: Pass,
        input: &Rows,
        grad: &Rows,
        into: &Rows,
        sums: &NetworkGradients,
        rows: usize,
        runs: Runs,
    ) {
        let count = runs.count << pass.cuts();
        let values = rows * self.n;
        // SAFETY: as in `forward_pass`; there is a row of sums for every run.
        unsafe {
            backward::backward::launch_unchecked(
                client,
                grid::cubes(client, count.div_ceil(pass.tiles as usize)),
                CubeDim::new_1d(pass.cube_units()),
                floats(&input.re, values),
                floats(input.imaginary(), values),
                self.twiddle_buffer(),
                self.gate_buffer(),
                floats(&grad.re, values),
                floats(grad.imaginary(), values),
                floats(&into.re, values),
                floats(into.imaginary(), values),
                buffer::<[f32; 2]>(&sums.twiddles, runs.count * self.pairs()),
                floats(&sums.gates, runs.count * self.pairs()),
                rows as u32,
                runs.length as u32,
                pass,
                self.gates.is_some(),
                input.im.is_none(),
            );
        }
    }

    /// What the launches of `passes` forward read besides values: of a network with gates its butterflies, of others the masks of the
    /// stages; anything for the roots, which have their own.
    fn tables(&self, client: &Client, passes: &[Pass]) -> Vec<Handle> {
        match &self.gates {
            Some(gates) => passes.iter().map(|&pass| packed::packed(client, &self.twiddles, gates, pass)).collect(),
            None if self.roots || passes.is_empty() => vec![self.twiddles.clone(); passes.len()],
            None => vec![masks::masks(client, &self.twiddles, self.n); passes.len()],
        }
    }

    fn passes(&self, client: &Client, launch: plan::Launch) -> Result<Vec<Pass>, KernelError> {
        plan::passes(self.length(), self.gates.is_some(), &Limits::of(client), launch)
            .ok_or_else(|| self.too_long(client))
    }

    fn too_long(&self, client: &Client) -> KernelError {
        let limits = Limits::of(client);
        KernelError {
            operation: "butterfly",
            what: "a part of a row in shared memory",
            needed: (self.n.isqrt() * size_of::<Complex>()) as u64,
            available: limits.shared as u64,
        }
    }
}

/// How rows are shared out for sums over them: it follows from shapes alone, so that sums do too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Runs {
    pub count: usize,
    /// Rows of a run, the last one's fewer.
    pub length: usize,
}

impl Runs {
    /// At most `most` runs of `rows` rows, each making `width` sums.
    pub fn of(rows: usize, width: usize, most: usize) -> Self {
        let count = rows.min(most).min((SUMS / width).max(1)).max(1);
        let length = rows.div_ceil(count).max(1);
        Self { count: rows.div_ceil(length).max(1), length }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_cover_the_rows() {
        for (rows, width) in [(1, 36), (5, 36), (4096, 3072), (1_048_576, 3072), (100, 1_572_864), (0, 36)] {
            let Runs { count, length } = Runs::of(rows, width, RUNS);
            assert!(count * length >= rows && (count - 1) * length < rows.max(1), "{rows}");
            assert!(count <= RUNS && (count == 1 || count * width <= SUMS), "{rows}");
        }
    }
}
