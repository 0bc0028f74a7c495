//! How a Welch call is laid out on a device: decided from its limits, as data that can be printed and tested.

use std::fmt;

use super::layout::Layout;
use super::limits::Limits;

/// How the strongest bins of a row are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TopK {
    /// Every bin counts the bins before it. For a handful of bins.
    Rank,
    /// A sort of all bins in shared memory. For any number of peaks, on any device.
    Sort,
    /// Up to 16 peaks: `lanes` units of a plane sort 16 bins at a time on 32-bit keys and merge over shuffles.
    Network {
        /// Units for one row.
        lanes: u32,
    },
    /// Up to 16 peaks of a row that has a cube to itself: the bins above a bound from each plane's strongest are ranked.
    Bound,
}

impl TopK {
    /// The fastest form for a call.
    fn of(call: Call, planes: bool) -> Self {
        let lanes = match call.n {
            256 if call.rows > FEW_ROWS => 4,
            1024 => 16,
            n => (n / 32).clamp(1, 8),
        };
        match call.k {
            _ if call.n <= 32 => Self::Rank,
            1..=16 if planes && call.n <= 1024 => Self::Network { lanes },
            1..=16 if planes => Self::Bound,
            _ => Self::Sort,
        }
    }
}

/// What units wait for each other with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Barrier {
    /// A plane's own barrier: a cube holds several teams.
    Plane,
    /// The cube's barrier: a cube is one team.
    Cube,
}

/// Where units have the window or the twiddles from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Store {
    /// Registers, loaded once.
    Registers,
    /// Shared memory of the cube, loaded once.
    Shared,
    /// Device memory, and its caches, each time.
    Memory,
}

/// A Welch estimate in one launch: a team of units takes `rows` rows at a time, `team / units` of them at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fused {
    /// The transform of a pair of segments.
    pub layout: Layout,
    /// Units of a team.
    pub team: u32,
    /// Teams of a cube.
    pub teams: u32,
    /// Units of a plane, or 1 where planes exchange nothing.
    pub plane: u32,
    /// Rows a team takes at a time.
    pub rows: u32,
    /// What a team synchronises with.
    pub barrier: Barrier,
    /// Whether units of a row exchange values through shuffles.
    pub shuffles: bool,
    /// Where the window is.
    pub window: Store,
    /// Where the twiddles are.
    pub twiddles: Store,
    /// Segments of a frame.
    pub segments: u32,
    /// Whether segments overlap by half, so that a unit keeps the samples two of them share.
    pub halves: bool,
    /// Whether a segment's mean is taken off.
    pub detrend: bool,
    /// Whether power is multiplied by a factor of the scaling.
    pub scaled: bool,
    /// Cubes of a processor, if they stay for all rows; else there is one for every few rows.
    pub stay: Option<u32>,
    /// How peaks are found, where they are asked for. How many is no part of a plan: another K needs no other kernel.
    pub top_k: Option<TopK>,
}

impl Call {
    /// Samples of a row.
    const fn samples(&self) -> u64 {
        self.n as u64 + (self.segments as u64 - 1) * self.hop as u64
    }
}

impl Fused {
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
        match self.top_k {
            Some(TopK::Network { lanes }) => self.layout.n / 2 + lanes,
            Some(TopK::Rank | TopK::Sort | TopK::Bound) | None => self.layout.n / 2 + 1,
        }
    }
}

impl fmt::Display for Fused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Layout { n, values } = self.layout;
        write!(f, "n {n}: {} units of {values} values a row, {} rows", self.layout.units(), self.rows)?;
        write!(f, " a team of {}, {} teams a cube ({:?} barrier)", self.team, self.teams, self.barrier)?;
        write!(f, ", window in {:?}, twiddles in {:?}", self.window, self.twiddles)?;
        if let Some(top_k) = self.top_k {
            write!(f, ", peaks by {top_k:?}")?;
        }
        write!(f, ", {} bytes of shared memory", self.shared_bytes())
    }
}

/// A call to be planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// Samples of a segment: a power of two from 8 to 65,536.
    pub n: u32,
    /// Samples from one segment's start to the next.
    pub hop: u32,
    /// Segments of a frame.
    pub segments: u32,
    /// Whether a segment's mean is taken off.
    pub detrend: bool,
    /// Whether power is multiplied by a factor of the scaling.
    pub scaled: bool,
    /// Rows.
    pub rows: u32,
    /// Peaks of a row; 0 where the whole power is asked for.
    pub k: u32,
}

impl Fused {
    /// The plan of a call on a device, if its transform fits a cube.
    pub fn of(call: Call, limits: &Limits) -> Option<Self> {
        let layout = Layout::of(call.n, limits);
        let (units, passes) = (layout.units(), layout.passes());
        let plane = limits.plane.unwrap_or(TEAM);
        let shuffles = limits.plane.is_some() && units <= plane;
        let team = units.max(plane);
        let top_k = (call.k > 0).then(|| TopK::of(call, limits.plane.is_some()));
        let rows = match top_k {
            Some(TopK::Network { lanes }) => team / lanes,
            Some(TopK::Rank | TopK::Sort | TopK::Bound) | None => team / units,
        };
        // Outside CUDA, whose device tells its processors, cubes of one plane are faster than barriers of planes.
        let planes = limits.plane_barrier && limits.processors.is_some();
        let barrier = if planes && shuffles { Barrier::Plane } else { Barrier::Cube };
        // Tables of one later pass of radix 16 fit a unit's registers.
        let kept = passes == 2 && layout.values == 16;
        let large = call.rows as u64 * call.samples() >= LARGE;
        let (teams, stay) = match barrier {
            Barrier::Cube => (1, (team >= 256).then_some(2)),
            Barrier::Plane if kept && call.segments > 2 => (4, Some(6)),
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
                8 | 16 if passes <= 2 && call.segments <= 2 => Store::Registers,
                32 if teams == 1 => Store::Memory,
                _ => Store::Shared,
            },
            twiddles: match (passes, layout.values) {
                (2, 16) => Store::Registers,
                (1, _) | (_, 32) => Store::Memory,
                _ => Store::Shared,
            },
            stay,
            segments: call.segments,
            halves: 2 * call.hop == call.n || call.segments == 1,
            detrend: call.detrend,
            scaled: call.scaled,
            top_k,
        };
        while plan.shared_bytes() > limits.shared && plan.teams > 1 {
            plan.teams /= 2;
            plan.stay = None;
        }
        if 2 * plan.shared_bytes() > limits.shared && plan.teams == 1 {
            // Tables would leave a processor room for one cube only.
            for table in [&mut plan.window, &mut plan.twiddles] {
                if *table == Store::Shared {
                    *table = Store::Memory;
                }
            }
        }
        (plan.shared_bytes() <= limits.shared && plan.team * plan.teams <= limits.units).then_some(plan)
    }

    /// Cubes of a launch; they go on to further rows until all are done.
    pub fn cubes(&self, rows: u32, limits: &Limits) -> u32 {
        let groups = rows.div_ceil(self.rows * self.teams);
        let most = self.stay.map_or(limits.cubes, |cubes| cubes * limits.processors.unwrap_or(PROCESSORS));
        groups.min(most).min(limits.cubes)
    }

    /// Bytes of shared memory of a cube.
    pub const fn shared_bytes(&self) -> usize {
        let exchange = 8 * self.slots() * self.layout.exchange_len();
        let power = 4 * self.rows * self.power_stride();
        let window = if matches!(self.window, Store::Shared) { 4 * self.layout.n } else { 0 };
        let twiddles = if matches!(self.twiddles, Store::Shared) { 8 * self.layout.table_len() } else { 0 };
        (self.teams * (exchange + power) + window) as usize + twiddles
    }
}

/// Units of a team where planes exchange nothing.
const TEAM: u32 = 32;
/// Samples from which on a launch fills a device many times over.
const LARGE: u64 = 1 << 27;
/// Rows up to which a team takes half as many at a time, so that there are teams for all processors.
const FEW_ROWS: u32 = 32_768;
/// Processors assumed where the device doesn't tell.
const PROCESSORS: u32 = 128;

#[cfg(test)]
mod tests {
    use super::*;

    const CUDA: Limits = Limits::H200;
    /// The same under WebGPU.
    const WGSL: Limits =
        Limits { plane_barrier: false, shared: 49_152, cubes: 65_535, processors: None, buffer: 1 << 31, ..CUDA };
    /// A software device.
    const PLAIN: Limits = Limits { plane: None, shared: 32_768, ..WGSL };

    fn call(n: u32, segments: u32, rows: u32, k: u32) -> Call {
        Call { n, hop: n / 2, segments, detrend: false, scaled: false, rows, k }
    }

    fn planned(n: u32, segments: u32, rows: u32, k: u32, limits: &Limits) -> Fused {
        Fused::of(call(n, segments, rows, k), limits).unwrap()
    }

    #[test]
    fn the_length_one_launch_takes_follows_from_shared_memory() {
        let longest = |limits: &Limits| {
            (3..=16).map(|log| 1 << log).filter(|&n| Fused::of(call(n, 2, 1000, 16), limits).is_some()).max()
        };
        assert_eq!(longest(&CUDA), Some(16_384));
        assert_eq!(longest(&WGSL), Some(4096));
        assert_eq!(longest(&PLAIN), Some(2048));
        assert_eq!(longest(&Limits { shared: 16_384, units: 256, ..PLAIN }), Some(1024));
    }

    #[test]
    fn peaks_are_found_as_the_device_allows() {
        let form = |n, rows, k, limits| planned(n, 2, rows, k, limits).top_k;
        assert_eq!(form(16, 1000, 9, &CUDA), Some(TopK::Rank));
        assert_eq!(form(256, 131_072, 16, &CUDA), Some(TopK::Network { lanes: 4 }));
        assert_eq!(form(256, 8192, 1, &WGSL), Some(TopK::Network { lanes: 8 }));
        assert_eq!(form(256, 8192, 16, &PLAIN), Some(TopK::Sort));
        assert_eq!(form(256, 8192, 17, &CUDA), Some(TopK::Sort));
        assert_eq!(form(4096, 8192, 16, &CUDA), Some(TopK::Bound));
        assert_eq!(form(4096, 8192, 17, &CUDA), Some(TopK::Sort));
        assert_eq!(form(256, 8192, 0, &CUDA), None);
        assert_eq!(planned(256, 2, 8192, 1, &CUDA), planned(256, 2, 8192, 16, &CUDA));
    }

    #[test]
    fn planes_share_a_cube_under_cuda_only() {
        let cuda = planned(256, 2, 8192, 16, &CUDA);
        assert_eq!((cuda.barrier, cuda.team, cuda.teams), (Barrier::Plane, 32, 4));
        for limits in [WGSL, Limits { plane_barrier: true, ..WGSL }] {
            let other = planned(256, 2, 8192, 16, &limits);
            assert_eq!((other.barrier, other.team, other.teams), (Barrier::Cube, 32, 1));
        }
    }

    #[test]
    fn cubes_stay_where_there_is_work_for_long() {
        let cubes = |n, segments, rows, limits| {
            let plan = planned(n, segments, rows, 16, limits);
            (plan.rows * plan.teams, plan.cubes(rows, limits))
        };
        assert_eq!(cubes(256, 2, 8192, &CUDA), (16, 512));
        assert_eq!(cubes(256, 2, 1_048_576, &CUDA), (128, 132));
        assert_eq!(cubes(256, 2, 1_048_576, &WGSL), (8, 65_535));
        assert_eq!(cubes(256, 8, 1_048_576, &CUDA), (32, 792));
        assert_eq!(cubes(4096, 8, 8192, &CUDA), (1, 264));
        assert_eq!(cubes(256, 2, 1, &CUDA), (16, 1));
    }

    #[test]
    fn every_plan_is_one_the_kernels_take() {
        for limits in [CUDA, WGSL, PLAIN] {
            for (log, segments, rows) in (3..=16).flat_map(|log| [(log, 1, 1), (log, 2, 65_536), (log, 9, 1_048_576)]) {
                for k in [0, 1, 5, 16, 17, (1 << log) / 2 + 1] {
                    let n = 1 << log;
                    let Some(plan) = Fused::of(call(n, segments, rows, k.min(n / 2 + 1)), &limits) else { continue };
                    assert!(plan.shared_bytes() <= limits.shared && plan.team * plan.teams <= limits.units, "{plan}");
                    assert!(plan.rows.is_multiple_of(plan.slots()) && plan.slots() > 0, "{plan}");
                    assert!((1..=limits.cubes).contains(&plan.cubes(rows, &limits)), "{plan}");
                    if let Some(TopK::Network { lanes }) = plan.top_k {
                        assert!(limits.plane == Some(32) && plan.rows * lanes == plan.team && lanes >= 2, "{plan}");
                        assert!(n / 2 >= 16 * lanes && k <= 16, "{plan}");
                    }
                    if plan.top_k == Some(TopK::Bound) {
                        assert!(plan.layout.units() > plan.plane && k <= 16, "{plan}");
                    }
                    assert!(plan.twiddles != Store::Registers || plan.layout.passes() == 2, "{plan}");
                }
            }
        }
    }

    #[test]
    fn a_plan_prints_what_it_is() {
        let plan = planned(256, 2, 131_072, 16, &CUDA);
        assert_eq!(
            plan.to_string(),
            "n 256: 16 units of 16 values a row, 8 rows a team of 32, 4 teams a cube (Plane barrier), window in Registers, \
             twiddles in Registers, peaks by Network { lanes: 4 }, 34304 bytes of shared memory"
        );
    }
}
