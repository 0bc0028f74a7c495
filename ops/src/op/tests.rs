//! The table against itself, and registered operations run from their records.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use burn::backend::Flex;
use burn::backend::ir::{OperationIr, ScalarIr, TensorId, TensorIr, TensorStatus};
use burn::tensor::{IntDType, TensorData, try_read_sync};
use burn_router::{CustomOpRegistry, TensorInterpreter};

use super::*;
use crate::options::{
    AdamOptions, Band, Detrend, Direction, FftForm, FftOptions, Interpolation, LocalMaximaOptions, LogGuard, LogUnit,
    Logarithm, MelBands, MelOptions, MelScale, PeakLossOptions, Scaling, SegmentSet, SignalPadding, SpectrumKind,
    StftOptions, WeightDecay,
};

#[test]
fn every_operation_is_parsed_from_its_name_and_scalars() {
    let maxima =
        LocalMaximaOptions::new().with_prominence(-2.5).with_distance(7).with_interpolation(Interpolation::Hann);
    let fft = FftOptions { length: 15, direction: Direction::Inverse, scale: 0.25, interior: 2.0 };
    let stft = StftOptions::new(25).with_hop(7).with_window_length(20).with_pad(SignalPadding::Constant(0.5));
    let bands = MelBands::new(100.0, 9).with_f_min(1.0).with_f_max(40.0).with_scale(MelScale::Htk);
    let peak_loss = PeakLossOptions::new(7).with_temperature(0.3).with_offset(1e-5).with_weights([2.0, 0.5]);
    let mel = MelOptions::new(stft, bands).with_kind(SpectrumKind::Amplitude);
    let circular = MelOptions::new(stft.with_pad(SignalPadding::Circular), bands);
    let logarithm = Logarithm::new(LogUnit::Decibel).with_guard(LogGuard::Offset(0.25));
    let (k, bins, needed) = (7, IntDType::I32, Needed::of([true, false, true, true, false, false]));
    let chosen = SegmentSet::new([0, 2, 70]).unwrap();
    let adam = AdamOptions::new(0.1, 12).with_betas([0.5, 0.25]).with_epsilon(1e-3);
    let decays = [WeightDecay::None, WeightDecay::Coupled(0.5), WeightDecay::Decoupled(0.25)];
    let scalings = [Scaling::Power, Scaling::Spectrum, Scaling::Density { sample_rate: 2.5 }];
    for (scaling, decay) in scalings.into_iter().zip(decays) {
        let band = (scaling == Scaling::Spectrum).then_some(Band::new(3..40));
        let options = WelchOptions { hop: 100, scaling, detrend: Detrend::Constant, ..WelchOptions::new(256, 3) };
        let options = options.with_band(band).with_chosen(band.map(|_| chosen));
        let operations = [
            OpDescriptor::WelchPsd { options },
            OpDescriptor::WelchPsdBackward { options, needed },
            OpDescriptor::WelchPeaks { options, k, bins },
            OpDescriptor::TopK { k, bins },
            OpDescriptor::LocalMaxima { options: maxima, k, bins },
            OpDescriptor::Butterfly {},
            OpDescriptor::ButterflyBackward { needed },
            OpDescriptor::ComplexFft { options: fft },
            OpDescriptor::ComplexFftColumns { options: fft },
            OpDescriptor::RealFft { options: FftOptions { direction: Direction::Forward, ..fft } },
            OpDescriptor::InverseRealFft { options: fft },
            OpDescriptor::InterleavedFft { form: FftForm::Columns, options: fft },
            OpDescriptor::Dct { kind: 3, sines: true, scale: 0.25, first: 0.5 },
            OpDescriptor::CrossSpectra { is_hermitian: true },
            OpDescriptor::CrossSpectraBackward { needed },
            OpDescriptor::Mel { options: circular, logarithm: None },
            OpDescriptor::MelBackward { options: mel, logarithm: Some(logarithm), needed },
            OpDescriptor::PeakLoss { options: peak_loss },
            OpDescriptor::PeakLossBackward { options: peak_loss, needed },
            OpDescriptor::AdamStep { options: adam.with_weight_decay(decay) },
            OpDescriptor::SpectralConv {},
            OpDescriptor::SpectralConvBackward { needed },
            OpDescriptor::LongConv {},
            OpDescriptor::LongConvBackward { needed },
        ];
        assert_eq!(operations.map(|operation| operation.name())[..], *NAMES);
        for operation in operations {
            assert_eq!(OpDescriptor::parse(operation.name(), &operation.scalars()), Some(operation));
            assert_eq!(OpDescriptor::parse(operation.name(), &[ScalarIr::Int(0)]), None);
        }
    }
    assert_eq!(OpDescriptor::parse("signal::rfft", &[]), None);
}

/// The outputs of an operation on `values`, run from its record by an interpreter that has it registered.
fn replayed(operation: OpDescriptor, values: TensorData) -> Vec<TensorData> {
    let mut registry = CustomOpRegistry::<Flex>::new();
    register_spectral_ops(&mut registry);
    let mut interpreter = TensorInterpreter::with_custom_ops(Default::default(), registry);
    let values = interpreter.register_tensor_data_desc(values);
    let mut id = 1_000_000;
    let record = operation.record(&[values], || {
        id += 1;
        TensorId::new(id)
    });
    let outputs = record.outputs.clone();
    interpreter.register_op(OperationIr::Custom(record));
    let mut read = |output: TensorIr| {
        let output = TensorIr { status: TensorStatus::ReadWrite, ..output };
        try_read_sync(interpreter.read_tensor_async(output)).unwrap().unwrap()
    };
    outputs.into_iter().map(&mut read).collect()
}

#[test]
fn registered_operations_run_from_their_records() {
    let values = TensorData::from([[1.0f32, 3.0, 2.0], [f32::NAN, 0.0, 5.0]]);
    let outputs = replayed(OpDescriptor::TopK { k: 2, bins: IntDType::I64 }, values);
    assert_eq!(outputs[0].as_slice::<i64>().unwrap(), [1, 2, 2, 1]);
    assert_eq!(outputs[1].as_slice::<f32>().unwrap(), [3.0, 2.0, 5.0, 0.0]);

    let values = TensorData::from([[1.0f32, 3.0, 2.0, 4.0, 0.0]]);
    let options = LocalMaximaOptions::new();
    let outputs = replayed(OpDescriptor::LocalMaxima { options, k: 3, bins: IntDType::I64 }, values);
    assert_eq!(outputs[0].as_slice::<i64>().unwrap(), [3, 1, -1]);
    assert_eq!(outputs[1].as_slice::<i64>().unwrap(), [0, 2, -1]);

    let values = TensorData::from([[1.0f32, 2.0, 3.0]]);
    let options = FftOptions { length: 4, direction: Direction::Forward, scale: 2.0, interior: 3.0 };
    let outputs = replayed(OpDescriptor::RealFft { options }, values);
    assert_eq!(outputs[0].as_slice::<f32>().unwrap(), [12.0, -12.0, 4.0]);
    assert_eq!(outputs[1].as_slice::<f32>().unwrap(), [0.0, -12.0, 0.0]);
}
