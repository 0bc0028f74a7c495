//! Every instruction set this processor has, against the exact search of each row.

use std::ops::Range;

use proptest::prelude::*;

use crate::cpu::isa::register::{MAX_LANES, Register};
use crate::cpu::isa::{InstructionSet, Kernel, Width, dispatch};
use crate::cpu::tests::reduced;
use crate::cpu::top_k::forward::{PowerTile, top_k_tile};
use crate::cpu::top_k::{top_k, top_k_of_bins};

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// The strongest bins of rows of power, through one tile.
struct PowerSearch<'a> {
    /// One row per lane of the widest register, each `stride` values long.
    power: &'a [f32],
    stride: usize,
    searched: Range<usize>,
    k: usize,
    keys: &'a mut [u64],
    found: &'a mut [i64],
    peaks: &'a mut [f32],
}

impl Kernel for PowerSearch<'_> {
    #[inline(always)]
    fn run<V: Register>(self, token: V::Token) {
        let tile = PowerTile::new(&self.power[..self.stride * V::LANES], self.stride, self.searched);
        top_k_tile::<V, false>(token, &tile, self.k, self.keys, self.found, self.peaks);
    }
}

fn search_with(
    set: InstructionSet,
    rows: &[Vec<f32>],
    searched: Range<usize>,
    k: usize,
    found: &mut [i64],
    peaks: &mut [f32],
) {
    let bins = rows[0].len();
    let stride = bins.next_multiple_of(16);
    // What no row covers is not read.
    let mut power = vec![f32::NAN; stride * MAX_LANES];
    for (into, row) in power.chunks_mut(stride).zip(rows) {
        into[..bins].copy_from_slice(row);
    }
    dispatch(
        set,
        Width::Sixteen,
        PowerSearch { power: &power, stride, k, keys: &mut vec![0; searched.len()], searched, found, peaks },
    );
}

/// Values of a table by the bits of lanes.
struct Gather<'a> {
    table: &'a [f32],
    /// Indices as the bits of floats.
    at: &'a [f32],
    found: &'a mut [f32],
}

impl Kernel for Gather<'_> {
    #[inline(always)]
    fn run<V: Register>(self, token: V::Token) {
        let found = V::arrays_mut(self.found);
        for (i, at) in V::arrays(self.at).iter().enumerate() {
            V::load(token, at).gather(self.table).store(&mut found[i]);
        }
    }
}

#[test]
fn values_are_gathered_by_their_indices_and_are_0_beyond() {
    for length in [1, 15, 16, 17, 31, 32, 33, 129, 255, 256, 257, 300] {
        let table: Vec<f32> = (1..=length).map(|value| value as f32).collect();
        let at: Vec<u32> = (0..length as u32 + 64).rev().chain([u32::MAX, 1 << 31, 1 << 5, 1 << 9]).collect();
        let at = &at[at.len() % MAX_LANES..];
        let expected: Vec<f32> = at.iter().map(|&at| table.get(at as usize).copied().unwrap_or(0.0)).collect();
        let at: Vec<f32> = at.iter().map(|&at| f32::from_bits(at)).collect();
        for set in InstructionSet::available() {
            for width in [Width::Eight, Width::Sixteen] {
                let mut found = vec![-1.0; at.len()];
                dispatch(set, width, Gather { table: &table, at: &at, found: &mut found });
                assert_eq!(found, expected, "{set}, {length} values");
            }
        }
    }
}

/// Power that makes keys collide: few values, values that differ in the last bits only, and what is not finite.
fn special_power() -> impl Strategy<Value = f32> {
    prop_oneof![
        6 => (0u32..200).prop_map(|low| f32::from_bits(0x3f80_0000 + low)),
        4 => any::<u32>().prop_map(|bits| f32::from_bits(bits & 0x7eff_ffff)),
        3 => (0u8..4).prop_map(f32::from),
        2 => (0u32..5).prop_map(f32::from_bits),
        1 => Just(0.0),
        1 => prop_oneof![Just(f32::NAN), Just(-f32::NAN), Just(f32::INFINITY), Just(f32::MAX), Just(-0.0), Just(-1.0)],
    ]
}

fn special_row(bins: usize) -> impl Strategy<Value = Vec<f32>> {
    prop_oneof![
        3 => prop::collection::vec(special_power(), bins),
        3 => prop::collection::vec((0u32..1 << 12).prop_map(|low| f32::from_bits(0x4120_0000 + low)), bins),
        4 => prop::collection::vec(0.0f32..1e3, bins),
        1 => special_power().prop_map(move |power| vec![power; bins]),
    ]
}

/// A part of `bins` bins.
fn band(bins: usize) -> impl Strategy<Value = Range<usize>> {
    (0..bins).prop_flat_map(move |first| (first + 1..=bins).prop_map(move |end| first..end))
}

/// The largest of the searched values of each row, by the exact search: positions, and the bits of values.
fn searched_exactly(rows: &[Vec<f32>], searched: Range<usize>, k: usize) -> (Vec<i64>, Vec<u32>) {
    let mut expected = (Vec::new(), Vec::new());
    for power in rows {
        let (mut keys, mut bins, mut peaks) = (vec![0; searched.len()], vec![0; k], vec![0.0; k]);
        top_k_of_bins(power, searched.clone(), &mut keys, &mut bins, &mut peaks);
        expected.0.extend(bins);
        expected.1.extend(bits(&peaks));
    }
    expected
}

/// Values of either sign that make keys collide.
fn special_value() -> impl Strategy<Value = f32> {
    prop_oneof![
        4 => (special_power(), any::<bool>()).prop_map(|(power, negative)| if negative { -power } else { power }),
        4 => -1e3f32..1e3,
        1 => prop_oneof![Just(f32::NEG_INFINITY), Just(f32::MIN), Just(-0.0), Just(-f32::NAN)],
    ]
}

/// Rows with few values that are not finite, or none, or most.
fn special_values(length: usize) -> impl Strategy<Value = Vec<f32>> {
    prop_oneof![
        2 => prop::collection::vec(special_value(), length),
        3 => prop::collection::vec(-1.0f32..1.0, length),
        2 => prop::collection::vec((0u32..1 << 12).prop_map(|low| f32::from_bits(0xc120_0000 + low)), length),
        2 => prop::collection::vec((0u32..200).prop_map(|low| f32::from_bits(low.rotate_right(1))), length),
        1 => special_value().prop_map(move |value| vec![value; length]),
        1 => (prop::collection::vec(-1.0f32..1.0, length), 0..length, special_value()).prop_map(|(mut row, at, value)| {
            row[at] = value;
            row
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 400 }))]

    #[test]
    fn strongest_bins_are_those_of_the_definition(
        (rows, searched, k) in prop_oneof![Just(17), Just(33), Just(65), Just(129), Just(513)]
            .prop_flat_map(|bins| (Just(bins), prop_oneof![Just(0..bins), band(bins)]))
            .prop_flat_map(|(bins, searched)| {
                let most = searched.len().min(64);
                (prop::collection::vec(special_row(bins), 1..=16), Just(searched), 1..=most)
            }),
    ) {
        let expected = searched_exactly(&rows, searched.clone(), k);
        for set in InstructionSet::available() {
            let (mut bins, mut peaks) = (vec![0; rows.len() * k], vec![0.0; rows.len() * k]);
            for rows_at in (0..rows.len()).step_by(4) {
                let until = rows.len().min(rows_at + 4);
                // Tiles of every set hold at least four rows.
                let at = rows_at * k..until * k;
                search_with(set, &rows[rows_at..until], searched.clone(), k, &mut bins[at.clone()], &mut peaks[at]);
            }
            prop_assert_eq!(&bins, &expected.0, "{}", set);
            prop_assert_eq!(bits(&peaks), &expected.1[..], "{}", set);
            let (mut bins, mut peaks) = (vec![0; rows.len() * k], vec![0.0; rows.len() * k]);
            if set.name() == "avx512" {
                search_with(set, &rows, searched.clone(), k, &mut bins, &mut peaks);
                prop_assert_eq!(&bins, &expected.0, "{}", set);
                prop_assert_eq!(bits(&peaks), &expected.1[..], "{}", set);
            }
        }
    }

    #[test]
    fn largest_values_of_any_rows_are_those_of_the_definition(
        (rows, k) in prop_oneof![4 => 1..reduced(200, 50), 1 => 2usize..8, 1 => 200..reduced(700, 201), 1 => Just(reduced(2049, 97))]
            .prop_flat_map(|length| (prop::collection::vec(special_values(length), 1..=reduced(40, 9)), 1..=length.min(70))),
    ) {
        let length = rows[0].len();
        let expected = searched_exactly(&rows, 0..length, k);
        for set in InstructionSet::available() {
            let (mut bins, mut values) = (vec![0; rows.len() * k], vec![0.0; rows.len() * k]);
            set.force(|| top_k(&rows.concat(), length, k, &mut bins, &mut values));
            prop_assert_eq!(&bins, &expected.0, "{}", set);
            prop_assert_eq!(bits(&values), &expected.1[..], "{}", set);
        }
    }
}
