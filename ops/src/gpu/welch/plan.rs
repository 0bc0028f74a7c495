//! A Welch estimate in one launch: its layout on a device, decided from the device's limits, as plain data that prints.

use std::fmt;

use super::layout::TransformLayout;
use crate::gpu::device::Limits;
use crate::open_blocks::OpenBlocks;
use crate::ops::PRODUCT_TAPS;

/// Units per team where units of a plane can't exchange values.
const TEAM: u32 = 32;
/// Samples of a launch that fills a device many times over.
const LARGE: u64 = 1 << 27;
/// Rows up to which a team takes half as many at a time, so that there are teams for all processors.
const FEW_ROWS: u32 = 32_768;
/// Bins up to which the rank of each is counted.
const MOST_RANKED: u32 = 17;
/// Blocks of bins of which every one is open.
pub const ALL_OPEN: u32 = u32::MAX;
/// Processors assumed where the device does not report them.
const PROCESSORS: u32 = 128;

/// Search for the strongest bins of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TopK {
    /// The rank of every bin is the number of bins before it. For up to 17 bins that are searched.
    Rank,
    /// Bitonic sort of all bins in shared memory. For any number of peaks, on any device.
    Sort,
    /// Up to 16 peaks: `lanes` units of a plane sort 16 bins at a time on 32-bit keys, by a sorting network, and merge
    /// over shuffles.
    SortingNetwork {
        /// Units per row.
        lanes: u32,
    },
    /// Up to 16 peaks of a row that has a cube to itself: the bins that reach a bound from each plane's strongest bins
    /// are ranked.
    Bound,
}

impl TopK {
    /// The fastest search for a call.
    fn of(call: WelchProblem, planes: bool) -> Self {
        let lanes = match call.n {
            256 if call.rows > FEW_ROWS => 4,
            1024 => 16,
            n => (n / 32).clamp(1, 8),
        };
        match call.k {
            _ if call.searched <= MOST_RANKED => Self::Rank,
            1..=16 if planes && call.n <= 1024 => Self::SortingNetwork { lanes },
            1..=16 if planes => Self::Bound,
            _ => Self::Sort,
        }
    }
}

/// The barrier that units of a team wait at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Barrier {
    /// A plane's own barrier: a cube holds several teams.
    Plane,
    /// The cube's barrier: a cube is one team.
    Cube,
}

/// Memory that units read the window or the twiddles from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TableStore {
    /// Registers, loaded once.
    Registers,
    /// Shared memory of the cube, loaded once.
    Shared,
    /// Device memory and its caches, at every use.
    Memory,
}

/// Layout of a Welch estimate in one launch.
///
/// A team of units takes `rows` rows at a time, and transforms `team / units` of them at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FusedWelchPlan {
    /// The transform of a pair of segments.
    pub layout: TransformLayout,
    /// Units per team.
    pub team: u32,
    /// Teams per cube.
    pub teams: u32,
    /// Units per plane, or 1 where units of a plane can't exchange values.
    pub plane: u32,
    /// Rows a team takes at a time.
    pub rows: u32,
    /// The barrier of a team.
    pub barrier: Barrier,
    /// Whether units of a row exchange values through shuffles.
    pub shuffles: bool,
    /// Memory of the window.
    pub window: TableStore,
    /// Memory of the twiddles.
    pub twiddles: TableStore,
    /// Samples of the signal that are added up to one of a segment.
    pub summed: u32,
    /// Segments per frame.
    pub segments: u32,
    /// Whether segments overlap by half, so that a unit keeps the samples that two of them share.
    pub half_overlap: bool,
    /// Whether the mean of a segment is subtracted.
    pub detrend: bool,
    /// Whether power is multiplied by a factor of the scaling.
    pub scaled: bool,
    /// Factors per bin of the gain of learned power; 0 for none.
    pub gain_taps: usize,
    /// Cubes per processor of a persistent launch, whose cubes take further rows until all are done; `None` is a cube
    /// per few rows.
    pub persistent_cubes_per_sm: Option<u32>,
    /// Whether peaks are searched in a part of the bins. Which part is no part of a plan: a kernel takes any.
    pub banded: bool,
    /// The blocks of sixteen bins, from the first one that is searched on, that a search by a sorting network takes: a bit
    /// for each. Bins behind the last whole block belong to it.
    pub open: u32,
    /// Search for peaks; `None` writes the power of every bin. The number of peaks is no part of a plan: a kernel takes
    /// any.
    pub top_k: Option<TopK>,
}

impl WelchProblem {
    /// Samples of a row.
    const fn samples(&self) -> u64 {
        (self.n as u64 + (self.segments as u64 - 1) * self.hop as u64) * self.summed as u64
    }
}

impl FusedWelchPlan {
    /// One-sided bins.
    pub const fn bins(&self) -> u32 {
        self.layout.n / 2 + 1
    }

    /// Rows a team transforms at once.
    pub const fn slots(&self) -> u32 {
        self.team / self.layout.units()
    }

    /// Values from one row of power in shared memory to the next.
    pub const fn power_stride(&self) -> u32 {
        self.layout.n / 2 + self.lanes_of_search()
    }
}

impl fmt::Display for FusedWelchPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TransformLayout { n, values } = self.layout;
        write!(f, "n {n}: {} units of {values} values per row, {} rows", self.layout.units(), self.rows)?;
        write!(f, " per team of {}, {} teams per cube ({:?} barrier)", self.team, self.teams, self.barrier)?;
        write!(f, ", window in {:?}, twiddles in {:?}", self.window, self.twiddles)?;
        if let Some(top_k) = self.top_k {
            write!(f, ", peaks by {top_k:?}")?;
        }
        write!(f, ", {} bytes of shared memory", self.shared_bytes())
    }
}

/// A Welch estimate to be planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WelchProblem {
    /// Samples of a segment: a power of two from 8 to 65,536.
    pub n: u32,
    /// Samples from one segment's start to the next.
    pub hop: u32,
    /// Samples that are added up to one.
    pub summed: u32,
    /// Segments per frame.
    pub segments: u32,
    /// Whether the mean of a segment is subtracted.
    pub detrend: bool,
    /// Whether power is multiplied by a factor of the scaling.
    pub scaled: bool,
    /// Factors per bin of the gain of learned power; 0 for none.
    pub gain_taps: usize,
    /// Rows.
    pub rows: u32,
    /// Peaks per row; 0 for the power of every bin.
    pub k: u32,
    /// Number of bins among which peaks are searched.
    pub searched: u32,
    /// The blocks of these bins that are searched.
    pub open: OpenBlocks,
}

impl FusedWelchPlan {
    /// The plan of a call on a device, if its transform fits a cube.
    pub fn of(call: WelchProblem, limits: &Limits) -> Option<Self> {
        let layout = TransformLayout::of(call.n, limits);
        let (units, passes) = (layout.units(), layout.passes());
        let plane = limits.plane.unwrap_or(TEAM);
        let shuffles = limits.plane.is_some() && units <= plane;
        let team = units.max(plane);
        let top_k = (call.k > 0).then(|| TopK::of(call, limits.plane.is_some()));
        let rows = match top_k {
            Some(TopK::SortingNetwork { lanes }) => team / lanes,
            Some(TopK::Rank | TopK::Sort | TopK::Bound) | None => team / units,
        };
        // Outside CUDA, whose devices report their processors, cubes of one plane are faster than barriers of planes.
        let planes = limits.plane_barrier && limits.processors.is_some();
        let barrier = if planes && shuffles { Barrier::Plane } else { Barrier::Cube };
        // Tables of one later pass of radix 16 fit a unit's registers, unless products of neighbours need them.
        let has_products = call.gain_taps == PRODUCT_TAPS;
        let kept = passes == 2 && layout.values == 16;
        let large = call.rows as u64 * call.samples() >= LARGE;
        let (teams, persistent_cubes_per_sm) = match barrier {
            Barrier::Cube => (1, (team >= 256).then_some(2)),
            Barrier::Plane if kept && large => (16, Some(1)),
            Barrier::Plane => (4, None),
        };
        let mut plan = Self {
            layout,
            team,
            teams,
            plane: limits.plane.unwrap_or(1),
            rows,
            barrier,
            shuffles,
            window: match layout.values {
                8 | 16 if passes <= 2 && call.segments <= 2 && !has_products => TableStore::Registers,
                32 if teams == 1 => TableStore::Memory,
                _ => TableStore::Shared,
            },
            twiddles: match (passes, layout.values) {
                (2, 16) if !has_products => TableStore::Registers,
                (1, _) | (_, 32) => TableStore::Memory,
                _ => TableStore::Shared,
            },
            persistent_cubes_per_sm,
            summed: call.summed,
            segments: call.segments,
            half_overlap: 2 * call.hop == call.n || call.segments == 1,
            detrend: call.detrend,
            scaled: call.scaled,
            gain_taps: call.gain_taps,
            banded: call.k > 0 && call.searched < call.n / 2 + 1,
            open: match top_k {
                Some(TopK::SortingNetwork { .. }) => call.open.low_bits(),
                Some(TopK::Rank | TopK::Sort | TopK::Bound) | None => ALL_OPEN,
            },
            top_k,
        };
        // Fewer teams per cube, if their exchange buffers do not fit.
        while plan.shared_bytes() > limits.shared && plan.teams > 1 {
            plan.teams /= 2;
            plan.persistent_cubes_per_sm = None;
        }
        if 2 * plan.shared_bytes() > limits.shared && plan.teams == 1 {
            // With tables in shared memory a processor would hold one cube only.
            for table in [&mut plan.window, &mut plan.twiddles] {
                if *table == TableStore::Shared {
                    *table = TableStore::Memory;
                }
            }
        }
        (plan.shared_bytes() <= limits.shared && plan.team * plan.teams <= limits.units).then_some(plan)
    }

    /// Cubes of a launch; each goes on to further rows until all are done.
    pub fn cubes(&self, rows: u32, limits: &Limits) -> u32 {
        let groups = rows.div_ceil(self.rows * self.teams);
        let most =
            self.persistent_cubes_per_sm.map_or(limits.cubes, |cubes| cubes * limits.processors.unwrap_or(PROCESSORS));
        groups.min(most).min(limits.cubes)
    }

    /// Bytes of shared memory per cube.
    pub const fn shared_bytes(&self) -> usize {
        let exchange = 8 * self.slots() * self.layout.exchange_len();
        let power = 4 * self.rows * self.power_stride();
        let window = if matches!(self.window, TableStore::Shared) { 4 * self.layout.n } else { 0 };
        let twiddles = if matches!(self.twiddles, TableStore::Shared) { 8 * self.layout.table_len() } else { 0 };
        (self.teams * (exchange + power) + window) as usize + twiddles + 4 * self.gain_len()
    }

    /// Whether the gain takes products of neighbours.
    pub const fn has_products(&self) -> bool {
        self.gain_taps == PRODUCT_TAPS
    }

    /// Units that search a row by a sorting network.
    pub const fn lanes_of_search(&self) -> u32 {
        match self.top_k {
            Some(TopK::SortingNetwork { lanes }) => lanes,
            Some(TopK::Rank | TopK::Sort | TopK::Bound) | None => 1,
        }
    }

    /// Whether blocks of bins are left out of the search.
    pub const fn has_closed(&self) -> bool {
        self.open != ALL_OPEN
    }

    /// Number of open blocks of a row whose bins are all searched but for those of closed blocks.
    pub const fn open_blocks(&self) -> u32 {
        let blocks = self.layout.n / 32;
        let bits = if blocks < 32 { (1 << blocks) - 1 } else { ALL_OPEN };
        (self.open & bits).count_ones()
    }

    /// Block number `index` of those that are open, if there are as many.
    pub fn open_block(&self, index: u32) -> Option<u32> {
        (0..self.layout.n / 32).filter(|block| self.open >> block & 1 == 1).nth(index as usize)
    }

    /// Whether bins are searched from `first` on, as many as `count`, of a row whose bins are all searched but for those
    /// of closed blocks.
    pub const fn is_open(&self, first: u32, count: u32) -> bool {
        let blocks = (first + count - 1) / 16 - first / 16 + 1;
        let bits = if blocks < 32 { (1 << blocks) - 1 } else { ALL_OPEN };
        self.banded || !self.has_closed() || self.open >> (first / 16) & bits != 0
    }

    /// Values of the gain in shared memory.
    pub const fn gain_len(&self) -> usize {
        self.gain_taps * self.bins() as usize
    }
}
