//! Fourier transforms of any length: against the definition, SciPy, and their own adjoints.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../common/mod.rs"]
mod common;
mod compositions;
mod conventions;
mod cosine;
mod gradients;
mod interleaved;
mod long_fixtures;
mod on_devices;
mod rows;
mod values;

use std::process::ExitCode;

use common::devices::{CpuTest, DeviceTest, Trials, tests};
use compositions::{
    analytic_signals_match_the_definition, blocks_have_the_convolution_of_the_whole,
    cepstra_match_the_definition_and_undo_each_other, chirp_z_transforms_match_the_definition,
    composed_transforms_are_those_of_scipy, envelopes_keep_the_scale_and_have_finite_gradients,
    gradients_of_compositions_match_finite_differences, wrong_arguments_of_compositions_are_refused_by_name,
};
use conventions::{
    conventions_are_those_of_scipy_numpy_and_pytorch, frequencies_are_those_of_scipy,
    shifts_put_frequency_0_in_the_middle, short_forms_are_those_of_the_last_dimensions,
    wrong_arguments_are_refused_by_name,
};
use cosine::{columns_have_the_cosines_of_rows, cosine_and_sine_transforms_match_the_definition};
use gradients::{
    gradients_are_the_adjoint, gradients_match_those_in_float64, gradients_of_long_rows_are_the_adjoint,
    gradients_of_long_rows_match_those_in_float64,
};
use interleaved::parts_side_by_side_have_the_transforms_of_parts;
use long_fixtures::long_transforms_are_those_of_scipy;
use on_devices::compositions_match_those_in_float64;
use values::{
    a_row_that_is_not_finite_changes_no_other, an_input_that_is_kept_stays_as_it_is,
    any_number_of_rows_is_right_to_the_last, lengths_up_to_512_match_the_definition, long_lengths_match_float64,
    no_rows_give_no_rows, primes_match_the_definition, rows_are_cut_and_padded, small_floats_compute_in_f32,
    transposed_input_is_the_same,
};

fn main() -> ExitCode {
    let on_devices = tests![DeviceTest:
        lengths_up_to_512_match_the_definition,
        any_number_of_rows_is_right_to_the_last,
        parts_side_by_side_have_the_transforms_of_parts,
        an_input_that_is_kept_stays_as_it_is,
        rows_are_cut_and_padded,
        cosine_and_sine_transforms_match_the_definition,
        chirp_z_transforms_match_the_definition,
        analytic_signals_match_the_definition,
        blocks_have_the_convolution_of_the_whole,
        compositions_match_those_in_float64,
        gradients_match_those_in_float64,
        gradients_of_long_rows_match_those_in_float64,
        small_floats_compute_in_f32,
    ];
    let on_cpu = tests![CpuTest:
        primes_match_the_definition,
        long_lengths_match_float64,
        long_transforms_are_those_of_scipy,
        conventions_are_those_of_scipy_numpy_and_pytorch,
        columns_have_the_cosines_of_rows,
        gradients_are_the_adjoint,
        gradients_of_long_rows_are_the_adjoint,
        a_row_that_is_not_finite_changes_no_other,
        transposed_input_is_the_same,
        no_rows_give_no_rows,
        frequencies_are_those_of_scipy,
        short_forms_are_those_of_the_last_dimensions,
        shifts_put_frequency_0_in_the_middle,
        wrong_arguments_are_refused_by_name,
        composed_transforms_are_those_of_scipy,
        envelopes_keep_the_scale_and_have_finite_gradients,
        cepstra_match_the_definition_and_undo_each_other,
        gradients_of_compositions_match_finite_differences,
        wrong_arguments_of_compositions_are_refused_by_name,
    ];
    Trials::default().on_devices(on_devices).on_cpu(on_cpu).run()
}
