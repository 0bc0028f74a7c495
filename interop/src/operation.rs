//! Operations as text: the name and the options of a row of the table, separated by spaces.
//!
//! Options stand in the order of [`OpDescriptor::scalars`]: whole numbers as digits, other numbers with a point, an
//! exponent or a name (`inf`), and `true` or `false`. Text says all of an operation but its tensors, so that it is the
//! same in every process.
//!
//! ```
//! use burn::tensor::IntDType;
//! use firefly_interop::operation::{parse, to_text};
//! use firefly_ops::op::OpDescriptor;
//!
//! let operation = OpDescriptor::TopK { k: 5, bins: IntDType::I64 };
//! assert_eq!(to_text(operation), "top_k 5 0");
//! assert_eq!(parse("top_k 5 0")?, operation);
//! assert!(parse("top_k 5").is_err());
//! # Ok::<(), firefly_interop::InteropError>(())
//! ```

use burn::backend::ir::ScalarIr;
use burn::tensor::{DType, Shape};
use firefly_ops::op::{Gradient, Needed, OpDescriptor, OutputKind, ROWS, Row, TensorSpec};

use crate::InteropError;

/// What every name in recorded graphs starts with, and text does not.
const PREFIX: &str = "firefly::";

/// The operation with its options as text.
pub fn to_text(operation: OpDescriptor) -> String {
    let mut text = operation.name().trim_start_matches(PREFIX).to_string();
    for scalar in operation.scalars() {
        text.push(' ');
        // The shortest text that gives the same number.
        text += &match scalar {
            ScalarIr::Float(value) => format!("{value:?}"),
            ScalarIr::Int(value) => format!("{value}"),
            ScalarIr::UInt(value) => format!("{value}"),
            ScalarIr::Bool(value) => format!("{value}"),
        };
    }
    text
}

/// The operation that [`to_text`] wrote.
///
/// # Errors
/// [`InteropError::Operation`] for any other text.
pub fn parse(text: &str) -> Result<OpDescriptor, InteropError> {
    let mut words = text.split(' ');
    let name = words.next().unwrap_or_default();
    let scalar = |word: &str| match word {
        "true" => Some(ScalarIr::Bool(true)),
        "false" => Some(ScalarIr::Bool(false)),
        _ if word.bytes().all(|byte| byte.is_ascii_digit()) => word.parse().ok().map(ScalarIr::UInt),
        _ => word.parse().ok().map(ScalarIr::Float),
    };
    let scalars: Option<Vec<ScalarIr>> = words.map(scalar).collect();
    let operation = scalars.and_then(|scalars| OpDescriptor::parse(&format!("{PREFIX}{name}"), &scalars));
    operation.ok_or_else(|| InteropError::Operation(text.into()))
}

/// The operation's row of the table.
pub fn row(operation: OpDescriptor) -> &'static Row {
    ROWS.iter().find(|row| row.name == operation.name()).expect("the table has every operation")
}

/// Whether the gradient of the input at this position is among the outputs; `None` for an operation that returns none.
///
/// ```
/// use firefly_interop::operation::{needs, parse};
///
/// // Of the second and the third input.
/// let backward = parse("long_conv_backward 6")?;
/// assert_eq!([0, 1, 2].map(|input| needs(backward, input)), [Some(false), Some(true), Some(true)]);
/// assert_eq!(needs(parse("long_conv")?, 0), None);
/// # Ok::<(), firefly_interop::InteropError>(())
/// ```
pub fn needs(operation: OpDescriptor, input: u32) -> Option<bool> {
    match (row(operation).outputs, operation.scalars().last()) {
        (OutputKind::Gradients, Some(ScalarIr::UInt(needed))) => Some(needed.checked_shr(input).unwrap_or(0) & 1 == 1),
        _ => None,
    }
}

/// How gradients go back through an operation, as text: `adjoint OPERATION`, `backward OPERATION`,
/// `selected LENGTH`, `selected LENGTH OPERATION`, `discrete` or `unsupported`, after [`Gradient`].
///
/// - `needed`: a bit per input, lowest first.
/// - `width`: values per row of the first input.
///
/// ```
/// use firefly_interop::operation::{gradient, parse};
///
/// assert_eq!(gradient(parse("top_k 5 0")?, 1, 129), "selected 129");
/// assert_eq!(gradient(parse("spectral_conv")?, 7, 64), "backward spectral_conv_backward 7");
/// assert_eq!(gradient(parse("real_fft 8 0 1.0 1.0")?, 1, 8), "adjoint inverse_real_fft 8 1 1.0 0.5");
/// # Ok::<(), firefly_interop::InteropError>(())
/// ```
pub fn gradient(operation: OpDescriptor, needed: u8, width: usize) -> String {
    let needed = Needed::of((0..8).map(|input| needed >> input & 1 == 1));
    match operation.gradient(needed, width) {
        Gradient::Discrete => "discrete".into(),
        Gradient::Unsupported => "unsupported".into(),
        Gradient::Adjoint(adjoint) => format!("adjoint {}", to_text(adjoint)),
        Gradient::Backward(backward) => format!("backward {}", to_text(backward)),
        Gradient::Selected { length, backward: None } => format!("selected {length}"),
        Gradient::Selected { length, backward: Some(backward) } => format!("selected {length} {}", to_text(backward)),
    }
}

/// Types and shapes of the outputs of an operation on inputs of one type and these shapes, as text: a line per output.
///
/// ```
/// use burn::tensor::DType;
/// use firefly_interop::operation::outputs;
///
/// assert_eq!(outputs("top_k 5 0", &[&[64, 129]], DType::F32)?, "int64 64 5\nfloat32 64 5");
/// assert!(outputs("top_k 5 0", &[&[64, 4]], DType::F32).is_err());
/// # Ok::<(), firefly_interop::InteropError>(())
/// ```
///
/// # Errors
/// As [`Call::checked`](crate::Call::checked).
pub fn outputs(text: &str, shapes: &[&[i64]], dtype: DType) -> Result<String, InteropError> {
    let spec = |shape: &&[i64]| TensorSpec { shape: Shape::from(shape.iter().map(|&n| n as usize)), dtype };
    let (operation, specs) = (parse(text)?, shapes.iter().map(spec).collect::<Vec<_>>());
    operation.check(&specs)?;
    let line = |output: &TensorSpec| {
        let kind = if output.dtype.is_float() { "float" } else { "int" };
        let lengths = (0..output.shape.num_dims()).map(|dim| format!(" {}", output.shape[dim]));
        lengths.fold(format!("{kind}{}", 8 * output.dtype.size()), |line, length| line + &length)
    };
    Ok(operation.outputs(specs).iter().map(line).collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use firefly_ops::options::{
        LogUnit, Logarithm, MelBands, MelOptions, Scaling, SegmentSet, SignalPadding, StftOptions, WelchOptions,
    };

    use super::*;

    #[test]
    fn text_gives_the_same_operation() {
        let stft = StftOptions::new(400).with_hop(160).with_pad(SignalPadding::Constant(-0.1));
        let options = MelOptions::new(stft, MelBands::new(16_000.0, 80).with_f_max(1e-300));
        let welch = WelchOptions::new(256, 70).with_scaling(Scaling::Density { sample_rate: 1e30 });
        let chosen = SegmentSet::new([0, 69]).expect("both are below 128");
        for operation in [
            OpDescriptor::Mel { options, logarithm: Some(Logarithm::new(LogUnit::Decibel)) },
            OpDescriptor::WelchPsd { options: welch.with_chosen(Some(chosen)) },
            OpDescriptor::Butterfly {},
            OpDescriptor::ButterflyBackward { needed: Needed::of([false, true]) },
        ] {
            assert_eq!(parse(&to_text(operation)), Ok(operation));
        }
    }

    #[test]
    fn other_text_is_refused() {
        for text in ["", "fft", "top_k", "top_k 5 0 1", "top_k -5 0", "top_k 5.0 0", "top_k  5 0", "butterfly x"] {
            assert_eq!(parse(text), Err(InteropError::Operation(text.into())));
        }
    }
}
