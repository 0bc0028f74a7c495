//! A Welch estimate in one launch: its layout on a device, decided from the device's limits, as plain data.

use crate::gpu::device::Limits;
use crate::gpu::transform::cube_layout::{CubeLayout, Radices};
use crate::gpu::transform::launch_plan::{Barrier, TableStore, TransformLaunchPlan, TwiddleStore};
use crate::gpu::transform::plan::whole_rows;
use crate::options::PRODUCT_TAPS;
use crate::sample_type::SampleType;

/// Units per team where units of a plane can't exchange values.
const TEAM: u32 = 32;
/// Samples of a launch that fills a device many times over.
const LARGE: u64 = 1 << 27;
/// Rows up to which a team takes half as many at a time, so that there are teams for all processors.
const FEW_ROWS: u32 = 32_768;
/// Bins up to which the rank of each is counted.
const MOST_RANKED: u32 = 17;
/// Processors assumed where the device does not report them.
const PROCESSORS: u32 = 128;

/// Search for the strongest bins of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TopK {
    /// The rank of every bin is the number of bins before it. For up to 17 bins that are searched.
    Rank,
    /// Bitonic sort of all bins in shared memory. For any number of peaks, on any device.
    Sort,
    /// Up to 16 peaks: `lanes` units of a plane sort 16 bins at a time on 32-bit keys, and merge over shuffles.
    SortingNetwork {
        /// Units per row.
        lanes: u32,
    },
    /// Up to 16 peaks of a row that has a cube to itself: bins that reach a bound from the planes' strongest are ranked.
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

/// Layout of a Welch estimate in one launch.
///
/// A team of units takes `rows` rows at a time, and transforms `team / units` of them at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FusedWelchPlan {
    pub samples: SampleType,
    /// The transform of a pair of segments; its sequences are the rows that a cube transforms at once.
    pub launch: TransformLaunchPlan,
    /// Units per team.
    pub team: u32,
    /// Teams per cube.
    pub teams: u32,
    /// Units per plane, or 1 where units of a plane can't exchange values.
    pub plane: u32,
    /// Rows a team takes at a time.
    pub rows: u32,
    /// Whether units of a row exchange values through shuffles.
    pub shuffles: bool,
    pub window: TableStore,
    pub segments: u32,
    /// Whether segments overlap by half, so that a unit keeps the samples that two of them share.
    pub half_overlap: bool,
    pub detrend: bool,
    /// Whether power is multiplied by a factor of the scaling.
    pub scaled: bool,
    /// Factors per bin of the gain; 0 for none.
    pub gain_taps: usize,
    /// Cubes per processor of a persistent launch, which take rows until all are done; `None` is a cube per few rows.
    pub persistent_cubes_per_sm: Option<u32>,
    /// Whether peaks are searched in a part of the bins. Which part is no part of a plan: a kernel takes any.
    pub banded: bool,
    /// Search for peaks, of any number; `None` writes the power of every bin.
    pub top_k: Option<TopK>,
}

impl WelchProblem {
    const fn row_samples(&self) -> u64 {
        self.n as u64 + (self.segments as u64 - 1) * self.hop as u64
    }
}

impl FusedWelchPlan {
    /// Samples of a segment.
    pub const fn n(&self) -> u32 {
        self.launch.layout.n
    }

    /// Units per row.
    pub const fn units(&self) -> u32 {
        self.launch.layout.units
    }

    /// Values of a row per unit: unit t holds the values t + units·c.
    pub const fn values(&self) -> u32 {
        self.n() / self.units()
    }

    pub const fn bins(&self) -> u32 {
        self.n() / 2 + 1
    }

    /// Rows a team transforms at once.
    pub const fn slots(&self) -> u32 {
        self.team / self.units()
    }

    /// Values from one row of power in shared memory to the next.
    pub const fn power_stride(&self) -> u32 {
        self.n() / 2 + self.lanes_of_search()
    }
}

/// A Welch estimate to be planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WelchProblem {
    pub samples: SampleType,
    /// Samples of a segment: a power of two from 8 to 65,536.
    pub n: u32,
    pub hop: u32,
    pub segments: u32,
    pub detrend: bool,
    /// Whether power is multiplied by a factor of the scaling.
    pub scaled: bool,
    /// Factors per bin of the gain; 0 for none.
    pub gain_taps: usize,
    pub rows: u32,
    /// Peaks per row; 0 for the power of every bin.
    pub k: u32,
    /// Number of bins among which peaks are searched.
    pub searched: u32,
}

impl FusedWelchPlan {
    /// The plan of a call on a device, if its transform fits a cube.
    pub fn of(call: WelchProblem, limits: &Limits) -> Option<Self> {
        let layout = layout(call.n, limits)?;
        let (units, passes, values) = (layout.units, layout.radices.count(), call.n / layout.units);
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
        let kept = passes == 2 && values == 16;
        let large = call.rows as u64 * call.row_samples() >= LARGE;
        let (teams, persistent_cubes_per_sm) = match barrier {
            Barrier::Cube => (1, (team >= 256).then_some(2)),
            Barrier::Plane if kept && large => (16, Some(1)),
            Barrier::Plane => (4, None),
        };
        let twiddles = match (passes, values) {
            (2, 16) if !has_products => TableStore::Registers,
            (1, _) | (_, 32) => TableStore::Memory,
            _ => TableStore::Shared,
        };
        let twiddles = TwiddleStore::Table(twiddles);
        let mut plan = Self {
            samples: call.samples,
            launch: TransformLaunchPlan { barrier, twiddles, ..whole_rows(layout, call.n) },
            team,
            teams,
            plane: limits.plane.unwrap_or(1),
            rows,
            shuffles,
            window: match values {
                8 | 16 if passes <= 2 && call.segments <= 2 && !has_products => TableStore::Registers,
                32 if teams == 1 => TableStore::Memory,
                _ => TableStore::Shared,
            },
            persistent_cubes_per_sm,
            segments: call.segments,
            half_overlap: 2 * call.hop == call.n || call.segments == 1,
            detrend: call.detrend,
            scaled: call.scaled,
            gain_taps: call.gain_taps,
            banded: call.k > 0 && call.searched < call.n / 2 + 1,
            top_k,
        };
        // Fewer teams per cube, if their exchange buffers do not fit.
        while plan.shared_bytes() > limits.shared && plan.teams > 1 {
            plan.teams /= 2;
            plan.persistent_cubes_per_sm = None;
        }
        if 2 * plan.shared_bytes() > limits.shared && plan.teams == 1 {
            // With tables in shared memory a processor would hold one cube only.
            if plan.window == TableStore::Shared {
                plan.window = TableStore::Memory;
            }
            if plan.launch.twiddles == TwiddleStore::Table(TableStore::Shared) {
                plan.launch.twiddles = TwiddleStore::Table(TableStore::Memory);
            }
        }
        plan.launch.layout.sequences = plan.teams * plan.slots();
        (plan.shared_bytes() <= limits.shared && plan.team * plan.teams <= limits.units).then_some(plan)
    }

    /// Cubes of a launch; each goes on to further rows until all are done.
    pub fn cubes(&self, rows: u32, limits: &Limits) -> u32 {
        let groups = rows.div_ceil(self.rows * self.teams);
        let most =
            self.persistent_cubes_per_sm.map_or(limits.cubes, |cubes| cubes * limits.processors.unwrap_or(PROCESSORS));
        groups.min(most).min(limits.cubes)
    }

    pub const fn shared_bytes(&self) -> usize {
        let exchange = 8 * self.slots() * self.launch.layout.sequence_stride;
        let power = 4 * self.rows * self.power_stride();
        let window = if matches!(self.window, TableStore::Shared) { 4 * self.n() } else { 0 };
        let keeps = matches!(self.launch.twiddles, TwiddleStore::Table(TableStore::Shared));
        let twiddles = if keeps { 8 * self.launch.table_len() } else { 0 };
        (self.teams * (exchange + power) + window + twiddles) as usize + 4 * self.gain_len()
    }

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

    /// Values of the gain in shared memory.
    pub const fn gain_len(&self) -> usize {
        self.gain_taps * self.bins() as usize
    }
}

/// The transform of a row of n values, a power of two, on a device: units hold as many values as a pass transforms, of
/// which the last one may transform fewer at a time.
fn layout(n: u32, limits: &Limits) -> Option<CubeLayout> {
    let values: u32 = match n {
        ..=8 => 8,
        // Two passes in one plane instead of three in two: under CUDA, whose devices report their processors.
        // Elsewhere compilers run out of registers.
        1024 if limits.plane == Some(32) && limits.processors.is_some() => 32,
        _ => 16,
    };
    let whole = n.ilog2() / values.ilog2();
    let rest = n >> (whole * values.ilog2());
    let radices: Vec<u32> = (0..whole).map(|_| values).chain((rest > 1).then_some(rest)).collect();
    Some(CubeLayout::new(n, Radices::new(&radices)?, n / values).with_padding(values, 1))
}
