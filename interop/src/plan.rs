//! Launch plans: the launches of an operation for one layout of its inputs, to be replayed on any addresses and any
//! stream.

use std::collections::HashMap;
use std::fmt::{self, Write as _};

use burn::tensor::DType;

#[cfg(not(feature = "cuda"))]
use {crate::InteropError, std::ffi::c_void};

/// Bytes to which temporary arrays are aligned.
pub const WORKSPACE_ALIGNMENT: u64 = 512;

/// The most arguments of a kernel.
pub const MAX_ARGUMENTS: usize = 23;

/// Source of an address at a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Slot {
    /// The input at this position.
    Input(u16),
    /// The output at this position.
    Output(u16),
    /// The memory that the caller provides for temporary arrays.
    Workspace,
    /// A table on the device, at this address.
    Constant(u64),
}

/// A compiled kernel on its device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// The driver's handle; 0 where it was compiled for a device that is not there.
    pub function: usize,
    /// Name of the entry point.
    pub name: String,
    /// Threads of a block along each dimension.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u32,
}

/// One launch, with arguments of a plan or of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch<A = u16> {
    /// The kernel.
    pub kernel: Kernel,
    /// Blocks along each dimension.
    pub grid: [u32; 3],
    /// Arguments: positions among the plan's addresses.
    pub arguments: Vec<A>,
    /// Lengths, shapes and scalars: the last argument, passed by value.
    pub info: Vec<u64>,
}

/// Shape and type of an output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// Length of each dimension.
    pub shape: Vec<i64>,
    /// Values from one index of a dimension to the next.
    pub strides: Vec<i64>,
    /// Type of the values: f32, i32 or i64.
    pub dtype: DType,
}

/// A launch plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The operation as text, which errors name.
    pub operation: String,
    /// Launches, in their order.
    pub launches: Vec<Launch>,
    /// Distinct addresses: their sources, and offsets in bytes.
    pub addresses: Vec<(Slot, u64)>,
    /// Bytes of temporary memory, aligned to [`WORKSPACE_ALIGNMENT`].
    pub workspace: u64,
    /// The outputs.
    pub outputs: Vec<Output>,
    /// Number of inputs.
    pub inputs: usize,
    /// The driver's context of the device; 0 where it is not there.
    pub context: usize,
}

#[cfg(not(feature = "cuda"))]
impl Plan {
    /// An error, as builds without the feature `cuda` launch nothing.
    ///
    /// # Safety
    /// Nothing is launched.
    pub(crate) unsafe fn launch(&self, _: &[u64], _: &[u64], _: u64, _: *mut c_void) -> Result<(), InteropError> {
        Err(InteropError::without_cuda(&self.operation))
    }
}

/// A launch as it was recorded: of each argument its memory, by its number, and an offset in bytes.
pub type RecordedLaunch = Launch<(usize, u64)>;

/// All of an operation that was recorded.
#[derive(Debug, Default)]
pub struct Recording {
    /// Launches, in their order.
    pub launches: Vec<RecordedLaunch>,
    /// Bytes of memory by its number.
    pub sizes: HashMap<usize, u64>,
    /// Memory that is not temporary, by its number.
    pub slots: HashMap<usize, Slot>,
}

/// Launches on addresses that a call provides.
#[derive(Debug, PartialEq, Eq)]
pub struct Resolved {
    /// As [`Plan::launches`].
    pub launches: Vec<Launch>,
    /// As [`Plan::addresses`].
    pub addresses: Vec<(Slot, u64)>,
    /// As [`Plan::workspace`].
    pub workspace: u64,
}

impl Recording {
    /// The launches, with temporary memory in one block.
    ///
    /// # Errors
    /// A text, if a launch uses memory that was not recorded, or has more arguments than a plan holds.
    pub fn resolve(self) -> Result<Resolved, String> {
        let (offsets, workspace) = self.temporary_memory()?;
        let mut addresses: Vec<(Slot, u64)> = Vec::new();
        let mut launches = Vec::new();
        // A grid without blocks launches nothing, and the driver refuses it.
        for launch in self.launches.into_iter().filter(|launch| !launch.grid.contains(&0)) {
            if launch.arguments.len() > MAX_ARGUMENTS {
                return Err(format!("{} has {} arguments", launch.kernel.name, launch.arguments.len()));
            }
            let mut position = |(memory, offset): (usize, u64)| {
                let address = match self.slots.get(&memory) {
                    Some(&slot) => (slot, offset),
                    None => (Slot::Workspace, offsets[&memory] + offset),
                };
                let known = addresses.iter().position(|known| *known == address);
                known.unwrap_or_else(|| {
                    addresses.push(address);
                    addresses.len() - 1
                }) as u16
            };
            let arguments = launch.arguments.into_iter().map(&mut position).collect();
            launches.push(Launch { kernel: launch.kernel, grid: launch.grid, arguments, info: launch.info });
        }
        Ok(Resolved { launches, addresses, workspace })
    }

    /// Offsets of temporary memory by its number, and the bytes that hold all of it: two arrays overlap only where the
    /// last launch that uses one is before the first that uses the other. Large arrays are placed first, each at the
    /// lowest offset that is free for its lifetime.
    fn temporary_memory(&self) -> Result<(HashMap<usize, u64>, u64), String> {
        let mut lives: Vec<(usize, u64, usize, usize)> = Vec::new();
        for (at, launch) in self.launches.iter().enumerate() {
            for &(memory, _) in launch.arguments.iter().filter(|(memory, _)| !self.slots.contains_key(memory)) {
                match lives.iter_mut().find(|life| life.0 == memory) {
                    Some(life) => life.3 = at,
                    None => {
                        let size = self.sizes.get(&memory).ok_or("a launch uses memory that was not recorded")?;
                        lives.push((memory, size.max(&1).next_multiple_of(WORKSPACE_ALIGNMENT), at, at));
                    }
                }
            }
        }
        lives.sort_by_key(|life| std::cmp::Reverse(life.1));
        let (mut placed, mut offsets, mut total): (Vec<(u64, u64, usize, usize)>, _, _) = (vec![], HashMap::new(), 0);
        for (memory, size, first, last) in lives {
            let mut busy: Vec<(u64, u64)> = placed
                .iter()
                .filter(|other| other.2 <= last && first <= other.3)
                .map(|other| (other.0, other.0 + other.1))
                .collect();
            busy.sort_unstable();
            let mut offset = 0;
            for (start, end) in busy {
                if offset + size <= start {
                    break;
                }
                offset = offset.max(end);
            }
            placed.push((offset, size, first, last));
            offsets.insert(memory, offset);
            total = total.max(offset + size);
        }
        Ok((offsets, total))
    }
}

/// The plan as text, a line per launch.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shapes: Vec<_> = self.outputs.iter().map(|output| &output.shape).collect();
        let (count, bytes) = (self.launches.len(), self.workspace);
        writeln!(f, "{}: {count} launches, {bytes} bytes of temporary memory, outputs {shapes:?}", self.operation)?;
        for Launch { kernel, grid, arguments, info } in &self.launches {
            let mut addresses = String::new();
            for &argument in arguments {
                let (slot, offset) = self.addresses[usize::from(argument)];
                write!(addresses, " {slot:?}+{offset}")?;
            }
            let (name, block, shared, words) = (&kernel.name, kernel.block, kernel.shared, info.len());
            writeln!(f, "  {name} grid {grid:?} block {block:?} shared {shared} info {words}:{addresses}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(grid: u32, arguments: &[(usize, u64)]) -> RecordedLaunch {
        let kernel = Kernel { function: 0, name: "kernel".into(), block: [32, 1, 1], shared: 0 };
        RecordedLaunch { kernel, grid: [grid, 1, 1], arguments: arguments.to_vec(), info: vec![7] }
    }

    /// Memory 0 is the input and 1 the output; 2, 3 and 4 are temporary.
    fn recording(launches: Vec<RecordedLaunch>) -> Recording {
        let slots = [(0, Slot::Input(0)), (1, Slot::Output(0))].into();
        Recording { launches, sizes: [(2, 1000), (3, 100), (4, 1000)].into(), slots }
    }

    #[test]
    fn arrays_share_memory_where_their_lifetimes_do_not_meet() {
        let chain = vec![launch(1, &[(0, 0), (2, 0)]), launch(1, &[(2, 0), (3, 8)]), launch(1, &[(3, 8), (4, 0)])];
        let Resolved { launches, addresses, workspace } = recording(chain).resolve().expect("all memory is known");
        // The third array takes the place of the first, the second lies behind them.
        assert_eq!(workspace, 1024 + 512);
        assert_eq!(addresses, [(Slot::Input(0), 0), (Slot::Workspace, 0), (Slot::Workspace, 1024 + 8)]);
        assert_eq!(launches[2].arguments, [2, 1]);
    }

    #[test]
    fn arrays_that_live_together_lie_apart() {
        let Resolved { addresses, workspace, .. } =
            recording(vec![launch(1, &[(2, 0), (4, 0), (3, 0), (1, 4)])]).resolve().unwrap();
        assert_eq!(workspace, 1024 + 1024 + 512);
        let expected = [(Slot::Workspace, 0), (Slot::Workspace, 1024), (Slot::Workspace, 2048), (Slot::Output(0), 4)];
        assert_eq!(addresses, expected);
    }

    #[test]
    fn memory_that_was_not_recorded_is_an_error() {
        assert!(recording(vec![launch(1, &[(9, 0)])]).resolve().is_err());
        assert!(recording(vec![launch(1, &[(0, 0); MAX_ARGUMENTS + 1])]).resolve().is_err());
    }

    #[test]
    fn grids_without_blocks_are_left_out() {
        let Resolved { launches, .. } = recording(vec![launch(0, &[(0, 0)]), launch(2, &[(0, 0)])]).resolve().unwrap();
        assert_eq!(launches.len(), 1);
        assert_eq!(launches[0].grid, [2, 1, 1]);
    }
}
